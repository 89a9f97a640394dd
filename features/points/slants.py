"""A second look from a slant: where two photographs were taken from very different sides, no detector finds the same.

A picture of a flat thing seen from the side is a squeezed one, so one of the two is squeezed on purpose, in several
directions, until points found in it agree with those of the other (the idea of ASIFT, Morel and Yu 2009, with a vote in
place of a full comparison). The points are then told in pixels of the picture as it is; each keeps the looks it had in
the squeezed one, and its frame is squeezed back.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial

import cv2
import numpy as np
from numpy.typing import NDArray

from features.points import rootsift
from features.points.images import Image, from_array
from features.points.keypoints import SMALLEST_SHARE, Keypoints, detect, sift_points, strongest
from features.points.local_maps import seeds, vouched
from features.points.regions import EVERYWHERE, Mask

Floats = NDArray[np.float64]

SQUEEZES = (2.0, 3.0)  # how much narrower
DIRECTIONS = 5  # directions of squeezing, evenly over half a turn
BLUR = 0.8  # standard deviation per unit of squeezing, before samples are left out
SEARCH = 800  # pixels of the longer side while slants are tried
ENOUGH = 20  # points that agree at first sight make a second look needless
SURELY = 5  # this many times enough, and no other slant is tried
CLEARLY = 3  # a slant must bring so many times as many
DIFFERENCE, SLACK = 0.6, 0.003  # as the photograph model has them: looks, and share of the diagonal
SIDES = ("left", "right")


@dataclass(frozen=True)
class Slant:
    """A view: the picture turned by an angle, then made so many times narrower from top to bottom."""

    squeeze: float
    turn: float  # radians

    def view(self, grey: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], Floats]:
        """The picture from there, and the 2 × 3 matrix from its own pixels to those of the view."""
        height, width = grey.shape
        turn = np.array([[np.cos(self.turn), -np.sin(self.turn)], [np.sin(self.turn), np.cos(self.turn)]])
        corners = np.array([[0, 0], [width, 0], [width, height], [0, height]]) @ turn.T
        shift, size = -corners.min(axis=0), np.ceil(np.ptp(corners, axis=0)).astype(int)
        turned = cv2.warpAffine(
            grey, np.column_stack([turn, shift]), (int(size[0]), int(size[1])), borderMode=cv2.BORDER_REPLICATE
        )
        sigma = BLUR * np.sqrt(self.squeeze**2 - 1)
        kernel = cv2.getGaussianKernel(2 * int(np.ceil(3 * sigma)) + 1, sigma)
        smooth = cv2.sepFilter2D(turned, -1, np.ones(1), kernel)
        narrow = np.diag([1.0, 1 / self.squeeze])
        shape = int(size[0]), int(np.ceil(size[1] / self.squeeze))
        seen = cv2.warpAffine(smooth, np.column_stack([narrow, [0, 0]]), shape, borderMode=cv2.BORDER_REPLICATE)
        return np.asarray(seen, np.uint8), np.column_stack([narrow @ turn, narrow @ shift])

    def detect(self, image: Image, count: int, mask: Mask = EVERYWHERE) -> Keypoints:
        """SIFT points found in the view, in pixels of the image, with the frames they have there."""
        seen, matrix = self.view(image.grey)
        found = sift_points(seen, int(3 * count / max(mask.share, SMALLEST_SHARE)))
        back = np.linalg.inv(matrix[:, :2])
        xy, axes = (found.xy - matrix[:, 2]) @ back.T, back @ found.axes
        angle = np.arctan2(axes[:, 1, 0], axes[:, 0, 0])
        size = np.sqrt(np.abs(np.linalg.det(axes)))
        told = replace(found, xy=xy, angle=angle, size=size, shape=axes)
        last = np.array(image.size) - 1
        told = told.take(((xy >= 0) & (xy <= last)).all(axis=1) & mask.allows(xy, image.size))
        return told.take(strongest(told, count, image.size))


def all_slants() -> list[Slant]:
    turns = np.arange(DIRECTIONS) * np.pi / DIRECTIONS
    return [Slant(squeeze, float(turn)) for squeeze in SQUEEZES for turn in turns]


def agreeing(left: Keypoints, right: Keypoints, diagonal: float) -> int:
    """How many points of two pictures agree at first sight: they look alike, and their neighbours vouch for them."""
    if left.looks is None or right.looks is None or min(len(left), len(right)) < 2:
        return 0
    looks = rootsift.distances(left.looks, right.looks)
    found = seeds(left, right, looks, DIFFERENCE / 2, SLACK * diagonal)
    return vouched(left.xy, right.xy, found, SLACK * diagonal)


def detect_sides(
    images: tuple[Image, Image],
    detector: str,
    counts: Mapping[str, int],
    masks: tuple[Mask, Mask] = (EVERYWHERE, EVERYWHERE),
) -> tuple[Keypoints, Keypoints]:
    """The points of both images, each looked at once; at the same time where there are two cores."""
    with ThreadPoolExecutor(1) as beside:
        later = beside.submit(copy_context().run, partial(detect, images[1], detector, counts["right"], mask=masks[1]))
        left = detect(images[0], detector, counts["left"], mask=masks[0])
        return left, later.result()


def detect_both(
    images: tuple[Image, Image],
    detector: str,
    counts: Mapping[str, int],
    *,
    masks: tuple[Mask, Mask] = (EVERYWHERE, EVERYWHERE),
    told: Callable[[float, str], object] | None = None,
) -> tuple[Keypoints, Keypoints]:
    """Points in both images, at most so many a side ("left", "right"), where the masks allow it.

    Where those that SIFT finds hardly agree, one of the images is looked at from slants, and the best one is taken if
    it brings clearly more. `told(share done, words)` hears of the progress of that second look and stops it by
    returning True.
    """
    plain = [*detect_sides(images, detector, counts, masks)]
    if detector != "sift" or not all(len(one) for one in plain):
        return plain[0], plain[1]
    first = agreeing(plain[0], plain[1], _diagonal(images[1]))
    if first >= ENOUGH:
        return plain[0], plain[1]
    chosen = best_slant(images, counts, masks, told)
    if chosen is not None:
        side, slant = chosen
        trial = [*plain]
        trial[side] = slant.detect(images[side], counts[SIDES[side]], masks[side])
        if agreeing(trial[0], trial[1], _diagonal(images[1])) > max(CLEARLY * first, ENOUGH):
            plain = trial
    return plain[0], plain[1]


def best_slant(
    images: tuple[Image, Image],
    counts: Mapping[str, int],
    masks: tuple[Mask, Mask] = (EVERYWHERE, EVERYWHERE),
    told: Callable[[float, str], object] | None = None,
) -> tuple[int, Slant] | None:
    """The side (0, 1) and the slant from which most points agree, found in small copies of the images; None if none."""
    small = [from_array(image.rgb, max_side=SEARCH) for image in images]
    wanted = zip(small, SIDES, masks, strict=True)
    plain = [detect(image, "sift", counts[side], mask=mask) for image, side, mask in wanted]
    best, most = None, 0
    slants = [(side, slant) for slant in all_slants() for side in (1, 0)]
    for done, (side, slant) in enumerate(slants):
        if told is not None and told(done / len(slants), "Looking again from a slant") is True:
            break
        trial = [*plain]
        trial[side] = slant.detect(small[side], counts[SIDES[side]], masks[side])
        found = agreeing(trial[0], trial[1], _diagonal(small[1]))
        if found > most:
            best, most = (side, slant), found
        if found >= SURELY * ENOUGH:
            break
    return best


def _diagonal(image: Image) -> float:
    return float(np.hypot(*image.size))
