"""Local search over matchings: what a change costs, and changes until none pays."""

from typing import NamedTuple

import numpy as np

from adgm._kernels.hyperedges import hyperedges, joint, spread
from adgm._kernels.types import BOX, SIMPLEX, Fibers, FloatArray, Groups, LongArray, Tables, compiled, inlined

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
    rows: Groups
    cols: Groups
    number: LongArray  # (n1, n2): the variable of a pair, −1 where there is none
    row_kind: int  # BOX, CAPPED or SIMPLEX
    col_kind: int
    reach: float  # no pairwise cost of two variables exceeds this
    floor: float  # and none is lower than this
    least: FloatArray  # `least_joint` where all costs are hyperedges, else empty


@inlined
def together(column_of, columns, row_of, rows, v, w):
    """What two different variables cost as a pair, in both orders, and whether that is stored."""
    if column_of[w] >= 0 and row_of[w] >= 0:
        return columns[column_of[w], v] + rows[row_of[w], v], True
    if column_of[v] >= 0 and row_of[v] >= 0:
        return columns[column_of[v], w] + rows[row_of[v], w], True
    return 0.0, False


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
    edges, joined, held = np.zeros(on.size), np.zeros(on.size, np.bool_), np.flatnonzero(on)
    for k in range(held.size):
        v, there = held[k], held[:k]
        spread(a.order, a.open, a.root, a.key, a.child, a.stop, a.target, a.value, joined, there, v, 1.0, edges)
        spread(b.order, b.open, b.root, b.key, b.child, b.stop, b.target, b.value, joined, there, v, 1.0, edges)
        joined[v] = True
    return edges


@compiled
def repeats(lines):
    """Whether a row has the same entry (a row or column of the assignment) twice."""
    for r in range(len(lines)):
        for i in range(lines.shape[1]):
            for j in range(i):
                if lines[r, i] == lines[r, j]:
                    return True
    return False


@compiled
def ties(matrix, group):
    """Whether two different variables of one row or column have a cost together."""
    for line in range(group.start.size - 1):
        for e in range(group.start[line], group.start[line + 1]):
            for f in range(group.start[line], group.start[line + 1]):
                if e != f and matrix[group.member[e], group.member[f]] != 0.0:
                    return True
    return False


@compiled
def wake(awake, start, member, line):
    """Wake the variables of a row or of a column; how many of them slept."""
    woken = 0
    for e in range(start[line], start[line + 1]):
        v = member[e]
        if not awake[v]:
            awake[v] = True
            woken += 1
    return woken


class Descent(NamedTuple):
    """How far a descent is."""

    at: int = 0  # the variable to look at
    forced: int = 0  # forced changes done
    recent: int = 0  # changes since all were awake
    changes: int = 0
    gain: float = 0.0  # the energy change so far


@compiled
def holders(on, line, lines, limited):
    """Who holds each of so many rows or columns; nobody where a line may take more than one."""
    held = np.full(lines, NOBODY)
    if limited:
        for v in range(on.size):
            if on[v]:
                held[line[v]] = v
    return held


@inlined
def exchange(on, row, col, number, in_row, in_col, limited, removals, swaps, v, gone, came):
    """What a look at v is about: how many leave (`gone`), how many join (`came`), and the row and the column that are
    left behind."""
    n_gone, n_came, left_row, left_col = 0, 0, NOBODY, NOBODY
    if on[v]:
        if removals:
            gone[0], n_gone = v, 1
        return n_gone, n_came, left_row, left_col
    came[0], n_came = v, 1
    in_its_row, in_its_col = in_row[row[v]], in_col[col[v]]
    if in_its_row >= 0:
        gone[0], n_gone = in_its_row, 1
        if limited:
            left_col = col[in_its_row]
    if in_its_col >= 0:
        gone[n_gone] = in_its_col
        n_gone += 1
        if limited:
            left_row = row[in_its_col]
    if swaps and left_row >= 0 and left_col >= 0 and number[left_row, left_col] < v:
        return 0, 0, NOBODY, NOBODY  # seen from the other pair, or impossible
    return n_gone, n_came, left_row, left_col


