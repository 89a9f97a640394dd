"""The Learn page in a real Chromium: by keyboard alone, by mouse, on a locked link, on paper, to Match and back."""

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from experiments.tools.browser import Server
from experiments.tools.browser import Visit as AnyVisit
from streamlit_client import connected
from ui.learn.chapters import CHAPTERS

COURSE = list(CHAPTERS.values())

pytestmark = pytest.mark.browser


class Visit(AnyVisit):
    """One student, or the lecturer."""

    def __init__(self, browser, server: Server, query: str = "", page: str = "learn", **look):
        self.context = browser.new_context(**({"viewport": {"width": 1280, "height": 720}} | look))
        super().__init__(self.context, f"{server.url}/{page}?{query}")
        if page == "learn":
            self.button("Next").wait_for()
            self.settled()

    def button(self, name: str):
        return self.main.get_by_role("button", name=name, exact=True)

    def key(self, key: str) -> None:
        self.page.wait_for_function("() => window.presenterKeys && !window.presenterKeys.signal.aborted")  # it listens
        self.page.keyboard.press(key)
        self.settled()

    def chapter(self) -> str:
        found = re.search(r"chapter=(\w+)", self.page.url)
        return found[1] if found else COURSE[0].key  # which an address need not name

    def at(self, key: str) -> None:
        """The chapter is shown."""
        self.wait_until(lambda: self.chapter() == key)
        self.main.get_by_text(CHAPTERS[key].claim).wait_for()
        self.settled()

    def choose_answer(self, text: str) -> None:
        self.main.get_by_test_id("stRadio").get_by_text(text, exact=True).click()
        self.settled()

    def assert_fits(self) -> None:
        """Nothing is left to scroll to, as soon as the last update is drawn."""
        self.wait_until(lambda: self.main.evaluate("main => main.scrollHeight <= main.clientHeight"))

    def faults(self) -> list[str]:
        """What the browser complained about, but for where Streamlit looks for its own files on a subpage."""
        return [error for error in self.errors if "404" not in error]


@pytest.fixture
def visit(browser, server):
    made: list[Visit] = []

    def visit(query: str = "", **how) -> Visit:
        made.append(Visit(browser, server, query, **how))
        return made[-1]

    def phone(query: str) -> AnyVisit:
        contexts.append(browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True))
        return AnyVisit(contexts[-1], f"{server.url}/learn?{query}")

    contexts: list[Any] = []
    visit.phone = phone
    yield visit
    for context in contexts:
        context.close()
    for each in made:
        faults = each.faults()
        each.context.close()
        assert faults == []


@pytest.mark.long
def test_the_keyboard_alone_walks_through_all_chapters_and_back(visit):
    student = visit()
    for chapter in COURSE[1:]:
        student.key("n")
        student.at(chapter.key)
    for chapter in COURSE[-2::-1]:
        student.key("PageUp")
        student.at(chapter.key)
    student.key("b")  # nothing before the first
    assert student.chapter() == COURSE[0].key


@pytest.mark.long
def test_keys_answer_step_and_keep_out_of_the_way_of_typing(visit):
    student = visit("chapter=split")
    radio = student.main.get_by_test_id("stRadio").get_by_role("radio").first
    radio.focus()
    student.key("Space")
    student.key("ArrowDown")  # columns
    student.key("s")
    student.says(CHAPTERS["split"].question.because.format(answer="columns"))
    student.page.evaluate("document.activeElement.blur()")
    student.key("ArrowRight")
    student.wait_until(lambda: "k=2" in student.page.url)
    student.key(",")
    student.wait_until(lambda: "k=" not in student.page.url)
    student = visit("chapter=step")
    box = student.main.get_by_test_id("stNumberInput").locator("input")
    box.click()
    student.page.keyboard.type("n.s")
    student.settled()
    assert student.chapter() == "step"


