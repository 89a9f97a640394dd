"""ADGM+: several ADGM runs side by side, and a local search that improves whatever they find."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, field, replace
from math import factorial
from typing import Literal, TypeVar

import numpy as np

from adgm._kernels import FloatArray
from adgm._relaxation import bytes_needed
from adgm.bound import bound, refusal
from adgm.problem import Potential, Problem, Sparse
from adgm.rounding import Assignment, best_rounding
from adgm.run import State
from adgm.search import improve, roams, scout, wander
from adgm.solver import ADGM, AUTO, RULES, ADGMState

SAME = 1e-9  # energies closer than this, relative to the largest cost, are the same
FEWEST_SWEEPS = 4  # of the dual ascent: proofs take two to six of all pairs of variables, if they come at all
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Lane:
    """How one run differs from the others.

    factor: its ρ0 in units of the one that "auto" chooses. balance: whether ρ adapts from there, as "auto" does, or
    only grows, as in the paper. split: None leaves symmetric tensors as they are; a number keeps one sorted copy of
    each hyperedge (an equal energy, another algorithm), sorted by node numbers that are shuffled with it (0: not).
    anew: its kicks begin at the best of some random matchings instead of its own, so that it agrees with the others
    only by finding the same matching another way.
    """

    factor: float = 1.0
    balance: bool = True
    start: Literal["uniform", "zeros", "random"] = "uniform"
    coupling: Literal["star", "chain"] = "star"
    split: int | None = None
    anew: bool = False
    seed: int = 0

    def method(self, auto: float, max_iter: int) -> ADGM:
        options = {**AUTO, "rho0": self.factor * auto, "round_every": 0, "polish": False}  # the portfolio does that
        if not self.balance:
            options["balance"] = 1.0
        return ADGM(coupling=self.coupling, start=self.start, seed=self.seed, max_iter=max_iter, **options)

    def __str__(self) -> str:
        parts = [f"{self.factor:g} × ρ0" if self.factor != 1 else "ρ0", "" if self.balance else "growing only"]
        parts += [self.start if self.start != "uniform" else "", self.coupling if self.coupling != "star" else ""]
        parts += ["" if self.split is None else "sorted copies" if self.split == 0 else "renumbered copies"]
        parts += ["kicks anew" if self.anew else ""]
        return ", ".join(part for part in parts if part)


# The first lanes: balanced and merely growing penalties, small ones that roam and large ones that walk straight.
PAIRWISE = (
    Lane(),
    Lane(1 / 2, balance=False, anew=True),
    Lane(balance=False, start="zeros"),
    Lane(4.0, start="random", anew=True),
    Lane(16.0, balance=False),
    Lane(1 / 2, balance=False, start="random", anew=True),
)
HIGHER = (
    Lane(),
    Lane(4.0, split=0, anew=True),
    Lane(1 / 2, balance=False, coupling="chain"),
    Lane(4.0, start="zeros", coupling="chain", split=1, anew=True),
    Lane(balance=False, split=1),
    Lane(4.0, start="random", anew=True),
)
WAVE = len(PAIRWISE)


def lane(number: int, order: int, seed: int) -> Lane:
    """Lane `number`: one of the first, or one like them from a random start of its own."""
    first = PAIRWISE if order <= 2 else HIGHER
    if number < len(first):
        return replace(first[number], seed=seed + number)
    return replace(first[number % len(first)], start="random", seed=seed + number)


@dataclass(frozen=True, eq=False)
class LaneState:
    """Where a lane is: its run, its best matching, and its curves."""

    lane: Lane
    problem: Problem  # the one to solve, its tensors split as the lane says
    method: ADGM
    run: ADGMState
    best: Assignment | None = None
    best_energy: float = np.inf
    at: Assignment | None = None  # where its kicks have led, the best matching before them
    rng: np.random.Generator | None = None  # of its present round of kicks
    scouted: Assignment | None = None  # where that round may begin
    ended: Literal["", "converged", "beaten", "limit"] = ""
    residuals: FloatArray = field(default_factory=lambda: np.empty(0))  # a value per iteration
    energies: FloatArray = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, eq=False, kw_only=True)
class PortfolioState(State):
    """All lanes, the older waves' first."""

    lanes: tuple[LaneState, ...]
    first: int = 0  # the first lane of the wave that runs now
    in_wave: int = 0  # iterations since it began
    piece: int = 0  # what has been done since its last lane ended
    leader: int = 0  # the lane that found the best matching first
    agreeing: int = 0  # lanes whose best matching is that one
    finished: bool = False
    proved: bool = False  # whether the best matching is proved optimal

    @property
    def live(self) -> tuple[int, ...]:
        return tuple(i for i, each in enumerate(self.lanes) if not each.ended)


