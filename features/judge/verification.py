"""Is there one map that explains the matches? Which, how well, what else it finds, and do the two show the same thing.

Homography, affine map and fundamental matrix are estimated by OpenCV's USAC with MAGSAC++ (Baráth et al. 2020), which
always draws the same random samples. Torr's geometric robust information criterion (1998) chooses among maps that say
where a point goes: a plane. What is not on the plane may be at another depth: then it moves along the lines of a
fundamental matrix, far more often than chance points anywhere.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from adgm.machine.short_repr import ShortRepr
from features.pairs import Pair, mapped
from features.points.descriptors import appearance_cost
from features.points.local_maps import CHANCE, Expected, around

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Kind = Literal["homography", "affine", "fundamental"]
Explained = Literal["plane", "depth", "neither"]

KINDS: tuple[Kind, ...] = get_args(Kind)
THRESHOLD = 3.0  # pixels
SAMPLES, CONFIDENCE = 10_000, 0.999
FEWEST, SHARE = 6, 150  # two photographs show the same thing if 6 matches agree, and one more for every 150 points
LINES = 2.0  # a fundamental matrix that explains so many times the matches of a plane, and of the fewest, stands alone
SURE = 8.0  # standard deviations above chance that matches off the plane move along the lines
ALARM = 1e-6  # as good maps that chance may give: else a map explains nothing
# Sampson's distance of a match beside the distance of two places that a threshold is for: half of its square is in
# either image, and it has one dimension, so that its 95 % bound is that of χ² with one degree of freedom, not with two.
LINE = math.sqrt(3.84 / 5.99 / 2)


def _homography(left: Floats, right: Floats, threshold: float) -> Any:
    return cv2.findHomography(left, right, cv2.USAC_MAGSAC, threshold, maxIters=SAMPLES, confidence=CONFIDENCE)


def _affine(left: Floats, right: Floats, threshold: float) -> Any:
    matrix, mask = cv2.estimateAffine2D(
        left,
        right,
        method=cv2.USAC_MAGSAC,
        ransacReprojThreshold=threshold,
        maxIters=SAMPLES,
        confidence=CONFIDENCE,
    )
    return (None if matrix is None else np.vstack([matrix, [0.0, 0.0, 1.0]])), mask


def _fundamental(left: Floats, right: Floats, threshold: float) -> Any:
    return cv2.findFundamentalMat(left, right, cv2.USAC_MAGSAC, threshold, CONFIDENCE, SAMPLES)


@dataclass(frozen=True)
class Family:
    """A kind of map: how many matches it takes, how it is estimated, its degrees of freedom, what it leaves open."""

    label: str
    needed: int
    estimate: Callable[[Floats, Floats, float], Any]
    freedom: int
    sample: tuple[int, int]  # the fewest matches that make one, and how many these make at most
    dimension: int  # of the set of all pairs of points that obey one such map: 2 if it says where a point goes


FAMILIES: dict[Kind, Family] = {
    "homography": Family("a homography", 4, _homography, 8, (4, 1), 2),
    "affine": Family("an affine map", 3, _affine, 6, (3, 1), 2),
    "fundamental": Family("an epipolar geometry", 8, _fundamental, 7, (7, 3), 3),
}


@dataclass(frozen=True, eq=False)
class Map(ShortRepr):
    """A map from the left to the right image, in working pixels: 3 × 3, and which matches obey it."""

    kind: Kind
    matrix: Floats
    inliers: Mask
    error: float  # root mean square over the inliers, in pixels of the right image
    gric: float  # the lower, the better it explains the matches


@dataclass(frozen=True, eq=False)
class Verification(ShortRepr):
    """What came of checking a matching: the map if there is one, which matches obey it, and which others it finds.

    Of a scene with depth `map` may be that of a plane in it, and `depth` the fundamental matrix that the rest obeys.
    """

    pairs: NDArray[np.int64]  # (k, 2) the matches that were checked
    map: Map | None
    added: NDArray[np.int64]  # (m, 2) matches that the map finds beside them
    same: bool  # whether the two images seem to show the same thing
    verdict: str
    depth: Map | None = None

    @property
    def explained(self) -> list[Explained]:
        """What each match obeys: the plane, depth alone, or neither."""
        found = np.full(len(self.pairs), "neither", object)
        for one in (self.depth, self.map):
            if one is not None:
                found[one.inliers] = "depth" if one.kind == "fundamental" else "plane"
        return cast(list[Explained], found.tolist())

    @property
    def verified(self) -> Mask:
        """Which of the matches obey one of the maps."""
        return np.array([each != "neither" for each in self.explained], bool)

    @property
    def matches(self) -> NDArray[np.int64]:
        """What holds: the verified matches, then those that the map found; all of them where there is no map."""
        return self.pairs if self.map is None else np.concatenate([self.pairs[self.verified], self.added])


def errors(kind: Kind, matrix: Floats, left: Floats, right: Floats) -> Floats:
    """Pixels between the right points and where the map puts the left ones; of a fundamental matrix, Sampson's."""
    if kind != "fundamental":
        gaps = mapped(matrix, left) - right
        return np.nan_to_num(np.hypot(gaps[:, 0], gaps[:, 1]), nan=np.inf)
    first, second = (np.column_stack([xy, np.ones(len(xy))]) for xy in (left, right))
    lines, back = first @ matrix.T, second @ matrix
    steep = (lines[:, :2] ** 2).sum(axis=1) + (back[:, :2] ** 2).sum(axis=1)
    return np.asarray(np.abs((second * lines).sum(axis=1)) / np.sqrt(np.maximum(steep, 1e-300)))


