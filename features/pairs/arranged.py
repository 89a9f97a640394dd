"""Two images of a user's own in another arrangement: swapped, or one of them turned. Their points are found anew."""

from dataclasses import replace

import numpy as np

from features.pairs.pair import Pair, View
from features.points.images import Image
from features.points.keypoints import Keypoints


def arrangeable(pair: Pair) -> bool:
    """Whether it is two images and nothing else: points, truth and costs would have to move with them."""
    images = pair.left.image is not None and pair.right.image is not None
    return images and max(pair.shape) == 0 and pair.truth is None and pair.homography is None and pair.given is None


def swapped(pair: Pair) -> Pair:
    return replace(pair, left=pair.right, right=pair.left)


def turned(pair: Pair, side: int) -> Pair:
    """The left (0) or the right (1) image turned by a quarter to the right."""
    views = [pair.left, pair.right]
    image = views[side].image
    if image is None:
        return pair
    width, height = image.original_size
    views[side] = View(Image(np.rot90(image.rgb, -1), image.scale, (height, width)), Keypoints(np.empty((0, 2))))
    return replace(pair, left=views[0], right=views[1])
