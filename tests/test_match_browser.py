"""The Match page in a real Chromium, with the built-in scenes: what a visitor does, and what comes of it."""

import base64
import csv
import io
import itertools
import json
import os
import random
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from functools import partial
from urllib.parse import parse_qs, urlparse

import cv2
import numpy as np
import pytest
from PIL import Image
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from experiments.tools.browser import PATIENCE, Visit, wait_until
from features.files.exports import open_pair
from features.plots.animation import HOLD, SECOND
from features.recipe import Recipe

pytestmark = pytest.mark.browser
Open = Callable[..., Visit]


@pytest.fixture(scope="module")
def finished(window, server) -> Iterator[Visit]:
    """A page whose first click, Start, has been made."""
    page = Visit(window, server.url)
    page.ready()
    page.settings(shown=False)  # a browser remembers that another page had them open
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


def table(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode())))


# ------------------------------------------------------------------ a run that goes on


ENDLESS = "?data=turntable&data.points=30&model=C&method=adgm1&method.tol=1e-300"


def one_point_fewer_and_back(page: Visit) -> None:
    """The slider tells after a moment's rest, and the page answers with another address: only then the other way."""
    page.settings()
    for key, points in (("ArrowLeft", 29), ("ArrowRight", 30)):
        page.side.get_by_role("slider", name="Left points").press(key)
        page.wait_until(lambda points=points: f"data.points={points}" in page.page.url)
        page.settled()


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
    page.wait_until(lambda: page.status().startswith("Paused"))
    held = page.iteration()
    page.press("Step")
    slider = page.page.get_by_role("slider", name="Iteration")
    page.wait_until(lambda: held < page.iteration() == int(slider.get_attribute("aria-valuetext") or -1))
    assert page.status().startswith("Paused")
    held = page.iteration() - 1
    page.press("Step back")  # what is looked at; the run stays where it is
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
    page.shut()
    one_point_fewer_and_back(page)
    page.choose("Pace", "25/s, then faster")
    button = page.page.get_by_role("button", name=re.compile("^ρ ="))
    rho = button.inner_text()
    button.click()
    page.page.get_by_role("button", name="× 10", exact=True).click()
    page.wait_until(lambda: button.inner_text() != rho)
    page.shut()
    assert page.iteration() >= now

    page.press("Stop solver")
    assert page.says(re.compile("^Stopped")).inner_text()
    page.finish()
    assert not page.errors


# A page that is busy while its tick comes due, and clicked then: what follows the click waits behind the tick.
CLICK_LATE = """([name, busy]) => {
  const button = [...document.querySelectorAll("button")].find((one) => one.innerText.trim().endsWith(name));
  setTimeout(() => button.click());
  for (const end = performance.now() + busy; performance.now() < end; );
}"""


# The one button that is shown in the place of Pause and Resume, whichever that is when it is pressed.
CLICK_SHOWN = """() => {
  const shown = [...document.querySelectorAll(".st-key-pause button, .st-key-resume button")]
    .find((one) => one.offsetParent && !one.disabled);
  shown?.click();
  return Boolean(shown);
}"""


@pytest.mark.long
def test_a_click_that_meets_a_tick_is_heard_once(visit):
    page = visit(ENDLESS)
    page.ready()
    page.choose("Pace", "1 iteration/s")  # so that every iteration is stored
    page.press("Start")
    page.wait_until(lambda: page.iteration() >= 3)
    page.page.evaluate(CLICK_LATE, ["Step back", 1500])
    page.wait_until(lambda: page.status().startswith("Paused"))
    slider = page.page.get_by_role("slider", name="Iteration")
    page.wait_until(lambda: slider.get_attribute("aria-valuetext") == str(page.iteration() - 1))
    page.press("Step back")
    page.wait_until(lambda: slider.get_attribute("aria-valuetext") != str(page.iteration() - 1))
    page.settled()
    shown = slider.get_attribute("aria-valuetext")
    assert shown == str(page.iteration() - 2)  # a second hearing of the first click would show one iteration less


