"""Memory cleanup: collect unreachable objects and return free memory to the operating system."""

import ctypes
import gc
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from time import sleep
from typing import Any

LOG = logging.getLogger(__name__)
INTERVAL_SECONDS = 10.0  # between two checks: a collection takes a tenth of a second and blocks every thread
HEAPS = 2  # shared by all threads: with a heap per thread, memory that one thread frees is not reused by the others
LARGE = 1 << 18  # bytes: an array of this size or more gets a mapping of its own, which is unmapped when it is freed.
# Left to itself, glibc raises this threshold to 32 MB, and the heap becomes fragmented.
M_ARENA_MAX, M_MMAP_THRESHOLD = -8, -3  # glibc's numbers for these two settings


def call_libc(function: str, *values: int) -> None:
    """Call one of glibc's memory functions; do nothing where the C library has no such function."""
    with suppress(OSError, AttributeError, TypeError):
        found: Any = getattr(ctypes.CDLL(None), function)
        found(*values)


def trim_heap() -> None:
    """Return free memory to the operating system, which the C library does not do by itself after many threads."""
    call_libc("malloc_trim", 0)


class MemoryCleanup:
    """Collects unreachable objects, such as the session of a tab that was closed a while ago.

    Streamlit would collect after every script run, however small; `.streamlit/config.toml` turns that off, because a
    collection takes several times as long as the script. Python's own collector counts objects, not bytes, and may
    run too late. So a thread calls every callback at regular intervals. A callback drops what has expired and returns
    whether there may be garbage. If any does, the thread collects then and once more at the next interval, so that
    the last visitor's objects are found as well.
    """

    def __init__(self, every: float = INTERVAL_SECONDS) -> None:
        self.every = every
        self.callbacks: list[Callable[[], bool]] = []
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._again = False

    def start(self) -> None:
        """Start the thread, once; called in every script run."""
        with self._lock:
            if self._thread is None:
                call_libc("mallopt", M_ARENA_MAX, HEAPS)
                call_libc("mallopt", M_MMAP_THRESHOLD, LARGE)
                self._thread = threading.Thread(target=self._live, name="cleanup", daemon=True)
                self._thread.start()

    def check(self) -> bool:
        """Run all callbacks; collect if needed, and return whether it was."""
        found = True in [callback() for callback in self.callbacks]  # a list, so that every callback runs
        due, self._again = found or self._again, found
        if due:
            gc.collect()
            trim_heap()
        return due

    def _live(self) -> None:
        while True:
            sleep(self.every)
            try:
                self.check()
            except Exception:  # the thread must survive
                LOG.exception("A memory cleanup failed.")


CLEANUP = MemoryCleanup()
