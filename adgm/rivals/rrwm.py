"""Reweighted Random Walks: M. Cho, J. Lee and K. M. Lee, Reweighted random walks for graph matching, ECCV 2010."""

from dataclasses import dataclass

import numpy as np

from adgm._kernels import FloatArray
from adgm.costs.affinity import Affinity
from adgm.options import option
from adgm.problem import Problem
from adgm.rivals.fixed_point import Flow, Move, Point, balanced


@dataclass(frozen=True)
class RRWM(Flow):
    """A random walk over the affinities that jumps towards what the walk says, inflated and made doubly stochastic."""

    jump: float = option(0.8, "Share of jumps", "The paper's 1 − α.", low=0, high=1)
    inflation: float = option(30.0, "Inflation β", "How sharply a jump prefers what the walk says.", low=0, high=500)
    sweeps: int = option(
        50,
        "Most sweeps of Sinkhorn's iteration",
        "A sweep makes rows, then columns sum to 1.",
        low=1,
    )
    balance_tol: float = option(1e-3, "Tolerance of Sinkhorn's iteration", "It ends when sums are so near to 1.", low=0)
    dummies: bool = option(True, "Dummy nodes", "They make the two graphs equally large for Sinkhorn's iteration.")

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