@pytest.mark.long
def test_whatever_is_pressed_while_a_run_ticks_nothing_vanishes(visit):
    """Changes of every kind between the ticks (ADGM_HAMMER: for so many runs): the page stands, no script fails."""
    page, rng, factors = visit(ENDLESS), random.Random(0), itertools.cycle(["× 2", "÷ 2"])
    page.ready()
    page.choose("Pace", "10 iterations/s")

    def rho() -> None:
        page.page.get_by_role("button", name=re.compile("^ρ")).click()
        page.page.get_by_role("button", name=next(factors), exact=True).click()
        page.shut()

    def graph() -> None:
        page.main.get_by_role("button", name="More").click()
        page.page.get_by_role("combobox", name=re.compile("Graph$")).click()
        page.page.get_by_role("option").nth(rng.randrange(4)).click()
        page.shut()

    def pause_or_resume() -> None:
        page.wait_until(lambda: page.page.evaluate(CLICK_SHOWN))

    points, step = partial(one_point_fewer_and_back, page), partial(page.press, "Step")
    actions = [points, rho, graph, pause_or_resume, pause_or_resume, step]
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


@pytest.mark.long
def test_a_reload_shows_the_run_again_and_a_closed_page_ends_its_thread(visit, server):
    wait_until(lambda: server.solvers() == 0, PATIENCE)
    page = visit(ENDLESS)
    page.ready()
    page.press("Start")
    page.wait_until(lambda: page.iteration() >= 2)
    assert server.solvers() == 1
    before = page.iteration()
    page.page.reload()
    page.says(re.compile(r"· iteration [\d,]+ ·.*· run 1$"))  # it goes on, unless the browser took too long
    assert page.iteration() >= before
    page.close()
    wait_until(lambda: server.solvers() == 0, PATIENCE)


@pytest.mark.long
def test_back_gives_back_the_pair_before_and_its_run(visit):
    page = visit("?data=random&data.inliers=8&model=B&method=adgm1&run=1")
    page.finish()
    page.press("Toy house")
    page.says(re.compile("^Turntable.* points · "))
    page.wait_until(lambda: "data=turntable" in page.page.url)
    page.page.go_back()
    page.says(re.compile("^Random points.* points · "))
    page.says(re.compile("· run 1$"))
    assert "data=random" in page.page.url
    page.page.go_forward()
    page.says(re.compile("^Turntable.* points · "))


# ------------------------------------------------------------------ what came of it


def test_the_first_click_leads_to_matched_lines(finished):
    assert len(finished.lines()) == 30
    assert "30" in finished.page.locator(".legend").inner_text()
    finished.says("30 of 30 points are matched to their true partner.")
    finished.says("Both agree")
    polished = finished.main.get_by_role("button", name=re.compile("^Polished.*100 %"))
    assert polished.get_attribute("aria-pressed") == "true"


@pytest.mark.long
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


@pytest.mark.long
def test_lines_and_matrix_agree_at_every_stop_and_the_paper_does_not_polish(visit):
    page = visit("?data=random&data.inliers=8&data.outliers=4&model=B&method=adgm1&run=1")
    page.choose("Pace", "full speed")
    page.finish()
    made = page.page.locator(".answers .table")
    assert "Rounded" in made.inner_text() and "Polished" not in made.inner_text()
    page.settings()
    page.unfold("Solver")
    page.side.locator("label", has_text="Polish").click()
    page.says(re.compile("The settings have changed since this run"))
    page.press("Start")
    page.finish(2)
    for row, stop in (("Soft", "last iterate"), ("Rounded", "rounded"), ("Polished", "polished")):
        made.get_by_role("button", name=re.compile(f"^{row}")).click()
        page.wait_until(lambda stop=stop: stop in page.matrix("matrix => matrix.data.title"))
        page.wait_until(lambda: page.board("board => board.lines.length > 0"))
        cells = page.matrix("matrix => matrix.data.cells[0].map((k) => [Math.floor(k / 12), k % 12])")
        lines = page.board("board => board.lines.filter((line) => line.value > 0.2).map((line) => [line.i, line.j])")
        assert all(line in cells for line in lines)
        if stop != "last iterate":
            assert sorted(lines) == sorted(cells)


@pytest.mark.long
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
    finished.says("Those that fit worst")


WHERE = """() => {
  const boxes = (selector) => [...document.querySelectorAll(selector)].map((one) => {
    const { x, y, right, bottom } = one.getBoundingClientRect();
    return [x, y, right, bottom].map(Math.round);
  });
  return {
    toolbar: boxes(".st-key-running")[0], lead: boxes(".lead")[0], results: boxes(".st-key-results")[0],
    residual: boxes(".st-key-penalty-chart")[0], energy: boxes(".st-key-energy-chart")[0],
    matrix: boxes(".st-key-matrix")[0], picture: boxes(".st-key-picture")[0],
  };
}"""
MOVED = """window.moved = 0;
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) if (!one.hadRecentInput) window.moved += one.value;
}).observe({ type: "layout-shift", buffered: false });"""


