"""The runs of ADGM+: how each differs from the others, and where it is."""

from dataclasses import dataclass, field, replace
from math import factorial
from typing import Literal

import numpy as np

from adgm._kernels import FloatArray
from adgm.penalty import AUTO
from adgm.potentials import Potential, Sparse
from adgm.problem import Problem
from adgm.rounding import Assignment, best_rounding
from adgm.search.local_search import polish
from adgm.solver import ADGM, ADGMState


@dataclass(frozen=True)
class Member:
    """How one run differs from the others.

    factor: its ρ0 in units of the one that "auto" chooses. balance: whether ρ adapts from there, as "auto" does, or
    only grows, as in the paper. split: None leaves symmetric tensors as they are; a number keeps one sorted copy of
    each hyperedge (an equal energy, another algorithm), sorted by node numbers that are shuffled with it (0: not).
    restart: its local search begins at the best of some random matchings instead of its own, so that it agrees with
    the others only by finding the same matching another way.
    """

    factor: float = 1.0
    balance: bool = True
    start: Literal["uniform", "zeros", "random"] = "uniform"
    coupling: Literal["star", "chain"] = "star"
    split: int | None = None
    restart: bool = False
    seed: int = 0

    def method(self, auto: float, max_iter: int) -> ADGM:
        options = {**AUTO, "rho0": self.factor * auto, "escape": True}
        options |= {"round_every": 0, "polish": False}  # the portfolio does that
        if not self.balance:
            options["balance"] = 1.0
        return ADGM(coupling=self.coupling, start=self.start, seed=self.seed, max_iter=max_iter, **options)

    def __str__(self) -> str:
        parts = [f"{self.factor:g} × ρ0" if self.factor != 1 else "ρ0", "" if self.balance else "growing only"]
        parts += [self.start if self.start != "uniform" else "", self.coupling if self.coupling != "star" else ""]
        parts += ["" if self.split is None else "sorted copies" if self.split == 0 else "renumbered copies"]
        parts += ["restarts" if self.restart else ""]
        return ", ".join(part for part in parts if part)


# The first members: balanced and merely growing penalties, small ones that explore and large ones that walk straight.
PAIRWISE = (
    Member(),
    Member(1 / 2, balance=False, restart=True),
    Member(balance=False, start="zeros"),
    Member(4.0, start="random", restart=True),
    Member(16.0, balance=False),
    Member(1 / 2, balance=False, start="random", restart=True),
)
HIGHER = (
    Member(),
    Member(4.0, split=0, restart=True),
    Member(1 / 2, balance=False, coupling="chain"),
    Member(4.0, start="zeros", coupling="chain", split=1, restart=True),
    Member(balance=False, split=1),
    Member(4.0, start="random", restart=True),
)
WAVE = len(PAIRWISE)


def member(number: int, order: int, seed: int) -> Member:
    """Member `number`: one of the first, or one like them from a random start of its own."""
    first = PAIRWISE if order <= 2 else HIGHER
    if number < len(first):
        return replace(first[number], seed=seed + number)
    return replace(first[number % len(first)], start="random", seed=seed + number)


@dataclass(frozen=True, eq=False)
class MemberState:
    """Where a member is: its run, its best matching, and its curves."""

    member: Member
    problem: Problem  # the one to solve, its tensors split as the member says
    method: ADGM
    run: ADGMState
    best: Assignment | None = None
    best_energy: float = np.inf
    own_energy: float = np.inf  # of what its own run has rounded to so far
    at: Assignment | None = None  # where its local search has led, the best matching before them
    rng: np.random.Generator | None = None  # of its present round of local search
    restarted: Assignment | None = None  # where that round may begin
    roamed: bool = False  # whether it has left its own matching for a random one
    ended: Literal["", "converged", "beaten", "limit", "proved"] = ""
    residuals: FloatArray = field(default_factory=lambda: np.empty(0))  # a value per iteration
    energies: FloatArray = field(default_factory=lambda: np.empty(0))

    def holds(self, matching: Assignment | None) -> bool:
        """Whether that is where its search has led."""
        return self.at is not None and matching is not None and np.array_equal(self.at, matching)

    @property
    def lane(self) -> Member:
        return self.member


def extended(each: MemberState, run: ADGMState) -> MemberState:
    """The member after a step, its curves longer."""
    if run is each.run:
        return each
    return replace(
        each,
        run=run,
        residuals=np.concatenate([each.residuals, run.trace["residual"]]),
        energies=np.concatenate([each.energies, run.trace["energy"]]),
    )


def with_matching(
    problem: Problem, each: MemberState, assignment: Assignment, energy: float | None = None
) -> MemberState:
    """With that matching if it is better than its best; `energy`: what it costs, if that is known."""
    energy = problem.energy(assignment) if energy is None else energy
    if each.best is not None and not energy < each.best_energy:
        return each
    return replace(each, best=assignment, best_energy=energy, at=assignment)


def rounded(problem: Problem, each: MemberState) -> MemberState:
    """The member with its current matching, improved, and the reason why it ends, if it does."""
    done, found = each.method.done(each.run), each.run.best
    if found is None or not done:
        found, _ = best_rounding(problem, each.run.x)
    found = polish(problem, found)[0]
    energy = problem.energy(found)
    each = replace(with_matching(problem, each, found, energy), own_energy=min(each.own_energy, energy))
    return replace(each, ended="converged" if each.run.converged else "limit") if done else each


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
