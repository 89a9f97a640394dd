"""Learn in presenter mode, and by keyboard alone, in a real Chromium."""

import re

import pytest

from test_learn_browser import COURSE, Visit, visit

__all__ = ["visit"]  # the fixture
pytestmark = pytest.mark.browser

LETTERS = """main => {
  const found = [];
  const seen = (root) => root.querySelectorAll("p, label, button, td, .told, .formula, .claim").forEach((one) => {
    const box = one.getBoundingClientRect();
    const aside = one.closest(".st-key-learn-bar, .symbol, [data-testid=stTooltipIcon]") || one.querySelector("sub");
    if (!aside && box.height && one.textContent.trim()) found.push(parseFloat(getComputedStyle(one).fontSize));
  });
  seen(main);
  return found;
}"""


@pytest.mark.long
@pytest.mark.parametrize(("size", "letters"), [((1280, 720), 24), ((1920, 1080), 32)])
def test_presenter_mode_has_large_letters_and_nothing_is_cut_or_covered(visit, size, letters):
    lecturer = visit("present=1", viewport=dict(zip(("width", "height"), size, strict=True)))
    for chapter in COURSE:
        lecturer.at(chapter.key)
        root = lecturer.page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)")
        assert root == pytest.approx(letters, abs=0.1)
        assert min(lecturer.main.evaluate(LETTERS)) >= 0.85 * letters
        lecturer.assert_fits()
        assert lecturer.main.evaluate("main => main.scrollWidth - main.clientWidth") <= 0
        boxes = [
            one.bounding_box()
            for one in lecturer.main.locator(
                ".st-key-learn-side button:visible, .st-key-learn-side label:visible"
            ).all()
        ]
        assert all(
            box and box["x"] + box["width"] <= size[0] + 1 and box["y"] + box["height"] <= size[1] for box in boxes
        )
        if chapter is not COURSE[-1]:
            lecturer.key("n")


@pytest.mark.long
def test_keys_choose_answers_matchings_and_sub_steps_and_reveal(visit):
    lecturer = visit("present=1")
    lecturer.key("E")  # the fifth matching, which is not the best
    lecturer.wait_until(lambda: "try=A3+B1+C2" in lecturer.page.url)
    lecturer.key("s")
    lecturer.says(re.compile("A3 B1 C2 costs least"))
    lecturer = visit("chapter=verdict&present=1")
    lecturer.key("B")
    lecturer.wait_until(lambda: "problem=second" in lecturer.page.url)
    lecturer.key("2")
    lecturer.key("s")
    lecturer.says(re.compile("You said the costs"))
    lecturer.key("r")
    lecturer.says(re.compile("^The solver. The truth"))
    lecturer = visit("chapter=step&present=1")
    lecturer.key("G")
    lecturer.wait_until(lambda: "part=y" in lecturer.page.url)
    lecturer.key("?")
    lecturer.says("choose an answer")


@pytest.mark.long
def test_the_keyboard_alone_answers_every_chapter(visit):
    student = visit()
    for number, chapter in enumerate(COURSE, 1):
        student.at(chapter.key)
        right = chapter.answer(chapter.defaults)
        if chapter.key == "assignment":
            student.key("E")
            student.wait_until(lambda: "try=A3+B1+C2" in student.page.url)
        elif chapter.key == "simplex":
            tab_to(student, "Target c")
            for _ in range(14):
                student.page.keyboard.press("ArrowUp")
            student.settled()
        elif chapter.question.number:
            tab_to(student, chapter.question.text)
            student.page.keyboard.type(f"{right:.2f}")
            tab_to(student, "Check")
            student.key("Enter")
        else:
            student.key(str(1 + chapter.question.options.index(str(right))))
        if not chapter.question.number:
            student.key("s")
        student.says(f"{number} of {len(COURSE)} answered")
        if chapter is COURSE[-1]:
            return
        student.page.keyboard.press("Tab")
        student.key("PageDown" if chapter.question.number else "n")


def tab_to(student: Visit, name: str) -> None:
    """Press Tab until something of this name has the focus."""
    active = """() => { let one = document.activeElement;
      while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
      return one === document.body ? "" : (one?.ariaLabel ?? "") + (one?.textContent ?? ""); }"""
    for _ in range(120):
        if name in student.page.evaluate(active):
            return
        student.page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not come to {name}")
