"""Cars and Motorbikes: pairs of different vehicles in photographs, contour points with hand-marked partners."""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat

from features.datasets.download import available, find
from features.images import Image, from_array
from features.pairs import Dataset, Pair, Parameter, View, seed_parameter
from features.pointfiles import contour_features

PAIRS = {"cars": 30, "motorbikes": 20}
LABELS = {"cars": "Cars", "motorbikes": "Motorbikes"}
MOST_OUTLIERS = {"cars": (143, 171), "motorbikes": (161, 193)}  # left and right, in the richest pair of the set


def _read(path: Path, *names: str) -> dict[str, Any]:
    try:
        content: dict[str, Any] = loadmat(path, variable_names=names)
    except Exception as error:  # SciPy raises whatever the broken bytes lead it to
        raise ValueError(f"{path.name} is not a readable MATLAB file ({error}).") from error
    if lacking := [name for name in names if name not in content]:
        raise ValueError(f"{path.name} lacks {', '.join(lacking)}; it is not a file of Cars or Motorbikes.")
    return content


@lru_cache(maxsize=sum(PAIRS.values()))
def everything(key: str, number: int) -> Pair:
    """All points of a pair, without images: first the inliers, one to one, then the outliers of both sides."""
    path = find(f"{key}/pair_{number}.mat")
    content = _read(path, "features1", "features2", "gTruth")
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
    return Pair(View(left, pair.left.points), View(right, pair.right.points), pair.truth, pair.name)


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
        ready=partial(available, key),
    )


CARS = dataset("cars", "30 pairs of photographs of different cars, with contour points and many outliers.")
MOTORBIKES = dataset("motorbikes", "20 pairs of photographs of different motorbikes, with contour points and outliers.")
