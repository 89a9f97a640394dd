"""Which pairs of variables a potential on edges ties together."""

from typing import NamedTuple

import numpy as np

from adgm._kernels.types import IndexArray, LongArray, compiled

EITHER, BOTH, LEFT, RIGHT = 0, 1, 2, 3  # which of the two graphs must have the edge


class Neighbours(NamedTuple):
    """A graph: the neighbours of node i are node[start[i] … start[i + 1]]."""

    start: LongArray
    node: IndexArray


@compiled
def partners(j, row, col, rows, cols, left, right, rule, marked, found):
    """The variables that j = (j1, j2) is tied to, written to `found`; returns how many. `marked`: scratch, per node."""
    j1, j2 = row[j], col[j]
    graph, node = (right, j2) if rule == BOTH else (left, j1)
    if rule in (BOTH, EITHER):
        for k in range(graph.start[node], graph.start[node + 1]):
            marked[graph.node[k]] = j
    count = 0
    if rule != RIGHT:
        for k in range(left.start[j1], left.start[j1 + 1]):
            i1 = left.node[k]
            for e in range(rows.start[i1], rows.start[i1 + 1]):
                i = rows.member[e]
                if col[i] != j2 and (rule != BOTH or marked[col[i]] == j):
                    found[count] = i
                    count += 1
    if rule in (RIGHT, EITHER):
        for k in range(right.start[j2], right.start[j2 + 1]):
            i2 = right.node[k]
            for e in range(cols.start[i2], cols.start[i2 + 1]):
                i = cols.member[e]
                if row[i] != j1 and (rule == RIGHT or marked[row[i]] != j):
                    found[count] = i
                    count += 1
    return count


@compiled
def count_partners(row, col, rows, cols, left, right, rule):
    """Where each variable's partners begin in a list of all, and where the last one's end."""
    n = row.size
    start = np.zeros(n + 1, np.int64)
    marked = np.full(max(rows.start.size, cols.start.size), -1)
    found = np.empty(n, np.uint32)
    for j in range(n):
        start[j + 1] = start[j] + partners(j, row, col, rows, cols, left, right, rule, marked, found)
    return start


@compiled
def list_partners(row, col, rows, cols, left, right, rule, start):
    """The partners of all variables, each one's in ascending order: j comes to its partners' lists in that order."""
    n = row.size
    target = np.empty(start[n], np.uint32)
    at = start[:-1].copy()
    marked = np.full(max(rows.start.size, cols.start.size), -1)
    found = np.empty(n, np.uint32)
    for j in range(n):
        for k in range(partners(j, row, col, rows, cols, left, right, rule, marked, found)):
            i = found[k]
            target[at[i]] = j
            at[i] += 1
    return target


@compiled
def mirror(start, target, value):
    """Give every link the value of its counterpart from the later to the earlier variable."""
    n = start.size - 1
    at = np.empty(n, np.int64)  # where the next later partner of each variable stands
    for j in range(n):
        e = start[j]
        while e < start[j + 1] and target[e] < j:
            i = target[e]
            value[at[i]] = value[e]
            at[i] += 1
            e += 1
        at[j] = e
