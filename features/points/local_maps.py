"""Where a point may go, by its looks and by its neighbours: what the photograph model and the search for slants share.

A match i → s of two points with frames (position, size, angle: see `Keypoints.axes`) says how the picture moves around
i, and so predicts where each neighbour j must go. Candidates that predict one another vote; those with the most votes
are seeds. Points without a size and an angle predict nothing; of them the pairs are seeds that look alike by far more
than any other pair of the two points. The seeds around a point give the affine map that its surroundings follow, and
that map tells where the point itself is to be expected, however different it looks. No map of the whole picture is
assumed: things may bend and move.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # whose parts are imported when they are first used
from numpy.typing import NDArray

from features.latest import latest
from features.points.keypoints import Keypoints

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Looks = NDArray[np.float32]  # (n1, n2): how different two points look

VOTERS = 20  # neighbours that vote
FIRST = 3  # nearest looks, both ways, that are voted about
STRETCH = 0.35  # by how much of an edge's length the prediction of a frame may miss; a size and an angle are no better
SEEDS = 16  # nearest seeds that a local map is fitted to …
AGREE = 4  # … of which so many must agree
GROW = 2  # times that a local map makes new seeds, and they a better map …
GROW_CLEAR = 4  # … where the first seeds come from looks alone
CLEAR = 0.9  # such a seed is nearer than this share of the distance of the next one, on either side
NEAR = 8  # right points looked at around the place where one is expected
CHANCE = 0.1  # where a point is expected it must look more alike than this share of all pairs


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs (row, col) that may be matches, sorted, and what is known about each."""

    rows: Ints
    cols: Ints
    looks: Floats  # how different the two look
    miss: Floats  # pixels from the place where the neighbours expect the left point; inf: they expect nothing
    linear: Floats  # (m, 2, 2): how the picture moves around the left point if it is a match

    @property
    def expected(self) -> NDArray[np.bool_]:
        """Whether the neighbours of the left point say where it goes."""
        return np.isfinite(self.miss)


@dataclass(frozen=True, eq=False)
class Expected:
    """Where the seeds around every left point send it: a place, the linear part of their map, and if they agree."""

    place: Floats  # (n, 2)
    linear: Floats  # (n, 2, 2)
    agreed: NDArray[np.bool_]  # (n,)


def nearest_both_ways(looks: Looks, k: int) -> tuple[Ints, Ints]:
    """The k columns nearest to every row (n1, k), and the k rows nearest to every column (n2, k), nearest first."""
    return _nearest(looks, k), _nearest(looks.T, k)


def _nearest(looks: Looks, k: int) -> Ints:
    """The least entries of every row, one after the other: for a few of them faster than sorting parts."""
    left, rows = np.array(looks, order="C"), np.arange(len(looks))
    found = np.empty((len(looks), min(k, looks.shape[1])), np.int64)
    for place in range(found.shape[1]):
        found[:, place] = left.argmin(axis=1)
        left[rows, found[:, place]] = np.inf
    return found


def either_way(near: tuple[Ints, Ints], k: int) -> tuple[Ints, Ints]:
    """The pairs of which one is among the k nearest of the other, sorted by row and column."""
    right, left = near[0][:, :k], near[1][:, :k]
    n1, n2 = len(right), len(left)
    codes = np.concatenate(
        [(np.arange(n1)[:, None] * n2 + right).ravel(), (left * n2 + np.arange(n2)[:, None]).ravel()]
    )
    rows, cols = np.divmod(np.unique(codes), n2)
    return rows, cols


def neighbours(xy: Floats, k: int) -> Ints:
    """Edges (m, 2) from every point to its k nearest at other places, each once."""
    n = len(xy)
    if n < 2:
        return np.empty((0, 2), np.int64)
    distance, found = scipy.spatial.cKDTree(xy).query(xy, k=min(k + NEAR, n))
    elsewhere = distance > 1e-6  # a place with several orientations is several points
    i, position = np.nonzero(elsewhere & (np.cumsum(elsewhere, axis=1) <= k))
    codes = np.sort(np.stack([i, found[i, position]], 1), axis=1) @ [n, 1]
    return np.stack(np.divmod(np.unique(codes), n), 1)


