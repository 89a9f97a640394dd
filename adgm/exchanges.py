"""The way from one matching to another: exchanges (cycles and chains of moves), the cheapest first, and its energy.

Where two matchings differ, their pairs form cycles and chains: a left node that gets another partner displaces whoever
had that one, who displaces the next. Each of them can be exchanged on its own, and what is left still is a matching.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from adgm.problem import ANY, Problem
from adgm.rounding import Assignment
from adgm.terms import Match

SAME = 1e-9  # energies that differ by less than this share of the largest cost are equal but for rounding


def exchanges(problem: Problem, answer: ArrayLike, other: ArrayLike) -> list[Assignment]:
    """The pairs in which two matchings differ, in groups (over the variables) that can be exchanged one by one."""
    differ = (problem.vector(answer) > 0.5) != (problem.vector(other) > 0.5)
    pairs = np.flatnonzero(differ)
    if not len(pairs):
        return []
    ties = []
    for place, rule in ((problem.layout.row[pairs], problem.rows), (problem.layout.col[pairs], problem.cols)):
        if rule != ANY:  # a node that takes one partner ties all its pairs together
            order = np.argsort(place, kind="stable")
            same = place[order[1:]] == place[order[:-1]]
            ties.append(np.stack([order[:-1][same], order[1:][same]]))
    ends = np.concatenate(ties, axis=1) if ties else np.empty((2, 0), np.int64)
    graph = coo_array((np.ones(ends.shape[1]), tuple(ends)), shape=(len(pairs), len(pairs)))
    count, group = connected_components(graph, directed=False)
    found = []
    for k in range(count):
        members = np.zeros(problem.n, bool)
        members[pairs[group == k]] = True
        found.append(members)
    return found


def exchange_of(problem: Problem, answer: ArrayLike, other: ArrayLike, match: Match) -> Assignment:
    """The matching after the one exchange that this match of either has a part in; the answer itself if it has none."""
    before: Assignment = problem.vector(answer) > 0.5
    at = np.flatnonzero((problem.layout.row == match[0]) & (problem.layout.col == match[1]))
    for members in exchanges(problem, answer, other):
        if members[at].any():
            return before ^ members
    return before
