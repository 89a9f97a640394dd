"""Some kernels in NumPy, under their own names: those that a first run would interpret for longest, being long loops
over much. See `interpreted`."""

import numpy as np


def add_columns(columns, clock, x, support, count, out):
    place = columns.slot[support[:count]]
    if (place < 0).any():
        return False
    columns.used[place] = clock
    out += x[support[:count]] @ columns.data[place]
    return True


def add_triples(index, cost, a, b, out):
    for open_mode in range(3):
        one, other = (index[:, mode] for mode in range(3) if mode != open_mode)
        out += np.bincount(index[:, open_mode], cost * (a[one] * b[other] + a[other] * b[one]), len(out))


def repeats(lines):
    ascending = np.sort(lines, axis=1)
    return bool((ascending[:, 1:] == ascending[:, :-1]).any())


def grow_triples(index, cost, n, node_base, leaf_base):
    a, b, c = np.sort(index, axis=1).astype(np.int64).T
    pair = np.stack([a * n + b, a * n + c, b * n + c], axis=1).ravel()
    weight = cost[:, None] * np.where(np.stack([a == b, a == c, b == c], axis=1), 2.0, 1.0)
    order = np.argsort(pair, kind="stable")
    last = np.cumsum(np.bincount(pair, minlength=n * n))
    below = np.tri(n, k=-1, dtype=np.bool_)  # what (j, k) leads to, (k, j) leads to as well
    first, last = (each.reshape(n, n) for each in (np.append(0, last[:-1]), last))
    child, stop = (np.where(below, each.T, each).ravel() + leaf_base for each in (first, last))
    key = np.tile(np.arange(n, dtype=np.uint32), n)
    target = np.stack([c, b, a], axis=1).ravel()[order].astype(np.uint32)
    root = node_base + n * np.arange(n + 1)
    return root, key, child.astype(np.uint32), stop.astype(np.uint32), target, weight.ravel()[order]
