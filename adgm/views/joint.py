"""Several views as one problem: the costs of pairs of views add up, and one view is matched against all the others'
tracks by one ordinary `Problem`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import factorial, inf
from typing import NamedTuple

import numpy as np

from adgm._kernels import FloatArray, LongArray
from adgm.layout import Layout
from adgm.potentials import Dense, Entries, Potential, Sparse
from adgm.problem import ANY, AT_MOST_ONE, EXACTLY_ONE, Problem
from adgm.rounding import Assignment
from adgm.views.tracks import Couple, alone, points

MATRIX = 4_000_000  # pairs of variables that are added up in a matrix; more are sorted
DENSE = 0.2  # share of the pairs from which on a matrix is the faster potential


class Forced(NamedTuple):
    """A match between point p of view i and point q of view j that must be, or must not be."""

    i: int
    p: int
    j: int
    q: int
    together: bool = False


class Part(NamedTuple):
    """Costs of sets of variables of one pair of views: every set once, as a row of ascending numbers."""

    variables: LongArray  # (m, order)
    costs: FloatArray


class PairTable:
    """What matchings of one pair of views cost, listed: a cost for every candidate, and for every set of them."""

    def __init__(self, problem: Problem) -> None:
        self.shape, self.layout = problem.shape, problem.layout
        self.single = np.zeros(self.layout.n)
        found: dict[int, list[tuple[LongArray, FloatArray]]] = {}
        for potential in problem.potentials:
            for order, index, costs in _sets(potential.entries(self.layout), self.layout):
                if order == 1:
                    self.single += np.bincount(index[:, 0], costs, minlength=self.layout.n)
                else:
                    found.setdefault(order, []).append((index, costs))
        self.parts = tuple(_added(self.layout.n, pieces) for _, pieces in sorted(found.items()))

    @property
    def bytes(self) -> int:
        return self.single.nbytes + sum(part.variables.nbytes + part.costs.nbytes for part in self.parts)

    def energy(self, on: Assignment) -> float:
        """What these candidates cost together."""
        sets = (part.costs[on[part.variables].all(axis=1)].sum() for part in self.parts)
        return float(self.single[on].sum() + sum(sets))

    def sides(self, turned: bool) -> tuple[LongArray, LongArray]:
        """The points of every variable, of the first and of the second view; exchanged if `turned`."""
        row, col = self.layout.row, self.layout.col
        return (col, row) if turned else (row, col)


def _sets(entries: Entries, layout: Layout) -> Iterator[tuple[int, LongArray, FloatArray]]:
    """Entries by how many different variables they have, each row in ascending order; without what no matching pays."""
    index, costs, symmetric = entries
    costs = costs * (factorial(entries.order) if symmetric else 1)
    index = np.sort(index.astype(np.int64), axis=1)
    new = np.diff(index, axis=1, prepend=-1) > 0
    sizes = new.sum(axis=1)
    for order in np.unique(sizes).tolist():
        some = sizes == order
        chosen = index[some][new[some]].reshape(-1, order)
        fits = np.ones(len(chosen), bool)
        for node in (layout.row[chosen], layout.col[chosen]):
            ordered = np.sort(node, axis=1)
            fits &= (np.diff(ordered, axis=1) > 0).all(axis=1)
        yield int(order), chosen[fits], costs[some][fits]


def _added(n: int, pieces: Sequence[tuple[LongArray, FloatArray]]) -> Part:
    """Equal rows added up; those that cost nothing are left out."""
    index = np.concatenate([one for one, _ in pieces])
    costs: FloatArray = np.concatenate([one for _, one in pieces])
    order = index.shape[1]
    if not len(costs):
        return Part(index, costs)
    if order == 2 and n * n <= max(MATRIX, 4 * len(costs)):
        sums = np.bincount(index @ [n, 1], costs, minlength=n * n).astype(np.float64)
        key = np.flatnonzero(sums)
        return Part(np.column_stack(np.divmod(key, n)), sums[key])
    if n**order < 2**62:
        key, at = np.unique(index @ (n ** np.arange(order - 1, -1, -1)), return_inverse=True)
        rows = np.stack([key // n**k % n for k in range(order - 1, -1, -1)], axis=1)
    else:
        rows, at = np.unique(index, axis=0, return_inverse=True)
    sums = np.bincount(at.reshape(-1), costs).astype(np.float64)
    return Part(rows[sums != 0], sums[sums != 0])


@dataclass(frozen=True, eq=False)
class JointProblem:
    """Minimise the sum of the pairs' energies over tracks.

    Parameters
    ----------
    sizes : sequence of int
        How many points every view has.
    problems : dict of (i, j) to Problem
        The costs of matching view i to view j, i < j; pairs that are missing cost nothing.
    absent : float, optional
        What a match costs that is no candidate of its pair's problem; None: it must not be.
    forced : sequence of Forced
        Matches that must be, or must not be.

    Raises
    ------
    ValueError
        A problem does not fit the views; some pairs must be matched completely and others not; the forced matches
        contradict each other.

    Examples
    --------
    >>> import numpy as np
    >>> from adgm import Dense, Problem
    >>> from adgm.views import JointProblem
    >>> same = Problem((2, 2), [Dense([[-1.0, 0], [0, -1]])])
    >>> joint = JointProblem([2, 2, 2], {(0, 1): same, (0, 2): same, (1, 2): same})
    >>> joint.energy([np.array([0, 1])] * 3), joint.energy([np.array([0, 1]), np.array([1, 0]), np.array([0, 2])])
    (-6.0, -1.0)
    """

    sizes: tuple[int, ...]
    problems: Mapping[Couple, Problem]
    absent: float | None = None
    forced: tuple[Forced, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(int(size) for size in self.sizes))
        object.__setattr__(self, "problems", dict(sorted(self.problems.items())))
        object.__setattr__(self, "forced", tuple(Forced(*each) for each in self.forced))
        if len(self.sizes) < 2 or not self.problems:
            raise ValueError("there must be at least two views and one pair of them")
        rules = set()
        for (i, j), problem in self.problems.items():
            if not 0 <= i < j < len(self.sizes):
                raise ValueError(f"a pair of views must be (i, j) with 0 ≤ i < j < {len(self.sizes)}, got {(i, j)}")
            if problem.shape != (self.sizes[i], self.sizes[j]):
                raise ValueError(
                    f"the problem of views {i} and {j} has {problem.shape} nodes; the views have "
                    f"{(self.sizes[i], self.sizes[j])}"
                )
            rules |= {problem.rows, problem.cols}
        if rules - {AT_MOST_ONE} and rules != {EXACTLY_ONE}:
            wrong = "several partners" if ANY in rules else "complete on one side only"
            raise ValueError(
                f"tracks need matchings with at most one partner on both sides, or exactly one on both; here a "
                f"matching may have {wrong}"
            )
        if self.absent is not None and not 0 <= self.absent < inf:
            raise ValueError(f"absent must be a cost of 0 or more, or None, got {self.absent}")
        object.__setattr__(self, "_rule", rules.pop())
        object.__setattr__(self, "_tables", {})
        self._check_forced()

    _rule = AT_MOST_ONE
    _tables: dict[Couple, PairTable] = None  # type: ignore[assignment]  # set at birth

    @property
    def complete(self) -> bool:
        """Whether every track passes through every view."""
        return bool(self._rule == EXACTLY_ONE)

    @property
    def couples(self) -> tuple[Couple, ...]:
        return tuple(self.problems)

    def table(self, i: int, j: int) -> PairTable:
        """The costs of a pair, i < j, as lists: made when they are first asked for."""
        if (i, j) not in self._tables:
            self._tables[i, j] = PairTable(self.problems[i, j])
        return self._tables[i, j]

    def share(self, other: JointProblem) -> None:
        """Take over the lists of another one with the same problems."""
        same = [couple for couple in self.couples if other.problems.get(couple) is self.problems[couple]]
        self._tables.update({couple: other._tables[couple] for couple in same if couple in other._tables})

    def neighbours(self, view: int, among: Collection[int] | None = None) -> list[int]:
        """The views, of some, that this one is compared with."""
        some = range(len(self.sizes)) if among is None else sorted(among)
        return [j for j in some if j != view and (min(view, j), max(view, j)) in self.problems]

    # ---- the energy ------------------------------------------------------------------------------------------

    def energy(self, tracks: Sequence[LongArray]) -> float:
        """The sum of the pairs' energies; inf where a match is on that must not be, or one is off that must be."""
        if any(not self._obeys(tracks, each) for each in self.forced):
            return inf
        return float(sum(self.pair_energy(tracks, couple) for couple in self.couples))

    def pair_energy(self, tracks: Sequence[LongArray], couple: Couple) -> float:
        """What the matching of one pair costs that follows from the tracks."""
        table = self.table(*couple)
        row, col = table.sides(False)
        on = tracks[couple[0]][row] == tracks[couple[1]][col]
        if table.layout.full:
            return table.energy(on)
        lacking = len(np.intersect1d(tracks[couple[0]], tracks[couple[1]], assume_unique=True)) - int(on.sum())
        if lacking and self.absent is None:
            return inf
        return table.energy(on) + lacking * (self.absent or 0.0)

    def energy_alone(self, matchings: Mapping[Couple, LongArray]) -> float:
        """The sum of the energies of pairwise matchings, whether they contradict each other or not."""
        found = 0.0
        for couple, partner in matchings.items():
            row, col = self.table(*couple).sides(False)
            found += self.table(*couple).energy(partner[row] == col)
        return found

    def _obeys(self, tracks: Sequence[LongArray], one: Forced) -> bool:
        return bool((tracks[one.i][one.p] == tracks[one.j][one.q]) == one.together)

    def _check_forced(self) -> None:
        label = [one.copy() for one in alone(self.sizes)]
        for one in self.forced:
            for view, point in ((one.i, one.p), (one.j, one.q)):
                if not (0 <= view < len(self.sizes) and 0 <= point < self.sizes[view]):
                    raise ValueError(f"there is no point {point} in view {view}")
            if one.i == one.j:
                raise ValueError("a match that is set or forbidden must join two different views")
            if one.together:
                old, new = label[one.j][one.q], label[one.i][one.p]
                for each in label:
                    each[each == old] = new
        for view, each in enumerate(label):
            if len(np.unique(each)) < len(each):
                raise ValueError(f"the matches that are set join two points of view {view}")
        for one in self.forced:
            if not one.together and label[one.i][one.p] == label[one.j][one.q]:
                raise ValueError(
                    f"point {one.p} of view {one.i} and point {one.q} of view {one.j} are both joined and kept apart"
                )

    # ---- one view against the others -------------------------------------------------------------------------

    def against(self, view: int, tracks: Sequence[LongArray], among: Collection[int] | None = None) -> Against | None:
        """The problem of matching this view to the tracks of others (all, or some); None if no match is possible."""
        others = self.neighbours(view, among)
        pinned = [each for each in self._pinned(view, tracks) if among is None or each.other in among]
        must = np.array([each.track for each in pinned if each.together], np.int64)
        present = np.unique(np.concatenate([must, *(tracks[j] for j in others)]))
        shape = self.sizes[view], len(present)
        if not min(shape):
            return None
        gathered = _Gathered(shape)
        for j in others:
            label = np.searchsorted(present, tracks[j])
            table = self.table(min(view, j), max(view, j))
            own, other = table.sides(turned=view > j)
            gathered.add(table, own * shape[1] + label[other], points(label, shape[1]) >= 0)
        mask = gathered.allowed(self.absent)
        fixed: list[tuple[int, int]] = []
        for each in pinned:
            column = int(np.searchsorted(present, each.track))
            if not each.together:
                if column < len(present) and present[column] == each.track:
                    mask[each.point, column] = False
            elif (each.point, column) not in fixed:
                mask[each.point], mask[:, column] = False, False
                fixed.append((each.point, column))
        if self.complete:
            mask[tuple(np.array(fixed, np.int64).reshape(-1, 2).T)] = True
        else:
            gathered.take_as_given([p * shape[1] + t for p, t in fixed], mask)
        return Against(view, gathered.problem(mask, self._rule), present, tuple(fixed))

    def _pinned(self, view: int, tracks: Sequence[LongArray]) -> list[_Pinned]:
        found = []
        for i, p, j, q, together in self.forced:
            if i == view:
                found.append(_Pinned(p, j, int(tracks[j][q]), together))
            elif j == view:
                found.append(_Pinned(q, i, int(tracks[i][p]), together))
        return found


