"""The canvas: what is sent and checked in Python (AppTest), and what a user does with it in a real Chromium."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from streamlit.testing.v1 import AppTest

from experiments.tools.browser import Server, serving
from experiments.tools.browser import Visit as AnyVisit
from ui.parts import canvas
from ui.parts.canvas import KINDS, Line, Side

ROOT = Path(__file__).parents[1]
TOO_MANY = canvas.MOST_POINTS + 1
SOURCES = [(ROOT / "ui" / "parts" / "canvas" / f"{name}.js").read_text(encoding="utf-8") for name in canvas.SCRIPTS]

APP = """
import numpy as np
import streamlit as st
from features.points.images import from_array
from ui.parts import canvas

def picture(width, height, seed):
    tiles = np.random.default_rng(seed).integers(40, 200, (height // 20, width // 20, 3), dtype=np.uint8)
    return from_array(np.kron(tiles, np.ones((20, 20, 1), np.uint8)))

case = st.query_params.get("case", "view")
left, right = picture(400, 300, 0), picture(300, 300, st.session_state.get("seed", 1))
points = np.array([[60.0, 60.0], [200.0, 150.0], [340.0, 240.0]])
others = np.array([[60.0, 60.0], [150.0, 150.0], [240.0, 240.0]])
st.button("again")
if case == "edit":
    edits = canvas.edits("pair", points, others, np.array([2, -1, 0]))
    shown = canvas.show("pair", canvas.Side(edits.left, left), canvas.Side(edits.right, right), mode="edit")
    for name in ("left", "right"):
        st.text(f"{name} {np.round(getattr(shown.edits, name)).astype(int).tolist()}")
    st.text(f"truth {shown.edits.truth.tolist()}")
    st.text(f"revision {shown.edits.revision}")
else:
    picked = canvas.picked("pair")
    lines = [
        canvas.Line(0, 0, "correct", 0.9, "0 to 0 <b>bold</b>"),
        canvas.Line(1, 2, "wrong", 0.8, "1 to 2"),
        canvas.Line(2, 2, "missed", 1.0, "2 to 2"),
    ]
    shown = canvas.show(
        "pair", canvas.Side(points, left, [[0, 1], [1, 2]], "A <i>label</i>"), canvas.Side(others, right), lines,
        canvas.Display(support=[1] if picked else [], against=[2] if picked else []),
    )
    st.text(f"picked {shown.index} {picked}")
"""


# ------------------------------------------------------------------ Python alone


class Script:
    """The app above under AppTest, with the component's messages sent by hand."""

    def __init__(self, case: str = "view") -> None:
        self.test = AppTest.from_string(APP, default_timeout=60)
        self.test.query_params["case"] = case
        self.test.run()

    @property
    def proto(self):
        assert not self.test.exception
        return self.test.get("bidi_component")[0].proto

    @property
    def data(self) -> dict:
        (data,) = json.loads(self.proto.json)
        return data

    @property
    def texts(self) -> list[str]:
        return [text.value for text in self.test.text]

    def send(self, identity: str, **value: str) -> None:
        states = self.test._tree.get_widget_states()
        states.widgets.add(id=identity, **value)
        self.test._run(states)

    def pick(self, value: object) -> None:
        events = json.dumps([{"event": "pick", "value": value}])
        self.send(f"$$STREAMLIT_INTERNAL_KEY_{self.proto.id}__events", json_trigger_value=events)

    def edit(
        self,
        left: object,
        right: object,
        revision: object = 1,
        start: str | None = None,
        partners: object = (),
    ) -> None:
        points = {"left": left, "right": right, "partners": partners, "revision": revision}
        points["start"] = start or self.data["start"]
        self.send(self.proto.id, json_value=json.dumps({"points": points}))


def test_images_travel_as_addresses_of_their_content():
    script = Script()
    first = script.data
    script.test.run()
    assert script.data == first
    script.test.session_state["seed"] = 5
    script.test.run()
    assert [a["src"] == b["src"] for a, b in zip(script.data["sides"], first["sides"], strict=True)] == [True, False]


def test_an_update_is_small_and_holds_no_script():
    script = Script()
    assert len(script.proto.SerializeToString()) < 4_000
    assert "Board" not in script.proto.js_content and not script.proto.css_content


def test_a_pick_isolates_its_line_until_it_is_let_go():
    script = Script()
    script.pick({"pair": [1, 2], "index": 1, "serial": 4})
    assert script.texts == ["picked 1 (1, 2)"]
    assert (script.data["pick"], script.data["serial"], script.data["support"]) == ([1, 2], 4, [1])
    script.test.run()
    assert script.texts == ["picked 1 (1, 2)"]
    script.pick({"pair": None, "index": -1, "serial": 5})
    assert script.texts == ["picked None None"]


@pytest.mark.parametrize("pick", [None, 3, [1, 2], {"pair": ["a", 2], "serial": 1}, {"pair": [1, 2], "serial": "x"}])
def test_a_malformed_pick_changes_nothing(pick):
    script = Script()
    script.pick(pick)
    assert script.texts == ["picked None None"]


def test_lines_and_sides_are_checked_at_birth():
    with pytest.raises(ValueError, match="kind must be one of"):
        Line(0, 0, "green")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="finite"):
        Line(0, 0, value=float("nan"))
    with pytest.raises(ValueError, match=r"\(n, 2\)"):
        Side(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="only 2 points"):
        Side(np.zeros((2, 2)), edges=np.array([[0, 2]]))
    with pytest.raises(ValueError, match="1 names were given for 2 points"):
        Side(np.zeros((2, 2)), names=["one"])
    with pytest.raises(ValueError, match=r"3 → 0 needs points that do not exist"):
        canvas.show("k", Side(np.zeros((3, 2))), Side(np.zeros((1, 2))), [Line(3, 0)])


@settings(deadline=None, derandomize=True, max_examples=60)
@given(some.lists(some.tuples(some.floats(-1e4, 1e4), some.floats(-1e4, 1e4)), min_size=1, max_size=20))
def test_a_sheet_without_image_holds_all_its_points(points):
    side = Side(np.array(points))
    left, top, width, height = side.box
    assert (side.points > [left, top]).all() and (side.points < [left + width, top + height]).all()
    assert 1 / 3.01 < width / height < 3.01


def test_every_kind_has_a_look_of_its_own():
    assert tuple(canvas.LOOKS) == KINDS
    looks = {(look["colour"], tuple(look["dash"]), look["mark"]) for look in canvas.LOOKS.values()}
    assert len(looks) == len(KINDS)


def test_script_never_parses_text_as_markup():
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", "".join(SOURCES)
    )


