"""Memory that nobody needs any more: found, and handed back to the system."""

import ctypes
import gc
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

SWEEP = 10.0  # seconds between two looks at all objects: one takes a tenth of a second, and everybody waits for it


def give_back() -> None:
    """Hand memory that is free to the system, where its library can: after many threads it would stay with us."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


class Broom:
    """Finds what can no longer be reached, such as the session of a tab that was closed a while ago.

    Streamlit would do so after every drawing, however small; the settings forbid that, because it takes several times
    as long as the drawing. Python's own collector counts objects, not bytes, and may come too late.
    """

    def __init__(self, every: float = SWEEP, clock: Callable[[], float] = monotonic) -> None:
        self.every, self.clock = every, clock
        self._lock = threading.Lock()
        self._due = clock() + every

    def sweep(self) -> bool:
        """Whether it was time; called with every drawing of a page."""
        with self._lock:
            if self.clock() < self._due:
                return False
            self._due = self.clock() + self.every
        gc.collect()
        give_back()
        return True


BROOM = Broom()
