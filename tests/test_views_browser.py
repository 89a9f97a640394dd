"""The Views page in a real Chromium: tracks are found, followed, broken by hand, exported and opened on Match."""

import csv
import io
import json
import re
import zipfile

import cv2
import pytest

from experiments.tools.browser import Visit
from features.datasets import turntable

pytestmark = pytest.mark.browser
SMALL = "views?views=turntable&views.count=3&views.points=14"


def ready(page: Visit) -> None:
    page.main.get_by_role("button", name="Start", exact=True).wait_for()
    page.wait_until(
        lambda: board(page, "board => board.views.length && board.views.every(view => !view.src || view.pixels)")
    )


def board(page: Visit, script: str) -> object:
    return page.page.locator(".views-canvas").last.evaluate(f"root => root.board && ({script})(root.board)")


def done(page: Visit, words: str = "of the true matches are found") -> None:
    page.says(re.compile(words))
    page.settled()


def click_point(page: Visit, view: int, point: int) -> None:
    x, y = board(page, f"board => board.place({view}, {point})")
    page.page.locator(".views-canvas canvas").click(position={"x": x, "y": y})


def test_tracks_are_found_followed_broken_by_hand_exported_and_opened_on_match(visit):
    page = visit(SMALL)
    ready(page)
    page.press("Start")
    done(page)
    rows = list(csv.DictReader(io.StringIO(page.download("Tracks (CSV)").decode())))
    page.shut()
    first = next(row for row in rows if row["view"] == "0" and row["length"] == "3")
    click_point(page, 0, int(first["point"]))
    page.says(re.compile(f"Track {first['track']} passes|Track \\d+"))
    lit = board(page, "board => board.data.lines.length")
    assert lit == 3  # from view to view, and back

    page.press("Forbid it")
    page.says(re.compile("1 match forbidden"))
    page.press("Undo the last one")
    page.wait_until(lambda: not page.page.get_by_text(re.compile("1 match forbidden")).count())

    page.main.get_by_role("button", name=re.compile(r"^Views \d and \d on Match$")).click()
    page.page.get_by_role("button", name="Start", exact=True).wait_for()
    page.finish()
    assert page.lines()


@pytest.mark.long
def test_six_images_in_a_zip_file_become_tracks_in_colmaps_text_format(visit, tmp_path):
    page = visit("views?views=own")
    packed = tmp_path / "house.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for k, angle in enumerate((20, 28, 36, 44, 52, 60)):
            archive.writestr(f"view{k}.png", cv2.imencode(".png", turntable.picture(angle).rgb[..., ::-1])[1].tobytes())
    page.page.locator('input[type="file"]').first.set_input_files(str(packed))
    done(page, r"\d+ tracks, \d+ of them through all 6 views")
    with zipfile.ZipFile(io.BytesIO(page.download("COLMAP, text (ZIP)"))) as archive:
        names = archive.namelist()
        assert sum(name.endswith(".txt") for name in names) >= 7  # keypoints of six images, and the matches
        matches = next(archive.read(name).decode() for name in names if "match" in name)
    assert len(re.findall(r"view\d\.png view\d\.png", matches)) == 15
    tracks = json.loads(page.download("Tracks (JSON)"))
    assert len(tracks["views"]) == 6 and {row["view"] for row in tracks["tracks"]} == set(range(6))


@pytest.mark.long
def test_sixteen_views_send_little_with_every_update(visit):
    page = visit("views?views=turntable&views.count=16&views.first=10&views.last=80")
    ready(page)
    before = len(page.received)
    page.press("Start")
    done(page)
    assert max(len(message) for message in page.received[before:]) < 200_000


@pytest.mark.long
def test_views_on_a_phone_fit_and_answer_a_touch(visit, browser):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = visit(SMALL, context)
    ready(page)
    page.press("Start")
    done(page)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 390
    x, y = board(page, "board => board.place(0, 3)")
    page.page.locator(".views-canvas canvas").tap(position={"x": x, "y": y})
    page.says(re.compile(r"Track \d+ passes"))