def gric(kind: Kind, error: Floats, threshold: float) -> float:
    """Σ min(e²/σ², 2(r − d)) + n d ln r + k ln(r n), r = 4 numbers in a match: Torr's measure, lower is better."""
    family, n = FAMILIES[kind], len(error)
    worst = 2.0 * (4 - family.dimension)
    fit = np.minimum((error / (threshold / 2)) ** 2, worst).sum()
    return float(fit + n * family.dimension * np.log(4) + family.freedom * np.log(4 * max(n, 1)))


def fit(kind: Kind, left: ArrayLike, right: ArrayLike, threshold: float = THRESHOLD) -> Map | None:
    """The map of this kind that the matched points (k, 2), (k, 2) obey; None if there are too few or none is found."""
    family = FAMILIES[kind]
    first, second = (np.ascontiguousarray(xy, np.float64).reshape(-1, 2) for xy in (left, right))
    if len(first) < family.needed:
        return None
    try:
        matrix, mask = family.estimate(first, second, threshold)
    except cv2.error:  # points on a line, or all at one place
        return None
    if matrix is None or mask is None or np.shape(matrix) != (3, 3) or not np.isfinite(matrix).all():
        return None
    error = errors(kind, matrix, first, second)
    inliers = np.ravel(mask) > 0 if kind != "fundamental" else error <= LINE * threshold
    if not inliers.any():
        return None
    rms = float(np.sqrt(np.mean(error[inliers] ** 2)))
    return Map(kind, np.asarray(matrix, np.float64), inliers, rms, gric(kind, error, threshold))


def verify(
    pair: Pair,
    pairs: ArrayLike,
    *,
    kinds: tuple[Kind, ...] = KINDS,
    threshold: float = THRESHOLD,
    complete: bool = True,
    neighbours: bool = False,
) -> Verification:
    """Check matches (k, 2) by the map of one of these kinds that explains them best, and by depth beside a plane.

    A match obeys a plane's map if it lies within `threshold` pixels of its place, and a fundamental matrix if it is as
    close to its line (see `LINE`). With `complete`, a homography or an affine map
    also finds the matches that are missing: points that nobody matched, within the threshold of where the map puts
    them, and that look more alike than nine of ten pairs do.

    `neighbours`: whether the model leaves out points whose neighbours disagree, as that for photographs does. Then many
    matches that no map explains still tell the same thing, which moved or bent; those of other models tell nothing.
    """
    for kind in kinds:
        if kind not in FAMILIES:
            raise ValueError(f"There is no map {kind!r}; choose among {', '.join(KINDS)}.")
    found = np.asarray(pairs, np.int64).reshape(-1, 2)
    left, right = pair.left.points.xy[found[:, 0]], pair.right.points.xy[found[:, 1]]
    needed = FEWEST + min(pair.shape) // SHARE
    fits = {kind: fit(kind, left, right, threshold) for kind in kinds}
    room = np.ptp(pair.right.points.xy, axis=0)
    sound = {kind: one for kind, one in fits.items() if one and false_alarms(one, room, threshold) < ALARM}
    best = best_map(sound, needed)
    nobody = np.empty((0, 2), np.int64)
    if best is None:
        many = neighbours and len(found) >= 3 * needed
        return Verification(found, None, nobody, many, _verdict(found, None, None, many, neighbours))
    lines = fits.get("fundamental") if best.kind != "fundamental" else None
    depth = lines if lines is not None and along(best, lines, left, right, threshold) >= needed else None
    added = nobody
    if complete and best.kind != "fundamental" and depth is None:  # what is at another depth has no known place
        added = missing(pair, found[best.inliers], best.matrix, threshold)
    return Verification(found, best, added, True, _verdict(found, best, depth, True, neighbours), depth)


