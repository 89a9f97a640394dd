"""Cars and Motorbikes: pairs of different vehicles in photographs, contour points with hand-marked partners."""

from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from features.datasets.base import Dataset
from features.datasets.download import available, find
from features.files.matlab import read_matlab
from features.files.npz import Arrays
from features.files.point_files import contour_features
from features.pairs import Pair, View
from features.parameters import Parameter, seed_parameter
from features.points.images import Image, from_array

PAIRS = {"cars": 30, "motorbikes": 20}
LABELS = {"cars": "Cars", "motorbikes": "Motorbikes"}
MOST_OUTLIERS = {"cars": (143, 171), "motorbikes": (161, 193)}  # left and right, in the richest pair of the set


def _read(path: Path, *names: str) -> Arrays:
    try:
        content = read_matlab(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error
    if lacking := [name for name in names if name not in content]:
        raise ValueError(f"{path.name} lacks {', '.join(lacking)}; it is not a file of Cars or Motorbikes.")
    return content


def contours(key: str, number: int) -> Arrays:
    """The points of a pair as they are stored: features1, features2 and gTruth."""
    return _read(find(f"{key}/pair_{number}.mat"), "features1", "features2", "gTruth")


@lru_cache(maxsize=sum(PAIRS.values()))
def everything(key: str, number: int) -> Pair:
    """All points of a pair, without images: first the inliers, one to one, then the outliers of both sides."""
    content = contours(key, number)
    left, right = (contour_features(content[name]) for name in ("features1", "features2"))
    inliers = content["gTruth"].astype(np.int64).ravel() - 1
    truth = np.concatenate([inliers, np.full(len(left) - len(inliers), -1)])
    return Pair(View(None, left), View(None, right), truth, f"{LABELS[key]}, pair {number}")


@lru_cache(maxsize=24)
def photographs(key: str, number: int) -> tuple[Image, Image]:
    """The two photographs of a pair."""
    content = _read(find(f"{key}/pair_{number}.mat"), "I1", "I2")
    return from_array(content["I1"]), from_array(content["I2"])


def load(key: str, *, images: bool, number: int, outliers: int, left_outliers: int, seed: int) -> Pair:
    """The inliers of both photographs, and so many outliers of the data set's own."""
    pair = everything(key, number).with_outliers(outliers, seed, left=left_outliers)
    if not images:
        return pair
    left, right = photographs(key, number)
    return replace(pair, left=View(left, pair.left.points), right=View(right, pair.right.points))


def dataset(key: str, description: str) -> Dataset:
    left, right = MOST_OUTLIERS[key]
    most = "; a pair with fewer says how many it has."
    return Dataset(
        key=key,
        label=LABELS[key],
        description=description,
        builtin=False,
        parameters=(
            Parameter("number", "Pair", "int", 1, "The number in the file's name.", 1, PAIRS[key]),
            Parameter("outliers", "Outliers", "int", 0, f"Points without a partner, right{most}", 0, right),
            Parameter("left_outliers", "Left outliers", "int", 0, f"The same on the left{most}", 0, left),
            seed_parameter("Another seed, other outliers and another order of the right points"),
        ),
        make=partial(load, key),
        count=PAIRS[key],
        unit="pairs",
        available=partial(available, key),
    )


CARS = dataset("cars", "30 pairs of photographs of different cars, with contour points and many outliers.")
MOTORBIKES = dataset("motorbikes", "20 pairs of photographs of different motorbikes, with contour points and outliers.")
