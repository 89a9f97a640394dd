"""The Match page in a real Chromium, with the built-in scenes: what a visitor does, and what comes of it."""

import contextlib
import csv
import io
import itertools
import json
import os
import random
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, urlparse

import cv2
import numpy as np
import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from experiments.browser import Server, Visit, serving, wait_until
from features.datasets import DATASETS
from features.exports import open_pair
from features.models import MODELS
from features.pairs import mapped
from features.problem_files import from_pair, normal_form, read_problem, write_problem
from features.recipe import Recipe

pytestmark = pytest.mark.browser
HEARTBEAT = 15.0  # seconds until a run without a page ends; a busy machine's pages tick slowly
Open = Callable[..., Visit]


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    """The app on a machine without the real data sets, whose runs end soon after their page is gone."""
    cache = str(tmp_path_factory.mktemp("cache"))
    with serving(ADGM_DATA_DIR=None, XDG_CACHE_HOME=cache, ADGM_PATIENCE=str(HEARTBEAT)) as running:
        yield running
        written = running.written()
        assert not re.search("Traceback|Error|Exception|WARNING", written), written


@pytest.fixture(scope="module")
def window(browser) -> Iterator[object]:
    """Pages that share a cache, as a visitor's do."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, accept_downloads=True)
    yield context
    context.close()


@pytest.fixture
def visit(window, server) -> Iterator[Open]:
    visits: list[Visit] = []

    def open_page(query: str = "", context=None) -> Visit:
        visits.append(Visit(context or window, f"{server.url}/{query}"))
        return visits[-1]

    yield open_page
    for one in visits:
        one.close()
        assert not one.errors


@pytest.fixture(scope="module")
def finished(window, server) -> Iterator[Visit]:
    """A page whose first click, Start, has been made."""
    page = Visit(window, server.url)
    page.ready()
    page.press("Start")
    page.finish()
    yield page
    page.close()
    assert not page.errors


def points_of(payloads: list[bytes], chart: str) -> list[dict[str, int]]:
    """How many points each curve had in each update of a chart that the browser received."""
    found = []
    for payload in payloads:
        message = ForwardMsg()
        message.ParseFromString(payload)
        spec = message.delta.new_element.echarts_chart.spec
        curves = {series["name"]: len(series["data"]) for series in json.loads(spec)["series"]} if spec else {}
        if chart in curves:
            found.append(curves)
    return found


def download(page: Visit, name: str) -> bytes:
    with page.page.expect_download() as waiting:
        page.press(name)
    return waiting.value.path().read_bytes()


def table(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode())))


def unfold(page: Visit, name: str) -> None:
    """Open what is folded; a page that is being drawn anew can miss the click."""
    summary = page.page.locator("summary", has_text=name)
    box = page.page.locator("details").filter(has=summary)

    def opened() -> bool:
        return box.get_attribute("open") is not None

    while not opened():
        summary.click()
        with contextlib.suppress(TimeoutError):
            page.wait_until(opened, 5)


# ------------------------------------------------------------------ a run that goes on


ENDLESS = "?data=turntable&data.points=30&model=C&method=adgm1&method.tol=1e-300"


def test_a_run_is_watched_paused_stepped_resumed_changed_and_stopped(visit):
    page = visit(ENDLESS)
    page.ready()
    page.choose("Pace", "10 iterations/s")
    page.press("Start")
    page.wait_until(lambda: len(points_of(page.received, "penalty ρ")) > 4)
    counts = points_of(page.received, "penalty ρ")
    for curve in ("residual r", "penalty ρ"):
        assert counts[-1][curve] > counts[0][curve]

    page.press("Pause")
    page.says("Paused")
    held = page.iteration()
    page.press("Step")
    page.wait_until(lambda: page.iteration() == held + 1)
    page.press("Step back")  # what is looked at; the run stays where it is
    slider = page.page.get_by_role("slider", name="Iteration")
    page.wait_until(lambda: slider.get_attribute("aria-valuetext") == str(held))
    assert page.iteration() == held + 1
    page.press("Step")
    page.wait_until(lambda: slider.get_attribute("aria-valuetext") == str(held + 1))
    assert page.iteration() == held + 1
    page.press("Resume")
    page.wait_until(lambda: page.iteration() > held + 1)

    now = page.iteration()
    page.main.get_by_role("button", name="More").click()
    page.choose("Graph", "Delaunay")  # nothing else on the page restarts the run
    page.page.keyboard.press("Escape")
    for key in ("ArrowLeft", "ArrowRight"):
        page.side.get_by_role("slider", name="Left points").press(key)
        page.settled()
    page.choose("Pace", "25/s, then faster")
    button = page.page.get_by_role("button", name=re.compile("^ρ ="))
    rho = button.inner_text()
    button.click()
    page.page.get_by_role("button", name="× 10", exact=True).click()
    page.wait_until(lambda: button.inner_text() != rho)
    page.page.keyboard.press("Escape")
    assert page.iteration() >= now

    page.press("Stop solver")
    assert page.says(re.compile("^Stopped")).inner_text()
    page.finish()
    assert not page.errors


def test_whatever_is_pressed_while_a_run_ticks_nothing_vanishes(visit):
    """Changes of every kind between the ticks (ADGM_HAMMER: for so many runs): the page stands, no script fails."""
    page, rng, factors = visit(ENDLESS), random.Random(0), itertools.cycle(["× 2", "÷ 2"])
    page.ready()
    page.choose("Pace", "10 iterations/s")

    def there_and_back() -> None:
        for key in ("ArrowLeft", "ArrowRight"):
            page.side.get_by_role("slider", name="Left points").press(key)
            page.settled()  # or the second press meets a slider that is being drawn, and another pair stays chosen

    def rho() -> None:
        page.page.get_by_role("button", name=re.compile("^ρ")).click()
        page.page.get_by_role("button", name=next(factors), exact=True).click()
        page.page.keyboard.press("Escape")

    def graph() -> None:
        page.main.get_by_role("button", name="More").click()
        page.page.get_by_role("combobox", name=re.compile("Graph$")).click()
        page.page.get_by_role("option").nth(rng.randrange(4)).click()
        page.page.keyboard.press("Escape")

    def pause_or_resume() -> None:
        page.main.get_by_role("button", name=re.compile("^(Pause|Resume)$")).click()

    actions = [there_and_back, rho, graph, pause_or_resume, pause_or_resume, lambda: page.press("Step")]
    for number in range(1, 1 + int(os.environ.get("ADGM_HAMMER", 2))):
        page.main.get_by_role("button", name=re.compile("^Start")).click()
        page.wait_until(page.main.get_by_role("button", name="Stop solver").is_enabled)
        for _ in range(20):
            rng.choice(actions)()
            page.page.wait_for_timeout(rng.choice([0, 0, 50, 200, 450]))
        pause_or_resume()  # and before that is answered:
        page.press("Stop solver")
        page.finish(number)
        assert not page.errors


def test_a_reload_in_the_middle_of_a_run_ends_its_thread(visit, server):
    wait_until(lambda: server.solvers() == 0, 3 * HEARTBEAT)
    page = visit(ENDLESS)
    page.ready()
    page.press("Start")
    page.wait_until(lambda: page.iteration() >= 2)
    assert server.solvers() == 1
    page.page.reload()
    page.ready()
    wait_until(lambda: server.solvers() == 0, 3 * HEARTBEAT)


# ------------------------------------------------------------------ what came of it


def test_the_first_click_leads_to_matched_lines(finished):
    assert len(finished.lines()) == 30
    assert "30" in finished.page.locator(".legend").inner_text()
    for name, value in (("Accuracy", "100.0%"), ("Matched points", "30 of 30")):
        metric = finished.page.get_by_test_id("stMetric").filter(has_text=name)
        assert value in metric.inner_text()
    finished.says("Both agree")


def test_scrubbing_back_shows_earlier_iterations_and_a_replay_ends_at_the_result(finished):
    slider = finished.page.get_by_role("slider", name="Iteration")
    end = finished.board("board => board.lines.map((line) => line.value)")
    slider.press("Home")
    finished.wait_until(lambda: finished.board("board => board.lines.map((line) => line.value)") != end)
    assert slider.get_attribute("aria-valuetext") == "0"
    finished.press("Play")
    finished.page.get_by_role("button", name="Hold").wait_for()
    finished.page.get_by_role("button", name="Play", exact=True).wait_for()
    assert slider.get_attribute("aria-valuetext") == "polished"
    finished.wait_until(lambda: finished.board("board => board.lines.map((line) => line.value)") == end)


def test_lines_and_matrix_agree_at_every_stop_and_the_paper_does_not_polish(visit):
    page = visit("?data=random&data.inliers=8&data.outliers=4&model=B&method=adgm1&run=1")
    page.choose("Pace", "full speed")
    page.finish()
    made = page.page.locator(".st-key-made")
    assert "rounded" in made.inner_text() and "polished" not in made.inner_text()
    page.page.locator("label", has_text="Polish").click()
    page.says(re.compile("The settings have changed since this run"))
    page.press("Start")
    page.finish(2)
    for stop in ("last iterate", "rounded", "polished"):
        made.get_by_role("button", name=re.compile(f"^{stop}")).click()
        page.wait_until(lambda stop=stop: stop in page.matrix("matrix => matrix.data.title"))
        page.wait_until(lambda: page.board("board => board.lines.length > 0"))
        cells = page.matrix("matrix => matrix.data.cells[0].map((k) => [Math.floor(k / 12), k % 12])")
        lines = page.board("board => board.lines.filter((line) => line.value > 0.2).map((line) => [line.i, line.j])")
        assert all(line in cells for line in lines)
        if stop != "last iterate":
            assert sorted(lines) == sorted(cells)


def test_picture_matrix_and_curves_are_one_instrument(finished):
    """A cell lights its line, a line marks its cell, and the pointer over a curve shows that iteration."""
    i, j = finished.lines()[5]
    sheet = finished.page.locator(".matrix canvas")
    sheet.scroll_into_view_if_needed()
    place = finished.matrix(
        "(matrix, cell) => { const { w, h } = matrix.box, [x, y] = matrix.corner(cell);"
        " return [x + w / 2, y + h / 2]; }",
        [i, j],
    )
    sheet.hover(position={"x": place[0], "y": place[1]})
    finished.wait_until(
        lambda: finished.board("board => board.hover && [board.hover.line.i, board.hover.line.j]") == [i, j]
    )
    sheet.click(position={"x": place[0], "y": place[1]})
    finished.says(re.compile(rf"Left {i} → right {j}"))
    assert finished.board("board => board.memory.pick") == [i, j]
    chart = finished.page.locator(".st-key-energy-chart")
    finished.settled()
    chart.locator("canvas").first.wait_for()
    box = chart.bounding_box()
    chart.hover(position={"x": box["width"] / 2, "y": box["height"] / 2})
    finished.wait_until(lambda: finished.matrix("matrix => matrix.previewed?.iteration > 0"))
    seen = finished.matrix("matrix => matrix.previewed.iteration")
    assert finished.board("board => board.previewed.iteration") == seen
    chart.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
    slider = finished.page.get_by_role("slider", name="Iteration")
    finished.wait_until(lambda: slider.get_attribute("aria-valuetext") == str(seen))
    slider.press("End")
    finished.wait_until(lambda: finished.board("board => board.data.final"))
    finished.page.locator("canvas[aria-roledescription]").press("Escape")
    finished.says("Click a line")


WHERE = """() => {
  const boxes = (selector) => [...document.querySelectorAll(selector)].map((one) => {
    const { x, y, right, bottom } = one.getBoundingClientRect();
    return [x, y, right, bottom].map(Math.round);
  });
  return {
    toolbar: boxes(".st-key-running")[0], status: boxes(".st-key-status")[0],
    residual: boxes(".st-key-penalty-chart")[0], energy: boxes(".st-key-energy-chart")[0],
    matrix: boxes(".st-key-matrix")[0], picture: boxes(".st-key-picture")[0],
  };
}"""
MOVED = """window.moved = 0;
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) if (!one.hadRecentInput) window.moved += one.value;
}).observe({ type: "layout-shift", buffered: false });"""


@pytest.mark.parametrize("width, height", [(1280, 720), (1440, 900), (390, 844)])
def test_everything_of_a_run_is_on_one_screen_and_nothing_moves(browser, server, width, height):
    context = browser.new_context(viewport={"width": width, "height": height})
    page = Visit(context, f"{server.url}/{ENDLESS}")
    page.ready()
    page.wait_until(lambda: page.matrix("matrix => matrix.data.shape[0] > 0"))
    charts = page.page.locator(".st-key-curves canvas")
    page.wait_until(lambda: charts.count() >= 2 and all(box.bounding_box() for box in charts.all()))
    page.settled()
    idle = page.page.evaluate(WHERE)
    page.page.evaluate(MOVED)

    def stands(where: dict[str, list[int]]) -> None:
        for name, (left, top, right, bottom) in where.items():
            assert 0 <= left < right <= width and 0 <= top < bottom <= height, (name, where)
            assert where[name] == pytest.approx(idle[name], abs=2), name

    stands(idle)
    page.press("Start")
    page.wait_until(lambda: page.iteration() >= 5)
    stands(page.page.evaluate(WHERE))
    page.press("Stop solver")
    page.finish()
    stands(page.page.evaluate(WHERE))
    assert page.page.evaluate("window.moved") < 0.1
    assert not page.errors
    context.close()


def test_a_clicked_match_tells_its_terms(finished):
    i, j = finished.lines()[3]
    ends = finished.board("(board, [i, j]) => [board.points[0][i], board.points[1][j]]", [i, j])
    (ax, ay), (bx, by) = (finished.at(side, *end) for side, end in enumerate(ends))
    for share in (0.5, 0.45, 0.55, 0.4, 0.6):  # somewhere this line is the nearest one
        place = ax + share * (bx - ax), ay + share * (by - ay)
        over = finished.board(
            "(board, [x, y]) => { const f = board.canvas.getBoundingClientRect(); const l = "
            "board.lineAt(x - f.left, y - f.top); return l && [l.i, l.j] }",
            place,
        )
        if over == [i, j]:
            break
    assert over == [i, j]
    finished.page.mouse.click(*place)
    finished.says(re.compile(rf"Left {i} → right {j}"))
    finished.page.get_by_test_id("stDataFrame").wait_for()
    finished.wait_until(lambda: finished.board("board => board.data.support.length > 0"))
    finished.page.locator("canvas[aria-roledescription]").press("Escape")
    finished.says("Click a line")


def test_every_export_can_be_read(finished):
    unfold(finished, "Take it away")
    assert cv2.imdecode(np.frombuffer(download(finished, "PNG"), np.uint8), cv2.IMREAD_COLOR).shape[0] > 200
    assert cv2.imdecode(np.frombuffer(download(finished, "Curves (PNG)"), np.uint8), cv2.IMREAD_COLOR).shape[0] > 200
    assert ElementTree.fromstring(download(finished, "SVG")).tag.endswith("svg")
    assert download(finished, "PDF").startswith(b"%PDF")
    matches = table(download(finished, "Matches (CSV)"))
    assert [[int(row["left"]), int(row["right"])] for row in matches] == sorted(finished.lines())
    content = json.loads(download(finished, "Matches (JSON)"))
    setup = Recipe.from_dict(content["recipe"])
    assert [[row["left"], row["right"]] for row in content["matches"]] == sorted(finished.lines())
    history = table(download(finished, "History (CSV)"))
    assert int(history[-1]["iteration"]) == finished.iteration()
    pair = setup.pair()
    for side, points in (("Left", pair.left.points), ("Right", pair.right.points)):
        rows = table(download(finished, f"{side} points (CSV)"))
        assert np.allclose([[float(row["x"]), float(row["y"])] for row in rows], points.xy, atol=0.01)
    with np.load(io.BytesIO(download(finished, "Run (NPZ)")), allow_pickle=False) as arrays:
        assert arrays["pairs"].tolist() == sorted(finished.lines())
    opened = open_pair(download(finished, "Pair (ZIP)"))
    assert opened.pair.shape == pair.shape and opened.recipe == setup


def test_the_link_gives_the_same_matching_elsewhere(finished, visit, browser):
    if not finished.page.get_by_role("tab", name="Link").is_visible():
        unfold(finished, "Take it away")
    finished.page.get_by_role("tab", name="Link").click()
    link = finished.page.get_by_test_id("stCode").filter(has_text="run=1").inner_text().strip()
    assert parse_qs(urlparse(link).query)["data"] == ["turntable"]
    other = visit("?" + urlparse(link).query, browser)
    other.finish()
    assert other.lines() == finished.lines()
    assert other.iteration() == finished.iteration()
    other.page.reload()  # the address alone restores the choice
    other.ready()
    assert other.board("board => board.points") == finished.board("board => board.points")


# ------------------------------------------------------------------ one's own images and points


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


def test_two_uploaded_images_are_detected_matched_saved_and_opened_again(visit, pictures, tmp_path):
    page = visit("?data=own&model=C&method=adgm1")
    page.says("Drop two images")
    inputs = page.side.locator('input[type="file"]')
    inputs.nth(0).set_input_files(pictures[0])
    inputs.nth(1).set_input_files(pictures[2])
    page.says("right image")
    page.says(re.compile("is not an image"))
    inputs.nth(1).set_input_files(pictures[1])
    page.ready()
    page.choose("Pace", "full speed")
    page.press("Start")
    page.finish()
    found = page.lines()
    assert len(found) >= 10
    unfold(page, "Take it away")
    saved = tmp_path / "pair.zip"
    saved.write_bytes(download(page, "Pair (ZIP)"))

    again = visit("?data=own&model=B&method=adgm1")
    again.says("Drop two images")
    again.side.locator('input[type="file"]').last.set_input_files(saved)
    again.ready()
    again.choose("Pace", "full speed")
    again.press("Start")
    again.finish()
    assert again.lines() == found  # with the model and the solver that were saved, too


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
    page.says("Drop two images")
    inputs = page.side.locator('input[type="file"]')
    for at, file in enumerate(photographs[:2]):
        inputs.nth(at).set_input_files(file)
    page.ready()
    page.choose("Pace", "full speed")
    page.press("Start")
    page.finish()
    page.says(re.compile(r"matches obey an? (homography|affine map)"))
    camera = DATASETS["portrait"].load(points=10).homography
    unfold(page, "Take it away")
    rows = table(download(page, "Matches (CSV)"))
    verified = [row for row in rows if row["verified"] == "1"]
    ends = np.array([[float(row[f"{side}_{axis}"]) for axis in "xy"] for row in verified for side in ("left", "right")])
    gaps = np.hypot(*(mapped(camera, ends[0::2]) - ends[1::2]).T)
    assert len(verified) > 50 and (gaps < 4).mean() > 0.9
    assert json.loads(download(page, "Map (JSON)"))["error_px"] < 3

    drawn = page.board("board => board.shown.length")
    slider = page.page.get_by_role("slider", name="Least strength of a line")
    slider.fill("0.95")
    page.wait_until(lambda: 0 < page.board("board => board.shown.length") < drawn)
    assert page.board("board => Math.min(...board.shown.map((line) => line.value)) >= 0.95")
    over = page.page.get_by_alt_text("The left photograph, laid over it")
    over.scroll_into_view_if_needed()
    page.wait_until(lambda: over.evaluate("image => image.naturalWidth > 0"))
    page.page.get_by_role("slider", name=re.compile("From the right photograph")).fill("1")
    assert over.evaluate("image => image.style.opacity") == "1"


def test_photographs_of_two_things_are_told_apart(visit, photographs):
    page = visit("?data=own")
    page.says("Drop two images")
    inputs = page.side.locator('input[type="file"]')
    inputs.nth(0).set_input_files(photographs[0])
    inputs.nth(1).set_input_files(photographs[2])
    page.ready()
    page.choose("Pace", "full speed")
    page.press("Start")
    assert "do not seem to show the same thing" in page.says(re.compile("do not seem to show")).inner_text()


def test_a_problem_file_is_opened_watched_proved_and_written_again(visit, tmp_path):
    pair = DATASETS["random"].load(inliers=6, outliers=2)
    problem = MODELS["B"].build(pair, rows="at_most_one", cols="at_most_one")
    written = write_problem(from_pair(pair, problem, "similarity"), ".dd")
    (tmp_path / "problem.dd").write_bytes(written)
    page = visit("?data=own")
    page.says("Drop two images")
    page.side.locator('input[type="file"]').last.set_input_files(tmp_path / "problem.dd")
    page.says(re.compile("Given costs"))
    page.choose("Pace", "full speed")
    page.press("Start")
    page.finish()
    page.press("How far from optimal?")
    page.says(re.compile("Proved optimal|Gap"))
    searching = page.main.get_by_role("button", name="Stop the search")
    page.wait_until(lambda: searching.count() == 0)  # the page is drawn anew when the search ends
    page.settled()
    unfold(page, "Take it away")
    assert len(table(download(page, "Matches (CSV)"))) == 6
    again = read_problem(download(page, "Problem (DD)"), "problem.dd")
    ours, theirs = normal_form(again.problem), normal_form(read_problem(written, "problem.dd").problem)
    x = np.eye(6, 8).astype(bool)[problem.layout.row, problem.layout.col]
    assert ours.energy(x) == theirs.energy(x)


def test_points_added_dragged_and_deleted_with_the_mouse_are_in_the_file(visit):
    page = visit()
    page.ready()
    page.main.get_by_role("button", name="More").click()
    page.page.get_by_text("Edit points").click()
    page.says("Click to add a point")
    page.page.keyboard.press("Escape")

    def points() -> list[list[float]]:
        page.wait_until(lambda: page.board("board => board.data.revision === board.memory.revision"))
        page.settled()
        rows = table(download(page, "Left points (CSV)"))
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
