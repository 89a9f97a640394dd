"""Upload quota: keep a limited number of bytes of uploaded files, per visitor and in all; the oldest go first.

Streamlit accepts any number of files and keeps each until its session ends, whether a page still shows it or not. When
a file is dropped, the visitor keeps what was read from it (`ui.choice.uploads`).
"""

import threading

from features.limits import LIMITS
from ui.shell.streamlit_patches import MemoryUploadedFileManager, UploadedFileRec, uploaded_files

LEAST = 1 << 16  # bytes that every file counts at least: an empty one takes memory, too
Name = tuple[str, str]  # of a session and its file


class UploadQuota:
    """Enforces the quota on Streamlit's file store, by replacing its `add_file`."""

    def __init__(
        self, files: MemoryUploadedFileManager, each: int = LIMITS.visitor_bytes, most: int = LIMITS.uploaded_bytes
    ) -> None:
        self.files, self.each, self.most = files, each, most
        self._add = files.add_file
        self._lock = threading.Lock()
        self._kept: dict[Name, int] = {}  # with what they count, the oldest first

    def add_file(self, session_id: str, file: UploadedFileRec) -> None:
        """Add a file as the store does, then drop the oldest files that no longer fit."""
        self._add(session_id, file)
        with self._lock:
            self._kept.pop((session_id, file.file_id), None)
            self._kept[session_id, file.file_id] = max(len(file.data), LEAST)
            self._kept = {name: counts for name, counts in self._kept.items() if self._there(name)}
            mine = {name: counts for name, counts in self._kept.items() if name[0] == session_id}
            for names, budget in ((mine, self.each), (self._kept, self.most)):
                self._let_go(dict(names), budget)

    def _there(self, name: Name) -> bool:
        """Whether the store still has this file: its page may have removed it, or its session may have ended."""
        session, file = name
        return bool(self.files.get_files(session, [file]))

    def _let_go(self, names: dict[Name, int], budget: int) -> None:
        """Drop the oldest of these files until the others fit; the latest stays."""
        total = sum(names.values())
        for session, file in list(names)[:-1]:
            if total <= budget:
                return
            total -= names[session, file]
            self._kept.pop((session, file), None)
            self.files.remove_file(session, file)


def begin() -> None:
    """Enforce the quota on this server's files from now on."""
    files = uploaded_files()
    if files is not None and not isinstance(getattr(files.add_file, "__self__", None), UploadQuota):
        files.add_file = UploadQuota(files).add_file
