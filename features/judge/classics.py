"""What people use instead of graph matching: nearest neighbours, the ratio test, LightGlue, a map that they must obey.

They solve no problem but look at the images, and are everybody's reference point: `CLASSICS`, one line each.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from features.judge.verification import FAMILIES, THRESHOLD, Kind, fit
from features.latest import latest
from features.pairs import Pair
from features.points import learned
from features.points.descriptors import DESCRIPTORS, ROOTED, appearance_cost

Floats = NDArray[np.float64]

RANSAC = "ransac"
OWN = "own"


def _homography(left: Floats, right: Floats, threshold: float) -> Any:
    return cv2.findHomography(left, right, cv2.RANSAC, threshold, maxIters=5000, confidence=0.999)[1]


def _affine(left: Floats, right: Floats, threshold: float) -> Any:
    return cv2.estimateAffine2D(
        left, right, method=cv2.RANSAC, ransacReprojThreshold=threshold, maxIters=5000, confidence=0.999
    )[1]


def _fundamental(left: Floats, right: Floats, threshold: float) -> Any:
    return cv2.findFundamentalMat(left, right, cv2.FM_RANSAC, threshold, 0.999, 5000)[1]


def _magsac(kind: Kind) -> tuple[int, Callable[[Floats, Floats, float], Any]]:
    def inliers(left: Floats, right: Floats, threshold: float) -> Any:
        found = fit(kind, left, right, threshold)
        return np.zeros(len(left)) if found is None else found.inliers

    return FAMILIES[kind].needed, inliers


# What maps one image to the other: (matches needed, inlier mask of matched points or None). OpenCV seeds itself, the
# same way every time.
GEOMETRIES: dict[str, tuple[int, Callable[[Floats, Floats, float], Any]]] = {
    "homography": (4, _homography),
    "affine": (3, _affine),
    "fundamental": (8, _fundamental),
    "magsac": _magsac("homography"),
    "none": (0, lambda left, right, threshold: None),
}


@dataclass(frozen=True)
class Ransac:
    """Options of `ransac_matching`.

    descriptor: a key of DESCRIPTORS, or "own" for what came with the points (else SIFT). ratio: a nearest neighbour
    counts if it is nearer than this share of the second nearest (Lowe 2004; 1 lets all pass). mutual: whether each must
    be the other's nearest. geometry: what the matches are to agree on, and threshold: how well, in pixels (Fischler and
    Bolles 1981); "magsac" is a homography by the estimator of `features.judge.verification`, "none" asks for no
    agreement.
    """

    descriptor: str = OWN
    ratio: float = 0.8
    mutual: bool = True
    geometry: Literal["homography", "affine", "fundamental", "magsac", "none"] = "homography"
    threshold: float = 5.0

    def __post_init__(self) -> None:
        for name, choices in (("descriptor", (OWN, *DESCRIPTORS)), ("geometry", GEOMETRIES)):
            if getattr(self, name) not in choices:
                raise ValueError(f"The {name} is {getattr(self, name)!r}; expected one of {', '.join(choices)}.")
        if not 0 < self.ratio <= 1:
            raise ValueError(f"The ratio is {self.ratio}; expected a number above 0, at most 1.")
        if not 0 < self.threshold < np.inf:
            raise ValueError(f"The threshold is {self.threshold} pixels; expected a positive number.")


def nearest(costs: Floats, ratio: float, mutual: bool) -> NDArray[np.int64]:
    """For every row its nearest column, −1 where it fails the ratio test or the column prefers another row."""
    n1, n2 = costs.shape
    if n1 == 0 or n2 == 0:
        return np.full(n1, -1)
    best = np.argmin(costs, axis=1)
    each = np.arange(n1)
    kept = np.ones(n1, bool)
    if n2 > 1 and ratio < 1:
        second = np.partition(costs, 1, axis=1)[:, 1]
        kept &= costs[each, best] < ratio * second
    if mutual:
        kept &= np.argmin(costs, axis=0)[best] == each
    else:  # a column still has one partner: the nearest of those that chose it
        order = np.argsort(costs[each, best], kind="stable")
        order = order[kept[order]]
        kept[:] = False
        kept[order[np.unique(best[order], return_index=True)[1]]] = True
    return np.where(kept, best, -1).astype(np.int64)


def ransac_matching(pair: Pair, options: Ransac | None = None) -> NDArray[np.int64]:
    """For every left point its partner, −1 for none. Too few matches for a geometry stay as they are."""
    options = options or Ransac()
    matching = nearest(_costs(pair, options.descriptor), options.ratio, options.mutual)
    return obeying(pair, matching, options.geometry, options.threshold)


def _costs(pair: Pair, descriptor: str) -> Floats:
    if descriptor == OWN and ROOTED not in {pair.left.points.looks_by, pair.right.points.looks_by}:
        return appearance_cost(pair.left, pair.right).astype(np.float64)
    return DESCRIPTORS[ROOTED if descriptor == OWN else descriptor].cost(pair.left, pair.right)


def obeying(pair: Pair, matching: NDArray[np.int64], geometry: str, threshold: float) -> NDArray[np.int64]:
    """The matching without those that do not obey the map of the others."""
    rows = np.flatnonzero(matching >= 0)
    needed, fit = GEOMETRIES[geometry]
    if len(rows) < needed:
        return matching
    left, right = pair.left.points.xy[rows], pair.right.points.xy[matching[rows]]
    mask = fit(np.ascontiguousarray(left), np.ascontiguousarray(right), threshold)
    if mask is not None:
        matching[rows[np.ravel(mask) == 0]] = -1
    return matching


@latest
def _glued(pair: Pair) -> NDArray[np.int64]:
    """LightGlue's partner of every left point, −1 for none; once for both of its entries."""
    points, images = (pair.left.points, pair.right.points), (pair.left.image, pair.right.image)
    looks = points[0].looks, points[1].looks
    if images[0] is None or images[1] is None or looks[0] is None or looks[1] is None:
        raise ValueError("It needs the images of both sides.")
    sizes = images[0].size, images[1].size
    found = learned.matched(points[0].looks_by, (points[0].xy, points[1].xy), (looks[0], looks[1]), sizes)
    matching = np.full(len(points[0]), -1, np.int64)
    matching[found[:, 0]] = found[:, 1]
    return matching


