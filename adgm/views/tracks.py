"""Tracks: one array of numbers per view, which says for every point the track that it is on.

Every point is on a track; a point that is matched to no other is on a track of its own. A track passes through a view
at most once, so that the matchings of all pairs follow from it, and they never contradict each other.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from adgm._kernels import FloatArray, LongArray

Tracks = tuple[LongArray, ...]
Couple = tuple[int, int]


def numbered(labels: Sequence[LongArray]) -> Tracks:
    """The same tracks numbered 0, 1, 2 … in the order in which the views meet them."""
    every = np.concatenate([*labels, np.empty(0, np.int64)]).astype(np.int64)
    _, first, of = np.unique(every, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return tuple(np.split(rank[of], np.cumsum([len(one) for one in labels])[:-1]))


def alone(sizes: Sequence[int]) -> Tracks:
    """Every point on a track of its own."""
    return tuple(np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1]))


def count(tracks: Sequence[LongArray]) -> int:
    """How many numbers are needed: the largest and one."""
    return 1 + max((int(one.max()) for one in tracks if len(one)), default=-1)


def points(labels: LongArray, tracks: int) -> LongArray:
    """For every track the point of one view that is on it, −1 for none."""
    at = np.full(tracks, -1)
    at[labels] = np.arange(len(labels))
    return at


def table(tracks: Tracks) -> LongArray:
    """(tracks, views): the point of each view that is on each track, −1 for none."""
    total = count(tracks)
    return np.stack([points(one, total) for one in tracks], axis=1) if tracks else np.empty((0, 0), np.int64)


def matching(tracks: Tracks, i: int, j: int) -> LongArray:
    """For every point of view i its partner in view j, −1 for none."""
    return points(tracks[j], count(tracks))[tracks[i]]


def of_matchings(sizes: Sequence[int], matchings: Mapping[Couple, LongArray]) -> Tracks:
    """Points that pairwise matchings lead to from one another, as tracks; where these lead to two points of one view,
    nothing is believed: all of its points are alone."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first = np.concatenate([[0], np.cumsum(sizes)])
    ends = [np.empty((2, 0), np.int64)]
    for (i, j), partner in matchings.items():
        p = np.flatnonzero(partner >= 0)
        ends.append(np.stack([first[i] + p, first[j] + partner[p]]))
    a, b = np.concatenate(ends, axis=1)
    size = int(first[-1])
    label = connected_components(coo_array((np.ones(len(a)), (a, b)), shape=(size, size)), directed=False)[1]
    view = np.repeat(np.arange(len(sizes)), sizes)
    _, place, times = np.unique(label * len(sizes) + view, return_inverse=True, return_counts=True)
    wrong = np.isin(label, label[times[place] > 1])
    label = np.where(wrong, size + np.arange(size), label)
    return numbered(np.split(label, first[1:-1]))


def check(tracks: Sequence[LongArray], sizes: Sequence[int]) -> Tracks:
    """Tracks of so many points per view, each at most once in a view; numbered."""
    if len(tracks) != len(sizes):
        raise ValueError(f"there must be one array of tracks per view, {len(sizes)}, got {len(tracks)}")
    for view, (one, size) in enumerate(zip(tracks, sizes, strict=True)):
        if np.shape(one) != (size,):
            raise ValueError(f"the tracks of view {view} must have shape ({size},), got {np.shape(one)}")
        if len(np.unique(one)) < size:
            raise ValueError(f"a track passes through view {view} more than once")
    return numbered([np.asarray(one, np.int64) for one in tracks])


def both_ways(sizes: Sequence[int], matchings: Mapping[Couple, LongArray]) -> dict[Couple, LongArray]:
    """The matchings i → j, and the same as j → i."""
    found = dict(matchings)
    for (i, j), partner in matchings.items():
        back = np.full(sizes[j], -1)
        p = np.flatnonzero(partner >= 0)
        back[partner[p]] = p
        found[j, i] = back
    return found


def cycle_errors(sizes: Sequence[int], matchings: Mapping[Couple, LongArray]) -> FloatArray:
    """(m, m): the share of contradictions between pairs i → j and the ways i → k → j over third views.

    Of all points of i whose way over k ends at a point of j, those that i → j leads elsewhere or nowhere; nan where
    there is no such point, or no third view was compared with both. Both directions count.
    """
    m = len(sizes)
    both = both_ways(sizes, matchings)
    wrong, seen = np.zeros((m, m)), np.zeros((m, m))
    for (i, j), direct in both.items():
        for k in range(m):
            if (i, k) not in both or (k, j) not in both:
                continue
            way = np.where(both[i, k] >= 0, both[k, j][both[i, k]], -1) if sizes[k] else np.full(sizes[i], -1)
            ends = way >= 0
            wrong[i, j] += (direct[ends] != way[ends]).sum()
            seen[i, j] += ends.sum()
    wrong, seen = wrong + wrong.T, seen + seen.T
    share: FloatArray = np.divide(wrong, seen, out=np.full((m, m), np.nan), where=seen > 0)
    return share
