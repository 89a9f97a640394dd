"""Local search over matchings: what a change costs, and changes until none pays."""

from typing import NamedTuple

import numpy as np
from numba import njit

from adgm._kernels.types import BOX, SIMPLEX, Fibers, FloatArray, LongArray, Tables, compiled

# Small functions called millions of times: passing their arrays would cost more than what they do.
inlined = njit(inline="always", cache=True, nogil=True)

SETTLED, EXHAUSTED = -1, -2  # why `descend` returned; otherwise the number of a column that it misses
NOBODY = -1


class Neighbourhood(NamedTuple):
    """A problem as the local search sees it: costs of sets of variables, and who shares a row or a column.

    In an assignment of zeros and ones a variable that a tuple repeats counts once: `linear` holds the unary costs and
    the diagonals, `sets` the other tuples that a symmetric tree of `tables` does not hold already.
    """

    tables: Tables
    sets: Fibers
    linear: FloatArray
    row: LongArray
    col: LongArray
    number: LongArray  # (n1, n2): the variable of a pair, −1 where there is none
    row_kind: int  # BOX, CAPPED or SIMPLEX
    col_kind: int
    reach: float  # no pairwise cost of two variables exceeds this


@inlined
def together(column_of, columns, row_of, rows, v, w):
    """What two different variables cost as a pair, in both orders, and whether that is stored."""
    if column_of[w] >= 0 and row_of[w] >= 0:
        return columns[column_of[w], v] + rows[row_of[w], v], True
    if column_of[v] >= 0 and row_of[v] >= 0:
        return columns[column_of[v], w] + rows[row_of[v], w], True
    return 0.0, False


@compiled
def hyperedges(orders, opens, root, key, child, target, value, on, v):
    """Σ costs of the hyperedges of v whose other variables are all on, over the symmetric trees of `Fibers`.

    A leaf below the root v is one ordering of the others; v itself can stand in any of the modes.
    """
    total = 0.0
    for tree in range(orders.size):
        if opens[tree] >= 0:
            continue
        order, part = orders[tree], 0.0
        first, last = root[tree, v], root[tree, v + 1]
        if order == 2:
            for e in range(first, last):
                if on[target[e]]:
                    part += value[e]
        elif order == 3:
            for p in range(first, last):
                if on[key[p]]:
                    for e in range(child[p], child[p + 1]):
                        if on[target[e]]:
                            part += value[e]
        else:
            bottom = order - 3  # the level of nodes above the leaves
            at = np.empty(bottom + 1, np.int64)
            end = np.empty(bottom + 1, np.int64)
            at[0], end[0], level = first, last, 0
            while level >= 0:
                if at[level] == end[level]:
                    level -= 1
                    continue
                p = at[level]
                at[level] += 1
                if not on[key[p]]:
                    continue
                if level < bottom:
                    level += 1
                    at[level], end[level] = child[p], child[p + 1]
                else:
                    for e in range(child[p], child[p + 1]):
                        if on[target[e]]:
                            part += value[e]
        total += order * part
    return total


@inlined
def joining(linear, column_of, columns, row_of, rows, pairs, v, gone, n_gone, came, n_came):
    """What v costs alone and as pairs: (cost, −1 or the column that is missing).

    `pairs` belongs to the set before the `gone` left it and the `came` joined it. A missing column of the `came`
    leaves the cost short of that pair only.
    """
    cost, missing = linear[v], NOBODY
    if column_of.size:
        cost += pairs[v]
        for k in range(n_gone):
            if gone[k] != v:
                c, known = together(column_of, columns, row_of, rows, v, gone[k])
                if not known:
                    return -np.inf, gone[k]
                cost -= c
        for k in range(n_came):
            c, known = together(column_of, columns, row_of, rows, v, came[k])
            if not known:
                missing = came[k]
            cost += c
    return cost, missing


@compiled
def shift(column_of, columns, row_of, rows, pairs, v, sign):
    """pairs += sign · (what every other variable costs as a pair with v)."""
    if column_of.size:
        column, row = columns[column_of[v]], rows[row_of[v]]
        own = pairs[v]
        for i in range(pairs.size):
            pairs[i] += sign * (column[i] + row[i])
        pairs[v] = own


@compiled
def changed(here, pairs, on, removed, added):
    """Energy change when the `removed` leave and the `added` join; their columns are stored."""
    columns, rows = here.tables.column, here.tables.row
    a, b = here.tables.fibers, here.sets
    total = 0.0
    for k in range(removed.size + added.size):
        leaves = k < removed.size
        v = removed[k] if leaves else added[k - removed.size]
        n_gone, n_came = (k, 0) if leaves else (removed.size, k - removed.size)
        on[v] = False
        cost, _ = joining(
            here.linear, columns.slot, columns.data, rows.slot, rows.data, pairs, v, removed, n_gone, added, n_came
        )
        cost += hyperedges(a.order, a.open, a.root, a.key, a.child, a.target, a.value, on, v)
        cost += hyperedges(b.order, b.open, b.root, b.key, b.child, b.target, b.value, on, v)
        total += -cost if leaves else cost
        on[v] = not leaves
    return total