@dataclass(frozen=True)
class LightGlue:
    """The learned matcher of points that a network found (see `features.points.learned`), and what `Ransac` has."""

    geometry: Literal["magsac", "none"] = "none"
    threshold: float = THRESHOLD

    def refusal(self, pair: Pair) -> str:
        """Why it cannot match this pair, in a sentence; empty if it can."""
        kinds = {view.points.looks_by for view in (pair.left, pair.right)}
        if len(kinds) > 1 or not kinds <= set(learned.NETWORKS):
            why = learned.missing()
            return "matches points that ALIKED or DISK found" + (f"; {why}" if why else "")
        return learned.missing()

    def matching(self, pair: Pair) -> NDArray[np.int64]:
        """For every left point its partner, −1 for none."""
        if why := self.refusal(pair):
            raise ValueError(f"It {why}." if why.startswith("matches") else why)
        return obeying(pair, _glued(pair).copy(), self.geometry, self.threshold)


@dataclass(frozen=True)
class Classic:
    """A classic by its name for people, its options and where it comes from."""

    label: str
    options: Ransac | LightGlue
    cite: str

    def refusal(self, pair: Pair) -> str:
        """Why it does not match this pair, in a sentence that goes on from its name; empty if it does."""
        return self.options.refusal(pair) if isinstance(self.options, LightGlue) else ""

    def matching(self, pair: Pair) -> NDArray[np.int64]:
        """For every left point its partner, −1 for none."""
        if isinstance(self.options, LightGlue):
            return self.options.matching(pair)
        return ransac_matching(pair, self.options)


_MUTUAL = Ransac(ratio=1.0, geometry="none", threshold=THRESHOLD)
_RATIO = Ransac(mutual=False, geometry="none", threshold=THRESHOLD)

CLASSICS: dict[str, Classic] = {
    RANSAC: Classic("Nearest + RANSAC", Ransac(), "Fischler and Bolles, CACM 1981"),
    "mutual": Classic("Mutual nearest", _MUTUAL, "Lowe, IJCV 2004"),
    "ratio": Classic("Ratio test", _RATIO, "Lowe, IJCV 2004"),
    "mutual+magsac": Classic(
        "Mutual nearest + MAGSAC", replace(_MUTUAL, geometry="magsac"), "Baráth et al., CVPR 2020"
    ),
    "ratio+magsac": Classic("Ratio test + MAGSAC", replace(_RATIO, geometry="magsac"), "Baráth et al., CVPR 2020"),
    "lightglue": Classic("LightGlue", LightGlue(), "Lindenberger et al., ICCV 2023"),
    "lightglue+magsac": Classic("LightGlue + MAGSAC", LightGlue("magsac"), "Lindenberger et al., ICCV 2023"),
}
