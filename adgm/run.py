"""The only loop and the only clock: a `Run` takes a method through a problem and keeps what it finds on the way."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Generic, Protocol

import numpy as np
from numpy.typing import NDArray

from adgm._kernels import FloatArray, LongArray
from adgm.machine import cells
from adgm.machine.computing import ProcessorTime, working_for
from adgm.machine.deadline import TimeUp, deadline
from adgm.problem import ANY, Problem
from adgm.rounding import Assignment, best_rounding, unary_matching
from adgm.state import Method, S, State, Status

__all__ = ["History", "Method", "Record", "Result", "Run", "State", "Status", "iterate"]

SLICE = 0.05  # seconds between two looks at the clock where there is a time limit


@dataclass(frozen=True, eq=False)
class Result(Generic[S]):
    """What a run ended with.

    Parameters
    ----------
    problem : Problem
        What was minimised.
    assignment : bool array (n,)
        The best matching, over the problem's variables; `pairs` and `matching` say it in nodes.
    energy : float
        Of the matching, in the units of the costs.
    status : "converged", "iteration limit", "time limit" or "stopped"
        How the run ended.
    iterations : int
        How many it took.
    seconds, seconds_to_best : float
        Of computing (processor time), the tables included; of these, until the best matching was found.
    history : dict of arrays
        "seconds" and whatever the method traces, a value per iteration.
    state : State
        Where the run can be continued: ``solve(problem, method, start=result.state)``.

    Raises
    ------
    ValueError
        `matching`, where a node of graph 1 may have several partners.

    Examples
    --------
    >>> from adgm import Dense, Problem, solve
    >>> result = solve(Problem((2, 3), [Dense([[0.0, 0, -7], [0, -4, 0]])]), "adgm")
    >>> result.energy, result.matching.tolist(), result.pairs.tolist()
    (-11.0, [2, 1], [[0, 2], [1, 1]])
    """

    problem: Problem
    assignment: Assignment  # the best matching, over the problem's variables
    energy: float
    status: Status
    iterations: int
    seconds: float  # of computing (processor time), the tables included
    seconds_to_best: float  # of these, until the best matching was found
    history: dict[str, FloatArray]  # "seconds" and whatever the method traces, a value per iteration
    state: S

    def __repr__(self) -> str:
        return f"Result({self._ended}, energy {self.energy:.7g}, {self.assignment.sum()} pairs, {self.problem!r})"

    def _repr_html_(self) -> str:
        """For notebooks: how it ended, and what it traced on the way."""
        told = {
            "energy": f"{self.energy:.7g}",
            "matched pairs": int(self.assignment.sum()),
            "problem": self.problem.summary,
        }
        told["best found after"] = f"{self.seconds_to_best:.3g} s of {self.seconds:.3g} s of computing"
        return cells.card(self._ended, cells.facts(told), cells.words(self.note), cells.curves(self.history))

    @property
    def _ended(self) -> str:
        return f"{self.status} after {self.iterations} iteration{'s' * (self.iterations != 1)}"

    @property
    def note(self) -> str:
        """What people should know about how it ended, in sentences; mostly nothing."""
        return self.state.note(self.problem, self.assignment)

    @property
    def x(self) -> FloatArray:
        """The last relaxed assignment, n1 × n2."""
        return self.problem.matrix(self.state.x)

    @property
    def pairs(self) -> LongArray:
        """The matched pairs (i1, i2), k × 2."""
        layout = self.problem.layout
        return np.stack([layout.row[self.assignment], layout.col[self.assignment]], axis=1)

    @property
    def matching(self) -> LongArray:
        """For every node of graph 1 its partner in graph 2, −1 for none."""
        if self.problem.rows == ANY:
            raise ValueError("a node of graph 1 may have several partners here: use Result.pairs")
        partner: LongArray = np.full(self.problem.shape[0], -1)
        rows, cols = self.pairs.T
        partner[rows] = cols
        return partner


class Record(Protocol):
    """What keeps a run's curves: `History` keeps all of them, a page may thin them out."""

    def add(self, columns: dict[str, FloatArray]) -> None:
        """Further values of "iteration", "seconds" and whatever the method traces, equally many of each."""

    def arrays(self) -> dict[str, FloatArray]: ...


class History:
    """Every value of every iteration."""

    def __init__(self) -> None:
        self.parts: dict[str, list[NDArray[np.float64]]] = {}

    def add(self, columns: dict[str, FloatArray]) -> None:
        for name, values in columns.items():
            self.parts.setdefault(name, []).append(values)

    def arrays(self) -> dict[str, FloatArray]:
        return {name: np.concatenate(parts) for name, parts in self.parts.items()}


