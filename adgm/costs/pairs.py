"""What pairs of variables cost, as one symmetric matrix: for the local search, the bounds and the affinities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from adgm._kernels import FloatArray, LongArray
from adgm.layout import Layout
from adgm.machine.deadline import check_time
from adgm.machine.lazy import once
from adgm.potentials import CHUNK
from adgm.problem import Problem

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def compatible(layout: Layout, rows: LongArray, cols: LongArray) -> NDArray[np.bool_]:
    """Whether two variables can be on together: they share no node, or they are not two."""
    apart = (layout.row[rows] != layout.row[cols]) & (layout.col[rows] != layout.col[cols])
    return np.asarray(apart)


class PairCosts:
    """The costs c of single variables and the symmetric matrix S of pairs, with zeros on its diagonal: what is on costs
    Σ c_p + ½ Σ S_pq, and what potentials of higher order add. Get it by `problem.derived(PairCosts)`.

    S = columns + their transposes + listed: columns as the problem's tables store or compute them, and a sparse matrix
    of what is listed pair by pair.
    """

    def __init__(self, problem: Problem) -> None:
        from scipy.sparse import csr_array  # when it is needed: importing it takes as long as numba

        self.layout, self.runtime, self.n = problem.layout, problem.runtime, problem.n
        self.columns, size = self.runtime.columns, (self.n, self.n)
        with self.runtime.guard():
            for columns in self.columns:
                columns.fill()
        matrix = self.columns[0].matrix if self.columns else None
        self.diagonal = np.zeros(self.n) if matrix is None else matrix.diagonal().copy()
        listed = csr_array(size)
        for index, cost, symmetric in self.runtime.parts:
            if index.shape[1] == 2:
                i, j = index.T
                apart = i != j
                np.add.at(self.diagonal, i[~apart], cost[~apart])
                part = csr_array((cost[apart] * (1 + symmetric), (i[apart], j[apart])), shape=size)
                listed = listed + part + part.T
        for costs, links in ((each.costs, each.links) for each in self.runtime.linked):
            listed = listed + csr_array((2.0 * costs, links.target.astype(np.int64), links.start), shape=size)
        self.listed = csr_array(listed)
        self.unary: FloatArray = self.runtime.tables.unary
        self.single: FloatArray = self.unary + self.diagonal

    @property
    def stored(self) -> bool:
        """Whether all of S is in memory."""
        return all(columns.complete for columns in self.columns)

    @property
    def empty(self) -> bool:
        """Whether no pair costs anything."""
        return not self.columns and not self.listed.nnz

    def rows(self, some: LongArray, others: LongArray | None = None) -> FloatArray:
        """S[some, others], all columns if `others` are not named."""
        if "matrix" in vars(self):  # by far the fastest
            part = self.matrix[some if others is None else np.ix_(some, others)]
            values: FloatArray = 2.0 * part
            return self._without_diagonal(values, some, others)
        shape = len(some), self.n if others is None else len(others)
        values = np.zeros(shape)
        if self.columns:
            first, second = self.columns
            with self.runtime.guard():
                values = first.values(some, others)
                values += values if first is second else second.values(some, others)
        if self.listed.nnz:
            values += (self.listed[some] if others is None else self.listed[some][:, others]).toarray()
        return self._without_diagonal(values, some, others)

    def _without_diagonal(self, values: FloatArray, some: LongArray, others: LongArray | None) -> FloatArray:
        if self.diagonal.any():
            values[some[:, None] == (np.arange(self.n) if others is None else others)] = 0.0
        return values

    def chunks(self) -> Iterator[tuple[LongArray, FloatArray]]:
        """(numbers, rows) of all of S, some rows at a time."""
        step = max(1, CHUNK // self.n)
        for at in range(0, self.n, step):
            check_time()
            some = np.arange(at, min(at + step, self.n))
            yield some, self.rows(some)

    def joining(self, on: NDArray[np.bool_], some: LongArray) -> FloatArray:
        """What each of these variables costs alone and as pairs with the others that are on."""
        costs: FloatArray = self.single[some] + self.rows(np.flatnonzero(on), some).sum(axis=0)
        return costs

    @once
    def matrix(self) -> FloatArray:
        """½ S with the diagonal: the symmetric matrix M for which xᵀ M x is what pairs cost. It stays in memory."""
        values = 0.5 * self.rows(np.arange(self.n))
        np.fill_diagonal(values, self.diagonal)
        return values

    @once
    def sparse(self) -> csr_array:
        """S as a sparse matrix."""
        if not self.columns:
            return self.listed
        from scipy.sparse import csr_array, vstack

        return csr_array(vstack([csr_array(values) for _, values in self.chunks()]))

    def entries(self) -> tuple[LongArray, LongArray, FloatArray]:
        """p < q and what they cost together, of all that can be matched together and cost anything."""
        found = self.sparse.tocoo()
        p, q, costs = found.row.astype(np.int64), found.col.astype(np.int64), found.data
        kept = (p < q) & (costs != 0.0) & compatible(self.layout, p, q)
        return p[kept], q[kept], costs[kept]
