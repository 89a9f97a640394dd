"""Dual decomposition with branch and bound: a matching, a lower bound that grows, and often a proof that they meet.

The problem is decomposed into one assignment problem per candidate pair, tied by the pairwise costs that two of them
share; a dual ascent moves these costs about (P. Hahn and T. Grant, Lower bounds for the quadratic assignment problem
based upon a dual formulation, Operations Research 46, 1998). It stands in for the rival DD of the paper (Torresani,
Kolmogorov and Rother, PAMI 2013), which has other subproblems and the same aim. Candidates and pairs of candidates
whose reduced cost exceeds the gap are ruled out on the way, and a gap that remains is searched by branch and bound.
Large sparse problems are decomposed over the pairs of rows that share costs instead (`adgm.bounds.tied_pairs`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context
from functools import partial
from typing import Literal, TypeVar

import numpy as np

from adgm.bounds.all_pairs import Node
from adgm.bounds.tied_pairs import TiedNode, TiedRoot
from adgm.options import check, option
from adgm.problem import Problem
from adgm.rounding import Assignment, unary_matching
from adgm.run import Run
from adgm.search.local_search import improve
from adgm.solver import ADGM
from adgm.state import State

# A matching is called optimal if none is better by more than this share of the costs' spread, or by more than what its
# energy, a floating-point number, can be off.
TOLERANCE, ROUNDING = 1e-8, 16 * np.finfo(float).eps
PROGRESS = 0.1  # a node is split when as many sweeps as its patience lasts close less than this share of its gap


@dataclass(frozen=True, eq=False, kw_only=True)
class BoundState(State):
    """What a search for a bound has proved so far."""

    spread: float  # of the costs: see `tolerance`
    lower: float = -np.inf  # no matching costs less
    nodes: int = 1
    work: float = 0.0  # pair costs visited
    proved: bool = False

    @property
    def gap(self) -> float:
        """How far the best matching may be from optimal, as a share; 0 when proved optimal."""
        return relative_gap(self.best_energy, self.lower, self.spread)


S = TypeVar("S", bound=State)
B = TypeVar("B", bound=BoundState)


@dataclass(frozen=True, eq=False, kw_only=True)
class DDState(BoundState):
    """The search tree's open ends."""

    root: TiedRoot
    current: Node | TiedNode | None  # the node being swept
    waiting: tuple[Node | TiedNode, ...] = ()
    suggested: Assignment | None = None  # the last matching that a sweep led to
    stuck: bool = False  # a gap remains, and splitting is not allowed any further


def tolerance(energy: float, spread: float) -> float:
    """How little better than `energy` is no better, where costs differ by `spread` (see `Problem.spread`)."""
    return max(TOLERANCE * spread, ROUNDING * abs(energy))


def relative_gap(energy: float, lower: float, spread: float) -> float:
    """(energy − lower) / the larger magnitude of both; 0 within the tolerance, infinite without a bound."""
    if not (np.isfinite(energy) and np.isfinite(lower)):
        return np.inf
    if lower >= energy - tolerance(energy, spread):
        return 0.0
    return (energy - lower) / max(abs(energy), abs(lower))


def verdict(gap: float) -> str:
    """The answer in words."""
    if gap == 0.0:
        return "proved optimal"
    return f"gap {percent(gap)} %" if np.isfinite(gap) else "no bound yet"


def percent(gap: float) -> str:
    """A gap in two figures, rounded up: no matching is farther from optimal than it says."""
    return f"{float(Context(2, ROUND_CEILING).create_decimal_from_float(100 * gap)):.2g}"


