"""Exchanging two tracks in some of the views, where that lowers the total energy.

Exchange tracks s and t in a set Z of views: what belongs to s there belongs to t afterwards. With all other tracks as
they are, the matching of a pair of views changes only if one of the two is in Z, and always to the same one. So the
energy changes by the sum of D_vw over the pairs that Z separates: a cut, and for all s, t at once a table of D. Merging
two tracks, splitting one (t is empty) and moving a point are exchanges, too.
"""

from collections.abc import Iterable
from math import inf

import numpy as np

from adgm._kernels import FloatArray, LongArray
from adgm.machine.deadline import check_time
from adgm.views.joint import JointProblem
from adgm.views.tracks import Couple, Tracks, count, numbered, points

FORBIDDEN = 1e30  # what a cut costs that joins what must not be joined


def exchanged(joint: JointProblem, tracks: Tracks, most: int = 1000) -> tuple[Tracks, int]:
    """Tracks that no exchange improves, and how many exchanges led there; at most so many."""
    labels = [one.copy() for one in tracks]
    total = count(tracks) + (not joint.complete)  # one more, which is empty
    scale = max((np.abs(joint.table(*couple).single).max(initial=0.0) for couple in joint.couples), default=0.0)
    costs = _Changes(joint, labels, total, joint.couples)
    made = 0
    while made < most:
        check_time()
        found = costs.best(1e-9 * max(scale, costs.scale))
        if found is None:
            break
        s, t, views = found
        _exchange(labels, s, t, views)
        made += 1
        if not joint.complete and not all((one == total - 1).sum() == 0 for one in labels):
            total += 1  # the empty track is in use: another one
            costs.grow(total)
        inside = set(views.tolist())
        costs.update([(i, j) for i, j in joint.couples if (i in inside) != (j in inside)])
    return numbered(labels), made


def _exchange(labels: list[LongArray], s: int, t: int, views: LongArray) -> None:
    for v in views.tolist():
        own = labels[v]
        at_s, at_t = own == s, own == t
        own[at_s], own[at_t] = t, s


class _Changes:
    """D for every pair of views: (pairs, tracks, tracks), by how much its energy changes if s and t are exchanged."""

    def __init__(self, joint: JointProblem, labels: list[LongArray], total: int, couples: Iterable[Couple]) -> None:
        self.joint, self.labels, self.total = joint, labels, total
        self.couples = list(couples)
        self.number = {couple: k for k, couple in enumerate(self.couples)}
        self.table = np.zeros((len(self.couples), total, total))
        self.scale = 0.0
        self.update(self.couples)

    def grow(self, total: int) -> None:
        larger = np.zeros((len(self.couples), total, total))
        larger[:, : self.total, : self.total] = self.table
        self.table, self.total = larger, total

    def update(self, couples: Iterable[Couple]) -> None:
        for couple in couples:
            check_time()
            self.table[self.number[couple]] = changes(self.joint, self.labels, couple, self.total)
        finite = np.abs(self.table[self.table < FORBIDDEN / 2])
        self.scale = float(finite.max(initial=0.0))

    def best(self, least: float) -> tuple[int, int, LongArray] | None:
        """The exchange that gains most, if any gains more than `least`."""
        m = len(self.joint.sizes)
        s, t = np.triu_indices(self.total, 1)
        costs = self.table[:, s, t]
        worth = np.flatnonzero(np.minimum(costs, 0.0).sum(axis=0) < -least)  # no cut gains more than all that gain
        if not len(worth):
            return None
        weights = np.zeros((len(worth), m, m))
        i, j = np.array(self.couples).T
        weights[:, i, j] = weights[:, j, i] = costs[:, worth].T
        sides, gains = least_cuts(weights)
        k = int(np.argmin(gains))
        if gains[k] >= -least:
            return None
        return int(s[worth[k]]), int(t[worth[k]]), np.flatnonzero(sides[k])


def least_cuts(weights: FloatArray) -> tuple[np.ndarray, FloatArray]:
    """For many graphs (k, m, m) a side of the nodes whose cut weighs little: from every single node, the best other one
    joins or leaves as long as that pays."""
    k, m = weights.shape[:2]
    best, least = np.zeros((k, m), bool), np.zeros(k)
    each = np.arange(k)
    for first in range(m - 1):  # the sides may be exchanged: the last node can stay
        side = np.zeros((k, m), bool)
        side[:, first] = True
        cut = weights[:, first].sum(axis=1)
        for _ in range(2 * m):
            sign = np.where(side, -1.0, 1.0)
            gain = np.einsum("kvw,kw->kv", weights, sign) * sign  # moving v: edges to its own side are cut, others not
            v = np.argmin(gain, axis=1)
            some = gain[each, v] < -1e-12 * np.maximum(1.0, np.abs(cut))
            if not some.any():
                break
            cut = np.where(some, cut + gain[each, v], cut)
            side[each[some], v[some]] ^= True
        better = cut < least
        best[better], least[better] = side[better], cut[better]
    return best, least


