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
    floor: float  # and none is lower than this


@inlined
def together(column_of, columns, row_of, rows, v, w):
    """What two different variables cost as a pair, in both orders, and whether that is stored."""
    if column_of[w] >= 0 and row_of[w] >= 0:
        return columns[column_of[w], v] + rows[row_of[w], v], True
    if column_of[v] >= 0 and row_of[v] >= 0:
        return columns[column_of[v], w] + rows[row_of[v], w], True
    return 0.0, False


@compiled
def reap(target, value, on, first, last, share, out):
    """The leaves first … last: without `out` the sum of those whose target is on, else out[target] += share · value."""
    total = 0.0
    if out.size:
        for e in range(first, last):
            out[target[e]] += share * value[e]
    else:
        for e in range(first, last):
            if on[target[e]]:
                total += value[e]
    return total


@compiled
def walk(key, child, target, value, on, first, last, levels, share, out):
    """`reap` the leaves below the nodes first … last, `levels` levels down, along keys that are on."""
    total = 0.0
    if levels == 0:
        total = reap(target, value, on, first, last, share, out)
    elif levels == 1:
        for p in range(first, last):
            if on[key[p]]:
                total += reap(target, value, on, child[p], child[p + 1], share, out)
    else:
        at = np.empty(levels, np.int64)
        end = np.empty(levels, np.int64)
        at[0], end[0], level = first, last, 0
        while level >= 0:
            if at[level] == end[level]:
                level -= 1
                continue
            p = at[level]
            at[level] += 1
            if on[key[p]]:
                if level == levels - 1:
                    total += reap(target, value, on, child[p], child[p + 1], share, out)
                else:
                    level += 1
                    at[level], end[level] = child[p], child[p + 1]
    return total


@compiled
def hyperedges(orders, opens, root, key, child, target, value, on, v):
    """Σ costs of the hyperedges of v whose other variables are all on, over the symmetric trees of `Fibers`.

    A leaf below the root v is one ordering of the others; v itself can stand in any of the modes.
    """
    total, nowhere = 0.0, np.empty(0)
    for t in range(orders.size):
        if opens[t] < 0:
            below = walk(key, child, target, value, on, root[t, v], root[t, v + 1], orders[t] - 2, 0.0, nowhere)
            total += orders[t] * below
    return total


@compiled
def spread(orders, opens, root, key, child, target, value, on, v, sign, edges):
    """edges += sign · (what every other variable costs in hyperedges with v and variables that are on)."""
    for t in range(orders.size):
        if opens[t] < 0:
            share = sign * orders[t] * (orders[t] - 1)  # both can stand in any of the modes
            walk(key, child, target, value, on, root[t, v], root[t, v + 1], orders[t] - 2, share, edges)


@compiled
def joint(orders, opens, root, key, child, target, value, on, v, w):
    """Σ costs of the hyperedges of v and w whose other variables are all on."""
    total, nowhere = 0.0, np.empty(0)
    for t in range(orders.size):
        if opens[t] < 0:
            order = orders[t]
            among = target if order == 2 else key
            first, last = root[t, v], root[t, v + 1]
            while first < last:  # keys are sorted, and so are the leaves of a node
                middle = (first + last) // 2
                if among[middle] < w:
                    first = middle + 1
                else:
                    last = middle
            while first < root[t, v + 1] and among[first] == w:
                if order == 2:
                    total += 2.0 * value[first]
                else:
                    below = walk(key, child, target, value, on, child[first], child[first + 1], order - 3, 0.0, nowhere)
                    total += order * (order - 1) * below
                first += 1
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
def gather(here, on):
    """For every variable, what it costs in hyperedges whose others are all on; added up as these join one by one."""
    a, b = here.tables.fibers, here.sets
    edges, joined = np.zeros(on.size), np.zeros(on.size, np.bool_)
    for v in range(on.size):
        if on[v]:
            spread(a.order, a.open, a.root, a.key, a.child, a.target, a.value, joined, v, 1.0, edges)
            spread(b.order, b.open, b.root, b.key, b.child, b.target, b.value, joined, v, 1.0, edges)
            joined[v] = True
    return edges


@compiled
def repeats(index, line):
    """Whether a row of `index` has two variables of one line (a row or column of the assignment)."""
    for r in range(len(index)):
        for i in range(index.shape[1]):
            for j in range(i):
                if line[index[r, i]] == line[index[r, j]]:
                    return True
    return False


