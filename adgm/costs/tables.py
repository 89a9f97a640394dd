"""From potentials to the flat arrays of `_kernels`: compressed fibers, stored columns, groups of variables."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from adgm import _kernels as kernels
from adgm._kernels import Columns, Fibers, FloatArray, IndexArray, LongArray, Tables, Triples
from adgm.costs import links
from adgm.costs.links import Links
from adgm.costs.numbers import first_beyond, largest_of, unusable
from adgm.costs.separable import Separated, summed
from adgm.layout import Layout
from adgm.machine.deadline import carried, check_time, waited_for
from adgm.potentials import CHUNK, Dense, Entries, Formula, Potential

DENSE_SHARE = 0.2  # of all pairs: a potential on more edges than this is faster as a matrix
FULL = 24  # pairs of variables per hyperedge up to which a tree of third order has a node for every pair
GROUP = 64  # columns that are added up at once: a multiple of the four that `add_columns` takes together
MOST_NAMED = 1 << 21  # variables: the number of a triple has 64 bits
ROOTS = 6  # columns per root of the variables, beyond which a sum of products is faster (measured)
WORTH_A_THREAD = 50_000  # hyperedges: starting another thread takes as long as looking at so many


def opened(order: int, slot: int) -> list[int]:
    """The modes with the open one last, as the trees have them."""
    return [mode for mode in range(order) if mode != slot] + [slot]


@dataclass(frozen=True, eq=False)
class Linked:
    """A symmetric pairwise potential on edges with its costs: what `target` of a variable's links costs with it."""

    links: Links
    costs: FloatArray

    def matrix(self, n: int) -> FloatArray:
        full = np.zeros((n, n))
        full[self.links.owners(0, n), self.links.target] = self.costs
        return full


def grow_fibers(layout: Layout, parts: list[Entries], linked: Sequence[Linked] = ()) -> Fibers:
    """Trees for entries: one if symmetric, else one for every open mode; and one for every potential on edges."""
    orders: list[int] = []
    opens: list[int] = []
    arrays: list[tuple[np.ndarray, ...]] = []
    nodes = leaves = 0
    for entries in parts:
        slots = [-1] if entries.symmetric else list(range(entries.order))
        for slot in slots:
            root, *rest = _tree(layout, entries, slot, nodes, leaves)
            nodes, leaves = nodes + len(rest[0]), leaves + len(rest[-1])
            orders.append(entries.order)
            opens.append(slot)
            arrays.append((root[None], *rest))
    nodeless = (np.empty(0, np.uint32),) * 3
    for each in linked:  # the root of a pairwise tree points straight at its leaves
        arrays.append((each.links.start[None] + leaves, *nodeless, each.links.target, each.costs))
        leaves += len(each.costs)
        orders.append(2)
        opens.append(-1)
    if not arrays:
        arrays.append((np.empty((0, layout.n + 1), np.int64), *nodeless, np.empty(0, np.uint32), np.empty(0)))
    joined = arrays[0] if len(arrays) == 1 else map(np.concatenate, zip(*arrays, strict=True))
    return Fibers(np.array(orders, np.int64), np.array(opens, np.int64), *joined)


def _tree(layout: Layout, entries: Entries, slot: int, nodes: int, leaves: int) -> tuple[np.ndarray, ...]:
    """The arrays of one tree, numbered from `nodes` and `leaves` on; slot −1: symmetric entries, any mode open."""
    index, cost, symmetric = entries
    order, n = entries.order, layout.n
    found: tuple[np.ndarray, ...]
    if symmetric and order == 3 and n * n <= FULL * len(cost):
        found = kernels.grow_triples(index, cost, n, nodes, leaves)
        return found
    orderings = [list(p) for p in permutations(range(order))] if symmetric else [opened(order, slot)]
    index = np.ascontiguousarray(index, dtype=np.uint32)  # half the memory of what follows
    found = kernels.grow_tree(index, cost, np.array(orderings), n, nodes, leaves)
    return found


