"""The one place where costs to be minimised become non-negative affinities to be maximised.

An affinity is −cost where no cost of that order is positive, else (largest cost) − cost on all compatible tuples, that
is, tuples whose pairs can be matched together. All matchings of equally many pairs then rank as by their energies:
their scores differ by exactly what their energies differ. Unary affinities stand on the diagonal of the pairwise ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import factorial
from typing import TYPE_CHECKING

import numpy as np

from adgm import _kernels as kernels
from adgm._kernels import Fibers, FloatArray, Groups, LongArray
from adgm.costs.pairs import PairCosts, compatible
from adgm.costs.tables import add_product, grow_fibers, listed
from adgm.layout import Layout
from adgm.machine.computing import helped
from adgm.machine.deadline import check_time
from adgm.potentials import CHUNK, Entries
from adgm.problem import Problem

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DENSE_SHARE = 0.1  # a sparse matrix with more of its entries stored than this is faster as a dense one


@dataclass(frozen=True, eq=False)
class Factors:
    """What an affinity of two pairs is multiplied by: a number of their left nodes times one of their right nodes."""

    layout: Layout
    sides: tuple[FloatArray, FloatArray]  # n1 × n1 and n2 × n2

    def of(self, i: LongArray, j: LongArray) -> FloatArray:
        """The factors of the variables i with the variables j."""
        row, col = self.layout.row, self.layout.col
        found: FloatArray = self.sides[0][row[i], row[j]] * self.sides[1][col[i], col[j]]
        return found

    def rows(self, at: LongArray) -> FloatArray:
        """The factors of the variables `at` with all variables."""
        row, col = self.layout.row, self.layout.col
        found: FloatArray = self.sides[0][row[at]][:, row] * self.sides[1][col[at]][:, col]
        return found


@dataclass(frozen=True, eq=False)
class Computed:
    """A matrix of affinities too large for the problem's memory: computed anew, row by row, whenever it is used."""

    costs: PairCosts
    ceiling: float
    factors: Factors | None = None

    def pieces(self) -> Iterator[tuple[LongArray, FloatArray]]:
        for at, values in self.costs.chunks():
            apart = compatible(self.costs.layout, at[:, None], np.arange(self.costs.n))
            found = np.where(apart, self.ceiling - 0.5 * values, 0.0)
            yield at, found if self.factors is None else found * self.factors.rows(at)

    def __matmul__(self, x: FloatArray) -> FloatArray:
        return np.concatenate([values @ x for _, values in self.pieces()])


@dataclass(frozen=True, eq=False)
class Tree:
    """A symmetric tensor of costs in compressed fibers."""

    order: int
    fibers: Fibers
    number: int
    triples: Entries | None  # the rows that it was grown from, where they are triples


