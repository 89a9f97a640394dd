"""Exchanging two tracks in some of the views, where that lowers the total energy.

Exchange tracks s and t in a set Z of views: what belongs to s there belongs to t afterwards. With all other tracks as
they are, the matching of a pair of views changes only if one of the two is in Z, and always to the same one. So the
energy changes by the sum of D_vw over the pairs that Z separates: a cut, and for all s, t at once a table of D. Merging
two tracks, splitting one (t is empty) and moving a point are exchanges, too.
"""

from math import inf

import numpy as np

from adgm._kernels import FloatArray, LongArray
from adgm.machine.deadline import check_time
from adgm.views.joint import JointProblem, Part
from adgm.views.tracks import Couple, Tracks, count, numbered, points

FORBIDDEN = 1e30  # what a cut costs that joins what must not be joined
PRECISION = 1e-9  # the least gain, as a share of what is compared
TRIED = 200  # exchanges of one round: all promise something before the first of them is made


def exchanged(joint: JointProblem, tracks: Tracks) -> tuple[Tracks, int]:
    """Tracks that no exchange improves, as far as `least_cuts` sees, and how many exchanges led there."""
    labels = [one.copy() for one in tracks]
    energies = {couple: joint.pair_energy(labels, couple) for couple in joint.couples}
    made = 0
    while True:
        kept = 0
        total = count(labels) + (not joint.complete)  # one more, which is empty
        for s, t, views in _promising(joint, labels, total)[:TRIED]:
            check_time()
            _exchange(labels, s, t, views)
            inside = set(views.tolist())
            apart = [(i, j) for i, j in joint.couples if (i in inside) != (j in inside)]
            after = {couple: joint.pair_energy(labels, couple) for couple in apart}
            before = {couple: energies[couple] for couple in apart}
            size = sum(map(abs, (*before.values(), *after.values())))
            if sum(after.values()) < sum(before.values()) - PRECISION * size:
                energies |= after
                kept += 1
            else:  # those before it have changed what it is worth
                _exchange(labels, s, t, views)
        made += kept
        if not kept:
            return numbered(labels), made


def _promising(joint: JointProblem, labels: list[LongArray], total: int) -> list[tuple[int, int, LongArray]]:
    """Exchanges that gain as things are, what gains most first."""
    m, (s, t) = len(joint.sizes), np.triu_indices(total, 1)
    costs = np.zeros((len(s), m, m))
    least = 0.0
    for i, j in joint.couples:
        check_time()
        changed = changes(joint, labels, (i, j), total)[s, t]
        costs[:, i, j] = costs[:, j, i] = changed
        least = max(least, PRECISION * float(np.abs(changed[changed < FORBIDDEN / 2]).max(initial=0.0)))
    worth = np.flatnonzero(np.minimum(costs, 0.0).sum(axis=(1, 2)) < -least)  # no cut gains more than all that gain
    if not len(worth):
        return []
    sides, gains = least_cuts(costs[worth])
    order = np.argsort(gains, kind="stable")
    return [(int(s[worth[k]]), int(t[worth[k]]), np.flatnonzero(sides[k])) for k in order if gains[k] < -least]


def _exchange(labels: list[LongArray], s: int, t: int, views: LongArray) -> None:
    for v in views.tolist():
        own = labels[v]
        at_s, at_t = own == s, own == t
        own[at_s], own[at_t] = t, s


def least_cuts(weights: FloatArray) -> tuple[np.ndarray, FloatArray]:
    """For many graphs (k, m, m) a side of the nodes whose cut weighs little: from every single node, the best other one
    joins or leaves as long as that pays."""
    k, m = weights.shape[:2]
    best, least = np.zeros((k, m), bool), np.zeros(k)
    each = np.arange(k)
    for first in range(m - 1):  # the sides may be exchanged: the last node can stay
        side = np.zeros((k, m), bool)
        side[:, first] = True
        for _ in range(2 * m):
            sign = np.where(side, -1.0, 1.0)
            gain = np.einsum("kvw,kw->kv", weights, sign) * sign  # of moving v: edges to its own side are cut then
            v = np.argmin(gain, axis=1)
            some = gain[each, v] < -PRECISION * np.abs(weights[each, v]).max(axis=1)
            if not some.any():
                break
            side[each[some], v[some]] ^= True
        cut = (weights * (side[:, :, None] & ~side[:, None])).sum(axis=(1, 2))
        better = cut < least
        best[better], least[better] = side[better], cut[better]
    return best, least


def changes(joint: JointProblem, labels: list[LongArray], couple: Couple, total: int) -> FloatArray:
    """(tracks, tracks): D of one pair of views."""
    table = joint.table(*couple)
    row, col = table.sides(False)
    left, right = labels[couple[0]][row], labels[couple[1]][col]
    lost, both, gained = np.zeros(total), np.zeros((total, total)), np.zeros((total, total))
    for part in (Part(np.arange(len(left))[:, None], table.single), *table.parts):
        _count(left, right, part, lost, both, gained)
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
    left: LongArray, right: LongArray, part: Part, lost: FloatArray, both: FloatArray, gained: FloatArray
) -> None:
    """What sets of variables cost now, and after exchanges; `left`, `right`: the tracks of both ends of the variables.

    A set is paid now if both tracks agree for all of it. It is lost in every exchange of one of its tracks. It is paid
    after the exchange of s and t if it agrees but for variables that join s and t. `both` and `gained` are counted on
    one side of the diagonal.
    """
    total, (sets, costs) = len(lost), part
    low, high = np.minimum(left, right), np.maximum(left, right)
    joins = np.where(left == right, -1, low * total + high)[sets]  # which two tracks a variable joins
    crossing = joins.max(axis=1)
    on = np.flatnonzero(crossing < 0)
    for k in range(sets.shape[1]):
        lost += np.bincount(left[sets[on, k]], costs[on], minlength=total)
        for other in range(k):  # counted as lost twice where both are exchanged
            both += _sums(left[sets[on, k]] * total + left[sets[on, other]], costs[on], total)
    crossed = np.flatnonzero((crossing >= 0) & ((joins < 0) | (joins == crossing[:, None])).all(axis=1))
    gained += _sums(crossing[crossed], costs[crossed], total)


def _sums(at: LongArray, costs: FloatArray, total: int) -> FloatArray:
    sums: FloatArray = np.bincount(at, costs, minlength=total * total).astype(np.float64)
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