def false_alarms(found: Map, room: Floats, threshold: float) -> float:
    """How many maps would explain as many matches if these ended anywhere in the right image, in its points' width and
    height: Moisan and Stival's number of false alarms (2004).

    The fewest matches that make a map make one; each other one ends near its place, or near its line, by chance.
    """
    family, n, k = FAMILIES[found.kind], len(found.inliers), int(found.inliers.sum())
    area, reach = float(np.prod(room)), math.sqrt(2) * LINE * threshold  # of a line: Sampson's distance is in both
    near = np.pi * threshold**2 if family.dimension == 2 else 2 * reach * float(np.hypot(*room))
    fewest, maps = family.sample
    if k <= fewest or near >= area:
        return np.inf
    ways = math.log(maps * (n - fewest)) + _log_binomial(n, k) + _log_binomial(k, fewest)
    return math.exp(min(700.0, ways + (k - fewest) * math.log(near / area)))


def _log_binomial(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def best_map(found: Mapping[Kind, Map | None], needed: int) -> Map | None:
    """The map that explains the matches best; None if none explains `needed` of them."""
    fits = [one for one in found.values() if one is not None and one.inliers.sum() >= needed]
    places = min((one for one in fits if one.kind != "fundamental"), key=lambda one: one.gric, default=None)
    lines = next((one for one in fits if one.kind == "fundamental"), None)
    bar = LINES * (needed if places is None else max(needed, int(places.inliers.sum())))
    return lines if lines is not None and lines.inliers.sum() >= bar else places


def along(plane: Map, lines: Map, left: Floats, right: Floats, threshold: float) -> float:
    """How many more matches off the plane move along the lines than chance explains; 0 if chance may explain them.

    A match that misses its place on the plane by e pixels in any direction comes within t of a line through that place
    with probability 2/π arcsin(t / e), whatever e is: so the near misses on a plane tell no depth.
    """
    off = ~plane.inliers
    gap, band = errors(plane.kind, plane.matrix, left[off], right[off]), threshold / 2
    chance = 2 / np.pi * np.arcsin(np.minimum(1.0, band / np.maximum(gap, 1e-9)))
    close = math.sqrt(2) * errors(lines.kind, lines.matrix, left[off], right[off]) < band
    more = float(close.sum() - chance.sum())
    return more if more > SURE * math.sqrt(float((chance * (1 - chance)).sum())) else 0.0


def _verdict(pairs: NDArray[np.int64], found: Map | None, depth: Map | None, same: bool, neighbours: bool) -> str:
    count = len(pairs)
    if found is not None:
        label, inliers = FAMILIES[found.kind].label, int(found.inliers.sum())
        more = 0 if depth is None else int((depth.inliers & ~found.inliers).sum())
        other = f", and {more} more {FAMILIES['fundamental'].label}: the scene has depth" if more else ""
        return f"{inliers} of {count} matches obey {label}, within {found.error:.1f} px on average{other}."
    if same:
        return f"{count} matches agree with their neighbours, but no single map explains them: things moved or bent."
    if count == 0:
        return "These two do not seem to show the same thing: no match was found."
    if not neighbours:
        return f"No single map explains the {count} matches: things moved or bent, or these two show different things."
    return f"These two do not seem to show the same thing: the {count} matches do not agree on any map."


def missing(pair: Pair, kept: NDArray[np.int64], matrix: Floats, threshold: float) -> NDArray[np.int64]:
    """(m, 2): pairs of points not in `kept` that the map brings together, the best first, one to one."""
    xy = pair.left.points.xy
    place = mapped(matrix, xy)
    seen = np.asarray(np.isfinite(place).all(axis=1))
    free = [np.ones(side, bool) for side in pair.shape]
    free[0][kept[:, 0]] = free[1][kept[:, 1]] = False
    expected = Expected(np.where(seen[:, None], place, 0.0), np.empty((0, 2, 2)), seen & free[0])
    rows, cols = around(expected, pair.right.points.xy, threshold)
    looks = appearance_cost(pair.left, pair.right)
    common = np.quantile(looks[:: max(1, len(looks) // 100)], CHANCE)
    usable = free[1][cols] & (looks[rows, cols] < common)
    rows, cols = rows[usable], cols[usable]
    gap = np.linalg.norm(place[rows] - pair.right.points.xy[cols], axis=1)
    order = np.argsort(looks[rows, cols] / common + (gap / threshold) ** 2, kind="stable")
    found = []
    for i, s in zip(rows[order].tolist(), cols[order].tolist(), strict=True):
        if free[0][i] and free[1][s]:
            free[0][i] = free[1][s] = False
            found.append((i, s))
    return np.array(found, np.int64).reshape(-1, 2)
