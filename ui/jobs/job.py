"""A solver run in a worker thread: pause, step, stop and change it, and read where it is at any time.

The thread never touches Streamlit. It publishes a frozen `Snapshot` about ten times a second; a page reads the latest
one and calls `touch`, and a run that nobody has looked at for two minutes, or whose visitor has left, ends by itself.
Jobs compute in turns, a slice of iterations each (`ui.jobs.scheduler`); one that sleeps or is paused holds no place. A
job may also build its problem: Stop and the time limit hold there, too.
"""

import math
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from time import monotonic
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from adgm import Problem, Result, State
from adgm.machine.computing import ProcessorTime, working_for
from adgm.machine.deadline import TimeUp, deadline
from adgm.run import Method, Run
from adgm.run import Status as ResultStatus
from features.limits import LIMITS
from ui.jobs.history import Floats, Frame, Frames, Lanes, Mark, RunCurves, frame_of, lanes_of
from ui.jobs.scheduler import POOL, JobPool, Visitor
from ui.jobs.work import Work

__all__ = ["ACTIVE", "POOL", "Frame", "Frames", "Job", "JobPool", "Mark", "Pacing", "Snapshot", "Status"]

Status = Literal[
    "waiting",
    "compiling",
    "building",
    "running",
    "paused",
    "converged",
    "iteration limit",
    "time limit",
    "stopped",
    "abandoned",
    "failed",
]
ACTIVE = ("waiting", "compiling", "building", "running", "paused")

