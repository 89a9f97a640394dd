"""Dual ascent over the pairs of rows that share costs: messages along them, and one assignment for all rows.

The problem is that of `dual_ascent`: every row takes one of its labels, a column serves at most one row, column `width`
any number. Tie t joins the rows left[t] and right[t]; its table, one line for every label of the left row, begins at
start[t] of `cost`. A choice of labels costs

    base + Σ_p c_p + Σ_p w_p + Σ_t T_pq

over the chosen p and the chosen p, q at both ends of the ties; w is what the columns hold, each of which has at most
one label chosen. The functions move costs between c, w and T and leave what a choice costs as it is. An infinite cost
rules a label or two of them together out.
"""

from typing import NamedTuple

import numpy as np

from adgm._kernels.types import LongArray, compiled


class Ties(NamedTuple):
    """Which rows share costs; those of row i are around[first[i] … first[i + 1]]. The labels of column j are
    member[column[j] … column[j + 1]]; the label "unmatched" belongs to no column here."""

    left: LongArray
    right: LongArray
    start: LongArray
    first: LongArray
    around: LongArray
    column: LongArray
    member: LongArray


@compiled
def pull(labels, ties, cost, t, i, share, single):
    """Row i takes this share of what each of its labels costs at least along tie t."""
    ours, width = labels.start[i], labels.start[i + 1] - labels.start[i]
    on_left = ties.left[t] == i
    j = ties.right[t] if on_left else ties.left[t]
    others, begin = labels.start[j + 1] - labels.start[j], ties.start[t]
    for a in range(width):
        if single[ours + a] == np.inf:
            continue
        at, step = (begin + a * others, 1) if on_left else (begin + a, width)
        least = np.inf
        for b in range(others):
            least = min(least, cost[at + b * step])
        if least == np.inf:
            single[ours + a] = np.inf
        elif least != 0.0:
            least *= share
            single[ours + a] += least
            for b in range(others):
                cost[at + b * step] -= least


@compiled
def push(labels, ties, cost, t, i, share, single):
    """Row i gives this share of its labels' costs to tie t; who keeps the books takes it off `single`."""
    ours, width = labels.start[i], labels.start[i + 1] - labels.start[i]
    on_left = ties.left[t] == i
    j = ties.right[t] if on_left else ties.left[t]
    others, begin = labels.start[j + 1] - labels.start[j], ties.start[t]
    for a in range(width):
        at, step = (begin + a * others, 1) if on_left else (begin + a, width)
        given = share * single[ours + a]
        if given != 0.0:
            for b in range(others):
                cost[at + b * step] += given


@compiled
def claim_back(labels, ties, held, i, single):
    """Row i takes what choosing each of its labels costs more in its column than not choosing it."""
    for p in range(labels.start[i], labels.start[i + 1]):
        j = labels.col[p]
        if j == labels.width or single[p] == np.inf:
            continue
        least = 0.0
        for k in range(ties.column[j], ties.column[j + 1]):
            q = ties.member[k]
            if q != p and single[q] < np.inf:
                least = min(least, held[q])
        single[p] += held[p] - least
        held[p] = least


