"""Nearest points in the sets of the blocks: simplex, capped simplex, box."""

import numpy as np

from adgm._kernels.types import BOX, CAPPED, compiled


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
