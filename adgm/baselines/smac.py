"""Spectral Matching with Affine Constraints: T. Cour, P. Srinivasan and J. Shi, Balanced graph matching, NIPS 2006."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, qr

from adgm._kernels import FloatArray
from adgm.affinity import Affinity
from adgm.baselines.flow import Flow, Move, Point
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
        v = _project(_violations(problem), np.ones(problem.n))
        return v / np.linalg.norm(v)

    def move(self, problem: Problem, s: Affinity, at: Point) -> Move:
        v, (unary, pairs) = at.v, at.parts
        basis, before_pairs = at.memory or (_violations(problem), pairs)
        image = _project(basis, unary * v + pairs)
        gradient = image - (v @ image) * v
        if np.linalg.norm(gradient) <= 1e-12 * np.linalg.norm(image):
            return Move(v, at.parts, stay=True)
        gradient /= np.linalg.norm(gradient)
        plane = np.stack([v, gradient, at.before], axis=1)
        plane_pairs = np.stack([pairs, s.tensor(2, [gradient]), before_pairs], axis=1)
        axes, mix = qr(plane, mode="economic")
        used = np.abs(np.diag(mix)) > 1e-6  # at first and at last the vector before is v itself
        axes, mix = axes[:, used], mix[np.ix_(used, used)]
        images = unary[:, None] * axes + np.linalg.solve(mix.T, plane_pairs[:, used].T).T
        quotient = axes.T @ images
        new = _project(basis, axes @ eigh(quotient + quotient.T)[1][:, -1])
        return Move(new / np.copysign(np.linalg.norm(new), new.sum()), memory=(basis, pairs))


def _violations(problem: Problem) -> FloatArray:
    """An orthonormal basis of what the constraints forbid: differences between the sums of two nodes of a graph."""
    layout, columns = problem.layout, []
    for of, count in ((layout.row, problem.shape[0]), (layout.col, problem.shape[1])):
        member = (of[:, None] == np.arange(count)).astype(np.float64)
        columns.append(member[:, 1:] - member[:, :1])
    differences = np.concatenate(columns, axis=1)
    sizes, turned = eigh(differences.T @ differences)
    used = sizes > 1e-9 * max(1.0, float(sizes[-1]))
    return np.ascontiguousarray(differences @ (turned[:, used] / np.sqrt(sizes[used])))


def _project(basis: FloatArray, v: FloatArray) -> FloatArray:
    return v - basis @ (basis.T @ v)
