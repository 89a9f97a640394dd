"""What variables cost in hyperedges whose other variables are on: walks over the symmetric trees of `Fibers`."""

import numpy as np

from adgm._kernels.types import compiled, inlined


@inlined
def whole(order, root, t, v, n):
    """Whether the nodes below the root v have all n keys, so that a node is found by its number."""
    return order > 2 and root[t, v + 1] - root[t, v] == n


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
def walk(key, child, stop, target, value, on, first, last, levels, share, out):
    """`reap` the leaves below the nodes first … last, `levels` levels down, along keys that are on."""
    total = 0.0
    if levels == 0:
        total = reap(target, value, on, first, last, share, out)
    elif levels == 1:
        for p in range(first, last):
            if on[key[p]]:
                total += reap(target, value, on, np.int64(child[p]), np.int64(stop[p]), share, out)
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
                    total += reap(target, value, on, np.int64(child[p]), np.int64(stop[p]), share, out)
                else:
                    level += 1
                    at[level], end[level] = child[p], stop[p]
    return total


@compiled
def hyperedges(orders, opens, root, key, child, stop, target, value, on, v):
    """Σ costs of the hyperedges of v whose other variables are all on, over the symmetric trees of `Fibers`.

    A leaf below the root v is one ordering of the others; v itself can stand in any of the modes.
    """
    total, nowhere = 0.0, np.empty(0)
    for t in range(orders.size):
        if opens[t] < 0:
            below = walk(key, child, stop, target, value, on, root[t, v], root[t, v + 1], orders[t] - 2, 0.0, nowhere)
            total += orders[t] * below
    return total


@compiled
def spread(orders, opens, root, key, child, stop, target, value, on, held, v, sign, edges):
    """edges += sign · (what every other variable costs in hyperedges with v and variables that are on).

    `held`: the numbers of those that are on, and negative ones; or nothing, and only `on` knows.
    """
    for t in range(orders.size):
        if opens[t] >= 0:
            continue
        share = sign * orders[t] * (orders[t] - 1)  # both can stand in any of the modes
        if orders[t] == 3 and held.size and whole(orders[t], root, t, v, on.size):
            for k in range(held.size):
                if held[k] >= 0:
                    p = root[t, v] + held[k]
                    for e in range(np.int64(child[p]), np.int64(stop[p])):
                        edges[target[e]] += share * value[e]
        else:
            walk(key, child, stop, target, value, on, root[t, v], root[t, v + 1], orders[t] - 2, share, edges)


@compiled
def joint(orders, opens, root, key, child, stop, target, value, on, v, w):
    """Σ costs of the hyperedges of v and w whose other variables are all on."""
    total = 0.0
    for t in range(orders.size):
        if opens[t] < 0:
            order = orders[t]
            among = target if order == 2 else key
            first, last = root[t, v], root[t, v + 1]
            if whole(order, root, t, v, on.size):
                first = last = first + w
            while first < last:  # keys are sorted, and so are the leaves of a node
                middle = (first + last) // 2
                if among[middle] < w:
                    first = middle + 1
                else:
                    last = middle
            while first < root[t, v + 1] and among[first] == w:
                if order == 2:
                    total += 2.0 * value[first]
                elif order == 3:
                    for e in range(np.int64(child[first]), np.int64(stop[first])):
                        if on[target[e]]:
                            total += 6.0 * value[e]
                else:
                    low, high = np.int64(child[first]), np.int64(stop[first])
                    below = walk(key, child, stop, target, value, on, low, high, order - 3, 0.0, np.empty(0))
                    total += order * (order - 1) * below
                first += 1
    return total


@compiled
def least_joint(root, child, stop, target, value, row, begin, end, least):
    """least (n, n1): for every variable and row, the least that `joint` can say of the variable and one of that row,
    whatever is on; what the variables from `begin` to `end` have to do with later ones. For one symmetric tree of third
    order with `whole` nodes, where a row has at most one variable on."""
    n, n1 = least.shape
    cost, low = np.zeros(n), np.zeros(n1)
    for v in range(begin, end):
        for w in range(v + 1, n):
            total, first, last = 0.0, np.int64(child[root[0, v] + w]), np.int64(stop[root[0, v] + w])
            for e in range(first, last):
                i = row[target[e]]
                cost[target[e]] += value[e]  # a hyperedge can be given several times
                if cost[target[e]] < low[i]:
                    total += 6.0 * (cost[target[e]] - low[i])
                    low[i] = cost[target[e]]
            for e in range(first, last):
                cost[target[e]] = low[row[target[e]]] = 0.0
            if total < 0.0:
                least[v, row[w]] = min(least[v, row[w]], total)
                least[w, row[v]] = min(least[w, row[v]], total)
