"""Koopmans–Beckmann problems: minimise Σ A[i, j] · B[p(i), p(j)] over permutations p, as QAPLIB's files hold them."""

import numpy as np

from adgm._kernels import FloatArray
from adgm.potentials import Dense, Formula, Potential
from adgm.problem import EXACTLY_ONE, Problem


def product(a: FloatArray, b: FloatArray) -> FloatArray:
    """What two facilities at two places cost: flow times distance."""
    cost: FloatArray = a[..., 0] * b[..., 0]
    return cost


def factors(potential: Potential) -> tuple[FloatArray, FloatArray] | None:
    """A and B of a formula whose cost is their `product` on all pairs, None for any other potential."""
    if not isinstance(potential, Formula) or potential.cost is not product or potential.on_edges:
        return None
    left, right = potential.left, potential.right
    return (left[..., 0], right[..., 0]) if isinstance(left, np.ndarray) and isinstance(right, np.ndarray) else None


def matrices(problem: Problem) -> tuple[FloatArray, FloatArray] | None:
    """A and B whose products are all that the problem costs, None if there are none.

    A formula costs nothing on the diagonal: there, the unary costs must be A[i, i] · B[s, s], or nothing.
    """
    if not problem.rows == problem.cols == EXACTLY_ONE or problem.candidates is not None:
        return None
    pairwise = [p for p in problem.potentials if p.order(problem.shape) == 2]
    unary = [p for p in problem.potentials if isinstance(p, Dense) and p.order(problem.shape) == 1]
    found = factors(pairwise[0]) if len(pairwise) == 1 else None
    if found is None or len(pairwise) + len(unary) < len(problem.potentials):
        return None
    a, b = found
    costs = sum((p.tensor(problem.shape).reshape(problem.shape) for p in unary), np.zeros(problem.shape))
    if np.array_equal(costs, np.outer(np.diag(a), np.diag(b))):
        return a, b
    return None if costs.any() else (a - np.diag(np.diag(a)), b)
