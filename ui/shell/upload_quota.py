"""The bytes of uploaded files that are kept: so many of each visitor, and of all of them; the oldest go first.

Streamlit keeps every file until its session ends, whether a page still shows it or not, and takes as many as are sent.
What was read from a file stays with the visitor (`ui.choice.uploads`) when its bytes go.
"""

import threading

from features.limits import LIMITS
from ui.shell.streamlit_patches import MemoryUploadedFileManager, UploadedFileRec, uploaded_files

LEAST = 1 << 16  # bytes that a file counts at least: an empty one takes memory, too
Name = tuple[str, str]  # of a session and its file


class UploadBudget:
    """Watches over Streamlit's store of files."""

    def __init__(
        self, files: MemoryUploadedFileManager, each: int = LIMITS.visitor_bytes, most: int = LIMITS.uploaded_bytes
    ) -> None:
        self.files, self.each, self.most = files, each, most
        self._add = files.add_file
        self._lock = threading.Lock()
        self._kept: dict[Name, int] = {}  # with what they count, the oldest first

    def add_file(self, session_id: str, file: UploadedFileRec) -> None:
        """As the store's own; what no longer fits beside it is let go."""
        self._add(session_id, file)
        with self._lock:
            self._kept.pop((session_id, file.file_id), None)
            self._kept[session_id, file.file_id] = max(len(file.data), LEAST)
            self._kept = {name: counts for name, counts in self._kept.items() if self._there(name)}
            mine = {name: counts for name, counts in self._kept.items() if name[0] == session_id}
            for names, budget in ((mine, self.each), (self._kept, self.most)):
                self._let_go(dict(names), budget)

    def _there(self, name: Name) -> bool:
        """Whether a file is still kept: its page may have taken it back, or its session have ended."""
        session, file = name
        return bool(self.files.get_files(session, [file]))

    def _let_go(self, names: dict[Name, int], budget: int) -> None:
        """The oldest of these, until the others fit; the latest stays."""
        total = sum(names.values())
        for session, file in list(names)[:-1]:
            if total <= budget:
                return
            total -= names[session, file]
            self._kept.pop((session, file), None)
            self.files.remove_file(session, file)


def begin() -> None:
    """Watch over this server's files from now on."""
    files = uploaded_files()
    if files is not None and not isinstance(getattr(files.add_file, "__self__", None), UploadBudget):
        files.add_file = UploadBudget(files).add_file
