"""Spectral Matching with Affine Constraints: T. Cour, P. Srinivasan and J. Shi, Balanced graph matching, NIPS 2006."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from adgm._kernels import FloatArray
from adgm.costs.affinity import Affinity
from adgm.machine.computing import helped
from adgm.machine.deadline import check_time
from adgm.options import option
from adgm.problem import Problem
from adgm.rivals.fixed_point import Flow, Move, Point, assign, balanced, rounded
from adgm.rounding import Assignment

SWEEPS = 10  # of the scaling that balances the affinities
COLD, COOLING = 200.0, 1.075  # graduated assignment ends at this inverse temperature, which grows by this factor
FEW_NODES = 256  # of both graphs together: up to here a pseudoinverse takes a few milliseconds, and grows as n³
SINGULAR = 1e-12  # added to the diagonal of a singular system; it moves λ along directions that no entry feels
SETTLED, EVEN = 1e-2, 1e-3  # ‖change of x‖² that ends a temperature; how near to 1 Sinkhorn's sums are


@dataclass(frozen=True)
class SMAC(Flow):
    """The leading eigenvector of the affinities among the vectors that meet the matching constraints up to a factor:
    equal sums for all nodes of graph 1, equal sums for all nodes of graph 2.

    An iteration maximises the Rayleigh quotient over the span of v, its gradient and the vector before (the
    locally optimal gradient method), since the projected matrix may have large negative eigenvalues.

    balanced: the affinities are normalised before (the paper's second half). graduated: the eigenvector is made
    orthonormal and starts a graduated assignment; what that rounds to is improved node by node, by the affinities that
    the eigenvector is of. Both are the authors' program, whose results are the published ones: Figure 2 of the ADGM
    paper (315.0426, 12 of 20) comes out to the digit if the affinities of pairs that cannot be matched together, which
    no matching pays, are kept. Here they are 0, as for every method: 328.4611. Without either it is 283.44.
    """

    tol: float = 1e-5
    balanced: bool = option(True, "Balanced affinities", "All pairs of nodes of a graph get as much to say.")
    graduated: bool = option(
        True, "Graduated assignment", "The eigenvector starts it, and its outcome is improved node by node."
    )

    def begin(self, problem: Problem, s: Affinity) -> FloatArray:
        v = _project(problem, _corrections(problem), np.ones(problem.n))
        length = np.linalg.norm(v)
        if length < 1e-9:  # the candidates allow no equal sums but 0
            return super().begin(problem, s)
        return v / length

    def move(self, problem: Problem, s: Affinity, at: Point) -> Move:
        v = at.v
        if not at.memory:
            even = s.balanced(SWEEPS) if self.balanced else s
            first = even.tensor(2, [v])
            at = at._replace(memory=(even, _corrections(problem), first, first))
        even, corrections, pairs, before_pairs = at.memory
        image = _project(problem, corrections, even.unary * v + pairs)
        gradient = image - (v @ image) * v
        if np.linalg.norm(gradient) <= 1e-12 * np.linalg.norm(image):
            return Move(v, at.parts, memory=at.memory, stay=True)
        gradient /= np.linalg.norm(gradient)
        plane = np.stack([v, gradient, at.before], axis=1)
        plane_pairs = np.stack([pairs, even.tensor(2, [gradient]), before_pairs], axis=1)
        with helped():
            axes, mix = np.linalg.qr(plane)
        used = np.abs(np.diag(mix)) > 1e-6  # at first and at last the vector before is v itself
        axes, mix = axes[:, used], mix[np.ix_(used, used)]
        axes_pairs = np.linalg.solve(mix.T, plane_pairs[:, used].T).T
        quotient = axes.T @ (even.unary[:, None] * axes + axes_pairs)
        new = _project(problem, corrections, axes @ np.linalg.eigh(quotient + quotient.T)[1][:, -1])
        new /= np.copysign(np.linalg.norm(new), new.sum())
        return Move(new, memory=(even, corrections, even.tensor(2, [new]), pairs))

    def matched(self, problem: Problem, s: Affinity, at: Point) -> tuple[Assignment, float]:
        if not self.graduated:
            return super().matched(problem, s, at)
        even: Affinity = at.memory[0]
        x = graduated_assignment(problem, even, orthonormal(problem, at.v))
        found = climbed(problem, even, assign(problem, x))
        return rounded(problem, s, found.astype(np.float64), self.rounding)


def orthonormal(problem: Problem, v: FloatArray) -> FloatArray:
    """v of the nearest matrix with orthonormal rows (or columns). That of large graphs is found for one connected
    component of nodes after another: a singular value decomposition takes n³, and looks at no clock."""
    if sum(problem.shape) <= FEW_NODES:
        return problem.vector(_nearest(problem.matrix(v)))
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    row, col, (n1, n2) = problem.layout.row, problem.layout.col, problem.shape
    nodes = csr_array((np.ones(problem.n), (row, n1 + col)), shape=(n1 + n2, n1 + n2))
    part = connected_components(nodes, directed=False)[1][row]
    order = np.argsort(part, kind="stable")
    found = np.empty(problem.n)
    for at in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
        check_time()
        (lefts, i), (rights, j) = (np.unique(side[at], return_inverse=True) for side in (row, col))
        block = np.zeros((len(lefts), len(rights)))
        block[i, j] = v[at]
        found[at] = _nearest(block)[i, j]
    return found


def _nearest(matrix: FloatArray) -> FloatArray:
    with helped():
        left, _, right = np.linalg.svd(matrix, full_matrices=False)
        nearest: FloatArray = left @ right
    return nearest


def graduated_assignment(problem: Problem, s: Affinity, x: FloatArray) -> FloatArray:
    """Soft assignments by s, ever sharper: S. Gold and A. Rangarajan, A graduated assignment algorithm for graph
    matching, PAMI 1996."""
    few, count = problem.layout.row, problem.shape[0]
    if problem.shape[0] > problem.shape[1]:
        few, count = problem.layout.col, problem.shape[1]
    total = float(s.unary.sum() + s.tensor(2, [np.ones(problem.n)]).sum())
    if not total > 0.0:
        return x
    sharpness = float(max(problem.shape))
    while sharpness < max(COLD, COOLING * max(problem.shape)):
        before = older = x
        for _ in range(1000):
            check_time()
            gain = sharpness * problem.n / total * (s.unary * x + s.tensor(2, [x]))
            top = np.full(count, -np.inf)
            np.maximum.at(top, few, gain)
            x = balanced(problem, np.exp(gain - top[few]), 1000, EVEN)
            moved = min(float((x - y) @ (x - y)) for y in (before, older))
            before, older = x, before
            if moved < SETTLED:
                break
        sharpness *= COOLING
    return x


def climbed(problem: Problem, s: Affinity, found: Assignment) -> Assignment:
    """A matching improved by moving one node at a time to a partner that is free."""
    few, many = problem.layout.row, problem.layout.col
    sizes = problem.shape
    if sizes[0] > sizes[1]:
        few, many, sizes = many, few, sizes[::-1]
    before, score = found, -np.inf
    while True:
        check_time()
        x = found.astype(np.float64)
        pairs = s.tensor(2, [x])
        if (now := float((s.unary + pairs) @ x)) <= score:
            return before
        before, score, slope = found, now, s.unary + 2.0 * pairs
        held = np.zeros(sizes[0])
        held[few[found]] = slope[found]
        free = np.ones(sizes[1], bool)
        free[many[found]] = False
        gain = np.where(free[many], slope - held[few], -np.inf)
        best = int(np.argmax(gain))
        found = found & (few != few[best])
        found[best] = True


Corrections = Callable[[FloatArray], FloatArray]


def _corrections(problem: Problem) -> Corrections:
    """From the sums of all nodes' entries to what is to be taken from each entry of a node, so that all sums of a graph
    become equal. With M the membership of pairs in nodes and T the differences between nodes of a graph, the
    projection on the forbidden M T is M K Mᵀ with K = T (Tᵀ Mᵀ M T)⁺ Tᵀ."""
    if sum(problem.shape) > FEW_NODES:
        return _factored_corrections(problem)
    n1, n2 = problem.shape
    allowed = problem.matrix(np.ones(problem.n))
    shared = np.block([[np.diag(allowed.sum(axis=1)), allowed], [allowed.T, np.diag(allowed.sum(axis=0))]])
    identity, columns = np.eye(n1 + n2), []
    for nodes in (range(n1), range(n1, n1 + n2)):
        some = [node for node in nodes if shared[node, node] > 0]  # a node without candidates has nothing to sum
        columns.append(identity[:, some[1:]] - identity[:, some[:1]])
    differences = np.concatenate(columns, axis=1)
    with helped():
        matrix = differences @ np.linalg.pinv(differences.T @ shared @ differences, hermitian=True) @ differences.T
    return lambda sums: matrix @ sums


def _factored_corrections(problem: Problem) -> Corrections:
    """The same from a sparse factorisation: what is taken, λ, solves
    [Mᵀ M, C; Cᵀ, 0] (λ, common sums) = (sums, 0), where
    the two columns of C mark the nodes of a graph that have candidates."""
    from scipy.sparse import block_array, csc_array, diags_array
    from scipy.sparse.linalg import splu

    nodes, side = sum(problem.shape), np.repeat([0, 1], problem.shape)
    ends = np.concatenate([problem.layout.row, problem.shape[0] + problem.layout.col])
    pairs = np.tile(np.arange(problem.n), 2)
    membership = csc_array((np.ones(len(ends)), (pairs, ends)), shape=(problem.n, nodes))
    some = np.bincount(ends, minlength=nodes) > 0
    marked = csc_array((some.astype(float), (np.arange(nodes), side)), shape=(nodes, 2))
    shared = membership.T @ membership + diags_array(np.full(nodes, SINGULAR))
    check_time()
    solve = splu(csc_array(block_array([[shared, marked], [marked.T, None]]))).solve
    return lambda sums: np.asarray(solve(np.append(sums, [0.0, 0.0]))[:nodes])


def _project(problem: Problem, corrections: Corrections, v: FloatArray) -> FloatArray:
    """The nearest vector with equal sums."""
    row, col, n1 = problem.layout.row, problem.layout.col, problem.shape[0]
    taken = corrections(np.concatenate([np.bincount(row, v, n1), np.bincount(col, v, problem.shape[1])]))
    nearest: FloatArray = v - taken[:n1][row] - taken[n1:][col]
    return nearest
