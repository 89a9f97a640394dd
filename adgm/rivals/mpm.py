"""Max-Pooling Matching: M. Cho, J. Sun, O. Duchenne and J. Ponce, Finding matches in a haystack: a max-pooling strategy
for graph matching in the presence of outliers, CVPR 2014."""

from dataclasses import dataclass

import numpy as np

from adgm._kernels import FloatArray
from adgm.costs.affinity import Affinity
from adgm.options import option
from adgm.problem import Problem
from adgm.rivals.fixed_point import Flow, Move, Point, smaller_side


@dataclass(frozen=True)
class MPM(Flow):
    """Power iteration in which a pair is supported, for every other node, by that node's best candidate only.

    squared: the printed iteration adds these supports, the authors' program adds their squares. Published scores are
    the program's (352.4927 in Figure 2 of the ADGM paper; without squares 332.82), and squares find more.
    """

    squared: bool = option(True, "Squared supports", "As in the authors' program; the printed formula has none.")

    def move(self, problem: Problem, s: Affinity, at: Point) -> Move:
        own = at.parts[0] * at.v
        v = (own * own if self.squared else own) + s.pooled(at.v, smaller_side(problem)[0], squared=self.squared)
        top = float(v.max())
        if not top > 0.0:
            return Move(at.v)
        v /= top  # squares of squares of large affinities would overflow
        return Move(v / float(np.sqrt(v @ v)))


def pool(
    problem: Problem, s: Affinity, pairs: FloatArray, unary: FloatArray, iterations: int, tol: float
) -> FloatArray:
    """The same without squares on a given matrix with a given diagonal: BCAGM's subroutine, as its authors have it."""
    v: FloatArray = np.full(problem.n, 1.0 / np.sqrt(problem.n))
    before, groups = v, smaller_side(problem)[0]
    for _ in range(iterations):
        new: FloatArray = unary * v + s.pooled(v, groups, pairs)
        new /= float(np.sqrt(new @ new)) or 1.0
        if min(np.linalg.norm(new - v), np.linalg.norm(new - before)) <= tol:
            return new
        v, before = new, v
    return v
