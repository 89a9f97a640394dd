"""Probabilistic Graph Matching: R. Zass and A. Shashua, Probabilistic graph and hypergraph matching, CVPR 2008."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adgm._kernels import FloatArray
from adgm.costs.affinity import Affinity
from adgm.options import option
from adgm.problem import Problem
from adgm.rivals.fixed_point import Flow, Move, Point, gradient


@dataclass(frozen=True)
class PGM(Flow):
    """The matching probabilities nearest, in relative entropy, to the marginals of the hyperedges' affinities.

    A sweep projects on two sets in turn: the entries of every node of the smaller graph sum to 1; those of every node
    of the larger graph sum to at most 1 (exactly 1 if both graphs are equally large). sweeps: how many an iteration is.
    """

    sweeps: int = option(
        100,
        "Most sweeps of the projection",
        "A sweep makes the probabilities of a point sum to 1.",
        low=1,
    )

    def begin(self, problem: Problem, s: Affinity) -> FloatArray:
        return gradient(s.parts(np.full(problem.n, 1.0 / max(problem.shape))))

    def move(self, problem: Problem, s: Affinity, at: Point) -> Move:
        (n_few, n_many), (few, many) = sorted(problem.shape), (problem.layout.row, problem.layout.col)
        if problem.shape[0] > problem.shape[1]:
            few, many = many, few
        marginal, q = at.memory or (at.v, np.ones(n_many))
        most = np.inf if n_few == n_many else 1.0
        for _ in range(self.sweeps):  # v = p · marginal · q; each projection sets its own factors anew (Dykstra)
            p = inverse(np.bincount(few, marginal * q[many], n_few))
            q = np.minimum(inverse(np.bincount(many, marginal * p[few], n_many)), most)
        return Move(marginal * p[few] * q[many], memory=(marginal, q))


LEAST = 1e-100  # of a sum: where candidates allow no sums of 1, factors would grow until they overflow


def inverse(sums: NDArray[Any]) -> FloatArray:
    """1 / sums, 1 for a node without candidates."""
    result: FloatArray = np.divide(1.0, np.maximum(sums, LEAST), out=np.ones(len(sums)), where=sums > 0.0)
    return result
