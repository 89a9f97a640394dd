"""How sure a mean is: bootstrap intervals over pairs, drawn with a seed; the same rows give the same interval."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

DRAWS = 5000
SHARE = 0.95
CHUNK = 1 << 20  # numbers drawn at a time


@dataclass(frozen=True)
class Interval:
    """A mean, and where it lies with a chance of 95 % if other pairs of the same kind are taken."""

    mean: float
    low: float
    high: float
    count: int

    @property
    def decided(self) -> bool:
        """Whether it lies wholly on one side of 0."""
        return self.low > 0 or self.high < 0

    def percent(self) -> str:
        """Of a share."""
        return f"{100 * self.mean:.1f} % [{100 * self.low:.1f}, {100 * self.high:.1f}]"

    def points(self) -> str:
        """Of a difference of shares."""
        return f"{100 * self.mean:+.1f} points [{100 * self.low:+.1f}, {100 * self.high:+.1f}]"

    def plain(self) -> str:
        return f"{self.mean:.6g} [{self.low:.6g}, {self.high:.6g}]"


def interval(values: ArrayLike, seed: int = 0) -> Interval:
    """Of the mean of values, one per pair. Of differences on the same pairs it is the paired bootstrap."""
    known = np.asarray(values, np.float64)
    if known.ndim != 1 or not len(known):
        raise ValueError(f"An interval needs one value per pair; got an array of shape {known.shape}.")
    rng = np.random.default_rng(seed)
    means: list[NDArray[np.float64]] = []
    step = max(1, CHUNK // len(known))
    for begin in range(0, DRAWS, step):
        drawn = rng.integers(len(known), size=(min(step, DRAWS - begin), len(known)))
        means.append(known[drawn].mean(axis=1))
    tail = 100 * (1 - SHARE) / 2
    low, high = np.percentile(np.concatenate(means), [tail, 100 - tail])
    return Interval(float(known.mean()), float(low), float(high), len(known))


def signs(differences: Sequence[float], same: float = 1e-9) -> tuple[int, int, int]:
    """(wins, losses, ties)."""
    wins, losses = (sum(sign * one > same for one in differences) for sign in (1, -1))
    return wins, losses, len(differences) - wins - losses
