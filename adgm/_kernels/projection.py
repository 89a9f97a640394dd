"""(29) v0-x-update: nearest points in the sets of the blocks, which are simplices, capped simplices and boxes."""

import numpy as np

from adgm._kernels.types import BOX, CAPPED, compiled


@compiled
def project(point, groups, result, value, kept):
    """Nearest point to `point` in the set of `groups`, written to `result`; the rest is scratch.

    On the simplex the answer is max(v − τ, 0) for the τ that makes the sum 1. No entry more than 1 below the largest
    can stay positive; of the others those below the mean excess go until none does (Michelot 1986).
    """
    start, member, kind = groups.start, groups.member, groups.kind
    if kind == BOX:
        for i in range(point.size):
            result[i] = min(max(point[i], 0.0), 1.0)
        return
    for g in range(start.size - 1):
        lo, size = start[g], start[g + 1] - start[g]
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
        count, total = 0, 0.0
        for k in range(size):  # the answer does not change with the level; near zero it is computed exactly
            v = value[k] - largest
            value[k] = v
            if v > -1.0:
                kept[count] = v
                count += 1
                total += v
        tau, before = (total - 1.0) / max(count, 1), 0
        while count != before:
            before, count, total = count, 0, 0.0
            for k in range(before):
                v = kept[k]
                if v > tau:
                    kept[count] = v
                    count += 1
                    total += v
            tau = (total - 1.0) / count
        for k in range(size):
            result[member[lo + k]] = max(value[k] - tau, 0.0)
