"""Products with a formula's costs that need no column, where the costs are a smooth function of one number per edge.

Such a function is a short sum f(a, b) = Σ u_r(a) · v_r(b): its Chebyshev series in a and b, cut where nothing remains
but rounding, and shortened by the series' singular values. Its product with an assignment X is Σ U_r X V_r', a hundred
products of small matrices, where the columns of all n1 · n2 variables are n1² · n2² costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander

from adgm._kernels import FloatArray
from adgm.costs.numbers import MOST
from adgm.layout import Layout
from adgm.machine.computing import helped
from adgm.machine.deadline import check_time
from adgm.potentials import CHUNK, Formula

FEWEST = 4096  # variables: fewer take a moment by their columns
NODES = 256  # at which the function is looked at in either number
PRECISE = 1e-12  # what the series leaves out, as a share of the largest cost
CHECKED, NEAR_ENOUGH = 4096, 1e-10  # costs of edges that are computed for comparison, and how near the sum must be
SPARSE = 0.1  # of the entries of an assignment: with fewer, its first products are sparse ones


@dataclass(frozen=True, eq=False)
class Separated:
    """A formula's costs as Σ left[r, i1, j1] · right[r, i2, j2]; zero on the diagonals, which cost nothing."""

    left: FloatArray  # (terms, n1, n1)
    right: FloatArray  # (terms, n2, n2)
    largest: float  # absolute cost that was seen

    def product(self, x: FloatArray, flip: bool) -> FloatArray:
        """F x for the assignment x as n1 × n2 numbers, F' x with `flip`."""
        from scipy.sparse import csr_array

        middle = csr_array(x) if np.count_nonzero(x) < SPARSE * x.size else x
        out = np.zeros(x.shape)
        for u, v in zip(self.left, self.right, strict=True):
            check_time()
            with helped():
                out += (u.T @ middle) @ v if flip else (u @ middle) @ v.T
        return out


def summed(layout: Layout, formulas: Sequence[Formula], memory: int) -> tuple[Separated, ...]:
    """All formulas of a large problem as sums of products where not all of their columns fit in memory; nothing if one
    is no such sum."""
    fits = 8 * layout.n**2 <= memory
    if not layout.full or fits or layout.n < FEWEST:
        return ()
    found: list[Separated] = []
    for formula in formulas:
        one = separated(formula, layout.shape, memory / 2 / len(formulas))
        if one is None:
            return ()
        found.append(one)
    return tuple(found)


def separated(formula: Formula, shape: tuple[int, int], most_bytes: float) -> Separated | None:
    """The sum for a formula on all pairs; None if its costs are no smooth function of one number of either edge, or
    the sum would take more bytes."""
    sides = [_numbers(formula, side, nodes) for side, nodes in enumerate(shape)]
    if formula.on_edges or min(shape) < 2 or sides[0] is None or sides[1] is None:
        return None
    left, right = sides[0], sides[1]
    nodes = chebpts1(NODES)
    (a, first), (b, second) = _scaled(left, nodes), _scaled(right, nodes)
    try:
        with np.errstate(all="ignore"):
            costs = np.asarray(formula.cost(a[:, None, None], b[None, :, None]), dtype=np.float64)
    except (ArithmeticError, LookupError, TypeError, ValueError):  # it does not take numbers between those of edges
        return None
    if costs.shape != (NODES, NODES) or not np.abs(costs).max() <= MOST:
        return None
    largest = float(np.abs(costs).max())
    to_series = chebvander(nodes, NODES - 1).T * (2.0 / NODES)
    to_series[0] /= 2.0
    with helped():
        series = to_series @ costs @ to_series.T
    kept = np.abs(series) > PRECISE * largest
    high, wide = (int(np.flatnonzero(kept.any(axis=axis)).max(initial=0)) + 1 for axis in (1, 0))
    with helped():
        u, size, v = np.linalg.svd(series[:high, :wide])
    terms = max(1, int((size > PRECISE * size[0]).sum()))
    if max(high, wide) > NODES / 2 or 8 * terms * (left.size + right.size) > most_bytes:
        return None
    root = np.sqrt(size[:terms])
    found = Separated(_of_edges(first, u[:, :terms] * root), _of_edges(second, v[:terms].T * root), largest)
    return found if _near(found, formula, shape) else None


def _numbers(formula: Formula, side: int, nodes: int) -> FloatArray | None:
    """The one number of every edge of a side; None if there are several."""
    given = (formula.left, formula.right)[side]
    every = np.arange(nodes)
    values = given if isinstance(given, np.ndarray) else given(every[:, None], every[None])
    return np.asarray(values[..., 0], dtype=np.float64) if values.shape == (nodes, nodes, 1) else None


def _scaled(values: FloatArray, nodes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The nodes laid over the range of the edges' values, and these values on the scale −1 … 1 of the nodes."""
    edges = values[~np.eye(len(values), dtype=bool)]
    middle, half = (edges.max() + edges.min()) / 2.0, (edges.max() - edges.min()) / 2.0 or 1.0
    return middle + half * nodes, np.clip((values - middle) / half, -1.0, 1.0)


def _of_edges(values: FloatArray, series: FloatArray) -> FloatArray:
    """Every term's function at every edge: (terms, n, n), with zeros on the diagonals."""
    n, (degree, terms) = len(values), series.shape
    found = np.empty((terms, n, n))
    step = max(1, CHUNK // (n * degree))
    for at in range(0, n, step):
        check_time()
        with helped():
            found[:, at : at + step] = np.moveaxis(chebvander(values[at : at + step], degree - 1) @ series, 2, 0)
    found[:, np.arange(n), np.arange(n)] = 0.0
    return found


def _near(found: Separated, formula: Formula, shape: tuple[int, int]) -> bool:
    """Whether the sum is what the formula says, for some pairs of edges."""
    rng = np.random.default_rng(0)
    (i1, i2), (j1, j2) = ([rng.integers(nodes, size=CHECKED) for nodes in shape] for _ in range(2))
    apart = (i1 != j1) & (i2 != j2)
    told = formula.between(i1, j1, i2, j2)[apart]
    summed = (found.left[:, i1, j1] * found.right[:, i2, j2]).sum(axis=0)[apart]
    return bool(np.all(np.abs(told - summed) <= NEAR_ENOUGH * found.largest))