@dataclass(frozen=True, eq=False)
class Affinity:
    """S(x) = Σ_d S_d(x), non-negative; `ceilings[d]` is the cost of order d that became affinity 0."""

    layout: Layout
    order: int
    costs: FloatArray  # unary
    unary: FloatArray
    pairs: FloatArray | csr_array | Computed | None  # symmetric, zero where two pairs cannot be matched together
    trees: tuple[Tree, ...]
    ceilings: dict[int, float]
    exact: bool  # whether energies can be read from affinities: no cost was stored on a tuple that cannot be matched

    @property
    def orders(self) -> list[int]:
        """The orders that there are affinities of."""
        some = {tree.order for tree in self.trees} | {d for d, ceiling in self.ceilings.items() if ceiling}
        some |= {1} if self.unary.any() else set()
        return sorted(some if self.pairs is None else some | {2})

    def tensor(self, order: int, blocks: Sequence[FloatArray]) -> FloatArray:
        """The affinities of that order times order − 1 blocks, one mode open."""
        if order == 1:
            return self.unary
        out = np.zeros(self.layout.n)
        if order == 2:
            if isinstance(self.pairs, np.ndarray):
                kernels.multiply_symmetric(self.pairs, blocks[0], out)
                return out
            return out if self.pairs is None else np.asarray(self.pairs @ blocks[0])
        stacked = np.stack([*blocks, blocks[0]])
        for tree in self.trees:
            if tree.order == order:
                add_product(tree.fibers, tree.number, tree.triples, stacked, out)
        ceiling = self.ceilings[order]
        return ceiling * float(np.prod([b.sum() for b in blocks])) - out if ceiling else -out

    def opened(self, order: int, x: FloatArray) -> FloatArray:
        """The affinities of that order (3 or 4) times x in all modes but two, as a dense matrix."""
        n = self.layout.n
        out = np.zeros((n, n))
        for tree in self.trees:
            if tree.order == order:
                kernels.open_pair(tree.fibers, tree.number, x, -1.0, out)
        out += self.ceilings[order] * float(x.sum()) ** (order - 2)
        return out

    def parts(self, x: FloatArray) -> list[FloatArray]:
        """g_d = S_d ⊗ x ⊗ … ⊗ x with one mode open, for d = 1 … D: S_d(x) = g_d · x, and its gradient is d · g_d."""
        return [self.tensor(d, [x] * (d - 1)) for d in range(1, self.order + 1)]

    def energies(self, x: FloatArray, parts: Sequence[FloatArray]) -> list[float]:
        """The energy of each order at a relaxed x, in the user's units, from its `parts`."""
        energies = [float(self.costs @ x)]
        for d, part in enumerate(parts[1:], 2):
            score, ceiling = float(part @ x), self.ceilings[d]
            energies.append(ceiling * self._tuples(x, d) - score if ceiling else -score)
        return energies

    def _tuples(self, x: FloatArray, d: int) -> float:
        """What the ceiling is multiplied by: Σ x_i x_j over compatible pairs, or (Σ x)^d."""
        if d > 2:
            return float(x.sum() ** d)
        per_row = np.bincount(self.layout.row, x)
        per_col = np.bincount(self.layout.col, x)
        return float(x.sum() ** 2 - per_row @ per_row - per_col @ per_col + x @ x)

    def balanced(self, sweeps: int) -> Affinity:
        """Affinities up to order 2, scaled so that all pairs of nodes of a graph have as much to say as each other.

        Those of every two nodes of graph 1 (with all pairs of graph 2) are divided by their sum, then those of every
        two nodes of graph 2, `sweeps` times: Sinkhorn's scaling of the matrix whose rows are pairs of graph 1's nodes
        and whose columns are pairs of graph 2's (Cour, Srinivasan and Shi, NIPS 2006, section 4).
        """
        layout, every = self.layout, np.arange(self.layout.n)
        sums = self._node_sums()
        left, right = (np.ones(count * count) for count in layout.shape)
        for _ in range(sweeps):
            check_time()
            left = _inverse(sums(0, right))
            right = _inverse(sums(1, left))
        n1, n2 = layout.shape
        factors = Factors(layout, (left.reshape(n1, n1), right.reshape(n2, n2)))
        pairs = self.pairs
        if isinstance(pairs, np.ndarray):
            scaled = np.empty(pairs.shape)
            for at in np.array_split(every, 1 + pairs.size // (16 * CHUNK)):
                check_time()
                scaled[at] = pairs[at] * factors.rows(at)
            pairs = scaled
        elif isinstance(pairs, Computed):
            pairs = replace(pairs, factors=factors)
        elif pairs is not None:
            pairs = pairs.copy()
            pairs.data *= factors.of(np.repeat(every, np.diff(pairs.indptr)), pairs.indices)
        return replace(self, unary=self.unary * factors.of(every, every), pairs=pairs, exact=False)

    def _node_sums(self) -> Callable[[int, FloatArray], FloatArray]:
        """For every two nodes of graph 1 (side 0) or 2, the sum of their affinities times a weight of the two nodes of
        the other graph, as a function of the side and the weights."""
        from scipy.sparse import csr_array

        row, col, (n1, n2), every = self.layout.row, self.layout.col, self.layout.shape, np.arange(self.layout.n)

        def table(i: LongArray, j: LongArray, values: FloatArray) -> csr_array:
            return csr_array((values, (row[i] * n1 + row[j], col[i] * n2 + col[j])), shape=(n1 * n1, n2 * n2))

        tables = [table(every, every, self.unary)]
        pieces: Callable[[], Iterator[csr_array]] = lambda: iter(())  # noqa: E731
        if isinstance(self.pairs, np.ndarray) and self.layout.full:
            tables.append(self.pairs.reshape(n1, n2, n1, n2).transpose(0, 2, 1, 3).reshape(n1 * n1, n2 * n2))
        elif isinstance(self.pairs, np.ndarray):
            for at in np.array_split(every, max(1, self.pairs.size // (64 * CHUNK))):
                check_time()
                i, j = np.nonzero(self.pairs[at])
                tables.append(table(at[i], j, self.pairs[at[i], j]))
        elif isinstance(self.pairs, Computed):
            computed = self.pairs
            pieces = lambda: (  # noqa: E731
                table(np.repeat(at, len(every)), np.tile(every, len(at)), values.ravel())
                for at, values in computed.pieces()
            )
        elif self.pairs is not None:
            i = np.repeat(every, np.diff(self.pairs.indptr))
            tables.append(table(i, self.pairs.indices.astype(np.int64), self.pairs.data))

        def sums(side: int, weights: FloatArray) -> FloatArray:
            with helped():
                found: FloatArray = np.sum([(t.T if side else t) @ weights for t in (*tables, *pieces())], axis=0)
            return found

        return sums

    def largest(self) -> float:
        """The largest affinity that is stored, at least that of the similarities."""
        found = [float(self.unary.max(initial=0.0)), *self.ceilings.values()]
        if isinstance(self.pairs, np.ndarray):
            found.append(float(self.pairs.max(initial=0.0)))
        elif isinstance(self.pairs, Computed):
            found += [float(values.max(initial=0.0)) for _, values in self.pairs.pieces()]
        elif self.pairs is not None:
            found.append(float(self.pairs.data.max(initial=0.0)))
        return max([*found, *(-float(tree.fibers.value.min(initial=0.0)) for tree in self.trees)])

    def pooled(
        self, x: FloatArray, groups: Groups, pairs: FloatArray | None = None, *, squared: bool = False
    ) -> FloatArray:
        """Σ over groups of max_j pairs[i, j] · x_j, or of its square: max-pooling instead of the sum of a product."""
        matrix = self.pairs if pairs is None else pairs
        out = np.zeros(self.layout.n)
        if isinstance(matrix, np.ndarray):
            kernels.pool_symmetric(matrix, x, groups, squared, out)
        elif isinstance(matrix, Computed):
            for at, values in matrix.pieces():
                kernels.pool_rows(values, at[0], x, groups, squared, out)
        elif matrix is not None:
            group = np.empty(self.layout.n, np.int64)
            group[groups.member] = np.repeat(np.arange(len(groups.start) - 1), np.diff(groups.start))
            indptr, n_groups = matrix.indptr.astype(np.int64), len(groups.start) - 1
            kernels.pool_sparse(indptr, matrix.indices, matrix.data, x, group, n_groups, squared, out)
        return out


def _inverse(sums: FloatArray) -> FloatArray:
    """1 / sums, 1 where there is nothing to sum."""
    found: FloatArray = np.divide(1.0, sums, out=np.ones_like(sums), where=sums > 0.0)
    return found


def affinity(problem: Problem) -> Affinity:
    """The affinities of a problem, built once for all threads when first asked for."""
    return problem.derived(built)


def built(problem: Problem) -> Affinity:
    pairs, ceiling, exact = _pairs(problem)
    costs = problem.derived(PairCosts)
    top = max(0.0, float(costs.single.max()))
    trees, ceilings, all_kept = _trees(problem)
    ceilings |= {1: top, 2: ceiling}
    for d in range(1, problem.order + 1):
        ceilings.setdefault(d, 0.0)
    exact = exact and all_kept and not costs.diagonal.any()
    return Affinity(problem.layout, problem.order, costs.unary, top - costs.single, pairs, trees, ceilings, exact)


def _pairs(problem: Problem) -> tuple[FloatArray | csr_array | Computed | None, float, bool]:
    """The pairwise affinities, the largest cost, and whether no cost was dropped."""
    from scipy.sparse import csr_array  # when it is needed: importing it takes as long as numba

    layout, n, costs = problem.layout, problem.n, problem.derived(PairCosts)
    if costs.empty:
        return None, 0.0, True
    every, fits = np.arange(n), n * n * 8 <= problem.memory
    if not costs.columns and (costs.listed.nnz <= DENSE_SHARE * n * n or not fits):
        rows, cols = np.repeat(every, np.diff(costs.listed.indptr)), costs.listed.indices.astype(np.int64)
        values, apart = 0.5 * costs.listed.data, compatible(layout, rows, cols)
        if values.max(initial=0.0, where=apart) <= 0.0:
            kept = csr_array((-values[apart], (rows[apart], cols[apart])), shape=(n, n))
            return kept, 0.0, not values[~apart].any()
    if not fits:
        ceiling, exact = 0.0, True
        for at, values in costs.chunks():
            apart = compatible(layout, at[:, None], every)
            ceiling = max(ceiling, 0.5 * float(values.max(initial=0.0, where=apart)))
            exact &= not values.any(where=~apart)
        return Computed(costs, ceiling), ceiling, exact
    matrix = costs.rows(every)
    matrix *= 0.5
    apart = compatible(layout, every[:, None], every)
    ceiling = max(0.0, float(matrix.max(initial=0.0, where=apart)))
    exact = not matrix.any(where=~apart)
    np.subtract(ceiling, matrix, out=matrix)
    matrix *= apart
    return matrix, ceiling, exact


def _trees(problem: Problem) -> tuple[tuple[Tree, ...], dict[int, float], bool]:
    """The tensors of order 3 and more: the solver's own where it has them symmetric and free of conflicts."""
    parts = [_compatible(problem.layout, e) for e in problem.runtime.parts if e.order > 2]
    ceilings: dict[int, float] = {}
    for index, cost, _, _ in parts:
        order = index.shape[1]
        ceilings[order] = ceilings.get(order, 0.0) + _ceiling(index, cost)
    clean = all(not dropped for *_, dropped in parts)
    reused = clean or not any(symmetric for _, _, symmetric, _ in parts)
    grown = [Entries(index, cost, True) for index, cost, symmetric, _ in parts if not (symmetric and reused)]
    trees: list[Tree] = []
    if reused:
        fibers, rows = problem.runtime.fibers, problem.runtime.triples
        among = enumerate(zip(fibers.order, fibers.open, rows, strict=True))
        trees += [Tree(int(o), fibers, t, triples) for t, (o, slot, triples) in among if o > 2 and slot < 0]
    if grown:
        own = grow_fibers(problem.layout, grown)
        trees += [
            Tree(int(o), own, t, triples) for t, (o, triples) in enumerate(zip(own.order, listed(grown), strict=True))
        ]
    return tuple(trees), ceilings, clean


def _compatible(layout: Layout, entries: Entries) -> tuple[LongArray, FloatArray, bool, bool]:
    """Index rows over variables, the cost of each ordering, whether given symmetric, whether tuples that cannot be
    matched were dropped."""
    index, cost, symmetric = np.ascontiguousarray(entries.indices), entries.costs, entries.symmetric
    apart = np.empty(len(index), bool)
    dropped = kernels.mark_apart(index, layout.row, layout.col, apart) < len(index)
    if dropped:
        index, cost = index[apart], cost[apart]
    return index, cost if symmetric else cost / factorial(index.shape[1]), symmetric, dropped


def _ceiling(index: LongArray, cost: FloatArray) -> float:
    """At least the largest entry of the symmetric tensor, 0 if none is positive."""
    if cost.max(initial=0.0) <= 0.0:
        return 0.0
    rows, which = np.unique(np.sort(index, axis=1), axis=0, return_inverse=True)
    total = np.bincount(which.reshape(-1), cost)
    repeats = (rows[:, 1:] == rows[:, :-1]).any(axis=1)  # such an entry is met by several orderings of its row
    return float(np.max(np.where(repeats, factorial(index.shape[1]) * total, total), initial=0.0))