@compiled
def wake(awake, number, row, col):
    """Wake the variables of a row and of a column; how many of them slept."""
    woken = 0
    for other in range(number.shape[1]):
        v = number[row, other]
        if v >= 0 and not awake[v]:
            awake[v] = True
            woken += 1
    for other in range(number.shape[0]):
        v = number[other, col]
        if v >= 0 and not awake[v]:
            awake[v] = True
            woken += 1
    return woken


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
def descend(here, on, pairs, edges, awake, forced, thorough, progress, tolerance, most, clock):
    """Take the changes at the variables `forced`, whatever they cost; then every change that lowers the energy by more
    than `tolerance`, until no variable is `awake` or `most` were taken.

    One look at a variable that is off: it joins, its row's and its column's holders leave, and the nodes that they
    leave behind pair up (a swap), move to a free node (only if `thorough` and without hyperedges: it takes long), or
    stay alone, whatever costs least and the constraints allow. One look at a variable that is on: it leaves. A look
    puts the variable to sleep, a change wakes all in the rows and columns that it touches. `thorough`: before the end
    all are woken once more, until nothing has changed since. `progress` is the variable to look at, how many of the
    forced are done, the changes since all were awake, all changes and the energy change so far; with it a call goes on
    where another one returned. `edges`: what every variable costs in hyperedges whose others are on, where no cost
    joins two variables of one row or column (then a look is a few sums); empty otherwise.
    """
    linear, row, col, number, reach = here.linear, here.row, here.col, here.number, here.reach
    column_of, columns, row_of, rows = (
        here.tables.column.slot, here.tables.column.data, here.tables.row.slot, here.tables.row.data,
    )  # fmt: skip
    order, opens, root, key, child, target, value = here.tables.fibers
    order2, opens2, root2, key2, child2, target2, value2 = here.sets
    limited_row, limited_col = here.row_kind != BOX, here.col_kind != BOX
    loose_row, loose_col = here.row_kind != SIMPLEX, here.col_kind != SIMPLEX
    chains = order.size + order2.size == 0 and thorough
    quick = edges.size > 0 and limited_row and limited_col
    if quick and column_of.size:
        quick = column_of.min() >= 0 and row_of.min() >= 0
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

    def both(v, w):
        total = 0.0
        if column_of.size:
            total += columns[column_of[v], w] + rows[row_of[v], w]
        if order.size:
            total += joint(order, opens, root, key, child, target, value, on, v, w)
        if order2.size:
            total += joint(order2, opens2, root2, key2, child2, target2, value2, on, v, w)
        return total

    def enter(v, sign):
        shift(column_of, columns, row_of, rows, pairs, v, sign)
        if edges.size:
            spread(order, opens, root, key, child, target, value, on, v, sign, edges)
            spread(order2, opens2, root2, key2, child2, target2, value2, on, v, sign, edges)

    n, (n1, n2) = on.size, number.shape
    in_row, in_col = np.full(n1, NOBODY), np.full(n2, NOBODY)  # who holds a line that takes only one
    for v in range(n):
        if on[v]:
            if limited_row:
                in_row[row[v]] = v
            if limited_col:
                in_col[col[v]] = v
    n_awake = awake.sum()
    while True:
        must = progress[1] < forced.size
        if must:
            v = forced[int(progress[1])]
        elif progress[3] >= most:
            return EXHAUSTED
        elif n_awake > 0:
            v = int(progress[0])
            while not awake[v]:
                v = (v + 1) % n
            progress[0] = v
        elif thorough and progress[2] > 0:
            awake[:] = True
            n_awake, progress[2] = n, 0.0
            continue
        else:
            return SETTLED
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
        alone = n_gone + n_came > 0 and (left_row < 0 or loose_row) and (left_col < 0 or loose_col)
        fast = quick and n_came > 0
        if fast:  # what is known about every variable answers at once
            base = linear[v] + pairs[v] + edges[v]
            for k in range(n_gone):
                base -= linear[gone[k]] + pairs[gone[k]] + edges[gone[k]]
            if n_gone == 2:
                base += both(gone[0], gone[1])
        else:
            for k in range(n_gone + n_came):
                u = gone[k] if k < n_gone else v
                on[u] = False
                c, absent = cost(u, min(k, n_gone), 0)
                base += -c if k < n_gone else c
                missing = max(missing, absent)
            if n_came:
                on[v] = True
        if missing < 0 and alone:
            best = base
        # The row left behind takes the column left behind; or either of them takes a free node.
        for other in range(0 if chains else left_col, n1 + n2 if chains else left_col + 1):
            w, fits = NOBODY, False
            if 0 <= other < n2 and left_row >= 0:
                w = number[left_row, other]
                fits = other == left_col or (chains and in_col[other] < 0 and (left_col < 0 or loose_col))
            elif other >= n2 and left_col >= 0 and (left_row < 0 or loose_row):
                w = number[other - n2, left_col]
                fits = in_row[other - n2] < 0
            if w < 0 or not fits or missing >= 0:
                continue
            if fast:
                c, absent = linear[w] + pairs[w] + edges[w] + both(v, w), NOBODY
                for k in range(n_gone):
                    if row[gone[k]] != row[w] and col[gone[k]] != col[w]:
                        c -= both(w, gone[k])
            else:
                c, absent = cost(w, n_gone, 1)
            if absent >= 0 and base + c - reach < min(best, -tolerance):
                missing = absent
            elif absent < 0 and base + c < best:
                best, partner = base + c, w
        if not fast:
            on[v] = on[v] and n_came == 0
            for k in range(n_gone):
                on[gone[k]] = True
        if missing < 0 and (best < -tolerance or (must and best < np.inf)):
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
                for k in range(n_gone + n_came):
                    u, joins = (gone[k], False) if k < n_gone else (came[k - n_gone], True)
                    on[u] = joins
                    if limited_row:
                        in_row[row[u]] = u if joins else NOBODY
                    if limited_col:
                        in_col[col[u]] = u if joins else NOBODY
                    enter(u, 1.0 if joins else -1.0)
                    n_awake += wake(awake, number, row[u], col[u])
                progress[2] += 1.0
                progress[3] += 1.0
                progress[4] += best
        if missing >= 0:
            for k in range(n_gone):  # what this look has at hand already stays stored
                if column_of[gone[k]] >= 0:
                    here.tables.column.used[column_of[gone[k]]] = clock
                if row_of[gone[k]] >= 0:
                    here.tables.row.used[row_of[gone[k]]] = clock
            return missing
        if must:
            progress[1] += 1.0
        elif awake[v]:
            awake[v] = False
            n_awake -= 1
