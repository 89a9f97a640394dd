"""Dual ascent over assignment subproblems: Hahn and Grant's lower bound (1998) for pairwise problems, and its parts.

The problem here: every row takes exactly one of its labels, every column serves at most one row, column `width`
(where a row goes that stays unmatched) serves any number. The labels of row i are start[i] … start[i + 1]. A choice
of labels costs

    base + Σ_p c_p + Σ_p Σ_q D_pq − Σ_j v_j [column j is unused] − Σ_p Σ_j V_pj [column j is unused]

over the chosen p and q ≠ p, with v, V ≤ 0. The functions move costs between these terms and leave what a choice costs
in all as it is; what reaches `base` is a lower bound once the other terms have no sign left to lose. An infinite
cost rules a label or a pair of labels out.
"""

from typing import NamedTuple

import numpy as np

from adgm._kernels.types import FloatArray, LongArray, compiled

BIDS = 2  # rounds of quick bids before rows are matched along shortest paths


class Labels(NamedTuple):
    """The labels, row by row."""

    start: LongArray
    row: LongArray
    col: LongArray
    width: int  # number of columns


class Costs(NamedTuple):
    """What is moved about: c, D, and V with v as its last row."""

    single: FloatArray  # (n,)
    pair: FloatArray  # (n, n)
    unused: FloatArray  # (n + 1, width + 1), or (0, 0) where every column is used anyway


class Assigned(NamedTuple):
    """An assignment's duals u, v (v ≤ 0, and 0 for unused columns), its chosen labels, and scratch."""

    u: FloatArray
    v: FloatArray
    choice: LongArray  # of every row, −1 for a row left out
    owner: LongArray
    dist: FloatArray
    via: LongArray
    seen: LongArray


@compiled
def outbid(labels, cost, skip, out):
    """Rows without a label take their cheapest and lower its column's dual as far as their second choice allows; who
    held the column is without one again (the row reduction of Jonker and Volgenant)."""
    start, col, width = labels.start, labels.col, labels.width
    u, v, choice, owner = out.u, out.v, out.choice, out.owner
    for first in range(start.size - 1):
        i, bids = first, 0
        while i != skip and i >= 0 and choice[i] < 0 and bids < width:
            bids += 1
            least, second, at = np.inf, np.inf, -1
            for q in range(start[i], start[i + 1]):
                d = cost[q] - v[col[q]]
                if d < second:
                    if d < least:
                        least, second, at = d, least, q
                    else:
                        second = d
            j = col[at]
            if j == width or second == np.inf or (second == least and owner[j] >= 0):
                u[i] = least
                if j == width or owner[j] < 0:
                    choice[i] = at
                    if j < width:
                        owner[j] = i
                break
            u[i] = second
            v[j] -= second - least
            choice[i] = at
            before = owner[j]
            owner[j] = i
            if before >= 0:
                choice[before] = -1
            i = before


@compiled
def assign(labels, cost, skip, out):
    """The cheapest choice of one label for every row but `skip`, by shortest augmenting paths (Jonker, Volgenant 1987).

    Returns Σu + Σv, which is its cost, or infinity if there is none; cost − u − v is nowhere negative.
    """
    start, row, col, width = labels
    u, v, choice, owner, dist, via, seen = out
    rows = start.size - 1
    v[:] = 0.0
    owner[:] = -1
    for i in range(rows):
        choice[i] = -1
        if i == skip:
            continue
        least = np.inf
        for q in range(start[i], start[i + 1]):
            least = min(least, cost[q])
        if least == np.inf:
            return np.inf
        u[i] = least
        for q in range(start[i], start[i + 1]):
            if cost[q] == least and owner[col[q]] < 0:
                choice[i] = q
                if col[q] < width:
                    owner[col[q]] = i
                break
    for _ in range(BIDS):
        outbid(labels, cost, skip, out)
    for first in range(rows):
        if first == skip or choice[first] >= 0:
            continue
        dist[:] = np.inf
        seen[:] = 0
        i, length = first, 0.0
        while True:
            for q in range(start[i], start[i + 1]):
                j = col[q]
                d = length + ((cost[q] - u[i]) - v[j])
                if seen[j] == 0 and d < dist[j]:
                    dist[j] = d
                    via[j] = q
            nearest, length = -1, np.inf
            for j in range(width + 1):
                if seen[j] == 0 and dist[j] < length:
                    nearest, length = j, dist[j]
            if nearest < 0:
                return np.inf
            if owner[nearest] < 0:  # always so for the column of the unmatched
                break
            seen[nearest] = 1
            i = owner[nearest]
        u[first] += length
        for j in range(width):
            if seen[j]:
                u[owner[j]] += length - dist[j]
                v[j] -= length - dist[j]
        j = nearest
        while True:
            q = via[j]
            i = row[q]
            before = choice[i]
            choice[i] = q
            if j < width:
                owner[j] = i
            if i == first:
                break
            j = col[before]
    total = 0.0
    for i in range(rows):
        if i != skip:
            total += u[i]
    for j in range(width):
        total += v[j]
    return total