@compiled
def descend(here, on, pairs, progress, tolerance, most, clock):
    """Take every change that lowers the energy by more than `tolerance`, until none does or `most` were taken.

    One look at a variable that is off: it joins, its row's and its column's holders leave, and the nodes that they
    leave behind pair up (a swap), move to a free node (only without hyperedges, where trying that is cheap), or stay
    alone, whatever costs least and the constraints allow. One look at a variable that is on: it leaves.
    `progress` is the variable to look at, the looks in a row without success, the changes and the energy change so
    far; with it a call goes on where another one returned.
    """
    linear, row, col, number, reach = here.linear, here.row, here.col, here.number, here.reach
    column_of, columns, row_of, rows = (
        here.tables.column.slot, here.tables.column.data, here.tables.row.slot, here.tables.row.data,
    )  # fmt: skip
    order, opens, root, key, child, target, value = here.tables.fibers
    order2, opens2, root2, key2, child2, target2, value2 = here.sets
    limited_row, limited_col = here.row_kind != BOX, here.col_kind != BOX
    loose_row, loose_col = here.row_kind != SIMPLEX, here.col_kind != SIMPLEX
    chains = order.size + order2.size == 0
    # Where two holders can only swap, one look at the two new pairs is enough: that at the lower number.
    only_swaps = not (loose_row and loose_col) and not (chains and (loose_row or loose_col))
    gone, came = np.empty(2, np.int64), np.empty(2, np.int64)

    def cost(v, n_gone, n_came):
        total, missing = joining(linear, column_of, columns, row_of, rows, pairs, v, gone, n_gone, came, n_came)
        if order.size:
            total += hyperedges(order, opens, root, key, child, target, value, on, v)
        if order2.size:
            total += hyperedges(order2, opens2, root2, key2, child2, target2, value2, on, v)
        return total, missing

    n, (n1, n2) = on.size, number.shape
    in_row, in_col = np.full(n1, NOBODY), np.full(n2, NOBODY)  # who holds a line that takes only one
    for v in range(n):
        if on[v]:
            if limited_row:
                in_row[row[v]] = v
            if limited_col:
                in_col[col[v]] = v
    while progress[1] < n:
        if progress[2] >= most:
            return EXHAUSTED
        v = int(progress[0])
        n_gone, n_came, base, best = 0, 0, 0.0, np.inf
        partner = left_row = left_col = missing = NOBODY
        if on[v]:
            if loose_row and loose_col:
                gone[0], n_gone = v, 1
        else:
            came[0], n_came = v, 1
            for holder in (in_row[row[v]], in_col[col[v]]):
                if holder >= 0:
                    gone[n_gone] = holder
                    n_gone += 1
            if in_row[row[v]] >= 0 and limited_col:
                left_col = col[in_row[row[v]]]
            if in_col[col[v]] >= 0 and limited_row:
                left_row = row[in_col[col[v]]]
        if only_swaps and left_row >= 0 and left_col >= 0 and number[left_row, left_col] < v:
            n_gone = n_came = 0  # seen from the other pair, or impossible
            left_row = left_col = NOBODY
        for k in range(n_gone):
            on[gone[k]] = False
            c, absent = cost(gone[k], k, 0)
            base -= c
            missing = max(missing, absent)
        if n_came and missing < 0:
            c, missing = cost(v, n_gone, 0)
            base += c
        if n_gone + n_came > 0 and (left_row < 0 or loose_row) and (left_col < 0 or loose_col):
            best = base
        if n_came and missing < 0:
            on[v] = True
            for other in range(n2 if left_row >= 0 else 0):  # that row takes the column left behind, or a free one
                w = number[left_row, other]
                if w >= 0 and (other == left_col or (chains and in_col[other] < 0 and (left_col < 0 or loose_col))):
                    c, absent = cost(w, n_gone, 1)
                    if absent >= 0 and base + c - reach < min(best, -tolerance):
                        missing = absent
                    elif absent < 0 and base + c < best:
                        best, partner = base + c, w
            for other in range(
                n1 if chains and left_col >= 0 and (left_row < 0 or loose_row) else 0
            ):  # a free row takes it
                w = number[other, left_col]
                if w >= 0 and in_row[other] < 0:
                    c, absent = cost(w, n_gone, 1)
                    if absent >= 0 and base + c - reach < min(best, -tolerance):
                        missing = absent
                    elif absent < 0 and base + c < best:
                        best, partner = base + c, w
            on[v] = False
        for k in range(n_gone):
            on[gone[k]] = True
        if missing < 0 and best < -tolerance:
            if partner >= 0:
                came[n_came] = partner
                n_came += 1
            if column_of.size:  # every changed column must be at hand before anything changes
                for k in range(n_gone):
                    if column_of[gone[k]] < 0 or row_of[gone[k]] < 0:
                        missing = gone[k]
                for k in range(n_came):
                    if column_of[came[k]] < 0 or row_of[came[k]] < 0:
                        missing = came[k]
            if missing < 0:
                for k in range(n_gone):
                    on[gone[k]] = False
                    in_row[row[gone[k]]] = in_col[col[gone[k]]] = NOBODY
                    shift(column_of, columns, row_of, rows, pairs, gone[k], -1.0)
                for k in range(n_came):
                    on[came[k]] = True
                    if limited_row:
                        in_row[row[came[k]]] = came[k]
                    if limited_col:
                        in_col[col[came[k]]] = came[k]
                    shift(column_of, columns, row_of, rows, pairs, came[k], 1.0)
                progress[1] = -1.0  # this look does not count
                progress[2] += 1.0
                progress[3] += best
        if missing >= 0:
            for k in range(n_gone):  # what this look has at hand already stays stored
                if column_of[gone[k]] >= 0:
                    here.tables.column.used[column_of[gone[k]]] = clock
                if row_of[gone[k]] >= 0:
                    here.tables.row.used[row_of[gone[k]]] = clock
            return missing
        progress[1] += 1.0
        progress[0] = (v + 1) % n
    return SETTLED
