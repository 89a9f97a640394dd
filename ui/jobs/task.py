"""Long work that is a function, in a worker thread: how far it is, what it has so far, and Stop.

The work is a function of `report(share, text, value)`: it says how far it is and hands over what there is already, so
that somebody who stops it keeps that. It ends at its next report, or wherever its work looks at the deadline, once
nobody wants it any more or it has computed for as long as a run may. There it also gives way to the other work of the
server (`ui.jobs.scheduler`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from adgm.machine.deadline import TimeUp, check_time, deadline
from features.limits import LIMITS
from ui.jobs.scheduler import POOL, JobPool, Visitor
from ui.jobs.work import Work

Status = Literal["waiting", "running", "finished", "stopped", "time limit", "abandoned", "failed"]
Report = Callable[..., None]  # (share from 0 to 1, text, the value so far if there is one)
Function = Callable[[Report], Any]


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


class Task(Work):
    """One piece of long work, done by a function."""

    def __init__(self, work: Function, *, visitor: Visitor | None = None, pool: JobPool = POOL) -> None:
        super().__init__(visitor, pool)
        self._call, self._progress = work, Progress("waiting")

    def progress(self) -> Progress:
        with self._changed:
            return self._progress

    def wait(self, timeout: float | None = None) -> Progress:
        """Block until it is over: for tests."""
        self.join(timeout)
        return self.progress()

    def _late(self) -> bool:
        return self._pool.used(self) > LIMITS.job_seconds

    def _over(self) -> bool:
        return super()._over() or self._late()

    def _why(self) -> Status:
        return "stopped" if self._stopping else "time limit" if self._late() else "abandoned"

    def _set(self, **changes: Any) -> None:
        with self._changed:
            self._progress = replace(self._progress, **changes)

    def _report(self, share: float, text: str = "", value: Any = None) -> None:
        changes = {"share": min(max(share, 0.0), 1.0), "text": text}
        self._set(**(changes if value is None else {**changes, "value": value}))
        check_time()
        self._pool.give_way(self)
        if not self._pool.enter(self, self._over):
            raise TimeUp

    def _work(self) -> Status:
        if not self._pool.enter(self, self._over):
            return self._why()
        self._set(status="running")
        with deadline(lambda: self._pool.turn(self, self._over)):
            value = self._call(self._report)
        self._set(share=1.0, value=value)
        return "finished"

    def _ended(self, status: Status, error: str) -> None:
        self._set(status=status, error=error)
