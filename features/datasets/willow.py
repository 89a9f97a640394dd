"""Willow: photographs of different things of a class, with ten landmarks marked by hand in each (Cho et al. 2013)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import PurePosixPath

import numpy as np

from features.datasets.base import Dataset
from features.datasets.download import MissingData, find, sources_of
from features.files.matlab import read_matlab
from features.pairs import Pair, View
from features.parameters import Parameter, seed_parameter
from features.points.images import Image, decode
from features.points.keypoints import Keypoints

CLASSES = ("Car", "Duck", "Face", "Motorbike", "Winebottle")
LANDMARKS = 10
FAULTY = ("Face/image_0160",)  # has eight points only
# Which landmarks of a photograph carry each other's number: seen in the pictures, where an eye is called a breast.
EXCHANGED = {"Car/Cars_030a": (5, 6), "Duck/060_0003": (1, 9), "Duck/060_0046": (1, 2)}


@lru_cache(maxsize=1)
def names() -> dict[str, tuple[str, ...]]:
    """The photographs of every class, in the order of their names, without those that lack landmarks."""
    files = [PurePosixPath(source.file) for source in sources_of("willow")]
    marked = sorted({f"{file.parent.name}/{file.stem}" for file in files if file.suffix == ".mat"} - {*FAULTY})
    return {kind: tuple(one for one in marked if one.startswith(f"{kind}/")) for kind in CLASSES}


@lru_cache(maxsize=400)
def landmarks(name: str) -> Keypoints:
    """The ten points of a photograph; row j is the same part of the thing in every photograph of its class."""
    path = find(f"willow/{name}.mat")
    try:
        xy = read_matlab(path.read_bytes()).get("pts_coord", np.empty((0, 0))).T.astype(np.float64)
    except ValueError as error:
        raise ValueError(f"{path.name} is not a readable MATLAB file ({error}).") from error
    if xy.shape != (LANDMARKS, 2):
        raise ValueError(f"{path.name} holds points of shape {xy.T.shape}; expected 2 × {LANDMARKS}.")
    one, other = EXCHANGED.get(name, (0, 0))
    order = np.arange(LANDMARKS)
    order[[one, other]] = other, one
    return Keypoints(xy[order])


@lru_cache(maxsize=32)
def photograph(name: str) -> Image:
    path = find(f"willow/{name}.png")
    return decode(path.read_bytes(), name=path.name)


def load(*, images: bool, kind: str, left: int, right: int, seed: int) -> Pair:
    """Row j of both photographs is the same landmark."""
    known = names()[kind]
    for side, number in (("left", left), ("right", right)):
        if number > len(known):
            raise ValueError(f"The {side} photograph is {number}; there are {len(known)} of the class {kind}.")
    chosen = known[left - 1], known[right - 1]
    views = [View(photograph(name) if images else None, landmarks(name)) for name in chosen]
    title = f"Willow {kind}, {' and '.join(PurePosixPath(name).name for name in chosen)}"
    return Pair(views[0], views[1], np.arange(LANDMARKS), title)


def classes() -> list[str]:
    """The classes that are on this computer."""
    found = []
    for kind in CLASSES:
        try:
            for name in names()[kind]:
                find(f"willow/{name}.png")
                find(f"willow/{name}.mat")
        except MissingData:
            continue
        found.append(kind)
    return found


MOST = 200  # no class has more photographs

WILLOW = Dataset(
    key="willow",
    label="Willow",
    description="Photographs of cars, ducks, faces, motorbikes and bottles, with the same ten landmarks in each.",
    builtin=False,
    parameters=(
        Parameter("kind", "Class", "choice", "Car", "What the photographs show.", choices=CLASSES),
        Parameter("left", "Left photograph", "int", 1, "By its place in the class.", 1, MOST),
        Parameter("right", "Right photograph", "int", 2, "The same for the right one.", 1, MOST),
        seed_parameter(),
    ),
    make=load,
    count=LANDMARKS,
    unit="landmarks",
    available=lambda: bool(classes()),
)
