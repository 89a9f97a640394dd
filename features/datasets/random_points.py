"""Random points: the literature's synthetic test, a point set and its turned, scaled and disturbed copy."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from features.datasets.base import Dataset
from features.pairs import Pair, View
from features.parameters import Parameter, seed_parameter
from features.points.images import Image, from_array
from features.points.keypoints import Keypoints

SIDE = 480  # pixels; the left points are uniform in a square of this side, less a margin
MARGIN = 36
CELL = 48  # pixels between the lines of the backdrop
TABLE = (228, 232, 238)  # what lies around the turned sheet


def frame(rotation: float, scale: float) -> tuple[NDArray[np.float64], int]:
    """The 2 × 3 similarity from left to right pixels, and the side of the square that holds the turned left one."""
    turn = np.radians(rotation)
    matrix = scale * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    side = int(np.ceil(SIDE * scale * (abs(np.cos(turn)) + abs(np.sin(turn)))))
    centre = np.full(2, (SIDE - 1) / 2)
    return np.column_stack([matrix, (side - 1) / 2 - matrix @ centre]), side


@lru_cache(maxsize=1)
def sheet() -> NDArray[np.uint8]:
    """A soft sheet of paper with a faint grid."""
    middle = (SIDE - 1) / 2
    x, y = np.meshgrid(*[np.arange(SIDE, dtype=np.float32) - middle] * 2)
    gap = np.minimum(*(abs((at + CELL / 2) % CELL - CELL / 2) for at in (x, y)))
    paper = np.array((248, 250, 252)) - (np.hypot(x, y) / SIDE)[..., None] * np.array((16, 12, 7))
    line = 0.6 * np.clip(1.2 - gap, 0, 1)[..., None]
    return np.asarray(paper + line * (np.array((206, 215, 227)) - paper) + 0.5, np.uint8)


@lru_cache(maxsize=16)
def backdrop(rotation: float, scale: float) -> Image:
    """The sheet, laid down by the same map as the points, so that the eye sees the turn."""
    matrix, side = frame(rotation, scale)
    return from_array(cv2.warpAffine(sheet(), matrix, (side, side), flags=cv2.INTER_LINEAR, borderValue=TABLE))


def load(
    *,
    images: bool,
    inliers: int,
    outliers: int,
    left_outliers: int,
    noise: float,
    rotation: float,
    scale: float,
    seed: int,
) -> Pair:
    """Inliers first on both sides; outliers are uniform like the inliers and have no partner."""
    rng = np.random.default_rng([seed, 4])
    matrix, _ = frame(rotation, scale)
    inside, left_only, right_only = (
        rng.uniform(MARGIN, SIDE - 1 - MARGIN, (count, 2)) for count in (inliers, left_outliers, outliers)
    )
    moved = inside + rng.normal(0, noise, inside.shape)
    left = np.concatenate([inside, left_only])
    right = np.concatenate([moved, right_only]) @ matrix[:, :2].T + matrix[:, 2]
    truth = np.concatenate([np.arange(inliers), np.full(left_outliers, -1)])
    views = [
        View(backdrop(*pose) if images else None, Keypoints(points))
        for pose, points in (((0.0, 1.0), left), ((rotation, scale), right))
    ]
    return Pair(views[0], views[1], truth, f"Random points, {len(left)} and {len(right)}")


RANDOM = Dataset(
    key="random",
    label="Random points",
    description="Points at random and their turned, scaled and disturbed copy, outliers too: the classic test.",
    builtin=True,
    parameters=(
        Parameter("inliers", "Inliers", "int", 20, "Points that both sides have.", 1, 200),
        Parameter("outliers", "Outliers", "int", 5, "Points that only the right side has.", 0, 200),
        Parameter("left_outliers", "Left outliers", "int", 0, "Points that only the left side has.", 0, 200),
        Parameter(
            "noise", "Deformation", "float", 4.0, "Standard deviation, on the left (480 wide).", 0, 60, unit="px"
        ),
        Parameter("rotation", "Rotation", "float", 20.0, "Clockwise on the screen.", -180, 180, unit="°"),
        Parameter("scale", "Scale", "float", 1.0, "How much larger the right side is.", 0.5, 2),
        seed_parameter("Another seed, other points in another order"),
    ),
    make=load,
)