def listed(parts: Sequence[Entries], linked: Sequence[Linked] = ()) -> list[Entries | None]:
    """For each tree that `grow_fibers` makes of them, the rows that it is grown from if they are symmetric triples."""
    found: list[Entries | None] = []
    for e in parts:
        found += [e if e.order == 3 else None] if e.symmetric else [None] * e.order
    return found + [None] * len(linked)


def joined(trees: Sequence[Entries | None]) -> Triples:
    """What `listed` found, tree after tree; those of a single one are not copied."""
    nothing = Entries(np.empty((0, 3), np.int64), np.empty(0), True)
    found = [nothing if e is None else e for e in trees]
    filled = [e for e in found if len(e.costs)]
    rows, costs = [e.indices for e in filled or [nothing]], [e.costs for e in filled or [nothing]]
    alone = len(rows) == 1
    start = np.cumsum([0, *(len(e.costs) for e in found)])
    index = np.ascontiguousarray(rows[0] if alone else np.concatenate(rows), dtype=np.int64)
    return Triples(start, index, np.ascontiguousarray(costs[0] if alone else np.concatenate(costs)))


def add_product(fibers: Fibers, tree: int, triples: Entries | None, x: FloatArray, out: FloatArray) -> None:
    """out += a tree times all rows of x but the last: along the tree where they are sparse, else along its rows."""
    if triples is not None and kernels.DENSE * np.count_nonzero(x[0]) * np.count_nonzero(x[1]) > len(out) ** 2:
        kernels.add_triples(triples.indices, triples.costs, x[0], x[1], out)
    else:
        kernels.add_tree(fibers, tree, x, out)


