"""From potentials to the flat arrays of `_kernels`: compressed fibers, stored columns, groups of variables."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from adgm import _kernels as kernels
from adgm._kernels import Columns, Fibers, FloatArray, Groups, IndexArray, LongArray, Tables

if TYPE_CHECKING:
    from adgm.problem import Formula, Potential

CHUNK = 1 << 15  # matrix entries computed at once: the temporaries of a formula stay in the cache
WORKERS = os.cpu_count() or 1


class Layout:
    """The variables: number in the full n1 × n2 grid, row and column, and the groups that rows and columns form."""

    def __init__(self, shape: tuple[int, int], candidates: np.ndarray | None) -> None:
        self.shape = shape
        allowed = np.ones(shape, bool) if candidates is None else candidates
        self.full = bool(allowed.all())
        self.variables: LongArray = np.flatnonzero(allowed)
        self.n = len(self.variables)
        self.row, self.col = np.divmod(self.variables, shape[1])

        self._groups = tuple(
            (
                np.concatenate([[0], np.cumsum(np.bincount(of, minlength=count))]).astype(np.int64),
                np.argsort(of, kind="stable").astype(np.uint32),
            )
            for of, count in zip((self.row, self.col), shape, strict=True)
        )

    def groups(self, axis: int, kind: int) -> Groups:
        """The rows (axis 0) or the columns (axis 1) as index lists."""
        return Groups(*self._groups[axis], kind)

    def renumber(self) -> LongArray:
        """Grid number -> variable, −1 where there is none."""
        number = np.full(self.shape[0] * self.shape[1], -1)
        number[self.variables] = np.arange(self.n)
        return number


def opened(order: int, slot: int) -> list[int]:
    """The modes with the open one last, as the trees have them."""
    return [mode for mode in range(order) if mode != slot] + [slot]


def grow_fibers(layout: Layout, parts: list[tuple[LongArray, FloatArray, bool]]) -> Fibers:
    """Trees for (index rows over variables, costs, symmetric): one if symmetric, else one for every open mode."""
    orders: list[int] = []
    opens: list[int] = []
    arrays: list[tuple[np.ndarray, ...]] = []
    nodes = leaves = 0
    for index, cost, symmetric in parts:
        index = np.asarray(index, dtype=np.uint32)  # half the memory of what follows
        order = index.shape[1]
        trees = [(-1, [list(p) for p in permutations(range(order))])]
        if not symmetric:
            trees = [(slot, [opened(order, slot)]) for slot in range(order)]
        for slot, orderings in trees:
            root, *rest = kernels.grow_tree(index, cost, np.array(orderings), layout.n, nodes, leaves)
            nodes, leaves = nodes + len(rest[0]), leaves + len(rest[2])
            orders.append(order)
            opens.append(slot)
            arrays.append((root[None], *rest))
    if not arrays:
        nothing = np.empty(0, np.uint32), np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0)
        arrays.append((np.empty((0, layout.n + 1), np.int64), *nothing))
    joined = arrays[0] if len(arrays) == 1 else map(np.concatenate, zip(*arrays, strict=True))
    return Fibers(np.array(orders, np.int64), np.array(opens, np.int64), *joined)


class PairwiseColumns:
    """Columns of Σ formulas + matrix, in one direction, computed when first needed, least recently used out."""

    def __init__(
        self, layout: Layout, formulas: Sequence[Formula], matrix: FloatArray | None, flip: bool, memory: int
    ) -> None:
        n = layout.n
        self.last_x, self.last_product = np.empty(0), np.empty(0)
        self.layout, self.formulas, self.matrix, self.flip = layout, formulas, matrix, flip
        if formulas:
            capacity = max(1, min(n, memory // (8 * n)))
            self.table = Columns(np.full(n, -1, np.int32), np.empty((capacity, n)), np.zeros(capacity, np.int64))
            self.owner: LongArray = np.full(capacity, -1)  # which column a place holds
        else:
            assert matrix is not None
            self.table = Columns(np.arange(n, dtype=np.int32), matrix, np.zeros(n, np.int64))
            self.owner = np.arange(n)

    @property
    def complete(self) -> bool:
        """Whether every column is stored: then nothing is ever written again."""
        return len(self.owner) == self.layout.n and bool((self.owner >= 0).all())

    def compute(self, columns: IndexArray | LongArray) -> FloatArray:
        """These columns (or rows, if flipped) of the matrix, one per row of the result."""
        layout, n = self.layout, self.layout.n
        result = None if self.matrix is None else self.matrix[columns].copy()
        j1, j2 = layout.row[columns], layout.col[columns]
        for formula in self.formulas:
            left, right = formula.left, formula.right
            if self.flip:
                left, right = left.swapaxes(0, 1), right.swapaxes(0, 1)
            if layout.full:
                a, b = left[:, j1].swapaxes(0, 1)[:, :, None], right[:, j2].swapaxes(0, 1)[:, None]
                costs = formula.evaluate(a, b)
                each = np.arange(len(columns))
                costs[each, j1] = 0.0
                costs[each, :, j2] = 0.0
                costs = costs.reshape(len(columns), n)
            else:
                costs = formula.evaluate(left[layout.row, j1[:, None]], right[layout.col, j2[:, None]])
                costs[(layout.row == j1[:, None]) | (layout.col == j2[:, None])] = 0.0
            if not np.isfinite(costs.sum()):
                c, i = np.argwhere(~np.isfinite(costs))[0]
                raise ValueError(
                    f"Formula gives {costs[c, i]} for the edges {layout.row[i]}→{j1[c]} and {layout.col[i]}→{j2[c]}; "
                    f"costs must be finite"
                )
            result = costs if result is None else result + costs
        assert result is not None
        return result

    def chunks(
        self, columns: IndexArray | LongArray, clock: int
    ) -> Iterator[tuple[IndexArray | LongArray, FloatArray]]:
        """(columns, their values) piece by piece; what fits stays stored."""
        places = iter(self._places(len(columns), clock))
        for some, values in self._computed(columns):
            for column, value, place in zip(some, values, places, strict=False):
                if self.owner[place] >= 0:
                    self.table.slot[self.owner[place]] = -1
                self.table.data[place] = value
                self.table.slot[column] = place
                self.table.used[place] = clock
                self.owner[place] = column
            yield some, values

    def _computed(self, columns: IndexArray | LongArray) -> Iterator[tuple[IndexArray | LongArray, FloatArray]]:
        """The same, in the order given, a few pieces ahead on all cores where there are many."""
        step = max(1, CHUNK // self.layout.n)
        pieces = [columns[at : at + step] for at in range(0, len(columns), step)]
        if len(pieces) < 64 or WORKERS == 1:
            yield from ((some, self.compute(some)) for some in pieces)
            return
        with ThreadPoolExecutor(WORKERS) as pool:
            ahead: deque[tuple[IndexArray | LongArray, Future[FloatArray]]] = deque()
            for some in pieces:
                ahead.append((some, pool.submit(self.compute, some)))
                if len(ahead) > 2 * WORKERS:
                    ready, values = ahead.popleft()
                    yield ready, values.result()
            yield from ((some, values.result()) for some, values in ahead)

    def _places(self, wanted: int, clock: int) -> LongArray:
        """Where new columns may go: free places, then those longest unused, never those needed right now."""
        order = np.argsort(np.where(self.owner < 0, -1, self.table.used), kind="stable")
        return order[(self.owner[order] < 0) | (self.table.used[order] < clock)][:wanted]

    def product(self, x: FloatArray, clock: int) -> FloatArray:
        """Σ_j x_j · column j, computing what is not stored."""
        if np.array_equal(x, self.last_x):  # a start's energy and its first step ask for the same
            return self.last_product
        support = np.flatnonzero(x).astype(np.uint32)
        stored = support[self.table.slot[support] >= 0]
        result = np.zeros(self.layout.n)
        kernels.add_columns(self.table, clock, x, stored, len(stored), result)
        for some, values in self.chunks(support[self.table.slot[support] < 0], clock):
            result += x[some] @ values
        self.last_x, self.last_product = x.copy(), result
        return result

    def largest(self) -> float:
        """Largest |entry|; fills the store on the way."""
        if self.complete:
            return float(np.abs(self.table.data).max())
        missing = np.flatnonzero(self.table.slot < 0)
        stored = self.table.data[self.owner >= 0]
        seen = float(np.abs(stored).max()) if stored.size else 0.0
        return max([seen, *(float(np.abs(values).max()) for _, values in self.chunks(missing, 1))])


class Runtime:
    """A problem's potentials, merged: one unary vector, one set of pairwise columns, trees for the sparse tensors."""

    def __init__(self, layout: Layout, potentials: Sequence[Potential], memory: int) -> None:
        from adgm.problem import Dense, Formula, Sparse

        n = layout.n
        self.n = n
        self.lock = threading.Lock()
        self.clock = 1
        formulas = [p for p in potentials if isinstance(p, Formula)]
        unary, matrix, parts = np.zeros(n), None, []
        largest = [0.0]
        for p in potentials:
            if isinstance(p, Dense):
                tensor = p.tensor(layout.shape)
                if not layout.full:
                    tensor = tensor[np.ix_(*[layout.variables] * tensor.ndim)]
                largest.append(float(np.abs(tensor).max()))
                if tensor.ndim == 1:
                    unary += tensor
                elif tensor.ndim == 2:
                    matrix = tensor if matrix is None else matrix + tensor
                else:
                    index = np.argwhere(tensor)
                    parts.append((index, tensor[tuple(index.T)], False))
            elif isinstance(p, Sparse):
                index = layout.renumber()[p.indices]
                kept = (index >= 0).all(axis=1)
                index, cost = index[kept], p.costs[kept]
                largest.append(float(np.abs(cost).max(initial=0.0)))
                if index.shape[1] == 1:
                    np.add.at(unary, index[:, 0], cost)
                else:
                    parts.append((index, cost, p.symmetric))
        self.fibers = grow_fibers(layout, parts)
        self.columns: tuple[PairwiseColumns, ...] = ()
        if formulas or matrix is not None:
            self.columns = self._pairwise(layout, formulas, matrix, memory)
            for p in formulas:  # a formula's own range, so that its scale does not depend on what else is there
                own = p.largest
                if own is None:
                    alone = len(formulas) == 1 and matrix is None
                    columns = self.columns[0] if alone else PairwiseColumns(layout, [p], None, False, 1)
                    own = columns.largest()
                largest.append(own)
        self.scale = max(largest) or 1.0
        empty = Columns(np.empty(0, np.int32), np.empty((0, n)), np.empty(0, np.int64))
        self.tables = Tables(
            unary,
            int(bool(self.columns)),
            self.columns[0].table if self.columns else empty,
            self.columns[1].table if self.columns else empty,
            self.fibers,
        )

    @staticmethod
    def _pairwise(
        layout: Layout, formulas: Sequence[Formula], matrix: FloatArray | None, memory: int
    ) -> tuple[PairwiseColumns, PairwiseColumns]:
        """Columns for either open mode; the same object twice where the matrix is symmetric."""
        symmetric = all(f.symmetric for f in formulas) and (matrix is None or np.array_equal(matrix, matrix.T))
        if symmetric:
            both = PairwiseColumns(layout, formulas, matrix, False, memory)
            return both, both
        transposed = None if matrix is None else np.ascontiguousarray(matrix.T)
        return (
            PairwiseColumns(layout, formulas, transposed, False, memory // 2),
            PairwiseColumns(layout, formulas, matrix, True, memory // 2),
        )

    def guard(self) -> AbstractContextManager[object]:
        """Held while columns may be written; with all of them stored, threads need not wait for each other."""
        return nullcontext() if all(c.complete for c in self.columns) else self.lock

    def tick(self) -> int:
        """A new time stamp for the columns touched from now on."""
        self.clock += 1
        return self.clock

    def product(self, slot: int, x: FloatArray) -> FloatArray:
        """The columns' part of the contraction with mode `slot` open."""
        return self.columns[slot].product(x[1 - slot], self.clock)

    def contract(self, x: FloatArray, slot: int) -> tuple[FloatArray, FloatArray]:
        """`_kernels.contract` for blocks x, with missing columns computed."""
        lower, upper = np.empty(self.n), np.empty(self.n)
        support = np.empty(x.shape, np.uint32)
        count = np.empty(len(x), np.int64)
        kernels.list_supports(x, support, count)
        nothing = np.empty(0)
        with self.guard():
            args = self.tables, self.tick(), slot, x, support, count
            if not kernels.contract(*args, nothing, False, lower, upper):
                kernels.contract(*args, self.product(slot, x), True, lower, upper)
        return lower, upper

    @property
    def nbytes(self) -> int:
        """Bytes held by the tables."""
        stores = {id(c): c.table.data.nbytes for c in self.columns}
        return sum(stores.values()) + sum(np.asarray(a).nbytes for a in self.fibers)
