"""Tensor Matching: O. Duchenne, F. Bach, I. S. Kweon and J. Ponce, A tensor-based algorithm for high-order graph
matching, PAMI 2011."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from adgm._kernels import FloatArray
from adgm.costs.affinity import Affinity
from adgm.options import option
from adgm.problem import Problem
from adgm.rivals.fixed_point import Flow, Move, Point, gradient

NEGLIGIBLE = 1e-12  # entries below this share of the largest are 0 from then on: contractions skip them
NORMS = ("whole", "nodes")


@dataclass(frozen=True)
class TM(Flow):
    """Power iteration for the best rank-one approximation of the tensor of affinities.

    norm: what is kept at length 1: "whole" v, or v's part of every node of the smaller graph ("nodes", section 4.2).
    sparse: iterate on v = √x instead of x (section 4.3), which makes a bound on lengths one on sums, and x sparse.
    pull: add the uniform start, in units of the largest affinity, to every iteration, as the authors' program does: no
    entry is lost for good, and more is found (on four car tensors with 8 outliers .79 of the best known, else .69).
    """

    max_iter: int = 100
    tol: float = 1e-6
    norm: Literal["whole", "nodes"] = option(
        "nodes", "Norm", "What keeps its length: everything together (whole), or each point's candidates (nodes)."
    )
    sparse: bool = option(True, "Sparse", "Iterate on the square roots: fewer candidates keep a share.")
    pull: bool = option(True, "Pull to the start", "The uniform start is added to every iteration.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm not in NORMS:
            raise ValueError(f"norm must be one of {', '.join(NORMS)}, got {self.norm!r}")

    def begin(self, problem: Problem, s: Affinity) -> FloatArray:
        return self._normal(problem, np.ones(problem.n))

    def move(self, problem: Problem, s: Affinity, at: Point) -> Move:
        memory = at.memory or (s.largest() / max(problem.shape) if self.pull else 0.0,)
        climbed = gradient(at.parts)
        if self.sparse:
            climbed *= np.sqrt(at.v)  # the gradient by v = √x, up to a factor
        return Move(self._normal(problem, climbed + memory[0]), memory=memory)

    def _normal(self, problem: Problem, v: FloatArray) -> FloatArray:
        power = v * v
        if self.norm == "whole":
            power = power / (power.sum() or 1.0)
        else:
            layout = problem.layout
            of, count = (layout.row, problem.shape[0])
            if problem.shape[0] > problem.shape[1]:
                of, count = (layout.col, problem.shape[1])
            lengths = np.bincount(of, power, count)
            power = power / np.where(lengths > 0, lengths, 1.0)[of]
        if self.sparse:
            power[power < NEGLIGIBLE] = 0.0
            return power
        return np.sqrt(power)
