"""CMU House and Hotel: 30 hand-marked points followed through a turning toy house (111 frames) and hotel (101)."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np

from features.datasets.base import Dataset
from features.datasets.download import available, find
from features.pairs import Pair, View
from features.parameters import Parameter, seed_parameter
from features.points.images import Image, decode
from features.points.keypoints import Keypoints

POINTS = 30
FRAMES = {"house": 111, "hotel": 101}
LABELS = {"house": "house/labels/house{}", "hotel": "hotel/labels/hotel{}.txt"}


@lru_cache(maxsize=256)
def frame_points(key: str, frame: int) -> Keypoints:
    """The points of a frame; row j is the same physical point in every frame."""
    path = find(LABELS[key].format(frame + 1))  # label file k + 1 belongs to image seq k
    try:
        xy = np.loadtxt(path, dtype=np.float64, ndmin=2)
    except ValueError as error:
        raise ValueError(f"{path.name} is not a table of points: {error}.") from None
    if xy.shape != (POINTS, 2):
        raise ValueError(f"{path.name} holds a table of shape {xy.shape}; expected {POINTS} lines 'x y'.")
    xy.setflags(write=False)  # shared by every pair with this frame
    return Keypoints(xy=xy, angle=None, size=None, strength=None, labels=None)


@lru_cache(maxsize=64)
def frame_image(key: str, frame: int) -> Image:
    """A frame's image."""
    path = find(f"{key}/images/{key}.seq{frame}.png")
    return decode(path.read_bytes(), name=path.name)


def load(key: str, *, images: bool, left: int, right: int, points: int, seed: int) -> Pair:
    """Row j of both frames is the same point."""
    views = [View(frame_image(key, frame) if images else None, frame_points(key, frame)) for frame in (left, right)]
    name = f"{key.capitalize()}, frames {left} and {right}"
    return Pair(views[0], views[1], np.arange(POINTS), name).first(points)


def dataset(key: str, description: str, apart: int) -> Dataset:
    last = FRAMES[key] - 1
    return Dataset(
        key=key,
        label=f"CMU {key.capitalize()}",
        description=description,
        builtin=False,
        parameters=(
            Parameter("left", "Left frame", "int", 0, "The number in the image's file name.", 0, last),
            Parameter("right", "Right frame", "int", apart, "The farther from the left, the harder.", 0, last),
            Parameter("points", "Left points", "int", POINTS, "The first so many against all 30.", 1, POINTS),
            seed_parameter(),
        ),
        make=partial(load, key),
        count=FRAMES[key],
        unit="frames",
        available=partial(available, key),
    )


HOUSE = dataset("house", "A toy house on a turntable, 111 grey frames with the same 30 points in each.", 50)
HOTEL = dataset("hotel", "A toy hotel seen from changing sides, 101 grey frames with the same 30 points in each.", 50)
