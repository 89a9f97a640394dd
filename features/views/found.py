"""What matching several views ended with: tracks, matchings of pairs, energies, cycle errors, confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adgm import Problem
from adgm.machine.short_repr import ShortRepr
from adgm.rounding import Assignment
from adgm.run import Result
from adgm.state import State, Status
from adgm.views import JOINTS, Forced, JointProblem, Tracks, cycle_errors
from adgm.views.tracks import Couple, matching, table
from features.matching import Matching
from features.pairs import Pair
from features.recipe import Recipe
from features.views.recipe import ViewsRecipe
from features.views.view_set import ViewSet

if TYPE_CHECKING:
    from features.views.run import Step

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]


class PairFound(NamedTuple):
    """The matching of a pair of views alone, and what it costs."""

    matching: Longs  # for every point of the first view its partner, −1 for none
    energy: float
    seconds: float  # of computing


class Evidence(NamedTuple):
    """What one pair of views says about two points of a track: `cost` is by how much the pair's energy would rise
    without this match, turned round (negative speaks for it); `alone`: whether the pair alone made it."""

    i: int
    p: int
    j: int
    q: int
    cost: float
    alone: bool
    right: bool | None  # None where that is not known


@dataclass(frozen=True, eq=False)
class Views(ShortRepr):
    """A run about several views with everything that is shown of it."""

    recipe: ViewsRecipe
    view_set: ViewSet
    problem: JointProblem
    pairs: Mapping[Couple, PairFound]  # alone
    tracks: Tracks
    energy: float
    status: Status
    seconds: float  # of computing
    steps: tuple[Step, ...] = ()
    note: str = ""

    def __repr__(self) -> str:
        long = int((self.lengths > 1).sum())
        return f"Views({self.view_set.name!r}, {len(self.view_set)} views, {long} tracks, energy {self.energy:.7g})"

    @property
    def forced(self) -> tuple[Forced, ...]:
        return self.problem.forced

    @property
    def consistent(self) -> bool:
        """Whether the matchings follow from the tracks."""
        return JOINTS[self.recipe.joint].consistent

    @property
    def couples(self) -> list[Couple]:
        """The pairs of views whose matchings there are: of all that follow from tracks, else those that were run."""
        m = len(self.view_set)
        return [(i, j) for i in range(m) for j in range(i + 1, m)] if self.consistent else list(self.pairs)

    def matching(self, i: int, j: int) -> Longs:
        """For every point of view i its partner in view j, −1 for none."""
        if self.consistent:
            return matching(self.tracks, i, j)
        if i < j:
            return self.pairs[i, j].matching
        found = np.full(self.view_set.sizes[i], -1)
        back = self.pairs[j, i].matching
        p = np.flatnonzero(back >= 0)
        found[back[p]] = p
        return found

    @cached_property
    def matchings(self) -> dict[Couple, Longs]:
        return {(i, j): self.matching(i, j) for i, j in self.couples}

    @cached_property
    def table(self) -> Longs:
        """(tracks, views): the point of each view on each track, −1 for none; tracks of one point included."""
        return table(self.tracks)

    @cached_property
    def lengths(self) -> Longs:
        """Through how many views each track passes."""
        return np.asarray((self.table >= 0).sum(axis=1))

    @cached_property
    def cycle_errors(self) -> Floats:
        """(m, m) of the matchings as they are: zero wherever they follow from tracks (`adgm.views.cycle_errors`)."""
        return cycle_errors(self.view_set.sizes, self.matchings)

    @cached_property
    def cycle_errors_alone(self) -> Floats:
        """The same of the pairs alone."""
        return cycle_errors(self.view_set.sizes, {couple: found.matching for couple, found in self.pairs.items()})

    @cached_property
    def judged(self) -> tuple[float | None, float | None]:
        """(accuracy, precision) over the pairs; None where the truth is unknown."""
        return self.view_set.judge(self.matchings)

    @cached_property
    def judged_alone(self) -> tuple[float | None, float | None]:
        return self.view_set.judge({couple: found.matching for couple, found in self.pairs.items()})

    @property
    def energy_alone(self) -> float:
        """The sum of the pairs' energies when nobody asks them to agree."""
        return float(sum(found.energy for found in self.pairs.values()))

    @cached_property
    def confidence(self) -> Floats:
        """(tracks,) of each track the share of its pairs of points that the pairs alone matched, of those that were
        compared; nan where none was."""
        agree, compared = np.zeros(len(self.table)), np.zeros(len(self.table))
        for (i, j), found in self.pairs.items():
            p, q = self.table[:, i], self.table[:, j]
            both = np.flatnonzero((p >= 0) & (q >= 0))
            compared[both] += 1
            agree[both] += found.matching[p[both]] == q[both]
        share: Floats = np.divide(agree, compared, out=np.full(len(agree), np.nan), where=compared > 0)
        return share

    def evidence(self, track: int) -> list[Evidence]:
        """What every pair of views says about a track, what speaks most against it first."""
        found = []
        points = self.table[track]
        for i, j in self.pairs:
            p, q = int(points[i]), int(points[j])
            if min(p, q) >= 0:
                right = None
                if self.view_set.judged:
                    right = bool(self.view_set.known(i, j).correct([[p, q]])[0])
                alone = int(self.pairs[i, j].matching[p]) == q
                found.append(Evidence(i, p, j, q, self.cost(i, p, j, q), alone, right))
        return sorted(found, key=lambda one: -one.cost)

    def cost(self, i: int, p: int, j: int, q: int) -> float:
        """What a match that follows from the tracks adds to its pair's energy, beside all others."""
        costs = self.problem.table(i, j)
        row, col = costs.sides(False)
        on = self.tracks[i][row] == self.tracks[j][col]
        here = (row == p) & (col == q)
        if not here.any():
            return self.problem.absent or 0.0
        without = on & ~here
        return costs.energy(without | here) - costs.energy(without)

    # ---- for other pages -------------------------------------------------------------------------------------

    def pair(self, i: int, j: int) -> Pair:
        """Two of the views as a pair, as Match and Debug take it."""
        return self.view_set.pair(i, j)

    def pair_problem(self, i: int, j: int) -> Problem:
        """What was minimised for a pair, i < j."""
        return self.problem.problems[i, j]

    @property
    def pair_recipe(self) -> Recipe:
        """How a pair was matched: with `pair(i, j)` all that Match and Debug need."""
        assert self.recipe.how is not None
        return self.recipe.how

    def assignment(self, i: int, j: int) -> Assignment:
        """The matching of a pair, i < j, over the variables of its problem; what is no candidate is left out."""
        layout = self.pair_problem(i, j).layout
        return np.asarray(self.matching(i, j)[layout.row] == layout.col)

    def opened(self, i: int, j: int) -> Matching:
        """The matching of a pair, i < j, as a finished run: for everything that takes a `Matching`."""
        problem, assignment = self.pair_problem(i, j), self.assignment(i, j)
        energy = problem.paid(assignment)
        state = State(iteration=0, x=assignment.astype(float), energy=energy, best=assignment, best_energy=energy)
        result = Result(problem, assignment, energy, "converged", 0, 0.0, 0.0, {}, state)
        return Matching(self.pair_recipe, self.pair(i, j), problem, result)


def right_tracks(view_set: ViewSet, tracks: Tracks) -> Sequence[bool] | None:
    """Of every track of two points and more whether all of its points are the same; None where that is not known."""
    if not view_set.judged:
        return None
    found = []
    for points in table(tracks):
        seen = np.flatnonzero(points >= 0)
        if len(seen) > 1:
            pairs = [(i, j) for a, i in enumerate(seen.tolist()) for j in seen.tolist()[a + 1 :]]
            found.append(all(view_set.known(i, j).correct([[points[i], points[j]]])[0] for i, j in pairs))
    return found
