"""Where a point comes back to: along three views and back to the first, as pairwise matchings lead it."""

from collections.abc import Mapping, Sequence

import numpy as np

from adgm._kernels import LongArray
from adgm.views.tracks import Couple, both_ways


def returns(sizes: Sequence[int], matchings: Mapping[Couple, LongArray]) -> tuple[LongArray, ...]:
    """For every view (points, 2): along how many ways i → j → k → i a point comes back to itself, and along how many to
    another point of its view. Ways that end before count as neither."""
    every, views = both_ways(sizes, matchings), range(len(sizes))
    found = tuple(np.zeros((size, 2), np.int64) for size in sizes)
    for (i, j), first in every.items():
        for k in views:
            if (j, k) not in every or (k, i) not in every:
                continue
            p = np.flatnonzero(first >= 0)
            second = every[j, k][first[p]]
            p, second = p[second >= 0], second[second >= 0]
            end = every[k, i][second]
            np.add.at(found[i][:, 0], p[end == p], 1)
            np.add.at(found[i][:, 1], p[(end >= 0) & (end != p)], 1)
    return found
