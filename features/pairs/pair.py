"""A pair of views with what is known about the truth between them, and the operations of the paper on it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy  # whose parts are imported when they are first used
from numpy.typing import ArrayLike, NDArray

from adgm import Problem
from adgm.machine.short_repr import ShortRepr
from features.digests import digest
from features.points.images import Image
from features.points.keypoints import Keypoints
from features.points.regions import Mask
from features.points.slants import detect_both, detect_sides

SIDES = ("left", "right")
TOLERANCE = 4.0  # pixels within which a map calls a match right
POINTS = 40  # to detect in an image that comes without any

Floats = NDArray[np.float64]
Wanted = Mapping[str, Any]  # how many points are detected on a side, and "mask_left", "mask_right": where


@dataclass(frozen=True, eq=False)
class View(ShortRepr):
    """One side of a pair: its points, and the image they lie on if there is one."""

    image: Image | None
    points: Keypoints


@dataclass(frozen=True, eq=False)
class Pair:
    """Two views and the truth: numbered partners, or the map between the images, or nothing.

    ``truth[i1]`` is the right point that is the same as the left point i1, −1 if there is none. Without it, a
    ``homography`` (3 × 3, from left to right pixels as the points count them) calls a match right if the left point
    falls within ``tolerance`` pixels of the right one. `correct`, `has_partner`, `outliers` and `partners` are the one
    definition of right and wrong; everything that says so asks them (see `features.judge.metrics.kinds_of`).

    ``given`` is a problem that comes with the pair, such as that of a file; the model "given" solves it.
    """

    left: View
    right: View
    truth: NDArray[np.int64] | None = None  # None: not numbered
    name: str = "pair"
    homography: Floats | None = None
    tolerance: float = TOLERANCE
    given: Problem | None = None

    def __post_init__(self) -> None:
        if self.truth is not None:
            object.__setattr__(self, "truth", _checked(self.truth, self.shape, f"truth of {self.name}", True))
        if self.homography is not None:
            object.__setattr__(self, "homography", _checked_map(self.homography, self.name))
        if not 0 < self.tolerance < math.inf:
            raise ValueError(f"The tolerance is {self.tolerance} pixels; expected a positive number.")
        if self.given is not None and self.given.shape != self.shape:
            raise ValueError(f"The problem of {self.name} has {self.given.shape} nodes; its points are {self.shape}.")

    def __repr__(self) -> str:
        return f"Pair({self.name!r}, {self.shape[0]} left and {self.shape[1]} right points)"

    def _repr_html_(self) -> str:
        from features.plots.notebook import pair_cell

        return pair_cell(self)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.left.points), len(self.right.points)

    @cached_property
    def digest(self) -> str:
        """What tells it from other pairs: its pixels, its points, what is true, and the problem that it brings."""
        pixels = [None if view.image is None else view.image.digest for view in (self.left, self.right)]
        points = self.left.points, self.right.points
        return digest(pixels, points, self.truth, self.homography, self.tolerance, self.given)

    # ---- the truth -------------------------------------------------------------------------------------------

    @property
    def judged(self) -> bool:
        """Whether right and wrong can be told apart."""
        return self.truth is not None or self.homography is not None

    @property
    def lack(self) -> str:
        """Why there is nothing to match, in a sentence; empty if there is."""
        for side, view in zip(SIDES, (self.left, self.right), strict=True):
            if not len(view.points):
                why = "" if view.image is None else ": it may be too plain or blurred; take another, or add points"
                return f"The {side} {'side' if view.image is None else 'image'} of {self.name} has no point{why}."
        return ""

    def correct(self, pairs: ArrayLike) -> NDArray[np.bool_]:
        """Which of the matched pairs (k × 2) are right; none can be where nothing is known."""
        found = np.asarray(pairs, np.int64).reshape(-1, 2)
        if self.truth is not None:
            return np.asarray(self.truth[found[:, 0]] == found[:, 1])
        if self.homography is None:
            raise ValueError(f"The truth of {self.name} is unknown, so its matches are neither right nor wrong.")
        gaps = mapped(self.homography, self.left.points.xy[found[:, 0]]) - self.right.points.xy[found[:, 1]]
        return np.asarray(np.hypot(*gaps.T) <= self.tolerance)

    @cached_property
    def has_partner(self) -> NDArray[np.bool_]:
        """Which left points are known to have a partner: what can be found."""
        if self.truth is not None or self.homography is None:
            return np.zeros(self.shape[0], bool) if self.truth is None else self.truth >= 0
        return np.asarray(np.diff(self._near.indptr) > 0)

    def outliers(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The left and the right points that have no partner."""
        if not self.judged:
            raise ValueError(f"The truth of {self.name} is unknown, so its outliers are unknown too.")
        alone = np.ones(self.shape[1], bool)
        alone[self._near.indices if self.truth is None else self.truth[self.has_partner]] = False
        return np.flatnonzero(~self.has_partner), np.flatnonzero(alone)

    @cached_property
    def partners(self) -> NDArray[np.int64] | None:
        """The true matching as numbers, −1 for none; None if nothing is known.

        Of a map, the one-to-one matching within the tolerance with the most pairs, and among those the least total
        distance.
        """
        if self.truth is not None or self.homography is None:
            return self.truth
        return _nearest_partners(self._near)

    @cached_property
    def _near(self) -> scipy.sparse.csr_array:
        """Distances, in pixels, of the left points under the map from the right points within the tolerance."""
        assert self.homography is not None
        n1, n2 = self.shape
        if not n1 or not n2:
            return scipy.sparse.csr_array((n1, n2))
        carried = mapped(self.homography, self.left.points.xy)
        seen = np.asarray(np.isfinite(carried).all(axis=1))  # the map may send a point to infinity
        trees = (
            scipy.spatial.cKDTree(np.where(seen[:, None], carried, 1e12)),
            scipy.spatial.cKDTree(self.right.points.xy),
        )
        found = trees[0].sparse_distance_matrix(trees[1], self.tolerance, output_type="ndarray")
        found = found[seen[found["i"]]]
        return scipy.sparse.csr_array((found["v"], (found["i"], found["j"])), shape=(n1, n2))

    def accuracy(self, matching: ArrayLike) -> float:
        """The share of the left points with a true partner that are matched to one; nan if no point has one."""
        if not self.judged:
            raise ValueError(f"The truth of {self.name} is unknown, so a matching has no accuracy.")
        found = _checked(matching, self.shape, f"matching for {self.name}", False)
        rows = np.flatnonzero(self.has_partner & (found >= 0))
        possible = int(self.has_partner.sum())
        return int(self.correct(np.stack([rows, found[rows]], axis=1)).sum()) / possible if possible else math.nan

    # ---- other pairs from this one ---------------------------------------------------------------------------

    def take(self, left: ArrayLike | None = None, right: ArrayLike | None = None) -> Pair:
        """The pair with these points only, in this order; None keeps a side. Partners that left become −1."""
        n1, n2 = self.shape
        rows = np.arange(n1) if left is None else np.asarray(left, dtype=np.int64)
        cols = np.arange(n2) if right is None else np.asarray(right, dtype=np.int64)
        truth = None
        if self.truth is not None:
            place = np.full(n2 + 1, -1)  # one more than n2, so that −1 finds −1
            place[cols] = np.arange(len(cols))
            truth = place[self.truth[rows]]
        return replace(
            self,
            left=self.left if left is None else View(self.left.image, self.left.points.take(rows)),
            right=self.right if right is None else View(self.right.image, self.right.points.take(cols)),
            truth=truth,
            given=None if self.given is None else self.given.take(rows, cols),
        )

    def first(self, n: int) -> Pair:
        """The first n left points against all right points (the paper's setting for House and Hotel)."""
        if n < 1:
            raise ValueError(f"The first {n} points were asked for; at least 1 is needed.")
        return self if n >= self.shape[0] else self.take(left=np.arange(n))

    def limited(self, n1: int, n2: int) -> Pair:
        """At most the first n1 left and the first n2 right points."""
        if min(n1, n2) < 1:
            raise ValueError(f"A limit of {n1} left and {n2} right points was asked for; at least 1 is needed.")
        return self.take(left=np.arange(min(n1, self.shape[0])), right=np.arange(min(n2, self.shape[1])))

    def shuffled(self, seed: int | None) -> Pair:
        """The right points in random order, so that no method profits from the order; None or −1 changes nothing."""
        if seed is None or seed == -1:
            return self
        return self.take(right=np.random.default_rng(seed).permutation(self.shape[1]))

    def with_outliers(self, k: int, seed: int | None, *, left: int = 0) -> Pair:
        """Every point that has a partner, then k of the pair's own right outliers and ``left`` of its left ones.

        The choice is random and seeded, and grows with k: the outliers of k are among those of k + 1.
        """
        rng = np.random.default_rng([plain_seed(seed), 1])  # a stream of its own beside the shuffle
        chosen = []
        for side, wanted, own in zip(("right", "left"), (k, left), self.outliers()[::-1], strict=True):
            if not 0 <= wanted <= len(own):
                raise ValueError(
                    f"{wanted} outliers on the {side} were asked for, but {self.name} has {len(own)} of its own; "
                    f"choose 0 to {len(own)}."
                )
            chosen.append(rng.permutation(own)[:wanted])
        inliers = np.flatnonzero(self.has_partner)
        true = np.setdiff1d(np.arange(self.shape[1]), self.outliers()[1])
        return self.take(left=np.concatenate([inliers, chosen[1]]), right=np.concatenate([true, chosen[0]]))

    def detected(self, detector: str, counts: Wanted | None = None, *, slants: bool = False) -> Pair:
        """The points found anew in both images, at most so many a side; only a map still tells right from wrong.

        `counts` may also hold where they are looked for: {"mask_left": "keep 40 30 400 300", …}
        (`features.points.regions`).

        With `slants` photographs whose points hardly agree are looked at again from the side
        (`features.points.slants`).
        """
        for side, view in zip(SIDES, (self.left, self.right), strict=True):
            if view.image is None:
                raise ValueError(f"The {side} side of {self.name} has no image to look for points in.")
        assert self.left.image is not None and self.right.image is not None
        found = found_in((self.left.image, self.right.image), detector, counts, slants)
        left, right = View(self.left.image, found[0]), View(self.right.image, found[1])
        return replace(self, left=left, right=right, truth=None, given=None)


