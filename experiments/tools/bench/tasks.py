"""Five tasks of a new visitor, in clicks and seconds: each is done in a real browser as a visitor would do it.

The seconds are from the first click to what was wanted, on a server that has compiled everything.
"""

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import cv2
import numpy as np

from experiments.tools.bench.solver import Reading, reading
from experiments.tools.browser import Visit, chromium, serving
from features.datasets import DATASETS

STUCK = "?data=random&data.inliers=8&data.outliers=4&data.noise=20.0&model=B&method=adgm1&run=1"  # some are wrong


class Visitor:
    """Counts what is clicked, and how long it takes."""

    def __init__(self, page: Visit) -> None:
        self.page, self.clicks, self.drops = page, 0, 0
        self.began = monotonic()

    def click(self, what: Any) -> None:
        if not self.clicks:
            self.began = monotonic()
        self.clicks += 1
        what.click()

    def button(self, name: str) -> None:
        self.click(self.page.main.get_by_role("button", name=name, exact=True))

    def drop(self, files: list[str]) -> None:
        self.drops += 1
        self.page.main.locator('input[type="file"]').set_input_files(files)

    @property
    def seconds(self) -> float:
        return monotonic() - self.began


def first_matching(one: Visitor) -> None:
    one.page.ready()
    one.button("Start")
    one.page.finish()


def own_photographs(one: Visitor) -> None:
    """From the first example to two photographs that are matched."""
    page = one.page
    page.ready()
    portrait = DATASETS["portrait"].load(points=10)
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder, f"{name}.jpg")) for name in ("left", "right")]
        for file, view in zip(files, (portrait.left, portrait.right), strict=True):
            assert view.image is not None
            cv2.imwrite(file, np.ascontiguousarray(view.image.rgb[..., ::-1]))
        one.button("Your photographs")
        page.says("First photograph")
        one.drop(files)
        page.finish()


def another_model(one: Visitor) -> None:
    page = one.page
    page.ready()
    one.click(page.page.get_by_test_id("stExpandSidebarButton"))
    one.click(page.side.get_by_role("combobox", name=re.compile("Model$")))
    one.click(page.page.get_by_role("option", name="Pairwise B", exact=True))
    page.says(re.compile("points · Pairwise B · "))


def a_wrong_match_explained(one: Visitor) -> None:
    page = one.page
    page.finish()
    kinds = page.board("board => board.data.kinds.map((kind) => kind.name)")
    i, j = page.board(
        "(board, kind) => { const line = board.shown.find((one) => one.kind === kind); return [line.i, line.j] }",
        kinds.index("wrong"),
    )
    ends = page.board("(board, [i, j]) => board.endsOf({ i, j })", [i, j])
    frame = page.page.locator("canvas[aria-roledescription]").last
    over = "(board, [x, y]) => { const line = board.lineAt(x, y); return line && [line.i, line.j] }"
    for share in np.linspace(0.02, 0.98, 49):  # somewhere this line is the nearest one
        x, y = ((1 - share) * ends[0][k] + share * ends[1][k] for k in (0, 1))
        if page.board(over, [x, y]) == [i, j]:
            break
    one.began, one.clicks = monotonic(), 1
    frame.click(position={"x": x, "y": y})
    page.says(re.compile(rf"Left {i} → right {j}"))
    one.button("Why? Open in Debug")
    page.page.wait_for_url(re.compile("/debug"))
    page.says(f"Left {i} → right {j}")  # the ledger of this match


def the_picture_taken_away(one: Visitor) -> None:
    page = one.page
    page.finish()
    one.button("Export and share")
    one.clicks += 1
    assert page.download("PNG")


TASKS: dict[str, tuple[str, int, Callable[[Visitor], None]]] = {  # from which address, and with how many clicks
    "a first matching": ("", 1, first_matching),
    "photographs of one's own, matched": ("", 1, own_photographs),
    "another model": ("", 3, another_model),
    "a wrong match explained": (STUCK, 2, a_wrong_match_explained),
    "the picture taken away": (STUCK, 2, the_picture_taken_away),
}


def tasks() -> list[Reading]:
    """All of them, each in a new window."""
    rows = []
    with serving() as server, chromium() as browser:
        warm = Visit(browser, f"{server.url}/{STUCK}")  # so that nobody waits for a compiler
        warm.finish()
        warm.close()
        for name, (query, most, task) in TASKS.items():
            context = browser.new_context(viewport={"width": 1280, "height": 720}, accept_downloads=True)
            one = Visitor(Visit(context, f"{server.url}/{query}"))
            task(one)
            note = f"{one.clicks} clicks" + " and a drop" * one.drops
            rows.append(reading(f"task: {name}", one.seconds, "s", f"at most {most} clicks", note))
            context.close()
    return rows
