"""Crop and mask in a real Chromium: regions are dragged, points follow, undo takes both back."""

import re
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

pytestmark = [pytest.mark.browser, pytest.mark.long]
SCENE = "?data=turntable&data.left=20&data.right=30&points=sift&points.left=40&points.right=40&model=B&method=adgm1"
POINTS = "(board, side) => board.points[side].map((point) => point.slice(0, 2))"


def drag(page, side: int, start: tuple[float, float], end: tuple[float, float]) -> None:
    mouse = page.page.mouse
    mouse.move(*page.at(side, *start))
    mouse.down()
    mouse.move(*page.at(side, *((a + b) / 2 for a, b in zip(start, end, strict=True))))
    mouse.move(*page.at(side, *end))
    mouse.up()


def test_a_region_is_kept_another_left_out_and_undo_takes_both_back(visit):
    page = visit(SCENE)
    page.ready()
    everywhere = page.board(POINTS, 0)
    page.main.get_by_role("button", name="More").click()
    page.page.get_by_role("button", name="Crop and mask").click()
    page.says("Drag a rectangle")
    page.shut()
    width, height = page.board("board => board.boxes[0].slice(2)")
    right = page.board(POINTS, 1)

    def points() -> np.ndarray:
        return np.array(page.board(POINTS, 0)).reshape(-1, 2)

    drag(page, 0, (0.25 * width, 0.2 * height), (0.75 * width, 0.9 * height))
    low, high = np.array([0.25 * width, 0.2 * height]) - 2, np.array([0.75 * width, 0.9 * height]) + 2
    page.wait_until(lambda: len(points()) and ((points() >= low) & (points() <= high)).all())
    assert page.board(POINTS, 1) == right  # the other picture has regions of its own
    kept = points().tolist()
    page.press("Drag a rectangle: points are not looked for in it")
    drag(page, 0, (0.4 * width, 0.4 * height), (0.6 * width, 0.6 * height))
    page.wait_until(lambda: "drop" in page.page.url)
    words = parse_qs(urlsplit(page.page.url).query)["points.mask_left"][0]
    assert re.fullmatch(r"keep( \d+){4}, drop( \d+){4}", words)
    page.wait_until(lambda: not np.all(np.abs(points() / (width, height) - 0.5) < 0.09, axis=1).any())
    page.press("Undo (Ctrl+Z)")
    page.wait_until(lambda: page.board(POINTS, 0) == kept)
    page.press("Remove all regions")
    page.wait_until(lambda: page.board(POINTS, 0) == everywhere)
    page.press("Undo (Ctrl+Z)")
    page.wait_until(lambda: page.board(POINTS, 0) == kept)
    page.press("Back to the pictures; with other regions they are matched again")
    page.wait_until(lambda: page.board("board => board.data.mode") == "view")
    page.choose("Pace", "full speed")
    page.press("Start")
    page.finish()
    assert "mask_left" in page.download("Matches (JSON)").decode()  # the recipe stands there
    page.page.get_by_role("tab", name="Python").click()
    page.says(re.compile("'mask_left': 'keep "))
