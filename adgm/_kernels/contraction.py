"""(4) bigotimes: products of tensors with sparse blocks, all modes but one; they walk the non-zeros only."""

import numpy as np

from adgm._kernels.types import compiled, overwrite

DENSE = 3  # a product with more than a third of the pairs is faster row by row than along a tree (measured)
SPARSE = 16  # keys per non-zero from which looking the non-zeros up beats looking at every key (measured)


@compiled
def list_support(x, support):
    """Indices of the non-zero entries of x, written to `support`; returns how many."""
    count = 0
    for i in range(x.size):
        support[count] = i
        count += x[i] != 0.0
    return count


@compiled
def add_columns(columns, clock, x, support, count, out):
    """out += Σ_j x_j · column j over the support; returns False, with `out` untouched, if a column is not stored."""
    slot, data, used = columns.slot, columns.data, columns.used
    for s in range(count):
        if slot[support[s]] < 0:
            return False
    for s in range(count):
        used[slot[support[s]]] = clock
    s = 0
    while s + 4 <= count:  # four columns in one pass over `out`: it is read and written a quarter as often
        a, b, c, d = support[s], support[s + 1], support[s + 2], support[s + 3]
        wa, wb, wc, wd = x[a], x[b], x[c], x[d]
        ca, cb, cc, cd = data[slot[a]], data[slot[b]], data[slot[c]], data[slot[d]]
        for i in range(out.size):
            out[i] += wa * ca[i] + wb * cb[i] + wc * cc[i] + wd * cd[i]
        s += 4
    for t in range(s, count):
        w, column = x[support[t]], data[slot[support[t]]]
        for i in range(out.size):
            out[i] += w * column[i]
    return True


@compiled
def find(key, low, high, wanted):
    """First position in the ascending key[low … high] that is not below `wanted`."""
    while low < high:
        middle = (low + high) // 2
        if key[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def add_fibers(fibers, tree, slot, x, support, count, out):
    """out += tree ⊗ (all blocks of x but the open one): depth first, over branches with a non-zero product."""
    order = fibers.order[tree]
    root, key, child, until = fibers.root[tree], fibers.key, fibers.child, fibers.stop
    target, value = fibers.target, fibers.value
    modes = np.empty(order - 1, np.int64)  # the contracted modes, in the order of the tree's levels
    for level in range(order - 1):
        modes[level] = level if level < slot else level + 1
    first, last = modes[0], order - 2
    at = np.empty(order, np.int64)
    end = np.empty(order, np.int64)
    weight = np.empty(order, np.float64)
    for s in range(count[first]):
        j = support[first, s]
        weight[0] = x[first, j]
        if last == 0:
            for e in range(root[j], root[j + 1]):
                out[target[e]] += weight[0] * value[e]
            continue
        level = 1
        at[0] = 0
        at[1], end[1] = root[j], root[j + 1]
        while level > 0:
            if level == last:
                mode, p, stop = modes[level], at[level], end[level]
                block, above = x[mode], weight[level - 1]
                if stop - p == block.size:  # all keys are there: a non-zero's node is at its number
                    for t in range(count[mode]):
                        q = p + support[mode, t]
                        w = above * block[support[mode, t]]
                        for e in range(child[q], until[q]):
                            out[target[e]] += w * value[e]
                elif SPARSE * count[mode] > stop - p:  # many non-zeros: look at every key
                    for q in range(p, stop):
                        w = above * block[key[q]]
                        if w != 0.0:
                            for e in range(child[q], until[q]):
                                out[target[e]] += w * value[e]
                else:  # few: look every non-zero up; both lists ascend
                    for t in range(count[mode]):
                        k = support[mode, t]
                        p = find(key, p, stop, k)
                        if p < stop and key[p] == k:
                            w = above * block[k]
                            for e in range(child[p], until[p]):
                                out[target[e]] += w * value[e]
                at[level] = stop
            if at[level] == end[level]:
                level -= 1
                at[level] += 1
                continue
            p = at[level]
            w = weight[level - 1] * x[modes[level], key[p]]
            if w == 0.0:
                at[level] += 1
            else:
                weight[level] = w
                level += 1
                at[level], end[level] = child[p], until[p]


@compiled
def add_triples(index, cost, a, b, out):
    """out += symmetric tensor of third order ⊗ a ⊗ b, row by row: for dense a and b, where a tree would only be in the
    way. Where they are alike, as at every start, it takes half the time."""
    if (a == b).all():
        for r in range(len(index)):
            i, j, k, c = index[r, 0], index[r, 1], index[r, 2], 2.0 * cost[r]
            out[i] += c * a[j] * a[k]
            out[j] += c * a[i] * a[k]
            out[k] += c * a[i] * a[j]
        return
    for r in range(len(index)):
        i, j, k, c = index[r, 0], index[r, 1], index[r, 2], cost[r]
        out[i] += c * (a[j] * b[k] + a[k] * b[j])
        out[j] += c * (a[i] * b[k] + a[k] * b[i])
        out[k] += c * (a[i] * b[j] + a[j] * b[i])


@compiled
def contract(tables, clock, slot, x, support, count, given, use_given, lower, upper):
    """(21): the block's linear term p_d, in two parts; returns False if a pairwise column is not stored.

    With the blocks x and the mode `slot` open: `upper` gets the potential whose last mode is open (its product with
    the new block is that potential's energy), `lower` those of higher order. `given` replaces the columns' part.
    """
    lower[:] = 0.0
    upper[:] = 0.0
    if slot == 0:
        overwrite(upper, tables.unary)
    if tables.pairwise and slot < 2:
        out = lower if slot == 0 else upper
        if use_given:
            out += given
        else:
            other = 1 - slot
            columns = tables.column if slot == 0 else tables.row
            if not add_columns(columns, clock, x[other], support[other], count[other], out):
                return False
    for tree in range(tables.fibers.order.size):
        order, open_mode = tables.fibers.order[tree], tables.fibers.open[tree]
        if slot < order and (open_mode < 0 or open_mode == slot):
            out = upper if order == slot + 1 else lower
            low, high = tables.triples.start[tree], tables.triples.start[tree + 1]
            a, b = (1, 2) if slot == 0 else (0, 2) if slot == 1 else (0, 1)
            if low < high and DENSE * count[a] * count[b] > out.size * out.size:
                add_triples(tables.triples.rows[low:high], tables.triples.cost[low:high], x[a], x[b], out)
            else:
                add_fibers(tables.fibers, tree, slot, x, support, count, out)
    return True


@compiled
def list_supports(x, support, count):
    for b in range(x.shape[0]):
        count[b] = list_support(x[b], support[b])
