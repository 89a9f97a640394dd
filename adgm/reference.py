"""ADGM of any order in plain NumPy, to be read beside the paper: each line cites the printed number and the label.

`at = method.init(problem)` and again and again `at = step(problem, method, at)`: an `Iterate` holds all that led to it.

>>> import numpy as np
>>> from adgm import ADGM, Dense, Problem, reference
>>> problem, method = Problem((2, 2), [Dense([[0.0, 1], [1, 0]])]), ADGM()
>>> at = method.init(problem)
>>> for _ in range(3):
...     at = reference.step(problem, method, at)
>>> at.iteration, at.x.round(3).tolist()
(3, [0.5, 0.0, 0.0, 0.5])
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from adgm._kernels import FloatArray
from adgm.penalty import adapted
from adgm.problem import ANY, AT_MOST_ONE, Problem
from adgm.solver import ADGM, COUPLINGS, ADGMState


@dataclass(frozen=True, eq=False, kw_only=True)
class Iterate(ADGMState):
    linear: FloatArray  # p_1 … p_D of (21), for costs divided by their largest
    targets: FloatArray  # c_1 … c_D of (30) to (34)


def contract(problem: Problem, x: FloatArray, d: int) -> FloatArray:
    """(21): Σ over orders i ≥ d of F^i ⊗ all blocks but x_d, entry by entry as in (1) multilinear and (4) bigotimes."""
    p = np.zeros(problem.n)
    for index, cost, _ in problem.tensors:
        if d < index.shape[1]:
            others = [x[i][index[:, i]] for i in range(index.shape[1]) if i != d]
            p += np.bincount(index[:, d], np.prod([cost, *others], axis=0), problem.n)
    return p


def project(problem: Problem, c: FloatArray, d: int) -> FloatArray:
    """(29) v0-x-update: the nearest point to c in (25) mr or (26) mc; the smaller side's set goes to x_2 … x_D."""
    by_rows = (d == 0) == (problem.shape[0] > problem.shape[1])
    lines = np.full(problem.shape, min(c.min(), 0.0) - 2.0)  # where there is no variable: too low to count
    lines[problem.layout.row, problem.layout.col] = c
    lines, constraint = (lines, problem.rows) if by_rows else (lines.T, problem.cols)
    falling = -np.sort(-lines, axis=1)
    excess = (np.cumsum(falling, axis=1) - 1.0) / np.arange(1, lines.shape[1] + 1)
    tau = np.take_along_axis(excess, (falling > excess).sum(axis=1, keepdims=True) - 1, axis=1)
    nearest = np.maximum(lines - tau, 0.0)  # Σ = 1: τ is what makes it so
    if constraint == AT_MOST_ONE:
        nearest = np.where(np.maximum(lines, 0.0).sum(axis=1, keepdims=True) <= 1.0, np.maximum(lines, 0.0), nearest)
    elif constraint == ANY:
        nearest = np.clip(lines, 0.0, 1.0)
    return (nearest if by_rows else nearest.T)[problem.layout.row, problem.layout.col]


Contract = Callable[[Problem, FloatArray, int], FloatArray]


def step(problem: Problem, method: ADGM, at: ADGMState, contract: Contract = contract) -> Iterate:
    """One iteration of ADGM1 or ADGM2, blocks numbered from 0; `contract`: another way to compute p_d."""
    x, y, rho, blocks = at.blocks.copy(), at.duals.copy(), at.rho, range(len(at.blocks))
    price = method.price(problem, at.stage)  # of `adgm.prices`: none in the published algorithm
    held = rho + price.hold
    posed = method.posed(problem, at.stage)
    p, c = np.empty_like(x), np.empty_like(x)
    tied = [COUPLINGS[method.coupling](d) for d in blocks[1:]]  # (27) equa1 or (28) equa2: x_tied[d−1] = x_d
    ties = np.bincount([*tied, *blocks[1:]])
    for d in blocks:
        p[d] = contract(posed, x, d)  # (21)
        if len(price.each):  # within x_1·x_2·…·x_D, and so no longer among the costs of x_1
            p[d] += price.each * (np.prod(np.delete(x, d, axis=0), axis=0) - (d == 0))
        p[d] /= problem.scale
        pull = -p[d]
        for e in blocks[1:]:
            if d in (tied[e - 1], e):
                pull = pull + (held * x[tied[e - 1]] + y[e - 1] if d == e else held * x[e] - y[e - 1])
        c[d] = pull / (held * ties[d])  # (30) v1-c1, (31) v1-cd; (32) v2-c1, (33) v2-cD, (34) v2-cd
        x[d] = project(problem, c[d], d)  # (29) v0-x-update
    apart = x[tied] - x[1:]
    y += rho * apart  # (11) y-update-general, step 3
    gap, change = float((apart**2).sum()), float(ties @ ((x - at.blocks) ** 2).sum(axis=1))  # (12) residual
    after = adapted(method.schedule, at.progress, gap, change)  # section 3.4
    made = {"blocks": x, "duals": y, "linear": p, "targets": c, "gap": gap, "change": change, **after._asdict()}
    made["stage"], converged = at.stage, gap + change <= method.tol
    return method.onward(problem, Iterate(iteration=at.iteration + 1, x=x[-1], converged=converged, **made))