@compiled
def rule_out(costs, p):
    """Label p is never chosen."""
    costs.single[p] = np.inf
    costs.pair[p, :] = np.inf
    costs.pair[:, p] = np.inf


@compiled
def settle(labels, costs, base, limit, out):
    """Move the cheapest assignment of the single costs to the base; rule out labels that would reach `limit`."""
    single, unused = costs.single, costs.unused
    n = single.size
    if unused.size:
        base -= unused[n].sum()
        for q in range(n):
            single[q] += unused[n, labels.col[q]]
    base += assign(labels, single, -1, out)
    if base == np.inf:
        return base
    if unused.size:
        unused[n] = out.v
    for q in range(n):
        if single[q] < np.inf:
            single[q] = max((single[q] - out.u[labels.row[q]]) - out.v[labels.col[q]], 0.0)
            if base + single[q] >= limit:
                rule_out(costs, q)
    return base


@compiled
def share_out(labels, costs):
    """Spread single costs evenly over the other rows of their subproblems: how a round of dual ascent begins."""
    single, pair = costs.single, costs.pair
    n, rows = single.size, labels.start.size - 1
    if rows > 1:
        for p in range(n):
            if single[p] < np.inf:
                part = single[p] / (rows - 1)
                single[p] = 0.0
                for q in range(n):
                    pair[p, q] += part


@compiled
def visit(labels, costs, base, limit, take, order, cost, out):
    """The labels in turn, by `order`: a round of dual ascent or a piece of it; returns the largest cost that stays.

    Each takes the share `take` of its pairs' counterparts, moves the cheapest assignment of its subproblem to its
    single cost, and gives half of what remains back. A pair that would reach `limit` is ruled out (its cost plus all
    others, none of which is negative after the first round, is a lower bound).
    """
    single, pair, unused = costs
    n, rows = single.size, labels.start.size - 1
    largest = 0.0
    for p in order:
        if single[p] == np.inf:
            continue
        z = 0.0
        for q in range(n):
            cost[q] = pair[p, q] + take * pair[q, p]
        if unused.size:
            z -= unused[p].sum()
            for q in range(n):
                cost[q] += unused[p, labels.col[q]]
        z += single[p] + assign(labels, cost, labels.row[p], out)
        if base + z >= limit:
            rule_out(costs, p)
            continue
        single[p] = z
        largest = max(largest, abs(z))
        if unused.size:
            unused[p] = out.v
        for i in range(rows):
            if i == labels.row[p]:
                continue
            for q in range(labels.start[i], labels.start[i + 1]):
                if cost[q] == np.inf:
                    continue
                rest = max((cost[q] - out.u[i]) - out.v[labels.col[q]], 0.0)
                left = pair[q, p] - take * pair[q, p]
                if base + z + single[q] + rest + left >= limit:
                    pair[p, q] = pair[q, p] = np.inf
                else:
                    largest = max(largest, abs(cost[q]))
                    pair[p, q] = 0.5 * rest
                    pair[q, p] = left + 0.5 * rest
    return largest


@compiled
def probe(labels, costs, base, limit, some, cost, out):
    """Rule out the labels and pairs that reach `limit` when one of `some` is tried: its subproblem takes everything.

    No cost is moved, so each label may count what all others hold.
    """
    single, pair, unused = costs
    n, rows = single.size, labels.start.size - 1
    for p in some:
        if single[p] == np.inf:
            continue
        z = base + single[p]
        for q in range(n):
            cost[q] = pair[p, q] + pair[q, p] + single[q]
        if unused.size:
            for j in range(labels.width):
                if j != labels.col[p]:
                    z -= unused[p, j] + unused[n, j]
            for q in range(n):
                cost[q] += unused[p, labels.col[q]] + unused[n, labels.col[q]]
        z += assign(labels, cost, labels.row[p], out)
        if z >= limit:
            rule_out(costs, p)
            continue
        for i in range(rows):
            if i == labels.row[p]:
                continue
            for q in range(labels.start[i], labels.start[i + 1]):
                if cost[q] < np.inf and z + ((cost[q] - out.u[i]) - out.v[labels.col[q]]) >= limit:
                    pair[p, q] = pair[q, p] = np.inf
