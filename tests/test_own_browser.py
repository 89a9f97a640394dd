"""One's own images, points and problems in a real Chromium: dropped in, matched, edited, saved and opened again."""

import base64
import csv
import io
import json
import re
from itertools import permutations
from pathlib import Path

import cv2
import numpy as np
import pytest

from experiments.tools.browser import Visit
from features.datasets import DATASETS
from features.files.problem_files import from_pair, normal_form, read_problem, write_problem
from features.models import MODELS
from features.pairs import mapped

pytestmark = pytest.mark.browser


def table(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode())))


def drop(page: Visit, at: int, file: str) -> None:
    """A file into one of the boxes of Settings. Its name stands there at once; the page asks the server for a drawing
    when it is uploaded, and has taken it in when that is done."""
    page.settings()
    asked = page.talk.count("asked")
    page.side.locator('input[type="file"]').nth(at).set_input_files(file)
    page.side.get_by_text(Path(file).name).first.wait_for()
    page.wait_until(lambda: page.talk.count("asked") > asked)
    page.settled()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> list[str]:
    """Two views of the turntable as PNG files, and a text that calls itself one."""
    folder = tmp_path_factory.mktemp("pictures")
    pair = DATASETS["turntable"].load(left=20, right=30)
    files = []
    for name, view in (("left", pair.left), ("right", pair.right)):
        files.append(str(folder / f"{name}.png"))
        cv2.imwrite(files[-1], np.ascontiguousarray(view.image.rgb[..., ::-1]))
    (folder / "text.png").write_text("no image, but words", encoding="utf-8")
    return [*files, str(folder / "text.png")]


@pytest.mark.long
def test_two_uploaded_images_are_detected_matched_saved_and_opened_again(visit, pictures, tmp_path):
    page = visit("?data=own&model=C&method=adgm1")
    page.says("Match two photographs of your own")
    drop(page, 0, pictures[0])
    drop(page, 1, pictures[2])
    page.says("right image")
    page.says(re.compile("is not an image"))
    page.choose("Pace", "full speed")
    drop(page, 1, pictures[1])
    page.finish()  # nobody has to press Start
    found = page.lines()
    assert len(found) >= 10
    saved = tmp_path / "pair.zip"
    saved.write_bytes(page.download("Pair (ZIP)"))

    again = visit("?data=own&model=B&method=adgm1")
    again.says("Match two photographs of your own")
    again.side.locator('input[type="file"]').last.set_input_files(saved)
    again.ready()
    again.choose("Pace", "full speed")
    again.press("Start")
    again.finish()
    assert again.lines() == found  # with the model and the solver that were saved, too


@pytest.mark.long
def test_an_exercise_about_ones_own_pair_opens_in_a_second_browser(visit, browser, pictures):
    lecturer = visit("?data=own&model=C&method=adgm1")
    lecturer.says("Match two photographs of your own")
    for at in (0, 1):
        drop(lecturer, at, pictures[at])
    lecturer.finish()
    points = lecturer.board("board => board.points[0].length")
    lecturer.share()
    lecturer.page.get_by_role("button", name="Teach this").click()
    lecturer.page.get_by_role("textbox", name="Question").fill("How many <b>towers</b>?")
    lecturer.page.get_by_role("textbox", name=re.compile("^Expected answer")).fill("Two of them")
    lecturer.page.keyboard.press("Tab")
    lecturer.settled()
    lecturer.page.get_by_role("button", name="Make the link").click()
    link = str(lecturer.says(re.compile(r"exercise=[A-Z0-9]{8}$")).inner_text()).strip()
    assert "Two" not in link
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    try:
        student = visit(f"?{link.partition('?')[2]}", context)
        student.ready()
        student.says("How many <b>towers</b>?")
        assert student.board("board => board.points[0].length") == points
        box = student.main.get_by_role("textbox", name="Your answer")
        for answer, said in (
            ("Three", re.compile("Not what was expected")),
            ("two  of them", "That is the expected answer."),
        ):
            box.fill(answer)
            box.press("Enter")
            student.says(said)
        assert "Two of them" not in student.page.content()
    finally:
        context.close()


DROP = """(files) => {
  const brought = new DataTransfer();
  for (const [name, data] of files) {
    const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
    brought.items.add(new File([bytes], name, { type: "image/jpeg" }));
  }
  const target = document.querySelector('[data-testid="stMain"]');
  target.dispatchEvent(new DragEvent("drop", { dataTransfer: brought, bubbles: true, cancelable: true }));
}"""


