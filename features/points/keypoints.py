"""Points on an image: the record, the detectors, and the choice of N of what they find."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import cv2
import numpy as np
import scipy  # whose parts are imported when they are first used
from numpy.typing import ArrayLike, NDArray

from adgm.machine.short_repr import ShortRepr
from features.limits import LIMITS
from features.points import learned, rootsift
from features.points.images import Image
from features.points.regions import EVERYWHERE, Mask

Floats = NDArray[np.float64]

POOL = 20  # candidates considered per point wanted where they are spread evenly: more means more even, fewer stronger …
SMALLEST_POOL = 2000  # … but strong ones crowd in few places, so for a few points many are considered
STRONG_POOL = 3  # the same where the strongest are taken as they come
SPARE = 500  # points beyond those wanted that a quick look describes: mostly no cell then has to be left out for others
CELLS, FULL = 8, 3.0  # the image in 8 × 8 cells, none of which takes more than three times its even share
CLOSEST = 3.0  # pixels; nearer than this, two detections are one point
MARGIN = 4  # pixels off the border, where half of what a descriptor would look at is missing
SMALLEST_SHARE = 0.02  # of an image that is kept: more candidates are not looked for
SMALLEST_SIDE = 16  # pixels; below this no detector sees anything, and some fail


@dataclass(frozen=True, eq=False)
class Keypoints(ShortRepr):
    """Points in working pixels of their image: origin top left, x to the right, y down."""

    xy: Floats  # (n, 2)
    angle: Floats | None = None  # (n,) radians in [−π, π], from the x axis towards the y axis
    size: Floats | None = None  # (n,) diameter in pixels
    strength: Floats | None = None  # (n,) the detector's own measure
    labels: tuple[str, ...] | None = None
    looks: NDArray[np.float32] | None = None  # (n, k) unit rows of any length: what the surroundings look like
    shape: Floats | None = None  # (n, 2, 2) the point's own axes in pixels, where the image was seen at a slant
    looks_by: str = "sift"  # whose looks they are: only looks of the same kind can be compared

    def __post_init__(self) -> None:
        xy = _column("xy", self.xy)
        if xy.size == 0:
            xy = xy.reshape(0, 2)
        if xy.ndim != 2 or xy.shape[1] != 2:
            raise ValueError(f"Keypoints have an (n, 2) array of x and y; this one has shape {xy.shape}.")
        object.__setattr__(self, "xy", _frozen(xy))
        for name in ("angle", "size", "strength"):
            if (given := getattr(self, name)) is None:
                continue
            values = _column(name, given)
            if values.shape != (len(xy),):
                raise ValueError(f"{len(xy)} keypoints need {len(xy)} values of {name}; its shape is {values.shape}.")
            object.__setattr__(self, name, _frozen(values))
        if self.size is not None and (self.size < 0).any():
            raise ValueError(f"The size of a keypoint is a diameter, not negative; found {self.size.min():g}.")
        if self.labels is not None:
            object.__setattr__(self, "labels", _checked_labels(self.labels, len(xy)))
        if self.looks is not None:
            looks = np.array(self.looks, np.float32)
            if looks.ndim != 2 or len(looks) != len(xy) or not np.isfinite(looks).all():
                raise ValueError(
                    f"{len(xy)} keypoints need as many finite rows of looks; their shape is {looks.shape}."
                )
            looks.flags.writeable = False
            object.__setattr__(self, "looks", looks)
        if self.shape is not None:
            shape = _column("shape", self.shape)
            if shape.shape != (len(xy), 2, 2) or (np.abs(np.linalg.det(shape)) < 1e-12).any():
                raise ValueError(f"{len(xy)} keypoints need as many 2 × 2 axes that span an area; got {shape.shape}.")
            object.__setattr__(self, "shape", _frozen(shape))

    def __len__(self) -> int:
        return len(self.xy)

    def take(self, indices: ArrayLike) -> "Keypoints":
        """The points at these indices (or where this mask is true), in this order."""
        index = np.asarray(indices)
        if index.size == 0:
            index = index.astype(np.int64)
        picked = np.arange(len(self))[index].reshape(-1)
        columns = ("angle", "size", "strength", "looks", "shape")
        given = {name: getattr(self, name)[picked] for name in columns if getattr(self, name) is not None}
        labels = None if self.labels is None else tuple(self.labels[i] for i in picked)
        return Keypoints(self.xy[picked], labels=labels, looks_by=self.looks_by, **given)

    def scaled(self, factor: float) -> "Keypoints":
        """Coordinates and sizes times `factor`: `scaled(1 / image.scale)` goes back to the original pixels."""
        if not (math.isfinite(factor) and factor > 0):
            raise ValueError(f"Keypoints scale by a positive number; {factor} was given.")
        size, shape = (None if column is None else column * factor for column in (self.size, self.shape))
        return replace(self, xy=self.xy * factor, size=size, shape=shape)

    @property
    def framed(self) -> bool:
        """Whether the points have a size and an angle, so that a single match says how the picture moves."""
        return self.shape is not None or (self.size is not None and self.angle is not None)

    @property
    def axes(self) -> Floats:
        """(n, 2, 2): the frame of every point, its own axes in pixels; a unit where it has neither size nor angle."""
        if self.shape is not None:
            return self.shape
        turn = np.zeros(len(self)) if self.angle is None else self.angle
        length = np.ones(len(self)) if self.size is None else np.maximum(self.size, 1e-6)
        along, across = length * np.cos(turn), length * np.sin(turn)
        return np.stack([np.stack([along, -across], 1), np.stack([across, along], 1)], 1)


def _column(name: str, values: ArrayLike) -> Floats:
    try:
        array = np.array(values, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"The {name} of keypoints must be numbers in rows of equal length.") from error
    if not np.isfinite(array).all():
        where = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(f"The {name} of keypoint {where[0]} is {array[tuple(where)]}; it must be a finite number.")
    return array


def _frozen(array: Floats) -> Floats:
    array.flags.writeable = False
    return array


def _checked_labels(labels: Any, count: int) -> tuple[str, ...]:
    checked = tuple(str(label).strip() for label in labels)
    if len(checked) != count:
        raise ValueError(f"{count} keypoints need {count} labels; {len(checked)} were given.")
    for i, label in enumerate(checked):
        if not label.isprintable():
            raise ValueError(f"The label of keypoint {i} is {label!r}; a label is printable text on one line.")
    return checked


class Find(Protocol):
    """Candidates, the most wanted first; where strength decides, no more than `pool` of them."""

    def __call__(self, image: Image, pool: int) -> Keypoints: ...


@dataclass(frozen=True)
class Detector:
    label: str
    detect: Find
    note: str
    even: bool = False  # its points say nothing by their strength: they are spread evenly
    twins: bool = False  # a place may have several orientations, each of which is a point (Lowe 2004)
    quick: Find | None = None  # the same for strong points only, in less time
    missing: Callable[[], str] = str  # why it cannot be used here, and the command that helps; empty if it can

    @property
    def title(self) -> str:
        """Its label, and whether something has to be installed first."""
        return f"{self.label} (not installed)" if self.missing() else self.label


def detect(image: Image, detector: str, count: int, *, even: bool = False, mask: Mask = EVERYWHERE) -> Keypoints:
    """At most `count` points; fewer, down to none, if the image has no more.

    The strongest, so that another photograph of the same thing has them too, but nowhere so many that the rest of the
    image is starved (`strongest`). With `even`, and where a detector has no measure of strength, as far apart as can be
    instead: that looks better and is found again half as often. Only where the `mask` allows it.
    """
    if detector not in DETECTORS:
        raise ValueError(f"There is no detector {detector!r}; choose one of {', '.join(DETECTORS)}.")
    if not 1 <= count <= LIMITS.detected:
        raise ValueError(f"The number of points to detect lies between 1 and {LIMITS.detected}; {count} was given.")
    if min(image.size) < SMALLEST_SIDE:
        return Keypoints(np.empty((0, 2)))
    chosen, even = DETECTORS[detector], even or DETECTORS[detector].even
    if why := chosen.missing():
        raise ValueError(f"{chosen.label} cannot be used: {why}")
    room = max(mask.share, SMALLEST_SHARE)
    if chosen.quick is not None and not even:
        found = _allowed(chosen.quick(image, math.ceil(min(count + SPARE, STRONG_POOL * count) / room)), image, mask)
        at, enough = _first(found, count, image.size)
        if enough:
            return found.take(at)
    pool = STRONG_POOL * count if chosen.twins and not even else max(POOL * count, SMALLEST_POOL)
    candidates = _allowed(chosen.detect(image, math.ceil(pool / room)), image, mask)
    if even:
        return candidates.take(spread(candidates.xy, count))
    if not chosen.twins:
        candidates = candidates.take(
            _walk(candidates.xy, scipy.spatial.cKDTree(candidates.xy), CLOSEST, len(candidates))
        )
    return candidates.take(strongest(candidates, count, image.size))


def _allowed(found: Keypoints, image: Image, mask: Mask) -> Keypoints:
    """Those that are off the border and where the mask allows it."""
    last = np.array(image.size) - 1 - MARGIN
    within = ((found.xy >= MARGIN) & (found.xy <= last)).all(axis=1)
    return found.take(within & mask.allows(found.xy, image.size))


def strongest(found: Keypoints, count: int, size: tuple[int, int]) -> NDArray[np.int64]:
    """Indices of the first `count` points, no cell of the image taking more than FULL times its even share.

    Where that leaves too few, the first of those passed over fill up.
    """
    return _first(found, count, size)[0]


def _first(found: Keypoints, count: int, size: tuple[int, int]) -> tuple[NDArray[np.int64], bool]:
    """Those of `strongest`, and whether none of them had to fill up: then weaker points would change nothing."""
    cell = np.minimum((found.xy / np.array(size) * CELLS).astype(np.int64), CELLS - 1) @ [CELLS, 1]
    order = np.argsort(cell, kind="stable")
    first = np.searchsorted(cell[order], np.arange(CELLS * CELLS))
    rank = np.empty(len(found), np.int64)
    rank[order] = np.arange(len(found)) - first[cell[order]]  # rank within its cell
    fits = rank < max(1, math.ceil(FULL * count / CELLS**2))
    chosen = np.flatnonzero(fits)[:count]
    rest = np.flatnonzero(~fits)[: count - len(chosen)]
    return np.sort(np.concatenate([chosen, rest])), len(chosen) == count


def summary(points: Keypoints, detector: str, count: int) -> str:
    """What a detection gave, in a sentence: if there are fewer points than wanted, it says so."""
    found = f"{DETECTORS[detector].label} found {len(points)} of the {count} points asked for"
    return found + ("." if len(points) >= count else "; the image offers no more that are apart and clear enough.")


def spread(xy: Floats, count: int, closest: float = CLOSEST) -> NDArray[np.int64]:
    """Indices of at most `count` of the points, none closer to another than a radius as large as can be.

    The points come in order of preference. For a radius r, walk through them and keep each one that is at least r
    from all kept before. The largest r that still keeps `count` is found by bisection: a small r would keep
    clusters, a larger one too few points. No two kept points are ever closer than `closest`.
    """
    if len(xy) == 0:
        return np.empty(0, np.int64)
    tree = scipy.spatial.cKDTree(xy)
    chosen = _walk(xy, tree, closest, count)
    low, high = closest, float(np.hypot(*np.ptp(xy, axis=0))) + 1.0
    while len(chosen) == count and high - low > 0.01 * low:
        radius = math.sqrt(low * high)
        trial = _walk(xy, tree, radius, count)
        if len(trial) == count:
            chosen, low = trial, radius
        else:
            high = radius
    return chosen


def _walk(xy: Floats, tree: "scipy.spatial.cKDTree", radius: float, count: int) -> NDArray[np.int64]:
    free = np.ones(len(xy), bool)
    kept: list[int] = []
    i = 0
    while len(kept) < count:
        i += int(free[i:].argmax()) if i < len(free) else 0
        if i >= len(free) or not free[i]:
            break
        kept.append(i)
        free[tree.query_ball_point(xy[i], radius)] = False
        i += 1
    return np.array(kept, np.int64)


def _strongest(found: Keypoints, pool: int) -> Keypoints:
    """The strongest candidates, strongest first; ties by place, so that the order is always the same."""
    keys = [column for column in (found.strength, found.angle, found.size) if column is not None]
    order = np.lexsort((*keys[1:], found.xy[:, 0], found.xy[:, 1], -keys[0]))
    return found.take(order[:pool])


def _blobs(make: Callable[[int], Any]) -> Find:
    """A detector made of an OpenCV feature class; `make` gets the size of the pool."""

    def find(image: Image, pool: int) -> Keypoints:
        return _strongest(_keypoints(make(pool).detect(image.grey, None)), pool)

    return find


def _sift(image: Image, pool: int) -> Keypoints:
    """SIFT's points with their looks: one pyramid serves both."""
    return sift_points(image.grey, pool)


