"""Building compressed fibers from index rows."""

import numpy as np

from adgm._kernels.types import compiled


@compiled
def sort_rows(index, n):
    """The order that sorts the rows of `index` (entries in 0 … n−1), by one stable counting pass a column."""
    m, width = index.shape
    order = np.arange(m).astype(np.uint32)
    sorted_order = np.empty(m, np.uint32)
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
    key = np.zeros(base[levels], np.uint32)
    child = np.zeros(base[levels], np.int64)
    target, value = np.empty(m, np.uint32), np.empty(m)
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