@pytest.mark.long
@pytest.mark.parametrize("chapter", [each for each in COURSE if each.question.options], ids=lambda each: each.key)
def test_a_wrong_and_a_right_answer_fit_the_screen(visit, chapter):
    student = visit(f"chapter={chapter.key}")
    student.assert_fits()
    right = chapter.answer(chapter.defaults)
    student.choose_answer(next(option for option in chapter.question.options if option != right))
    student.press(chapter.question.button)
    student.says(re.compile(re.escape(chapter.question.hint)))  # after what was predicted and what came
    student.settled()
    student.assert_fits()
    student.choose_answer(str(right))
    student.press(chapter.question.button)
    student.says(re.compile(re.escape(chapter.told(chapter.defaults))))
    student.says(f"1 of {len(COURSE)} answered")
    student.settled()
    student.assert_fits()


def test_the_first_chapter_is_solved_by_hand_and_its_points_move(visit):
    student = visit()
    student.assert_fits()
    student.press("Check")
    student.says(CHAPTERS["assignment"].question.hint)
    student.main.get_by_text("A3 B1 C2", exact=True).click()
    student.settled()
    student.press("Check")
    student.says(re.compile("A3 B1 C2 costs least"))
    student.assert_fits()
    point = student.page.get_by_role("button", name=re.compile("^Point C:"))
    point.focus()
    student.key("ArrowUp")
    student.wait_until(lambda: "points=" in student.page.url)
    before = student.page.url
    frame = point.bounding_box()
    student.page.mouse.move(frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2)
    student.page.mouse.down()
    student.page.mouse.move(frame["x"] + 60, frame["y"] - 20, steps=4)
    student.page.mouse.up()
    student.wait_until(lambda: student.page.url != before)


def pull(student: Visit, name: str, by: tuple[float, float]) -> None:
    """Drag a handle of a board with the mouse."""
    frame = student.page.get_by_role("button", name=re.compile(name)).bounding_box()
    x, y = frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2
    student.page.mouse.move(x, y)
    student.page.mouse.down()
    student.page.mouse.move(x + by[0], y + by[1], steps=5)
    student.page.mouse.up()


@pytest.mark.long
def test_the_plane_is_played_stepped_and_dragged(visit):
    student = visit("chapter=plane")
    student.assert_fits()
    student.key("p")  # Play, inside the board
    student.says("After 14 iterations the points agree, at height 1.90. No point of both sets is lower (★).")
    student.wait_until(lambda: "at=14" in student.page.url)
    student.key(",")
    student.wait_until(lambda: "at=13" in student.page.url)
    student.says(re.compile("^Iteration 13: the points are 0.00"))
    slider = student.page.get_by_role("slider", name="Penalty ρ")
    slider.focus()
    student.page.keyboard.press("ArrowRight")
    student.wait_until(lambda: "pen=2" in student.page.url)
    student.button("Disc and two islands").click()
    student.wait_until(lambda: "scene=islands" in student.page.url)
    pull(student, "^Set 1:", (60, -20))
    student.wait_until(lambda: "sets=" in student.page.url)
    student.assert_fits()
    before = student.page.get_by_role("button", name=re.compile("^Set 1:")).bounding_box()
    while "sets=" in student.page.url:
        student.page.go_back()
        student.settled()
    student.wait_until(
        lambda: student.page.get_by_role("button", name=re.compile("^Set 1:")).bounding_box()["x"] < before["x"] - 40
    )


@pytest.mark.long
def test_a_set_follows_a_finger_on_a_phone(visit):
    student = visit("chapter=plane", viewport={"width": 390, "height": 844}, has_touch=True)
    handle = student.page.get_by_role("button", name=re.compile("^Set 2:"))
    handle.scroll_into_view_if_needed()
    frame = handle.bounding_box()
    x, y = frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2
    fingers = student.context.new_cdp_session(student.page)
    for kind, by in (("touchStart", 0), ("touchMove", -20), ("touchMove", -40)):
        touch = {"type": kind, "touchPoints": [{"x": x + by, "y": y}]}
        fingers.send("Input.dispatchTouchEvent", touch)
    fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    student.wait_until(lambda: "sets=" in student.page.url)
    assert handle.bounding_box()["x"] < frame["x"] - 25


