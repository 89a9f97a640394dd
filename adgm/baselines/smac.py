"""Spectral Matching with Affine Constraints: T. Cour, P. Srinivasan and J. Shi, Balanced graph matching, NIPS 2006."""

from dataclasses import dataclass

import numpy as np

from adgm._kernels import FloatArray
from adgm.affinity import Affinity
from adgm.baselines.fixed_point import Flow, Move, Point
from adgm.problem import Problem


@dataclass(frozen=True)
class SMAC(Flow):
    """The leading eigenvector of the affinities among the vectors that meet the matching constraints up to a factor:
    equal sums for all nodes of graph 1, equal sums for all nodes of graph 2.

    An iteration maximises the Rayleigh quotient over the span of v, its gradient and the vector before (the
    locally optimal gradient method), since the projected matrix may have large negative eigenvalues.
    """

    tol: float = 1e-5

    def begin(self, problem: Problem, s: Affinity) -> FloatArray:
        v = _project(problem, _corrections(problem), np.ones(problem.n))
        length = np.linalg.norm(v)
        if length < 1e-9:  # the candidates allow no equal sums but 0
            return super().begin(problem, s)
        return v / length

    def move(self, problem: Problem, s: Affinity, at: Point) -> Move:
        v, (unary, pairs) = at.v, at.parts
        corrections, before_pairs = at.memory or (_corrections(problem), pairs)
        image = _project(problem, corrections, unary * v + pairs)
        gradient = image - (v @ image) * v
        if np.linalg.norm(gradient) <= 1e-12 * np.linalg.norm(image):
            return Move(v, at.parts, stay=True)
        gradient /= np.linalg.norm(gradient)
        plane = np.stack([v, gradient, at.before], axis=1)
        plane_pairs = np.stack([pairs, s.tensor(2, [gradient]), before_pairs], axis=1)
        axes, mix = np.linalg.qr(plane)
        used = np.abs(np.diag(mix)) > 1e-6  # at first and at last the vector before is v itself
        axes, mix = axes[:, used], mix[np.ix_(used, used)]
        images = unary[:, None] * axes + np.linalg.solve(mix.T, plane_pairs[:, used].T).T
        quotient = axes.T @ images
        new = _project(problem, corrections, axes @ np.linalg.eigh(quotient + quotient.T)[1][:, -1])
        return Move(new / np.copysign(np.linalg.norm(new), new.sum()), memory=(corrections, pairs))


def _corrections(problem: Problem) -> FloatArray:
    """The matrix K that maps the sums of all nodes' entries to what is to be taken from each entry of a node, so that
    all sums of a graph become equal: with M the membership of pairs in nodes and T the differences between nodes of a
    graph, the projection on the forbidden M T is M K Mᵀ with K = T (Tᵀ Mᵀ M T)⁺ Tᵀ."""
    n1, n2 = problem.shape
    allowed = problem.matrix(np.ones(problem.n))
    shared = np.block([[np.diag(allowed.sum(axis=1)), allowed], [allowed.T, np.diag(allowed.sum(axis=0))]])
    identity, columns = np.eye(n1 + n2), []
    for nodes in (range(n1), range(n1, n1 + n2)):
        some = [node for node in nodes if shared[node, node] > 0]  # a node without candidates has nothing to sum
        columns.append(identity[:, some[1:]] - identity[:, some[:1]])
    differences = np.concatenate(columns, axis=1)
    return differences @ np.linalg.pinv(differences.T @ shared @ differences, hermitian=True) @ differences.T


def _project(problem: Problem, corrections: FloatArray, v: FloatArray) -> FloatArray:
    """The nearest vector with equal sums."""
    row, col, n1 = problem.layout.row, problem.layout.col, problem.shape[0]
    sums = np.concatenate([np.bincount(row, v, n1), np.bincount(col, v, problem.shape[1])])
    taken = corrections @ sums
    nearest: FloatArray = v - taken[:n1][row] - taken[n1:][col]
    return nearest
