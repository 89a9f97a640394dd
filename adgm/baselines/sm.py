"""Spectral Matching: M. Leordeanu and M. Hebert, A spectral technique for correspondence problems using pairwise
constraints, ICCV 2005."""

from dataclasses import dataclass
from math import sqrt

from adgm.affinity import Affinity
from adgm.baselines.flow import Flow, Move, Point
from adgm.problem import Problem


@dataclass(frozen=True)
class SM(Flow):
    """The leading eigenvector of the affinities, by power iteration, rounded."""

    tol: float = 1e-5

    def move(self, problem: Problem, s: Affinity, at: Point) -> Move:
        v = at.parts[0] * at.v + at.parts[1]
        length = sqrt(v @ v)
        return Move(v / length) if length > 0 else Move(at.v, at.parts, stay=True)