class _Pinned(NamedTuple):
    """A point of a view that must be on a track, or must not, because of a point of another view."""

    point: int
    other: int
    track: int
    together: bool


@dataclass(frozen=True, eq=False)
class Against:
    """One view against the tracks of others: its columns are the tracks in `present`. There is no problem where no
    match is possible."""

    view: int
    problem: Problem | None
    present: LongArray
    fixed: tuple[tuple[int, int], ...] = ()  # (point, column) that are matched whatever it costs

    def assignment(self, labels: LongArray) -> Assignment:
        """The matching of a view with these tracks, over the problem's variables, as far as it has them."""
        assert self.problem is not None
        at = np.minimum(np.searchsorted(self.present, labels), len(self.present) - 1)
        known = np.flatnonzero(self.present[at] == labels)
        numbers = self.problem.layout.numbers(known * self.problem.shape[1] + at[known])
        found = np.zeros(self.problem.n, bool)
        found[numbers[numbers >= 0]] = True
        return found

    def labels(self, assignment: Assignment | None, points: int, free: int) -> LongArray:
        """The tracks of the view's points; a point without a partner opens a new one, numbered from `free`."""
        found = free + np.arange(points)
        if self.problem is not None and assignment is not None:
            layout = self.problem.layout
            found[layout.row[assignment]] = self.present[layout.col[assignment]]
        for point, column in self.fixed:
            found[point] = self.present[column]
        return found


