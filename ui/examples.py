"""Ready examples with thumbnails: one click chooses the pair, the model and the points."""

from dataclasses import dataclass

import cv2
import numpy as np
import streamlit as st
from numpy.typing import NDArray

from features.datasets import DATASETS
from features.matching import IMAGES
from features.parameters import Value
from features.recipe import OWN, Recipe
from ui import url_state
from ui.pictures import inline
from ui.state import GALLERY

THUMBNAIL = (100, 50)  # pixels: two images side by side


@dataclass(frozen=True)
class Example:
    """A pair worth seeing, with the model that suits it."""

    title: str
    about: str
    recipe: Recipe


SCENE: dict[str, Value] = {"left": 20, "right": 40, "points": 30, "landmarks": "seen in both views"}
EXAMPLES = [
    Example("Turntable", "A house we render, 20° apart", Recipe("turntable", SCENE, "C")),
    Example("Photograph", "A portrait, and again turned, zoomed and from the side", Recipe("portrait", {}, "photo")),
    Example("Warp", "A photograph and its affine image, numbered points", Recipe("warp", {"map": "affine"}, "C")),
    Example("Random", "Random points, outliers, turned", Recipe("random", {"outliers": 10, "rotation": 30}, "B")),
    Example("House", "CMU House, 20 against 30 points", Recipe("house", {"left": 17, "right": 87, "points": 20}, "B")),
    Example("Hotel", "CMU Hotel, all 30 points", Recipe("hotel", {"left": 0, "right": 60}, "A")),
    Example("Cars", "Two cars, 10 outliers", Recipe("cars", {"number": 1, "outliers": 10}, "C")),
    Example("Motorbikes", "Two motorbikes, 20 outliers", Recipe("motorbikes", {"number": 1, "outliers": 20}, "C")),
    Example("Graffiti", "Oxford: a wall from two sides", Recipe("oxford", {"scene": "graf", "number": 3}, "photo")),
    Example("Ducks", "Willow: two ducks, ten landmarks", Recipe("willow", {"kind": "Duck"}, "A")),
    Example("Yours", "Two pictures of your own", IMAGES),
]


PHOTOGRAPHED = {example.recipe.dataset for example in EXAMPLES} - {"random"}


def greet() -> None:
    """A newcomer, without a link to something else, sees the first example."""
    url_state.follow(EXAMPLES[0].recipe)


def show(*, pictures: bool = True) -> None:
    """The row of examples; with their pictures where somebody looks at them, which take longer than the page."""
    with st.container(horizontal=True, gap="xsmall", key="gallery"):
        for example in EXAMPLES:
            with st.container(width=THUMBNAIL[0], gap="xsmall"):
                dataset, params = example.recipe.dataset, tuple(sorted(example.recipe.dataset_params.items()))
                small = thumbnail(dataset, params) if pictures else sheet()
                st.image(inline(small), width=THUMBNAIL[0], alt="")  # its button says it all
                st.button(
                    example.title,
                    key=f"example {example.title}",
                    help=example.about,
                    on_click=take,
                    args=(example.recipe,),
                    width="stretch",
                    type="primary" if chosen(example) else "secondary",
                )


def take(recipe: Recipe) -> None:
    """An example was chosen: it is looked at, and the others go out of sight."""
    url_state.use(recipe)
    st.session_state[GALLERY] = False


def sheet() -> NDArray[np.uint8]:
    return np.full((THUMBNAIL[1], THUMBNAIL[0], 3), 225, np.uint8)


def chosen(example: Example) -> bool:
    return url_state.current().dataset == example.recipe.dataset


@st.cache_data(show_spinner=False, max_entries=32)
def thumbnail(dataset: str, params: tuple[tuple[str, Value], ...]) -> NDArray[np.uint8]:
    """Both images of an example, small; a plain sheet where there is none."""
    drawn = sheet()
    if dataset == OWN or not DATASETS[dataset].available():
        sign = "+" if dataset == OWN else "download"
        scale = 1.2 if dataset == OWN else 0.45
        (width, height), _ = cv2.getTextSize(sign, cv2.FONT_HERSHEY_SIMPLEX, scale, 1)
        at = ((THUMBNAIL[0] - width) // 2, (THUMBNAIL[1] + height) // 2)
        cv2.putText(drawn, sign, at, cv2.FONT_HERSHEY_SIMPLEX, scale, (110, 110, 110), 1, cv2.LINE_AA)
        return drawn
    pair = DATASETS[dataset].load(images=True, **dict(params))
    half = THUMBNAIL[0] // 2
    for k, view in enumerate((pair.left, pair.right)):
        if view.image is not None:
            rgb = view.image.rgb if dataset in PHOTOGRAPHED else dotted(view.image.rgb, view.points.xy)
            drawn[:, k * half : (k + 1) * half] = _filled(rgb, (half - 1, THUMBNAIL[1]), half)
    return drawn


def dotted(rgb: NDArray[np.uint8], xy: NDArray[np.float64]) -> NDArray[np.uint8]:
    """An image that has nothing on it but its points, with them."""
    drawn = rgb.copy()
    for x, y in np.rint(xy).astype(int).tolist():
        cv2.circle(drawn, (x, y), max(rgb.shape) // 40, (0, 114, 178), -1, cv2.LINE_AA)
    return drawn


def _filled(rgb: NDArray[np.uint8], size: tuple[int, int], width: int) -> NDArray[np.uint8]:
    """The middle of an image, scaled to cover a rectangle; one white column between two of them."""
    scale = max(size[0] / rgb.shape[1], size[1] / rgb.shape[0])
    small = cv2.resize(rgb, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    top, left = (max(0, (small.shape[k] - size[1 - k]) // 2) for k in (0, 1))
    cut = small[top : top + size[1], left : left + size[0]]
    return cv2.copyMakeBorder(
        cut, 0, size[1] - cut.shape[0], 0, width - cut.shape[1], cv2.BORDER_CONSTANT, value=(255, 255, 255)
    ).astype(np.uint8)
