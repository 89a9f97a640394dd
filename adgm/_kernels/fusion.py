"""Fusion moves: matchings that grow, to be merged, and the problem of a few binary variables that merging is, solved by
roof duality and enumeration of what that leaves open."""

import numpy as np

from adgm._kernels.types import compiled, overwrite

OPEN = -1  # a variable that roof duality leaves undecided


@compiled
def network(single, pair):
    """The flow network of Boros and Hammer for Σ single·y + Σ_{c<d} pair·y·y, every term rewritten over literals with
    positive coefficients: node 2c is y_c, 2c + 1 its negation, the last two are "true" (source) and "false" (sink)."""
    k = single.size
    source, sink = 2 * k, 2 * k + 1
    capacity = np.zeros((2 * k + 2, 2 * k + 2))
    alone = single.copy()
    for c in range(k):
        for d in range(c + 1, k):
            w = pair[c, d]
            if w == 0.0:
                continue
            other = 2 * d
            if w < 0.0:  # w·y·z = w·y − w·y·(1 − z)
                alone[c] += w
                other = 2 * d + 1
            half = 0.5 * abs(w)
            capacity[2 * c, other ^ 1] += half
            capacity[other, 2 * c + 1] += half
    for c in range(k):
        literal = 2 * c if alone[c] > 0.0 else 2 * c + 1
        half = 0.5 * abs(alone[c])
        capacity[source, literal ^ 1] += half
        capacity[literal, sink] += half
    return capacity


@compiled
def joined(capacity):
    """The nodes that flow may pass to from each node a, in either direction: near[first[a] … first[a + 1]]."""
    n = len(capacity)
    first, near = np.zeros(n + 1, np.int64), np.empty(n * n, np.int64)
    for a in range(n):
        first[a + 1] = first[a]
        for b in range(n):
            if capacity[a, b] > 0.0 or capacity[b, a] > 0.0:
                near[first[a + 1]] = b
                first[a + 1] += 1
    return first, near


@compiled
def reach(capacity, first, near, source, sink, least, via):
    """Which nodes the source reaches along edges with more than `least` left, breadth first, until the sink is met;
    `via`: from where."""
    via[:] = -1
    via[source] = source
    queue = np.empty(len(capacity), np.int64)
    queue[0], head, tail = source, 0, 1
    while head < tail and via[sink] < 0:
        a = queue[head]
        head += 1
        for k in range(first[a], first[a + 1]):
            b = near[k]
            if via[b] < 0 and capacity[a, b] > least:
                via[b] = a
                queue[tail] = b
                tail += 1


@compiled
def roof_dual(single, pair):
    """0, 1 or OPEN for every variable: the decided values are those of some minimum, and taking them never costs."""
    k = single.size
    capacity = network(single, pair)
    first, near = joined(capacity)
    source, sink = 2 * k, 2 * k + 1
    least = 1e-12 * (capacity.max() if k else 0.0)
    via = np.empty(2 * k + 2, np.int64)
    reach(capacity, first, near, source, sink, least, via)
    while via[sink] >= 0:
        room, b = np.inf, sink
        while b != source:
            room = min(room, capacity[via[b], b])
            b = via[b]
        b = sink
        while b != source:
            capacity[via[b], b] -= room
            capacity[b, via[b]] += room
            b = via[b]
        reach(capacity, first, near, source, sink, least, via)
    value = np.full(k, OPEN)
    for c in range(k):
        if via[2 * c] >= 0 and via[2 * c + 1] < 0:
            value[c] = 1
        elif via[2 * c + 1] >= 0 and via[2 * c] < 0:
            value[c] = 0
    return value


@compiled
def minimise_binary(single, pair, most):
    """(values, what they cost): roof duality decides what it can; of the rest `most` variables are enumerated, or, if
    there are more, changed one by one from zero as long as that pays. Never above zero, what all zeros cost."""
    k = single.size
    value = roof_dual(single, pair)
    rest = np.flatnonzero(value == OPEN)
    value[rest] = 0
    slope = single.copy()  # what changing a variable from 0 to 1 costs
    total = 0.0
    for c in range(k):
        if value[c] == 1:
            total += slope[c]
            for d in range(k):
                slope[d] += pair[c, d]
    best, lowest = value.copy(), total
    if rest.size <= most:
        for step in range(1, 1 << rest.size):
            bit = 0
            while not (step >> bit) & 1:
                bit += 1
            flipped = rest[bit]  # the reflected code changes one variable at a time
            sign = 1.0 - 2.0 * value[flipped]
            total += sign * slope[flipped]
            value[flipped] = 1 - value[flipped]
            for d in range(k):
                slope[d] += sign * pair[flipped, d]
            if total < lowest:
                lowest = total
                overwrite(best, value)
        return best, lowest
    while True:
        lead, change = -1, -1e-12 * (1.0 + abs(total))
        for at in range(rest.size):
            c = rest[at]
            sign = 1.0 - 2.0 * value[c]
            if sign * slope[c] < change:
                lead, change = c, sign * slope[c]
        if lead < 0:
            return value, total
        sign = 1.0 - 2.0 * value[lead]
        value[lead] = 1 - value[lead]
        total += change
        for d in range(k):
            slope[d] += sign * pair[lead, d]


@compiled
def grow(single, start, other, cost, row, col, members, order, optional, on):
    """Switch variables of `on`, all off at first, on: the rows in this order, but first those that share costs with
    what is on, take what costs least beside it among the free columns; nobody if that is cheaper and they may.

    Variable v costs single[v], and beside other[k] cost[k] more, for k in start[v] … start[v + 1].
    """
    rows = order.size
    beside = single.copy()  # what a variable costs beside what is on
    free = np.ones(col.max() + 1, np.bool_)
    waiting, touched = np.ones(rows, np.bool_), np.zeros(rows, np.bool_)
    for _ in range(rows):
        i = -1
        for at in range(rows):
            if waiting[order[at]] and (touched[order[at]] or i < 0):
                i = order[at]
                if touched[i]:
                    break
        waiting[i] = False
        best, least = -1, 0.0 if optional else np.inf
        for k in range(members.start[i], members.start[i + 1]):
            v = members.member[k]
            if free[col[v]] and beside[v] < least:
                best, least = v, beside[v]
        if best >= 0:
            on[best], free[col[best]] = True, False
            for k in range(start[best], start[best + 1]):
                beside[other[k]] += cost[k]
                touched[row[other[k]]] = True