INTERVAL = 0.1  # seconds between two snapshots
OVERHEAD = 0.1  # largest share of the time that goes into snapshots
LIGHT_FRAMES, LIGHT_FRAME_BYTES = 100, 6_000_000  # of a light job: a comparison keeps many
DENSE_UNTIL = 20  # every iteration up to this one is a frame; then they are 1/20 of the run so far apart,
DENSE_BUDGET = 0.25  # as long as all of them together took less than these seconds


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Where a job is. `history` has a column "iteration" beside what the method traces, at most 400 values long."""

    status: Status
    iteration: int = 0
    elapsed: float = 0.0  # seconds of computing (processor time): neither waiting nor pausing counts
    time_limit: float | None = None
    rate: float = 0.0  # iterations per second, lately
    history: dict[str, Floats] | None = None
    marks: tuple[Mark, ...] = ()
    frame: Frame | None = None  # the latest
    best: NDArray[np.bool_] | None = None
    best_energy: float = math.inf
    lanes: Lanes | None = None  # of a method that keeps several runs
    position: int = 0  # in the queue, from 1; 0 when not waiting
    delay: float = 0.0  # about how many seconds until its turn
    error: str = ""

    @property
    def active(self) -> bool:
        return self.status in ACTIVE

    @property
    def moving(self) -> bool:
        """Whether it goes on by itself."""
        return self.active and self.status != "paused"

    @property
    def remaining(self) -> float | None:
        return None if self.time_limit is None else max(self.time_limit - self.elapsed, 0.0)


@dataclass(frozen=True)
class Pacing:
    """How fast a run goes, for watching it."""

    pace: float | None = None  # iterations per second at most; waiting for the next one is not counted
    hurry: float | None = None  # seconds: the pace grows with the iterations, so a long run takes a few times as long
    paused: bool = False  # it begins paused

    def __post_init__(self) -> None:
        if self.pace is not None and not self.pace > 0:
            raise ValueError(f"the pace of a run must be a positive number or none, not {self.pace}")

    def at(self, iteration: int) -> float | None:
        """Iterations per second from this one on; None: as many as it can."""
        if self.pace is None or self.hurry is None:
            return self.pace
        return max(self.pace, iteration / self.hurry)


class Job(Work):
    """One run of a method on a problem.

    `adgm.run.Run` does the work; the job decides when, and keeps what a page shows. The problem may also be a function
    that builds it; then the job builds it first. While `lacks_kernels` is true of the method's state, as kernels
    are still being compiled, the job waits; waiting does not count as computing time. A `light` job stores fewer
    iterations: only its result is of interest, and storing iterations slows a fast method down.
    """

    subject = "The solver"

    def __init__(
        self,
        method: Method[Any],
        problem: Problem | Callable[[], Problem],
        *,
        time_limit: float | None = None,
        pacing: Pacing = Pacing(),
        light: bool = False,
        lacks_kernels: Callable[[Any], bool] = lambda state: False,
        visitor: Visitor | None = None,
        pool: JobPool = POOL,
    ) -> None:
        super().__init__(visitor, pool)
        self._curves = RunCurves()
        self._build = problem if callable(problem) else None
        time_limit = min(LIMITS.job_seconds, math.inf if time_limit is None else time_limit)
        self._clock = ProcessorTime()
        # A run looks at its problem when it first advances: by then it is built.
        given: Any = None if self._build else problem
        self._run = Run(given, method, time_limit=time_limit, history=self._curves, clock=self._clock)
        self.method, self.time_limit, self.pacing, self.light = method, time_limit, pacing, light
        self._lacks_kernels, self._paused, self._steps = lacks_kernels, pacing.paused, 0
        self._asked: float | None = None  # another ρ
        self._result: Result[Any] | None = None
        self._rate, self._every = 0.0, 1
        self._began: float | None = None  # when the iterations under way began
        self._last: tuple[float, int] | None = None  # when those before them began, and how many they were
        self._frames = Frames(LIGHT_FRAMES, LIGHT_FRAME_BYTES) if light else Frames()
        self._snapshot = Snapshot("waiting", time_limit=time_limit)

    # ------------------------------------------------------------------ what a page asks and says

    def hand_to(self, visitor: Visitor) -> None:
        """Work for another visitor from now on: the same person, after a reload."""
        self._pool.hand_to(self, visitor)
        self.visitor = visitor
        self.touch()

    @property
    def paused(self) -> bool:
        """Whether it was asked to hold; it may still take the steps that were asked for."""
        return self._paused

    @property
    def problem(self) -> Problem:
        """Its problem; None as long as that is not built, when there is nothing to show of it either."""
        return self._run.problem

    def snapshot(self) -> Snapshot:
        with self._changed:
            snapshot, began = self._snapshot, self._began
            if snapshot.status == "paused" and (self._stopping or not self._idle()):
                snapshot = replace(snapshot, status="waiting")  # it was asked to go on, and has not begun yet
        if snapshot.status == "waiting":
            position = self._pool.position(self)
            return replace(snapshot, position=position, delay=self._pool.delay(position))
        if snapshot.status in ("building", "running") and began is not None:
            return replace(snapshot, elapsed=snapshot.elapsed + self._clock() - began)
        return snapshot

    @property
    def state(self) -> Any:
        """The method's own latest state; None before its first one."""
        return self._run.state

    def frames(self) -> tuple[Frame, ...]:
        """Stored iterations to scrub through: the first, the latest, and some between."""
        with self._changed:
            return self._frames.all()

    def pause(self) -> None:
        self._tell(paused=True, steps=0)

    def resume(self) -> None:
        self._tell(paused=False, steps=0)

    def step(self, n: int = 1) -> None:
        """Exactly n iterations further (fewer if the run ends), then pause."""
        if n < 1:
            raise ValueError(f"a run goes on by 1 iteration or more, not by {n}")
        with self._changed:
            self._tell(paused=True, steps=n + (self._steps if self._paused else 0))

    def stop(self) -> None:
        self.touch()
        super().stop()

    def change(self, rho: float) -> None:
        """Go on with another ρ from the next iteration on."""
        if not (rho > 0 and math.isfinite(rho)):
            raise ValueError(f"ρ must be a positive number, not {rho}")
        if self.state is not None and not hasattr(self.state, "rho"):
            raise ValueError(f"{type(self.method).__name__} has no ρ to change")
        with self._changed:
            self._asked = rho
        self.touch()

    @property
    def asked(self) -> float | None:
        """The ρ that was asked for last, until an iteration has taken it up."""
        return self._asked

    def wait(self, timeout: float | None = None) -> Snapshot:
        """Block until the run is over: for scripts and tests, not for pages."""
        self.join(timeout)
        return self.snapshot()

    def rest(self, timeout: float) -> None:
        """Wait, at most so many seconds, until the steps that were asked for are done, or the run is over."""
        with self._changed:
            self._changed.wait_for(
                lambda: not self._snapshot.active or (self._snapshot.status == "paused" and not self._steps), timeout
            )

    def result(self) -> Result[Any]:
        """What `adgm.solve` would have returned, once the job has ended with a matching."""
        end = self.snapshot()
        if end.active or end.best is None:
            raise ValueError(f"there is no result yet: the run is {end.status} at iteration {end.iteration}")
        if self._result is None:
            self._result = self._run.result(stopped=end.status not in get_args(ResultStatus))
        return self._result

    def release(self) -> None:
        """Forget what the method would need to go on (DD's open nodes may fill the memory)."""
        found = self.result()
        plain = State(**{one.name: getattr(found.state, one.name) for one in fields(State)})
        self._result, self._run.state = replace(found, state=plain), None

    def _tell(self, *, paused: bool, steps: int) -> None:
        self.touch()
        with self._changed:
            self._paused, self._steps = paused, steps
            self._changed.notify_all()

    # ------------------------------------------------------------------ the worker thread

    def _work(self) -> Status:
        with working_for(self._clock):
            return self._iterate()

    def _ended(self, status: Status, error: str) -> None:
        with self._changed:
            self._began = None
            self._snapshot = replace(self._snapshot, status=status, error=error, elapsed=self._elapsed())
            self._changed.notify_all()

    def _iterate(self) -> Status:
        """Iterate until there is a reason to end, and say which."""
        while not self._over():
            if self._idle():
                self._pool.leave(self)
                self._set_status("paused")
                self._last = None
                with self._changed:
                    while self._idle() and not self._over():
                        self._changed.wait(min(1.0, self.visitor.patience / 4))
                self._set_status("waiting")
            elif self._lacks_kernels(self._run.state):
                self._pool.leave(self)
                self._set_status("compiling")
                self._last = None
                with self._changed:
                    self._changed.wait(INTERVAL)
            elif self._pool.enter(self, lambda: self._over() or self._idle()):
                if self._build is not None:
                    self._set_status("building")
                    self._make(self._build)
                    continue
                self._set_status("running")
                rest = self._advance()
                if (why := self._run.status) is not None:
                    return why
                if rest > 0:
                    self._pool.leave(self)
                    with self._changed:
                        self._changed.wait_for(lambda: self._paused or self._over(), rest)
                else:
                    self._pool.give_way(self)
        stopped: Status = self._why()
        return stopped

    def _turn(self) -> bool:
        """Whether to end; the end of a slice gives way. Threads that help with the work do not."""
        if threading.current_thread() is not self._thread:
            return self._over()
        return self._pool.turn(self, self._over)

    def _make(self, build: Callable[[], Problem]) -> None:
        """Build the problem; its time counts."""
        began = self._began = self._clock()
        try:
            with deadline(lambda: self._turn() or self._clock() - began > self.time_limit):
                self._run.problem = build()
                self._build = None
        except TimeUp:
            if not self._over():
                raise ValueError(
                    f"the problem was still being built when its {self.time_limit:g} s were over; allow more time, or "
                    "take fewer points."
                ) from None
        finally:
            with self._changed:
                self._began = None
                self._run.overhead += self._clock() - began

    def _idle(self) -> bool:
        # A job that was paused before it began still shows its start.
        return self._paused and self._steps == 0 and self._run.state is not None

    def _elapsed(self) -> float:
        """Seconds of computing, ours included."""
        return self._run.seconds + self._run.overhead

    def _set_status(self, status: Status) -> None:
        with self._changed:
            if self._snapshot.status != status:
                self._snapshot = replace(self._snapshot, status=status)
                self._changed.notify_all()

    def _advance(self) -> float:
        """As many iterations as fill the time until the next snapshot, or as were asked for; at first the start.

        Returns how many seconds there are until the next ones are due.
        """
        run = self._run
        if self._last is not None:
            rate = self._last[1] / max(monotonic() - self._last[0], 1e-9)
            self._rate = 0.7 * (self._rate or rate) + 0.3 * rate
        with self._changed:
            stepping, before, first = self._paused, run.iteration, run.state is None
            pace = self.pacing.at(before)
            most = self._steps if stepping else max(1, int(pace * INTERVAL)) if pace else self._every
            rho = None if first else self._asked
            entered, self._began = monotonic(), self._clock()
            began = self._began
            spent_before, overhead_before = run.seconds, run.overhead
        if rho is not None:
            run.change(lambda state: _with_rho(state, rho))
            self._curves.by_hand = True
        with suppress(TimeUp), deadline(self._turn):  # Stop acts also while tables are built
            run.advance(max(1, min(self._every, most)))
        spent, ran = run.seconds - spent_before, run.iteration - before
        self._publish(moved=ran > 0 or first)
        total = self._clock() - began
        with self._changed:
            self._began = None
            if self._asked == rho:  # and nothing else has been asked for meanwhile
                self._asked = None
            run.overhead = overhead_before + total - spent
            if stepping and self._paused:
                self._steps = max(self._steps - (ran or not first), 0)  # some steps take no iteration
        if ran:
            self._adapt(spent / ran, total - spent)
        self._last = (entered, ran) if ran else None
        return ran / pace - (monotonic() - entered) if ran and pace and not stepping else 0.0

    def _adapt(self, each: float, overhead: float) -> None:
        """How many iterations until the next snapshot, when each one takes so long and a snapshot so much more."""
        fitting = max(INTERVAL, overhead / OVERHEAD) / max(each, 1e-7)
        if self.light:
            fitting = max(fitting, min(self._run.iteration // 5, int(INTERVAL / max(each, 1e-7))))
        elif self._run.overhead < DENSE_BUDGET:
            fitting = min(fitting, self._run.iteration / DENSE_UNTIL)
        self._every = max(1, min(int(fitting), 2 * self._every))

    def _publish(self, moved: bool) -> None:
        """Make what the run has come to the snapshot; a frame only if iterations passed."""
        run = self._run
        best, best_energy = run.best()
        with self._changed:
            self._snapshot = now = replace(self._snapshot, best=best, best_energy=best_energy, elapsed=self._elapsed())
        if run.state is None:
            return
        frame = frame_of(run.state, *run.rounded())
        with self._changed:
            if moved:
                self._frames.add(frame)
            self._snapshot = replace(
                now,
                iteration=run.iteration,
                rate=self._rate,
                frame=frame,
                history=self._curves.shown.arrays(),
                marks=tuple(self._curves.marks),
                lanes=lanes_of(run.state),
            )


def _with_rho(state: Any, rho: float) -> Any:
    """The state with another ρ, whose schedule begins anew."""
    fresh = {name: 0 for name in ("at_rho", "stalled") if hasattr(state, name)}
    return replace(state, rho=rho, **fresh)