# Of the sure matches: where both ends are on the screen, and the colours that the stage has at the right one.
ALONG_LINES = """board => board.wanted.filter((line) => line.value >= 0.95).map((line) => {
  const [[x, y], [u, v]] = board.endsOf(line), ratio = window.devicePixelRatio || 1;
  const near = board.context.getImageData((u - 12) * ratio, (v - 12) * ratio, 24 * ratio, 24 * ratio).data;
  const mean = (k) => near.filter((_, at) => at % 4 === k).reduce((sum, one) => sum + one, 0) / (near.length / 4);
  return [x, y, u, v, mean(0), mean(1), mean(2)];
})"""


@pytest.fixture(scope="module")
def photographs(tmp_path_factory) -> list[str]:
    """Two photographs of one thing, and one of another."""
    folder = tmp_path_factory.mktemp("photographs")
    portrait = DATASETS["portrait"].load(points=10)
    other = DATASETS["turntable"].load(left=20, right=30)
    files = []
    for name, image in (("left", portrait.left.image), ("right", portrait.right.image), ("other", other.left.image)):
        files.append(str(folder / f"{name}.jpg"))
        cv2.imwrite(files[-1], np.ascontiguousarray(image.rgb[..., ::-1]))
    return files


def test_two_photographs_are_matched_verified_sifted_and_laid_over_each_other(visit, photographs):
    page = visit("?data=own")
    page.says("Match two photographs of your own")
    page.choose("Pace", "full speed")
    files = [[Path(file).name, base64.b64encode(Path(file).read_bytes()).decode()] for file in photographs[:2]]
    page.page.evaluate(DROP, files)
    page.finish()  # without a click
    page.says(re.compile(r"matches obey an? (homography|affine map)"))
    camera = DATASETS["portrait"].load(points=10).homography
    rows = table(page.download("Matches (CSV)"))
    verified = [row for row in rows if row["verified"] == "1"]
    ends = np.array([[float(row[f"{side}_{axis}"]) for axis in "xy"] for row in verified for side in ("left", "right")])
    gaps = np.hypot(*(mapped(camera, ends[0::2]) - ends[1::2]).T)
    assert len(verified) > 50 and (gaps < 4).mean() > 0.9
    assert json.loads(page.download("Map (JSON)"))["error_px"] < 3

    drawn = page.board("board => board.wanted.length")
    slider = page.page.get_by_role("slider", name="Least strength of a line")
    slider.fill("0.95")
    page.wait_until(lambda: 0 < page.board("board => board.wanted.length") < drawn)
    assert page.board("board => Math.min(...board.shown.map((line) => line.value)) >= 0.95")
    page.press("Overlay")
    fade = page.page.get_by_role("slider", name=re.compile("From the right picture"))
    seen = {}
    for share in ("0", "1"):
        fade.fill(share)
        page.wait_until(lambda share=share: page.board("board => board.memory.fade") == float(share))
        page.page.wait_for_timeout(100)  # the next frame of the browser
        seen[share] = np.array(page.board(ALONG_LINES))
    gaps, colours = np.hypot(*(seen["0"][:, :2] - seen["0"][:, 2:4]).T), np.abs(seen["0"][:, 4:] - seen["1"][:, 4:])
    assert np.median(gaps) < 3  # partners lie on each other …
    assert 0 < np.median(colours) < 25  # … and so do the pictures, one of which hides the other


@pytest.mark.long
def test_photographs_of_two_things_are_told_apart(visit, photographs):
    page = visit("?data=own")
    page.says("Match two photographs of your own")
    page.choose("Pace", "full speed")
    chooser = page.page.locator('[class*="st-key-both-images"] input[type="file"]')
    chooser.set_input_files(photographs[0])  # one after the other
    page.says("First photograph is here")
    chooser.set_input_files(photographs[2])
    assert "do not seem to show the same thing" in page.says(re.compile("do not seem to show")).inner_text()


@pytest.mark.long
def test_two_pictures_are_taken_with_the_camera_and_others_follow(visit, browser):
    page = visit("?data=own", browser)
    page.says("Match two photographs of your own")
    page.press("Camera")
    for which in ("first", "second"):
        page.says(f"The {which} picture")
        page.wait_until(lambda: page.page.locator("video").evaluate("video => video.videoWidth > 0 && !video.paused"))
        page.settled()
        page.page.get_by_role("button", name="Take Photo").click()
    page.says(re.compile("^Photographs|points · Photographs"))
    page.wait_until(lambda: page.board("board => board.images.every(image => image?.pixels)"))
    sides = page.board("board => board.images.map(image => [image.pixels.width, image.pixels.height])")
    assert sides[0] == sides[1]
    page.main.get_by_role("button", name="Your photographs").click()  # once more: other photographs
    assert page.says("First photograph").is_visible()


