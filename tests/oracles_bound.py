"""Slow, obvious versions: every matching of a small problem, its energy summed term by term, the best of them."""

from collections.abc import Iterator
from itertools import permutations, product

import numpy as np

from adgm import AT_MOST_ONE, EXACTLY_ONE, Dense, Formula, Problem, Sparse

Pairs = list[tuple[int, int]]


def matchings(problem: Problem) -> Iterator[Pairs]:
    """Every list of pairs (i1, i2) that the constraints and the candidates allow."""
    n1, n2 = problem.shape
    allowed = np.ones((n1, n2), bool) if problem.candidates is None else problem.candidates

    def extend(i1: int, taken: Pairs) -> Iterator[Pairs]:
        if i1 == n1:
            served = {i2 for _, i2 in taken}
            if problem.cols == AT_MOST_ONE or len(served) == n2:
                yield taken
            return
        if problem.rows != EXACTLY_ONE:
            yield from extend(i1 + 1, taken)
        for i2 in range(n2):
            if allowed[i1, i2] and all(i2 != other for _, other in taken):
                yield from extend(i1 + 1, [*taken, (i1, i2)])

    yield from extend(0, [])


def energy(problem: Problem, pairs: Pairs) -> float:
    """The sum of all potentials over the chosen pairs, for orders 1 and 2."""
    n2 = problem.shape[1]
    chosen = [i1 * n2 + i2 for i1, i2 in pairs]
    total = 0.0
    for potential in problem.potentials:
        if isinstance(potential, Dense):
            tensor = potential.tensor(problem.shape)
            total += sum(tensor[t] for t in product(chosen, repeat=tensor.ndim))
        elif isinstance(potential, Sparse):
            for index, cost in zip(potential.indices.tolist(), potential.costs, strict=True):
                orderings = list(permutations(index)) if potential.symmetric else [tuple(index)]
                total += cost * sum(all(v in chosen for v in ordering) for ordering in orderings)
        elif isinstance(potential, Formula):
            for (i1, i2), (j1, j2) in product(pairs, repeat=2):
                if i1 != j1 and i2 != j2:
                    total += float(potential.cost(potential.left[i1, j1], potential.right[i2, j2]))
    return total


def optimum(problem: Problem) -> float:
    return min(energy(problem, pairs) for pairs in matchings(problem))


def gilmore_lawler(problem: Problem, single: np.ndarray, pair: np.ndarray) -> float:
    """The classical bound for square problems: one assignment per pair, then one over all (SciPy's)."""
    from scipy.optimize import linear_sum_assignment

    n = problem.shape[0]
    half = 0.5 * pair.reshape(n, n, n, n)
    costs = single.reshape(n, n).copy()
    for i1, i2 in product(range(n), repeat=2):
        rest = np.delete(np.delete(half[i1, i2], i1, axis=0), i2, axis=1)
        costs[i1, i2] += rest[linear_sum_assignment(rest)].sum()
    return float(costs[linear_sum_assignment(costs)].sum())
