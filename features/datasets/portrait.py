"""Photograph: the portrait turned, zoomed and seen at a slant, with the points that a detector finds in each.

Nothing tells the detector where the other picture shows the same: many points have no partner, as in photographs that
people bring. The truth is the map between the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from features.datasets.base import Dataset, tolerance_parameter
from features.datasets.warp import SIZE, TABLE, photograph
from features.pairs import Pair, View
from features.parameters import Parameter, seed_parameter
from features.points.images import Image, from_array
from features.points.keypoints import DETECTORS
from features.points.slants import SIDES, detect_both

Floats = NDArray[np.float64]

DISTANCE = 1.5  # of the camera, in heights of the photograph


def camera(turn: float, zoom: float, slant: float) -> Floats:
    """The homography (pixels to pixels) of a photograph turned in its plane, then about the vertical, by degrees."""
    middle, distance = (np.array(SIZE) - 1) / 2, DISTANCE * SIZE[1]
    a, b = np.radians(turn), np.radians(slant)
    plane = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    # A point (x, y) of the turned plane lies at (x cos b, y, distance − x sin b) before the camera.
    look = np.array([[distance * np.cos(b), 0, 0], [0, distance, 0], [-np.sin(b), 0, distance]])
    scale = np.diag([zoom, zoom, 1.0])
    to_middle = np.array([[1, 0, -middle[0]], [0, 1, -middle[1]], [0, 0, 1]])
    matrix = np.linalg.inv(to_middle) @ scale @ look @ plane @ to_middle
    return np.asarray(matrix / matrix[2, 2])


@lru_cache(maxsize=16)
def seen(turn: float, zoom: float, slant: float, noise: float, seed: int) -> Image:
    """The portrait as that camera sees it, with grey-level noise."""
    shown = cv2.warpPerspective(
        photograph().rgb, camera(turn, zoom, slant), SIZE, flags=cv2.INTER_AREA, borderValue=TABLE
    )
    disturbed = shown + np.random.default_rng([seed, 7]).normal(0, noise, shown.shape)
    return from_array(np.clip(np.round(disturbed), 0, 255).astype(np.uint8))


@dataclass(frozen=True)
class Shot:
    """The parameters of the data set; `PORTRAIT.parameters` says what they mean."""

    turn: float
    zoom: float
    slant: float
    noise: float
    detector: str
    points: int
    tolerance: float
    seed: int


@lru_cache(maxsize=16)
def load(*, images: bool, **values: Any) -> Pair:
    """What a detector finds in the portrait and in what the camera sees."""
    shot = Shot(**values)
    pictures = photograph(), seen(shot.turn, shot.zoom, shot.slant, shot.noise, shot.seed)
    found = detect_both(pictures, shot.detector, dict.fromkeys(SIDES, shot.points))
    left, right = (View(picture if images else None, spots) for picture, spots in zip(pictures, found, strict=True))
    known = camera(shot.turn, shot.zoom, shot.slant)
    return Pair(left, right, None, f"Photograph, turned by {shot.turn:g}°", known, shot.tolerance)


PORTRAIT = Dataset(
    key="portrait",
    label="Photograph",
    description="A portrait and a second photograph of it, turned, zoomed and at a slant; points found in each.",
    builtin=True,
    parameters=(
        Parameter("turn", "Turn", "float", 35.0, "In the plane of the picture.", -180, 180, unit="°"),
        Parameter("zoom", "Zoom", "float", 0.8, "How much larger the second photograph shows it.", 0.3, 3),
        Parameter("slant", "Slant", "float", 40.0, "About the vertical.", -70, 70, unit="°"),
        Parameter("noise", "Noise", "float", 4.0, "Standard deviation of the grey levels (of 255).", 0, 60),
        Parameter("detector", "Detector", "choice", "sift", "What finds the points.", choices=tuple(DETECTORS)),
        Parameter("points", "Points", "int", 300, "At most so many in each picture.", 10, 2000),
        tolerance_parameter(),
        seed_parameter("Another seed, other noise and another order of the right points"),
    ),
    make=load,
)