@compiled
def doze(here, on, edges, in_row, in_col, awake, v, n_awake, swaps, tolerance):
    """Put to sleep, from v on, who cannot pay whatever v costs with a partner, where all costs are hyperedges: (the
    next that may pay, how many are awake). Most looks end here, without a walk through tables that no cache holds."""
    linear, row, col, number, least = here.linear, here.row, here.col, here.number, here.least
    order, opens, root, key, child, stop, target, value = here.tables.fibers
    while n_awake > 0:
        while not awake[v]:
            v = (v + 1) % awake.size
        a, b, change = in_row[row[v]], in_col[col[v]], linear[v] + edges[v]
        if a == v:
            change = np.inf if swaps else -change
        elif a >= 0 and b >= 0:
            w, rest = number[row[b], col[a]], np.inf if swaps else 0.0
            if w >= 0 and (w > v or not swaps):
                rest = min(rest, linear[w] + edges[w] + max(least[v, row[w]], least[w, row[v]]))
            change += rest - linear[a] - edges[a] - linear[b] - edges[b]
            if change + max(least[a, row[b]], least[b, row[a]]) < -tolerance:
                change += joint(order, opens, root, key, child, stop, target, value, on, a, b)
        elif a >= 0 or b >= 0:
            change -= linear[max(a, b)] + edges[max(a, b)]
        if change < -tolerance:
            break
        awake[v] = False
        n_awake -= 1
    return v, n_awake


@compiled
def scan(
    here, on, pairs, edges, awake, in_row, in_col, gone, came, v, n_awake, must, quick, chains, swaps, tolerance, looks
):
    """Look at the variables that are awake, from v on, until a change pays or `looks` are used up; or only at v, if it
    `must` or others can `doze`. A function of its own, entered once per change, since a call per look would take as
    long as the look.

    Returns the last v, how many are awake, what the change costs, how many leave (`gone`) and join (`came`), who joins
    beside v, −1 or a column that this look misses, and how many looks are left. `quick`, `chains`, `swaps`: see
    `descend`."""
    linear, row, col, number, reach, least = here.linear, here.row, here.col, here.number, here.reach, here.least
    column_of, columns = here.tables.column.slot, here.tables.column.data
    row_of, rows = here.tables.row.slot, here.tables.row.data
    order, opens, root, key, child, stop, target, value = here.tables.fibers
    order2, opens2, root2, key2, child2, stop2, target2, value2 = here.sets
    limited = here.row_kind != BOX and here.col_kind != BOX
    loose_row, loose_col = here.row_kind != SIMPLEX, here.col_kind != SIMPLEX
    row_start, row_member, _ = here.rows
    col_start, col_member, _ = here.cols

    def cost(v, n_gone, n_came):
        total, missing = joining(linear, column_of, columns, row_of, rows, pairs, v, gone, n_gone, came, n_came)
        if order.size:
            total += hyperedges(order, opens, root, key, child, stop, target, value, on, v)
        if order2.size:
            total += hyperedges(order2, opens2, root2, key2, child2, stop2, target2, value2, on, v)
        return total, missing

    def both(v, w):
        total = 0.0
        if column_of.size:
            total += columns[column_of[v], w] + rows[row_of[v], w]
        if order.size:
            total += joint(order, opens, root, key, child, stop, target, value, on, v, w)
        if order2.size:
            total += joint(order2, opens2, root2, key2, child2, stop2, target2, value2, on, v, w)
        return total

    while must or n_awake > 0:
        while not (must or awake[v]):
            v = (v + 1) % on.size
        n_gone, n_came, left_row, left_col = exchange(
            on, row, col, number, in_row, in_col, limited, loose_row and loose_col, swaps, v, gone, came
        )
        base, best, partner, missing, fast = 0.0, np.inf, NOBODY, NOBODY, quick and n_came > 0
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
        if missing < 0 and n_gone + n_came > 0 and (left_row < 0 or loose_row) and (left_col < 0 or loose_col):
            best = base
        # The row left behind takes the column left behind; or either of them takes a free node.
        in_line, in_both = 0, 0
        if not chains and left_row >= 0 and left_col >= 0:
            in_line = 1
        if chains and left_row >= 0:
            in_line = row_start[left_row + 1] - row_start[left_row]
        if chains and left_col >= 0 and (left_row < 0 or loose_row):
            in_both = col_start[left_col + 1] - col_start[left_col]
        in_both += in_line
        for e in range(in_both):
            if not chains:
                w, fits = number[left_row, left_col], True
            elif e < in_line:
                w = np.int64(row_member[row_start[left_row] + e])
                fits = col[w] == left_col or (in_col[col[w]] < 0 and (left_col < 0 or loose_col))
            else:
                w = np.int64(col_member[col_start[left_col] + e - in_line])
                fits = in_row[row[w]] < 0
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
        if must or missing >= 0 or best < -tolerance:
            return v, n_awake, best, n_gone, n_came, partner, missing, looks
        awake[v] = False
        n_awake -= 1
        looks -= 1 + in_both
        if least.size or looks <= 0:
            break
    return v, n_awake, np.inf, 0, 0, NOBODY, NOBODY, looks


@compiled
def unstored(column_of, row_of, who, count):
    """One of the first `count` of `who` whose column is not at hand, −1 if all are."""
    missing = NOBODY
    if column_of.size:
        for k in range(count):
            if column_of[who[k]] < 0 or row_of[who[k]] < 0:
                missing = who[k]
    return missing


