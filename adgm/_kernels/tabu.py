"""Tabu search over matchings of pairwise problems: the best change each time, even one that costs."""

from typing import NamedTuple

import numpy as np

from adgm._kernels.local_search import NOBODY, shift
from adgm._kernels.types import SIMPLEX, FloatArray, LongArray, compiled, first_lowest, overwrite


class Links(NamedTuple):
    """What pairs of variables cost, both orders together: variable v with other[e] for e = start[v] … start[v + 1].

    Without any (`start` is empty) the costs are in the columns only: most pairs have one.
    """

    start: LongArray
    other: LongArray
    cost: FloatArray


class Memory(NamedTuple):
    """What a tabu search keeps between two calls, beside the matching where it is.

    Where there are `Links`, a step changes what few variables cost; all others keep the costs of their changes:
    `lowest` of all changes at a variable, `free` of those that are not tabu.
    """

    cost: FloatArray  # of a variable joining what is on
    until: LongArray  # the step from which a variable is free again
    best: np.ndarray  # the best matching so far
    lowest: FloatArray
    free: FloatArray
    waiting: np.ndarray  # whether a variable is in `queue`
    queue: LongArray  # variables to look at again
    head: LongArray  # per step, the place in `left` of one who is free again from then on, −1 for none
    left: LongArray  # per step, up to four who leave then
    before: LongArray  # the place in `left` of another one who is free from the same step on, −1 for none


class Progress(NamedTuple):
    """How far a tabu search is."""

    step: int = 0
    total: float = 0.0  # the energy change so far
    lowest: float = 0.0  # the least there was
    last: int = 0  # the step after that
    queued: int = 0  # variables in the queue