# ------------------------------------------------------------------ a real browser


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    script = tmp_path_factory.mktemp("canvas") / "app.py"
    script.write_text(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{APP}")
    with serving(script, prefix="app") as running:
        yield running
        assert "Traceback" not in running.written(), running.written()


class Visit(AnyVisit):
    """One page with nothing but the canvas."""

    def __init__(self, chromium, server: Server, case: str, width: int = 1200, **context):
        self.context = chromium.new_context(viewport={"width": width, "height": 900}, **context)
        super().__init__(self.context, f"{server.url}/?case={case}")
        self.canvas = self.page.locator("canvas")
        self.canvas.wait_for()
        self.wait_until(lambda: self.board("board => board.images.every(image => image.pixels)"))

    def middle(self, i: int, j: int) -> tuple[float, float]:
        left, right = self.board("(board, [i, j]) => board.endsOf({ i, j })", [i, j])
        frame = self.canvas.bounding_box()
        return frame["x"] + (left[0] + right[0]) / 2, frame["y"] + (left[1] + right[1]) / 2

    def expect_says(self, text: str):
        self.page.get_by_text(text, exact=True).wait_for()

    def colour(self, x: float, y: float) -> list[int]:
        frame = self.canvas.bounding_box()
        read = "(board, [x, y]) => [...board.context.getImageData(x, y, 1, 1).data]"
        return self.board(read, [x - frame["x"], y - frame["y"]])


@pytest.fixture
def visit(browser, server):
    visits: list[Visit] = []

    def open_page(case: str, **options) -> Visit:
        visits.append(Visit(browser, server, case, **options))
        return visits[-1]

    yield open_page
    for one in visits:
        one.context.close()
        assert not one.errors


@pytest.mark.browser
def test_hover_tells_click_isolates_and_a_click_beside_lets_go(visit):
    page = visit("view")
    tip = page.page.locator(".tip")
    assert tip.is_hidden()
    page.page.mouse.move(*page.middle(0, 0))
    tip.wait_for()
    assert tip.text_content() == "0 to 0 <b>bold</b>"
    page.page.mouse.click(*page.middle(1, 2))
    page.expect_says("picked 1 (1, 2)")
    assert page.page.locator(".status").text_content() == "1 to 2"
    assert page.page.locator(".entry").all_inner_texts()[-2:] == ["+\n1\nsupports it", "−\n1\ncontradicts it"]
    page.page.mouse.click(*page.at(0, 380, 20))
    page.expect_says("picked None None")


@pytest.mark.long
@pytest.mark.browser
def test_images_and_script_are_fetched_once_and_updates_stay_small(visit):
    page = visit("view")
    assert len(page.fetched) == 3  # the script and two images
    page.page.mouse.click(*page.middle(0, 0))
    page.expect_says("picked 0 (0, 0)")
    page.received.clear()
    page.page.mouse.click(*page.middle(1, 2))
    page.expect_says("picked 1 (1, 2)")
    assert sum(map(len, page.received)) < 10_000
    assert len(page.fetched) == 3


@pytest.mark.long
@pytest.mark.browser
def test_points_are_added_dragged_and_deleted_and_every_step_can_be_undone(visit):
    page = visit("edit")
    start = "left [[60, 60], [200, 150], [340, 240]]"
    page.expect_says(start)
    mouse, keyboard = page.page.mouse, page.page.keyboard

    mouse.click(*page.at(0, 100, 250))
    page.expect_says("left [[60, 60], [200, 150], [340, 240], [100, 250]]")

    page.sent.clear()
    mouse.move(*page.at(0, 60, 60))
    mouse.down()
    mouse.move(*page.at(0, 90, 90), steps=6)
    page.wait_until(lambda: page.board("board => Math.round(board.points[0][0][0])") == 90)
    assert not page.sent  # a drag is one message, sent when the button is let go
    mouse.move(*page.at(0, 120, 40))
    mouse.up()
    page.expect_says("left [[120, 40], [200, 150], [340, 240], [100, 250]]")

    mouse.click(*page.at(1, 150, 150), button="right")
    page.expect_says("right [[60, 60], [240, 240]]")
    mouse.click(*page.at(0, 200, 150))
    keyboard.press("Delete")
    page.expect_says("left [[120, 40], [340, 240], [100, 250]]")
    page.expect_says("truth [1, 0, -1]")  # the others keep theirs, under their new numbers
    page.press("Remove all points of the left image")
    page.expect_says("left []")

    page.press("Undo (Ctrl+Z)")
    page.expect_says("left [[120, 40], [340, 240], [100, 250]]")
    for _ in range(4):
        page.press("Undo (Ctrl+Z)")
    page.expect_says(start)
    page.expect_says("right [[60, 60], [150, 150], [240, 240]]")
    page.expect_says("truth [2, -1, 0]")
    assert page.page.get_by_role("button", name="Undo (Ctrl+Z)").is_disabled()
    page.canvas.focus()
    keyboard.press("Control+y")
    page.expect_says("left [[60, 60], [200, 150], [340, 240], [100, 250]]")
    page.page.get_by_role("button", name="again").click()
    page.expect_says("revision 11")
    assert page.board("board => board.points[0].length") == 4


@pytest.mark.long
@pytest.mark.browser
def test_partners_are_set_with_the_mouse_and_the_keys_and_undone(visit):
    page = visit("edit")
    page.expect_says("truth [2, -1, 0]")
    mouse, keyboard = page.page.mouse, page.page.keyboard
    partner, says = "Say which point is the partner of the selected one (t)", page.page.get_by_role("status")
    mouse.click(*page.at(0, 200, 150))
    says.get_by_text("no partner").wait_for()
    page.press(partner)
    mouse.click(*page.at(1, 150, 150))
    page.expect_says("truth [2, 1, 0]")
    mouse.click(*page.at(0, 60, 60))
    page.press(partner)
    mouse.click(*page.at(1, 200, 40))  # nobody is there: a new point is, and is the partner
    page.expect_says("right [[60, 60], [150, 150], [240, 240], [200, 40]]")
    page.expect_says("truth [3, 1, 0]")
    page.canvas.focus()
    for key in ("Escape", "n", "t", "t"):  # the first point is selected, and has none
        keyboard.press(key)
    page.expect_says("truth [-1, 1, 0]")
    for expected in ("[3, 1, 0]", "[2, 1, 0]", "[2, -1, 0]"):
        keyboard.press("Control+z")
        page.expect_says(f"truth {expected}")
    page.expect_says("right [[60, 60], [150, 150], [240, 240]]")


@pytest.mark.long
@pytest.mark.browser
def test_wheel_zooms_at_the_pointer_drag_moves_and_the_view_can_be_reset(visit):
    page = visit("view")
    home = page.at(0, 200, 150)
    page.page.mouse.move(*home)
    for _ in range(3):
        page.page.mouse.wheel(0, -120)
    page.wait_until(lambda: page.board("board => board.memory.zoom > 1.8"))
    assert page.at(0, 200, 150) == pytest.approx(home, abs=1.0)
    page.page.mouse.down()
    page.page.mouse.move(home[0] + 50, home[1] + 20, steps=4)
    page.page.mouse.up()
    assert page.at(0, 200, 150) == pytest.approx((home[0] + 50, home[1] + 20), abs=1.0)
    page.expect_says("picked None None")
    page.press("again")  # an update leaves the view alone
    page.settled()
    assert page.board("board => board.memory.zoom") > 1.8
    page.page.mouse.dblclick(*page.at(0, 230, 190))
    assert page.at(0, 200, 150) == pytest.approx(home, abs=1.0)
    for name, zoom in (("Zoom in (+)", 1.5), ("Reset view (0)", 1)):
        page.press(name)
        assert page.board("board => board.memory.zoom") == zoom


@pytest.mark.long
@pytest.mark.browser
def test_everything_can_be_done_with_the_keyboard(visit):
    page = visit("view")
    keyboard = page.page.keyboard
    while not page.board("board => board.canvas.matches(':focus')"):
        keyboard.press("Tab")
    keyboard.press("n")
    page.expect_says("picked 0 (0, 0)")
    keyboard.press("p")
    page.expect_says("picked 2 (2, 2)")
    keyboard.press("Escape")
    page.expect_says("picked None None")
    page = visit("edit")
    keyboard = page.page.keyboard
    page.canvas.focus()
    keyboard.press("n")
    keyboard.press("ArrowRight")
    page.expect_says("left [[61, 60], [200, 150], [340, 240]]")
    keyboard.press("Shift+ArrowDown")
    page.expect_says("left [[61, 70], [200, 150], [340, 240]]")
    keyboard.press("Delete")
    page.expect_says("left [[200, 150], [340, 240]]")
    keyboard.press("Control+z")
    page.expect_says("left [[61, 70], [200, 150], [340, 240]]")


@pytest.mark.long
@pytest.mark.browser
def test_narrow_pages_stack_the_images_without_overflow(visit):
    page = visit("view", width=390, device_scale_factor=2, has_touch=True)
    first, second = page.at(0, 0, 0), page.at(1, 0, 0)
    assert second[1] > first[1] + 100 and second[0] == pytest.approx(first[0], abs=1)
    assert page.board("board => board.canvas.width") == pytest.approx(2 * page.canvas.bounding_box()["width"], abs=1)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 390
    page.page.touchscreen.tap(*page.middle(0, 0))
    page.expect_says("picked 0 (0, 0)")
    x, y = page.at(0, 200, 150)
    touch = page.context.new_cdp_session(page.page)
    for kind, spread in (("touchStart", 20), ("touchMove", 30), ("touchMove", 60), ("touchEnd", None)):
        fingers = [] if spread is None else [{"x": x + s * spread, "y": y, "id": k} for k, s in enumerate((-1, 1))]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})
    assert page.board("board => board.memory.zoom") == pytest.approx(3, rel=0.05)
    assert page.at(0, 200, 150) == pytest.approx((x, y), abs=3)
    page.expect_says("picked 0 (0, 0)")  # a pinch picks nothing
    page.page.set_viewport_size({"width": 1100, "height": 900})
    page.wait_until(lambda: page.board("board => !board.stacked"))


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_kinds_differ_on_the_canvas_and_the_frame_follows_the_theme(visit, scheme):
    page = visit("view", color_scheme=scheme)
    page.page.mouse.move(2, 2)
    correct, wrong = page.colour(*page.at(0, 60, 60)), page.colour(*page.middle(1, 2))
    assert correct[1] > correct[0] + 60  # green
    assert wrong[:3] != correct[:3] and max(wrong[:3]) < 240  # the cross on its disc
    text = page.board("board => getComputedStyle(board.board).color")
    bright = sum(map(int, re.findall(r"\d+", text)[:3])) / 3
    assert bright > 180 if scheme == "dark" else bright < 80