@compiled
def descend(here, on, pairs, edges, awake, forced, thorough, descent, tolerance, most, looks, clock):
    """Take the changes at the variables `forced`, whatever they cost; then every change that lowers the energy by more
    than `tolerance`, until no variable is `awake`, `most` were taken, or `looks` are used up.

    One look at a variable that is off: it joins, its row's and its column's holders leave, and the nodes that they
    leave behind pair up (a swap), move to a free node (only if `thorough` and without hyperedges: it takes long), or
    stay alone, whatever costs least and the constraints allow. One look at a variable that is on: it leaves. A look
    puts the variable to sleep, a change wakes all in the rows and columns that it touches. `thorough`: before the end
    all are woken once more, until nothing has changed since. With the `descent` of another call it goes on where that
    one returned; it comes back beside the reason why it ended. `edges`: what every variable costs in hyperedges whose
    others are on, where no cost joins two variables of one row or column (then a look is a few sums); else empty.
    """
    row, col, (n1, n2) = here.row, here.col, here.number.shape
    column_of, columns = here.tables.column.slot, here.tables.column.data
    row_of, rows = here.tables.row.slot, here.tables.row.data
    order, opens, root, key, child, stop, target, value = here.tables.fibers
    order2, opens2, root2, key2, child2, stop2, target2, value2 = here.sets
    row_start, row_member, _ = here.rows
    col_start, col_member, _ = here.cols
    limited_row, limited_col = here.row_kind != BOX, here.col_kind != BOX
    chains = thorough and order.size + order2.size == 0
    quick = edges.size > 0 and limited_row and limited_col
    if quick and column_of.size:
        quick = column_of.min() >= 0 and row_of.min() >= 0
    # Where two holders can only swap, one look at the two new pairs is enough: that at the lower number.
    loose_row, loose_col = here.row_kind != SIMPLEX, here.col_kind != SIMPLEX
    swaps = not (loose_row and loose_col) and not (chains and (loose_row or loose_col))
    in_row, in_col = holders(on, row, n1, limited_row), holders(on, col, n2, limited_col)
    held = in_row if limited_row else np.empty(0, np.int64)
    gone, came = np.empty(2, np.int64), np.empty(2, np.int64)
    at, done, recent, changes, gain = descent
    n_awake = awake.sum()
    while True:
        must = done < forced.size
        if not must and changes >= most:
            return EXHAUSTED, Descent(at, done, recent, changes, gain)
        v = forced[done] if must else at
        if here.least.size and not must:
            v, n_awake = doze(here, on, edges, in_row, in_col, awake, v, n_awake, swaps, tolerance)
        v, n_awake, best, n_gone, n_came, partner, missing, looks = scan(
            *(here, on, pairs, edges, awake, in_row, in_col, gone, came, v, n_awake, must, quick, chains, swaps),
            *(tolerance, looks),
        )
        if not must:
            at = v
        if missing < 0 and partner >= 0:
            came[n_came] = partner
            n_came += 1
        if missing < 0 and best < np.inf:  # every changed column must be at hand before anything changes
            missing = unstored(column_of, row_of, came, n_came)
            if missing < 0:
                missing = unstored(column_of, row_of, gone, n_gone)
        if missing >= 0:
            for k in range(n_gone + n_came):  # what this look has at hand already stays stored
                u = gone[k] if k < n_gone else came[k - n_gone]
                if column_of[u] >= 0:
                    here.tables.column.used[column_of[u]] = clock
                if row_of[u] >= 0:
                    here.tables.row.used[row_of[u]] = clock
            return missing, Descent(at, done, recent, changes, gain)
        if best < np.inf:
            for k in range(n_gone + n_came):
                u, joins = (gone[k], False) if k < n_gone else (came[k - n_gone], True)
                sign, holder = (1.0, u) if joins else (-1.0, NOBODY)
                on[u] = joins
                if limited_row:
                    in_row[row[u]] = holder
                if limited_col:
                    in_col[col[u]] = holder
                shift(column_of, columns, row_of, rows, pairs, u, sign)
                if edges.size:
                    spread(order, opens, root, key, child, stop, target, value, on, held, u, sign, edges)
                    spread(order2, opens2, root2, key2, child2, stop2, target2, value2, on, held, u, sign, edges)
                n_awake += wake(awake, row_start, row_member, row[u]) + wake(awake, col_start, col_member, col[u])
            recent, changes, gain = recent + 1, changes + 1, gain + best
        if must:
            done += 1
        elif best < np.inf:
            awake[v] = False
            n_awake -= 1
        elif n_awake > 0:
            if looks <= 0:
                return EXHAUSTED, Descent(at, done, recent, changes, gain)
        elif thorough and recent > 0:
            awake[:] = True
            n_awake, recent = on.size, 0
        else:
            return SETTLED, Descent(at, done, recent, changes, gain)
