"""What the kernels take: flat arrays, bundled by meaning."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from adgm._kernels.cache import kept

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.uint32]  # unsigned, so that indexing need not look for negative numbers
LongArray = NDArray[np.int64]

# (25) mr, (26) mc: what a block's group of entries (a row or a column of the assignment) must satisfy.
BOX, CAPPED, SIMPLEX = 0, 1, 2  # 0 ≤ x ≤ 1;  x ≥ 0 and sum ≤ 1;  x ≥ 0 and sum = 1


def compiled(function: Callable[..., Any]) -> Any:
    """Reassociation lets sums use vector registers; NaN and infinity keep their meaning."""
    return kept(njit(nogil=True, fastmath={"reassoc", "contract", "nsz"})(function))


def inlined(function: Callable[..., Any]) -> Any:
    """Small functions called millions of times: passing their arrays would cost more than what they do."""
    return kept(njit(inline="always", nogil=True)(function))


@compiled
def overwrite(out, values):
    """out[:] = values, which may be a tuple; without that line's message about sizes that differ, which takes two
    seconds to compile."""
    for i in range(out.size):
        out[i] = values[i]


@kept
@njit(nogil=True, fastmath={"reassoc", "contract", "nsz", "nnan"})
def first_lowest(values):
    """The lowest of some numbers, none of them NaN, and the first that it is; (infinity, −1) if there is none."""
    lowest, block = np.inf, -1
    for first in range(0, values.size, 256):
        least = np.inf
        for i in range(first, min(values.size, first + 256)):
            least = min(least, values[i])
        if least < lowest:
            lowest, block = least, first
    if block >= 0:
        for i in range(block, values.size):
            if values[i] == lowest:
                return lowest, i
    return lowest, -1


class Columns(NamedTuple):
    """Stored columns of the pairwise matrix: column j of it is `data[slot[j]]`, or not there if slot[j] < 0."""

    slot: NDArray[np.int32]
    data: FloatArray
    used: LongArray  # when a stored column was last needed, in calls of `admm`


class Fibers(NamedTuple):
    """Sparse tensors in compressed fibers: a tree over all modes but the open one, the open mode in its leaves.

    Tree t serves potentials of `order[t]` with the mode `open[t]` left open (−1: any mode, the tensor is symmetric).
    Its nodes for the first key j are root[t, j] … root[t, j+1], with ascending keys; a node p has the key `key[p]` and
    the children child[p] … stop[p]; a leaf e adds value[e] · (product of the keys' entries) to target[e]. With order 2
    the root points straight at leaves.
    """

    order: LongArray
    open: LongArray
    root: LongArray
    key: IndexArray
    child: IndexArray
    stop: IndexArray
    target: IndexArray
    value: FloatArray


class Triples(NamedTuple):
    """The rows that trees of symmetric third-order tensors are grown from; of tree t those start[t] … start[t+1]."""

    start: LongArray
    rows: LongArray  # of three variables each
    cost: FloatArray


class Tables(NamedTuple):
    """A problem as the kernels see it."""

    unary: FloatArray
    pairwise: int  # 1 if there are columns
    column: Columns  # F[:, j], for the first mode left open
    row: Columns  # F[j, :], for the second mode left open; the same arrays where F is symmetric
    fibers: Fibers
    triples: Triples


class Price(NamedTuple):
    """A price of matches, written as a product of all blocks: see `adgm.prices`."""

    each: FloatArray  # of every variable, taken from the unary costs; empty: there is none
    hold: float  # what holds the blocks together beside ρ


class Groups(NamedTuple):
    """The rows or the columns of the assignment: group g holds the variables member[start[g] … start[g+1]]."""

    start: LongArray
    member: IndexArray
    kind: int  # BOX, CAPPED or SIMPLEX
