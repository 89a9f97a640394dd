"""Oxford: eight scenes under a change of view, zoom, blur, light or compression, and the homography of every pair.

Six photographs each, the first against the others; the scene is flat or the camera only turns, so that one map tells of
any two points whether they are the same (Mikolajczyk and Schmid, PAMI 2005).
"""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from features.datasets.base import Dataset, tolerance_parameter
from features.datasets.download import data_dirs, find
from features.pairs import SIDES, Pair, View, found_in
from features.parameters import Parameter, seed_parameter
from features.points.images import Image, decode
from features.points.keypoints import DETECTORS, Keypoints, detect

SCENES = {
    "graf": "view",
    "wall": "view",
    "bark": "zoom and turn",
    "boat": "zoom and turn",
    "bikes": "blur",
    "trees": "blur",
    "leuven": "light",
    "ubc": "compression",
}
LAST = 6  # photographs of a scene
SLANTS = ("where needed", "never")


@lru_cache(maxsize=16)
def photograph(scene: str, number: int) -> Image:
    path = find(f"oxford/{scene}/img{number}.png")
    return decode(path.read_bytes(), name=path.name)


@lru_cache(maxsize=LAST)
def _spots(scene: str, number: int, detector: str, points: int) -> Keypoints:
    """The points of one photograph: all pairs of a scene share the first."""
    return detect(photograph(scene, number), detector, points)


@lru_cache(maxsize=64)
def homography(scene: str, number: int) -> NDArray[np.float64]:
    """From the first photograph to another, in pixels; the files are OpenCV's own kind of XML."""
    path = find(f"oxford/{scene}/H1to{number}p.xml")
    try:
        store = cv2.FileStorage(path.read_text("utf-8"), cv2.FILE_STORAGE_READ | cv2.FILE_STORAGE_MEMORY)
        matrix = store.getFirstTopLevelNode().mat()
    except (cv2.error, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} of {scene} is not a file of OpenCV's ({error}).") from error
    if matrix is None or matrix.shape != (3, 3):
        raise ValueError(f"{path.name} of {scene} holds no homography; expected 3 × 3 numbers.")
    return np.asarray(matrix, np.float64)


@lru_cache(maxsize=16)
def load(
    *, images: bool, scene: str, number: int, detector: str, points: int, slants: str, tolerance: float, seed: int
) -> Pair:
    """The points that a detector finds in the two photographs; right is what lies within the tolerance of the map."""
    pictures = photograph(scene, 1), photograph(scene, number)
    if slants == SLANTS[0]:
        found = found_in(pictures, detector, dict.fromkeys(SIDES, points), True)
    else:
        found = _spots(scene, 1, detector, points), _spots(scene, number, detector, points)
    left, right = (View(picture if images else None, spots) for picture, spots in zip(pictures, found, strict=True))
    name = f"Oxford {scene}, photographs 1 and {number}"
    working = np.diag([pictures[1].scale] * 2 + [1.0]) @ homography(scene, number)
    matrix = working @ np.diag([1 / pictures[0].scale] * 2 + [1.0])  # the map is told in original pixels
    return Pair(left, right, None, name, matrix, tolerance)


def available() -> bool:
    """Whether at least one scene is on this computer."""
    return bool(scenes())


def scenes() -> list[str]:
    """The scenes that are on this computer."""
    files = [f"img{k}.png" for k in range(1, LAST + 1)] + [f"H1to{k}p.xml" for k in range(2, LAST + 1)]
    folders = [folder / "oxford" for folder in data_dirs()]
    return [scene for scene in SCENES if any(all((at / scene / file).is_file() for file in files) for at in folders)]


OXFORD = Dataset(
    key="oxford",
    label="Oxford",
    description="Eight scenes under changes of view, zoom, blur, light or compression; the map of each pair is known.",
    builtin=False,
    parameters=(
        Parameter(
            "scene",
            "Scene",
            "choice",
            "graf",
            f"What changes: {', '.join(f'{scene} {what}' for scene, what in SCENES.items())}.",
            choices=tuple(SCENES),
        ),
        Parameter("number", "Photograph", "int", 2, "The first against this one; the later, the harder.", 2, LAST),
        Parameter("detector", "Detector", "choice", "sift", "What finds the points.", choices=tuple(DETECTORS)),
        Parameter("points", "Points", "int", 500, "At most so many in each photograph.", 10, 4000),
        Parameter(
            "slants",
            "From a slant",
            "choice",
            SLANTS[0],
            "Whether a photograph is looked at again from a slant where points hardly agree.",
            choices=SLANTS,
        ),
        tolerance_parameter(),
        seed_parameter(),
    ),
    make=load,
    count=len(SCENES) * (LAST - 1),
    available=available,
)
