"""One normal form for problems of order 1 and 2: a cost for every candidate, one for every two that may go together.

Files speak of unordered pairs, potentials of ordered ones. Both directions of a pair are added up here, and a cost is
divided in halves on the way back; both are exact, so that a problem in normal form passes through a file unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from adgm import ANY, Dense, Formula, Problem, Sparse
from adgm.potentials import Entries, Potential
from features.files.problem_files.record import Floats, Longs, ProblemFileError
from features.limits import LIMITS
from features.pairs import SIDES

MOST_EVALUATED = 200_000_000  # entries of a formula that are looked at in order to list it, …
PIECE = 2_000_000  # … so many at a time
MOST_DENSE = 3000  # variables: their square in numbers is what a matrix takes
DENSE_FROM = 0.2  # a matrix is the faster form when so many of its entries are not zero


@dataclass(frozen=True, eq=False)
class CostTable:
    """`pairs` (m, 2) numbers two variables i1 · n2 + i2, the smaller first, in increasing order, none twice."""

    problem: Problem  # of any form: its shape, constraints, candidates
    unary: Floats  # (n1, n2)
    pairs: Longs
    costs: Floats  # (m,): of both directions together

    def normal(self) -> Problem:
        """The problem of these costs: the unary ones, and the others as a matrix or, if few, as a list."""
        n1, n2 = self.problem.shape
        potentials: list[Potential] = []
        if self.unary.any() or not len(self.pairs):
            potentials.append(Dense(self.unary))
        n, (a, b) = n1 * n2, self.pairs.T
        if 2 * len(self.pairs) >= DENSE_FROM * n * n and n <= MOST_DENSE:
            matrix = np.zeros((n, n))
            matrix[a, b] = matrix[b, a] = self.costs / 2
            potentials.append(Dense(matrix))
        elif len(self.pairs):
            potentials.append(Sparse(self.pairs, self.costs / 2, symmetric=True))
        mask = None if self.problem.layout.full else self.problem.candidates
        return replace(self.problem, potentials=potentials, candidates=mask)

    @property
    def nodes(self) -> tuple[Longs, Longs, Longs, Longs]:
        """(i1, i2, j1, j2) of every pair."""
        n2 = self.problem.shape[1]
        (i1, j1), (i2, j2) = (self.pairs // n2).T, (self.pairs % n2).T
        return i1, i2, j1, j2


def cost_table(problem: Problem) -> CostTable:
    """The costs of a problem of order 1 or 2. What a matching cannot pay is left out."""
    if problem.order > 2:
        raise ProblemFileError(
            f"the problem is of order {problem.order}: it has costs of {problem.order} matches together, and this "
            "form has room for one and two; NPZ takes any order."
        )
    layout = problem.layout
    unary = np.zeros(layout.n)
    first, second, costs = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    found = 0
    for index, cost, _ in (piece for potential in problem.potentials for piece in _pieces(problem, potential)):
        same = index[:, 0] == index[:, -1]  # of order 1, or x² = x for a match
        np.add.at(unary, index[same, 0], cost[same])
        index, cost = _compatible(problem, index[~same], cost[~same])
        found += len(cost)
        if found > 2 * LIMITS.pair_costs:
            raise _too_many()
        first.append(index.min(axis=1, initial=layout.n))
        second.append(index.max(axis=1, initial=-1))
        costs.append(cost)
    pairs, total = _added(np.concatenate(first), np.concatenate(second), np.concatenate(costs), layout.n)
    if not (np.isfinite(unary).all() and np.isfinite(total).all()):
        raise ProblemFileError("some costs add up to more than a number can hold.")
    return CostTable(problem, problem.matrix(unary), layout.variables[pairs], total)


def normal_form(problem: Problem) -> Problem:
    """The same energies from at most one potential of order 1 and one of order 2; higher ones stay, as lists."""
    low = [p for p in problem.potentials if p.order(problem.shape) <= 2]
    high = [_listed(problem, p) for p in problem.potentials if p.order(problem.shape) > 2]
    if not low:
        return replace(problem, potentials=high)
    table = cost_table(replace(problem, potentials=low)).normal()
    return replace(table, potentials=[*table.potentials, *high])


def _pieces(problem: Problem, potential: Potential) -> Iterator[Entries]:
    """The entries of a potential, every ordering written out; a formula's a few left edges at a time."""
    layout = problem.layout
    if not isinstance(potential, Formula):
        yield potential.entries(layout).ordered()
    elif potential.on_edges:
        if potential.links(layout, 2 * LIMITS.pair_costs) is None:
            raise _too_many()
        yield potential.entries(layout)
    elif layout.n**2 > MOST_EVALUATED:
        raise ProblemFileError(
            f"{layout.n} candidates have {layout.n**2:.2g} costs of two; take fewer points to write them down."
        )
    else:
        edges = np.stack(np.triu_indices(problem.shape[0], 1), axis=1)
        candidates = np.bincount(layout.row, minlength=problem.shape[0])
        before = np.cumsum(2 * candidates[edges].prod(axis=1))
        for some in np.split(edges, np.flatnonzero(np.diff(before // PIECE)) + 1):
            yield replace(potential, left_edges=some).entries(layout)


def _too_many() -> ProblemFileError:
    return ProblemFileError(f"there are more than {LIMITS.pair_costs} costs of two matches; that is the most accepted.")


def _compatible(problem: Problem, index: Longs, cost: Floats) -> tuple[Longs, Floats]:
    """Without the pairs of candidates that no matching holds both of."""
    layout = problem.layout
    kept = cost != 0
    for node, rule, side in zip((layout.row, layout.col), (problem.rows, problem.cols), SIDES, strict=True):
        clash = (node[index[:, 0]] == node[index[:, -1]]) & (cost != 0)
        if rule == ANY and clash.any():
            raise ProblemFileError(
                f"{side} node {node[index[np.argmax(clash), 0]]} may have several partners, and two of them cost "
                "something together; files have no room for such costs."
            )
        kept &= ~clash
    return index[kept], cost[kept]


def _added(first: Longs, second: Longs, costs: Floats, n: int) -> tuple[Longs, Floats]:
    """Sorted pairs, each once, with the sum of its costs; pairs that cost nothing are left out."""
    key = first * n + second
    order = np.argsort(key, kind="stable")
    key = key[order]
    start = np.flatnonzero(np.diff(key, prepend=-1))
    total = np.add.reduceat(costs[order], start) if len(key) else costs
    kept = total != 0
    return np.column_stack(np.divmod(key[start][kept], n)), total[kept]


def _listed(problem: Problem, potential: Potential) -> Sparse:
    """A potential as a list of what is not zero."""
    index, costs, symmetric = potential.entries(problem.layout)
    return Sparse(problem.layout.variables[index], costs, symmetric)
