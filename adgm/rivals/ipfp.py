"""Integer Projected Fixed Point: M. Leordeanu, M. Hebert and R. Sukthankar, An integer projected fixed point method for
graph matching and MAP inference, NIPS 2009."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from adgm._kernels import FloatArray
from adgm.costs.affinity import Affinity
from adgm.options import option
from adgm.problem import Problem
from adgm.rivals.fixed_point import Flow, Move, Point, assign, balanced
from adgm.rivals.sm import SM

STARTS = ("spectral", "uniform")


@dataclass(frozen=True)
class IPFP(Flow):
    """Frank–Wolfe: the best matching b by the gradient at v, then the best point between v and b.

    start: "spectral", Spectral Matching's eigenvector made doubly stochastic, as the paper advises; or "uniform".
    """

    max_iter: int = 100
    start: Literal["spectral", "uniform"] = option(
        "spectral", "Start", "Begin with what spectral matching finds, or with every match alike (uniform)."
    )

    rounds: ClassVar[bool] = False  # it meets a matching in every iteration

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start not in STARTS:
            raise ValueError(f"start must be one of {', '.join(STARTS)}, got {self.start!r}")

    def begin(self, problem: Problem, s: Affinity) -> FloatArray:
        if self.start == "uniform":
            return super().begin(problem, s)
        spectral = SM(max_iter=30, tol=1e-4)
        eigenvector = spectral.step(problem, spectral.init(problem), spectral.max_iter).point.v
        return balanced(problem, eigenvector, 100, 1e-6)

    def move(self, problem: Problem, s: Affinity, at: Point) -> Move:
        v, (unary, pairs) = at.v, at.parts
        at_v = unary * v + pairs
        found = assign(problem, at_v)
        b = found.astype(np.float64)
        b_pairs = s.tensor(2, [b])
        at_b = unary * b + b_pairs
        slope = at_v @ (b - v)  # half the derivative of the score towards b
        curve = at_b @ (b - v) - slope
        if slope <= 1e-12 * abs(at_v @ v):
            return Move(v, at.parts, found, stay=True)
        t = 1.0 if curve >= 0.0 else min(1.0, float(-slope / curve))
        return Move(v + t * (b - v), [unary, pairs + t * (b_pairs - pairs)], found)
