"""How far a matching is from optimal: a lower bound on the energy of every matching, and what it proves."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from adgm.bounds import all_pairs
from adgm.bounds.all_pairs import quick_bound
from adgm.bounds.branch_and_bound import DD, BoundState, DDState, begin_with, relative_gap, verdict
from adgm.bounds.third_order import PairsState, ThroughPairs
from adgm.bounds.tied_pairs import TiedNode, searchable
from adgm.problem import AT_MOST_ONE, EXACTLY_ONE, Constraint, Problem
from adgm.rounding import Assignment
from adgm.run import Run

__all__ = ["Bound", "bound", "hopeless", "refusal", "search", "searchable"]

# Every so many sweeps a proof is given up if no candidate fell yet and gap · sweeps exceeds this.
LOOK, HOPELESS = 4, 0.8
# Or if so many sweeps over tied rows, the cheap ones, leave such a gap to more candidates than this.
TIED, WIDE, MANY = 8, 0.35, 1000
# Third order: or if the gap after so many sweeps exceeds this, divided by the number of rounds.
WIDE_THIRD = 0.1


@dataclass(frozen=True, eq=False)
class Bound:
    """No matching of the problem costs less than `lower`; `energy` is that of the matching asked about."""

    lower: float
    energy: float
    gap: float  # (energy − lower) / the larger magnitude of both; 0 when proved optimal
    best: Assignment  # the best matching met on the way, over the problem's variables
    best_energy: float
    solved: bool  # whether that one is proved optimal, whatever the gap of the matching asked about
    sweeps: int
    nodes: int
    seconds: float

    @property
    def proved(self) -> bool:
        """Whether the matching asked about is proved optimal (see `adgm.bounds.branch_and_bound.tolerance`)."""
        return self.gap == 0.0

    def __str__(self) -> str:
        """ "proved optimal" or "gap g %"."""
        return verdict(self.gap)


def refusal(problem: Problem) -> str:
    """Why there is no bound for this problem, in a sentence; empty if there is one."""
    return all_pairs.refusal(problem, highest=3)


def bound(
    problem: Problem,
    assignment: ArrayLike | None = None,
    *,
    sweeps: int = 100_000,
    nodes: int = 100_000,
    effort: float = 1e9,
    time_limit: float | None = None,
    seed: int = 0,
    watch: Callable[[Any], object] | None = None,
) -> Bound:
    """A lower bound for problems of order 1 to 3 that match one to one, and the gap it leaves to `assignment`.

    `assignment` is what `Problem.energy` takes, 0 or 1 (such as `Result.assignment`); a good one makes the proof
    faster. Without it the best matching met on the way is the one asked about. At most `sweeps` rounds of dual
    ascent in `nodes` nodes of branch and bound (0: never split), `effort` as in `DD`, `time_limit` seconds; `watch`
    as in `solve`. For third order, pairwise problems that cost less are bounded one after the other; `sweeps` and
    `nodes` hold for each. Large problems whose pairwise costs are listed (`Sparse`, formulas on edges)
    are searched over the pairs of rows that share costs (`adgm.bounds.tied_pairs`); others that are too large for the
    problem's memory get a weaker bound, in one go. Those without a bound raise a ValueError with the sentence that
    `refusal(problem)` gives.
    """
    if sentence := refusal(problem):
        raise ValueError(sentence)
    given = None if assignment is None else checked(problem, assignment)
    if problem.order < 3 and not searchable(problem):
        return in_one_go(problem, given)
    method = search(problem, DD(max_iter=sweeps, max_nodes=nodes, effort=effort, seed=seed))
    start = method.init(problem)
    if given is not None:
        start = begin_with(start, given, problem.energy(given))
    result = Run(problem, method, time_limit=time_limit, start=start).finish(watch=watch, every=1)
    state = result.state
    energy = result.energy if given is None else start.best_energy
    return Bound(
        lower=state.lower,
        energy=energy,
        gap=relative_gap(energy, state.lower, state.spread),
        best=result.assignment,
        best_energy=result.energy,
        solved=state.proved,
        sweeps=state.iteration,
        nodes=state.nodes,
        seconds=result.seconds,
    )


def search(problem: Problem, method: DD | None = None) -> Any:
    """The method that looks for a bound: `method` for pairs, pairwise minorants for third order."""
    method = method or DD()
    return ThroughPairs(method) if problem.order == 3 else method


def hopeless(state: BoundState) -> bool:
    """Whether the dual ascent is too slow to lead to a proof: candidates that fall are what makes it fast."""
    if isinstance(state, PairsState):
        return state.iteration >= LOOK and state.gap * (state.rounds + 1) > WIDE_THIRD
    assert isinstance(state, DDState)
    node = state.current
    if node is None or not node.gains or len(node.gains) % LOOK:
        return False
    if isinstance(node, TiedNode):
        return len(node.gains) >= TIED and state.gap > WIDE and len(state.root.variable) > MANY
    return node.alive == len(state.root.variable) and state.gap * len(node.gains) > HOPELESS


def in_one_go(problem: Problem, given: Assignment | None) -> Bound:
    """Gilmore and Lawler's bound, against the given matching or the one it suggests."""
    began = perf_counter()
    lower, suggested = quick_bound(problem)
    options = [suggested] if given is None else [given, suggested]
    energies = [problem.energy(x) for x in options]
    best = int(np.argmin(energies))
    gaps = [relative_gap(energy, lower, problem.spread) for energy in energies]
    return Bound(
        lower=lower,
        energy=energies[0],
        gap=gaps[0],
        best=options[best],
        best_energy=energies[best],
        solved=gaps[best] == 0.0,
        sweeps=1,
        nodes=1,
        seconds=perf_counter() - began,
    )


def checked(problem: Problem, assignment: ArrayLike) -> Assignment:
    """The assignment over the problem's variables, if it is a matching of the problem."""
    vector = problem.vector(assignment)
    if not np.isin(vector, (0.0, 1.0)).all():
        raise ValueError(f"the assignment must be 0 or 1 everywhere, got {vector[~np.isin(vector, (0.0, 1.0))][0]}")
    chosen: Assignment = vector == 1.0
    layout = problem.layout
    sides: tuple[tuple[str, Constraint, np.ndarray], ...] = (
        ("rows", problem.rows, np.bincount(layout.row[chosen], minlength=problem.shape[0])),
        ("cols", problem.cols, np.bincount(layout.col[chosen], minlength=problem.shape[1])),
    )
    for graph, (side, rule, partners) in enumerate(sides, 1):
        wrong = {EXACTLY_ONE: partners != 1, AT_MOST_ONE: partners > 1}.get(rule, np.zeros(1, bool))
        if wrong.any():
            node = int(np.argmax(wrong))
            raise ValueError(
                f"the assignment gives node {node} of graph {graph} {partners[node]} partners, "
                f"and {side}={rule!r} does not allow that"
            )
    return chosen