def opened(page: Visit, file: Path) -> Visit:
    """A problem file on the page, matched."""
    page.says("Match two photographs of your own")
    page.side.locator('input[type="file"]').last.set_input_files(file)
    page.says(re.compile("Given costs"))
    page.choose("Pace", "full speed")
    page.press("Start")
    page.finish()
    return page


@pytest.mark.long
def test_a_problem_file_is_opened_watched_proved_and_written_again(visit, tmp_path):
    pair = DATASETS["random"].load(inliers=6, outliers=2)
    problem = MODELS["B"].build(pair, rows="at_most_one", cols="at_most_one")
    written = write_problem(from_pair(pair, problem, "similarity"), ".dd")
    (tmp_path / "problem.dd").write_bytes(written)
    page = opened(visit("?data=own"), tmp_path / "problem.dd")
    page.press("How far from optimal?")
    page.says(re.compile("Proved optimal|Gap"))
    page.main.get_by_role("button", name="Stop the search").wait_for(state="hidden")
    page.settled()
    assert len(table(page.download("Matches (CSV)"))) == 6
    again = read_problem(page.download("Problem (DD)"), "problem.dd")
    ours, theirs = normal_form(again.problem), normal_form(read_problem(written, "problem.dd").problem)
    x = np.eye(6, 8).astype(bool)[problem.layout.row, problem.layout.col]
    assert ours.energy(x) == theirs.energy(x)


@pytest.mark.long
def test_a_qaplib_file_is_opened_and_the_best_placement_found(visit, tmp_path):
    places = np.array([(x, y) for y in range(2) for x in range(3)])  # distances on a grid, as in the nug family
    distances = np.abs(places[:, None] - places).sum(2)
    flows = np.triu(np.random.default_rng(0).integers(0, 9, (6, 6)), 1)
    flows += flows.T
    rows = ["6", *(" ".join(map(str, row)) for matrix in (distances, flows) for row in matrix)]
    (tmp_path / "grid6.dat").write_text("\n".join(rows), encoding="ascii")
    page = opened(visit("?data=own"), tmp_path / "grid6.dat")
    placed = dict(page.lines())
    cost = sum(distances[i, j] * flows[placed[i], placed[j]] for i in range(6) for j in range(6))
    every = np.array(list(permutations(range(6))))
    assert cost == (distances * flows[every[:, :, None], every[:, None, :]]).sum((1, 2)).min()


@pytest.mark.long
def test_an_npz_file_brings_its_images_and_points(visit, tmp_path):
    pair = DATASETS["turntable"].load(left=20, right=30, points=5)
    left, right = pair.left.points.xy, pair.right.points.xy
    truth = pair.partners
    unary = -np.equal.outer(truth, np.arange(len(right))).astype(float)  # what a good matcher would say
    images = {"image_left": pair.left.image.rgb, "image_right": pair.right.image.rgb}
    np.savez(tmp_path / "mine.npz", unary=unary, points_left=left, points_right=right, truth=truth, **images)
    page = opened(visit("?data=own"), tmp_path / "mine.npz")
    assert page.board("board => board.images.map(image => image.pixels.naturalWidth || image.pixels.width)") == [
        one.shape[1] for one in images.values()
    ]
    assert sorted(map(tuple, page.lines())) == [(i, j) for i, j in enumerate(truth) if j >= 0]


@pytest.mark.long
def test_points_added_dragged_and_deleted_with_the_mouse_are_in_the_file(visit):
    page = visit()
    page.ready()
    page.main.get_by_role("button", name="More").click()
    page.page.get_by_text("Edit points").click()
    page.says("Click to add a point")
    page.shut()

    def points() -> list[list[float]]:
        page.wait_until(lambda: page.board("board => board.data.revision === board.memory.revision"))
        page.settled()
        rows = table(page.download("Left points (CSV)"))
        return [[float(row["x"]), float(row["y"])] for row in rows]

    mouse, before = page.page.mouse, points()
    mouse.click(*page.at(0, 40, 40))
    page.says("Left points (CSV)")
    page.wait_until(lambda: len(points()) == len(before) + 1)
    assert np.allclose(points()[-1], [40, 40], atol=1)
    mouse.move(*page.at(0, *points()[-1]))
    mouse.down()
    mouse.move(*page.at(0, 60, 50), steps=4)
    mouse.move(*page.at(0, 80, 60), steps=4)
    mouse.up()
    page.wait_until(lambda: np.allclose(points()[-1], [80, 60], atol=1))
    mouse.click(*page.at(0, *points()[-1]), button="right")
    page.wait_until(lambda: len(points()) == len(before))
    assert np.allclose(points(), before, atol=0.01)  # the canvas rounds to hundredths of a pixel