@pytest.mark.long
def test_the_target_is_dragged_beyond_a_corner(visit):
    student = visit("chapter=simplex")
    student.press("Check")
    student.says(CHAPTERS["simplex"].question.hint)
    handle = student.page.get_by_role("button", name=re.compile("^Target c"))
    frame = handle.bounding_box()
    board = student.page.locator(".learn-board svg[role=group]").bounding_box()
    student.page.mouse.move(frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2)
    student.page.mouse.down()
    student.page.mouse.move(board["x"] + board["width"] / 2, board["y"] + 12, steps=6)
    student.page.mouse.up()
    student.wait_until(lambda: "c=" in student.page.url)
    student.settled()
    student.press("Check")
    student.says(re.compile("^Beyond a corner"))
    student.assert_fits()


@pytest.mark.long
def test_an_entry_is_picked_and_its_target_added_up(visit):
    student = visit("chapter=step&part=c₂")
    student.page.get_by_role("button", name=re.compile("c₂, row B, column 3")).click()
    student.wait_until(lambda: "cell=1-2" in student.page.url)
    student.says("c at B3: x₁ + y/ρ − p/ρ")
    box = student.main.get_by_test_id("stNumberInput").locator("input")
    chapter = CHAPTERS["step"]
    for value, said in (
        (0.0, chapter.question.hint),
        (chapter.answer({"iteration": 2, "part": "c₂", "cell": "1-2"}), "3.93."),
    ):
        box.fill(f"{value:.2f}")
        box.press("Enter")
        student.settled()
        student.press("Check")
        student.says(re.compile(re.escape(said)))
    student.assert_fits()
    student.page.evaluate("document.activeElement.blur()")
    student.key(",")  # back to p₂
    student.page.get_by_role("button", name=re.compile("^F.*row C, column 4")).click()
    student.says(re.compile(r"F\(B3, C4\) × x₁ at C4"))
    student.page.get_by_role("button", name="Back to the sum").click()
    student.says("Click an entry of F to see one multiplication.")
    for sub_step in ("c₂", "x₂", "y"):
        student.key(".")
        student.wait_until(lambda sub_step=sub_step: f"part={quote(sub_step)}" in student.page.url)
        student.assert_fits()


@pytest.mark.long
def test_a_locked_link_locks_and_presents(visit):
    student = visit("chapter=penalty&rho=1.0&lock=rho&present=1")
    student.main.locator('[data-testid="stSlider"] [data-disabled=true]').first.wait_for()
    student.page.locator(".st-key-frame").wait_for(state="hidden")
    large = student.page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)")
    assert large > 16
    student.assert_fits()
    student.key("f")
    student.page.locator(".st-key-frame").wait_for()
    student.wait_until(lambda: "present" not in student.page.url and "lock=rho" in student.page.url)
    student.key("?")
    student.says("presenter mode: large type, nothing around")
    student.key("Escape")
    student.key("n")
    student.at("order")


@pytest.mark.long
def test_back_returns_and_a_reload_keeps_what_is_answered(visit):
    student = visit()
    student.press("Next")
    student.at("structure")
    student.choose_answer("all 30")
    student.press("Run")
    student.says(f"1 of {len(COURSE)} answered")
    student.press("Next")
    student.at("plane")
    student.page.reload()
    student.at("plane")
    student.says(f"1 of {len(COURSE)} answered")
    student.page.go_back()
    student.at("structure")
    for _ in range(3):  # before the run the edges weighed nothing
        if student.chapter() == "structure":
            student.page.go_back()
            student.settled()
    student.at("assignment")
    assert "/learn" in student.page.url


@pytest.mark.long
def test_an_embedded_chapter_shows_the_chapter_alone(visit):
    student = visit("chapter=plane&embed=true&present=1")
    for name in ('[data-testid="stHeader"]', '[data-testid="stMainMenu"]', ".st-key-frame"):
        assert not student.page.locator(name).first.is_visible()
    student.press("Next")
    student.at("split")
    assert "embed=true" in student.page.url and "present=1" in student.page.url


