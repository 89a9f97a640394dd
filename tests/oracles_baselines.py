"""Slow, obvious versions of what the affinity methods compute."""

from itertools import combinations, permutations, product
from math import factorial

import numpy as np

from tests.oracles import tensors


def affinity_matrix(problem):
    """max(M) − M (or −M) on compatible pairs, unary on the diagonal: from energies of single and double pairs."""
    n = problem.n
    row, col = problem.layout.row, problem.layout.col
    single = np.array([problem.energy(np.eye(n)[i]) for i in range(n)])
    costs = np.zeros((n, n))
    apart = np.zeros((n, n), bool)
    for i, j in product(range(n), repeat=2):
        if row[i] != row[j] and col[i] != col[j]:
            both = np.zeros(n)
            both[[i, j]] = 1.0
            costs[i, j] = (problem.energy(both) - single[i] - single[j]) / 2
            apart[i, j] = True
    top = max(0.0, costs[apart].max()) if apart.any() else 0.0
    matrix = np.where(apart, top - costs, 0.0)
    matrix[np.arange(n), np.arange(n)] = max(0.0, single.max()) - single
    return matrix


def full_matchings(problem):
    """Every matching that leaves no node of the smaller graph out, as a vector."""
    n1, n2 = problem.shape
    allowed = problem.matrix(np.ones(problem.n)) > 0
    for choice in permutations(range(max(n1, n2)), min(n1, n2)):
        rows, cols = (np.arange(n1), np.array(choice)) if n1 <= n2 else (np.array(choice), np.arange(n2))
        if allowed[rows, cols].all():
            x = np.zeros(problem.shape)
            x[rows, cols] = 1.0
            yield problem.vector(x)


def sinkhorn(matrix, sweeps):
    """Rows, then columns to sum 1, with dummy rows (or columns) that make the matrix square."""
    n1, n2 = matrix.shape
    side = max(n1, n2)
    square = np.ones((side, side))
    square[:n1, :n2] = matrix
    for _ in range(sweeps):
        first, second = (1, 0) if n1 <= n2 else (0, 1)
        square /= square.sum(axis=first, keepdims=True)
        square /= square.sum(axis=second, keepdims=True)
    return square[:n1, :n2]


def max_pooled(matrix, x, shape, power=1):
    """Σ over the nodes of the smaller graph of the largest entry of matrix · diag(x) among that node's pairs."""
    support = ((matrix * x) ** power).reshape(len(x), *shape)
    return support.max(axis=2).sum(axis=1) if shape[0] <= shape[1] else support.max(axis=1).sum(axis=1)


def balanced(matrix, shape, sweeps):
    """The blocks of every two nodes of graph 1, then of graph 2, divided by their sums, again and again."""
    blocks = matrix.reshape(*shape, *shape).copy()
    for _ in range(sweeps):
        for side, (a, b) in product((0, 1), product(range(max(shape)), repeat=2)):
            if max(a, b) < shape[side]:
                block = blocks[a, :, b, :] if side == 0 else blocks[:, a, :, b]
                block /= block.sum() or 1.0
    return blocks.reshape(matrix.shape)


def constrained_eigenvector(matrix, shape):
    """The maximiser of x · matrix x / x · x over x with equal row sums and equal column sums, by a dense basis."""
    n1, n2 = shape
    constraints = []
    for i in range(1, n1):
        c = np.zeros(shape)
        c[0], c[i] = 1.0, -1.0
        constraints.append(c.ravel())
    for j in range(1, n2):
        c = np.zeros(shape)
        c[:, 0], c[:, j] = 1.0, -1.0
        constraints.append(c.ravel())
    _, sizes, right = np.linalg.svd(np.array(constraints))
    free = right[len(sizes) :].T
    v = free @ np.linalg.eigh(free.T @ matrix @ free)[1][:, -1]
    return v * np.sign(v.sum())


def score_gradient(problem, ceilings, x):
    """The gradient of Σ_d (ceiling_d − cost) over compatible tuples (all tuples for d > 2), tensor by tensor."""
    row, col = problem.layout.row, problem.layout.col
    total = np.zeros(problem.n)
    for order, full in tensors(problem).items():
        full = full[np.ix_(*[problem.layout.variables] * order)]
        full = sum(np.transpose(full, p) for p in permutations(range(order))) / factorial(order)
        kept = np.ones(full.shape, bool)
        for a, b in combinations(range(order), 2):
            clash = (row[:, None] == row) | (col[:, None] == col)
            clash &= ~np.eye(problem.n, dtype=bool)
            kept &= ~np.expand_dims(clash, [axis for axis in range(order) if axis not in (a, b)])
        everywhere = np.ones(full.shape) if order != 2 else kept & ~np.eye(problem.n, dtype=bool)
        value = ceilings[order] * everywhere - np.where(kept, full, 0.0)
        if order == 2:
            value = value * ~np.eye(problem.n, dtype=bool)
        for _ in range(order - 1):
            value = value @ x
        total += order * value
    return total
