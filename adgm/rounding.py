"""From a relaxed assignment to a matching that obeys the problem's constraints."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from adgm._kernels import FloatArray
from adgm.problem import ANY, AT_MOST_ONE, EXACTLY_ONE, Problem

Assignment = NDArray[np.bool_]  # over the problem's variables
LARGE, SPARSE = 250_000, 8  # a grid with more pairs than this, and so many for each variable, is not written out
FORBIDDEN = 1e6  # outweighs any sum of relaxed values, which lie in [0, 1]


def unary_matching(problem: Problem) -> Assignment:
    """The best matching for the unary costs alone."""
    unary = problem.unary
    spread = float(np.ptp(unary))
    return hungarian(problem, 1e-9 + (unary.max() - unary) / (2.0 * spread) if spread > 0 else np.ones(problem.n))


def hungarian(problem: Problem, x: FloatArray, threshold: float = 0.0) -> Assignment:
    """The assignment of largest Σx; a pair whose value is at most `threshold` is left out where it may be."""
    if ANY in (problem.rows, problem.cols):
        return _per_line(problem, x, threshold)
    if problem.n * SPARSE < problem.shape[0] * problem.shape[1] > LARGE:
        return _keep(problem, x, *sparse_matching(problem, x), threshold)
    from scipy.optimize import linear_sum_assignment

    # where points may stay unmatched, a pair that does not exist is as good as none
    weight = np.full(problem.shape, -FORBIDDEN if EXACTLY_ONE in (problem.rows, problem.cols) else 0.0)
    weight[problem.layout.row, problem.layout.col] = x
    rows, cols = linear_sum_assignment(weight, maximize=True)
    return _keep(problem, x, rows, cols, threshold)


def greedy(problem: Problem, x: FloatArray, threshold: float = 0.0) -> Assignment:
    """Take the largest value, strike its row and column, repeat; Hungarian where that leaves a demand unmet."""
    if ANY in (problem.rows, problem.cols):
        return _per_line(problem, x, threshold)
    layout = problem.layout
    row_free, col_free = np.ones(problem.shape[0], bool), np.ones(problem.shape[1], bool)
    taken = np.zeros(problem.n, bool)
    for i in np.argsort(-x, kind="stable"):
        if row_free[layout.row[i]] and col_free[layout.col[i]]:
            taken[i] = True
            row_free[layout.row[i]] = col_free[layout.col[i]] = False
    unmet = (problem.rows == EXACTLY_ONE and row_free.any()) or (problem.cols == EXACTLY_ONE and col_free.any())
    if unmet:
        return hungarian(problem, x, threshold)
    return _keep(problem, x, layout.row[taken], layout.col[taken], threshold)


def sparse_matching(problem: Problem, x: FloatArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """(rows, cols) of the assignment of largest Σx among the variables that exist, without a matrix over all pairs."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    n1, n2 = problem.shape
    rows, cols, weight = problem.layout.row, problem.layout.col, x
    if EXACTLY_ONE not in (problem.rows, problem.cols):  # a row may go to a column of its own, for nothing
        rows, cols = np.append(rows, np.arange(n1)), np.append(cols, n2 + np.arange(n1))
        weight, n2 = np.append(weight, np.zeros(n1)), n2 + n1
    weight = weight + 1.0  # what is zero counts as missing, and every full matching has equally many pairs
    chosen: tuple[NDArray[np.intp], NDArray[np.intp]] = min_weight_full_bipartite_matching(
        csr_array((weight, (rows, cols)), shape=(n1, n2)), maximize=True
    )
    return chosen


def _keep(
    problem: Problem, x: FloatArray, rows: NDArray[np.intp], cols: NDArray[np.intp], threshold: float
) -> Assignment:
    real = cols < problem.shape[1]
    at = problem.layout.numbers((rows * problem.shape[1] + cols)[real])
    kept = np.zeros(problem.n, bool)
    kept[at[at >= 0]] = True
    if EXACTLY_ONE not in (problem.rows, problem.cols):
        kept &= x > threshold
    return kept


def _per_line(problem: Problem, x: FloatArray, threshold: float) -> Assignment:
    """With one side free, the nodes of the other choose independently; with both free, every pair does."""
    cut = max(threshold, 0.5)
    if problem.rows == problem.cols == ANY:
        return x > cut
    axis, demand = (0, problem.rows) if problem.cols == ANY else (1, problem.cols)
    groups = problem.layout.groups(axis, 0)
    chosen = np.zeros(problem.n, bool)
    for lo, hi in pairwise(groups.start):
        if hi > lo:
            best = groups.member[lo + np.argmax(x[groups.member[lo:hi]])]
            chosen[best] = demand == EXACTLY_ONE or x[best] > cut
    return chosen


ROUNDINGS: dict[str, Callable[..., Assignment]] = {"hungarian": hungarian, "greedy": greedy}


def best_rounding(problem: Problem, x: FloatArray, rounding: str = "hungarian") -> tuple[Assignment, float]:
    """The rounded assignment and its energy; where points may stay unmatched, doubtful pairs may go if that pays."""
    found = [ROUNDINGS[rounding](problem, x, 0.0)]
    if {problem.rows, problem.cols} == {AT_MOST_ONE}:
        found.append(found[0] & (x > 0.5))
    energies = [problem.worth(a) for a in found]  # whoever is out of time builds no tables for that
    best = int(np.argmin(energies))
    return found[best], energies[best]
