"""A pairwise problem that costs no more than one of third order, whatever the matching: what bounds it bounds both.

A hyperedge's cost is shared between its three pairs. With two of its matches chosen, every node has at most one third
match, so what a pair costs at least is the sum over nodes of the cheapest share. What a pair has more than it needs of
a hyperedge goes to the other two, again and again: no pair's sum falls by that.
"""

from collections.abc import Sequence
from copy import copy

import numpy as np

from adgm._kernels import FloatArray, LongArray
from adgm.costs.pairs import compatible
from adgm.machine.deadline import check_time
from adgm.potentials import Potential, Sparse
from adgm.problem import Problem
from adgm.rounding import Assignment

ROUNDS = 3  # of passing on what is not needed


Costed = tuple[LongArray, FloatArray]


def hyperedges(problem: Problem) -> tuple[LongArray, FloatArray, list[Costed]]:
    """Triples a < b < c of variables that can be matched together and what each costs in all; and the same of tuples
    that name a variable twice or thrice, which are pairs and single matches."""
    layout, n = problem.layout, problem.n
    found: list[LongArray] = []
    values: list[FloatArray] = []
    for potential in problem.potentials:
        if potential.order(problem.shape) == 3:
            entries = potential.entries(layout)
            found.append(np.sort(entries.indices.astype(np.int64), axis=1))
            values.append(entries.costs * (6.0 if entries.symmetric else 1.0))
    rows, given = np.concatenate(found), np.concatenate(values)
    able = np.ones(len(rows), bool)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        able &= (rows[:, a] == rows[:, b]) | compatible(layout, rows[:, a], rows[:, b])
    rows = rows[able]
    code, which = np.unique((rows[:, 0] * n + rows[:, 1]) * n + rows[:, 2], return_inverse=True)
    costs: FloatArray = np.bincount(which.reshape(-1), given[able], len(code)).astype(np.float64)
    rows = np.stack([code // (n * n), code // n % n, code % n], axis=1)
    alike = (rows[:, :-1] == rows[:, 1:]).sum(axis=1)
    once, twice = alike == 2, alike == 1
    repeated = [(rows[once][:, :1], costs[once]), (rows[twice][:, [0, 2]], costs[twice])]
    return rows[alike == 0], costs[alike == 0], repeated


class Shares:
    """How the hyperedges' costs are shared between their pairs, and the pairwise problem that follows from it."""

    def __init__(self, problem: Problem) -> None:
        n, nodes = problem.n, min(problem.shape)
        node = problem.layout.row if problem.shape[0] == nodes else problem.layout.col
        triples, costs, repeated = hyperedges(problem)
        kept: list[Potential] = [p for p in problem.potentials if p.order(problem.shape) < 3]
        kept += [Sparse(problem.layout.variables[rows], values) for rows, values in repeated if len(rows)]
        self.problem, self.kept = problem, kept
        pairs = np.concatenate([triples[:, [0, 1]], triples[:, [0, 2]], triples[:, [1, 2]]])
        third = np.concatenate([triples[:, 2], triples[:, 1], triples[:, 0]])
        code, pair = np.unique(pairs[:, 0] * n + pairs[:, 1], return_inverse=True)
        named, group = np.unique(pair.reshape(-1) * nodes + node[third], return_inverse=True)
        self.pairs = np.stack([code // n, code % n], axis=1)
        self.owner = named // nodes  # the pair of every group: a pair, and a node of the third match
        self.group = group.reshape(3, len(costs))
        self.share = np.tile(costs / 3.0, (3, 1))

    def copy(self) -> "Shares":
        """With shares of its own; all else is the same for good."""
        other = copy(self)
        other.share = self.share.copy()
        return other

    def least(self) -> FloatArray:
        """The cheapest share of every group; nothing where none is negative: the node may have no such match."""
        lowest = np.zeros(len(self.owner))
        np.minimum.at(lowest, self.group.reshape(-1), self.share.reshape(-1))
        return lowest

    def pass_on(self, rounds: int = ROUNDS) -> None:
        """What a pair does not need goes to the other two of the hyperedge."""
        for _ in range(rounds):
            for place in range(3):
                check_time()
                spare = self.share[place] - self.least()[self.group[place]]
                self.share[place] -= spare
                self.share[np.arange(3) != place] += spare / 2.0

    def minorant(self) -> Problem:
        """The pairwise problem; energies of matchings are at most those of the one of third order."""
        told, lowest = self.problem, np.bincount(self.owner, self.least(), len(self.pairs))
        shared = Sparse(told.layout.variables[self.pairs], lowest)
        return Problem(told.shape, [*self.kept, shared], told.rows, told.cols, told.candidates, memory=told.memory)

    def ascend(self, matchings: Sequence[Assignment], target: float, steps: int) -> None:
        """Shares moved so that the cheapest of these matchings costs more, by subgradients, towards `target`."""
        rest = Problem(self.problem.shape, self.kept, candidates=self.problem.candidates) if self.kept else None
        chosen = [self._entries(x, 0.0 if rest is None else rest.energy(x)) for x in matchings]
        share = self.share.reshape(-1)
        for _ in range(steps):
            check_time()
            values = [fixed + sum(np.minimum(share[at[first]], 0.0)) for fixed, at, first in map(self._sorted, chosen)]
            cheapest = int(np.argmin(values))
            _, at, first = self._sorted(chosen[cheapest])
            used = at[first][share[at[first]] < 0.0]
            slope = np.zeros_like(self.share)
            slope.reshape(-1)[used] = 1.0
            slope -= slope.mean(axis=0)
            length = float((slope * slope).sum())
            if length == 0.0 or target <= values[cheapest]:
                return
            self.share += (target - values[cheapest]) / length * slope

    def _entries(self, x: Assignment, fixed: float) -> tuple[float, LongArray]:
        """What x costs besides, and the shares that belong to its pairs."""
        on = x[self.pairs[:, 0]] & x[self.pairs[:, 1]]
        return fixed, np.flatnonzero(on[self.owner[self.group.reshape(-1)]])

    def _sorted(self, chosen: tuple[float, LongArray]) -> tuple[float, LongArray, LongArray]:
        """The shares by group, the cheapest first, and where groups begin."""
        fixed, at = chosen
        group = self.group.reshape(-1)[at]
        order = np.lexsort((self.share.reshape(-1)[at], group))
        first = np.flatnonzero(np.diff(group[order], prepend=-1))
        return fixed, at[order], first
