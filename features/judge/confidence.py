"""How sure a match is: what would be lost without it, against the best that could take its place.

gain g = −(F¹ + the pairwise terms with the other matches): what the energy would rise by if the match were left out.
rival r = the largest gain of a candidate that shares a point with it and lost, 0 if there is none.

    confidence = 1 / (1 + exp(−(1 + 0.8 g − 0.26 r)))

The three numbers were fitted (logistic regression) to right and wrong matches of the photograph model on the odd
photographs of five Oxford scenes. On the even ones, matches of a confidence around 0.76, 0.86 and 0.96 were right in
59, 87 and 99 of 100 cases. Gains of other models have other units: their confidences order the matches, no more.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adgm import Problem

CONSTANT, GAIN, RIVAL = 1.0, 0.8, -0.26


def gains(problem: Problem, assignment: ArrayLike) -> NDArray[np.float64]:
    """By how much each variable, matched or not, makes the energy fall beside the other matches."""
    x = np.asarray(assignment, np.float64)
    blocks = [x] * max(2, problem.order)
    # The derivative of F¹(x) + F²(x, x) + … at x: each order's slots in turn.
    return np.asarray(-np.sum([problem.contract(blocks, slot) for slot in range(problem.order)], axis=0))


def confidences(problem: Problem, assignment: ArrayLike) -> NDArray[np.float64]:
    """For every match of the assignment, in the order of its variables, how sure it is, between 0 and 1."""
    chosen = np.asarray(assignment, bool)
    gain = gains(problem, chosen)
    rival = np.zeros(problem.n)
    lost = np.where(chosen, -np.inf, gain)
    for line, side in ((problem.layout.row, problem.shape[0]), (problem.layout.col, problem.shape[1])):
        top = np.full(side, -np.inf)
        np.maximum.at(top, line, lost)
        rival = np.maximum(rival, top[line])
    evidence = np.clip(CONSTANT + GAIN * gain + RIVAL * rival, -500, 500)[chosen]
    return np.asarray(1 / (1 + np.exp(-evidence)))
