"""Reweighted Random Walks: M. Cho, J. Lee and K. M. Lee, Reweighted random walks for graph matching, ECCV 2010."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from adgm._kernels import FloatArray
from adgm.affinity import Affinity
from adgm.baselines.flow import Flow, Move, Point, balanced
from adgm.problem import Problem


@dataclass(frozen=True)
class RRWM(Flow):
    """A random walk over the affinities that jumps towards what the walk says, inflated and made doubly stochastic.

    jump: the share of jumps (the paper's 1 − α = 0.8). inflation: the paper's β.
    sweeps, balance_tol: Sinkhorn's iteration ends after so many sweeps or when all sums are so near to 1.
    dummies: whether dummy nodes make the two graphs equally large for it.
    """

    jump: float = 0.8
    inflation: float = 30.0
    sweeps: int = 50
    balance_tol: float = 1e-3
    dummies: bool = True

    limits: ClassVar[dict[str, tuple[float, float]]] = {
        "jump": (0.0, 1.0),
        "inflation": (0.0, 500.0),
        "sweeps": (1, np.inf),
        "balance_tol": (0.0, np.inf),
    }

    def walk(self, s: Affinity, at: Point) -> FloatArray:
        return at.parts[0] * at.v + at.parts[1]

    def move(self, problem: Problem, s: Affinity, at: Point) -> Move:
        walked = self.walk(s, at)
        total = walked.sum()
        if not total > 0:
            return Move(at.v, at.parts, stay=True)
        walked = walked / total
        jumped = np.exp(self.inflation * (walked / walked.max() - 1.0))  # Sinkhorn does not see the factor
        jumped = balanced(problem, jumped, self.sweeps, self.balance_tol, self.dummies)
        v = (1.0 - self.jump) * walked + self.jump * jumped / jumped.sum()
        return Move(v / v.sum())
