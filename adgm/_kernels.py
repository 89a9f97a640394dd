"""Every compiled function: flat arrays in, no checks, the GIL released.

Callers (`_tables.py`, `solver.py`, `projections.py`) validate; the kernels only compute. Compiled code is cached on
disk, so a second process does not compile. Iterates are sparse after a projection, so contractions walk non-zeros.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
LongArray = NDArray[np.int64]

# What a block's group of entries (a row or a column of the assignment) must satisfy.
BOX, CAPPED, SIMPLEX = 0, 1, 2  # 0 ≤ x ≤ 1;  x ≥ 0 and sum ≤ 1;  x ≥ 0 and sum = 1

# Why `admm` returned.
RAN, CONVERGED, INCREASED, MISSING = 0, 1, 2, 3

# Reassociation lets sums use vector registers; NaN and infinity keep their meaning.
compiled = njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})


class Columns(NamedTuple):
    """Stored columns of the pairwise matrix: column j of it is `data[slot[j]]`, or not there if slot[j] < 0."""

    slot: IntArray
    data: FloatArray
    used: LongArray  # when a stored column was last needed, in calls of `admm`


class Fibers(NamedTuple):
    """Sparse tensors in compressed fibers: a tree over all modes but the open one, the open mode in its leaves.

    Tree t serves potentials of `order[t]` with the mode `open[t]` left open (−1: any mode, the tensor is symmetric).
    Its nodes for the first key j are root[t, j] … root[t, j+1]; a node p has the key `key[p]` and the children
    child[p] … child[p+1]; a leaf e adds value[e] · (product of the keys' entries) to target[e]. With order 2
    the root points straight at leaves.
    """

    order: LongArray
    open: LongArray
    root: LongArray
    key: IntArray
    child: LongArray
    target: IntArray
    value: FloatArray


class Tables(NamedTuple):
    """A problem as the kernels see it."""

    unary: FloatArray
    pairwise: int  # 1 if there are columns
    column: Columns  # F[:, j], for the first mode left open
    row: Columns  # F[j, :], for the second mode left open; the same arrays where F is symmetric
    fibers: Fibers


class Groups(NamedTuple):
    """The rows or the columns of the assignment: group g holds the variables member[start[g] … start[g+1]]."""

    start: LongArray
    member: IntArray
    kind: int  # BOX, CAPPED or SIMPLEX


@compiled
def simplex_threshold(value, size, kept, waiting):
    """τ with Σ max(value − τ, 0) = 1: Condat's scan (2016), linear in practice. `kept`, `waiting`: scratch."""
    kept[0] = value[0]
    n_kept, n_waiting = 1, 0
    tau = value[0] - 1.0
    for i in range(1, size):
        v = value[i]
        if v > tau:
            tau += (v - tau) / (n_kept + 1)
            if tau > v - 1.0:
                kept[n_kept] = v
                n_kept += 1
            else:  # v alone exceeds all seen so far: start again from it, look at the others later
                for k in range(n_kept):
                    waiting[n_waiting + k] = kept[k]
                n_waiting += n_kept
                kept[0] = v
                n_kept = 1
                tau = v - 1.0
    for i in range(n_waiting):
        v = waiting[i]
        if v > tau:
            kept[n_kept] = v
            n_kept += 1
            tau += (v - tau) / n_kept
    while True:
        n_before = n_kept
        i = 0
        while i < n_kept:
            v = kept[i]
            if v <= tau and n_kept > 1:
                n_kept -= 1
                kept[i] = kept[n_kept]
                tau += (tau - v) / n_kept
            else:
                i += 1
        if n_kept == n_before:
            return tau


@compiled
def project(point, groups, result, value, kept, waiting):
    """Nearest point to `point` in the set of `groups`, written to `result`; the rest is scratch."""
    start, member, kind = groups.start, groups.member, groups.kind
    if kind == BOX:
        for i in range(point.size):
            result[i] = min(max(point[i], 0.0), 1.0)
        return
    for g in range(start.size - 1):
        lo, size = start[g], start[g + 1] - start[g]
        if size == 0:
            continue
        total, largest = 0.0, -np.inf
        for k in range(size):
            v = point[member[lo + k]]
            value[k] = v
            total += max(v, 0.0)
            largest = max(largest, v)
        if kind == CAPPED and total <= 1.0:
            for k in range(size):
                result[member[lo + k]] = max(value[k], 0.0)
            continue
        for k in range(size):  # the answer does not change with the level; near zero it is computed exactly
            value[k] -= largest
        tau = simplex_threshold(value, size, kept, waiting)
        for k in range(size):
            result[member[lo + k]] = max(value[k] - tau, 0.0)


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
        j = support[s]
        at, w = slot[j], x[j]
        used[at] = clock
        column = data[at]
        for i in range(out.size):
            out[i] += w * column[i]
    return True


@compiled
def add_fibers(fibers, tree, slot, x, support, count, out):
    """out += tree ⊗ (all blocks of x but the open one): depth first, over branches with a non-zero product."""
    order = fibers.order[tree]
    root, key, child = fibers.root[tree], fibers.key, fibers.child
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
                block = x[modes[level]]
                above = weight[level - 1]
                for p in range(at[level], end[level]):
                    w = block[key[p]]
                    if w != 0.0:
                        w *= above
                        for e in range(child[p], child[p + 1]):
                            out[target[e]] += w * value[e]
                at[level] = end[level]
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
                at[level], end[level] = child[p], child[p + 1]


@compiled
def contract(tables, clock, slot, x, support, count, given, use_given, lower, upper):
    """The block's linear term p_d of the paper, in two parts; returns False if a pairwise column is not stored.

    With the blocks x and the mode `slot` open: `upper` gets the potential whose last mode is open (its product with
    the new block is that potential's energy), `lower` those of higher order. `given` replaces the columns' part.
    """
    lower[:] = 0.0
    upper[:] = 0.0
    if slot == 0:
        upper[:] = tables.unary
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
            add_fibers(tables.fibers, tree, slot, x, support, count, out)
    return True


@compiled
def list_supports(x, support, count):
    for b in range(x.shape[0]):
        count[b] = list_support(x[b], support[b])


@compiled
def admm(
    tables, scale, first_groups, other_groups, parent, x, y, progress, schedule, clock,
    iterations, block, given, use_given, trace,
):  # fmt: skip
    """ADGM's loop: at most `iterations` iterations, from `block` of the current one; returns (done, why, block).

    x, y, progress and trace are updated in place. `progress` is ρ, best residual, iterations at this ρ, iterations
    after T1 in a row without improvement, increases so far, and the partial change and energy of an iteration that was
    interrupted by a missing column. `schedule` is β, T1, T2, ε, improvement factor, most increases. A trace row is
    gap, change, ρ, energy: what the iteration ended with, ρ as it was during it.
    """
    n_blocks, n = x.shape
    growth, warmup, patience, tolerance, improvement, most_increases = schedule
    ties = np.zeros(n_blocks)
    for e in range(n_blocks - 1):
        ties[parent[e]] += 1.0
        ties[e + 1] += 1.0
    support = np.empty((n_blocks, n), np.int32)
    count = np.empty(n_blocks, np.int64)
    list_supports(x, support, count)
    lower, upper, point, new = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    value, kept, waiting = np.empty(n), np.empty(n), np.empty(n)
    for done in range(iterations):
        rho = progress[0]
        for b in range(block, n_blocks):
            if not contract(tables, clock, b, x, support, count, given, use_given, lower, upper):
                return done, MISSING, b
            use_given = False
            # c_d = (1 / ρt) · (−p + Σ over its t ties (ρ · other block ± dual)): eqs. (v1-c1) … (v2-cd) at once
            shrink = -1.0 / (scale * rho * ties[b])
            for i in range(n):
                point[i] = shrink * (lower[i] + upper[i])
            for e in range(n_blocks - 1):
                if b == e + 1 or b == parent[e]:
                    other, sign = (parent[e], 1.0) if b == e + 1 else (e + 1, -1.0)
                    a, s = 1.0 / ties[b], sign / (rho * ties[b])
                    for i in range(n):
                        point[i] += a * x[other, i] + s * y[e, i]
            project(point, first_groups if b == 0 else other_groups, new, value, kept, waiting)
            moved, energy = 0.0, 0.0
            for i in range(n):
                moved += (new[i] - x[b, i]) ** 2
                energy += new[i] * upper[i]
                x[b, i] = new[i]
            count[b] = list_support(x[b], support[b])
            progress[5] += ties[b] * moved
            progress[6] += energy
        block = 0
        gap = 0.0
        for e in range(n_blocks - 1):
            for i in range(n):
                d = x[parent[e], i] - x[e + 1, i]
                y[e, i] += rho * d  # step 3: multipliers move with the disagreement
                gap += d * d
        residual = gap + progress[5]
        trace[done] = gap, progress[5], rho, progress[6]
        progress[5] = progress[6] = 0.0
        progress[2] += 1
        if residual <= improvement * progress[1]:
            progress[1] = residual
            progress[3] = 0
        elif progress[2] > warmup:
            progress[3] += 1
        if residual <= tolerance:
            return done + 1, CONVERGED, 0
        if growth > 1.0 and progress[3] > patience and progress[4] < most_increases:
            progress[0] = rho * growth
            progress[2] = progress[3] = 0
            progress[4] += 1
            return done + 1, INCREASED, 0
    return iterations, RAN, 0


@compiled
def sort_rows(index, n):
    """The order that sorts the rows of `index` (entries in 0 … n−1), by one stable counting pass a column."""
    m, width = index.shape
    order = np.arange(m)
    sorted_order = np.empty(m, np.int64)
    for column in range(width - 1, -1, -1):
        start = np.zeros(n + 1, np.int64)
        for r in range(m):
            start[index[r, column] + 1] += 1
        for v in range(n):
            start[v + 1] += start[v]
        for k in range(m):
            r = order[k]
            v = index[r, column]
            sorted_order[start[v]] = r
            start[v] += 1
        order, sorted_order = sorted_order, order
    return order


@compiled
def grow_tree(index, cost, n, node_base, leaf_base):
    """The tree of `Fibers` over rows (keys …, target): root, key, child, target, value.

    Node and leaf numbers start at the bases, so that trees can be laid end to end; every level ends with a sentinel.
    """
    m, order = index.shape
    perm = sort_rows(index, n)
    levels = order - 2  # levels of nodes below the root
    sizes = np.zeros(levels, np.int64)
    for k in range(m):
        for level in range(levels):
            fresh = k == 0
            for c in range(level + 2):
                fresh = fresh or index[perm[k], c] != index[perm[k - 1], c]
            sizes[level] += fresh
    base = np.zeros(levels + 1, np.int64)
    for level in range(levels):
        base[level + 1] = base[level] + sizes[level] + 1
    key = np.zeros(base[levels], np.int32)
    child = np.zeros(base[levels], np.int64)
    target, value = np.empty(m, np.int32), np.empty(m)
    root = np.zeros(n + 1, np.int64)
    at = np.full(levels + 1, -1, np.int64)  # the newest node of each level; the last entry counts leaves
    for k in range(m):
        row = perm[k]
        fresh = k == 0
        if k == 0 or index[row, 0] != index[perm[k - 1], 0]:
            fresh = True
        for level in range(levels):
            fresh = fresh or index[row, level + 1] != index[perm[k - 1], level + 1]
            if fresh:
                at[level] += 1
                p = base[level] + at[level]
                key[p] = index[row, level + 1]
                below = k if level == levels - 1 else at[level + 1] + 1
                child[p] = below + (leaf_base if level == levels - 1 else node_base + base[level + 1])
                if level == 0:
                    root[index[row, 0] + 1] += 1
        if levels == 0:
            root[index[row, 0] + 1] += 1
        target[k], value[k] = index[row, order - 1], cost[row]
    for level in range(levels):  # sentinels: where the last node's children end
        p = base[level] + sizes[level]
        child[p] = leaf_base + m if level == levels - 1 else node_base + base[level + 1] + sizes[level + 1]
    root[0] = leaf_base if levels == 0 else node_base
    for j in range(n):
        root[j + 1] += root[j]
    return root, key, child, target, value