def found_in(
    images: tuple[Image, Image], detector: str, counts: Wanted | None, slants: bool
) -> tuple[Keypoints, Keypoints]:
    """What a detector finds in two images."""
    given = counts or {}
    most = {side: int(given.get(side, POINTS)) for side in SIDES}
    masks = [
        Mask.of(given.get(f"mask_{side}", ""), image.original_size) for side, image in zip(SIDES, images, strict=True)
    ]
    if slants:
        return detect_both(images, detector, most, masks=(masks[0], masks[1]))
    return detect_sides(images, detector, most, (masks[0], masks[1]))


def mapped(homography: Floats, xy: Floats) -> Floats:
    """Points under a homography; those that it sends to infinity are not finite."""
    lifted = np.column_stack([xy, np.ones(len(xy))]) @ homography.T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(lifted[:, :2] / lifted[:, 2:])


def _nearest_partners(near: scipy.sparse.csr_array) -> NDArray[np.int64]:
    """The most pairs of a sparse matrix of distances, one to one, and of those the least sum."""
    n1, n2 = near.shape
    truth = np.full(n1, -1, np.int64)
    rows, cols = np.repeat(np.arange(n1), np.diff(near.indptr)), near.indices
    if not len(rows):
        return truth
    # Every left point may also take a column of its own; that costs more than all distances together, so that the
    # fewest do.
    dear = 1.0 + float(near.data.sum())
    cost = np.concatenate([near.data + 1.0, np.full(n1, dear + n1)])
    table = scipy.sparse.csr_array(
        (cost, (np.concatenate([rows, np.arange(n1)]), np.concatenate([cols, n2 + np.arange(n1)]))), (n1, n2 + n1)
    )
    left, right = scipy.sparse.csgraph.min_weight_full_bipartite_matching(table)
    kept = right < n2
    truth[left[kept]] = right[kept]
    return truth


