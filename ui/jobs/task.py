"""Long work of any kind in a worker thread: how far it is, what it has so far, and Stop.

The work is a function of `report(share, text, value)`: it says how far it is and hands over what there is already, so
that somebody who stops it keeps that. It ends at its next report, or wherever its work looks at the deadline, once
nobody wants it any more or it has computed for as long as a run may. There it also gives way to the other work of the
server (`ui.jobs.scheduler`).
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Literal

from adgm.machine.deadline import TimeUp, check_time, deadline
from features.limits import LIMITS
from ui.jobs.scheduler import POOL, JobPool, Visitor

Status = Literal["waiting", "running", "finished", "stopped", "time limit", "abandoned", "failed"]
Report = Callable[..., None]  # (share from 0 to 1, text, the value so far if there is one)
Work = Callable[[Report], Any]

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Progress:
    """How far a task is; `value` is what it has so far, and at the end its result."""

    status: Status
    share: float = 0.0
    text: str = ""
    value: Any = None
    error: str = ""

    @property
    def active(self) -> bool:
        return self.status in ("waiting", "running")


class Task:
    """One piece of long work. All methods may be called from any thread."""

    def __init__(
        self, work: Work, *, patience: float = LIMITS.patience, visitor: Visitor | None = None, pool: JobPool = POOL
    ) -> None:
        self._work, self.patience, self.visitor, self._pool = work, patience, visitor or Visitor(), pool
        self._lock = threading.Lock()
        self._progress = Progress("waiting")
        self._stopping, self._touched, self._present = False, monotonic(), monotonic()
        self._thread = threading.Thread(target=self._live, name="task", daemon=True)

    def start(self) -> "Task":
        """Queue for a place and work; refused in a sentence when too many wait already."""
        self._pool.admit(self, self.visitor)
        self._thread.start()
        return self

    def touch(self) -> None:
        """Somebody is watching: the task stays alive."""
        self._touched = monotonic()

    def stop(self) -> None:
        self._stopping = True

    def progress(self) -> Progress:
        with self._lock:
            return self._progress

    def wait(self, timeout: float | None = None) -> Progress:
        """Block until it is over: for tests."""
        self._thread.join(timeout)
        return self.progress()

    def _late(self) -> bool:
        return self._pool.used(self) > LIMITS.job_seconds

    def _over(self) -> bool:
        now = monotonic()
        if self.visitor.here():
            self._present = now
        away = now - self._touched > self.patience or now - self._present > LIMITS.absence
        return self._stopping or away or self._late()

    def _set(self, **changes: Any) -> None:
        with self._lock:
            self._progress = replace(self._progress, **changes)

    def _report(self, share: float, text: str = "", value: Any = None) -> None:
        changes = {"share": min(max(share, 0.0), 1.0), "text": text}
        self._set(**(changes if value is None else {**changes, "value": value}))
        check_time()
        self._pool.give_way(self)
        if not self._pool.enter(self, self._over):
            raise TimeUp

    def _live(self) -> None:
        try:
            if self._pool.enter(self, self._over):
                self._set(status="running")
                with deadline(lambda: self._pool.turn(self, self._over)):
                    value = self._work(self._report)
                self._set(status="finished", share=1.0, value=value)
            else:
                self._end()
        except TimeUp:
            self._end()
        except ValueError as problem:
            self._set(status="failed", error=str(problem))
        except MemoryError:
            self._set(status="failed", error="There is not enough memory for this.")
        except Exception as fault:  # a page must show a sentence whatever happens in here
            log.exception("a task failed")
            self._set(status="failed", error=f"It stopped unexpectedly ({type(fault).__name__}: {fault}).")
        finally:
            self._pool.dismiss(self)

    def _end(self) -> None:
        late = "time limit" if self._late() else "abandoned"
        self._set(status="stopped" if self._stopping else late)