@pytest.mark.long
def test_worksheets_are_taken_away(visit):
    lecturer = visit()
    lecturer.button("For the class").click()
    for name, has in (("Worksheet", False), ("Worksheet with answers", True), ("Speaker notes", False)):
        with lecturer.page.expect_download() as coming:
            lecturer.page.get_by_role("button", name=name, exact=True).click()
        text = Path(coming.value.path()).read_text(encoding="utf-8")
        assert all(chapter.title in text for chapter in COURSE)
        assert ("Answer." in text) == has


@pytest.mark.long
def test_a_class_of_thirty_answers_and_sees_what_came_of_it(visit, server):
    lecturer = visit("chapter=verdict&present=1")
    lecturer.key("f")  # out of presenter mode, where a room is opened
    lecturer.button("For the class").click()
    lecturer.page.get_by_role("button", name="Let the class answer").click()
    code = lecturer.page.locator(".join .code").inner_text()
    lecturer.page.keyboard.press("Escape")
    lecturer.page.locator(".join").wait_for(state="detached")
    lecturer.key("f")
    phone = visit.phone(f"class={code}")
    options = CHAPTERS["verdict"].question.options
    with ExitStack() as class_:
        tabs = [class_.enter_context(connected(server, f"class={code}")) for _ in range(29)]
        for k, tab in enumerate(tabs):
            tab.say(page="learn")
            key = tab.awaits("radio")
            tab.choose(key, options[k % 2])
        lecturer.says(re.compile("29 answers"))
        phone.page.get_by_test_id("stRadio").get_by_text(options[1], exact=True).click()
        phone.says(re.compile("Your answer is counted"))
        lecturer.says(re.compile("30 answers"))
        assert not lecturer.page.locator(".poll-row b").count()
        lecturer.key("r")
        counts = lecturer.page.locator(".poll-row b")
        counts.first.wait_for()
        assert counts.all_inner_texts() == ["15", "15", "0", "0"]
        assert not lecturer.page.locator(".poll-row.right").count()
        lecturer.key("r")
        lecturer.page.locator(".poll-row.right").wait_for()
        assert (
            lecturer.page.locator(".poll-row.right span").inner_text()
            == f"{CHAPTERS['verdict'].answer(CHAPTERS['verdict'].defaults)} ✓"
        )
        phone.says(re.compile(re.escape(CHAPTERS["verdict"].told(CHAPTERS["verdict"].defaults))))
    phone.page.reload()
    phone.says(f"Your answer: {options[1]}")
    lecturer.page.reload()
    lecturer.says(re.compile(f"Class {code}"))
    lecturer.key("n")
    lecturer.at("outliers")
    phone.says(CHAPTERS["outliers"].question.text)


@pytest.mark.long
def test_to_match_and_back(visit):
    student = visit("chapter=verdict&problem=second")
    student.main.get_by_text("Open this on Match").click()
    student.main.get_by_role("button", name=re.compile("^Start")).wait_for()
    student.wait_until(lambda: "data.seed=13" in student.page.url)
    student.page.get_by_role("link", name="Learn").first.click()
    student.at("verdict")
    assert "problem=second" in student.page.url


@pytest.mark.long
def test_match_hides_what_a_link_locks(visit):
    student = visit("data=random&model=B&lock=model,solver&ask=How+many?", page="")
    student.main.get_by_role("button", name="Start", exact=True).wait_for()
    student.says("How many?")
    student.page.get_by_test_id("stExpandSidebarButton").click()
    student.side.get_by_text("Points", exact=True).first.wait_for()
    for name in ("Model$", "^Solver$"):
        student.side.get_by_text(re.compile(name)).first.wait_for(state="hidden")
    assert student.side.get_by_text("Points", exact=True).first.is_visible()


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_every_chapter_without_sideways_scrolling(visit, scheme):
    student = visit(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    for chapter in COURSE:
        student.at(chapter.key)
        assert student.main.evaluate("main => main.scrollWidth - main.clientWidth") <= 0
        if chapter is not COURSE[-1]:
            student.press("Next")
