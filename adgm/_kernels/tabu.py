"""Tabu search over matchings of pairwise problems: the best change each time, even one that costs."""

import numpy as np

from adgm._kernels.local_search import NOBODY, shift
from adgm._kernels.types import SIMPLEX, compiled, overwrite


@compiled
def tabu_search(here, on, pairs, tenure, tolerance):
    """Tabu search: for each entry of `tenure` the best of all changes, even one that costs; what leaves may come back
    after that many further ones, or sooner in what is better than anything so far. Ends at the best it has seen: the
    energy change.

    A change is what `descend` looks at: a variable joins, the holders of its row and column leave, and the two nodes
    that they leave behind pair up or stay alone; or a variable leaves. Only for pairwise costs that join no two
    variables of one row or column, with all columns stored, where rows and columns take at most one variable each.
    """
    row, col, number = here.row, here.col, here.number
    column_of, columns = here.tables.column.slot, here.tables.column.data
    row_of, rows = here.tables.row.slot, here.tables.row.data
    loose_row, loose_col = here.row_kind != SIMPLEX, here.col_kind != SIMPLEX
    n, (n1, n2) = on.size, number.shape
    in_row, in_col = np.full(n1, NOBODY), np.full(n2, NOBODY)
    for v in range(n):
        if on[v]:
            in_row[row[v]] = in_col[col[v]] = v
    removals = loose_row and loose_col
    cost = here.linear + pairs  # of joining what is on
    until = np.zeros(n, np.int64)
    total = lowest = 0.0
    best = on.copy()
    touched = np.empty(4, np.int64)
    for step in range(tenure.size):
        lead, leader, partner = np.inf, NOBODY, NOBODY
        for i in range(n1):
            a = in_row[i]
            left = cost[a] if a >= 0 else 0.0
            for j in range(n2):
                v, b = number[i, j], in_col[j]
                if v < 0:
                    continue
                change, other, free = cost[v] - left, NOBODY, until[v] <= step
                if v == a:
                    change = -left if removals else np.inf
                elif b >= 0:
                    change -= cost[b]
                    if a >= 0:
                        other = number[row[b], col[a]]
                        if 0 <= other < v and not removals:
                            continue  # the same swap, seen from the other pair
                        if other >= 0 and not removals and change + cost[other] + 2.0 * here.floor >= lead:
                            continue  # whatever the two pairs cost
                        change += columns[column_of[a], b] + rows[row_of[a], b]
                alone = (b < 0 or loose_row) and (a < 0 or loose_col)
                if alone and change < lead and (free or total + change < lowest - tolerance):
                    lead, leader, partner = change, v, NOBODY
                if other >= 0:
                    change += cost[other] + columns[column_of[v], other] + rows[row_of[v], other]
                    free = free or until[other] <= step
                    if change < lead and (free or total + change < lowest - tolerance):
                        lead, leader, partner = change, v, other
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
                until[v] = step + 1 + tenure[step]
            shift(column_of, columns, row_of, rows, cost, v, 1.0 if joins else -1.0)
        total += lead
        if total < lowest - tolerance:
            lowest = total
            overwrite(best, on)
    overwrite(on, best)
    return lowest