@dataclass(frozen=True)
class DD:
    """Dual decomposition with branch and bound; an iteration is one sweep over all candidates of a node."""

    max_iter: int = option(100_000, "Most iterations", "Most sweeps over the candidates of a node.", low=1)
    max_nodes: int = option(100_000, "Most nodes of the search", "0 never splits, and ends when nothing grows.", low=0)
    effort: float = option(
        1e9, "Most pair costs to visit", "A sweep visits each of a node once, some ten million a second.", above=0
    )
    take: float = option(
        0.7, "Share of a cost claimed at a visit", "What a candidate claims of a cost it shares.", above=0, high=1
    )
    probe_every: int = option(
        4,
        "Sweeps between two probes",
        "Every so many sweeps each candidate is tried on its own.",
        low=1,
    )
    start: Literal["own", "adgm"] = option(
        "own", "Start", "own begins with the unary costs' matching, improved, adgm with ADGM's."
    )
    seed: int = option(0, "Seed", "The same seed gives the same run.", low=0)

    def __post_init__(self) -> None:
        check(self)

    def init(self, problem: Problem) -> DDState:
        root = TiedRoot(problem)
        state = DDState(iteration=0, x=np.zeros(problem.n), root=root, spread=problem.spread, current=root.node())
        if self.start == "adgm":
            found = Run(problem, ADGM()).finish()
            return begin_with(state, found.assignment, found.energy)
        start = improve(problem, unary_matching(problem))[0]  # whoever is out of time has something
        return better(problem, state, start)

    def done(self, state: DDState) -> bool:
        spent = state.iteration >= self.max_iter or state.work >= self.effort
        return state.proved or state.stuck or spent

    def step(self, problem: Problem, state: DDState, n: int = 1) -> DDState:
        """n sweeps further, fewer if the search ends."""
        if self.done(state):
            return state
        state = replace(state, current=state.current and state.current.copy())
        return sweeps(state, n, self.done, partial(self._sweep, problem))

    def _sweep(self, problem: Problem, state: DDState) -> DDState:
        """One sweep of the current node, its arrays being ours to change, and what follows from it."""
        root, node, waiting, nodes = state.root, state.current, state.waiting, state.nodes
        stuck = False
        assert node is not None
        work = state.work + node.work
        probing = len(node.gains) % self.probe_every == self.probe_every - 1
        seed = self.seed, state.iteration
        node, chosen = node.swept(self._limit(state), self.take, seed, probing)
        if chosen is not None and state.iteration % node.looks == 0:
            suggested = improve(problem, root.matching(chosen))[0]
            state = replace(better(problem, state, suggested), suggested=suggested)
        ends = None if chosen is None else node.ends()
        for end in ends or ():
            state = better(problem, state, root.matching(end))
        limit = self._limit(state)
        if ends is not None or node.lower >= limit:
            current = None
        elif stalled(node, limit):
            stuck = nodes >= self.max_nodes
            current = node if stuck else None
            if not stuck:
                branches = node.branches(limit)
                waiting, nodes = (*waiting, *branches), nodes + len(branches)
        else:
            current = node
        while current is None and waiting:
            at = self._next(problem, waiting)
            current = waiting[at].opened(limit)
            waiting = waiting[:at] + waiting[at + 1 :]
            if current.lower >= limit:
                current = None
        least = min([w.lower for w in (*waiting, current) if w is not None], default=np.inf)
        reached = self._target(state) if least >= limit else least + root.offset
        lower = float(max(state.lower, reached))
        return replace(
            state,
            iteration=state.iteration + 1,
            current=current,
            waiting=waiting,
            lower=lower,
            nodes=nodes,
            work=work,
            proved=bool(relative_gap(state.best_energy, lower, state.spread) == 0.0),
            stuck=stuck or current is None,
        )

    @staticmethod
    def _target(state: DDState) -> float:
        """What a matching must cost less than to be of interest."""
        energy = state.best_energy
        return energy - tolerance(energy, state.spread) if np.isfinite(energy) else np.inf

    @staticmethod
    def _limit(state: DDState) -> float:
        """The same beside what every matching pays."""
        return DD._target(state) - state.root.offset

    @staticmethod
    def _next(problem: Problem, waiting: tuple[Node | TiedNode, ...]) -> int:
        """The node with the lowest bound; the newest once the waiting ones fill the memory."""
        held = {id(node.costs): node.nbytes for node in waiting}
        if sum(held.values()) > problem.memory:
            return len(waiting) - 1
        return int(np.argmin([node.lower for node in waiting]))


def stalled(node: Node | TiedNode, limit: float) -> bool:
    """Whether the last sweeps closed too little of the gap to go on like this."""
    if len(node.gains) <= node.patience:
        return False
    before, now = node.gains[-1 - node.patience], node.gains[-1]
    return now - before <= PROGRESS * max(limit - before, 0.0)


def sweeps(state: B, n: int, done: Callable[[B], bool], sweep: Callable[[B], B]) -> B:
    """At most n sweeps of a search for a bound, and what each came to."""
    values: list[tuple[float, float]] = []
    while len(values) < n and not done(state):
        state = sweep(state)
        values.append((state.lower, state.best_energy))
    if not values:
        return state
    bounds, energies = np.array(values).T.copy()
    return replace(state, trace={"bound": bounds, "energy": energies}, converged=state.proved)


def better(problem: Problem, state: S, assignment: Assignment) -> S:
    """With this matching if it beats the best."""
    energy = problem.energy(assignment)
    return begin_with(state, assignment, energy) if energy < state.best_energy else state


def begin_with(state: S, assignment: Assignment, energy: float) -> S:
    return replace(state, x=assignment.astype(float), energy=energy, best=assignment, best_energy=energy)
