"""Building compressed fibers from index rows, and finding out which rows say the same."""

import numpy as np

from adgm._kernels.types import compiled, overwrite

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ / golden ratio: spreads numbers over all 64 bits


@compiled
def bucket_order(rest, first, last, n, order, other, start):
    """The order that sorts the rows first … last of `rest` (entries in 0 … n−1), in order[: last − first].

    Stable counting passes, one a column; short buckets are sorted by insertion, which then costs no more.
    """
    m, width = last - first, rest.shape[1]
    for k in range(m):
        order[k] = k
    if m * m <= 4 * n and float(n) ** width < 2.0**62:
        for k in range(m):
            code = np.int64(0)
            for column in range(width):
                code = code * n + rest[first + k, column]
            at = k
            while at > 0 and other[at - 1] > code:
                other[at], order[at] = other[at - 1], order[at - 1]
                at -= 1
            other[at], order[at] = code, k
        return
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
    stop, target, value.

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
    child = np.zeros(base[levels], np.uint32)
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
    stop = np.empty_like(child)
    for p in range(child.size):
        stop[p] = child[p + 1] if p + 1 < child.size else leaf_base + m
    return root, key, child, stop, target, unsorted


@compiled
def ascending(a, b, c):
    """The three numbers in ascending order, without a branch to guess wrong."""
    low, high = min(a, min(b, c)), max(a, max(b, c))
    return low, a + b + c - low - high, high


@compiled
def put_leaf(stop, target, value, node, variable, cost):
    at = stop[node]
    target[at], value[at] = variable, cost
    stop[node] += 1


@compiled
def grow_triples(index, cost, n, node_base, leaf_base):
    """`grow_tree` of a symmetric tensor of third order, whose rows stand for all orderings, without sorting it.

    Every variable's nodes have all n keys, so that a node is found by its number. What (j, k) leads to, (k, j) leads to
    as well: such leaves are stored once, with the smaller key first, those of a pair in the order of the rows. Where a
    row has a variable twice, two of its orderings meet in one leaf.
    """
    start = np.zeros(n * n + 1, np.uint32)
    for r in range(len(index)):
        a, b, c = ascending(index[r, 0], index[r, 1], index[r, 2])
        start[a * n + b + 1] += 1
        start[a * n + c + 1] += 1
        start[b * n + c + 1] += 1
    for p in range(n * n):
        start[p + 1] += start[p]
    stop = start[:-1].copy()  # where the next leaf goes, and so in the end where they stop
    target, value = np.empty(3 * len(index), np.uint32), np.empty(3 * len(index))
    for r in range(len(index)):
        a, b, c = ascending(index[r, 0], index[r, 1], index[r, 2])
        put_leaf(stop, target, value, a * n + b, c, cost[r] if a < b else 2.0 * cost[r])
        put_leaf(stop, target, value, a * n + c, b, cost[r] if a < c else 2.0 * cost[r])
        put_leaf(stop, target, value, b * n + c, a, cost[r] if b < c else 2.0 * cost[r])
    child, key = start[:-1], np.empty(n * n, np.uint32)
    for j in range(n):
        for k in range(j):
            child[j * n + k] = child[k * n + j]
            stop[j * n + k] = stop[k * n + j]
        for k in range(n):
            key[j * n + k] = k
    if leaf_base:
        for p in range(n * n):
            child[p] += leaf_base
            stop[p] += leaf_base
    return node_base + n * np.arange(n + 1), key, child, stop, target, value


@compiled
def scrambled(x):
    """A number of 64 bits in which every bit depends on every bit of x (the last steps of MurmurHash3)."""
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return x ^ (x >> np.uint64(33))


@compiled
def survey_copies(index, cost, bits, n, rows, costs):
    """For each of the six orderings of a triple, its number of rows and a sum of numbers scrambled from the variables
    and the bits of the cost: (6, 2); all 0 if a variable comes twice in a row, or too many ascend.

    Rows that ascend are written to `rows` and `costs`. Equal sums mean equal triples at equal costs, as surely as 64
    bits can tell.
    """
    found = np.zeros((6, 2), np.uint64)
    for r in range(len(index)):
        i, j, k = index[r, 0], index[r, 1], index[r, 2]
        a, b, c = ascending(i, j, k)
        ordering = 3 * (i > j) + (j > k) + (i > k)  # 0 … 5
        if a == b or b == c or (ordering == 0 and found[0, 0] == len(rows)):
            return np.zeros_like(found)
        if ordering == 0:
            at = found[0, 0]
            rows[at, 0], rows[at, 1], rows[at, 2] = i, j, k
            costs[at] = cost[r]
        found[ordering, 0] += np.uint64(1)
        found[ordering, 1] += scrambled(np.uint64((a * n + b) * n + c) * GOLDEN + bits[r])
    return found