class _Gathered:
    """Costs over points of a view (rows) and tracks (columns), added up over the other views."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape, n = shape, shape[0] * shape[1]
        self.single, self.known, self.needed = np.zeros(n), np.zeros(n, np.int64), np.zeros(shape[1], np.int64)
        self.parts: dict[int, list[tuple[LongArray, FloatArray]]] = {}

    def add(self, table: PairTable, grid: LongArray, there: np.ndarray) -> None:
        """The costs of one pair; `grid`: point and track of its variables, `there`: which tracks the other view has."""
        n = len(self.single)
        self.single += np.bincount(grid, table.single, minlength=n)
        self.known += np.bincount(grid, minlength=n)
        self.needed += there
        for part in table.parts:
            order = part.variables.shape[1]
            self.parts.setdefault(order, []).append((grid[part.variables], part.costs))

    def allowed(self, absent: float | None) -> np.ndarray:
        """(points, tracks): which may be matched; those that lack candidates in some pairs pay for that."""
        known = self.known.reshape(self.shape)
        if absent is None:
            return np.asarray((known == self.needed) & (self.needed > 0))
        self.single += absent * (self.needed - known).reshape(-1)
        return np.asarray(known > 0)

    def take_as_given(self, fixed: Sequence[int], mask: np.ndarray) -> None:
        """These variables are on: what others cost with them is theirs, and they leave the problem."""
        for variable in fixed:
            smaller: dict[int, list[tuple[LongArray, FloatArray]]] = {}
            for order, pieces in self.parts.items():
                for index, costs in pieces:
                    has = (index == variable).any(axis=1)
                    smaller.setdefault(order, []).append((index[~has], costs[~has]))
                    rest = index[has][index[has] != variable].reshape(-1, order - 1)
                    if order == 2:
                        self.single += np.bincount(rest[:, 0], costs[has], minlength=len(self.single))
                    else:
                        smaller.setdefault(order - 1, []).append((rest, costs[has]))
            self.parts = smaller
            mask[divmod(variable, self.shape[1])] = False

    def problem(self, mask: np.ndarray, rule: str) -> Problem | None:
        candidates = None if mask.all() else mask
        if not mask.any():
            return None
        potentials: list[Potential] = [Dense(np.where(mask, self.single.reshape(self.shape), 0.0))]
        layout = Layout.of(self.shape, candidates)
        for order, pieces in sorted(self.parts.items()):
            kept = []
            for index, costs in pieces:
                index = layout.numbers(index)
                there = (index >= 0).all(axis=1) if candidates is not None else slice(None)
                kept.append((np.sort(index[there], axis=1), costs[there]))
            part = _added(layout.n, kept)
            if not len(part.costs):
                continue
            if order == 2 and layout.full and 2 * len(part.costs) > DENSE * layout.n**2:
                matrix = np.zeros((layout.n, layout.n))
                matrix[tuple(part.variables.T)] = part.costs / 2
                potentials.append(Dense(matrix + matrix.T))
                continue
            variables = layout.variables[part.variables]
            potentials.append(Sparse(variables, part.costs / factorial(order), symmetric=True))
        return Problem(self.shape, potentials, rule, rule, candidates)  # type: ignore[arg-type]
