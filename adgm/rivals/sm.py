"""Spectral Matching: M. Leordeanu and M. Hebert, A spectral technique for correspondence problems using pairwise
constraints, ICCV 2005."""

from dataclasses import dataclass

import numpy as np

from adgm import _kernels as kernels
from adgm._kernels import FloatArray
from adgm.costs.affinity import Affinity
from adgm.problem import Problem
from adgm.rivals.fixed_point import Flow, Move, Point


@dataclass(frozen=True)
class SM(Flow):
    """The leading eigenvector of the affinities, rounded.

    Power iteration, each time from the best mixture of the last two vectors (Rayleigh–Ritz): their images are known,
    so it needs no product more, and fewer iterations.
    """

    tol: float = 1e-5

    def begin(self, problem: Problem, s: Affinity) -> FloatArray:
        return np.full(problem.n, 1.0 / np.sqrt(problem.n))

    def move(self, problem: Problem, s: Affinity, at: Point) -> Move:
        image = at.parts[0] * at.v + at.parts[1]
        (before,) = at.memory or (image,)
        v = np.empty_like(image)
        if kernels.mix(at.v, at.before, image, before, v) > 0.0:
            return Move(v, memory=(image,))
        return Move(at.v, at.parts, stay=True)