def agreement(
    left: Floats, right: Floats, rows: Ints, cols: Ints, linear: Floats, edges: Ints, stretch: Floats, slack: float
) -> tuple[Ints, Ints, Floats]:
    """Candidates p, q of the two ends of an edge, and how well they predict each other: exp(−(e / (τℓ + b))²).

    e is the mean of the two errors |y_t − y_s − A (x_j − x_i)| that the linear maps A of i → s and of j → t make, ℓ the
    length of the edge on the right, τ the larger `stretch` of the two, b the `slack` in pixels; below 2 % nothing.
    """
    start = np.searchsorted(rows, np.arange(len(left) + 1))
    many = np.diff(start)
    i, j = edges.T
    one, place = _each(many[i])  # for every candidate of an edge's first end the edge, and which candidate it is
    first, (dx, dy) = start[i][one] + place, (left[j] - left[i]).T
    u, v = _turned(linear[first], dx[one], dy[one])
    at, place = _each(many[j][one])  # and the candidates of its second end beside each of these
    edge = one[at]
    p, q = first[at], start[j][edge] + place
    x, y = (right[cols[q]] - right[cols[p]]).T
    worst = 2.0 * (np.maximum(stretch[p], stretch[q]) * np.sqrt(x * x + y * y) + slack)
    error = np.sqrt((x - u[at]) ** 2 + (y - v[at]) ** 2)
    near = np.flatnonzero((error < 2.0 * worst) & (cols[p] != cols[q]))  # most do not come so far
    p, q, edge, x, y, worst = p[near], q[near], edge[near], x[near], y[near], worst[near]
    u, v = _turned(linear[q], dx[edge], dy[edge])
    ratio = (error[near] + np.sqrt((x - u) ** 2 + (y - v) ** 2)) / worst
    close = ratio < 2.0
    return p[close], q[close], np.exp(-(ratio[close] ** 2))


def _each(many: Ints) -> tuple[Ints, Ints]:
    """Each number from 0, repeated as often as asked for, and the index of each repetition."""
    number = np.repeat(np.arange(len(many)), many)
    return number, np.arange(len(number)) - np.repeat(np.cumsum(many) - many, many)


def _turned(linear: Floats, dx: Floats, dy: Floats) -> tuple[Floats, Floats]:
    """Where linear maps (m, 2, 2) take vectors."""
    return linear[:, 0, 0] * dx + linear[:, 0, 1] * dy, linear[:, 1, 0] * dx + linear[:, 1, 1] * dy


@latest
def seeds(
    left: Keypoints,
    right: Keypoints,
    looks: Looks,
    difference: float,
    slack: float,
) -> Ints:
    """Pairs (k, 2) that look alike and that their neighbours vote for, one to one; read only, as the next one who asks
    gets the same array."""
    rows, cols = either_way(nearest_both_ways(looks, FIRST), FIRST)
    linear = frame_maps(left, right, rows, cols)
    stretch = np.full(len(rows), STRETCH)
    p, q, vote = agreement(left.xy, right.xy, rows, cols, linear, neighbours(left.xy, VOTERS), stretch, slack)
    count = len(rows)
    votes = np.bincount(p, vote, count) + np.bincount(q, vote, count)
    value = votes + 1 - looks[rows, cols] / difference
    chosen = (value > 0) & _best_both_ways(rows, cols, value, looks.shape)
    both = chosen[p] & chosen[q]
    support = np.bincount(p[both], vote[both], count) + np.bincount(q[both], vote[both], count)
    chosen &= support >= 1
    found = np.stack([rows[chosen], cols[chosen]], 1)
    found.flags.writeable = False
    return found


def clear(looks: Looks, ratio: float = CLEAR) -> Ints:
    """Pairs (k, 2) of points that are each other's nearest, nearer than `ratio` times the next one on either side."""
    if min(looks.shape) < 2:
        return np.empty((0, 2), np.int64)
    right, left = nearest_both_ways(looks, 2)
    rows = np.flatnonzero(left[right[:, 0], 0] == np.arange(len(looks)))
    cols = right[rows, 0]
    other = np.minimum(looks[rows, right[rows, 1]], looks[left[cols, 1], cols])
    far = looks[rows, cols] < ratio * other
    return np.stack([rows[far], cols[far]], 1)


