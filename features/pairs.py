"""A pair of views with the truth between them, the operations of the paper on it, and the record of a data set."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from features.images import Image, decode
from features.keypoints import Keypoints
from features.pointfiles import read_points, read_truth


@dataclass(frozen=True, eq=False)
class View:
    """One side of a pair: its points, and the image they lie on if there is one."""

    image: Image | None
    points: Keypoints


@dataclass(frozen=True, eq=False)
class Pair:
    """Two views; ``truth[i1]`` is the right point that is the same as the left point i1, −1 if there is none."""

    left: View
    right: View
    truth: NDArray[np.int64] | None = None  # None: unknown
    name: str = "pair"

    def __post_init__(self) -> None:
        if self.truth is not None:
            object.__setattr__(self, "truth", _checked(self.truth, self.shape, f"truth of {self.name}", True))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.left.points), len(self.right.points)

    @property
    def has_partner(self) -> NDArray[np.bool_]:
        """Which left points are known to have a partner."""
        return np.zeros(self.shape[0], bool) if self.truth is None else self.truth >= 0

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

    def swapped(self) -> Pair:
        """Left and right exchanged."""
        truth = None
        if self.truth is not None:
            truth = np.full(self.shape[1], -1)
            truth[self.truth[self.has_partner]] = np.flatnonzero(self.has_partner)
        return replace(self, left=self.right, right=self.left, truth=truth)

    def outliers(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The left and the right points that have no partner."""
        if self.truth is None:
            raise ValueError(f"The truth of {self.name} is unknown, so its outliers are unknown too.")
        alone = np.ones(self.shape[1], bool)
        alone[self.truth[self.has_partner]] = False
        return np.flatnonzero(~self.has_partner), np.flatnonzero(alone)

    def with_outliers(self, k: int, seed: int | None, *, left: int = 0) -> Pair:
        """Every point that has a partner, then k of the pair's own right outliers and ``left`` of its left ones.

        The choice is random and seeded, and grows with k: the outliers of k are among those of k + 1.
        """
        rng = np.random.default_rng([_seed(seed), 1])  # a stream of its own beside the shuffle
        chosen = []
        for side, wanted, own in zip(("right", "left"), (k, left), self.outliers()[::-1], strict=True):
            if not 0 <= wanted <= len(own):
                raise ValueError(
                    f"{wanted} outliers on the {side} were asked for, but {self.name} has {len(own)} of its own; "
                    f"choose 0 to {len(own)}."
                )
            chosen.append(rng.permutation(own)[:wanted])
        inliers = np.flatnonzero(self.has_partner)
        true = np.empty(0, np.int64) if self.truth is None else np.sort(self.truth[inliers])
        return self.take(left=np.concatenate([inliers, chosen[1]]), right=np.concatenate([true, chosen[0]]))

    def with_clutter(self, k: int, seed: int | None) -> Pair:
        """k new random points at the end of the right view, uniform over its image (or its points' box)."""
        if k < 0:
            raise ValueError(f"{k} random points were asked for; 0 or more is right.")
        points, rng = self.right.points, np.random.default_rng([_seed(seed), 2])
        if self.right.image is not None:
            low, high = np.zeros(2), np.asarray(self.right.image.size) - 1.0
        elif len(points):
            low, high = points.xy.min(axis=0), points.xy.max(axis=0)
        else:
            raise ValueError(f"{self.name} has neither a right image nor right points to lay random points among.")

        def like(values: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
            """Attributes for the new points, drawn from the old ones."""
            if values is None:
                return None
            return np.concatenate([values, rng.choice(values, k) if len(values) else np.zeros(k)])

        more = Keypoints(
            xy=np.concatenate([points.xy, rng.uniform(low, high, (k, 2))]),
            angle=None if points.angle is None else np.append(points.angle, rng.uniform(-np.pi, np.pi, k)),
            size=like(points.size),
            strength=like(points.strength),
            labels=None if points.labels is None else (*points.labels, *[""] * k),
        )
        return replace(self, right=View(self.right.image, more))

    def accuracy(self, matching: ArrayLike) -> float:
        """The share of the left points with a true partner that are matched to it; nan if no point has one."""
        if self.truth is None:
            raise ValueError(f"The truth of {self.name} is unknown, so a matching has no accuracy.")
        found = _checked(matching, self.shape, f"matching for {self.name}", False)[self.has_partner]
        return float(np.mean(found == self.truth[self.has_partner])) if len(found) else math.nan


def _seed(seed: int | None) -> int:
    """None and −1 keep the order of the points; other random choices are then those of seed 0."""
    return 0 if seed is None or seed == -1 else seed


def _checked(values: ArrayLike, shape: tuple[int, int], what: str, one_to_one: bool) -> NDArray[np.int64]:
    """A read-only copy of a map from left to right points, or a ValueError that says what is wrong with it."""
    given = np.asarray(values)
    if given.shape != shape[:1]:
        raise ValueError(f"The {what} has shape {given.shape}; one entry per left point, {shape[:1]}, is right.")
    if given.size and not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"The {what} holds {given.dtype} values; whole numbers are right.")
    found = given.astype(np.int64)
    for i in np.flatnonzero((found < -1) | (found >= shape[1]))[:1]:
        raise ValueError(
            f"The {what} sends left point {i} to {found[i]}; −1 (none) or a right point 0 to {shape[1] - 1} is right."
        )
    used, times = np.unique(found[found >= 0], return_counts=True)
    if one_to_one and (times > 1).any():
        twice = used[times > 1][0]
        raise ValueError(f"The {what} uses right point {twice} more than once; once is right.")
    found.setflags(write=False)
    return found


