"""Slow, obvious versions of what the solver does fast."""

from collections.abc import Iterator
from itertools import permutations, product

import numpy as np
from scipy.optimize import minimize

from adgm.problem import ANY, AT_MOST_ONE, EXACTLY_ONE, Dense, Formula, Problem, Sparse


def tensors(problem: Problem) -> dict[int, np.ndarray]:
    """Every potential written out in full, summed by order, over all n1 · n2 variables."""
    n1, n2 = problem.shape
    n = n1 * n2
    result: dict[int, np.ndarray] = {}
    for p in problem.potentials:
        if isinstance(p, Dense):
            full = p.costs.reshape(n) if p.costs.shape == problem.shape else p.costs
        elif isinstance(p, Sparse):
            full = np.zeros((n,) * p.indices.shape[1])
            for row, cost in zip(p.indices, p.costs, strict=True):
                for ordering in permutations(row) if p.symmetric else [tuple(row)]:
                    full[ordering] += cost
        else:
            assert isinstance(p, Formula)
            full = np.zeros((n, n))
            for i1, i2, j1, j2 in product(range(n1), range(n2), range(n1), range(n2)):
                if i1 != j1 and i2 != j2 and lives(p, {i1, j1}, {i2, j2}):
                    full[i1 * n2 + i2, j1 * n2 + j2] = p.cost(p.left[i1, j1], p.right[i2, j2])
        result[full.ndim] = result.get(full.ndim, 0) + full
    return result


def lives(p: Formula, left: set[int], right: set[int]) -> bool:
    """Whether a formula counts between these two pairs of nodes."""
    given = [(p.left_edges, left), (p.right_edges, right)]
    found = [any(nodes == set(edge) for edge in edges.tolist()) for edges, nodes in given if edges is not None]
    return not found or (all(found) if p.where == "both" else any(found))


def contraction(problem: Problem, blocks: list[np.ndarray], slot: int) -> np.ndarray:
    """Σ over orders above `slot` of F ⊗ (every block but number `slot`), by einsum."""
    total = np.zeros(problem.shape[0] * problem.shape[1])
    for order, full in tensors(problem).items():
        if slot < order:
            letters = "abcdefgh"[:order]
            others = [d for d in range(order) if d != slot]
            text = ",".join([letters, *(letters[d] for d in others)]) + "->" + letters[slot]
            total += np.einsum(text, full, *(blocks[d] for d in others))
    return total


def energy(problem: Problem, x: np.ndarray) -> float:
    """F¹(x) + F²(x, x) + … for a vector over all n1 · n2 variables."""
    total = 0.0
    for full in tensors(problem).values():
        for _ in range(full.ndim):
            full = full @ x
        total += float(full)
    return total


def allowed(problem: Problem, matrix: np.ndarray) -> bool:
    """Whether a 0/1 matrix obeys the constraints of both sides and the mask."""
    mask = np.ones(problem.shape, bool) if problem.candidates is None else problem.candidates
    rules = {AT_MOST_ONE: lambda s: s <= 1, EXACTLY_ONE: lambda s: s == 1, ANY: lambda s: s >= 0}
    return bool(
        not matrix[~mask].any()
        and rules[problem.rows](matrix.sum(axis=1)).all()
        and rules[problem.cols](matrix.sum(axis=0)).all()
    )


def matchings(problem: Problem) -> Iterator[tuple[float, np.ndarray]]:
    """Every 0/1 matrix that obeys the constraints, with its energy."""
    full = tensors(problem)
    n1, n2 = problem.shape
    one_row = [np.zeros(n2, int), *np.eye(n2, dtype=int)] if problem.rows != ANY else list(product((0, 1), repeat=n2))
    for rows in product(one_row, repeat=n1):
        matrix = np.array(rows)
        if allowed(problem, matrix):
            chosen = np.flatnonzero(matrix)
            yield sum(float(t[np.ix_(*[chosen] * t.ndim)].sum()) for t in full.values()), matrix.astype(bool)


def brute_force(problem: Problem) -> tuple[float, np.ndarray]:
    """The least energy over all 0/1 matrices that obey the constraints, and where it is reached."""
    return min(matchings(problem), key=lambda found: found[0])


