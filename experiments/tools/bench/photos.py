"""Two photographs, from pixels to verified matches, against OpenCV's own SIFT, brute force and MAGSAC in one run, by
processor time."""

import resource
import sys
from functools import partial
from time import process_time

import cv2
import numpy as np

from adgm import METHODS, solve
from experiments.tools.bench.solver import Reading, best_of, reading
from features.datasets.warp import photograph, warped
from features.judge.verification import CONFIDENCE, SAMPLES, THRESHOLD, verify
from features.models import MODELS
from features.pairs import Pair, View
from features.points.images import Image, from_array
from features.points.slants import SIDES, detect_both

TARGETS = {600: "at most 1.6 ×", 2000: "at most 2 ×"}
SIDE = 1200  # pixels: the portrait enlarged, with grain, so that it offers thousands of points


def pictures() -> tuple[Image, Image]:
    """The portrait and its warped copy, large and grainy."""
    found = []
    for number, image in enumerate((photograph(), warped("homography", 0.5, 4.0, 0))):
        scale = SIDE / max(image.size)
        large = cv2.resize(image.rgb, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)
        grain = np.random.default_rng(number).normal(0, 6, large.shape)
        found.append(from_array(np.clip(large + grain, 0, 255).astype(np.uint8)))
    return found[0], found[1]


def ours(images: tuple[Image, Image], points: int) -> int:
    """Detect, build, solve, verify; how many matches were verified."""
    found = detect_both(images, "sift", dict.fromkeys(SIDES, points))
    pair = Pair(View(images[0], found[0]), View(images[1], found[1]))
    result = solve(MODELS["photo"].build(pair), METHODS["adgm"].make())
    return len(verify(pair, result.pairs).matches)


def opencv(images: tuple[Image, Image], points: int) -> int:
    """What a few lines of OpenCV do; how many matches obey its homography."""
    sift = cv2.SIFT.create(nfeatures=points)
    (left, first), (right, second) = (sift.detectAndCompute(image.grey, None) for image in images)
    matches = cv2.BFMatcher(cv2.NORM_L2, crossCheck=True).match(first, second)
    source = np.array([left[match.queryIdx].pt for match in matches])
    target = np.array([right[match.trainIdx].pt for match in matches])
    _, mask = cv2.findHomography(source, target, cv2.USAC_MAGSAC, THRESHOLD, maxIters=SAMPLES, confidence=CONFIDENCE)
    return int(mask.sum())


def readings() -> list[Reading]:
    images, rows = pictures(), []
    for points, target in TARGETS.items():
        found = ours(images, points), opencv(images, points)  # compiles, and fills what is cached
        seconds = [best_of(3, partial(way, images, points), process_time) for way in (ours, opencv)]
        note = f"{seconds[0]:.2f} s of computing and {found[0]} matches against {seconds[1]:.2f} s and {found[1]}"
        name = f"photographs, {points} points, against OpenCV"
        rows.append(reading(name, seconds[0] / seconds[1], "×", target, note))
    unit = 2**20 if sys.platform == "darwin" else 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    return [*rows, reading("photographs, peak memory of the process", peak, "MB", "below 1 GB")]
