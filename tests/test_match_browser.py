"""The Match page in a real Chromium, with the built-in scenes: what a visitor does, and what comes of it."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, urlparse

import cv2
import numpy as np
import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from experiments.driving import Server, Visit, serving, wait_until
from features.datasets import DATASETS
from features.exports import open_pair
from features.setup import Setup

pytestmark = pytest.mark.browser
HEARTBEAT = 6.0  # seconds until a run without a page ends
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
    page.page.locator("summary", has_text=name).click()


# ------------------------------------------------------------------ a run that goes on


ENDLESS = "?data=turntable&data.points=30&model=C&method=adgm1&method.tol=1e-300"
# The milliseconds from a click until a button is gone, as the browser sees it.
TIMED = """(name) => { window.answered = new Promise((tell) => document.addEventListener("click", () => {
  const began = performance.now();
  const there = () => [...document.querySelectorAll("button")].some((button) => button.innerText.includes(name));
  const look = () => there() ? setTimeout(look, 10) : tell(performance.now() - began);
  look();
}, { once: true, capture: true })); }"""


def test_a_run_is_watched_paused_stepped_resumed_changed_and_stopped(visit):
    page = visit(ENDLESS)
    try:
        end = watch_and_steer(page)
    except Exception:
        # Streamlit's page sometimes drops elements when a ticking fragment gives way to the whole page (its issue
        # 16708, open). Only then, and only once, again.
        if not any("Bad delta path" in error for error in page.errors):
            raise
        page.errors.clear()
        end = watch_and_steer(visit(ENDLESS))
    assert end.startswith("Stopped")


def watch_and_steer(page: Visit) -> str:
    """A whole run under somebody's hands; the words it ends with."""
    page.ready()
    page.choose("Pace", "10 iterations/s")
    page.press("Start")
    page.wait_until(lambda: len(points_of(page.received, "penalty ρ")) > 4)
    counts = points_of(page.received, "penalty ρ")
    for curve in ("residual r", "penalty ρ"):
        assert counts[-1][curve] > counts[0][curve]

    plain = timed(page, "Pause")
    page.says("Paused")
    held = page.iteration()
    updated_twice(page)
    assert page.iteration() == held
    page.press("Step")
    page.wait_until(lambda: page.iteration() == held + 1)
    updated_twice(page)
    assert page.iteration() == held + 1
    page.press("Resume")
    page.wait_until(lambda: page.iteration() > held + 1)

    now = page.iteration()
    page.choose("Graph", "Delaunay")  # nothing else on the page restarts the run
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

    # Within a second, beyond what any click takes on this machine, however busy it is.
    assert timed(page, "Stop solver") < 1000 + plain
    return str(page.says(re.compile("^Stopped")).inner_text())


def timed(page: Visit, name: str) -> float:
    """Press a button that goes away when it is answered; the milliseconds until then."""
    page.page.evaluate(TIMED, name)
    page.press(name)
    answered: float = page.page.evaluate("window.answered")
    return answered


def updated_twice(page: Visit) -> None:
    """Wait for two more updates of the curves."""
    before = len(points_of(page.received, "penalty ρ"))
    page.wait_until(lambda: len(points_of(page.received, "penalty ρ")) >= before + 2)


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
    assert slider.get_attribute("aria-valuetext") == "result"
    finished.wait_until(lambda: finished.board("board => board.lines.map((line) => line.value)") == end)


def test_a_clicked_match_tells_its_terms(finished):
    i, j = finished.lines()[3]
    ends = finished.board("(board, [i, j]) => [board.points[0][i], board.points[1][j]]", [i, j])
    (ax, ay), (bx, by) = (finished.at(side, *end) for side, end in enumerate(ends))
    for share in (0.5, 0.45, 0.55, 0.4, 0.6):  # somewhere this line is the nearest one
        place = ax + share * (bx - ax), ay + share * (by - ay)
        over = finished.board("(board, [x, y]) => { const f = board.canvas.getBoundingClientRect(); const l = "
                              "board.lineAt(x - f.left, y - f.top); return l && [l.i, l.j] }", place)  # fmt: skip
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
    setup = Setup.from_dict(content["setup"])
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
    assert opened.pair.shape == pair.shape and opened.setup == setup


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


def test_points_added_dragged_and_deleted_with_the_mouse_are_in_the_file(visit):
    page = visit()
    page.ready()
    page.main.get_by_text("Edit points").click()
    page.says("Click to add a point")

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
