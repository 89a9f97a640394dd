"""Background work of any kind: a thread, a place in the pool, Stop, and an end in a sentence whatever happens.

`Job` (a run of a method), `Task` (a tool, a file to make) and `Series` (a comparison) are works. They differ in what
they do and in what a page reads of them; how they begin, stay alive and end is here.
"""

import logging
import threading
from time import monotonic
from typing import Any, Self

from adgm.machine.deadline import TimeUp
from features.limits import LIMITS
from ui.jobs.scheduler import JobPool, Visitor

log = logging.getLogger(__name__)


class Work:
    """One piece of work for a visitor. All methods may be called from any thread.

    It ends by itself once nobody has looked at it (`touch`) for as long as its visitor's patience, or when its visitor
    has left. A subclass works in `_work`, which returns its last status, and shows the end in `_ended`.
    """

    subject = "It"  # what stopped unexpectedly, in a sentence

    def __init__(self, visitor: Visitor | None, pool: JobPool) -> None:
        self.visitor, self._pool = visitor or Visitor(), pool
        self._changed, self._stopping = threading.Condition(), False
        self._touched = self._present = monotonic()
        self._thread = threading.Thread(target=self._live, name=type(self).__name__, daemon=True)

    def start(self) -> Self:
        """Queue for a place and work; refused in a sentence when too many wait already."""
        self._admit()
        self._thread.start()
        return self

    def touch(self) -> None:
        """Somebody is watching: it stays alive."""
        self._touched = monotonic()

    def stop(self) -> None:
        """End it as soon as it looks at its deadline; what there is so far stays."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def join(self, timeout: float | None = None) -> None:
        """Block until it is over: for scripts and tests, not for pages."""
        self._thread.join(timeout)

    # ------------------------------------------------------------------ for subclasses

    def _admit(self) -> None:
        self._pool.admit(self, self.visitor)

    def _work(self) -> Any:
        """Do the work; returns the last status. Runs in the thread."""
        raise TypeError(f"{type(self).__name__} does not say what it does")

    def _ended(self, status: Any, error: str) -> None:
        """Show the end: the last status, and the sentence of a failure."""
        raise TypeError(f"{type(self).__name__} does not say how it ends")

    def _over(self) -> bool:
        """Whether it is to end: it was stopped, or nobody wants it any more."""
        now = monotonic()
        if self.visitor.here():
            self._present = now
        return self._stopping or now - self._touched > self.visitor.patience or now - self._present > LIMITS.absence

    def _why(self) -> Any:
        """The status of one that is over before its work is done."""
        return "stopped" if self._stopping else "abandoned"

    def _live(self) -> None:
        status, error = "failed", ""
        try:
            status = self._work()
        except TimeUp:
            status = self._why()
        except ValueError as problem:
            error = str(problem)
        except MemoryError:
            error = "There is not enough memory for this problem."
        except Exception as fault:  # a page must show a sentence whatever happens in here
            log.exception("background work failed")
            error = f"{self.subject} stopped unexpectedly ({type(fault).__name__}: {fault})."
        self._pool.dismiss(self)
        self._ended(status, error)