@dataclass(frozen=True)
class Portfolio:
    """ADGM+ : waves of ADGM runs ("lanes") that differ in what decides where they end, on all cores.

    Every `stride` iterations all lanes round, improve their matching by the local search, and losers end: after
    `trial` iterations those in the worse half, after twice as many all but the leader, after `max_iter` that one too.
    When all lanes of the first wave ended, the dual bound of `adgm.bound` looks for a proof, or for something better,
    with at most so much `effort` (see `DD`; not at all if that is too little for a few sweeps): a proof ends the run.
    Without one, each lane's matching is kicked and improved, `kicks` times for every node of the smaller graph; and
    again, `rounds` times at most, until `agree` lanes hold the best matching. Lanes that kick anew, and after the first
    round all that do not hold the best matching, begin at the best of many random matchings, `scouts` for every node: a
    deep optimum can lie far from where ADGM and kicks lead. If they do not agree even then, another wave starts, until
    there were `most_lanes`.

    Work is counted in iterations and every lane has its own seed, so that the result does not depend on `threads`
    (None: all cores).
    """

    most_lanes: int = 24
    agree: int = 4
    kicks: int = 3
    scouts: int = 4
    rounds: int = 4
    effort: float = 1e7
    stride: int = 50
    trial: int = 100
    max_iter: int = 400
    seed: int = 0
    threads: int | None = None

    def __post_init__(self) -> None:
        lowest = {
            "most_lanes": 1,
            "agree": 1,
            "kicks": 0,
            "scouts": 0,
            "rounds": 1,
            "stride": 1,
            "trial": 1,
            "max_iter": 1,
        }
        for name, low in lowest.items():
            value = getattr(self, name)
            if not (isinstance(value, int | np.integer) and value >= low):
                raise ValueError(f"{name} must be a whole number of at least {low}, got {value!r}")
        if not (isinstance(self.effort, int | float) and 0 <= self.effort < np.inf):
            raise ValueError(f"effort must be a number of at least 0, got {self.effort!r}")
        if self.threads is not None and not (isinstance(self.threads, int) and self.threads >= 1):
            raise ValueError(
                f"threads must be a whole number of at least 1, or None for all cores, got {self.threads!r}"
            )

    def init(self, problem: Problem) -> PortfolioState:
        lanes = self._wave(problem, ())
        first = lanes[0].run
        return PortfolioState(iteration=0, x=first.x, energy=first.energy, lanes=lanes)

    def done(self, state: PortfolioState) -> bool:
        return state.finished

    def step(self, problem: Problem, state: PortfolioState, n: int = 1) -> PortfolioState:
        """n iterations of every lane that runs; decisions fall at multiples of `stride`, however large n is.

        What follows when all have ended takes no iterations: one piece of it is a step.
        """
        traces: list[dict[str, FloatArray]] = []
        if not state.live and not state.finished:
            return replace(self._close_wave(problem, state), trace={})
        while n > 0 and state.live:
            length = min(n, self.stride - state.in_wave % self.stride)
            state = self._advance(problem, state, length)
            traces.append(state.trace)
            n -= length
        joined = {name: np.concatenate([t[name] for t in traces]) for name in (traces[0] if traces else ())}
        return replace(state, trace=joined)

    def _advance(self, problem: Problem, state: PortfolioState, length: int) -> PortfolioState:
        lanes = list(state.lanes)
        live = state.live
        at_boundary = (state.in_wave + length) % self.stride == 0

        def run(i: int) -> LaneState:
            each = lanes[i]
            after = each.method.step(each.problem, each.run, length)
            each = extended(each, after)
            if at_boundary or each.method.done(after):
                each = self._rounded(problem, each)
            return each

        for i, each in zip(live, self._map(problem, run, live), strict=True):
            lanes[i] = each
        state = self._led(problem, replace(state, lanes=tuple(lanes), in_wave=state.in_wave + length))
        if at_boundary:
            state = replace(state, lanes=self._without_losers(state))
        leader = state.lanes[state.leader].run
        state = replace(
            state,
            iteration=state.iteration + length,
            x=leader.x,
            energy=leader.energy,
            trace={
                "best": np.full(length, state.best_energy),
                "residual": np.full(length, leader.residual),
                "energy": np.full(length, leader.energy),
                "lanes": np.full(length, float(len(live))),
            },
        )
        return state

    def _rounded(self, problem: Problem, each: LaneState) -> LaneState:
        """The lane with its current matching, improved, and the reason why it ends, if it does."""
        done, found = each.method.done(each.run), each.run.best
        if found is None or not done:
            found, _ = best_rounding(problem, each.run.x)
        each = with_matching(problem, each, improve(problem, found)[0])
        return replace(each, ended="converged" if each.run.converged else "limit") if done else each

    def _without_losers(self, state: PortfolioState) -> tuple[LaneState, ...]:
        """The worse half ends after `trial` iterations, all but the leader after twice as many."""
        wave = range(state.first, len(state.lanes))
        keep = len(wave) if state.in_wave < self.trial else len(wave) // 2 if state.in_wave < 2 * self.trial else 1
        ranked = sorted(wave, key=lambda i: (state.lanes[i].best_energy, i))
        return tuple(
            replace(each, ended="beaten") if i in ranked[keep:] and not each.ended else each
            for i, each in enumerate(state.lanes)
        )

    def _close_wave(self, problem: Problem, state: PortfolioState) -> PortfolioState:
        """The next piece of what follows a wave: the bound's judgement, then rounds of scouting and kicks.

        Pieces, so that somebody who waits can look, and stop, in between.
        """
        if state.piece == 0:
            if state.first == 0:
                state = self._judged(problem, state)
            return replace(state, piece=1, finished=state.proved, converged=state.proved)
        scouting, kicking = max(1, self.scouts) if roams(problem) else 1, max(1, self.kicks)
        turn, part = divmod(state.piece - 1, scouting + kicking)
        lanes = list(state.lanes)

        def further(each: LaneState) -> LaneState:
            if part == 0:
                each = replace(each, rng=np.random.default_rng([each.lane.seed, turn]))
            return (self._scouted if part < scouting else self._kicked)(problem, each, turn, state.best)

        lanes[state.first :] = self._map(problem, further, lanes[state.first :])
        state = self._led(problem, replace(state, lanes=tuple(lanes), piece=state.piece + 1))
        if part + 1 < scouting + kicking:
            return state
        agreed = state.agreeing >= min(self.agree, len(lanes))
        if agreed or (turn + 1 == self.rounds and len(lanes) >= self.most_lanes):
            return replace(state, finished=True, converged=agreed)
        if turn + 1 < self.rounds:
            return state
        return replace(state, lanes=self._wave(problem, state.lanes), first=len(lanes), in_wave=0, piece=0)

    def _scouted(self, problem: Problem, each: LaneState, turn: int, best: Assignment | None) -> LaneState:
        """The lane with the best of some random matchings, if its kicks of this round are to begin there."""
        rng = deepcopy(each.rng)
        assert each.at is not None and best is not None and rng is not None
        if not (each.lane.anew if turn == 0 else not np.array_equal(each.at, best)):
            return each
        found = scout(problem, min(problem.shape) if self.scouts else 1, rng)
        if each.scouted is not None and problem.energy(each.scouted) <= problem.energy(found):
            found = each.scouted
        return replace(each, rng=rng, scouted=found)

    def _kicked(self, problem: Problem, each: LaneState, turn: int, best: Assignment | None) -> LaneState:
        """The lane after a kick for every node of the smaller graph."""
        at, rng = each.at, deepcopy(each.rng)
        assert at is not None and rng is not None
        if each.scouted is not None and (turn == 0 or problem.energy(each.scouted) < problem.energy(at)):
            at = each.scouted
        at = wander(problem, at, min(problem.shape) if self.kicks else 0, rng)[0]
        return replace(with_matching(problem, each, at), at=at, rng=rng, scouted=None)

    def _judged(self, problem: Problem, state: PortfolioState) -> PortfolioState:
        """What the dual bound says of the best matching; a better one that it finds goes to the leading lane."""
        hopeless = self.effort < FEWEST_SWEEPS * problem.n**2
        if hopeless or refusal(problem) or bytes_needed(problem) > problem.memory:
            return state
        assert state.best is not None
        found = bound(problem, state.best, effort=self.effort)
        lanes = list(state.lanes)
        lanes[state.leader] = with_matching(problem, lanes[state.leader], found.best)
        return replace(self._led(problem, replace(state, lanes=tuple(lanes))), proved=found.solved)

    def _wave(self, problem: Problem, before: tuple[LaneState, ...]) -> tuple[LaneState, ...]:
        """The lanes so far and the next ones, ready to run."""
        numbers = range(len(before), min(len(before) + WAVE, self.most_lanes))
        chosen = [lane(i, problem.order, self.seed) for i in numbers]
        splits = {each.lane.split: each.problem for each in before}
        for each in chosen:
            if each.split not in splits:
                splits[each.split] = split(problem, each.split)
        auto = {key: RULES["auto"](part) for key, part in splits.items()}  # computes the columns, too

        def begin(each: Lane) -> LaneState:
            method = each.method(auto[each.split], self.max_iter)
            return LaneState(each, splits[each.split], method, method.init(splits[each.split]))

        return before + tuple(self._map(problem, begin, chosen))

    def _led(self, problem: Problem, state: PortfolioState) -> PortfolioState:
        """The best matching, who found it first, and how many lanes hold it."""
        lanes = state.lanes
        best = min(each.best_energy for each in lanes)
        leader = next(i for i, each in enumerate(lanes) if each.best_energy <= best + SAME * problem.scale)
        matching = lanes[leader].best
        if matching is None:
            return state
        agreeing = sum(each.at is not None and np.array_equal(each.at, matching) for each in lanes)
        return replace(state, leader=leader, agreeing=agreeing, best=matching, best_energy=lanes[leader].best_energy)

    def _map(self, problem: Problem, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """work(item) for all items on all cores; one by one where columns come and go, since sums depend on which."""
        stored = all(columns.complete for columns in problem.runtime.columns)
        threads = min(self.threads or os.cpu_count() or 1, len(items)) if stored else 1
        if threads <= 1:
            return [work(item) for item in items]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, items))


