"""ADGM's iterations."""

import numpy as np

from adgm._kernels.contraction import contract, list_support, list_supports
from adgm._kernels.projection import project
from adgm._kernels.types import compiled

# Why `admm` returned.
RAN, CONVERGED, INCREASED, MISSING = 0, 1, 2, 3


@compiled
def admm(
    tables, scale, first_groups, other_groups, parent, x, y, progress, schedule, clock,
    iterations, block, given, use_given, trace,
):  # fmt: skip
    """ADGM's loop: at most `iterations` iterations, from `block` of the current one; returns (done, why, block).

    x, y, progress and trace are updated in place. `progress` is ρ, best residual, iterations at this ρ, iterations
    after T1 in a row without improvement, increases so far, and the partial change and energy of an iteration that was
    interrupted by a missing column. `schedule` is β, T1, T2, ε, improvement factor, most increases, and the factor and
    the bound of residual balancing. A trace row is gap, change, ρ, energy: what the iteration ended with, ρ as it was
    during it.
    """
    n_blocks, n = x.shape
    growth, warmup, patience, tolerance, improvement, most_increases, balance, imbalance = schedule
    ties = np.zeros(n_blocks)
    for e in range(n_blocks - 1):
        ties[parent[e]] += 1.0
        ties[e + 1] += 1.0
    support = np.empty((n_blocks, n), np.uint32)
    count = np.empty(n_blocks, np.int64)
    list_supports(x, support, count)
    lower, upper, point, new = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    value, kept = np.empty(n), np.empty(n)
    for done in range(iterations):
        rho = progress[0]
        for b in range(block, n_blocks):
            if not contract(tables, clock, b, x, support, count, given, use_given, lower, upper):
                return done, MISSING, b
            use_given = False
            # c_d = (1 / ρt) · (−p + Σ over its t ties (ρ · other block ± dual)): eqs. (v1-c1) … (v2-cd) at once
            shrink = -1.0 / (scale * rho * ties[b])
            for i in range(n):
                point[i] = shrink * (lower[i] + upper[i])
            for e in range(n_blocks - 1):
                if b == e + 1 or b == parent[e]:
                    other, sign = (parent[e], 1.0) if b == e + 1 else (e + 1, -1.0)
                    a, s = 1.0 / ties[b], sign / (rho * ties[b])
                    neighbour, dual = x[other], y[e]
                    for i in range(n):
                        point[i] += a * neighbour[i] + s * dual[i]
            project(point, first_groups if b == 0 else other_groups, new, value, kept)
            moved, energy = 0.0, 0.0
            old = x[b]
            for i in range(n):
                moved += (new[i] - old[i]) ** 2
                energy += new[i] * upper[i]
            old[:] = new
            count[b] = list_support(new, support[b])
            progress[5] += ties[b] * moved
            progress[6] += energy
        block = 0
        gap = 0.0
        for e in range(n_blocks - 1):
            one, other, dual = x[parent[e]], x[e + 1], y[e]
            for i in range(n):
                d = one[i] - other[i]
                dual[i] += rho * d  # step 3: multipliers move with the disagreement
                gap += d * d
        change = progress[5]
        residual = gap + change
        trace[done] = gap, change, rho, progress[6]
        progress[5] = progress[6] = 0.0
        progress[2] += 1
        if residual <= improvement * progress[1]:
            progress[1] = residual
            progress[3] = 0
        elif progress[2] > warmup:
            progress[3] += 1
        if residual <= tolerance:
            return done + 1, CONVERGED, 0
        if growth > 1.0 and progress[3] > patience and progress[4] < most_increases:
            progress[0] = rho * growth
            progress[2] = progress[3] = 0
            progress[4] += 1
            return done + 1, INCREASED, 0
        if balance > 1.0 and progress[4] == 0:  # the duals are not divided by ρ: they stay as they are
            if gap > imbalance * change:
                progress[0] = rho * balance
            elif change > imbalance * gap:
                progress[0] = rho / balance
    return iterations, RAN, 0
