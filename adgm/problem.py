"""What is minimised: potentials of any order and kind over the assignments of n1 to n2 nodes.

The variable of the pair (i1, i2) has the number i1 · n2 + i2 everywhere a caller sees it. Costs are minimised; this
is the one sign rule, and a similarity model stores the negated similarity.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adgm._kernels import FloatArray, LongArray
from adgm._tables import Layout, Runtime

Constraint = Literal["at_most_one", "exactly_one", "any"]
AT_MOST_ONE: Constraint = "at_most_one"
EXACTLY_ONE: Constraint = "exactly_one"
ANY: Constraint = "any"
CONSTRAINTS: tuple[Constraint, ...] = get_args(Constraint)

MAX_ORDER = 8  # D! orderings of a symmetric hyperedge: beyond this nobody can wait for a single row


def finite(name: str, array: ArrayLike) -> FloatArray:
    """`array` as contiguous floats; an error that names its first non-finite entry."""
    try:
        values = np.require(array, np.float64, "C")
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be an array of numbers, got {type(array).__name__}: {error}") from None
    if not np.isfinite(values).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
        raise ValueError(f"{name} must be finite, but the entry at {where} is {values[where]}")
    return values


@dataclass(frozen=True, eq=False)
class Dense:
    """An array of costs over variables: order 1 as (n1, n2) or (n,), order D as (n, …, n) with n = n1 · n2.

    A 2-D array of shape (n1, n2) is read as unary; where n1 = n2 = 1 leaves that open, it is unary too.
    """

    costs: FloatArray

    def __init__(self, costs: ArrayLike) -> None:
        object.__setattr__(self, "costs", finite("Dense costs", costs))
        if self.costs.ndim == 0:
            raise ValueError("Dense costs must be an array over variables, got a single number")

    def order(self, shape: tuple[int, int]) -> int:
        return self.tensor(shape).ndim

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


@dataclass(frozen=True, eq=False)
class Sparse:
    """Costs of chosen tuples of variables: row r of `indices` (m × D) costs `costs[r]`; repeated rows add up.

    With `symmetric` each row stands for all D! orderings of its variables, each with that cost, so that a fully
    matched hyperedge adds D! · cost to the energy and needs to be stored only once.
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
        cost = finite("Sparse costs", costs)
        if cost.shape != (len(index),):
            raise ValueError(f"Sparse costs must have shape ({len(index)},), one per row, got {cost.shape}")
        index = np.ascontiguousarray(index, dtype=np.int64)
        if symmetric and index.shape[1] > 1:
            ordered = np.sort(index, axis=1)
            repeated = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
            if repeated.any():
                row = int(np.argmax(repeated))
                raise ValueError(
                    f"Sparse row {row} uses a variable twice ({index[row].tolist()}); symmetric rows need distinct ones"
                )
        object.__setattr__(self, "indices", index)
        object.__setattr__(self, "costs", cost)
        object.__setattr__(self, "symmetric", bool(symmetric))

    def order(self, shape: tuple[int, int]) -> int:
        return int(self.indices.shape[1])

    def check(self, n: int) -> None:
        if self.indices.size and not (self.indices.min() >= 0 and self.indices.max() < n):
            row = int(np.argmax(((self.indices < 0) | (self.indices >= n)).any(axis=1)))
            raise ValueError(
                f"Sparse row {row} has an index out of range: {self.indices[row].tolist()}, "
                f"variables are numbered 0 to {n - 1}"
            )


