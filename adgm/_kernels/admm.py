"""ADGM's iterations: one update over two couplings, as section 3.3 of the paper prints it."""

from typing import NamedTuple

import numpy as np

from adgm._kernels.contraction import contract, list_support, list_supports
from adgm._kernels.penalty import adapt
from adgm._kernels.projection import project
from adgm._kernels.types import compiled, overwrite

# Why `admm` returned.
RAN, CONVERGED, INCREASED, MISSING = 0, 1, 2, 3


class Pending(NamedTuple):
    """Where in an iteration to go on: the next block, and the sums over those before it."""

    block: int = 0
    change: float = 0.0
    energy: float = 0.0


@compiled
def count_ties(parent):
    """How many constraints of (27) equa1 or (28) equa2 each block takes part in; block e + 1 is tied to parent[e]."""
    ties = np.zeros(parent.size + 1)
    for e in range(parent.size):
        ties[parent[e]] += 1.0
        ties[e + 1] += 1.0
    return ties


@compiled
def aim(block, lower, upper, scale, rho, parent, ties, x, y, point):
    """(30) v1-c1, (31) v1-cd, (32) v2-c1, (33) v2-cD, (34) v2-cd, all at once: the block's target point

    c_d = (1 / ρt) · (−p_d + Σ over its t ties (ρ · other block ± dual)), where p_d of (21) is lower + upper.
    """
    shrink = -1.0 / (scale * rho * ties[block])
    for i in range(point.size):
        point[i] = shrink * (lower[i] + upper[i])
    for e in range(parent.size):
        if block == e + 1 or block == parent[e]:
            other, sign = (parent[e], 1.0) if block == e + 1 else (e + 1, -1.0)
            a, s = 1.0 / ties[block], sign / (rho * ties[block])
            neighbour, dual = x[other], y[e]
            for i in range(point.size):
                point[i] += a * neighbour[i] + s * dual[i]


@compiled
def add_price(price, block, x, lower, upper):
    """A price within the product of all blocks instead of the unary costs, for the two parts of (21) p_d: the last
    block closes that product, the first one the unary costs."""
    out = upper if block + 1 == x.shape[0] else lower
    for i in range(price.size):
        share = 1.0
        for b in range(x.shape[0]):
            if b != block:
                share *= x[b, i]
        out[i] += price[i] * share
        if block == 0:
            upper[i] -= price[i]


@compiled
def replace_block(old, new, upper):
    """The block takes its new value: how far it moved (squared), and the energy of the potential that it closes."""
    moved, energy = 0.0, 0.0
    for i in range(old.size):
        moved += (new[i] - old[i]) ** 2
        energy += new[i] * upper[i]
    overwrite(old, new)
    return moved, energy


@compiled
def move_duals(parent, rho, x, y):
    """(11) y-update-general, step 3: the multipliers move with the disagreement; returns the gap of (12) residual."""
    gap = 0.0
    for e in range(parent.size):
        one, other, dual = x[parent[e]], x[e + 1], y[e]
        for i in range(one.size):
            d = one[i] - other[i]
            dual[i] += rho * d
            gap += d * d
    return gap


@compiled
def admm(
    tables,
    price,
    scale,
    first_set,
    other_set,
    parent,
    x,
    y,
    schedule,
    progress,
    pending,
    clock,
    iterations,
    given,
    trace,
):
    """At most `iterations` iterations; returns how many are done, why it ended, and where it is: progress and pending.

    The blocks x, the duals y and the trace are written in place. A trace row is gap, change, ρ, energy: what the
    iteration ended with, ρ as it was during it. Where a pairwise column is missing the block waits: `given` then
    brings the columns' part of its linear term (empty: nothing is given). `price`: see `adgm.prices`.
    """
    n_blocks, n = x.shape
    ties = count_ties(parent)
    support = np.empty((n_blocks, n), np.uint32)
    count = np.empty(n_blocks, np.int64)
    list_supports(x, support, count)
    lower, upper, point, new = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    value, kept = np.empty(n), np.empty(n)
    use_given = given.size > 0
    block, change, energy = pending
    for done in range(iterations):
        rho = progress.rho
        for b in range(block, n_blocks):
            if not contract(tables, clock, b, x, support, count, given, use_given, lower, upper):
                return done, MISSING, progress, Pending(b, change, energy)
            use_given = False
            add_price(price.each, b, x, lower, upper)
            aim(b, lower, upper, scale, rho + price.hold, parent, ties, x, y, point)
            project(point, first_set if b == 0 else other_set, new, value, kept)  # (29) v0-x-update
            moved, paid = replace_block(x[b], new, upper)
            count[b] = list_support(new, support[b])
            change += ties[b] * moved  # the second part of (12) residual
            energy += paid  # (14) GM-decomposed
        gap = move_duals(parent, rho, x, y)
        overwrite(trace[done], (gap, change, rho, energy))
        before = progress.increases
        progress = adapt(schedule, progress, gap, change)
        if gap + change <= schedule.tol:
            return done + 1, CONVERGED, progress, Pending(0, 0.0, 0.0)
        if progress.increases > before:
            return done + 1, INCREASED, progress, Pending(0, 0.0, 0.0)
        block, change, energy = 0, 0.0, 0.0
    return iterations, RAN, progress, Pending(0, 0.0, 0.0)