def _best_both_ways(rows: Ints, cols: Ints, value: Floats, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Which pairs are worth more than any other of their row and of their column; of equals the first."""
    best = np.ones(len(rows), bool)
    for line, side in ((rows, shape[0]), (cols, shape[1])):
        top = np.full(side, -np.inf)
        np.maximum.at(top, line, value)
        at_top = np.flatnonzero(value >= top[line])
        first = np.zeros(len(rows), bool)
        first[at_top[np.unique(line[at_top], return_index=True)[1]]] = True
        best &= first
    return best


def frame_maps(left: Keypoints, right: Keypoints, rows: Ints, cols: Ints) -> Floats:
    """(m, 2, 2): the linear map that turns the left point's frame into the right one's."""
    return np.asarray(right.axes[cols] @ np.linalg.inv(left.axes)[rows])


def local_maps(xy: Floats, seeded: Ints, right: Floats, slack: float) -> Expected:
    """For every point the affine map of the seeds around it, itself left out, fitted against outliers.

    Seeds count by nearness (a Gaussian as wide as their median distance) and by how well they fit (Cauchy's weights,
    four rounds). They agree if AGREE of them lie within twice the slack of their map and if the place it gives has a
    standard error below the slack.
    """
    n, count = len(xy), min(SEEDS, len(seeded) - 1)
    if count < AGREE:
        return Expected(xy, np.broadcast_to(np.eye(2), (n, 2, 2)), np.zeros(n, bool))
    source, target = xy[seeded[:, 0]], right[seeded[:, 1]]
    distance, found = scipy.spatial.cKDTree(source).query(xy, k=count + 1)
    own = seeded[found, 0] == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    found, distance = found[~own].reshape(n, count), distance[~own].reshape(n, count)
    reach = np.maximum(np.median(distance, axis=1), 1e-6)[:, None]
    design = np.concatenate([np.ones((n, count, 1)), (source[found] - xy[:, None]) / reach[:, :, None]], axis=2)
    wanted = target[found]
    near = np.exp(-0.5 * (distance / reach) ** 2)
    weight = near
    for _ in range(4):
        weighted = np.swapaxes(design * weight[:, :, None], 1, 2)
        normal = weighted @ design + 1e-4 * np.eye(3)
        solution = np.linalg.solve(normal, weighted @ wanted)
        error = np.linalg.norm(design @ solution - wanted, axis=2)
        fitted = weight
        weight = near / (1 + (error / np.maximum(1.5 * np.median(error, axis=1, keepdims=True), slack)) ** 2) ** 2
    spread = np.sqrt((fitted * error**2).sum(axis=1) / fitted.sum(axis=1))
    doubt = np.sqrt(np.linalg.inv(normal)[:, 0, 0]) * np.maximum(spread, 1.0)
    agreed = ((error < 2 * slack).sum(axis=1) >= AGREE) & (doubt < slack)
    return Expected(solution[:, 0], np.swapaxes(solution[:, 1:], 1, 2) / reach[:, :, None], agreed)


def vouched(left: Floats, right: Floats, found: Ints, slack: float) -> int:
    """How many seeds lie where the seeds around them send them: a measure that chance hardly reaches."""
    expected = local_maps(left[found[:, 0]], np.stack([np.arange(len(found)), found[:, 1]], 1), right, slack)
    miss = np.linalg.norm(expected.place - right[found[:, 1]], axis=1)
    return int((expected.agreed & (miss < 2 * slack)).sum())


def around(expected: Expected, right: Floats, reach: float) -> tuple[Ints, Ints]:
    """The pairs of a left point and a right one that lies within reach of where it is expected."""
    rows = np.flatnonzero(expected.agreed)
    if not len(rows):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    near = min(NEAR, len(right))
    distance, found = scipy.spatial.cKDTree(right).query(expected.place[rows], k=near, distance_upper_bound=reach)
    hit = np.isfinite(distance.reshape(len(rows), near))
    return np.repeat(rows, hit.sum(axis=1)), found.reshape(len(rows), near)[hit].astype(np.int64)


def propose(
    left: Keypoints, right: Keypoints, looks: Looks, *, count: int, difference: float, slack: float
) -> Candidates:
    """The candidates of every point: its `count` nearest looks, both ways, and what lies where it is expected.

    `looks` (n1, n2) tells how different two points look; a match that nobody vouches for pays up to half `difference`.
    `slack` in pixels: how far from its expected place a point may lie and still pay half of it.
    """
    common = float(np.quantile(looks[:: max(1, len(looks) // 100)], CHANCE))
    framed = left.framed and right.framed
    found = seeds(left, right, looks, difference / 2, slack) if framed else clear(looks)
    grow = GROW if framed else GROW_CLEAR
    for step in range(grow + 1):
        expected = local_maps(left.xy, found, right.xy, slack)
        rows, cols = around(expected, right.xy, 2 * slack)
        alike = looks[rows, cols] < common
        rows, cols = rows[alike], cols[alike]
        if step < grow:
            miss = np.linalg.norm(expected.place[rows] - right.xy[cols], axis=1)
            value = 1 - looks[rows, cols] / difference - (miss / (2 * slack)) ** 2
            better = (value > 0) & _best_both_ways(rows, cols, value, looks.shape)
            alone = found[~expected.agreed[found[:, 0]]]
            found = np.concatenate([np.stack([rows[better], cols[better]], 1), alone])
    usual = either_way(nearest_both_ways(looks, count), count)
    codes = np.unique(np.concatenate([usual[0] * looks.shape[1] + usual[1], rows * looks.shape[1] + cols]))
    rows, cols = np.divmod(codes, looks.shape[1])
    agreed = expected.agreed[rows]
    miss = np.where(agreed, np.linalg.norm(expected.place[rows] - right.xy[cols], axis=1), np.inf)
    linear = np.where((miss < 5 * slack)[:, None, None], expected.linear[rows], frame_maps(left, right, rows, cols))
    return Candidates(rows, cols, np.asarray(looks[rows, cols], np.float64), miss, linear)
