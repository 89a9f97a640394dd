"""Which matches survive when the points move a little: the share of runs on jittered points that keep them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from adgm.explain.terms import Match
from adgm.machine.deadline import check_time
from features.explain.case import Case
from features.judge.metrics import matched_pairs
from features.models import MODELS
from features.pairs import Pair, View

PIXELS, RUNS = 2.0, 20


@dataclass(frozen=True)
class Stability:
    """How often each match of the answer was found again."""

    pixels: float  # the standard deviation of the jitter, in x and in y
    runs: int
    kept: dict[Match, int]

    @property
    def shares(self) -> dict[Match, float]:
        return {match: count / self.runs for match, count in self.kept.items()}

    def __str__(self) -> str:
        """The shakiest first."""
        ranked = sorted(self.shares.items(), key=lambda item: item[1])
        return "\n".join(f"{i} → {j}  {share:.0%}" for (i, j), share in ranked)


def jittered(pair: Pair, pixels: float, seed: int) -> Pair:
    """The same pair, all points moved at random by so many pixels (one standard deviation, in x and in y)."""
    rng = np.random.default_rng([seed, 0x1177E2])

    def moved(view: View) -> View:
        xy = view.points.xy
        return replace(view, points=replace(view.points, xy=xy + rng.normal(0.0, pixels, xy.shape)))

    return replace(pair, left=moved(pair.left), right=moved(pair.right))


def shaken(
    case: Case, pixels: float = PIXELS, runs: int = RUNS, *, time_limit: float | None = None
) -> Iterator[Stability]:
    """What is known after each run of the case's own recipe on jittered points; `time_limit` is that of a run."""
    if not (np.isfinite(pixels) and pixels > 0):
        raise ValueError(f"Points are jittered by {pixels} pixels; expected a positive number.")
    if runs < 1:
        raise ValueError(f"{runs} runs were asked for; expected 1 or more.")
    if MODELS[case.recipe.model].given:
        raise ValueError("The costs of this problem come from a file: they do not change when points move.")
    kept: dict[Match, int] = dict.fromkeys(zip(*case.pairs.T.tolist(), strict=True), 0)
    for seed in range(runs):
        check_time()
        problem = case.recipe.problem(jittered(case.pair, pixels, seed))
        result = case.recipe.run(problem, time_limit=time_limit)
        for i, j in matched_pairs(problem, result.assignment).tolist():
            if (i, j) in kept:
                kept[i, j] += 1
        yield Stability(pixels, seed + 1, dict(kept))


def stability(case: Case, pixels: float = PIXELS, runs: int = RUNS, *, time_limit: float | None = None) -> Stability:
    """The share of runs on jittered points that keep each match."""
    *_, last = shaken(case, pixels, runs, time_limit=time_limit)
    return last
