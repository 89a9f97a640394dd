"""Matchings that grow from single hyperedges: where a price on every match leaves a local search with nothing.

From the empty matching no single match pays: of a triple, all three must come at once. So the search begins where they
have come, at the triples that save most together with the prices of their own matches.
"""

from collections.abc import Iterator
from math import factorial

import numpy as np
from numpy.typing import NDArray

from adgm._kernels import FloatArray, LongArray
from adgm.prices import lost, tempting
from adgm.problem import Problem
from adgm.rounding import Assignment
from adgm.search.local_search import WHOLE, improve

STARTS, MOST = 2, 100  # descents: per node of the smaller graph, and at most
LOOKED_AT = 10  # hyperedges for each start, of which some use a node twice


def or_from_hyperedges(problem: Problem, matching: Assignment, energy: float | None = None) -> Assignment:
    """The matching; or the best that grows from a hyperedge, where matches cost a price and that is better.

    Pairwise problems need it only where (nearly) nothing is left: two matches are found by a search that takes one.
    """
    if not tempting(problem) or (problem.order == 2 and not lost(problem, matching, energy)):
        return matching
    return min(matching, problem.derived(from_hyperedges).copy(), key=problem.energy)


def from_hyperedges(problem: Problem) -> Assignment:
    """The best matching to which `improve` leads from the strongest hyperedges; the empty one if none is better."""
    starts = min(STARTS * min(problem.shape), MOST)
    found = [improve(problem, matching)[0] for matching in strongest(problem, starts)]
    return min([np.zeros(problem.n, np.bool_), *found], key=problem.energy)


def strongest(problem: Problem, count: int) -> list[Assignment]:
    """Matchings of one hyperedge each, of order two or higher: those that cost least."""
    layout = problem.layout
    best: dict[tuple[int, ...], float] = {}
    for index, total in _cheapest(problem, LOOKED_AT * count):
        apart = _distinct(layout.row[index]) & _distinct(layout.col[index])
        for members, cost in zip(np.sort(index[apart], axis=1).tolist(), total[apart].tolist(), strict=True):
            best[tuple(members)] = min(cost, best.get(tuple(members), np.inf))
    chosen = sorted(best, key=lambda members: (best[members], members))[:count]
    matchings = np.zeros((len(chosen), problem.n), np.bool_)
    for matching, members in zip(matchings, chosen, strict=True):
        matching[list(members)] = True
    return list(matchings)


def _cheapest(problem: Problem, count: int) -> Iterator[tuple[LongArray, FloatArray]]:
    """Of every potential that is stored, so many hyperedges that cost least with the unary costs."""
    unary = problem.unary
    for index, costs, symmetric in problem.runtime.parts:
        total = costs * (factorial(index.shape[1]) if symmetric else 1)
        for members in index.T:
            total = total + unary[members]
        some = np.argpartition(total, count)[:count] if count < len(total) else np.arange(len(total))
        yield index[some], total[some]
    for columns in problem.runtime.columns[:1]:
        if len(columns.owner) < problem.n or 8 * problem.n**2 > WHOLE:
            continue
        columns.largest()  # which fills the store
        matrix = columns.table.data[columns.table.slot]
        total = (matrix + matrix.T + unary[:, None] + unary).reshape(-1)
        some = np.argpartition(total, 2 * count)[: 2 * count] if 2 * count < len(total) else np.arange(len(total))
        yield np.stack(np.divmod(some, problem.n), axis=1), total[some]


def _distinct(numbers: LongArray) -> NDArray[np.bool_]:
    """For each row of these numbers, whether they all differ."""
    return np.asarray((np.diff(np.sort(numbers, axis=1), axis=1) > 0).all(axis=1))