@compiled
def pass_on(labels, ties, cost, held, single, order, rank):
    """The rows in turn: each collects along all its ties and from its columns, and gives on, in equal shares, to the
    ties with rows of higher rank and to the columns.

    Returns what every choice pays in any case, moved out of the rows, and the largest cost met; sequential message
    passing as V. Kolmogorov has it (A new look at reweighted message passing, PAMI 2015).
    """
    moved, largest = 0.0, 0.0
    for i in order:
        ahead = behind = 1  # the columns
        claim_back(labels, ties, held, i, single)
        for k in range(ties.first[i], ties.first[i + 1]):
            t = ties.around[k]
            pull(labels, ties, cost, t, i, 1.0, single)
            j = ties.right[t] if ties.left[t] == i else ties.left[t]
            if rank[j] > rank[i]:
                ahead += 1
            else:
                behind += 1
        low, high = labels.start[i], labels.start[i + 1]
        least = np.inf
        for p in range(low, high):
            least = min(least, single[p])
            if single[p] < np.inf:
                largest = max(largest, abs(single[p]))
        if least == np.inf:
            return np.inf, largest
        moved += least
        for p in range(low, high):
            single[p] -= least
        share = 1.0 / max(ahead, behind)
        for k in range(ties.first[i], ties.first[i + 1]):
            t = ties.around[k]
            j = ties.right[t] if ties.left[t] == i else ties.left[t]
            if rank[j] > rank[i]:
                push(labels, ties, cost, t, i, share, single)
        for p in range(low, high):
            if single[p] < np.inf:
                if labels.col[p] < labels.width:
                    held[p] += share * single[p]
                    single[p] = max(single[p] - ahead * share * single[p], 0.0)
                else:
                    single[p] -= (ahead - 1) * share * single[p]
    return moved, largest


@compiled
def gather(labels, ties, cost, single, turn):
    """All that the ties hold goes to the rows at their ends, half of it to either; returns the largest cost left."""
    largest = 0.0
    for t in range(ties.left.size):
        one, other = ties.left[t], ties.right[t]
        size = (labels.start[one + 1] - labels.start[one]) * (labels.start[other + 1] - labels.start[other])
        if turn:
            one, other = other, one
        pull(labels, ties, cost, t, one, 0.5, single)
        pull(labels, ties, cost, t, other, 1.0, single)
        pull(labels, ties, cost, t, one, 1.0, single)
        for at in range(ties.start[t], ties.start[t] + size):
            if cost[at] < np.inf:
                largest = max(largest, abs(cost[at]))
    return largest


@compiled
def shift(labels, ties, cost, t, p, step, single):
    """Label p costs `step` more by itself and less along tie t."""
    i = labels.row[p]
    width, a = labels.start[i + 1] - labels.start[i], p - labels.start[i]
    on_left = ties.left[t] == i
    j = ties.right[t] if on_left else ties.left[t]
    others, begin = labels.start[j + 1] - labels.start[j], ties.start[t]
    at, by = (begin + a * others, 1) if on_left else (begin + a, width)
    single[p] += step
    for b in range(others):
        cost[at + b * by] -= step


@compiled
def disagree(labels, ties, cost, choice, step, single):
    """At how many ends ties have their cheapest labels elsewhere than the rows' choice. There the chosen label takes
    `step` from the tie and the tie's own gives it back: a step along a subgradient of the bound."""
    ends = 0
    for t in range(ties.left.size):
        i, j = ties.left[t], ties.right[t]
        width, begin = labels.start[j + 1] - labels.start[j], ties.start[t]
        size = (labels.start[i + 1] - labels.start[i]) * width
        at = begin
        for k in range(begin, begin + size):
            if cost[k] < cost[at]:
                at = k
        if cost[begin + (choice[i] - labels.start[i]) * width + choice[j] - labels.start[j]] <= cost[at]:
            continue
        p, q = labels.start[i] + (at - begin) // width, labels.start[j] + (at - begin) % width
        for wanted, chosen in ((p, choice[i]), (q, choice[j])):
            if wanted != chosen:
                ends += 1
                if step > 0.0:
                    shift(labels, ties, cost, t, chosen, step, single)
                    shift(labels, ties, cost, t, wanted, -step, single)
    return ends


@compiled
def strike(labels, ties, cost, p):
    """Label p is never chosen: no tie offers it any more."""
    i = labels.row[p]
    width, a = labels.start[i + 1] - labels.start[i], p - labels.start[i]
    for k in range(ties.first[i], ties.first[i + 1]):
        t = ties.around[k]
        on_left = ties.left[t] == i
        j = ties.right[t] if on_left else ties.left[t]
        others, begin = labels.start[j + 1] - labels.start[j], ties.start[t]
        at, step = (begin + a * others, 1) if on_left else (begin + a, width)
        for b in range(others):
            cost[at + b * step] = np.inf
