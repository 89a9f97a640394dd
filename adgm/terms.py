"""Where the energy of a matching comes from: every unary, pairwise and higher term that is paid."""

from collections import defaultdict
from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import ArrayLike

from adgm.layout import Layout
from adgm.problem import Problem


@dataclass(frozen=True)
class Term:
    """What a set of matches costs together, over all orderings. A match is a pair (i1, i2)."""

    matches: tuple[tuple[int, int], ...]
    cost: float


def paid_terms(problem: Problem, assignment: ArrayLike) -> list[Term]:
    """The terms that a hard assignment pays; their costs add up to its energy."""
    chosen = Layout(problem.shape, problem.layout.variables[np.flatnonzero(problem.vector(assignment) > 0.5)])
    total: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for p in problem.potentials:
        index, costs, symmetric = p.entries(chosen)
        index = chosen.variables[index]
        if symmetric:
            costs = costs * factorial(index.shape[1])
        for row, cost in zip(np.sort(index, axis=1).tolist(), costs.tolist(), strict=True):
            total[tuple(dict.fromkeys(row))] += cost
    n2 = problem.shape[1]
    return [Term(tuple(divmod(v, n2) for v in key), cost) for key, cost in sorted(total.items())]


def shares(terms: list[Term]) -> dict[tuple[int, int], float]:
    """Each match's part of the energy: a term is divided equally among its matches, so the shares add up to it."""
    part: defaultdict[tuple[int, int], float] = defaultdict(float)
    for term in terms:
        for match in term.matches:
            part[match] += term.cost / len(term.matches)
    return dict(part)
