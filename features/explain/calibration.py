"""Does 90 % mean 90 %? What is claimed about matches against how many of them are right, on pairs with truth.

Two claims are looked at. Stability is a share already. A margin is none: a logistic curve turns it into one, fitted on
every other pair and judged on the rest, so that no match is judged by itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adgm.explain.margins import margins
from features.explain.case import case_of
from features.explain.stability import stability
from features.judge.metrics import kinds
from features.recipe import Recipe

Floats = NDArray[np.float64]
Claim = Literal["stability", "margin"]
CLAIMS: tuple[Claim, ...] = get_args(Claim)
BINS = 10
FEWEST = 20  # matches to judge on: fewer say nothing
CERTAIN = 1.96  # standard deviations of a 95 % interval


@dataclass(frozen=True)
class Observed:
    """A match of a pair whose truth is known."""

    pair: int
    right: bool
    stability: float  # share of runs on jittered points that keep it
    margin: float  # what it costs to do without, as a share of what a match is worth on average; infinite if it must be


@dataclass(frozen=True)
class Bin:
    """Matches about which nearly the same is claimed."""

    claimed: float  # on average
    right: float  # share
    count: int

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true share lies, 19 times of 20 (E. B. Wilson, 1927)."""
        spread = CERTAIN**2 / self.count
        middle = (self.right + spread / 2) / (1 + spread)
        half = CERTAIN / (1 + spread) * np.sqrt(self.right * (1 - self.right) / self.count + spread / (4 * self.count))
        return float(max(middle - half, 0.0)), float(min(middle + half, 1.0))


@dataclass(frozen=True)
class Calibration:
    """Claimed against right, bin by bin."""

    bins: tuple[Bin, ...]
    count: int

    @property
    def error(self) -> float:
        """How far claimed and right are apart, on average over the matches."""
        return float(sum(b.count * abs(b.claimed - b.right) for b in self.bins) / max(self.count, 1))

    def near(self, claimed: float = 0.9) -> Bin | None:
        """The bin that claims about this much."""
        found = min(self.bins, key=lambda b: abs(b.claimed - claimed), default=None)
        return found if found is not None and abs(found.claimed - claimed) <= 1 / BINS else None

    def __str__(self) -> str:
        lines = [f"claimed {b.claimed:4.0%}   right {b.right:4.0%}   of {b.count}" for b in self.bins]
        return "\n".join([*lines, f"off by {self.error:.1%} on average, {self.count} matches"])


def observe(recipes: Sequence[Recipe], *, pixels: float = 2.0, runs: int = 10) -> Iterator[tuple[Observed, ...]]:
    """All matches so far, after each pair: is it right, how stable is it, how large is its margin."""
    found: tuple[Observed, ...] = ()
    for number, recipe in enumerate(recipes):
        case = case_of(recipe)
        if not case.pair.judged:
            raise ValueError(f"The truth of {case.pair.name} is unknown; calibration needs pairs with truth.")
        known = stability(case, pixels, runs).shares
        typical = abs(case.metrics.energy) / max(len(case.pairs), 1) or 1.0
        right = [kind == "correct" for kind in kinds(case.pair, case.pairs)]
        for margin, good in zip(margins(case.problem, case.answer, effort=0), right, strict=True):
            found = (*found, Observed(number, good, known[margin.match], margin.margin / typical))
        yield found


def calibrate(observed: Sequence[Observed], claim: Claim = "stability") -> Calibration:
    """The curve of one of the claims."""
    if claim not in CLAIMS:
        raise ValueError(f"There is no claim {claim!r}; choose {' or '.join(CLAIMS)}.")
    if claim == "stability":
        return curve([one.stability for one in observed], [one.right for one in observed])
    seen, judged = ([one for one in observed if one.pair % 2 == half] for half in (0, 1))
    if len(seen) < FEWEST or len(judged) < FEWEST:
        raise ValueError(f"{len(observed)} matches are too few to fit on half of them: take more pairs.")
    claimed = Logistic.fitted([one.margin for one in seen], [one.right for one in seen])
    return curve(claimed([one.margin for one in judged]), [one.right for one in judged])


def curve(claimed: ArrayLike, right: ArrayLike, bins: int = BINS) -> Calibration:
    """Claims between 0 and 1, and whether they came true, in bins of equal width."""
    claims, truths = np.asarray(claimed, float), np.asarray(right, bool)
    if claims.shape != truths.shape or claims.ndim != 1:
        raise ValueError(f"{claims.size} claims were given for {truths.size} matches; give one for each.")
    if claims.size and not (claims.min() >= 0 and claims.max() <= 1):
        raise ValueError(f"Claims lie between 0 and 1; got {claims.min():g} to {claims.max():g}.")
    place = np.minimum((claims * bins).astype(int), bins - 1)
    some = [place == k for k in range(bins)]
    return Calibration(
        tuple(Bin(float(claims[m].mean()), float(truths[m].mean()), int(m.sum())) for m in some if m.any()), claims.size
    )


@dataclass(frozen=True)
class Logistic:
    """1 / (1 + exp(−(constant + slope · arsinh(margin)))): margins range over powers of ten, of both signs."""

    constant: float
    slope: float

    @classmethod
    def fitted(cls, margin: ArrayLike, right: ArrayLike, rounds: int = 30) -> "Logistic":
        """By Newton's method, held in a little so that it exists also where all are right."""
        x = np.stack([np.ones(np.size(margin)), _bent(margin)], axis=1)
        y, weights = np.asarray(right, float), np.zeros(2)
        for _ in range(rounds):
            p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
            slope = x.T @ (y - p) - 0.1 * weights
            curvature = (x * (p * (1 - p))[:, None]).T @ x + 0.1 * np.eye(2)
            weights = weights + np.linalg.solve(curvature, slope)
        return cls(float(weights[0]), float(weights[1]))

    def __call__(self, margin: ArrayLike) -> Floats:
        claimed: Floats = 1 / (1 + np.exp(-np.clip(self.constant + self.slope * _bent(margin), -30, 30)))
        return claimed


def _bent(margin: ArrayLike) -> Floats:
    bent: Floats = np.arcsinh(np.clip(np.asarray(margin, float), -1e6, 1e6))
    return bent
