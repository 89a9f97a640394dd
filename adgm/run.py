"""The only loop and the only clock: every method is a record with init, step and done."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Generic, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from adgm._kernels import FloatArray, LongArray
from adgm.problem import ANY, Problem
from adgm.rounding import Assignment, best_rounding

Status = Literal["converged", "iteration limit", "time limit", "stopped"]


@dataclass(frozen=True, eq=False, kw_only=True)
class State:
    """Where a method is. Methods extend it with what they need to go on."""

    iteration: int
    x: FloatArray  # the current relaxed assignment, over the problem's variables
    energy: float = np.inf  # of the relaxed assignment, in the units of the costs
    best: Assignment | None = None  # the best matching rounded so far
    best_energy: float = np.inf
    converged: bool = False
    trace: dict[str, FloatArray] = field(default_factory=dict)  # a value per iteration since the state before


S = TypeVar("S", bound=State)


class Method(Protocol[S]):
    """What `iterate` and `solve` ask of a solver; a frozen record of its options."""

    def init(self, problem: Problem) -> S: ...

    def step(self, problem: Problem, state: S, n: int = 1) -> S:
        """At most n iterations further."""
        ...

    def done(self, state: S) -> bool: ...


@dataclass(frozen=True, eq=False)
class Result(Generic[S]):
    """What a run ended with; `state` is where it can be continued."""

    problem: Problem
    assignment: Assignment  # the best matching, over the problem's variables
    energy: float
    status: Status
    iterations: int
    seconds: float
    history: dict[str, FloatArray]  # "seconds" and whatever the method traces, a value per iteration
    state: S

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


def iterate(method: Method[S], problem: Problem, *, every: int = 1, start: S | None = None) -> Iterator[S]:
    """States of a run, `every` iterations apart, from its beginning or from `start`."""
    if every < 1:
        raise ValueError(f"every must be at least 1 iteration, got {every}")
    state = method.init(problem) if start is None else start
    yield state
    while not method.done(state):
        state = method.step(problem, state, every)
        yield state


def solve(
    problem: Problem,
    method: Method[Any] | None = None,
    *,
    watch: Callable[[Any], object] | None = None,
    every: int = 50,
    time_limit: float | None = None,
    start: State | None = None,
) -> Result[Any]:
    """Run a method (ADGM as published if None) to its end.

    `watch(state)` sees every state, `every` iterations apart, and stops the run by returning True. `time_limit` is
    in seconds and checked at the same moments. `start` continues from a state.
    """
    if method is None:
        from adgm.solver import ADGM

        method = ADGM()
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit must be a positive number of seconds or None, got {time_limit}")
    began = perf_counter()
    history = History()
    status: Status | None = None
    for state in iterate(method, problem, every=every, start=start):
        elapsed = perf_counter() - began
        history.add(state.trace if state is not start else {}, elapsed)
        if watch is not None and watch(state) is True:
            status = "stopped"
        elif time_limit is not None and elapsed > time_limit and not method.done(state):
            status = "time limit"
        if status is not None:
            break
    if status is None:
        status = "converged" if state.converged else "iteration limit"
    assignment, energy = state.best, state.best_energy
    if assignment is None or not method.done(state):
        now, now_energy = best_rounding(problem, state.x)
        if assignment is None or now_energy < energy:
            assignment, energy = now, now_energy
    seconds = perf_counter() - began
    return Result(problem, assignment, energy, status, state.iteration, seconds, history.arrays(), state)


class History:
    """Traces of consecutive states, joined; the moments between two states are interpolated."""

    def __init__(self) -> None:
        self.parts: dict[str, list[NDArray[np.float64]]] = {"seconds": []}
        self.last = 0.0

    def add(self, trace: dict[str, FloatArray], elapsed: float) -> None:
        length = len(next(iter(trace.values()))) if trace else 0
        self.parts["seconds"].append(np.linspace(self.last, elapsed, length + 1)[1:])
        for name, values in trace.items():
            self.parts.setdefault(name, []).append(values)
        self.last = elapsed

    def arrays(self) -> dict[str, FloatArray]:
        return {name: np.concatenate(parts) for name, parts in self.parts.items() if parts}