def extended(each: LaneState, run: ADGMState) -> LaneState:
    """The lane after a step, its curves longer."""
    if run is each.run:
        return each
    return replace(
        each,
        run=run,
        residuals=np.concatenate([each.residuals, run.trace["residual"]]),
        energies=np.concatenate([each.energies, run.trace["energy"]]),
    )


def with_matching(problem: Problem, each: LaneState, assignment: Assignment) -> LaneState:
    energy = problem.energy(assignment)
    if each.best is not None and not energy < each.best_energy:
        return each
    return replace(each, best=assignment, best_energy=energy, at=assignment)


def split(problem: Problem, numbering: int | None) -> Problem:
    """The problem with one copy of every symmetric hyperedge, sorted by node numbers shuffled with `numbering`.

    D! times the cost of the one copy is the energy of all D! orderings; but only its own modes, and so its own
    blocks, see it. None, or nothing to sort: the problem itself.
    """
    if numbering is None or not any(isinstance(p, Sparse) and p.symmetric for p in problem.potentials):
        return problem
    n1, n2 = problem.shape
    rows, cols = np.arange(n1), np.arange(n2)
    if numbering > 0:
        rng = np.random.default_rng(numbering)
        rows, cols = rng.permutation(n1), rng.permutation(n2)
    rank = (rows[:, None] * n2 + cols).reshape(-1)

    def once(p: Potential) -> Potential:
        if not (isinstance(p, Sparse) and p.symmetric):
            return p
        ordered = np.take_along_axis(p.indices, np.argsort(rank[p.indices], axis=1), axis=1)
        return Sparse(ordered, factorial(p.indices.shape[1]) * p.costs)

    return replace(problem, potentials=tuple(once(p) for p in problem.potentials))
