"""Warped photo: a photograph and its warped, noisy copy, keypoints detected in both, truth from the known map.

The photograph is the sample that matplotlib ships (Grace Hopper, public domain).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import scipy  # whose parts are imported when they are first used
from numpy.typing import NDArray

from features.datasets.base import Dataset
from features.pairs import Pair, View
from features.parameters import Parameter, seed_parameter
from features.points.images import Image, decode, from_array
from features.points.keypoints import DETECTORS, detect, spread

Points = NDArray[np.float64]  # (n, 2)
Map = Callable[[Points], Points]

SIZE = (512, 600)  # of the photograph, and of its warped copy
TABLE = (226, 230, 236)  # what lies around the warped photograph
EDGE = 8.0  # pixels; detections this close to the photograph's edge are marks of the edge, not of the photograph
CONTROL = 4  # control points per side of the thin-plate map
POOL = 600  # detections per picture, among which the pair's points are chosen


@lru_cache(maxsize=1)
def photograph() -> Image:
    from matplotlib.cbook import get_sample_data  # late: other data sets do without

    return decode(Path(str(get_sample_data("grace_hopper.jpg", asfileobj=False))).read_bytes(), name="grace_hopper.jpg")


def homography(rng: np.random.Generator, strength: float) -> Map:
    """Each corner of the frame looks at its own place near the photograph's corner."""
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)]) * (np.array(SIZE) - 1.0)
    outward = np.sign(corners - corners.mean(axis=0)) * np.array(SIZE)
    moved = corners + strength * outward * rng.uniform(-0.12, 0.30, (4, 2))
    matrix = np.asarray(cv2.getPerspectiveTransform(corners.astype("f4"), moved.astype("f4")), np.float64)

    def back(points: Points) -> Points:
        lifted = np.column_stack([points, np.ones(len(points))]) @ matrix.T
        return lifted[:, :2] / lifted[:, 2:]

    return back


def affine(rng: np.random.Generator, strength: float) -> Map:
    """A turn, a shear and a stretch about the middle, and a shift."""
    turn, shear = strength * rng.uniform(-0.6, 0.6), strength * rng.uniform(-0.5, 0.5)
    stretch = 1 + strength * rng.uniform(0.05, 0.5, 2)
    turned = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    matrix = turned @ np.array([[1, shear], [0, 1]]) @ np.diag(stretch)
    middle, shift = (np.array(SIZE) - 1) / 2, strength * rng.uniform(-20, 20, 2)
    return lambda points: (points - middle) @ matrix.T + middle + shift


def thin_plate(rng: np.random.Generator, strength: float) -> Map:
    """The smoothest map through shifted control points; shifts small enough that it never folds."""
    line = np.linspace(0, 1, CONTROL)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2) * (np.array(SIZE) - 1.0)
    shifts = strength * rng.uniform(-34, 34, grid.shape)
    spline = scipy.interpolate.RBFInterpolator(grid, grid + shifts, kernel="thin_plate_spline", degree=1)
    return lambda points: np.asarray(spline(points))


MAPS: dict[str, Callable[[np.random.Generator, float], Map]] = {
    "homography": homography,
    "affine": affine,
    "thin plate": thin_plate,
}


def back_map(kind: str, strength: float, seed: int) -> Map:
    """The map that sends a pixel of the warped copy to the pixel of the photograph that it shows."""
    return MAPS[kind](np.random.default_rng([seed, 5]), strength)


def forward_map(kind: str, strength: float, seed: int) -> Points | None:
    """The homography from the photograph to its copy; None if the map is none."""
    if kind == "thin plate":
        return None
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)]) * (np.array(SIZE) - 1.0)
    return np.asarray(cv2.findHomography(back_map(kind, strength, seed)(corners), corners)[0], np.float64)


@lru_cache(maxsize=16)
def warped(kind: str, strength: float, noise: float, seed: int) -> Image:
    """The photograph seen through the map, with grey-level noise."""
    pixels = np.stack(np.meshgrid(*(np.arange(size, dtype=float) for size in SIZE)), axis=-1)
    u, v = back_map(kind, strength, seed)(pixels.reshape(-1, 2)).astype(np.float32).T.reshape(2, *pixels.shape[:2])
    shown = cv2.remap(photograph().rgb, u, v, cv2.INTER_CUBIC, borderMode=cv2.BORDER_CONSTANT, borderValue=TABLE)
    disturbed = shown + np.random.default_rng([seed, 6]).normal(0, noise, shown.shape)
    return from_array(np.clip(np.round(disturbed), 0, 255).astype(np.uint8))