def truth_by_label(left: Keypoints, right: Keypoints) -> NDArray[np.int64]:
    """Points with the same label are the same point; a label that the other side lacks has no partner."""
    if left.labels is None or right.labels is None:
        raise ValueError("Both point sets need labels to be matched by label.")
    for side, labels in (("left", left.labels), ("right", right.labels)):
        named = [label for label in labels if label]
        if len(set(named)) < len(named):
            twice = next(label for label in named if named.count(label) > 1)
            raise ValueError(f"The label {twice!r} names more than one {side} point; one is right.")
    where = {label: i for i, label in enumerate(right.labels) if label}
    return np.array([where.get(label, -1) for label in left.labels], dtype=np.int64)


def own_pair(
    images: tuple[Image | None, Image | None],
    points: tuple[Keypoints, Keypoints],
    *,
    truth: ArrayLike | None = None,
    name: str = "own pair",
) -> Pair:
    """Bring your own: images, points in the images' original pixels, and the truth if it is known.

    Without one the truth is read from the points' labels if both sides have some, else it is unknown.
    """
    left, right = (
        View(image, spots if image is None else spots.scaled(image.scale))
        for image, spots in zip(images, points, strict=True)
    )
    known = None if truth is None else _checked(truth, (len(points[0]), len(points[1])), f"truth of {name}", True)
    if known is None and all(side.labels is not None and any(side.labels) for side in points):
        known = truth_by_label(*points)
    return Pair(left, right, known, name)


def read_pair(
    images: tuple[bytes, bytes], points: tuple[bytes, bytes], truth: bytes | None = None, name: str = "own pair"
) -> Pair:
    """Bring your own, as files: two images, two point files and perhaps a truth file (see `features.pointfiles`)."""
    left, right = (decode(data, name=f"{side} image") for side, data in zip(SIDES, images, strict=True))
    spots = [read_points(data, f"{side} points") for side, data in zip(SIDES, points, strict=True)]
    known = None if truth is None else read_truth(truth, "truth file", (len(spots[0]), len(spots[1])))
    return own_pair((left, right), (spots[0], spots[1]), truth=known, name=name)


SIDES = ("left", "right")
Value = int | float | str


@dataclass(frozen=True)
class Parameter:
    """One declared choice of a data set, enough to build a control, a command-line option or a sweep from."""

    name: str
    label: str
    kind: Literal["int", "float", "choice"]
    default: Value
    help: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.check(self.default)

    def check(self, value: Any) -> Value:
        """The value in its own type, or a ValueError that names the parameter, the value and what is right."""
        if self.kind == "choice":
            if value not in self.choices:
                raise ValueError(f"{self.label} is {value!r}; one of {', '.join(self.choices)} is right.")
            return str(value)
        whole = self.kind == "int"
        try:
            number = operator.index(value) if whole else float(value)
        except (TypeError, ValueError):
            raise ValueError(f"{self.label} is {value!r}; a {'whole ' * whole}number is right.") from None
        if not self.low <= number <= self.high:
            raise ValueError(f"{self.label} is {number}; {self.low:g} to {self.high:g} is right.")
        return number


def seed_parameter(help: str = "Another seed, another order of the right points") -> Parameter:
    """The parameter that every data set has: with −1 (or None) the right points keep their own order."""
    what = f"{help}; −1 keeps their own order (anything else that is random is then as with seed 0)."
    return Parameter("seed", "Seed", "int", 0, what, -1, 2**31 - 1)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Where pairs come from: what the user may choose, as data, and one function that makes the pair."""

    key: str
    label: str
    description: str
    builtin: bool  # True: generated by our own code; False: read from files that may have to be downloaded
    parameters: tuple[Parameter, ...]
    make: Callable[..., Pair]  # make(images=..., **values), with every parameter given; the right points unshuffled
    count: int | None = None  # how many frames, views or pairs there are, where they can be counted
    unit: str = "pairs"
    ready: Callable[[], bool] = lambda: True

    def available(self) -> bool:
        """Whether a pair can be loaded now, without a download."""
        return self.ready()

    def load(self, *, images: bool = True, **given: Any) -> Pair:
        """One pair, its right points shuffled by the seed; ``images=False`` gives the points alone, much faster."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given.keys() - known.keys():
            raise ValueError(f"{self.label} has no parameter {name!r}; it has {', '.join(known)}.")
        if given.get("seed", 0) is None:
            given["seed"] = -1
        values = {name: known[name].check(given.get(name, known[name].default)) for name in known}
        seed = int(values["seed"])
        values["seed"] = _seed(seed)
        return self.make(images=images, **values).shuffled(seed)
