"""Where the energy of a matching comes from: every unary, pairwise and higher term that is paid."""

from collections import defaultdict
from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import ArrayLike

from adgm._kernels import FloatArray, LongArray
from adgm.problem import Dense, Formula, Problem, Sparse


@dataclass(frozen=True)
class Term:
    """What a set of matches costs together, over all orderings. A match is a pair (i1, i2)."""

    matches: tuple[tuple[int, int], ...]
    cost: float


def paid_terms(problem: Problem, assignment: ArrayLike) -> list[Term]:
    """The terms that a hard assignment pays; their costs add up to its energy."""
    chosen = problem.layout.variables[np.flatnonzero(problem.vector(assignment) > 0.5)]
    total: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for p in problem.potentials:
        if isinstance(p, Sparse):
            here = np.zeros(problem.shape[0] * problem.shape[1], bool)
            here[chosen] = True
            rows = here[p.indices].all(axis=1)
            orderings = factorial(p.indices.shape[1]) if p.symmetric else 1
            index, costs = p.indices[rows], p.costs[rows] * orderings
        else:
            part = p.tensor(problem.shape) if isinstance(p, Dense) else None
            block = _formula_block(p, problem, chosen) if isinstance(p, Formula) else None
            values = part[np.ix_(*[chosen] * part.ndim)] if part is not None else block
            assert values is not None
            where = np.argwhere(values)
            index, costs = chosen[where], values[tuple(where.T)]
        for row, cost in zip(np.sort(index, axis=1).tolist(), costs.tolist(), strict=True):
            total[tuple(dict.fromkeys(row))] += cost
    n2 = problem.shape[1]
    return [Term(tuple(divmod(v, n2) for v in key), cost) for key, cost in sorted(total.items())]


def _formula_block(formula: Formula, problem: Problem, chosen: LongArray) -> FloatArray:
    """The pairwise costs among the chosen variables."""
    i1, i2 = np.divmod(chosen, problem.shape[1])
    costs = formula.evaluate(formula.left[np.ix_(i1, i1)], formula.right[np.ix_(i2, i2)])
    shares_a_node = (i1[:, None] == i1) | (i2[:, None] == i2)
    return np.where(shares_a_node, 0.0, costs)


def shares(terms: list[Term]) -> dict[tuple[int, int], float]:
    """Each match's part of the energy: a term is divided equally among its matches, so the shares add up to it."""
    part: defaultdict[tuple[int, int], float] = defaultdict(float)
    for term in terms:
        for match in term.matches:
            part[match] += term.cost / len(term.matches)
    return dict(part)