def partners(left: Points, back: Points, tolerance: float) -> NDArray[np.int64]:
    """Left points and right points carried back are partners if each is the other's nearest and within tolerance."""
    truth = np.full(len(left), -1)
    if len(left) and len(back):
        distance, right = scipy.spatial.cKDTree(back).query(left)
        mutual = scipy.spatial.cKDTree(left).query(back)[1][right] == np.arange(len(left))
        good = mutual & (distance <= tolerance)
        truth[good] = right[good]
    return truth


@lru_cache(maxsize=64)
def detected(map: str, strength: float, noise: float, seed: int, detector: str, tolerance: float) -> Pair:
    """All that a detector finds in the photograph and, off its edges, in the copy; the truth follows from the map."""
    left, right = photograph(), warped(map, strength, noise, seed)
    found = [detect(image, detector, POOL, even=True) for image in (left, right)]
    back = back_map(map, strength, seed)(found[1].xy)
    inside = np.flatnonzero(((back > EDGE) & (back < np.array(SIZE) - 1 - EDGE)).all(axis=1))
    truth = partners(found[0].xy, back[inside], tolerance)
    name = f"Warped photo, {map} {seed}"
    known = forward_map(map, strength, seed)
    return Pair(View(None, found[0]), View(None, found[1].take(inside)), truth, name, known, tolerance)


def apart(candidates: Points, near: Points, tolerance: float, count: int) -> NDArray[np.int64]:
    """At most so many candidates, spread over the picture, none of which might be taken for a partner of ``near``."""
    if len(candidates) == 0 or count == 0:
        return np.empty(0, np.int64)
    free = np.arange(len(candidates))
    if len(near):
        free = np.flatnonzero(scipy.spatial.cKDTree(near).query(candidates)[0] > 2 * tolerance)
    return free[spread(candidates[free], count)]


@dataclass(frozen=True)
class Copy:
    """The parameters of the data set; `WARP.parameters` says what they mean."""

    map: str
    strength: float
    noise: float
    detector: str
    points: int
    outliers: int
    left_outliers: int
    tolerance: float
    seed: int


@lru_cache(maxsize=64)
def load(*, images: bool, **values: Any) -> Pair:
    """So many detections that both pictures have, spread over them, and some that only one has.

    Two detectors' choices of a few points hardly meet, so the choice is made among all detections, after the truth.
    """
    copy = Copy(**values)
    map, strength, noise, seed, tolerance = copy.map, copy.strength, copy.noise, copy.seed, copy.tolerance
    every = detected(map, strength, noise, seed, copy.detector, tolerance)
    assert every.truth is not None
    left, right = every.left.points.xy, every.right.points.xy
    back = back_map(map, strength, seed)
    both = np.flatnonzero(every.has_partner)
    both = both[spread(left[both], copy.points)]
    true = every.truth[both]
    alone_left, alone_right = every.outliers()
    alone_right = alone_right[apart(back(right[alone_right]), left[both], tolerance, copy.outliers)]
    taken = back(right[np.concatenate([true, alone_right])])
    alone_left = alone_left[apart(left[alone_left], taken, tolerance, copy.left_outliers)]
    pair = every.take(np.concatenate([both, alone_left]), np.concatenate([true, alone_right]))
    if not images:
        return pair
    pictures = photograph(), warped(map, strength, noise, seed)
    return replace(pair, left=View(pictures[0], pair.left.points), right=View(pictures[1], pair.right.points))


WARP = Dataset(
    key="warp",
    label="Warped photo",
    description="A portrait photograph and its warped, noisy copy, with keypoints detected in both and a known map.",
    builtin=True,
    parameters=(
        Parameter("map", "Map", "choice", "homography", "How the copy is warped.", choices=tuple(MAPS)),
        Parameter("strength", "Strength", "float", 0.5, "0 is no warp, 1 a strong one.", 0, 1),
        Parameter("noise", "Noise", "float", 4.0, "Standard deviation of the copy's grey levels (of 255).", 0, 60),
        Parameter("detector", "Detector", "choice", "sift", "What finds the points.", choices=tuple(DETECTORS)),
        Parameter("points", "Points", "int", 30, "At most so many that both pictures have.", 3, 200),
        Parameter("outliers", "Outliers", "int", 5, "At most so many that only the right picture has.", 0, 100),
        Parameter("left_outliers", "Left outliers", "int", 0, "At most so many that only the left has.", 0, 100),
        Parameter(
            "tolerance", "Tolerance", "float", 3.0, "Partners lie at most so many pixels apart.", 0.5, 20, unit="px"
        ),
        seed_parameter("Another seed, another map, other noise and another order of the right points"),
    ),
    make=load,
)
