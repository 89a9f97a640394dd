"""What the surroundings of a point look like, compared: every entry of `DESCRIPTORS` turns two views into a
matrix of costs (n1, n2), 0 for equal surroundings, at most 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import pi
from typing import Any

import cv2
import numpy as np
import scipy  # whose parts are imported when they are first used
from numpy.typing import ArrayLike, NDArray

from features.latest import latest
from features.pairs import View
from features.points import rootsift
from features.points.graphs import as_points
from features.points.images import Image
from features.points.keypoints import Keypoints

Costs = NDArray[np.float64]

RINGS, SECTORS = 5, 12
OUTER = 2.0  # outermost ring in mean distances; every ring is half as wide as the next (Belongie et al. 2002)
CHUNK = 1 << 18  # numbers per temporary array when histograms are compared: stays in the cache

CHANCE, USUAL = 0.1, 0.66  # this share of all pairs is closer than this, by RootSIFT (.55 to .74 on Oxford's scenes)
ROOTED = "sift"  # the looks of `rootsift`: see Keypoints.looks_by
DIAMETER = 0.03  # of a point without a size of its own, as a share of the image's diagonal
ORB_PATCH, ORB_STEP, ORB_LEVELS = 31, 1.2, 8  # OpenCV's ORB: patch in pixels, scale of a level, levels
PATCH_SIDE, PATCH_REACH = 9, 3.0  # samples along a colour patch; its side in point diameters


# ---- shape context -----------------------------------------------------------------------------------------


def shape_contexts(xy: ArrayLike, reference: ArrayLike | None = None) -> NDArray[np.float64]:
    """Log-polar histograms (n, 60) of where the other points lie, seen from each point; every row sums to 1.

    Distances are in units of the mean distance of two points: five rings that end at 1/8, 1/4, 1/2, 1 and 2,
    times twelve sectors of 30°. Points farther than that, and points at the same place (they have no
    direction), are not counted; a point that sees nobody has a row of zeros. `reference` (n,), in radians, is
    the direction from which a point's sectors are counted; without it they start at the x axis.
    """
    points = as_points(xy)
    n = len(points)
    towards = points[None, :, :] - points[:, None, :]
    distance = np.hypot(towards[..., 0], towards[..., 1])
    scale = distance.sum() / max(n * (n - 1), 1)
    direction = np.arctan2(towards[..., 1], towards[..., 0])
    if reference is not None:
        direction -= np.asarray(reference, dtype=np.float64)[:, None]
    with np.errstate(divide="ignore"):
        # The rings end at powers of two: their number is a rounded logarithm. Ring 0 is the whole inner disc.
        ring = np.floor(np.log2(distance / (scale or 1.0) / OUTER)) + RINGS
    ring = np.maximum(ring, 0)
    # A direction that rounding left just below the edge of a sector belongs above it.
    sector = np.floor(direction * (SECTORS / (2 * pi)) + 1e-9) % SECTORS
    seen = (distance > 0) & (ring < RINGS)
    bins = (np.arange(n)[:, None] * RINGS + ring) * SECTORS + sector
    counts = np.bincount(bins[seen].astype(np.int64), minlength=n * RINGS * SECTORS)
    return _normalised(counts.reshape(n, RINGS * SECTORS))


def _normalised(histograms: NDArray[Any]) -> NDArray[np.float64]:
    """Rows that sum to 1, or stay 0. The counts are whole numbers, so that 1 is the smallest sum."""
    shares: NDArray[np.float64] = histograms / np.maximum(histograms.sum(axis=1, keepdims=True), 1)
    return shares


def chi_squared(left: Costs, right: Costs) -> Costs:
    """½ Σ (a − b)² / (a + b) of every row a of `left` and b of `right`: 0 when equal, 1 when disjoint."""
    # (a − b)² = (a + b)² − 4ab turns the sum into ½ Σ (a + b) − 2 Σ ab / (a + b): one division, no square.
    mass = (left.sum(axis=1)[:, None] + right.sum(axis=1)) / 2
    shared = np.empty_like(mass)
    step = max(1, CHUNK // max(right.size, 1))
    for start in range(0, len(left), step):
        a, b = left[start : start + step, None, :], right[None, :, :]
        shared[start : start + step] = (a * b / np.maximum(a + b, np.finfo(float).tiny)).sum(axis=2)
    costs: Costs = np.clip(mass - 2 * shared, 0, 1)
    return costs


def centroid_directions(xy: ArrayLike) -> NDArray[np.float64]:
    """The direction in radians from each point to the centroid: it turns with the point set."""
    points = as_points(xy)
    towards = points.mean(axis=0, keepdims=True) - points if len(points) else points
    return np.arctan2(towards[:, 1], towards[:, 0])


def shape_context_cost(left: View, right: View, *, turning: str = "none") -> Costs:
    """χ² distances of shape contexts. `turning` says what makes them blind to rotation: "none" (they are
    not), "centroid" (sectors count from the direction to the centroid) or "angle" (from each point's own
    orientation)."""
    if turning not in REFERENCES:
        raise ValueError(f"turning is one of {', '.join(REFERENCES)}, not {turning!r}")
    histograms = (shape_contexts(view.points.xy, REFERENCES[turning](view.points)) for view in (left, right))
    return chi_squared(*histograms)


def _own_angle(points: Keypoints) -> NDArray[np.float64]:
    if points.angle is None:
        raise ValueError("these points have no orientation; turn shape contexts by the centroid instead")
    return points.angle


REFERENCES: dict[str, Callable[[Keypoints], NDArray[np.float64] | None]] = {
    "none": lambda points: None,
    "centroid": lambda points: centroid_directions(points.xy),
    "angle": _own_angle,
}


# ---- descriptors of the picture ----------------------------------------------------------------------------


def sift_cost(left: View, right: View) -> Costs:
    """Hellinger distances of SIFT histograms taken at the given points, with their sizes and orientations."""
    for view in (left, right):
        _picture(view)
    return _distances(appearance(left) / np.sqrt(2), appearance(right) / np.sqrt(2))


def appearance(view: View) -> NDArray[np.float32]:
    """Unit rows (n, 128): SIFT's that came with the points, or SIFT's histograms taken at them now."""
    points = view.points
    if points.looks is not None and points.looks_by == ROOTED:
        return points.looks
    size, angle = _frames(view)
    return rootsift.at(_picture(view).grey, view.points.xy, size, angle)


def appearance_cost(left: View, right: View) -> NDArray[np.float32]:
    """Distances of the looks, of RootSIFT 0 to √2 and of others in the same unit; points that come without looks and
    without an image know their layout only.

    Where the two sides have looks of different kinds, SIFT's are taken at the points instead.
    """
    mine, theirs = left.points, right.points
    if mine.looks_by == theirs.looks_by != ROOTED and mine.looks is not None and theirs.looks is not None:
        return in_unit(rootsift.distances(mine.looks, theirs.looks))
    if any(view.image is None and view.points.looks is None for view in (left, right)):
        return shape_context_cost(left, right, turning="centroid").astype(np.float32)
    first, second = appearance(left), appearance(right)
    return rootsift.distances(first, second)


@latest
def in_unit(looks: NDArray[np.float32]) -> NDArray[np.float32]:
    """Distances of any descriptor in the unit of RootSIFT's: one of ten pairs is closer than USUAL."""
    common = float(np.quantile(looks[:: max(1, len(looks) // 100)], CHANCE))
    found = looks * np.float32(USUAL / common) if common > 0 else looks.copy()
    found.flags.writeable = False
    return found


def orb_cost(left: View, right: View) -> Costs:
    """The share of differing bits of ORB strings taken at the given points, with their sizes and angles."""
    first, second = (np.unpackbits(_orb(view), axis=1).astype(bool) for view in (left, right))
    return _distances(first, second, "hamming")


def colour_cost(left: View, right: View) -> Costs:
    """Root mean square difference of the colours around the points, the middle counting most."""
    return _distances(_colour_patches(left), _colour_patches(right))


def _picture(view: View) -> Image:
    """The view's image, once it is sure that all points lie in it."""
    if view.image is None:
        raise ValueError("these points come without an image; choose shape context, which needs none")
    (w, h), xy = view.image.size, view.points.xy
    # One pixel of grace: labels counted from 1 (as in the Hotel frames) reach the width and the height.
    outside = np.flatnonzero(((xy < -1) | (xy > np.array([w, h]))).any(axis=1))
    if len(outside):
        x, y = xy[outside[0]]
        raise ValueError(
            f"point {outside[0]} at ({x:.1f}, {y:.1f}) lies outside its {w} × {h} image, "
            "where there is nothing to describe; move or remove it"
        )
    return view.image


def _frames(view: View) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Diameter in pixels and orientation in radians of every point, with defaults for points that have
    none."""
    points, n = view.points, len(view.points)
    usual = DIAMETER * float(np.hypot(*_picture(view).size))
    size = np.full(n, usual) if points.size is None else points.size
    return np.where(size > 0, size, usual), np.zeros(n) if points.angle is None else points.angle


def _cv_keypoints(view: View, octave: NDArray[np.int64]) -> list[cv2.KeyPoint]:
    size, angle = _frames(view)
    degrees = np.rad2deg(angle) % 360
    rows = zip(view.points.xy.tolist(), size.tolist(), degrees.tolist(), octave.tolist(), strict=True)
    return [cv2.KeyPoint(x, y, s, a, 0, o, i) for i, ((x, y), s, a, o) in enumerate(rows)]


def _compute(view: View, extractor: cv2.Feature2D, octave: NDArray[np.int64], width: int) -> NDArray[Any]:
    """One row of `extractor`'s description per point, in the points' own order."""
    grey = cv2.cvtColor(_picture(view).rgb, cv2.COLOR_RGB2GRAY)
    n = len(view.points)
    if n == 0:
        return np.empty((0, width), dtype=np.uint8)
    found, rows = extractor.compute(grey, _cv_keypoints(view, octave))
    if rows is None or len(rows) != n:
        raise ValueError(f"the image could be described at {len(found)} of {n} points only; use other points")
    described = np.empty_like(rows)
    described[[keypoint.class_id for keypoint in found]] = rows  # ORB returns the points sorted by octave
    return described


def _orb(view: View) -> NDArray[np.uint8]:
    level = np.zeros(len(view.points), dtype=np.int64)
    if view.points.size is not None:
        wanted = np.log(np.maximum(view.points.size, 1) / ORB_PATCH) / np.log(ORB_STEP)
        level = np.clip(np.rint(wanted), 0, ORB_LEVELS - 1).astype(np.int64)
    # Edge threshold 0: ORB extends the picture by mirroring instead of dropping the points near its border.
    return _compute(view, cv2.ORB.create(nlevels=ORB_LEVELS, edgeThreshold=0), level, 32)


def _colour_patches(view: View) -> NDArray[np.float64]:
    """(n, side² · 3): colours in [0, 1] on a grid turned and scaled with each point, weighted so that the
    Euclidean distance of two rows is the root of the weighted mean square difference."""
    image, n = _picture(view), len(view.points)
    if n == 0:
        return np.empty((0, PATCH_SIDE**2 * 3))
    size, angle = _frames(view)
    reach = np.linspace(-1, 1, PATCH_SIDE)
    v, u = (grid.ravel() for grid in np.meshgrid(reach, reach, indexing="ij"))
    half = (size * PATCH_REACH / 2)[:, None]
    x = view.points.xy[:, :1] + half * (np.cos(angle)[:, None] * u - np.sin(angle)[:, None] * v)
    y = view.points.xy[:, 1:] + half * (np.sin(angle)[:, None] * u + np.cos(angle)[:, None] * v)
    # Blur by about half the distance of two samples, so that what lies between them counts too.
    between = float(np.median(half)) * 2 / (PATCH_SIDE - 1)
    smooth = cv2.GaussianBlur(image.rgb, (0, 0), max(between / 2, 0.3))
    colours = cv2.remap(
        smooth, x.astype(np.float32), y.astype(np.float32), cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    weight = np.exp(-2 * (u**2 + v**2))
    weight /= weight.sum() * 3
    return (colours.astype(np.float64) / 255 * np.sqrt(weight)[None, :, None]).reshape(n, -1)


def _distances(left: NDArray[Any], right: NDArray[Any], metric: str = "euclidean") -> Costs:
    costs: Costs = scipy.spatial.distance.cdist(left, right, metric)
    return costs


# ---- the registry ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Descriptor:
    """A way to compare the surroundings of points: `cost(left, right)` is an (n1, n2) matrix in [0, 1]."""

    label: str
    cost: Callable[[View, View], Costs]
    note: str
    needs_image: bool = False


DESCRIPTORS: dict[str, Descriptor] = {
    "shape_context": Descriptor(
        "Shape context", shape_context_cost, "where the other points lie, blind to scale, not to rotation"
    ),
    "shape_context_turning": Descriptor(
        "Shape context, any rotation",
        partial(shape_context_cost, turning="centroid"),
        "the same, seen from the direction to the centroid; few outliers only, they move the centroid",
    ),
    "sift": Descriptor("SIFT", sift_cost, "gradients around each point, blind to brightness", needs_image=True),
    "orb": Descriptor("ORB", orb_cost, "brightness comparisons around each point, fast", needs_image=True),
    "colour": Descriptor("Colour patch", colour_cost, "colours around each point, same lighting", needs_image=True),
}
