"""What a place in a picture looks like: SIFT's histogram of gradients, found with the points or taken at given ones.

Rows are square roots of shares (RootSIFT, Arandjelović and Zisserman 2012): of length 1, so that the Euclidean distance
of two of them is that of Hellinger, times √2: 0 for equal surroundings, √2 for ones that share nothing.
"""

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from features.latest import latest

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]

WIDTH = 128
SIGMA, LAYERS = 1.6, 3  # of OpenCV's scale space: where on the pyramid a point of a given size was found
STRONG = 0.04  # OpenCV's threshold of contrast: enough for most pictures
CONTRAST = 0.02  # half of it: more to choose from in dim pictures, the strongest come first anyway


def create(most: int = 0, contrast: float = CONTRAST) -> Any:
    """OpenCV's SIFT; `most`: how many points to keep, the strongest, 0 for all."""
    return cv2.SIFT.create(nfeatures=most, contrastThreshold=contrast)


def rooted(histograms: NDArray[Any] | None) -> Rows:
    """Square roots of the shares in each row; a row without any gradient stays 0."""
    if histograms is None:
        return np.empty((0, WIDTH), np.float32)
    total = np.maximum(histograms.sum(axis=1, keepdims=True, dtype=np.float32), np.finfo(np.float32).tiny)
    return np.asarray(np.sqrt(histograms / total), np.float32)


def octaves(size: Floats) -> NDArray[np.int64]:
    """OpenCV's packed octave and layer of points with these diameters, as its detector would have marked them."""
    step = np.rint(LAYERS * np.log2(np.maximum(size, 1e-3) / (2 * SIGMA))).astype(np.int64)
    octave = np.clip((step - 1) // LAYERS, -1, 7)
    layer = np.clip(step - LAYERS * octave, 1, LAYERS)
    return np.asarray((octave & 255) | (layer << 8))


def at(grey: NDArray[np.uint8], xy: Floats, size: Floats, angle: Floats) -> Rows:
    """Rows (n, 128) of the surroundings of these places, each as large as its point and turned with it (radians)."""
    if len(xy) == 0:
        return rooted(None)
    columns = zip(xy.tolist(), size.tolist(), (np.rad2deg(angle) % 360).tolist(), octaves(size).tolist(), strict=True)
    spots = [cv2.KeyPoint(x, y, s, a, 0, o, i) for i, ((x, y), s, a, o) in enumerate(columns)]
    found, rows = create().compute(grey, spots)
    if rows is None or len(rows) != len(xy):
        raise ValueError(f"the image could be described at {len(found)} of {len(xy)} points only; use other points")
    described = np.empty_like(rows)
    described[[spot.class_id for spot in found]] = rows
    return rooted(described)


@latest
def distances(first: Rows, second: Rows) -> Rows:
    """(n1, n2): Euclidean distances of unit rows; read only, as the next one who asks gets the same array."""
    found = first @ second.T
    found *= -2
    found += 2
    np.sqrt(np.maximum(found, 0, out=found), out=found)
    found.flags.writeable = False
    return found
