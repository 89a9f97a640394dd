"""Several views of a thing, with what is known about which points are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from adgm.machine.short_repr import ShortRepr
from adgm.views.tracks import Couple
from features.digests import digest
from features.limits import LIMITS
from features.pairs import TOLERANCE, Pair, View

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ViewSet(ShortRepr):
    """Views, and the truth: `truth[i][p]` numbers the thing that point p of view i shows, −1 for one that no other view
    shows. Or `maps[i]`, a homography from the first view to view i, in the pixels of the points. `complete`: every view
    shows every point.
    """

    views: tuple[View, ...]
    names: tuple[str, ...]
    name: str = "views"
    truth: tuple[Longs, ...] | None = None
    maps: tuple[Floats, ...] | None = None
    tolerance: float = TOLERANCE
    complete: bool = False

    def __post_init__(self) -> None:
        if not 2 <= len(self.views) <= LIMITS.views:
            raise ValueError(f"{len(self.views)} views were given; 2 to {LIMITS.views} can be matched.")
        if len(self.names) != len(self.views):
            raise ValueError(f"{len(self.views)} views need as many names; {len(self.names)} were given.")
        for known, what in ((self.truth, "arrays of true points"), (self.maps, "maps")):
            if known is not None and len(known) != len(self.views):
                raise ValueError(f"{len(self.views)} views need as many {what}; {len(known)} were given.")
        for view, name, truth in zip(self.views, self.names, self.truth or [None] * len(self.views), strict=True):
            if truth is not None and np.shape(truth) != (len(view.points),):
                raise ValueError(f"{name} has {len(view.points)} points and {len(truth)} true ones.")
        if self.complete and len(set(self.sizes)) > 1:
            raise ValueError(f"The views have {', '.join(map(str, self.sizes))} points, so not all of them show all.")

    def __len__(self) -> int:
        return len(self.views)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many points every view has."""
        return tuple(len(view.points) for view in self.views)

    @property
    def judged(self) -> bool:
        """Whether right and wrong can be told apart."""
        return self.truth is not None or self.maps is not None

    @cached_property
    def digest(self) -> str:
        """What tells it from others: pixels, points, truth."""
        pixels = [None if view.image is None else view.image.digest for view in self.views]
        return digest(pixels, [view.points for view in self.views], self.truth, self.maps, self.complete)

    def pair(self, i: int, j: int) -> Pair:
        """Two of the views, with what is known about them."""
        truth = homography = None
        if self.truth is not None:
            truth = partners(self.truth[i], self.truth[j])
        elif self.maps is not None:
            homography = self.maps[j] @ np.linalg.inv(self.maps[i])
        name = f"{self.name}: {self.names[i]} and {self.names[j]}"
        return Pair(self.views[i], self.views[j], truth, name, homography, self.tolerance)

    def shuffled(self, seed: int) -> ViewSet:
        """The points of every view in an order of their own, so that no method profits from it; −1 changes nothing."""
        if seed == -1:
            return self
        return self.taken([np.random.default_rng([seed, 4, k]).permutation(size) for k, size in enumerate(self.sizes)])

    def dropped(self, share: float, seed: int) -> ViewSet:
        """Every view without a share of its points, drawn for each view anew."""
        if not share:
            return self
        kept = []
        for k, size in enumerate(self.sizes):
            some = np.random.default_rng([max(seed, 0), 5, k]).permutation(size)[: max(1, round((1 - share) * size))]
            kept.append(np.sort(some))
        return replace(self.taken(kept), complete=False)

    def taken(self, points: Sequence[Longs]) -> ViewSet:
        """These points of every view only, in this order."""
        views = tuple(View(v.image, v.points.take(at)) for v, at in zip(self.views, points, strict=True))
        truth = None if self.truth is None else tuple(t[at] for t, at in zip(self.truth, points, strict=True))
        return replace(self, views=views, truth=truth)

    def judge(self, matchings: dict[Couple, Longs]) -> tuple[float | None, float | None]:
        """(accuracy, precision): of all true matches of these pairs the share that is found, and of all that are found
        the share that is right. None where that is not known, or nothing can be found, or nothing is."""
        right = possible = made = 0
        if not self.judged:
            return None, None
        for (i, j), partner in matchings.items():
            pair = self.known(i, j)
            p = np.flatnonzero(partner >= 0)
            right += int(pair.correct(np.stack([p, partner[p]], axis=1)).sum())
            possible += int(pair.has_partner.sum())
            made += len(p)
        return right / possible if possible else None, right / made if made else None

    def known(self, i: int, j: int) -> Pair:
        """The same as `pair`, kept: its truth is worked out once."""
        kept: dict[Couple, Pair] = vars(self).setdefault("_known", {})
        if (i, j) not in kept:
            kept[i, j] = self.pair(i, j)
        return kept[i, j]


def partners(left: Longs, right: Longs) -> Longs:
    """For every left point the right one that shows the same thing, −1 for none."""
    found = np.full(len(left), -1)
    order = np.argsort(right, kind="stable")
    if len(right):
        at = np.minimum(np.searchsorted(right, left, sorter=order), len(right) - 1)
        same = (right[order[at]] == left) & (left >= 0)
        found[same] = order[at[same]]
    return found