@dataclass(frozen=True, eq=False)
class Formula:
    """Pairwise costs F[(i1,i2), (j1,j2)] = cost(left[i1, j1], right[i2, j2]), never formed as a matrix.

    `left` (n1, n1, k) and `right` (n2, n2, k) are attributes of the edges i → j. `cost(a, b)` is NumPy code that
    broadcasts over leading axes: (…, k) and (…, k) to (…). Pairs that share a node (i1 = j1 or i2 = j2) cost
    nothing. Columns are computed when first touched and kept within the problem's memory budget.
    `symmetric`: whether reversing both edges leaves the cost as it is (checked on a sample). `largest`: the largest
    |cost|, if known; it saves one pass over all entries.
    """

    left: FloatArray
    right: FloatArray
    cost: Callable[[FloatArray, FloatArray], FloatArray]
    symmetric: bool = True
    largest: float | None = None

    def __post_init__(self) -> None:
        for side in ("left", "right"):
            values = finite(f"Formula {side}", getattr(self, side))
            if values.ndim == 2:
                values = values[..., None]
            if values.ndim != 3 or values.shape[0] != values.shape[1]:
                raise ValueError(f"Formula {side} must have shape (nodes, nodes, k), got {values.shape}")
            object.__setattr__(self, side, values)
        if self.left.shape[2] != self.right.shape[2]:
            raise ValueError(
                f"Formula left and right must have equally many attributes, "
                f"got {self.left.shape[2]} and {self.right.shape[2]}"
            )
        if not callable(self.cost):
            raise TypeError(f"Formula cost must be a function of two arrays, got {type(self.cost).__name__}")
        if self.largest is not None and not (np.isfinite(self.largest) and self.largest > 0):
            raise ValueError(f"Formula largest must be a positive number or None, got {self.largest}")
        self._check_symmetry()

    def _check_symmetry(self) -> None:
        n1, n2 = len(self.left), len(self.right)
        if not self.symmetric or n1 < 2 or n2 < 2:
            return
        rng = np.random.default_rng(0)
        i1, i2 = rng.integers(n1, size=256), rng.integers(n2, size=256)
        j1, j2 = (i1 + rng.integers(1, n1, size=256)) % n1, (i2 + rng.integers(1, n2, size=256)) % n2
        forth = self.evaluate(self.left[i1, j1], self.right[i2, j2])
        back = self.evaluate(self.left[j1, i1], self.right[j2, i2])
        usable = np.isfinite(forth) & np.isfinite(back)  # what is not is reported when a column needs it
        difference = np.abs(np.where(usable, forth, 0.0) - np.where(usable, back, 0.0))
        if difference.max() > 1e-9 * np.abs(forth[usable]).max(initial=0.0):
            k = int(np.argmax(difference))
            raise ValueError(
                f"Formula is declared symmetric, but the edges {i1[k]}→{j1[k]} and {i2[k]}→{j2[k]} cost {forth[k]} "
                f"and reversed {back[k]}; pass symmetric=False"
            )

    def order(self, shape: tuple[int, int]) -> int:
        return 2

    def evaluate(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """cost(a, b), checked for its shape."""
        with np.errstate(all="ignore"):  # a degenerate edge (i = i) may divide by zero; it is not used
            costs = np.asarray(self.cost(a, b), dtype=np.float64)
        expected = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
        if costs.shape != expected:
            raise ValueError(f"Formula cost must return shape {expected} for attributes {a.shape} and {b.shape}, "
                             f"got {costs.shape}")  # fmt: skip
        return costs

    def flipped(self) -> "Formula":
        """The same costs with the two graphs exchanged."""
        return Formula(self.right, self.left, lambda a, b: self.cost(b, a), self.symmetric, self.largest)


Potential = Dense | Sparse | Formula


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise Σ potentials over assignments of `shape` = (n1, n2) nodes (Problem 1 of the paper).

    `rows`, `cols`: how many partners a node of graph 1 (a row of the assignment), of graph 2 (a column) may have.
    `candidates`: bool (n1, n2); variables exist only where it is true. `memory`: bytes for computed columns.
    """

    shape: tuple[int, int]
    potentials: Sequence[Potential]
    rows: Constraint = AT_MOST_ONE
    cols: Constraint = AT_MOST_ONE
    candidates: NDArray[np.bool_] | None = None
    memory: int = 1 << 30

    def __post_init__(self) -> None:
        shape = tuple(self.shape)
        if len(shape) != 2 or not all(isinstance(s, int | np.integer) and s > 0 for s in shape):
            raise ValueError(f"shape must be two positive integers (n1, n2), got {self.shape!r}")
        object.__setattr__(self, "shape", (int(shape[0]), int(shape[1])))
        for side in ("rows", "cols"):
            if getattr(self, side) not in CONSTRAINTS:
                raise ValueError(f"{side} must be one of {', '.join(CONSTRAINTS)}, got {getattr(self, side)!r}")
        if self.memory <= 0:
            raise ValueError(f"memory must be a positive number of bytes, got {self.memory}")
        self._check_potentials()
        self._check_feasible()

    def _check_potentials(self) -> None:
        given = (self.potentials,) if isinstance(self.potentials, Potential) else tuple(self.potentials)
        if not given:
            raise ValueError("potentials is empty: a problem needs at least one Dense, Sparse or Formula")
        n1, n2 = self.shape
        for potential in given:
            if isinstance(potential, Dense):
                potential.tensor(self.shape)
            elif isinstance(potential, Sparse):
                potential.check(n1 * n2)
            elif isinstance(potential, Formula):
                if (len(potential.left), len(potential.right)) != self.shape:
                    raise ValueError(f"Formula describes {len(potential.left)} and {len(potential.right)} nodes, "
                                     f"but shape is {self.shape}")  # fmt: skip
            else:
                raise TypeError(f"potentials must be Dense, Sparse or Formula, got {type(potential).__name__}")
        object.__setattr__(self, "potentials", given)

    def _check_feasible(self) -> None:
        if self.candidates is not None:
            mask = np.asarray(self.candidates)
            if mask.shape != self.shape or mask.dtype != np.bool_:
                raise ValueError(f"candidates must be a bool array of shape {self.shape}, "
                                 f"got {mask.dtype} of shape {mask.shape}")  # fmt: skip
            if not mask.any():
                raise ValueError("candidates allows no pair at all: the problem is empty")
            object.__setattr__(self, "candidates", mask)
        sides = {"rows": (self.rows, self.cols, 0), "cols": (self.cols, self.rows, 1)}
        for name, (own, other, axis) in sides.items():
            if own != EXACTLY_ONE:
                continue
            mine, theirs = self.shape[axis], self.shape[1 - axis]
            if other != ANY and mine > theirs:
                raise ValueError(
                    f"{name}={EXACTLY_ONE!r} asks for {mine} partners, but the other side has {theirs} nodes that "
                    f"take one each; use {AT_MOST_ONE!r} or exchange the sides"
                )
            if self.candidates is not None:
                self._check_candidates(name, axis, other != ANY)

    def _check_candidates(self, name: str, axis: int, one_each: bool) -> None:
        assert self.candidates is not None
        mask = self.candidates if axis == 0 else self.candidates.T
        if not mask.any(axis=1).all():
            node = int(np.argmin(mask.any(axis=1)))
            raise ValueError(
                f"{name}={EXACTLY_ONE!r}, but node {node} of graph {axis + 1} has no candidate; "
                f"give it one or use {AT_MOST_ONE!r}"
            )
        if one_each:
            from scipy.sparse import csr_array
            from scipy.sparse.csgraph import maximum_bipartite_matching

            partner = maximum_bipartite_matching(csr_array(mask), perm_type="column")
            if (partner < 0).any():
                raise ValueError(
                    f"{name}={EXACTLY_ONE!r} cannot be met: the candidates leave node {int(np.argmin(partner))} "
                    f"of graph {axis + 1} without a partner of its own"
                )

    @cached_property
    def order(self) -> int:
        """D: the highest order of a potential."""
        return max(p.order(self.shape) for p in self.potentials)

    @cached_property
    def layout(self) -> Layout:
        """Which variables exist, and how they form rows and columns."""
        return Layout(self.shape, self.candidates)

    @property
    def n(self) -> int:
        """Number of variables: n1 · n2, or the number of candidates."""
        return self.layout.n

    @cached_property
    def runtime(self) -> Runtime:
        """The potentials as the kernels take them; built when first needed."""
        return Runtime(self.layout, self.potentials, self.memory)

    def vector(self, x: ArrayLike) -> FloatArray:
        """An assignment as a vector over the variables: from (n1, n2), from n1 · n2 entries, or from n as they are."""
        values = finite("assignment", x)
        if values.shape == (self.n,):
            return values
        if values.size == self.shape[0] * self.shape[1]:
            return np.ascontiguousarray(values.reshape(-1)[self.layout.variables])
        raise ValueError(f"an assignment must have shape {self.shape} or ({self.n},), got {values.shape}")

    def matrix(self, x: ArrayLike) -> FloatArray:
        """A vector over the variables as an n1 × n2 matrix, zero where there is no variable."""
        full = np.zeros(self.shape[0] * self.shape[1])
        full[self.layout.variables] = x
        return full.reshape(self.shape)

    def energy(self, x: ArrayLike) -> float:
        """F¹(x) + F²(x, x) + … for a hard or a relaxed assignment, in the units of the costs."""
        vector = self.vector(x)
        return sum(self.energies([vector] * max(2, self.order)))

    def energies(self, blocks: Sequence[ArrayLike] | FloatArray) -> list[float]:
        """F^d(x_1, …, x_d) for each order d = 1 … D: the terms of eq. (GM-decomposed)."""
        x = self._blocks(blocks)
        return [float(self.runtime.contract(x, d)[1] @ x[d]) for d in range(self.order)]

    def contract(self, blocks: Sequence[ArrayLike] | FloatArray, slot: int) -> FloatArray:
        """p_d = Σ_{i ≥ d} F^i ⊗ (all blocks but number `slot`): the linear term of that block (0-based)."""
        x = self._blocks(blocks)
        if not 0 <= slot < len(x):
            raise ValueError(f"slot must be from 0 to {len(x) - 1}, got {slot}")
        lower, upper = self.runtime.contract(x, slot)
        return lower + upper

    def _blocks(self, blocks: Sequence[ArrayLike] | FloatArray) -> FloatArray:
        if len(blocks) < max(2, self.order):
            raise ValueError(f"an order-{self.order} problem needs {max(2, self.order)} blocks, got {len(blocks)}")
        return np.stack([self.vector(b) for b in blocks])

    @property
    def scale(self) -> float:
        """The largest absolute cost: what costs are divided by before a penalty is chosen."""
        return self.runtime.scale

    def transposed(self) -> "Problem":
        """The same problem with the two graphs exchanged."""
        n1, n2 = self.shape
        swap = np.arange(n1 * n2).reshape(n1, n2).T.reshape(-1)  # new number -> old number
        new_number = np.argsort(swap)
        flipped: list[Potential] = []
        for p in self.potentials:
            if isinstance(p, Formula):
                flipped.append(p.flipped())
            elif isinstance(p, Sparse):
                flipped.append(Sparse(new_number[p.indices], p.costs, p.symmetric))
            else:
                tensor = p.tensor(self.shape)
                flipped.append(Dense(tensor[np.ix_(*[swap] * tensor.ndim)]))
        mask = None if self.candidates is None else np.ascontiguousarray(self.candidates.T)
        return Problem((n2, n1), flipped, self.cols, self.rows, mask, self.memory)
