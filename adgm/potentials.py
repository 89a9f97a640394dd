"""Costs of single matches, of pairs of matches and of larger sets: as an array, as chosen tuples, or by a formula.

Every kind lists what it costs in the same way: `potential.entries(layout)`. This is the one place where potentials
are turned into index tuples over the variables that exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adgm import _kernels as kernels
from adgm._kernels import FloatArray, LongArray
from adgm.costs.links import Links, in_threads, neighbours, places
from adgm.costs.numbers import SAMPLE, finite, first_beyond, limited, some_of, unusable
from adgm.layout import Layout
from adgm.machine.deadline import check_time
from adgm.machine.short_repr import ShortRepr

CHUNK = 1 << 15  # costs of a formula computed at once: its temporaries stay in the cache
MAX_ORDER = 8  # D! orderings of a symmetric hyperedge: beyond this nobody can wait for a single row


class Entries(NamedTuple):
    """A potential over existing variables: row r of `indices` (m × D) costs `costs[r]`; equal rows add up.

    With `symmetric` a row stands for all D! orderings of its variables, each with that cost.
    """

    indices: LongArray
    costs: FloatArray
    symmetric: bool = False

    @property
    def order(self) -> int:
        return int(self.indices.shape[1])

    def ordered(self) -> Entries:
        """Every ordering written out."""
        if not self.symmetric:
            return self
        orderings = list(permutations(range(self.order)))
        indices = np.concatenate([self.indices[:, list(p)] for p in orderings])
        return Entries(indices, np.tile(self.costs, len(orderings)))


@dataclass(frozen=True, eq=False)
class Dense(ShortRepr):
    """An array of costs over variables; the variable of the pair (i1, i2) is i1 · n2 + i2.

    Parameters
    ----------
    costs : array
        Order 1 as (n1, n2) or (n,), order D as (n, …, n) with n = n1 · n2, in any unit. A 2-D array of shape (n1, n2)
        is unary, also where n1 = n2 = 1 leaves that open.

    Raises
    ------
    ValueError
        A cost is not finite. A pair that must not be matched is left out of the problem's `candidates`.

    Examples
    --------
    >>> from adgm import Dense, Problem
    >>> Problem((2, 2), [Dense([[0, 1], [1, 0]])]).order
    1
    """

    costs: FloatArray

    def __init__(self, costs: ArrayLike) -> None:
        try:
            object.__setattr__(self, "costs", limited("Dense costs", costs))
        except ValueError as error:
            raise ValueError(
                f"{error}; a pair that must not be matched is left out of the problem's candidates"
            ) from None
        if self.costs.ndim == 0:
            raise ValueError("Dense costs must be an array over variables, got a single number")

    def order(self, shape: tuple[int, int]) -> int:
        return self.tensor(shape).ndim

    def check(self, shape: tuple[int, int]) -> None:
        self.tensor(shape)

    @property
    def size(self) -> str:
        """How many costs there are, for people."""
        return " × ".join(map(str, self.costs.shape))

    def tensor(self, shape: tuple[int, int]) -> FloatArray:
        """The costs as an array of `order` equal sides."""
        n = shape[0] * shape[1]
        if self.costs.shape == shape:
            return self.costs.reshape(n)
        if self.costs.shape == (n,) * self.costs.ndim:
            return self.costs
        raise ValueError(
            f"Dense costs have shape {self.costs.shape}; for {shape[0]} × {shape[1]} nodes it must be "
            f"({shape[0]}, {shape[1]}) for unary costs or {n} along every axis"
        )

    def over(self, layout: Layout) -> FloatArray:
        """The array over the existing variables."""
        tensor = self.tensor(layout.shape)
        return tensor if layout.full else tensor[np.ix_(*[layout.variables] * tensor.ndim)]

    def entries(self, layout: Layout) -> Entries:
        tensor = self.over(layout)
        index = np.argwhere(tensor)
        return Entries(index, tensor[tuple(index.T)])

    def some_costs(self, layout: Layout) -> FloatArray:
        costs = self.over(layout).reshape(-1)
        return costs[some_of(costs.size)]

    def taken(self, shape: tuple[int, int], rows: LongArray, cols: LongArray) -> Dense:
        """The costs of these nodes of the two graphs only, in this order."""
        tensor = self.tensor(shape)
        old = (rows[:, None] * shape[1] + cols).reshape(-1)
        return Dense(tensor[np.ix_(*[old] * tensor.ndim)])


@dataclass(frozen=True, eq=False)
class Sparse(ShortRepr):
    """Costs of chosen tuples of variables; a row is paid when all its variables are matched.

    Parameters
    ----------
    indices : int array (m, D)
        D variables a row, each i1 · n2 + i2. Rows that are repeated add up. One whose variables use a node twice, such
        as (i1, i2) and (i1, j2), is paid only where that node may have several partners: under "any".
    costs : array (m,)
        The cost of each row.
    symmetric : bool
        Whether a row stands for all D! orderings of its variables, each with that cost, so that a hyperedge, fully
        matched, adds D! · cost to the energy and is stored once.

    Raises
    ------
    ValueError, TypeError
        The arrays do not fit together, a cost is not finite, a symmetric row uses a variable twice.

    Examples
    --------
    >>> from adgm import Problem, Sparse
    >>> triple = Sparse([[0, 4, 8]], [-1.0], symmetric=True)  # 0, 1, 2 matched to 0, 1, 2
    >>> Problem((3, 3), [triple]).energy([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    -6.0
    """

    indices: LongArray
    costs: FloatArray
    symmetric: bool = False

    def __init__(self, indices: ArrayLike, costs: ArrayLike, symmetric: bool = False) -> None:
        index = np.asarray(indices)
        if index.ndim != 2 or not 1 <= index.shape[1] <= MAX_ORDER:
            raise ValueError(f"Sparse indices must have shape (m, D) with D from 1 to {MAX_ORDER}, got {index.shape}")
        if index.size and not np.issubdtype(index.dtype, np.integer):
            raise TypeError(f"Sparse indices must be integers, got {index.dtype}")
        cost = limited("Sparse costs", costs)
        if cost.shape != (len(index),):
            raise ValueError(f"Sparse costs must have shape ({len(index)},), one per row, got {cost.shape}")
        index = np.ascontiguousarray(index, dtype=np.int64)
        if symmetric and index.shape[1] > 1:
            repeated = np.zeros(len(index), bool)
            for a, b in combinations(range(index.shape[1]), 2):
                repeated |= index[:, a] == index[:, b]
            if repeated.any():
                row = int(np.argmax(repeated))
                raise ValueError(
                    f"Sparse row {row} uses a variable twice ({index[row].tolist()}); symmetric rows need distinct ones"
                )
        object.__setattr__(self, "indices", index)
        object.__setattr__(self, "costs", cost)
        object.__setattr__(self, "symmetric", bool(symmetric))

    @property
    def size(self) -> str:
        """How many costs there are, for people."""
        return f"{len(self.costs)} tuples{', in any order' * self.symmetric}"

    def order(self, shape: tuple[int, int]) -> int:
        return int(self.indices.shape[1])

    def check(self, shape: tuple[int, int]) -> None:
        n = shape[0] * shape[1]
        if self.indices.size and self.indices.view(np.uint64).max() >= n:  # a negative number is a very large one
            row = int(np.argmax(((self.indices < 0) | (self.indices >= n)).any(axis=1)))
            raise ValueError(
                f"Sparse row {row} has an index out of range: {self.indices[row].tolist()}, "
                f"variables are numbered 0 to {n - 1}"
            )

    def entries(self, layout: Layout) -> Entries:
        if layout.full:
            return Entries(self.indices, self.costs, self.symmetric)
        index = layout.numbers(self.indices)
        kept = (index >= 0).all(axis=1)
        return Entries(index[kept], self.costs[kept], self.symmetric)

    def some_costs(self, layout: Layout) -> FloatArray:
        some = some_of(len(self.costs))
        return Sparse(self.indices[some], self.costs[some]).entries(layout).costs

    def taken(self, shape: tuple[int, int], rows: LongArray, cols: LongArray) -> Sparse:
        """The costs of these nodes of the two graphs only, in this order."""
        old = np.divmod(self.indices, shape[1])
        i1, i2 = places(rows, shape[0])[old[0]], places(cols, shape[1])[old[1]]
        kept = ((i1 >= 0) & (i2 >= 0)).all(axis=1)
        return Sparse((i1 * len(cols) + i2)[kept], self.costs[kept], self.symmetric)


JOINED = {"either": "or", "both": "and"}
Attributes = Callable[[LongArray, LongArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Formula(ShortRepr):
    """Pairwise costs F[(i1,i2), (j1,j2)] = cost(left[i1, j1], right[i2, j2]), never formed as a matrix.

    Pairs that share a node (i1 = j1 or i2 = j2) cost nothing.

    Parameters
    ----------
    left, right : array (n1, n1, k) and (n2, n2, k), or functions
        Attributes of the edges i → j, in any unit; without the last axis, k = 1. A function left(i, j) computes them
        for two arrays of nodes that broadcast, to (…, k).
    cost : function
        cost(a, b) in NumPy, which broadcasts over leading axes: (…, k) and (…, k) to (…).
    symmetric : bool
        Whether reversing both edges leaves the cost as it is; checked on a sample.
    largest : float, optional
        The largest absolute cost, if known; it saves one pass over all entries.
    left_edges, right_edges : int array (m, 2), optional
        Undirected pairs of nodes outside of which it costs nothing, and is neither computed nor stored. With none,
        every pair counts: columns are computed when first touched and kept within the problem's memory.
    where : "either" or "both"
        With edges on both sides: whether an edge in either graph is enough or both must have theirs.

    Raises
    ------
    ValueError, TypeError
        The attributes do not fit together, or `cost` is no function of two arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from adgm import Formula, Problem
    >>> line = np.abs(np.subtract.outer([0.0, 1, 3], [0.0, 1, 3]))  # distances of three points
    >>> stretch = Formula(line, line, lambda a, b: np.abs(a - b)[..., 0])
    >>> Problem((3, 3), [stretch]).energy([[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    4.0
    """

    left: FloatArray | Attributes
    right: FloatArray | Attributes
    cost: Callable[[FloatArray, FloatArray], FloatArray]
    symmetric: bool = True
    largest: float | None = None
    left_edges: LongArray | None = None
    right_edges: LongArray | None = None
    where: Literal["either", "both"] = "either"

    def __post_init__(self) -> None:
        for side in ("left", "right"):
            if callable(getattr(self, side)):
                continue
            values = finite(f"Formula {side}", getattr(self, side))
            if values.ndim == 2:
                values = values[..., None]
            if values.ndim != 3 or values.shape[0] != values.shape[1]:
                raise ValueError(f"Formula {side} must have shape (nodes, nodes, k), got {values.shape}")
            object.__setattr__(self, side, values)
        left, right = self.left, self.right
        if isinstance(left, np.ndarray) and isinstance(right, np.ndarray) and left.shape[2] != right.shape[2]:
            raise ValueError(
                f"Formula left and right must have equally many attributes, got {left.shape[2]} and {right.shape[2]}"
            )
        if not callable(self.cost):
            raise TypeError(f"Formula cost must be a function of two arrays, got {type(self.cost).__name__}")
        if self.largest is not None and not (np.isfinite(self.largest) and self.largest > 0):
            raise ValueError(f"Formula largest must be a positive number or None, got {self.largest}")
        self._check_edges()
        if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
            self._check_symmetry((len(left), len(right)))

    def _check_edges(self) -> None:
        if self.where not in ("either", "both"):
            raise ValueError(f"Formula where must be 'either' or 'both', got {self.where!r}")
        for side in ("left_edges", "right_edges"):
            if getattr(self, side) is None:
                continue
            edges = np.asarray(getattr(self, side))
            if edges.ndim != 2 or edges.shape[1] != 2 or (edges.size and not np.issubdtype(edges.dtype, np.integer)):
                raise ValueError(f"Formula {side} must be integers of shape (m, 2), got {edges.dtype} {edges.shape}")
            edges = np.unique(np.sort(edges.astype(np.int64), axis=1), axis=0)
            if (edges[:, 0] == edges[:, 1]).any():
                raise ValueError(f"Formula {side} must join two different nodes each")
            object.__setattr__(self, side, edges)

    @property
    def size(self) -> str:
        """For how many pairs it is computed, for people."""
        edges = [
            f"{len(e)} {s} edges" for e, s in ((self.left_edges, "left"), (self.right_edges, "right")) if e is not None
        ]
        return f"computed on {f' {JOINED[self.where]} '.join(edges)}" if edges else "computed for every pair"

    def order(self, shape: tuple[int, int]) -> int:
        return 2

    def check(self, shape: tuple[int, int]) -> None:
        sides = ((self.left, self.left_edges, "left"), (self.right, self.right_edges, "right"))
        for (attributes, edges, side), nodes in zip(sides, shape, strict=True):
            if isinstance(attributes, np.ndarray) and len(attributes) != nodes:
                raise ValueError(f"Formula {side} describes {len(attributes)} nodes, but shape is {shape}")
            if edges is not None and edges.size and not (edges.min() >= 0 and edges.max() < nodes):
                raise ValueError(f"Formula {side}_edges must join nodes from 0 to {nodes - 1}, got {edges.max()}")
        if callable(self.left) or callable(self.right):
            self._check_symmetry(shape)

    def _check_symmetry(self, shape: tuple[int, int]) -> None:
        n1, n2 = shape
        if not self.symmetric or n1 < 2 or n2 < 2:
            return
        rng = np.random.default_rng(0)
        i1, i2 = rng.integers(n1, size=256), rng.integers(n2, size=256)
        j1, j2 = (i1 + rng.integers(1, n1, size=256)) % n1, (i2 + rng.integers(1, n2, size=256)) % n2
        forth, back = self.between(i1, j1, i2, j2), self.between(j1, i1, j2, i2)
        usable = np.isfinite(forth) & np.isfinite(back)  # what is not is reported when a column needs it
        difference = np.abs(np.where(usable, forth, 0.0) - np.where(usable, back, 0.0))
        if difference.max() > 1e-9 * np.abs(forth[usable]).max(initial=0.0):
            k = int(np.argmax(difference))
            raise ValueError(
                f"Formula is declared symmetric, but the edges {i1[k]}→{j1[k]} and {i2[k]}→{j2[k]} cost {forth[k]} "
                f"and reversed {back[k]}; pass symmetric=False"
            )

    @property
    def on_edges(self) -> bool:
        return self.left_edges is not None or self.right_edges is not None

    def between(self, i1: LongArray, j1: LongArray, i2: LongArray, j2: LongArray) -> FloatArray:
        """cost(left[i1, j1], right[i2, j2]) for nodes that broadcast, wherever the formula lives; checked for shape."""
        a = self.left[i1, j1] if isinstance(self.left, np.ndarray) else self.left(i1, j1)
        b = self.right[i2, j2] if isinstance(self.right, np.ndarray) else self.right(i2, j2)
        with np.errstate(all="ignore"):  # a degenerate edge (i = i) may divide by zero; it is not used
            costs = np.asarray(self.cost(a, b), dtype=np.float64)
        expected = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
        if costs.shape != expected:
            raise ValueError(
                f"Formula cost must return shape {expected} for attributes {a.shape} and {b.shape}, got {costs.shape}"
            )
        return costs

    def lives(self, i1: LongArray, j1: LongArray, i2: LongArray, j2: LongArray) -> NDArray[np.bool_]:
        """Whether these pairs count, for nodes that broadcast."""
        near = []
        for edges, i, j in ((self.left_edges, i1, j1), (self.right_edges, i2, j2)):
            if edges is not None:
                size = int(edges.max(initial=0)) + 1
                low, high = np.minimum(i, j), np.maximum(i, j)
                near.append(np.isin(low * size + high, edges @ [size, 1]) & (high < size))
        count: NDArray[np.bool_] = near[0]
        if len(near) == 2:
            count = near[0] & near[1] if self.where == "both" else near[0] | near[1]
        counted: NDArray[np.bool_] = count & (i1 != j1) & (i2 != j2)
        return counted

    def links(self, layout: Layout, most: float = np.inf) -> Links | None:
        """The pairs of existing variables that count, of a formula on edges; None if there are more than `most`."""
        given = self.left_edges is not None, self.right_edges is not None
        rule = kernels.LEFT if not given[1] else kernels.RIGHT if not given[0] else RULES[self.where]
        graphs = [neighbours(e, n) for e, n in zip((self.left_edges, self.right_edges), layout.shape, strict=True)]
        where: tuple[Any, ...] = layout.row, layout.col, layout.groups(0), layout.groups(1), *graphs, rule
        start: LongArray = kernels.count_partners(*where)
        return None if start[-1] > most else Links(start, kernels.list_partners(*(*where, start)))

    def along(self, layout: Layout, links: Links) -> FloatArray:
        """F[target, owner] for all links, some at a time."""
        values = np.empty(len(links.target))
        row, col = layout.row, layout.col
        ends = np.append(np.flatnonzero(np.diff(links.start[:-1] // CHUNK)) + 1, layout.n)

        def fill(low: int, high: int) -> None:
            if high > low:
                check_time()
                part = slice(links.start[low], links.start[high])
                i, j = links.target[part], links.owners(low, high)
                some = i < j if self.symmetric else slice(None)  # the other half is the same
                i, j = i[some], j[some]
                values[part][some] = self.usable(row[i], row[j], col[i], col[j])

        in_threads(fill, zip(np.append(0, ends[:-1]).tolist(), ends.tolist(), strict=True))
        if self.symmetric:
            kernels.mirror(*links, values)
        return values

    def usable(self, i1: LongArray, j1: LongArray, i2: LongArray, j2: LongArray) -> FloatArray:
        """`between` for nodes given one by one; an error names the first edges whose cost cannot be computed with."""
        costs = self.between(i1, j1, i2, j2)
        if (k := first_beyond(costs)) is not None:
            raise unusable(costs[k], i1[k], j1[k], i2[k], j2[k])
        return costs

    def entries(self, layout: Layout) -> Entries:
        row, col = layout.row, layout.col
        if not self.on_edges:
            index = np.argwhere((row[:, None] != row) & (col[:, None] != col))
            i, j = index.T
            return Entries(index, self.usable(row[i], row[j], col[i], col[j]))
        links = self.links(layout)
        assert links is not None
        index = np.stack([links.target.astype(np.int64), links.owners(0, layout.n)], axis=1)
        return Entries(index, self.along(layout, links))

    def some_costs(self, layout: Layout) -> FloatArray:
        rng = np.random.default_rng(0)
        pair = rng.integers(layout.n, size=(2, SAMPLE))
        for side, edges in enumerate((self.left_edges, self.right_edges)):
            if edges is not None and len(edges):
                pair = layout.drawn(side, edges[rng.integers(len(edges), size=SAMPLE)], rng)
                break
        (i1, j1), (i2, j2) = layout.row[pair], layout.col[pair]
        counted = self.lives(i1, j1, i2, j2) if self.on_edges else (i1 != j1) & (i2 != j2)
        costs = self.between(i1[counted], j1[counted], i2[counted], j2[counted])
        return costs[np.isfinite(costs)]

    def taken(self, shape: tuple[int, int], rows: LongArray, cols: LongArray) -> Formula:
        """The costs of these nodes of the two graphs only, in this order."""
        given = zip((self.left, self.right), (self.left_edges, self.right_edges), (rows, cols), shape, strict=True)
        (left, left_edges), (right, right_edges) = (_of_nodes(*side) for side in given)
        return replace(self, left=left, right=right, left_edges=left_edges, right_edges=right_edges)


def _of_nodes(
    attributes: FloatArray | Attributes, edges: LongArray | None, nodes: LongArray, count: int
) -> tuple[FloatArray | Attributes, LongArray | None]:
    """One side of a formula, of these of its `count` nodes only."""
    if edges is not None:
        edges = places(nodes, count)[edges]
        edges = edges[(edges >= 0).all(axis=1)]
    if isinstance(attributes, np.ndarray):
        return attributes[np.ix_(nodes, nodes)], edges
    return lambda i, j: attributes(nodes[i], nodes[j]), edges


RULES = {"either": kernels.EITHER, "both": kernels.BOTH}


Potential = Dense | Sparse | Formula
