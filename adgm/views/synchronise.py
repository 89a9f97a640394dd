"""Spectral synchronisation: tracks that agree with as many pairwise matchings as possible (Pachauri, Kondor and Singh,
NeurIPS 2013), for points that some views do not see: points whose rows of the leading eigenvectors agree are one."""

from collections.abc import Mapping, Sequence

import numpy as np

from adgm._kernels import FloatArray, LongArray
from adgm.machine.deadline import check_time
from adgm.views.tracks import Couple, Tracks, numbered

SHARE = 0.25  # of the views: an eigenvalue tells in about how many of them a group of points is seen
ALIKE = 0.5  # the least cosine between a point and the track that it joins


def synchronised(sizes: Sequence[int], matchings: Mapping[Couple, LongArray], *, complete: bool) -> Tracks:
    """Tracks from pairwise matchings; `complete`: each passes through all views, which have equally many points."""
    first = np.concatenate([[0], np.cumsum(sizes)])
    rows = embedding(sizes, matchings, complete=complete)
    check_time()
    lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    rows = rows / lengths
    order = np.argsort([-size for size in sizes], kind="stable").tolist()
    labels: list[LongArray] = [np.empty(0, np.int64)] * len(sizes)
    sums = np.empty((0, rows.shape[1]))
    for view in order:
        own = rows[first[view] : first[view + 1]]
        label = _joined(own, sums, complete)
        new = label < 0
        label[new] = len(sums) + np.arange(int(new.sum()))
        sums = np.concatenate([sums, np.zeros((int(new.sum()), rows.shape[1]))])
        np.add.at(sums, label, own)
        labels[view] = label
    return numbered(labels)


def _joined(own: FloatArray, sums: FloatArray, complete: bool) -> LongArray:
    """The tracks that points join, −1 for none."""
    from scipy.optimize import linear_sum_assignment

    label = np.full(len(own), -1)
    if not len(sums) or not len(own):
        return label
    alike = own @ (sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)).T
    at, column = linear_sum_assignment(alike if complete else np.maximum(alike - ALIKE, 0.0), maximize=True)
    kept = np.ones(len(at), bool) if complete else alike[at, column] > ALIKE
    label[at[kept]] = column[kept]
    return label


def embedding(sizes: Sequence[int], matchings: Mapping[Couple, LongArray], *, complete: bool) -> FloatArray:
    """(points of all views, d): the leading eigenvectors of the matrix of all matchings."""
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import eigsh

    first = np.concatenate([[0], np.cumsum(sizes)])
    n = int(first[-1])
    ends = [np.stack([np.arange(n)] * 2)]
    for (i, j), partner in matchings.items():
        p = np.flatnonzero(partner >= 0)
        ends += [np.stack([first[i] + p, first[j] + partner[p]]), np.stack([first[j] + partner[p], first[i] + p])]
    a, b = np.concatenate(ends, axis=1)
    matrix = coo_array((np.ones(len(a)), (a, b)), shape=(n, n)).tocsr()
    least = max(sizes, default=0)
    most = min(least if complete else 3 * least, n)
    if most >= n - 1 or n <= 600:
        values, vectors = np.linalg.eigh(matrix.toarray())
    else:
        values, vectors = eigsh(matrix, k=most, which="LA", v0=np.ones(n))
    order = np.argsort(-values)[:most]
    values, vectors = values[order], vectors[:, order]
    many = least if complete else max(least, int((values >= SHARE * len(sizes)).sum()))
    scaled: FloatArray = vectors[:, :many] * np.sqrt(np.maximum(values[:many], 0.0))
    return scaled