class Run(Generic[S]):
    """A run of a method on a problem that can be stepped, looked at and changed: `advance`, `change`, `finish`.

    The first `advance` begins it: tables are built, the state is the start's. `seconds` counts the computing, in
    processor time of all threads that work for it (`adgm.machine.computing`), but for compiling, and nothing that
    happens between two calls; add that to `overhead` if it shall count for the time limit too.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    method : method
        A record of options, such as ``ADGM()`` or ``METHODS["rrwm"].make()``.
    time_limit : float, optional
        Seconds of computing for everything, also for building the tables; checked about twenty times a second.
    start : State, optional
        The state to continue from.
    history : Record, optional
        What keeps the curves; every value of every iteration if None.
    clock : function, optional
        Another clock, in seconds: a run with a clock of one's own is repeatable.

    Raises
    ------
    ValueError
        `time_limit` is not positive; `change` before the first `advance`; `advance` by less than one iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from adgm import ADGM, Dense, Problem, Run
    >>> run = Run(Problem((3, 3), [Dense(np.cos(np.arange(81.0)).reshape(9, 9))]), ADGM())
    >>> run.advance().iteration, run.advance(5).iteration, run.status
    (0, 5, None)
    >>> run.finish().status
    'converged'
    """

    def __init__(
        self,
        problem: Problem,
        method: Method[S],
        *,
        time_limit: float | None = None,
        start: S | None = None,
        history: Record | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        if time_limit is not None and not time_limit > 0:
            raise ValueError(f"time_limit must be a positive number of seconds or None, got {time_limit}")
        self.problem, self.method, self.time_limit = problem, method, time_limit
        self.clock = ProcessorTime() if clock is None else clock
        self.state: S | None = start
        self.history: Record = History() if history is None else history
        self.seconds = self.overhead = 0.0
        self._lowest, self._found_at = (inf, 0.0) if start is None else (start.best_energy, 0.0)
        self._slice, self._each = 1.0, inf  # iterations between two looks at the clock; seconds of one
        self._began: float | None = None
        self._rounded: tuple[State, Assignment, float] | None = None
        self._handed: Assignment | None = None  # what an interrupted start had found

    def __repr__(self) -> str:
        where = f"iteration {self.iteration}" if self.status is None else f"{self.status} at iteration {self.iteration}"
        return f"Run({type(self.method).__name__}, {where}, {self.problem!r})"

    @property
    def iteration(self) -> int:
        return 0 if self.state is None else self.state.iteration

    @property
    def out_of_time(self) -> bool:
        under_way = 0.0 if self._began is None else self.clock() - self._began
        return self.time_limit is not None and self.seconds + self.overhead + under_way >= self.time_limit

    @property
    def status(self) -> Status | None:
        """Why the run is over; None while it can go on."""
        if self.state is not None and self.method.done(self.state):
            return "converged" if self.state.converged else "iteration limit"
        return "time limit" if self.out_of_time else None

    def change(self, update: Callable[[S], S]) -> None:
        """Go on from another state, such as one with another ρ."""
        if self.state is None:
            raise ValueError("a run can be changed once it has begun: call advance first")
        self.state = update(self.state)

    def advance(self, n: int = 1) -> S | None:
        """The start if the run has none yet, else at most n iterations further (one step if that takes none).

        Returns the state, None if the time was up before there was any; its trace has all iterations of this call.
        """
        if n < 1:
            raise ValueError(f"a run goes on by 1 iteration or more, got {n}")
        if self.state is None:
            self._timed(lambda: self.method.init(self.problem))
            return self.state
        traces: list[dict[str, FloatArray]] = []
        while n > 0 and self.status is None:
            before, asked = self.state, n if self.time_limit is None else min(n, int(self._slice))
            spent = self._timed(lambda: self.method.step(self.problem, before, asked))  # noqa: B023
            ran = self.state.iteration - before.iteration
            if self.state is not before and self.state.trace:
                traces.append(self.state.trace)
            if ran < asked:  # it is over, or a step of another kind comes next
                break
            n -= ran
            self._each = spent / ran
            self._slice = max(1.0, min(2.0 * self._slice, SLICE / max(self._each, 1e-9)))
        if len(traces) > 1:
            joined = {name: np.concatenate([t[name] for t in traces]) for name in traces[0]}
            self.state = replace(self.state, trace=joined)
        return self.state

    def _timed(self, work: Callable[[], S]) -> float:
        """The next state, computed under the deadline and recorded; the seconds that took."""
        before, state = self.seconds, None
        self._began = self.clock()  # while this thread does not count: asking how long it has computed takes its time
        try:
            with working_for(self.clock):
                if self.time_limit is None:
                    state = work()
                else:
                    with deadline(lambda: self.out_of_time):
                        state = work()
        except TimeUp as interrupted:
            if not self.out_of_time:  # somebody else's deadline
                raise
            self._handed = interrupted.found
        finally:
            self.seconds += self.clock() - self._began
            self._began = None
        spent = self.seconds - before
        if state is not None and state is not self.state:
            self.state = state
            length = len(next(iter(state.trace.values()), ()))
            iterations = np.arange(state.iteration - length + 1, state.iteration + 1, dtype=float)
            seconds = np.linspace(before, self.seconds, length + 1)[1:]
            self.history.add({"iteration": iterations, "seconds": seconds, **state.trace})
        if self.state is not None and self.state.best_energy < self._lowest:
            self._lowest, self._found_at = self.state.best_energy, self.seconds
        return spent

    @contextmanager
    def _beside(self) -> Iterator[None]:
        """What is computed within it counts for the time limit, not as the method's."""
        began = self.clock()
        try:
            with working_for(self.clock):
                yield
        finally:
            self.overhead += self.clock() - began

    def rounded(self) -> tuple[Assignment, float]:
        """The present relaxed assignment rounded, and the energy of that; a guess from unary costs before the start."""
        if self.state is None:
            return guess(self.problem) if self._handed is None else (self._handed, self.problem.paid(self._handed))
        if self._rounded is None or self._rounded[0] is not self.state:
            with self._beside():
                self._rounded = self.state, *best_rounding(self.problem, self.state.x)
        return self._rounded[1:]

    def best(self) -> tuple[Assignment, float]:
        """The best matching so far: the method's own, unless it has none or a run that is not done rounds to better."""
        found, energy = (None, inf) if self.state is None else (self.state.best, self.state.best_energy)
        if self.state is None or found is None or not self.method.done(self.state):
            now, now_energy = self.rounded()
            if found is None or now_energy < energy:
                return now, now_energy
        return found, energy

    def finish(self, *, watch: Callable[[Any], object] | None = None, every: int = 50) -> Result[Any]:
        """To the end, or until `watch(state)`, called every so many iterations, returns True."""
        if every < 1:
            raise ValueError(f"every must be at least 1 iteration, got {every}")
        stopped = False
        if self.state is None:
            self.advance()
        while self.state is not None:
            if watch is not None:
                with self._beside():
                    stopped = watch(self.state) is True
            if stopped or self.status is not None:
                break
            self.advance(every)
        return self.result(stopped=stopped)

    def result(self, *, stopped: bool = False) -> Result[Any]:
        """What the run has found so far."""
        status: Status = "stopped" if stopped else self.status or "stopped"
        assignment, energy = self.best()
        state: State = self.state or State(iteration=0, x=assignment.astype(float), best=assignment, best_energy=energy)
        history = {name: values for name, values in self.history.arrays().items() if name != "iteration"}
        to_best = self._found_at if energy >= self._lowest else self.seconds  # else the last rounding found it
        spent = self.seconds, to_best
        return Result(self.problem, assignment, energy, status, state.iteration, *spent, history, state)


def guess(problem: Problem) -> tuple[Assignment, float]:
    """A matching from the unary costs alone and its energy, without building any table."""
    assignment = unary_matching(problem)
    return assignment, problem.paid(assignment)


def iterate(method: Method[S], problem: Problem, *, every: int = 1, start: S | None = None) -> Iterator[S]:
    """Step through a run.

    Parameters
    ----------
    method : method
        A record of options, such as ``ADGM()``.
    problem : Problem
        What is minimised.
    every : int
        Iterations between two states.
    start : State, optional
        The state to continue from; the first one given out.

    Returns
    -------
    iterator of State
        Until the run is over.

    Raises
    ------
    ValueError
        `every` is less than 1.

    Examples
    --------
    >>> import numpy as np
    >>> from adgm import ADGM, Dense, Problem, iterate
    >>> problem = Problem((3, 3), [Dense(np.cos(np.arange(81.0)).reshape(9, 9))])
    >>> [state.iteration for state in iterate(ADGM(max_iter=6), problem, every=2)]
    [0, 2, 4, 6]
    """
    if every < 1:
        raise ValueError(f"every must be at least 1 iteration, got {every}")
    run = Run(problem, method, start=start)
    if start is not None:
        yield start
    while run.status is None:
        state = run.advance(every)
        assert state is not None
        yield state
