"""From files, arrays and tensors to a pair: images, points and the truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image as Pillow

from features.files.point_files import read_points, read_truth
from features.files.tensors import Tensor, as_array, as_pixels
from features.pairs.pair import SIDES, Pair, View, Wanted, found_in
from features.points.images import Image, decode, from_array, from_picture
from features.points.keypoints import Keypoints

MAX_SIDE = 1600  # pixels of a working image
NOBODY = Keypoints(np.zeros((0, 2)))

# Of an image: a path, a file's bytes, pixels (also a PyTorch tensor's), a picture of Pillow's
Source = str | Path | bytes | Image | NDArray[np.generic] | Pillow.Image | Tensor
# Of points: a path, a file's bytes, or points in original pixels, also as an (n, 2) array or rows of numbers
PointSource = str | Path | bytes | Keypoints | NDArray[np.generic] | Tensor | Sequence[Sequence[float]] | None
# Of a truth: a path, a file's bytes, or the partner of each left point, −1 for none
TruthSource = str | Path | bytes | NDArray[np.integer] | Tensor | Sequence[int] | None


def truth_by_label(left: Keypoints, right: Keypoints) -> NDArray[np.int64]:
    """Points with the same label are the same point; a label that the other side lacks has no partner."""
    if left.labels is None or right.labels is None:
        raise ValueError("Both point sets need labels to be matched by label.")
    for side, labels in zip(SIDES, (left.labels, right.labels), strict=True):
        named = [label for label in labels if label]
        if len(set(named)) < len(named):
            twice = next(label for label in named if named.count(label) > 1)
            raise ValueError(f"The label {twice!r} names more than one {side} point; expected one.")
    where = {label: i for i, label in enumerate(right.labels) if label}
    return np.array([where.get(label, -1) for label in left.labels], dtype=np.int64)


def own_pair(
    images: tuple[Image | None, Image | None],
    points: tuple[Keypoints, Keypoints],
    *,
    truth: ArrayLike | None = None,
    name: str = "own pair",
) -> Pair:
    """Images, points in the images' original pixels, and the truth if it is known."""
    views = [
        View(image, spots if image is None else spots.scaled(image.scale))
        for image, spots in zip(images, points, strict=True)
    ]
    return _with_truth(views[0], views[1], truth, name)


def read_pair(
    left: Source | None,
    right: Source | None,
    *,
    points: tuple[PointSource, PointSource] = (None, None),
    truth: TruthSource = None,
    detector: str | None = "sift",
    counts: Wanted | None = None,
    slants: bool = False,
    name: str | None = None,
) -> Pair:
    """The one way from files to a pair: two images or none, their points and perhaps the truth.

    A side without a point file gets what the detector finds (`counts` and `slants` as in `Pair.detected`; without a
    detector, none).
    Point files count in the pixels of the original image; detected points are already those of the working image.
    """
    sources = zip(SIDES, (left, right), strict=True)
    one, other = (None if source is None else as_image(source, f"{side} image") for side, source in sources)
    found = (NOBODY, NOBODY)
    lacking = sum(spots is None for spots in points)
    if detector is not None and lacking:
        if one is None or other is None:
            raise ValueError("A side has neither points nor an image to look for some in.")
        found = found_in((one, other), detector, counts, slants and lacking == 2)
    views = []
    for side, image, spots, detected in zip(SIDES, (one, other), points, found, strict=True):
        given = detected if spots is None else as_points(spots, f"{side} points")
        views.append(View(image, given if spots is None or image is None else given.scaled(image.scale)))
    names = [Path(source).name if isinstance(source, str | Path) else "" for source in (left, right)]
    title = name or (" and ".join(names) if all(names) else "own pair")
    known = as_truth(truth, (len(views[0].points), len(views[1].points)))
    return _with_truth(views[0], views[1], known, title)


def _with_truth(left: View, right: View, truth: ArrayLike | None, name: str) -> Pair:
    """Without a truth it is read from the points' labels if both sides have some, else it is unknown."""
    named = (spots.labels is not None and any(spots.labels) for spots in (left.points, right.points))
    if truth is None and all(named):
        truth = truth_by_label(left.points, right.points)
    return Pair(left, right, None if truth is None else np.asarray(truth), name)


def as_image(source: Source, name: str = "image") -> Image:
    """An image from a path, a file's bytes, a picture of Pillow's or its pixels, in an array or a tensor."""
    if isinstance(source, Image):
        return source
    if isinstance(source, Pillow.Image):
        return from_picture(source, max_side=MAX_SIDE, name=name)
    source = as_pixels(source)
    if isinstance(source, np.ndarray):
        return from_array(source, max_side=MAX_SIDE)
    data, title = _file(source, name)
    return decode(data, max_side=MAX_SIDE, name=title)


def as_points(source: PointSource, name: str = "points") -> Keypoints:
    """Points from a path, a file's bytes, rows of x and y, or as they are."""
    if isinstance(source, Keypoints):
        return source
    source = as_array(source)
    if isinstance(source, np.ndarray | list | tuple):
        try:
            return Keypoints(np.array(source, np.float64))
        except (TypeError, ValueError) as error:
            raise ValueError(f"The {name} are no points: {error}") from error
    return read_points(*_file(source, name))


def as_truth(source: TruthSource, shape: tuple[int, int]) -> ArrayLike | None:
    """The partners of the left points from a path, a file's bytes, or as they are, for so many points on each side."""
    source = as_array(source)
    if source is None or isinstance(source, np.ndarray | list | tuple):
        return source
    return read_truth(*_file(source, "truth file"), shape)


def _file(source: Any, name: str) -> tuple[bytes, str]:
    """The bytes of a file, and what to call it in messages."""
    if not isinstance(source, str | Path | bytes):
        raise ValueError(f"The {name} is of type {type(source).__name__}; expected a path, a file's bytes or an array.")
    return (source, name) if isinstance(source, bytes) else (file_bytes(source), str(source))


def file_bytes(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"{path} could not be read: {(error.strerror or str(error)).lower()}.") from error