@pytest.mark.parametrize(
    "width, height",
    [(1280, 720), *(pytest.param(*size, marks=pytest.mark.long) for size in ((1920, 1080), (390, 844)))],
)
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
            if width < 640 and name not in ("toolbar", "lead", "picture"):
                continue  # a phone scrolls to what can be read
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
    finished.says("Those that fit worst")


VIDEOS = "Video (WebM)", "Video (MP4)"
PLAYED = """data => new Promise((done, failed) => {
  const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0)), video = document.createElement("video");
  video.onloadeddata = () => done([video.videoWidth, video.videoHeight, video.duration]);
  video.onerror = () => failed(video.error.message);
  video.src = URL.createObjectURL(new Blob([bytes]));
})"""


@pytest.mark.long
def test_every_export_can_be_read(finished):
    assert cv2.imdecode(np.frombuffer(finished.download("PNG"), np.uint8), cv2.IMREAD_COLOR).shape[0] > 200
    assert cv2.imdecode(np.frombuffer(finished.download("Curves (PNG)"), np.uint8), cv2.IMREAD_COLOR).shape[0] > 200
    assert ElementTree.fromstring(finished.download("SVG")).tag.endswith("svg")
    assert finished.download("PDF").startswith(b"%PDF")
    moving = Image.open(io.BytesIO(finished.download("Animation (GIF)")))
    assert moving.format == "GIF" and moving.n_frames > 20
    shown = [finished.page.evaluate(PLAYED, base64.b64encode(finished.download(name)).decode()) for name in VIDEOS]
    for width, height, seconds in shown:  # the browser itself opens them
        assert (width, height) == tuple(side // 2 * 2 for side in (shown[0][0], shown[0][1]))
        assert seconds == pytest.approx((moving.n_frames + HOLD - 1) / SECOND, abs=0.15)
    matches = table(finished.download("Matches (CSV)"))
    assert [[int(row["left"]), int(row["right"])] for row in matches] == sorted(finished.lines())
    content = json.loads(finished.download("Matches (JSON)"))
    setup = Recipe.from_dict(content["recipe"])
    assert [[row["left"], row["right"]] for row in content["matches"]] == sorted(finished.lines())
    history = table(finished.download("History (CSV)"))
    assert int(history[-1]["iteration"]) == finished.iteration()
    pair = setup.pair()
    for side, points in (("Left", pair.left.points), ("Right", pair.right.points)):
        rows = table(finished.download(f"{side} points (CSV)"))
        assert np.allclose([[float(row["x"]), float(row["y"])] for row in rows], points.xy, atol=0.01)
    with np.load(io.BytesIO(finished.download("Run (NPZ)")), allow_pickle=False) as arrays:
        assert arrays["pairs"].tolist() == sorted(finished.lines())
    opened = open_pair(finished.download("Pair (ZIP)"))
    assert opened.pair.shape == pair.shape and opened.recipe == setup


@pytest.mark.long
def test_the_link_gives_the_same_matching_elsewhere(finished, visit, browser):
    finished.share()
    finished.page.get_by_role("tab", name="Link").click()
    link = finished.page.get_by_test_id("stCode").filter(has_text="run=1").first.inner_text().strip()
    assert parse_qs(urlparse(link).query)["data"] == ["turntable"]
    other = visit("?" + urlparse(link).query, browser)
    other.finish()
    assert other.lines() == finished.lines()
    assert other.iteration() == finished.iteration()
    other.page.reload()  # the address alone restores the choice
    other.ready()
    assert other.board("board => board.points") == finished.board("board => board.points")


@pytest.mark.long
def test_looking_at_the_options_of_a_method_changes_none_and_one_that_is_changed_stays(visit):
    page = visit()
    page.ready()
    page.settings()
    page.unfold("Solver")
    page.press("Start")  # the panel is drawn again before its options are looked at
    page.finish()
    opener = page.side.get_by_role("button", name="Options of the method")
    most = page.page.get_by_role("spinbutton", name="Most iterations")

    def look(iterations: int) -> None:
        opener.click()
        page.wait_until(lambda: most.input_value() == str(iterations))

    def run(number: int) -> None:
        page.shut()
        page.settled()
        page.press("Start")
        page.finish(number)

    look(10000)
    run(2)
    assert page.status().startswith("Converged") and "max_iter" not in page.page.url
    look(10000)
    most.fill("40")
    most.press("Enter")
    page.page.wait_for_url(re.compile("method.max_iter=40"))
    run(3)
    look(40)
    run(4)
    assert page.iteration() == 40 and "method.max_iter=40" in page.page.url
