"""Ready examples: a pair with the model and the points that suit it, and a thumbnail of each."""

from dataclasses import dataclass

import cv2
import numpy as np
import streamlit as st
from numpy.typing import NDArray

from features.datasets import DATASETS
from features.matching import IMAGES
from features.parameters import Value
from features.recipe import Recipe
from ui.choice import address

THUMBNAIL = (108, 88)  # pixels: twice what is shown


@dataclass(frozen=True)
class Example:
    """A pair worth seeing, with the model that suits it."""

    title: str
    about: str
    recipe: Recipe


SCENE: dict[str, Value] = {"left": 20, "right": 40, "points": 30, "landmarks": "seen in both views"}
YOURS = Example("Your photographs", "Two pictures of your own", IMAGES)
EXAMPLES = [
    YOURS,
    Example("Toy house", "A house we render, 20° apart", Recipe("turntable", SCENE, "C")),
    Example("Portrait", "A portrait, and again turned, zoomed and from the side", Recipe("portrait", {}, "photo")),
    Example("Dots", "Random points, outliers, turned", Recipe("random", {"outliers": 10, "rotation": 30}, "B")),
    Example("CMU house", "20 against 30 points", Recipe("house", {"left": 17, "right": 87, "points": 20}, "B")),
    Example("CMU hotel", "All 30 points", Recipe("hotel", {"left": 0, "right": 60}, "A")),
    Example("Cars", "Two cars, 10 outliers", Recipe("cars", {"number": 1, "outliers": 10}, "C")),
    Example("Motorbikes", "Two motorbikes, 20 outliers", Recipe("motorbikes", {"number": 1, "outliers": 20}, "C")),
    Example("Graffiti", "Oxford: a wall from two sides", Recipe("oxford", {"scene": "graf", "number": 3}, "photo")),
    Example("Warp", "A photograph and its affine image, numbered points", Recipe("warp", {"map": "affine"}, "C")),
    Example("Ducks", "Willow: two ducks, ten landmarks", Recipe("willow", {"kind": "Duck"}, "A")),
]
FIRST = EXAMPLES[1]
READY = [one for one in EXAMPLES if one.recipe.model == "photo" and one is not YOURS]  # photographs, as one's own are
PHOTOGRAPHED = {example.recipe.dataset for example in EXAMPLES} - {"random"}


def greet() -> None:
    """A newcomer, without a link to something else, sees the first example."""
    address.follow(FIRST.recipe)


def take(recipe: Recipe) -> None:
    """An example was chosen."""
    address.use(recipe)


def chosen(example: Example) -> bool:
    return address.current().dataset == example.recipe.dataset


@st.cache_data(show_spinner=False, max_entries=32)
def thumbnail(dataset: str, params: tuple[tuple[str, Value], ...], side: int = 0) -> bytes | None:
    """A picture of an example (left, unless `side` is 1) as a small JPEG; None where it is not on this machine."""
    if not DATASETS[dataset].available():
        return None
    pair = DATASETS[dataset].load(images=True, **dict(params))
    view = (pair.left, pair.right)[side]
    if view.image is None:
        return None
    rgb = view.image.rgb if dataset in PHOTOGRAPHED else dotted(view.image.rgb, view.points.xy)
    return cv2.imencode(".jpg", _filled(rgb)[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 82])[1].tobytes()


def dotted(rgb: NDArray[np.uint8], xy: NDArray[np.float64]) -> NDArray[np.uint8]:
    """An image that has nothing on it but its points, with them."""
    drawn = rgb.copy()
    for x, y in np.rint(xy).astype(int).tolist():
        cv2.circle(drawn, (x, y), max(rgb.shape) // 40, (0, 114, 178), -1, cv2.LINE_AA)
    return drawn


def _filled(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The middle of an image, scaled to cover a thumbnail."""
    width, height = THUMBNAIL
    scale = max(width / rgb.shape[1], height / rgb.shape[0])
    small = cv2.resize(rgb, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    top, left = (small.shape[0] - height) // 2, (small.shape[1] - width) // 2
    return np.ascontiguousarray(small[max(top, 0) :, max(left, 0) :][:height, :width], np.uint8)
