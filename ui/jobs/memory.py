"""Memory that nobody needs any more: found, and handed back to the system."""

import ctypes
import gc
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from time import sleep
from typing import Any

LOG = logging.getLogger(__name__)
SWEEP = 10.0  # seconds between two looks at all objects: one takes a tenth of a second, and everybody waits for it
HEAPS = 2  # for all threads: with one for each, what a visitor's thread has freed lies in pieces that nobody else uses
LARGE = 1 << 18  # bytes: an array from here on is memory of its own, which goes back when it is freed; by itself the
# system's library would soon put arrays of up to 32 MB among the small ones, which keep the holes that they leave
M_ARENA_MAX, M_MMAP_THRESHOLD = -8, -3  # the names of these settings in the system's library


def ask_system(function: str, *values: int) -> None:
    """Call a function of its memory management, where there is such a one."""
    with suppress(OSError, AttributeError, TypeError):
        found: Any = getattr(ctypes.CDLL(None), function)
        found(*values)


def give_back() -> None:
    """Hand memory that is free to the system: after many threads it would stay with us."""
    ask_system("malloc_trim", 0)


class Broom:
    """Finds what can no longer be reached, such as the session of a tab that was closed a while ago.

    Streamlit would do so after every drawing, however small; the settings forbid that, because it takes several times
    as long as the drawing. Python's own collector counts objects, not bytes, and may come too late. So a thread asks
    every keeper now and then: it lets go what is too old and says whether there may be something to find. If so, the
    thread sweeps, and once more afterwards, which finds what the last visitor left behind.
    """

    def __init__(self, every: float = SWEEP) -> None:
        self.every = every
        self.keepers: list[Callable[[], bool]] = []
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._again = False

    def start(self) -> None:
        """Look from now on; called with every drawing of a page."""
        with self._lock:
            if self._thread is None:
                ask_system("mallopt", M_ARENA_MAX, HEAPS)
                ask_system("mallopt", M_MMAP_THRESHOLD, LARGE)
                self._thread = threading.Thread(target=self._live, name="broom", daemon=True)
                self._thread.start()

    def look(self) -> bool:
        """Whether it had to sweep."""
        found = True in [keeper() for keeper in self.keepers]  # every one of them is asked
        due, self._again = found or self._again, found
        if due:
            gc.collect()
            give_back()
        return due

    def _live(self) -> None:
        while True:
            sleep(self.every)
            try:
                self.look()
            except Exception:  # one that failed must not be the last
                LOG.exception("A sweep failed.")


BROOM = Broom()
