"""Files that visitors send: Streamlit keeps all of them, we keep so many bytes of each visitor and of all."""

import pytest
from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from ui.shell import upload_quota
from ui.shell.upload_quota import LEAST, UploadQuota

UNIT = LEAST


class Store:
    """Streamlit's own, with a budget."""

    def __init__(self, each: int, most: int) -> None:
        self.files = MemoryUploadedFileManager("/upload")
        self.budget = UploadQuota(self.files, each * UNIT, most * UNIT)

    def bring(self, session: str, name: str, units: float = 1) -> None:
        self.budget.add_file(session, UploadedFileRec(name, name, "image/png", b"x" * int(units * UNIT)))

    @property
    def kept(self) -> dict[str, list[str]]:
        return {session: list(files) for session, files in self.files.file_storage.items() if files}


def test_a_visitors_oldest_files_go_first_and_nobody_elses():
    store = Store(each=3, most=100)
    store.bring("other", "z")
    for name in "abcde":
        store.bring("me", name)
    assert store.kept == {"other": ["z"], "me": ["c", "d", "e"]}
    store.bring("me", "f", 2.5)
    assert store.kept["me"] == ["f"]
    store.bring("me", "large", 50)  # what a page has just sent is there when it asks
    assert store.kept == {"other": ["z"], "me": ["large"]}


def test_a_file_that_is_sent_again_counts_once_and_as_the_latest():
    store = Store(each=3, most=100)
    for name in "abcad":
        store.bring("me", name)
    assert sorted(store.kept["me"]) == ["a", "c", "d"]


def test_of_all_visitors_the_oldest_files_go_first():
    store = Store(each=100, most=3)
    for session, name in ("ax", "by", "cz", "dw"):
        store.bring(session, name)
    assert store.kept == {"b": ["y"], "c": ["z"], "d": ["w"]}


def test_what_was_taken_back_or_left_with_its_session_counts_no_more():
    store = Store(each=3, most=4)
    for name in "abc":
        store.bring("me", name)
    store.files.remove_file("me", "b")
    store.bring("me", "d")
    assert store.kept["me"] == ["a", "c", "d"]
    store.files.remove_session_files("me")
    for name in "xyz":
        store.bring("you", name)
    assert store.kept == {"you": ["x", "y", "z"]}


def test_a_million_empty_files_are_not_kept_either():
    store = Store(each=10, most=100)
    for name in range(50):
        store.bring("me", str(name), 0)
    assert store.kept["me"] == [str(name) for name in range(40, 50)]


def test_a_server_is_watched_over_once_however_often_it_is_begun(monkeypatch: pytest.MonkeyPatch):
    upload_quota.begin()  # no server: nothing to watch
    files = MemoryUploadedFileManager("/upload")
    monkeypatch.setattr(runtime, "exists", lambda: True)
    monkeypatch.setattr(runtime, "get_instance", lambda: type("Server", (), {"uploaded_file_mgr": files}))
    upload_quota.begin()
    watched = files.add_file
    upload_quota.begin()
    assert files.add_file is watched and isinstance(watched.__self__, UploadQuota)
    files.add_file("me", UploadedFileRec("a", "a", "", b"x"))
    assert list(files.file_storage["me"]) == ["a"]
