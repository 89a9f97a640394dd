"""Reweighted Random Walk Hypergraph Matching: J. Lee, M. Cho and K. M. Lee, Hyper-graph matching via reweighted random
walks, CVPR 2011."""

from dataclasses import dataclass

from adgm._kernels import FloatArray
from adgm.costs.affinity import Affinity
from adgm.rivals.fixed_point import Point, gradient
from adgm.rivals.rrwm import RRWM


@dataclass(frozen=True)
class RRWHM(RRWM):
    """Reweighted random walks where a step goes along hyperedges: the walk is the gradient of the score."""

    tol: float = 1e-6

    def walk(self, s: Affinity, at: Point) -> FloatArray:
        return gradient(at.parts)
