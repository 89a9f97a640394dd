"""Points that were moved, added and removed by hand: what is still known about each of them."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from features.pairs import View
from features.points import rootsift
from features.points.descriptors import ROOTED
from features.points.keypoints import Keypoints

Floats = NDArray[np.float64]
SAME = 0.01  # pixels that a browser may round coordinates by


def edited(view: View, xy: Floats, origin: ArrayLike) -> View:
    """The view with points at `xy`; each was point number `origin` of the view's before, −1 for a new one.

    A point keeps its label wherever it is moved, and what was measured at its place only as long as it stays there.
    Elsewhere it is as large as most others, upright, and its surroundings are looked at again.
    """
    index = np.asarray(origin, np.int64).reshape(-1)
    if len(index) != len(xy) or (index >= len(view.points)).any():
        raise ValueError(f"{len(xy)} points need as many numbers of points before, below {len(view.points)}.")
    before = view.points
    known = index >= 0
    labels = None
    if before.labels is not None:
        labels = tuple(before.labels[k] if k >= 0 else "" for k in index.tolist())
    stays = known.copy()
    stays[known] = np.abs(xy[known] - before.xy[index[known]]).max(axis=1, initial=0.0) <= SAME
    if not stays.any():
        return View(view.image, Keypoints(xy, labels=labels))
    # What stays lends its values to the others first, which are then overwritten: every column keeps its kind.
    points = replace(before.take(np.where(stays, index, index[stays][0])), xy=xy, labels=labels)
    return View(view.image, points if stays.all() else _measured_again(view, points, ~stays))


def _measured_again(view: View, points: Keypoints, there: NDArray[np.bool_]) -> Keypoints:
    """The points with other values where they have moved."""
    usual = 1.0 if view.points.size is None else float(np.median(view.points.size))
    size = None if points.size is None else np.where(there, usual, points.size)
    angle = None if points.angle is None else np.where(there, 0.0, points.angle)
    strength = None if points.strength is None else np.where(there, 0.0, points.strength)
    shape = None if points.shape is None else np.where(there[:, None, None], usual * np.eye(2), points.shape)
    looks = None
    if points.looks is not None and view.image is not None and points.looks_by == ROOTED:
        looks = points.looks.copy()
        count = int(there.sum())
        looks[there] = rootsift.at(view.image.grey, points.xy[there], np.full(count, usual), np.zeros(count))
    return replace(points, size=size, angle=angle, strength=strength, shape=shape, looks=looks)
