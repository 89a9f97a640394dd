"""Problems that several tests use."""

import io
from dataclasses import replace

import numpy as np

from adgm import Dense, Formula, Problem, Sparse

GENERAL = (".dd", ".dd.xz", ".npz")  # the problem files that take any problem of order 2


def distances(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def transposed(problem: Problem) -> Problem:
    """The same problem with the two graphs exchanged."""
    n1, n2 = problem.shape
    old = np.arange(n1 * n2).reshape(n1, n2).T.reshape(-1)

    def exchanged(kind: Dense | Sparse | Formula) -> Dense | Sparse | Formula:
        if isinstance(kind, Dense):
            tensor = kind.tensor(problem.shape)
            return Dense(tensor[np.ix_(*[old] * tensor.ndim)])
        if isinstance(kind, Sparse):
            i1, i2 = np.divmod(kind.indices, n2)
            return Sparse(i2 * n1 + i1, kind.costs, kind.symmetric)
        sides = {"left": kind.right, "right": kind.left}
        edges = {"left_edges": kind.right_edges, "right_edges": kind.left_edges}
        return replace(kind, **sides, **edges, cost=lambda a, b: kind.cost(b, a))

    mask = None if problem.candidates is None else np.ascontiguousarray(problem.candidates.T)
    potentials = [exchanged(kind) for kind in problem.potentials]
    return Problem((n2, n1), potentials, problem.cols, problem.rows, mask, problem.memory)


def squared_difference(a, b):
    return (a[..., 0] - b[..., 0]) ** 2


def random_sparse(rng, n: int, order: int, rows: int, symmetric: bool) -> Sparse:
    index = np.array([rng.choice(n, size=order, replace=not symmetric) for _ in range(rows)])
    return Sparse(index, rng.normal(size=rows), symmetric)


def mixed(shape=(3, 4), order=4, seed=0, **options) -> Problem:
    """Every kind of potential side by side, orders 1 to `order`."""
    rng = np.random.default_rng(seed)
    n = shape[0] * shape[1]
    left, right = rng.normal(size=(shape[0], shape[0], 2)), rng.normal(size=(shape[1], shape[1], 2))
    potentials = [Dense(rng.normal(size=shape)), Sparse(rng.integers(n, size=(5, 1)), rng.normal(size=5))]
    if order >= 2:
        potentials += [
            Dense(rng.normal(size=(n, n))),
            random_sparse(rng, n, 2, 30, False),
            random_sparse(rng, n, 2, 20, True),
            Formula(left, right, lambda a, b: np.cos(a[..., 0] - b[..., 1]) + a[..., 1] * b[..., 0], symmetric=False),
        ]
    for d in range(3, order + 1):
        potentials += [random_sparse(rng, n, d, 40, False), random_sparse(rng, n, d, 25, True)]
    if order >= 3:
        potentials.append(Dense(rng.normal(size=(n, n, n)) * (rng.random((n, n, n)) < 0.2)))
    return Problem(shape, potentials, **options)


def planted(shape=(6, 8), order=2, seed=0, **options) -> tuple[Problem, np.ndarray]:
    """Points and a noisy, shuffled copy with outliers; the matching that was planted is the best one."""
    rng = np.random.default_rng(seed)
    n1, n2 = shape
    small, large = min(shape), max(shape)
    points = rng.uniform(0, 100, (large, 2))
    shuffle = rng.permutation(large)
    few, many = points[:small], (points + rng.normal(0, 0.1, points.shape))[shuffle]
    truth = np.argsort(shuffle)[:small]
    left, right = (few, many) if n1 <= n2 else (many, few)
    pairs = np.arange(n1 * n2).reshape(n1, n2)
    if order == 1:
        costs = np.linalg.norm(left[:, None] - right[None], axis=2) - 5.0
        potentials = [Dense(costs)]
    elif order == 2:
        potentials = [Formula(distances(left), distances(right), lambda a, b: -np.exp(-squared_difference(a, b)))]
    else:  # a hyperedge for every `order` nodes and their true partners, and as many random ones
        if n1 > n2:
            truth_pairs = [pairs[truth[k], k] for k in range(small)]
        else:
            truth_pairs = [pairs[k, truth[k]] for k in range(small)]
        rows = [rng.choice(truth_pairs, order, replace=False) for _ in range(60)]
        noise = [rng.choice(n1 * n2, order, replace=False) for _ in range(60)]
        costs = np.r_[-np.ones(60), -0.3 * np.ones(60)]
        potentials = [Sparse(np.array(rows + noise), costs, symmetric=True)]
    matching = np.full(n1, -1)
    if n1 <= n2:
        matching[:] = truth
    else:
        matching[truth] = np.arange(small)
    return Problem(shape, potentials, **options), matching


def npz(**arrays: object) -> bytes:
    out = io.BytesIO()
    np.savez(out, **{name: np.asarray(value) for name, value in arrays.items()})
    return out.getvalue()


def grid_distances(height: int, width: int) -> np.ndarray:
    """The distances of the nug family: Manhattan on a grid."""
    places = np.array([(i, j) for i in range(height) for j in range(width)], float)
    return np.abs(places[:, None] - places[None]).sum(axis=2)
