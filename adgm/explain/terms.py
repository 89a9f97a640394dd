"""Where the energy of a matching comes from: every unary, pairwise and higher term that is paid."""

from collections import defaultdict
from dataclasses import dataclass
from math import factorial, fsum

import numpy as np
from numpy.typing import ArrayLike

from adgm.layout import Layout
from adgm.problem import Problem

Match = tuple[int, int]
Matches = tuple[Match, ...]


@dataclass(frozen=True)
class Term:
    """What a set of matches costs together, over all orderings. A match is a pair (i1, i2)."""

    matches: Matches
    cost: float


def paid_by_potential(problem: Problem, assignment: ArrayLike) -> list[dict[Matches, float]]:
    """For each potential, what it asks of each set of matches among these, over all orderings; summed without error."""
    chosen = Layout(problem.shape, problem.layout.variables[np.flatnonzero(problem.vector(assignment) > 0.5)])
    n2 = problem.shape[1]
    found = []
    for p in problem.potentials:
        index, costs, symmetric = p.entries(chosen)
        index = chosen.variables[index]
        if symmetric:
            costs = costs * factorial(index.shape[1])
        paid: defaultdict[tuple[int, ...], list[float]] = defaultdict(list)
        for row, cost in zip(np.sort(index, axis=1).tolist(), costs.tolist(), strict=True):
            paid[tuple(dict.fromkeys(row))].append(cost)
        found.append({tuple(divmod(v, n2) for v in key): fsum(parts) for key, parts in sorted(paid.items())})
    return found


def paid_terms(problem: Problem, assignment: ArrayLike) -> list[Term]:
    """The terms that a hard assignment pays; their costs add up to its energy."""
    total: defaultdict[Matches, float] = defaultdict(float)
    for paid in paid_by_potential(problem, assignment):
        for matches, cost in paid.items():
            total[matches] += cost
    return [Term(matches, cost) for matches, cost in sorted(total.items())]


def shares(terms: list[Term]) -> dict[Match, float]:
    """Each match's part of the energy: a term is divided equally among its matches, so the shares add up to it."""
    part: defaultdict[Match, float] = defaultdict(float)
    for term in terms:
        for match in term.matches:
            part[match] += term.cost / len(term.matches)
    return dict(part)