def project_line(point: np.ndarray, constraint: str) -> np.ndarray:
    """The nearest point of the constraint's set, as a quadratic programme for SciPy."""
    sums = {EXACTLY_ONE: "eq", AT_MOST_ONE: "ineq"}
    rules = [] if constraint == ANY else [{"type": sums[constraint], "fun": lambda x: 1 - x.sum()}]
    start = np.full(point.size, 1 / point.size)
    found = minimize(
        lambda x: 0.5 * ((x - point) ** 2).sum(),
        start,
        jac=lambda x: x - point,
        bounds=[(0, 1)] * point.size,
        constraints=rules,
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return found.x


def augmented_lagrangian(problem: Problem, blocks: list[np.ndarray], duals: np.ndarray, parents: list[int], rho: float):
    """L_ρ(x, y) of the paper for costs divided by the largest one."""
    total = 0.0
    for order, full in tensors(problem).items():
        for d in range(order - 1, -1, -1):
            full = full @ blocks[d]
        total += float(full) / problem.scale
    for e, parent in enumerate(parents):
        gap = blocks[parent] - blocks[e + 1]
        total += float(duals[e] @ gap + 0.5 * rho * gap @ gap)
    return total


def project_lines(points: np.ndarray, constraint: str, axis: int) -> np.ndarray:
    """Rows (axis 1) or columns (axis 0) projected one by one, by sorting."""
    if axis == 0:
        return project_lines(points.T, constraint, 1).T
    result = np.empty_like(points)
    for r, v in enumerate(points):
        clipped = np.clip(v, 0, 1) if constraint == ANY else np.maximum(v, 0)
        if constraint == EXACTLY_ONE or (constraint == AT_MOST_ONE and clipped.sum() > 1):
            u = np.sort(v)[::-1]
            excess = (np.cumsum(u) - 1) / np.arange(1, v.size + 1)
            clipped = np.maximum(v - excess[np.flatnonzero(u > excess)[-1]], 0)
        result[r] = clipped
    return result


def tabu_search(
    problem: Problem, on: np.ndarray, tenure: list[int], tolerance: float
) -> Iterator[tuple[np.ndarray, float]]:
    """Where each step leads, and the lowest energy change so far. A step is the best of all changes, of
    equals the first, unless it is tabu and no better than anything before.

    A change at a pair of nodes: it leaves, if both may stay alone; or it joins, those who hold its nodes leave, and
    what these leave behind stays alone or pairs up.
    """
    exists = np.ones(problem.shape, bool) if problem.candidates is None else problem.candidates
    loose_row, loose_col = problem.rows != EXACTLY_ONE, problem.cols != EXACTLY_ONE
    now = {(int(i), int(j)) for i, j in np.argwhere(problem.matrix(on) > 0)}

    def cost(pairs: set[tuple[int, int]]) -> float:
        x = np.zeros(problem.shape)
        for pair in pairs:
            x[pair] = 1
        return problem.energy(x)

    before = lowest = cost(now)
    until = np.zeros(problem.shape, int)
    for step, length in enumerate(tenure):
        found = []
        for i, j in np.argwhere(exists).tolist():
            if (i, j) in now:
                if loose_row and loose_col:
                    found.append((now - {(i, j)}, until[i, j] <= step))
                continue
            gone = {pair for pair in now if pair[0] == i or pair[1] == j}
            left_row = next((a for a, b in gone if a != i), None)
            left_col = next((b for a, b in gone if b != j), None)
            joined = (now - gone) | {(i, j)}
            if (left_row is None or loose_row) and (left_col is None or loose_col):
                found.append((joined, until[i, j] <= step))
            if left_row is not None and left_col is not None and exists[left_row, left_col]:
                free = until[i, j] <= step or until[left_row, left_col] <= step
                found.append((joined | {(left_row, left_col)}, free))
        allowed = [(cost(after), after) for after, free in found if free or cost(after) < lowest - tolerance]
        if allowed:
            energy, after = min(allowed, key=lambda one: one[0])
            for pair in now - after:
                until[pair] = step + 1 + length
            now = after
            if energy < lowest - tolerance:
                lowest = energy
        x = np.zeros(problem.shape)
        for pair in now:
            x[pair] = 1
        yield problem.vector(x) > 0, lowest - before
