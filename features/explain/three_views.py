"""Three views of six points: what every pair finds alone, and what all three find together; by trying everything.

The Learn page shows it. Six points have 720 matchings for each pair, so the best one of a pair, and the best tracks of
all three views, are found by enumeration.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from adgm.views.returns import returns
from adgm.views.tracks import Couple, Tracks
from features.pairs import View
from features.points.keypoints import Keypoints
from features.views import ViewSet

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]

POINTS, SEED = 6, (37, 7)
NAMES = ("A", "B", "C")
EVERY = np.array(list(permutations(range(POINTS))), np.int64)  # all matchings of a pair


@dataclass(frozen=True, eq=False)
class ThreeViews:
    """The views, the best matching of every pair alone, and the tracks of least total cost."""

    view_set: ViewSet
    alone: dict[Couple, Longs]
    alone_costs: dict[Couple, float]
    tracks: Tracks
    cost: float  # of all three pairs when they follow from the tracks

    @property
    def alone_cost(self) -> float:
        return sum(self.alone_costs.values())

    @property
    def right_alone(self) -> int:
        """Of the matches of all pairs alone, how many are right: a point has the same number in every view."""
        return sum(int((found == np.arange(POINTS)).sum()) for found in self.alone.values())

    @property
    def right(self) -> int:
        """The same of the matches that follow from the tracks."""
        first, second, third = self.tracks
        return sum(int((one == other).sum()) for one, other in ((first, second), (first, third), (second, third)))

    @property
    def closing(self) -> int:
        """How many points of A come back to themselves over B and C, by the pairs alone."""
        ways = returns([POINTS] * 3, self.alone)[0]
        return int((ways[:, 0] > 0).sum())


@lru_cache(maxsize=16)
def three_views(noise: float) -> ThreeViews:
    """Six random points, seen three times with so much noise."""
    rng = np.random.default_rng(SEED)
    base = rng.uniform(0, 100, (POINTS, 2))
    places = [base + noise * rng.normal(0, 1, (POINTS, 2)) for _ in NAMES]
    costs = {(i, j): pair_costs(places[i], places[j]) for i, j in ((0, 1), (0, 2), (1, 2))}
    alone = {couple: EVERY[each.argmin()] for couple, each in costs.items()}
    total = costs[0, 1][:, None] + costs[0, 2] + costs[1, 2][over_a()]
    ab, ac = np.unravel_index(int(total.argmin()), total.shape)
    tracks = (np.arange(POINTS), np.argsort(EVERY[ab]), np.argsort(EVERY[ac]))
    views = tuple(View(None, Keypoints(xy)) for xy in places)
    truth = tuple(np.arange(POINTS) for _ in NAMES)
    view_set = ViewSet(views, NAMES, "Three views", truth, complete=True)
    least = {couple: float(each.min()) for couple, each in costs.items()}
    return ThreeViews(view_set, alone, least, tracks, float(total.min()))


def pair_costs(left: Floats, right: Floats) -> Floats:
    """What every matching costs: squared differences of all distances."""
    here, there = (np.linalg.norm(xy[:, None] - xy, axis=2) for xy in (left, right))
    each: Floats = ((here - there[EVERY[:, :, None], EVERY[:, None, :]]) ** 2).sum(axis=(1, 2)) / 2
    return each


@lru_cache(maxsize=1)
def over_a() -> Longs:
    """(720, 720): the number of the matching B → C that follows from A → B and A → C."""
    weights = POINTS ** np.arange(POINTS)
    codes = EVERY @ weights
    order = np.argsort(codes)
    backs = np.argsort(EVERY, axis=1)  # B → A
    return np.stack([order[np.searchsorted(codes[order], EVERY[:, back] @ weights)] for back in backs])
