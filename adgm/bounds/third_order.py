"""The search for a bound of a problem of third order: pairwise minorants, bounded one after the other by `DD`.

A method like any other, so that everything that drives `adgm.run.Run` drives it: an iteration is one sweep of the dual
ascent, and every limit holds between two sweeps.
"""

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from adgm.bounds.all_pairs import quick_bound
from adgm.bounds.branch_and_bound import DD, BoundState, DDState, begin_with, better, sweeps, tolerance
from adgm.bounds.pair_minorant import Shares
from adgm.bounds.tied_pairs import searchable
from adgm.problem import Problem
from adgm.rounding import Assignment, unary_matching
from adgm.search.local_search import improve

# Most rounds of moving shares, of so many steps each, and how many without gain end it.
ROUNDS, STEPS, PATIENCE = 40, 30, 6


@dataclass(frozen=True, eq=False, kw_only=True)
class PairsState(BoundState):
    """The shares of the hyperedges, and the minorant that is being bounded."""

    shares: Shares
    low: Problem | None = None  # None: the next round makes one
    inner: DDState | None = None
    met: tuple[Assignment, ...] = ()  # matchings that the shares are moved by
    rounds: int = 0
    before: float = -np.inf  # the bound when the round began
    stalled: int = 0  # rounds without gain


@dataclass(frozen=True)
class ThroughPairs:
    """Each minorant is made to cost more where the ones before it were cheap."""

    search: DD = field(default_factory=DD)

    def init(self, problem: Problem) -> PairsState:
        shares = Shares(problem)
        shares.pass_on()
        start = improve(problem, unary_matching(problem))[0]
        state = PairsState(iteration=0, x=np.zeros(problem.n), shares=shares, spread=problem.spread)
        return begin_with(state, start, problem.energy(start))

    def done(self, state: PairsState) -> bool:
        spent = state.rounds >= ROUNDS or state.work >= self.search.effort
        return state.proved or spent or state.stalled > PATIENCE

    def step(self, problem: Problem, state: PairsState, n: int = 1) -> PairsState:
        """n sweeps further, fewer if the search ends."""
        return sweeps(state, n, self.done, partial(self._sweep, problem))

    def _sweep(self, problem: Problem, state: PairsState) -> PairsState:
        """One sweep of the minorant; where that ends, the shares are moved for the next one."""
        low, inner, ended = state.low or state.shares.minorant(), state.inner, True
        before = state.work - (0.0 if inner is None else inner.work)
        if not searchable(low):
            lower, found = quick_bound(low)
            before += float(low.n) ** 2
        else:
            # Half the tolerance: the rest is for rounding, by which a matching may cost more in one than in the other.
            inner = replace(self.search.init(low), spread=state.spread / 2) if inner is None else inner
            inner = self.search.step(low, inner)
            lower, ended = inner.lower, self.search.done(inner)
            found = inner.best if inner.best is not None else state.x > 0.5
        state = better(problem, state, found)
        state = replace(
            state,
            iteration=state.iteration + 1,
            low=low,
            inner=inner,
            lower=max(state.lower, float(lower)),
            work=before + (0.0 if inner is None else inner.work),
        )
        if state.gap == 0.0:
            return replace(state, proved=True)
        return self._moved(state, found) if ended else state

    @staticmethod
    def _moved(state: PairsState, found: Assignment) -> PairsState:
        """The next round: the minorant of the last one was too cheap at `found`, and at the best matching."""
        known = [state.best, *state.met, found]
        met = [x for k, x in enumerate(known) if x is not None and not any((x == y).all() for y in known[:k])]
        shares = state.shares.copy()
        shares.ascend(met, state.best_energy, STEPS)
        gained = state.lower > state.before + tolerance(state.lower, state.spread)
        return replace(
            state,
            shares=shares,
            low=None,
            inner=None,
            met=tuple(met),
            work=state.work + float(shares.share.size),
            rounds=state.rounds + 1,
            before=state.lower,
            stalled=0 if gained else state.stalled + 1,
        )
