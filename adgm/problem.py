"""What is minimised: potentials of any order and kind over the assignments of n1 to n2 nodes.

The variable of the pair (i1, i2) has the number i1 · n2 + i2 everywhere a caller sees it. Costs are minimised; this
is the one sign rule, and a similarity model stores the negated similarity.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import factorial
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adgm._kernels import FloatArray, LongArray
from adgm.costs.numbers import deviation, finite
from adgm.costs.tables import Runtime
from adgm.deep_matchers import Costs, as_costs, column_major, of_affinity, of_costs
from adgm.layout import Layout
from adgm.machine import cells
from adgm.machine.lazy import alone, once
from adgm.potentials import Dense, Entries, Formula, Potential, Sparse

__all__ = ["ANY", "AT_MOST_ONE", "CONSTRAINTS", "EXACTLY_ONE", "Constraint", "Dense", "Formula", "Problem", "Sparse"]

Constraint = Literal["at_most_one", "exactly_one", "any"]
AT_MOST_ONE: Constraint = "at_most_one"
EXACTLY_ONE: Constraint = "exactly_one"
ANY: Constraint = "any"
CONSTRAINTS: tuple[Constraint, ...] = get_args(Constraint)
ONES: dict[Constraint, str] = {
    AT_MOST_ONE: "one partner or none",
    EXACTLY_ONE: "exactly one partner",
    ANY: "any number of partners",
}
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise the sum of potentials over the assignments of n1 to n2 nodes (Problem 1 of the paper).

    Parameters
    ----------
    shape : (int, int)
        n1 and n2, the numbers of nodes of the two graphs.
    potentials : Dense, Sparse, Formula or a sequence of them
        The costs, of any order; they are minimised and add up.
    rows, cols : "at_most_one", "exactly_one" or "any"
        How many partners a node of graph 1 (a row of the assignment), of graph 2 (a column) may have.
    candidates : bool array (n1, n2), optional
        Variables exist only where it is true: other pairs are never matched.
    memory : int
        Bytes for the computed columns of formulas.

    Raises
    ------
    ValueError
        A potential does not fit the shape, or no matching obeys the constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from adgm import Dense, Problem
    >>> problem = Problem((2, 3), [Dense([[-1.0, 0, 2], [0, -4, 3]])])
    >>> problem.order, problem.n, problem.energy([[1, 0, 0], [0, 1, 0]])
    (1, 6, -5.0)
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
        for potential in given:
            if not isinstance(potential, Potential):
                raise TypeError(f"potentials must be Dense, Sparse or Formula, got {type(potential).__name__}")
            potential.check(self.shape)
        object.__setattr__(self, "potentials", given)

    def _check_feasible(self) -> None:
        if self.candidates is not None:
            mask = np.asarray(self.candidates)
            if mask.shape != self.shape or mask.dtype != np.bool_:
                raise ValueError(
                    f"candidates must be a bool array of shape {self.shape}, got {mask.dtype} of shape {mask.shape}"
                )
            if not mask.any():
                raise ValueError("candidates allows no pair at all: the problem is empty")
            mask = mask.copy()  # it is read late, and whoever gave it may go on to change theirs
            mask.setflags(write=False)
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

    def __repr__(self) -> str:
        return f"Problem({self.summary})"

    def _repr_html_(self) -> str:
        """For notebooks: the sizes, the constraints, and what each potential is made of."""
        every = self.shape[0] * self.shape[1]
        candidates = "all pairs" if self.candidates is None else f"{self._variables} of {every} pairs"
        told = {"candidates": candidates, "a left node has": ONES[self.rows], "a right node has": ONES[self.cols]}
        lines = [(type(p).__name__, p.order(self.shape), p.size) for p in self.potentials]
        costs = cells.table(("potential", "order", "costs"), lines, "lrl")
        return cells.card(self.summary, cells.side_by_side(cells.facts(told), costs))

    @property
    def summary(self) -> str:
        """Its sizes in a few words; builds nothing."""
        return f"{self.shape[0]} × {self.shape[1]} nodes, order {self.order}, {self._variables} variables"

    @property
    def _variables(self) -> int:
        return self.shape[0] * self.shape[1] if self.candidates is None else int(self.candidates.sum())

    @classmethod
    def from_affinity(
        cls,
        affinity: ArrayLike,
        shape: tuple[int, int] | None = None,
        *,
        rows: Constraint = AT_MOST_ONE,
        cols: Constraint = AT_MOST_ONE,
    ) -> "Problem":
        """The problem of an affinity matrix K, as deep matchers (pygmtools, ThinkMatch) have it: x' K x is maximised.

        Parameters
        ----------
        affinity : array (n1 · n2, n1 · n2)
            The row and column of the pair (i1, i2) is i2 · n1 + i1; unary affinities are on the diagonal.
        shape : (int, int), optional
            n1 and n2; without it they are equal.
        rows, cols : "at_most_one", "exactly_one" or "any"
            As in `Problem`.

        Returns
        -------
        Problem
            Of order 2, over all pairs; `to_affinity` is the way back.

        Raises
        ------
        ValueError
            The matrix is not square, not finite, or not over the pairs of that shape.

        Examples
        --------
        >>> import numpy as np
        >>> from adgm import Problem, solve
        >>> problem = Problem.from_affinity(np.diag([1.0, 0, 5, 0, 2, 0]), (2, 3))
        >>> result = solve(problem, "adgm")
        >>> result.matching.tolist(), -result.energy
        ([1, -1], 5.0)
        """
        sizes, costs = of_affinity(affinity, shape)
        return cls(sizes, [costs], rows, cols)

    def to_affinity(self) -> FloatArray:
        """K, to be maximised: x' K x = −energy of every matching x in the order i2 · n1 + i1; see `from_affinity`.

        For problems of order 2 and less; pairs that are no candidates have zeros.
        """
        index, costs = self._pairs()
        n = self.shape[0] * self.shape[1]
        table = np.zeros((n, n))
        order = column_major(*self.shape)
        np.add.at(table, (order[index[:, 0]], order[index[:, 1]]), -costs)
        return table

    @classmethod
    def from_costs(
        cls,
        unary: ArrayLike,
        quadratic: ArrayLike | None = None,
        edges_left: ArrayLike | None = None,
        edges_right: ArrayLike | None = None,
        *,
        rows: Constraint = AT_MOST_ONE,
        cols: Constraint = AT_MOST_ONE,
    ) -> "Problem":
        """The problem of unary and quadratic costs, as blackbox deep matchers have them: costs are minimised.

        Parameters
        ----------
        unary : array (n1, n2)
            Cost of matching i to s; inf forbids it.
        quadratic : array (E1, E2), optional
            Cost of laying the left edge (i, j) on the right edge (s, t): paid when i is matched to s and j to t. Each
            entry counts once; list both directions of an edge if both count.
        edges_left, edges_right : int arrays (E1, 2) and (E2, 2), optional
            The edges.
        rows, cols : "at_most_one", "exactly_one" or "any"
            As in `Problem`.

        Returns
        -------
        Problem
            Of order 1 or 2; `to_costs` is the way back.

        Raises
        ------
        ValueError
            The arrays do not fit together, or a cost is not finite.

        Examples
        --------
        >>> from adgm import EXACTLY_ONE, Problem, solve
        >>> problem = Problem.from_costs([[0, 1], [1, 0]], [[5.0]], [[0, 1]], [[0, 1]], rows=EXACTLY_ONE)
        >>> result = solve(problem, "adgm")
        >>> result.matching.tolist(), result.energy
        ([1, 0], 2.0)
        """
        shape, potentials, candidates = of_costs(unary, quadratic, edges_left, edges_right)
        return cls(shape, potentials, rows, cols, candidates)

    def to_costs(self) -> Costs:
        """(unary, quadratic, edges_left, edges_right) as `from_costs` takes them. For problems of order 2 and less."""
        index, costs = self._pairs()
        unary = np.full(self.shape[0] * self.shape[1], np.inf)
        unary[self.layout.variables] = 0.0
        return as_costs(self.shape, unary.reshape(self.shape), index, costs)

    def _pairs(self) -> tuple[LongArray, FloatArray]:
        """All costs over pairs of variables i1 · n2 + i2; a variable with itself has its unary cost."""
        if self.order > 2:
            raise ValueError(f"the problem is of order {self.order}; arrays of pairs hold orders 1 and 2")
        entries = [p.entries(self.layout).ordered() for p in self.potentials]
        index = np.concatenate([e.indices[:, [0, -1]] for e in entries])
        return self.layout.variables[index], np.concatenate([e.costs for e in entries])

    @once
    def order(self) -> int:
        """D: the highest order of a potential."""
        return max(p.order(self.shape) for p in self.potentials)

    @once
    def layout(self) -> Layout:
        """Which variables exist, and how they form rows and columns."""
        return Layout.of(self.shape, self.candidates)

    @property
    def n(self) -> int:
        """Number of variables: n1 · n2, or the number of candidates."""
        return self.layout.n

    @once
    def unary(self) -> FloatArray:
        """What every variable costs alone, without building any table."""
        unary = np.zeros(self.n)
        for p in self.potentials:
            if p.order(self.shape) == 1:
                entries = p.entries(self.layout)
                np.add.at(unary, entries.indices[:, 0], entries.costs)
        return unary

    @once
    def spread(self) -> float:
        """By how much costs differ: their median distance from their median, of the potentials that differ least.

        Neither a constant in all costs of a kind nor a few very large costs change it. What every matching pays of the
        unary costs is taken off first. 0 where nothing costs anything.
        """
        unary, layout = self.unary.copy(), self.layout
        for constraint, at, nodes in zip((self.rows, self.cols), (layout.row, layout.col), self.shape, strict=True):
            if constraint == EXACTLY_ONE:
                least = np.full(nodes, np.inf)
                np.minimum.at(least, at, unary)
                unary -= least[at]
        others = [p.some_costs(layout) for p in self.potentials if p.order(self.shape) > 1]
        found = [size for costs in (unary, *others) if (size := deviation(costs)) > 0.0]
        return min(found, default=0.0)

    @once
    def runtime(self) -> Runtime:
        """The potentials as the kernels take them; built when first needed."""
        return Runtime(self.layout, self.potentials, self.memory)

    def derived(self, make: "Callable[[Problem], T]") -> T:
        """make(self): computed when it is first asked for, by one thread for all, and kept as long as the problem."""
        known: dict[Any, T] = vars(self).setdefault("_derived", {})
        with alone(self, f"derived {make.__qualname__}"):
            if make not in known:
                known[make] = make(self)
            return known[make]

    @once
    def tensors(self) -> list[Entries]:
        """Every potential entry by entry, over existing variables, all orderings written out: for small problems."""
        return [p.entries(self.layout).ordered() for p in self.potentials]

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
        """(7) energy-unhomogeneous: F¹(x) + F²(x, x) + …, hard or relaxed, in the units of the costs."""
        vector = self.vector(x)
        return sum(self.energies([vector] * max(2, self.order)))

    def paid(self, assignment: NDArray[np.bool_]) -> float:
        """The energy of a matching from what it pays alone: no table is built."""
        chosen = Layout(self.shape, self.layout.variables[assignment])
        parts = [p.entries(chosen) for p in self.potentials]
        return float(sum(e.costs.sum() * (factorial(e.order) if e.symmetric else 1) for e in parts))

    def worth(self, assignment: NDArray[np.bool_]) -> float:
        """The energy of a matching: from the tables if there are any, else from what it pays alone."""
        return self.energy(assignment) if "runtime" in vars(self) else self.paid(assignment)

    def gradient(self, assignment: NDArray[np.bool_]) -> FloatArray:
        """Of the energy, at a matching: from the tables if there are any, else only from what this one needs."""
        blocks = np.stack([assignment.astype(float)] * max(2, self.order))
        tables = vars(self).get("runtime") or Runtime(self.layout, self.potentials, self.memory, scaled=False)
        parts = [part for d in range(self.order) for part in tables.contract(blocks, d)]
        found: FloatArray = np.sum(parts, axis=0)
        return found

    def energies(self, blocks: Sequence[ArrayLike] | FloatArray) -> list[float]:
        """F^d(x_1, …, x_d) for each order d = 1 … D: the terms of (14) GM-decomposed."""
        x = self._blocks(blocks)
        return [float(self.runtime.closed(x, d) @ x[d]) for d in range(self.order)]

    def contract(self, blocks: Sequence[ArrayLike] | FloatArray, slot: int) -> FloatArray:
        """(21): p_d = Σ_{i ≥ d} F^i ⊗ (all blocks but number `slot`): the linear term of that block (0-based)."""
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

    def take(self, rows: ArrayLike, cols: ArrayLike) -> "Problem":
        """The same problem of these nodes of the two graphs only, in this order."""
        i1, i2 = (np.asarray(nodes, dtype=np.int64) for nodes in (rows, cols))
        mask = None if self.candidates is None else self.candidates[np.ix_(i1, i2)]
        potentials = [p.taken(self.shape, i1, i2) for p in self.potentials]
        return Problem((len(i1), len(i2)), potentials, self.rows, self.cols, mask, self.memory)
