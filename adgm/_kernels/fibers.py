"""Building compressed fibers from index rows."""

import numpy as np

from adgm._kernels.types import compiled, overwrite


@compiled
def bucket_order(rest, first, last, n, order, other, start):
    """The order that sorts the rows first … last of `rest` (entries in 0 … n−1), in order[: last − first].

    Stable counting passes, one a column, where they are cheap; a comparison sort of short buckets.
    """
    m, width = last - first, rest.shape[1]
    if m * 16 < n and float(n) ** width < 2.0**62:
        code = np.zeros(m, np.int64)
        for k in range(m):
            for column in range(width):
                code[k] = code[k] * n + rest[first + k, column]
        overwrite(order[:m], np.argsort(code, kind="mergesort"))
        return
    for k in range(m):
        order[k] = k
    for column in range(width - 1, -1, -1):
        start[:] = 0
        for k in range(m):
            start[rest[first + k, column] + 1] += 1
        for v in range(n):
            start[v + 1] += start[v]
        for k in range(m):
            v = rest[first + order[k], column]
            other[start[v]] = order[k]
            start[v] += 1
        overwrite(order[:m], other[:m])


@compiled
def grow_tree(index, cost, orderings, n, node_base, leaf_base):
    """The tree of `Fibers` over rows (keys …, target), every row of `index` in all `orderings`: root, key, child,
    target, value.

    Node and leaf numbers start at the bases, so that trees can be laid end to end; every level ends with a sentinel.
    Rows go to the bucket of their first key, which is small enough to be sorted within the processor's cache.
    """
    order = index.shape[1]
    m = len(index) * len(orderings)
    bucket = np.zeros(n + 1, np.int64)
    for r in range(len(index)):
        for p in range(len(orderings)):
            bucket[index[r, orderings[p, 0]] + 1] += 1
    for v in range(n):
        bucket[v + 1] += bucket[v]
    filled = bucket[:-1].copy()
    rest, unsorted = np.empty((m, order - 1), np.uint32), np.empty(m)
    for r in range(len(index)):
        for p in range(len(orderings)):
            first = index[r, orderings[p, 0]]
            at = filled[first]
            filled[first] += 1
            for c in range(1, order):
                rest[at, c - 1] = index[r, orderings[p, c]]
            unsorted[at] = cost[r]
    longest = (bucket[1:] - bucket[:-1]).max() if n else 0
    perm, other = np.empty(longest, np.int64), np.empty(longest, np.int64)
    start = np.empty(n + 1, np.int64)
    levels = order - 2  # levels of nodes below the root
    sizes = np.zeros(levels, np.int64)
    line, ahead = np.empty((longest, order - 1), np.uint32), np.empty(longest)
    for v in range(n):  # sort in place, and count the nodes
        first, last = bucket[v], bucket[v + 1]
        if first == last:
            continue
        bucket_order(rest, first, last, n, perm, other, start)
        for k in range(last - first):
            overwrite(line[k], rest[first + perm[k]])
            ahead[k] = unsorted[first + perm[k]]
        for k in range(last - first):
            overwrite(rest[first + k], line[k])
            unsorted[first + k] = ahead[k]
            fresh = k == 0
            for level in range(levels):
                fresh = fresh or line[k, level] != line[k - 1, level]
                sizes[level] += fresh
    base = np.zeros(levels + 1, np.int64)
    for level in range(levels):
        base[level + 1] = base[level] + sizes[level] + 1
    key = np.zeros(base[levels], np.uint32)
    child = np.zeros(base[levels], np.int64)
    target = np.empty(m, np.uint32)
    root = np.zeros(n + 1, np.int64)
    at_level = np.full(levels + 1, -1, np.int64)  # the newest node of each level
    for v in range(n):
        for k in range(bucket[v], bucket[v + 1]):
            fresh = k == bucket[v]
            for level in range(levels):
                fresh = fresh or rest[k, level] != rest[k - 1, level]
                if fresh:
                    at_level[level] += 1
                    p = base[level] + at_level[level]
                    key[p] = rest[k, level]
                    below = k if level == levels - 1 else at_level[level + 1] + 1
                    child[p] = below + (leaf_base if level == levels - 1 else node_base + base[level + 1])
                    if level == 0:
                        root[v + 1] += 1
            if levels == 0:
                root[v + 1] += 1
            target[k] = rest[k, order - 2]
    for level in range(levels):  # sentinels: where the last node's children end
        p = base[level] + sizes[level]
        child[p] = leaf_base + m if level == levels - 1 else node_base + base[level + 1] + sizes[level + 1]
    root[0] = leaf_base if levels == 0 else node_base
    for j in range(n):
        root[j + 1] += root[j]
    return root, key, child, target, unsorted