def _strong_sift(image: Image, pool: int) -> Keypoints:
    """SIFT's points in less time, those of little contrast left out."""
    return sift_points(image.grey, pool, rootsift.STRONG)


def sift_points(grey: NDArray[np.uint8], pool: int, contrast: float = rootsift.CONTRAST) -> Keypoints:
    """The strongest of what SIFT finds in a grey picture, with their looks."""
    found, rows = rootsift.create(pool, contrast).detectAndCompute(grey, None)
    return _strongest(replace(_keypoints(found), looks=rootsift.rooted(rows)), pool)


def _keypoints(found: Any) -> Keypoints:
    """OpenCV's keypoints as ours."""
    table = np.array([(*k.pt, k.angle, k.size, k.response) for k in found], np.float64).reshape(-1, 5)
    angle = np.deg2rad((table[:, 2] + 180) % 360 - 180)
    return Keypoints(table[:, :2], angle, table[:, 3], table[:, 4])


def _network(key: str) -> Find:
    """A detector made of one of the networks of `learned`."""

    def find(image: Image, pool: int) -> Keypoints:
        xy, scores, rows = learned.find(key, image.rgb, pool)
        return Keypoints(xy, strength=scores, looks=rows, looks_by=key)

    return find


def _akaze(pool: int) -> Any:
    create = getattr(cv2, "AKAZE_create", None)
    if create is None:
        raise ValueError(
            f"AKAZE is not part of the installed OpenCV {cv2.__version__}: "
            "install opencv-python-headless below version 5, or choose another detector."
        )
    return create(threshold=2e-4)


