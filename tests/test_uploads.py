"""Files of a visitor's own on the Match page: what they become, and what is said of those that are no use."""

from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest

from features.datasets import DATASETS
from features.files.exports import save_pair
from features.recipe import OWN, Recipe
from test_match_page import Page
from ui.choice.uploads import ONE_MORE
from ui.shell.session_slots import RUN


def upload(page: Page, key: str, *file: Any) -> None:
    next(one for one in page.test.get("file_uploader") if one.key == key).upload(*file)


def test_two_dropped_images_are_a_pair_and_a_bad_point_file_leaves_it():
    page = Page({"data": OWN})
    view = DATASETS["turntable"].load(left=20, right=30).left.image
    png = cv2.imencode(".png", np.ascontiguousarray(view.rgb[..., ::-1]))[1].tobytes()
    for name in ("a.png", "b.png"):
        upload(page, "both images", name, png, "image/png")
    page.run()
    assert page.chosen.pair.name == "a.png and b.png" and page.recipe.model == "photo"
    page = Page({"data": OWN})
    for side in ("Left", "Right"):
        upload(page, f"{side} image", f"{side}.png", png, "image/png")
        y = {"Left": 20, "Right": 9000}[side]
        upload(page, f"{side} points", f"{side}.csv", b"x,y\n10,20\n30,40\n50,%d\n" % y, "text/csv")
    page.run()
    assert page.chosen.pair.shape == (3, 3) and page.says("The points of your files are used")
    images = next(panel for panel in page.test.sidebar.expander if panel.label == "Images")
    assert "1 of 3 right points lie outside the image" in images.warning[0].value  # beside the file, in an open panel
    page = Page({"data": OWN})
    for side in ("Left", "Right"):
        upload(page, f"{side} image", f"{side}.png", png, "image/png")
    upload(page, "Left points", "bad.csv", b"x,y\nten,twenty\n", "text/csv")
    page.run()
    assert any("The pair stays" in error.value for error in page.test.error)
    assert page.chosen.pair.left.image is not None


def test_two_images_are_matched_at_once_swapped_turned_and_put_back():
    page = Page({"data": OWN})
    rng = np.random.default_rng(0)
    for name, shape in (("a.png", (80, 120, 3)), ("b.png", (100, 60, 3))):
        png = cv2.imencode(".png", rng.integers(0, 256, shape, dtype=np.uint8))[1].tobytes()
        upload(page, "both images", name, png, "image/png")
    page.run()
    first = page.test.session_state[RUN.name]  # nobody has pressed Start

    def sizes() -> list[tuple[int, int]]:
        return [view.image.size for view in (page.chosen.pair.left, page.chosen.pair.right)]

    def press(label: str) -> None:
        next(button for button in page.test.button if button.label == label).click()
        page.run()

    assert sizes() == [(120, 80), (60, 100)]
    press("Swap")
    assert sizes() == [(60, 100), (120, 80)]
    assert page.test.session_state[RUN.name] is not first and not first.job.snapshot().active
    press("Turn left")
    assert sizes() == [(100, 60), (120, 80)]
    press("Undo")
    press("Undo")
    assert sizes() == [(120, 80), (60, 100)]
    page.test.session_state[RUN.name].job.stop()


def test_uploads_that_are_no_images_or_pairs_are_told_in_a_sentence():
    page = Page({"data": OWN, "model": "C", "method": "adgm1"})
    assert page.says("Match two photographs")
    pair = DATASETS["random"].load(inliers=6, outliers=0)
    recipe = Recipe(OWN, model="B", model_params={"sigma2": 400.0}, method="adgm2", method_options={"growth": 3.0})
    for side in ("Left", "Right"):
        upload(page, f"{side} image", f"{side}.png", b"only words", "image/png")
    page.run()
    assert any("left image" in error.value for error in page.test.error)
    upload(page, "pair zip", "pair.zip", b"PK no zip", "application/zip")
    page.run()
    assert any("zip" in error.value for error in page.test.error)
    upload(page, "pair zip", "pair.zip", save_pair(pair, recipe), "application/zip")
    page.run()
    assert page.recipe == recipe
    assert page.chosen.pair.shape == pair.shape and page.chosen.own


@pytest.mark.parametrize("key", ["Left image", "both images"])
def test_a_file_that_is_no_image_is_refused_at_once_by_its_name(key):
    page = Page({"data": OWN})
    upload(page, key, "letter.png", b"only words", "image/png")
    (said,) = (error.value.replace("\\", "") for error in page.run().test.error)
    assert "letter.png" in said and "JPEG, PNG" in said
    assert not page.says(ONE_MORE)


@pytest.mark.parametrize("key", ["Left image", "both images"])
def test_one_image_alone_asks_for_the_other(key):
    page = Page({"data": OWN})
    assert not page.says(ONE_MORE)
    upload(page, key, "a.png", cv2.imencode(".png", np.zeros((60, 80, 3), np.uint8))[1].tobytes(), "image/png")
    assert page.run().says(ONE_MORE)


def test_a_pairs_name_is_not_read_as_markdown():
    page, pair = Page({"data": OWN}), DATASETS["random"].load(inliers=6, outliers=0)
    saved = save_pair(replace(pair, name="![x](//e.org/)"), Recipe(OWN, model="B", method="adgm1"))
    upload(page, "pair zip", "![x](//e.org/).zip", saved, "application/zip")
    page.run()
    assert "![x]" in page.answers["summary"]  # which the browser shows as text
    assert not any("![x]" in one.value for one in [*page.test.markdown, *page.test.caption, *page.test.error])
