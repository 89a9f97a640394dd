"""What a match looks like in both pictures: two small squares around its points, beside each other."""

import cv2
import numpy as np
from numpy.typing import NDArray

from features.pairs import Pair, View
from ui.parts.pictures import inline

MOST = 12  # matches that are shown so
SHARE = 0.035  # of a picture's longer side: from a point to the edges of its square
LEAST = 10  # pixels, at least that
SHOWN = 96  # pixels of the square on the page


def patches(pair: Pair, matches: NDArray[np.int64]) -> list[tuple[str, str]]:
    """The squares of the first matches, left and right; none where a picture is missing."""
    left, right = pair.left, pair.right
    if left.image is None or right.image is None:
        return []
    return [(inline(_square(left, i)), inline(_square(right, j))) for i, j in matches[:MOST].tolist()]


def _square(view: View, point: int) -> bytes:
    """A JPEG with a point in its middle; beyond the edge of the picture its last pixels go on."""
    assert view.image is not None
    reach = max(LEAST, round(SHARE * max(view.image.size)))
    x, y = view.points.xy[point].tolist()
    cut = cv2.getRectSubPix(view.image.rgb, (2 * reach + 1, 2 * reach + 1), (x, y))
    shown = cv2.resize(cut, (SHOWN, SHOWN), interpolation=cv2.INTER_AREA if 2 * reach >= SHOWN else cv2.INTER_CUBIC)
    return cv2.imencode(".jpg", shown[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 82])[1].tobytes()
