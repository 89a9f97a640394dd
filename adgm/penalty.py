"""The penalty ρ: the first one by the paper's rule or from the costs themselves, and how it goes on from there."""

from collections.abc import Callable
from typing import Any

import numpy as np

from adgm import _kernels as kernels
from adgm._kernels import FloatArray, Progress, Schedule
from adgm.problem import ANY, Problem

__all__ = ["AUTO", "RULES", "STIFFNESS", "Progress", "Schedule", "adapted", "coupling_strength"]

# Section 3.4 as plain Python: the very lines that are compiled for the solver.
adapted: Callable[[Schedule, Progress, float, float], Progress] = kernels.adapt.py_func


def coupling_strength(problem: Problem, steps: int = 2) -> float:
    """How strongly a block's linear term answers when the other blocks move, for costs divided by their largest.

    The norm of that answer at the uniform point, over moves that keep all row and column sums, by power iteration
    from the linear term itself: nothing in it depends on numbering, on which graph comes first or on the costs' unit.
    """
    blocks = np.full((max(2, problem.order), problem.n), 1.0 / max(problem.shape))
    rest = problem.contract(blocks, 0)
    move = _balanced(problem, rest)
    if np.abs(move).max() <= 1e-9 * np.abs(rest).max():  # all pairs look alike: no direction stands out
        answer = problem.contract(2.0 * blocks, 0) - rest
        return float(np.linalg.norm(answer) / np.linalg.norm(blocks[0]) / problem.scale)
    strength = 0.0
    for _ in range(steps):
        move *= blocks[0, 0] / np.abs(move).max()
        answer = _balanced(problem, problem.contract(blocks + move, 0) - rest)
        strength = float(np.linalg.norm(answer) / np.linalg.norm(move))
        if strength <= 1e-9 * problem.scale:
            return 0.0
        move = answer
    return strength / problem.scale


def _balanced(problem: Problem, values: FloatArray) -> FloatArray:
    """`values` with the means of rows and columns taken out where a side's sums are constrained, in both orders."""
    rows, cols = (problem.layout.row, problem.rows), (problem.layout.col, problem.cols)
    results = []
    for sides in ((rows, cols), (cols, rows)):
        rest = values
        for of, constraint in sides:
            if constraint != ANY:
                rest = rest - (np.bincount(of, rest) / np.maximum(np.bincount(of), 1))[of]
        results.append(rest)
    return (results[0] + results[1]) / 2.0


STIFFNESS = 1 / 16  # of what couples the blocks: measured on House and Cars pairs with odd numbers
# The first penalty by name. Where nothing couples the blocks (unary costs) any positive one does.
RULES: dict[str, Callable[[Problem], float]] = {
    "paper": lambda problem: problem.n / 1000,
    # Six digits: the last bits depend on the order of sums, and runs amplify them.
    "auto": lambda problem: float(f"{STIFFNESS * coupling_strength(problem):.6g}") or 1.0,
}

# A penalty that sets itself: the first one from the costs, then residual balancing with the paper's increases as a
# safeguard, earlier than the paper's because a balanced run settles sooner.
AUTO: dict[str, Any] = {
    "rho0": "auto",
    "balance": 1.05,
    "imbalance": 2.0,
    "warmup": 150,
    "patience": 30,
    "round_every": 10,
    "polish": True,
}