def _corners(image: Image, pool: int) -> Keypoints:
    """Shi–Tomasi: local maxima of the smaller eigenvalue of the structure tensor, in a round window."""
    window = 2.0  # standard deviation; a square window would have plateaus, and two maxima at one corner
    smooth = cv2.GaussianBlur(image.grey, (0, 0), 1.0)
    dx, dy = (cv2.Sobel(smooth, cv2.CV_32F, *axis, scale=1 / 8).astype(np.float64) for axis in ((1, 0), (0, 1)))
    xx, xy, yy = (cv2.GaussianBlur(product, (0, 0), window) for product in (dx * dx, dx * dy, dy * dy))
    strength = (xx + yy) / 2 - np.hypot((xx - yy) / 2, xy)
    peak = strength == cv2.dilate(strength, np.ones((5, 5), np.uint8))
    peak &= strength > max(0.001 * float(strength.max()), 0.05)  # grey levels² per pixel²: not the noise of a camera
    y, x = np.nonzero(peak)
    place = np.stack([x, y], 1).astype(np.float64)
    return _strongest(Keypoints(place, None, np.full(len(place), 4 * window), strength[y, x]), pool)


def _contours(image: Image, pool: int) -> Keypoints:
    """Pixels of Canny edges in walking order, long contours first: kept every r pixels, they lie evenly.

    The angle is the tangent's, with the brighter side on its right; the strength is the gradient's length.
    """
    smooth = cv2.GaussianBlur(image.grey, (0, 0), 1.4)
    dx, dy = (cv2.Sobel(smooth, cv2.CV_16S, *axis) for axis in ((1, 0), (0, 1)))
    steep = np.hypot(dx.astype(np.float64), dy)
    high = max(40.0, float(np.quantile(steep, 0.85)))
    edges = cv2.Canny(dx, dy, 0.4 * high, high, L2gradient=True)
    chains, _ = cv2.findContours(edges, cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)
    # A thin line is walked there and back, so a chain has twice its length in pixels.
    shortest = 2 * max(8, 0.02 * max(image.size))
    walks = sorted((c[:, 0] for c in chains if len(c) >= shortest), key=lambda c: (-len(c), c[0].tolist()))
    if not walks:
        return Keypoints(np.empty((0, 2)))
    pixels = np.concatenate(walks)
    pixels = pixels[np.sort(np.unique(pixels, axis=0, return_index=True)[1])]
    x, y = pixels.T
    gx, gy = (cv2.GaussianBlur(d.astype(np.float32), (0, 0), 1.4)[y, x].astype(np.float64) for d in (dx, dy))
    tangent = np.arctan2(-gx, gy)  # the gradient turned by −90°
    return Keypoints(pixels.astype(np.float64), tangent, None, steep[y, x])


DETECTORS: dict[str, Detector] = {
    "sift": Detector(
        "SIFT",
        _sift,
        "Blobs of any size with an orientation: the best first choice for photographs.",
        twins=True,
        quick=_strong_sift,
    ),
    "orb": Detector(
        "ORB",
        _blobs(lambda pool: cv2.ORB.create(nfeatures=pool, fastThreshold=7)),
        "Fast corners on a pyramid, with an orientation: quick; keeps 31 pixels off the border.",
    ),
    "akaze": Detector("AKAZE", _blobs(_akaze), "Blobs that respect the edges of objects: good under blur and noise."),
    "corners": Detector("Shi–Tomasi corners", _corners, "Corners at one scale: for buildings, drawings and video."),
    "contours": Detector(
        "Contour samples",
        _contours,
        "Points evenly along the edges, with their direction: for outlines of smooth objects.",
        even=True,
    ),
    "aliked": Detector(
        "ALIKED",
        _network("aliked"),
        "Points of a network, with its own description, without size and angle: for a great change of light or season.",
        missing=learned.missing,
    ),
    "disk": Detector(
        "DISK",
        _network("disk"),
        "Points of another network, many and dense: for buildings and landscapes that are upright in both pictures.",
        missing=learned.missing,
    ),
}