def changes(joint: JointProblem, labels: list[LongArray], couple: Couple, total: int) -> FloatArray:
    """(tracks, tracks): D of one pair of views."""
    table = joint.table(*couple)
    row, col = table.sides(False)
    left, right = labels[couple[0]][row], labels[couple[1]][col]
    lost, both, gained = np.zeros(total), np.zeros((total, total)), np.zeros((total, total))
    for index, costs in [(np.arange(len(left))[:, None], table.single), *table.parts]:
        _count(left[index], right[index], costs, lost, both, gained)
    if not table.layout.full:
        _count_absent(joint, labels, couple, lost, both, gained)
    found: FloatArray = both + both.T + gained + gained.T - lost[:, None] - lost
    np.fill_diagonal(found, 0.0)
    for i, p, j, q, together in joint.forced:
        if (i, j) in (couple, couple[::-1]):
            _keep(found, int(labels[i][p]), int(labels[j][q]), together)
    return found


def _keep(found: FloatArray, one: int, other: int, together: bool) -> None:
    """Forbid exchanges that part what must be together, or join what must not."""
    if together:
        found[one], found[:, one] = FORBIDDEN, FORBIDDEN
    else:
        found[one, other] = found[other, one] = FORBIDDEN


def _count(
    left: LongArray, right: LongArray, costs: FloatArray, lost: FloatArray, both: FloatArray, gained: FloatArray
) -> None:
    """What sets of variables (m, order) with these tracks on the left and on the right cost now, and after exchanges.

    A set is paid now if both tracks agree for all of it. It is lost in every exchange of one of its tracks. It is paid
    after the exchange of s and t if it agrees but for variables that join s and t. `both` and `gained` are counted on
    one side of the diagonal.
    """
    total = len(lost)
    same = left == right
    on = same.all(axis=1)
    for k in range(left.shape[1]):
        lost += np.bincount(left[on, k], costs[on], minlength=total)
        for other in range(k):  # counted as lost twice where both are exchanged
            both += _sums(left[on, k], left[on, other], costs[on], total)
    low, high = np.minimum(left, right), np.maximum(left, right)
    low, high = np.where(same, total, low), np.where(same, -1, high)
    s, t = low.min(axis=1), high.max(axis=1)
    crossed = ~on & (same | ((low == s[:, None]) & (high == t[:, None]))).all(axis=1)
    gained += _sums(s[crossed], t[crossed], costs[crossed], total)


def _sums(one: LongArray, other: LongArray, costs: FloatArray, total: int) -> FloatArray:
    sums: FloatArray = np.bincount(one * total + other, costs, minlength=total * total).astype(np.float64)
    return sums.reshape(total, total)


def _count_absent(
    joint: JointProblem,
    labels: list[LongArray],
    couple: Couple,
    lost: FloatArray,
    both: FloatArray,
    gained: FloatArray,
) -> None:
    """The same for matches that are no candidates."""
    total = len(lost)
    at = [points(labels[view], total) for view in couple]
    known = np.zeros(joint.table(*couple).shape, bool)
    known.reshape(-1)[joint.table(*couple).layout.variables] = True
    there = (at[0] >= 0)[:, None] & (at[1] >= 0)
    lacking = there & ~known[np.ix_(np.maximum(at[0], 0), np.maximum(at[1], 0))]
    cost = FORBIDDEN if joint.absent is None else joint.absent
    if joint.absent is not None:
        lost += cost * lacking.diagonal()
    off = lacking.astype(float) * cost
    np.fill_diagonal(off, 0.0)
    gained += off


def gain(joint: JointProblem, tracks: Tracks, s: int, t: int, views: LongArray) -> float:
    """By how much the energy changes if two tracks are exchanged in some views, computed from scratch."""
    labels = [one.copy() for one in tracks]
    _exchange(labels, s, t, views)
    before, after = joint.energy(tracks), joint.energy(labels)
    return inf if after == inf else after - before
