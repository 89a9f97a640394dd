"""The penalty ρ from one iteration to the next: section 3.4 of the paper, and residual balancing."""

from typing import NamedTuple

from adgm._kernels.types import compiled


class Schedule(NamedTuple):
    """When ρ changes; the options of `adgm.ADGM` with the same names."""

    growth: float  # β
    warmup: int  # T1
    patience: int  # T2
    tol: float  # ε
    improvement: float
    max_increases: int
    balance: float
    imbalance: float


class Progress(NamedTuple):
    """ρ and what the schedule remembers."""

    rho: float
    best_residual: float
    at_rho: int  # iterations at this ρ
    stalled: int  # iterations after the warm-up, in a row, without improvement
    increases: int


@compiled
def adapt(schedule, before, gap, change):
    """Section 3.4: after T1 iterations at a ρ, more than T2 in a row without improvement of (12) make it grow by β.

    Until then, if `balance` exceeds 1, ρ follows the larger of the gap between the blocks and their change. The duals
    are not divided by ρ: they stay as they are.
    """
    residual = gap + change
    rho, best, at_rho, stalled, increases = before
    at_rho += 1
    if residual <= schedule.improvement * best:
        best = residual
        stalled = 0
    elif at_rho > schedule.warmup:
        stalled += 1
    if residual > schedule.tol:
        if schedule.growth > 1.0 and stalled > schedule.patience and increases < schedule.max_increases:
            return Progress(rho * schedule.growth, best, 0, 0, increases + 1)
        if schedule.balance > 1.0 and increases == 0:
            if gap > schedule.imbalance * change:
                rho *= schedule.balance
            elif change > schedule.imbalance * gap:
                rho /= schedule.balance
    return Progress(rho, best, at_rho, stalled, increases)