@compiled
def tabu_search(here, links, on, memory, progress, tenure, patience, tolerance, most):
    """Tabu search: at most `most` steps of it, and for each entry of `tenure` the best of all changes, even one that
    costs; what leaves may come back after that many further ones, or sooner in what is better than anything so far.
    It is over when all entries are used, or after `patience` steps in a row that found nothing better.

    A change is what `descend` looks at: a variable joins, the holders of its row and column leave, and the two nodes
    that they leave behind pair up or stay alone; or a variable leaves. Only for pairwise costs that join no two
    variables of one row or column, with all columns stored, where rows and columns take at most one variable each.
    """
    row, col, number, floor, (n1, n2) = here.row, here.col, here.number, here.floor, here.number.shape
    column_of, columns = here.tables.column.slot, here.tables.column.data
    row_of, rows = here.tables.row.slot, here.tables.row.data
    row_start, row_member, _ = here.rows
    col_start, col_member, _ = here.cols
    start, linked_to, pair_cost = links
    cost, until, best, lowest_of, free_of, waiting, queue, head, left, before = memory
    loose_row, loose_col = here.row_kind != SIMPLEX, here.col_kind != SIMPLEX
    removals = loose_row and loose_col
    n, linked, touched = on.size, start.size > 0, np.empty(4, np.int64)
    in_row, in_col = np.full(n1, NOBODY), np.full(n2, NOBODY)
    for v in range(n):
        if on[v]:
            in_row[row[v]] = in_col[col[v]] = v

    def variable(i, j):
        """The variable of row i and column j, −1 if there is none; from a short list where the grid may be large."""
        if not linked:
            return number[i, j]
        for e in range(row_start[i], row_start[i + 1]):
            if col[row_member[e]] == j:
                return np.int64(row_member[e])
        return NOBODY

    def together(v, w):
        """What two variables cost as a pair, in both orders."""
        if not linked:
            return columns[column_of[v], w] + rows[row_of[v], w]
        for e in range(start[v], start[v + 1]):
            if linked_to[e] == w:
                return pair_cost[e]
        return 0.0

    def weigh(v, step, lead):
        """The changes at v: the lowest, who else joins (−1: nobody), and the same of those that are not tabu. Those
        that cannot be below `lead` may be left out."""
        a, b, other = in_row[row[v]], in_col[col[v]], NOBODY
        change, free, seen = cost[v] - (cost[a] if a >= 0 else 0.0), until[v] <= step, True
        lowest, partner, lowest_free, free_partner = np.inf, NOBODY, np.inf, NOBODY
        if v == a:
            change = -cost[a] if removals else np.inf
        elif b >= 0:
            change -= cost[b]
            if a >= 0:
                other = variable(row[b], col[a])
                if other >= 0 and not removals:  # of two that swap one is enough; and whatever the two pairs cost
                    seen = other > v and change + cost[other] + 2.0 * floor < lead
                if seen:
                    change += together(a, b)
        if seen and (b < 0 or loose_row) and (a < 0 or loose_col):
            lowest = change
            if free:
                lowest_free = change
        if seen and other >= 0:
            change += cost[other] + together(v, other)
            if change < lowest:
                lowest, partner = change, other
            if change < lowest_free and (free or until[other] <= step):
                lowest_free, free_partner = change, other
        return lowest, partner, lowest_free, free_partner

    def enqueue(v, queued):
        """Look at v again; how many are in the queue then."""
        if waiting[v]:
            return queued
        waiting[v] = True
        queue[queued] = v
        return queued + 1

    def touch(u, in_lines, queued):
        """Queue every variable whose changes depend on what u costs or on whether it is tabu; `in_lines`: those in its
        row and column, too, as of one that is on."""
        queued = enqueue(u, queued)
        if in_lines:
            for e in range(row_start[row[u]], row_start[row[u] + 1]):
                queued = enqueue(row_member[e], queued)
            for e in range(col_start[col[u]], col_start[col[u] + 1]):
                queued = enqueue(col_member[e], queued)
        else:
            a, b = in_col[col[u]], in_row[row[u]]  # who leaves when the variable joins whose other one is u
            if a >= 0 and b >= 0:
                v = variable(row[a], col[b])
                if v >= 0:
                    queued = enqueue(v, queued)
        return queued

    step, total, lowest, last, queued = progress
    end = min(tenure.size, step + most)
    while step < end and step - last < patience:
        lead, leader, partner = np.inf, NOBODY, NOBODY
        if linked:
            e = head[step]
            while e >= 0:  # free from this step on
                queued = touch(left[e], on[left[e]], queued)
                e = before[e]
        for k in range(queued if linked else n):
            v = queue[k] if linked else k
            change, other, change_free, other_free = weigh(v, step, np.inf if linked else lead)
            if linked:
                lowest_of[v], free_of[v], waiting[v] = change, change_free, False
            elif change < lead and total + change < lowest - tolerance:
                lead, leader, partner = change, v, other
            elif change_free < lead:
                lead, leader, partner = change_free, v, other_free
        if linked:
            queued = 0
            lead, leader = first_lowest(lowest_of)
            tabu = not total + lead < lowest - tolerance
            if tabu:
                lead, leader = first_lowest(free_of)
            if leader >= 0:
                _, other, _, other_free = weigh(leader, step, np.inf)
                partner = other_free if tabu else other
        step += 1
        if leader < 0:
            continue
        n_touched = 0
        if on[leader]:
            touched[0], n_touched = leader, 1
        else:
            for v in (in_row[row[leader]], in_col[col[leader]], leader, partner):
                if v >= 0:
                    touched[n_touched] = v
                    n_touched += 1
        for k in range(n_touched):
            v = touched[k]
            joins = not on[v]
            on[v] = joins
            in_row[row[v]] = in_col[col[v]] = v if joins else NOBODY
            if not joins:
                until[v] = step + tenure[step - 1]
            if not linked:
                shift(column_of, columns, row_of, rows, cost, v, 1.0 if joins else -1.0)
            elif not joins and until[v] < head.size:
                e = 4 * (step - 1) + k
                left[e], before[e], head[until[v]] = v, head[until[v]], e
        for k in range(n_touched if linked else 0):
            v = touched[k]
            queued = touch(v, True, queued)
            for e in range(start[v], start[v + 1]):
                w = linked_to[e]
                cost[w] += pair_cost[e] if on[v] else -pair_cost[e]
                queued = touch(w, on[w], queued)
        total += lead
        if total < lowest - tolerance:
            lowest, last = total, step
            overwrite(best, on)
    if step == tenure.size or step - last >= patience:
        overwrite(on, best)
    return Progress(step, total, lowest, last, queued)
