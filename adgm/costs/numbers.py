"""Numbers that are costs: which can be computed with, and by how much they differ."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from adgm._kernels import FloatArray, LongArray

# Costs beyond these, or none but smaller ones, are refused: their squares and cubes would be infinite, or zero.
MOST, LEAST = 1e100, 1e-100
SAMPLE = 4096  # costs that a median is taken of


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


def limited(name: str, array: ArrayLike) -> FloatArray:
    """`array` as finite costs that can be computed with; an error that names the first one beyond."""
    values = finite(name, array)
    if values.size and max(values.max(), -values.min()) > MOST:
        where = tuple(int(i) for i in np.argwhere(np.abs(values) > MOST)[0])
        raise ValueError(
            f"{name} must lie between {-MOST:g} and {MOST:g}, but the entry at {where} is {values[where]}; "
            "divide all costs by the same number"
        )
    return values


def first_beyond(costs: FloatArray) -> int | None:
    """The place of a cost that cannot be computed with; None if their sum tells that there is none."""
    with np.errstate(over="ignore", invalid="ignore"):
        if abs(costs.sum()) <= MOST:
            return None
    return next(iter(np.flatnonzero(~(np.abs(costs) <= MOST)).tolist()), None)


def unusable(cost: float, *ends: int) -> ValueError:
    """What is wrong with a cost that a formula gives for two edges."""
    edges = "{}→{} and {}→{}".format(*ends)
    return ValueError(f"Formula gives {cost} for the edges {edges}; costs must be finite, and at most {MOST:g} in size")


def largest_of(sizes: Iterable[float]) -> float:
    """The largest cost of all potentials, by the largest of each: 1 if all are zero."""
    largest = float(max(sizes, default=0.0))
    if largest > MOST or 0.0 < largest < LEAST:
        raise ValueError(
            f"The largest cost is {largest:g}, which is too {'large' if largest > MOST else 'small'} to compute with; "
            f"multiply all costs by a number that brings it between {LEAST:g} and {MOST:g}."
        )
    return largest or 1.0


def some_of(count: int) -> LongArray:
    """All numbers below `count`, or a sample of them."""
    return np.arange(count) if count <= SAMPLE else np.random.default_rng(0).integers(count, size=SAMPLE)


def deviation(costs: FloatArray) -> float:
    """How far costs lie below their median, on average over those that do; the median size if none does."""
    costs = costs[costs != 0.0]
    if not len(costs):
        return 0.0
    middle = np.median(costs)
    below = costs[costs < middle]
    return float((middle - below).mean()) if len(below) else float(abs(middle))