def plain_seed(seed: int | None) -> int:
    """None and −1 keep the order of the points; other random choices are then those of seed 0."""
    return 0 if seed is None or seed == -1 else seed


def _checked(values: ArrayLike, shape: tuple[int, int], what: str, one_to_one: bool) -> NDArray[np.int64]:
    """A read-only copy of a map from left to right points, or a ValueError that says what is wrong with it."""
    given = np.asarray(values)
    if given.shape != shape[:1]:
        raise ValueError(f"The {what} has shape {given.shape}; expected one entry per left point, {shape[:1]}.")
    if given.size and not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"The {what} holds {given.dtype} values; expected whole numbers.")
    found = given.astype(np.int64)
    for i in np.flatnonzero((found < -1) | (found >= shape[1]))[:1]:
        raise ValueError(
            f"The {what} sends left point {i} to {found[i]}; expected −1 (none) or a right point 0 to {shape[1] - 1}."
        )
    used, times = np.unique(found[found >= 0], return_counts=True)
    if one_to_one and (times > 1).any():
        raise ValueError(f"The {what} uses right point {used[times > 1][0]} more than once.")
    found.setflags(write=False)
    return found


def _checked_map(values: ArrayLike, name: str) -> Floats:
    """A read-only copy of a homography."""
    found = np.array(values, np.float64)
    if found.shape != (3, 3) or not np.isfinite(found).all() or abs(np.linalg.det(found)) < 1e-300:
        raise ValueError(f"The map of {name} is not a homography; expected 3 × 3 finite numbers that can be inverted.")
    found.setflags(write=False)
    return found
