"""Problems from the arrays of a deep matcher, and back: affinities K, or unary and quadratic costs over edges."""

from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adgm._kernels import FloatArray, LongArray
from adgm.costs.numbers import finite
from adgm.potentials import Dense, Potential, Sparse


class Costs(NamedTuple):
    """Costs of matches, and of laying one edge (i, j) of graph 1 on one edge (s, t) of graph 2."""

    unary: FloatArray  # (n1, n2); inf where there is no variable
    quadratic: FloatArray  # (E1, E2)
    edges_left: LongArray  # (E1, 2), directed
    edges_right: LongArray  # (E2, 2)


def of_affinity(affinity: ArrayLike, shape: tuple[int, int] | None) -> tuple[tuple[int, int], Dense]:
    """The shape, and the costs in the order i1 · n2 + i2, of affinities in the order i2 · n1 + i1."""
    matrix = finite("affinity", affinity)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"affinity must be a square matrix (n1 · n2, n1 · n2), got {matrix.shape}")
    side = isqrt(len(matrix))
    n1, n2 = shape or (side, side)
    if n1 * n2 != len(matrix):
        needed = (
            f"shape {shape} has {n1 * n2} pairs" if shape else "its side is not a square number: pass shape=(n1, n2)"
        )
        raise ValueError(f"affinity is over {len(matrix)} pairs, but {needed}")
    order = column_major(n1, n2)
    return (n1, n2), Dense(-matrix[np.ix_(order, order)])


def column_major(n1: int, n2: int) -> LongArray:
    """Where the variable i1 · n2 + i2 stands in the order i2 · n1 + i1."""
    return np.arange(n1 * n2).reshape(n2, n1).T.reshape(-1)


def of_costs(
    unary: ArrayLike, quadratic: ArrayLike | None, edges_left: ArrayLike | None, edges_right: ArrayLike | None
) -> tuple[tuple[int, int], list[Potential], NDArray[np.bool_] | None]:
    """The shape, the potentials and the candidates."""
    single = np.asarray(unary, np.float64)
    if single.ndim != 2:
        raise ValueError(f"unary must have shape (n1, n2), got {single.shape}")
    mask = single != np.inf
    potentials: list[Potential] = [Dense(np.where(mask, single, 0.0))]
    given = quadratic is not None, edges_left is not None, edges_right is not None
    if any(given) and not all(given):
        raise ValueError("quadratic, edges_left and edges_right belong together, and one of them is missing")
    if all(given):
        pairs = finite("quadratic", quadratic)  # type: ignore[arg-type]
        left, right = (
            _edges(edges, side, n)
            for edges, side, n in zip((edges_left, edges_right), ("left", "right"), single.shape, strict=True)
        )
        if pairs.shape != (len(left), len(right)):
            raise ValueError(
                f"quadratic must have shape ({len(left)}, {len(right)}), one cost for every two edges, "
                f"got {pairs.shape}"
            )
        one, other = np.nonzero(pairs)
        index = left[one] * single.shape[1] + right[other]
        potentials.append(Sparse(index, pairs[one, other]))
    return (single.shape[0], single.shape[1]), potentials, None if mask.all() else mask


def _edges(given: ArrayLike | None, side: str, nodes: int) -> LongArray:
    edges = np.asarray(given)
    if edges.ndim != 2 or edges.shape[1] != 2 or (edges.size and not np.issubdtype(edges.dtype, np.integer)):
        raise ValueError(f"edges_{side} must be integers of shape (edges, 2), got {edges.dtype} {edges.shape}")
    if edges.size and not (edges.min() >= 0 and edges.max() < nodes):
        raise ValueError(f"edges_{side} must join nodes from 0 to {nodes - 1}, got {edges.min()} to {edges.max()}")
    return edges.astype(np.int64)


def as_costs(shape: tuple[int, int], unary: FloatArray, index: LongArray, costs: FloatArray) -> Costs:
    """Costs of variables (n1, n2) and of pairs of variables (m, 2), those of the same pair added up."""
    same = index[:, 0] == index[:, 1]
    unary = unary.copy()
    np.add.at(unary.reshape(-1), index[same, 0], costs[same])
    i1, i2 = np.divmod(index[~same], shape[1])
    edges, rows, cols = [], np.empty(0, np.int64), np.empty(0, np.int64)
    for nodes, size in ((i1, shape[0]), (i2, shape[1])):
        key, at = np.unique(nodes @ [size, 1], return_inverse=True)
        edges.append(np.stack(np.divmod(key, size), axis=1))
        rows, cols = cols, at
    quadratic = np.zeros((len(edges[0]), len(edges[1])))
    np.add.at(quadratic, (rows, cols), costs[~same])
    return Costs(unary, quadratic, edges[0], edges[1])
