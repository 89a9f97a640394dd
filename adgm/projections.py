"""Nearest points in the sets a block of ADGM lives in, over the rows or the columns of an assignment."""

import numpy as np
from numpy.typing import ArrayLike

from adgm import _kernels as kernels
from adgm._kernels import FloatArray
from adgm.costs.numbers import finite
from adgm.problem import ANY, AT_MOST_ONE, EXACTLY_ONE, Constraint

KIND = {ANY: kernels.BOX, AT_MOST_ONE: kernels.CAPPED, EXACTLY_ONE: kernels.SIMPLEX}


def project(points: ArrayLike, constraint: Constraint, axis: int = 1) -> FloatArray:
    """argmin ‖x − points‖ with every line of x along `axis` (1: rows, 0: columns) in the constraint's set.

    exactly_one: the simplex {x ≥ 0, Σx = 1}; at_most_one: {x ≥ 0, Σx ≤ 1}; any: the box {0 ≤ x ≤ 1}.
    """
    values = finite("points", points)
    if values.ndim != 2 or values.size == 0:
        raise ValueError(f"points must be a matrix with at least one entry, got shape {values.shape}")
    if constraint not in KIND:
        raise ValueError(f"constraint must be one of {', '.join(KIND)}, got {constraint!r}")
    if axis not in (0, 1):
        raise ValueError(f"axis must be 1 (rows) or 0 (columns), got {axis}")
    n1, n2 = values.shape
    lines = np.arange(values.size).reshape(n1, n2)
    index = lines if axis == 1 else lines.T
    start = np.arange(len(index) + 1) * index.shape[1]
    groups = kernels.Groups(start, np.ascontiguousarray(index.reshape(-1), dtype=np.uint32), KIND[constraint])
    result = np.empty(values.size)
    kernels.project(values.reshape(-1), groups, result, np.empty(values.size), np.empty(values.size))
    return result.reshape(n1, n2)