def folded(entries: Entries, n: int) -> Entries:
    """Entries of third order that give every hyperedge in all six orderings at one cost, as symmetric ones: one tree
    then serves all modes. Others as they are."""
    index, cost, symmetric = entries
    m, odd = divmod(len(cost), 6)
    if symmetric or entries.order != 3 or odd or not m or n > MOST_NAMED:
        return entries
    index, bits = np.ascontiguousarray(index), cost.view(np.uint64)

    def survey(part: slice) -> tuple[NDArray[np.uint64], LongArray, FloatArray]:
        rows, costs = np.empty((m, 3), np.int64), np.empty(m)
        found = kernels.survey_copies(index[part], cost[part], bits[part], n, rows, costs)
        return found, rows[: found[0, 0]], costs[: found[0, 0]]

    workers = min(links.WORKERS, 1 + m // WORTH_A_THREAD)
    parts = [slice(len(cost) * w // workers, len(cost) * (w + 1) // workers) for w in range(workers)]
    with ThreadPoolExecutor(workers) as pool:
        surveys = list(pool.map(carried(survey), parts) if workers > 1 else map(survey, parts))
    found, rows, costs = zip(*surveys, strict=True)
    total = np.sum(found, axis=0)
    if (total != total[0]).any() or total[0, 0] != m:
        return entries
    return Entries(np.concatenate(rows), np.concatenate(costs), True)


class PairwiseColumns:
    """Columns of Σ formulas + matrix, in one direction, computed when first needed, least recently used out."""

    def __init__(
        self,
        layout: Layout,
        formulas: Sequence[Formula],
        matrix: FloatArray | None,
        flip: bool,
        memory: int,
        sums: Sequence[Separated] = (),
    ) -> None:
        """`sums`: of all formulas, for products with more columns than there is room for."""
        n = layout.n
        self.last = np.empty(0), np.empty(0)  # the last question and its answer, exchanged at once for all threads
        self._complete = False
        self.layout, self.formulas, self.matrix, self.flip, self.sums = layout, formulas, matrix, flip, sums
        if formulas:
            capacity = max(1, min(n, memory // (8 * n)))
            self.table = Columns(np.full(n, -1, np.int32), np.empty((capacity, n)), np.zeros(capacity, np.int64))
            self.owner: LongArray = np.full(capacity, -1)  # which column a place holds
        else:
            assert matrix is not None
            self.table = Columns(np.arange(n, dtype=np.int32), matrix, np.zeros(n, np.int64))
            self.owner = np.arange(n)

    def seen(self, formula: Formula) -> float | None:
        """The largest cost of a formula as its sum knows it; None if there is no sum."""
        return next((s.largest for f, s in zip(self.formulas, self.sums, strict=False) if f is formula), None)

    @property
    def complete(self) -> bool:
        """Whether every column is stored: then nothing is ever written again."""
        self._complete = self._complete or (len(self.owner) == self.layout.n and bool((self.owner >= 0).all()))
        return self._complete

    def compute(self, columns: IndexArray | LongArray) -> FloatArray:
        """These columns (or rows, if flipped) of the matrix, one per row of the result."""
        layout, n = self.layout, self.layout.n
        result = None if self.matrix is None else self.matrix[columns].copy()
        j1, j2 = layout.row[columns], layout.col[columns]
        every = [np.arange(side) for side in layout.shape]
        for formula in self.formulas:
            if layout.full:
                i1, i2, k1, k2 = every[0][:, None], every[1][None], j1[:, None, None], j2[:, None, None]
            else:
                i1, i2, k1, k2 = layout.row, layout.col, j1[:, None], j2[:, None]
            ends = (k1, i1, k2, i2) if self.flip else (i1, k1, i2, k2)
            costs = formula.between(*ends)
            if formula.on_edges:
                costs = np.where(formula.lives(*ends), costs, 0.0)
            elif layout.full:
                each = np.arange(len(columns))
                costs[each, j1] = 0.0
                costs[each, :, j2] = 0.0
            else:
                costs[(i1 == k1) | (i2 == k2)] = 0.0
            costs = costs.reshape(len(columns), n)
            if (k := first_beyond(costs)) is not None:
                c, i = divmod(k, n)
                raise unusable(costs[c, i], layout.row[i], j1[c], layout.col[i], j2[c])
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
        if len(pieces) < 64 or links.WORKERS == 1:
            for some in pieces:
                check_time()
                yield some, self.compute(some)
            return
        with ThreadPoolExecutor(links.WORKERS) as pool:
            ahead: deque[tuple[IndexArray | LongArray, Future[FloatArray]]] = deque()
            for some in pieces:
                check_time()
                ahead.append((some, pool.submit(carried(self.compute), some)))
                if len(ahead) > 2 * links.WORKERS:
                    ready, values = ahead.popleft()
                    yield ready, values.result()
            yield from ((some, values.result()) for some, values in ahead)

    def _places(self, wanted: int, clock: int) -> LongArray:
        """Where new columns may go: free places, then those longest unused, never those needed right now."""
        order = np.argsort(np.where(self.owner < 0, -1, self.table.used), kind="stable")
        return order[(self.owner[order] < 0) | (self.table.used[order] < clock)][:wanted]

    def product(self, x: FloatArray, clock: int) -> FloatArray:
        """Σ_j x_j · column j, computing what is not stored; the same to the last bit whatever is stored."""
        question, answer = self.last
        if np.array_equal(x, question):  # a start's energy and its first step ask for the same
            return answer
        support = np.flatnonzero(x).astype(np.uint32)
        if self.sums and len(support) > len(self.owner):
            total, grid = np.zeros(self.layout.shape), x.reshape(self.layout.shape)
            for one in self.sums:
                total += one.product(grid, self.flip)
            self.last = x.copy(), total.reshape(-1)
            return self.last[1]
        place = self.table.slot[support]
        missing = place < 0
        self.table.used[place[~missing]] = clock
        computed = (value for _, values in self.chunks(support[missing], clock) for value in values)
        result = np.zeros(self.layout.n)
        for at in range(0, len(support), GROUP):
            some = slice(at, at + GROUP)
            columns = [self.table.data[p] if p >= 0 else next(computed) for p in place[some]]
            each = np.arange(len(columns))
            table = Columns(each.astype(np.int32), np.stack(columns), np.zeros_like(each))
            kernels.add_columns(table, clock, x[support[some]], each.astype(np.uint32), len(each), result)
        self.last = x.copy(), result
        return result

    def values(self, columns: LongArray, rows: LongArray | None = None) -> FloatArray:
        """These rows of these columns (all rows if they are not named), computed unless they are stored."""
        place = self.table.slot[columns]
        if (place < 0).any():
            found = self.compute(columns)
            return found if rows is None else found[:, rows]
        stored: FloatArray = self.table.data[place if rows is None else np.ix_(place, rows)]
        return stored

    def fill(self) -> None:
        """Store every column if there is room for all."""
        if len(self.owner) == self.layout.n and not self.complete:
            self.largest()

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

    def __init__(self, layout: Layout, given: Sequence[Potential], memory: int, *, scaled: bool = True) -> None:
        """`scaled`: also look for the largest cost, which takes every column of a formula."""
        self.n = layout.n
        self.lock = threading.Lock()
        self.clock = 1
        self.last = -1, np.empty(0), (np.empty(0), np.empty(0))  # the last contraction's question and its answer
        self.unary = np.zeros(self.n)
        self.parts: list[Entries] = []  # what trees hold
        self.linked: list[Linked] = []  # and of potentials on edges
        matrix: FloatArray | None = None
        formulas: list[Formula] = []
        largest = [0.0]
        for p in given:
            dense = self._stored(layout, p, memory, largest)
            if isinstance(dense, Formula):
                formulas.append(dense)
            elif dense is not None:
                matrix = dense if matrix is None else matrix + dense
        self.fibers, self.triples = grow_fibers(layout, self.parts, self.linked), listed(self.parts, self.linked)
        self.columns: tuple[PairwiseColumns, ...] = ()
        if formulas or matrix is not None:
            self.columns = self._pairwise(layout, formulas, matrix, memory)
            for p in (
                formulas if scaled else ()
            ):  # a formula's own range, so that its scale does not depend on what else is there
                own = p.largest or self.columns[0].seen(p)
                if own is None:
                    alone = len(formulas) == 1 and matrix is None
                    columns = self.columns[0] if alone else PairwiseColumns(layout, [p], None, False, 1)
                    own = columns.largest()
                largest.append(own)
        self.scale = largest_of(largest)
        empty = Columns(np.empty(0, np.int32), np.empty((0, self.n)), np.empty(0, np.int64))
        self.tables = Tables(
            self.unary,
            int(bool(self.columns)),
            self.columns[0].table if self.columns else empty,
            self.columns[1].table if self.columns else empty,
            self.fibers,
            joined(self.triples),
        )

    def _stored(self, layout: Layout, p: Potential, memory: int, largest: list[float]) -> FloatArray | Formula | None:
        """Take a potential in, and its largest cost; what belongs to the columns is returned: a matrix or a formula."""
        if isinstance(p, Formula):
            return self._on_edges(layout, p, memory, largest) if p.on_edges else p
        if isinstance(p, Dense) and p.order(layout.shape) <= 2:
            tensor = p.over(layout)
            largest.append(float(np.abs(tensor).max()))
            if tensor.ndim == 2:
                return tensor
            self.unary += tensor
            return None
        entries = folded(p.entries(layout), layout.n)
        largest.append(float(max(entries.costs.max(initial=0.0), -entries.costs.min(initial=0.0))))
        if entries.order == 1:
            np.add.at(self.unary, entries.indices[:, 0], entries.costs)
        else:
            self.parts.append(entries)
        return None

    def _on_edges(self, layout: Layout, p: Formula, memory: int, largest: list[float]) -> FloatArray | Formula | None:
        """A matrix where many pairs count, a tree where few do; the formula as it is where neither fits in memory."""
        links = p.links(layout, most=memory / (12 if p.symmetric else 48))
        if links is None:
            return p
        linked = Linked(links, p.along(layout, links))
        extremes = linked.costs.max(initial=0.0), -linked.costs.min(initial=0.0)
        largest.append(float(max(extremes)) if p.largest is None else p.largest)
        many = len(linked.costs) > DENSE_SHARE * float(self.n) ** 2
        if many and 8 * self.n**2 <= memory:
            full = linked.matrix(self.n)
            return full if p.symmetric else np.ascontiguousarray(full.T)
        if p.symmetric:
            self.linked.append(linked)
        else:
            index = np.stack([links.target.astype(np.int64), links.owners(0, self.n)], axis=1)
            self.parts.append(Entries(index, linked.costs))
        return None

    @staticmethod
    def _pairwise(
        layout: Layout, formulas: Sequence[Formula], matrix: FloatArray | None, memory: int
    ) -> tuple[PairwiseColumns, PairwiseColumns]:
        """Columns for either open mode; the same object twice where the matrix is symmetric."""
        symmetric = all(f.symmetric for f in formulas) and (matrix is None or np.array_equal(matrix, matrix.T))
        sums = () if matrix is not None else summed(layout, formulas, memory if symmetric else memory // 2)
        if sums:  # they take a part of the memory, and more columns than these would not be faster
            memory = (2 - symmetric) * min(memory // 4, 8 * layout.n * ROOTS * round(layout.n**0.5))
        if symmetric:
            both = PairwiseColumns(layout, formulas, matrix, False, memory, sums)
            return both, both
        transposed = None if matrix is None else np.ascontiguousarray(matrix.T)
        return (
            PairwiseColumns(layout, formulas, transposed, False, memory // 2, sums),
            PairwiseColumns(layout, formulas, matrix, True, memory // 2, sums),
        )

    def guard(self) -> AbstractContextManager[object]:
        """Held while columns may be written; with all of them stored, threads need not wait for each other."""
        return nullcontext() if all(c.complete for c in self.columns) else waited_for(self.lock, held=True)

    def tick(self) -> int:
        """A new time stamp for the columns touched from now on."""
        self.clock += 1
        return self.clock

    def product(self, slot: int, x: FloatArray) -> FloatArray:
        """The columns' part of the contraction with mode `slot` open."""
        return self.columns[slot].product(x[1 - slot], self.clock)

    def closed(self, x: FloatArray, d: int) -> FloatArray:
        """What (21) has of order d + 1 with the blocks x, mode d open: times that block it is the order's energy."""
        found = self.unary.copy() if d == 0 else np.zeros(self.n)
        if d == 1 and self.columns:
            with self.guard():
                self.tick()
                found += self.product(1, x)
        for tree, (order, slot) in enumerate(zip(self.fibers.order, self.fibers.open, strict=True)):
            if order == d + 1 and slot in (-1, d):
                add_product(self.fibers, tree, self.triples[tree], x[: d + 1], found)
        return found

    def contract(self, x: FloatArray, slot: int) -> tuple[FloatArray, FloatArray]:
        """`_kernels.contract` for blocks x, with missing columns computed."""
        asked, at, answer = self.last
        if asked == slot and np.array_equal(x, at):  # a start's energy and its penalty ask for the same
            return answer
        lower, upper = np.empty(self.n), np.empty(self.n)
        support = np.empty(x.shape, np.uint32)
        count = np.empty(len(x), np.int64)
        kernels.list_supports(x, support, count)
        nothing = np.empty(0)
        with self.guard():
            args = self.tables, self.tick(), slot, x, support, count
            if not kernels.contract(*args, nothing, False, lower, upper):
                kernels.contract(*args, self.product(slot, x), True, lower, upper)
        self.last = slot, x.copy(), (lower, upper)
        return lower, upper

    @property
    def nbytes(self) -> int:
        """Bytes held by the tables."""
        stores = {id(c): c.table.data.nbytes for c in self.columns}
        return sum(stores.values()) + sum(np.asarray(a).nbytes for a in self.fibers)
