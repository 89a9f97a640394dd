"""The Learn page: its text is whole, and every control and answer works. Its numbers: test_lessons.py."""

import contextlib
import io
import re
from collections.abc import Callable
from html.parser import HTMLParser

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from adgm import EXACTLY_ONE
from features.explain import lessons
from features.recipe import OWN
from ui.learn import film, formula, lectern, plane, progress, worksheet
from ui.learn import page as learn
from ui.learn.assignment import as_points, as_text
from ui.learn.chapter import Chapter
from ui.learn.chapters import CHAPTERS
from ui.learn.classroom import near
from ui.shell.warmup import WarmUp

COURSE = list(CHAPTERS.values())
EACH = pytest.mark.parametrize("chapter", COURSE, ids=lambda chapter: chapter.key)

# ---- the text ------------------------------------------------------------------------------------------------


def words(text: str) -> int:
    return len(re.findall(r"[\w’'-]+", text))


@EACH
def test_a_chapter_is_short_and_complete(chapter: Chapter):
    assert words(chapter.claim) + words(chapter.to_do(lambda name: False)) < 60  # before the first thing to do
    assert 1 <= len(re.findall(r"[.?!](?:\s|$)", chapter.claim)) == 1  # one sentence
    assert len(chapter.controls) <= 3
    assert set(chapter.question.depends) <= chapter.defaults.keys()
    assert chapter.question.then.keys() <= chapter.defaults.keys()
    for name in formula.names(chapter.formula):
        assert words(formula.SYMBOLS[name].words) >= 3
    assert "[" not in re.sub(r"<[^>]*>", "", formula.html(chapter.formula))


@EACH
def test_the_right_answer_is_among_the_options(chapter: Chapter):
    right = chapter.answer(chapter.defaults)
    if chapter.question.options:
        assert right in chapter.question.options
    assert chapter.told(chapter.defaults)
    assert "{" not in chapter.told(chapter.defaults)


@EACH
def test_every_chapter_asks_a_class_something_that_phones_can_answer(chapter: Chapter):
    asked, (right, told) = lectern.asked_now(chapter, chapter.defaults), lectern.right_now(chapter, chapter.defaults)
    kept = asked.read(right)
    assert near(kept, right, chapter.question.tolerance + 0.005)
    assert told and "{" not in told
    assert told not in asked.text and asked == lectern.asked_now(chapter, dict(chapter.defaults))


EXPECTED = {
    "assignment": "A3 B1 C2 0.53",
    "structure": "0 18\n1 30",
    "plane": "islands {0.01: (1000, False, ",
    "split": "1 ['columns', 'rows']",
    "simplex": "[1. 0. 0.]",
    "step": "target=3.34",
    "rounding": "Rounded(matching=(1, 2, 0, 3), total=3.0",
    "penalty": "0.001 70 2559.0",
    "order": "B 1\nthird 10",
    "verdict": "third Causes(stuck=True, model=True) Causes(stuck=False, model=True)",
    "outliers": "0.9 right 15 wrong 1",
    "closing": "14 3 18 True",
    "luck": "17 of 30\nbest of five: 98%",
}


@EACH
def test_the_lines_of_python_repeat_the_chapter(chapter: Chapter):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(chapter.code, {})
    assert EXPECTED[chapter.key] in said.getvalue()
    lines = [line for line in chapter.code.splitlines() if line.strip() and "import" not in line]
    assert len(lines) <= 4


class Reader(HTMLParser):
    """Collects the text, and checks that tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.figures = 0

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"):
            self.figures += tag in ("svg", "table")
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


@pytest.mark.parametrize("answers", [False, True])
def test_the_worksheet_is_made_from_the_same_text(answers):
    reader = Reader()
    reader.feed(worksheet.page(COURSE, answers=answers))
    assert not reader.open
    for chapter in COURSE:
        assert chapter.claim in reader.text and (chapter.sheet.question or chapter.question.text) in reader.text
        assert (chapter.told(chapter.defaults) in reader.text) == answers
    assert not re.search(r"\b(drag|click|press|slider|move it|then run|orange)\b", reader.text, re.IGNORECASE)


def test_a_worksheet_has_a_code_for_every_chapter_where_phones_reach_the_page():
    from ui.parts import links

    with_codes = worksheet.page(COURSE, answers=False, link="https://course.example/learn?")
    assert with_codes.count('class="qr"') == len(COURSE) and "chapter=luck" in with_codes
    assert 'class="qr"' not in worksheet.page(COURSE, answers=False)
    assert links.alone("http://localhost:8501/learn?") and not links.alone("http://192.0.2.7:8501/learn?")


def test_speaker_notes_have_minutes_and_a_path_of_ten():
    assert sum(chapter.talk.short for chapter in COURSE) == 10
    assert all(chapter.talk.short <= chapter.talk.minutes for chapter in COURSE)
    reader = Reader()
    reader.feed(worksheet.speaker_notes(COURSE))
    assert not reader.open and "In 10 minutes" in reader.text
    assert f"All chapters: {sum(chapter.talk.minutes for chapter in COURSE)} minutes" in reader.text
    for chapter in COURSE:
        assert chapter.talk.say in reader.text and chapter.told(chapter.defaults) in reader.text
        assert not re.search(r"\d", re.sub(r"A to F|ρ = 1|iteration 1|to 0|₀|a 1 |one 1", "", chapter.talk.say))


@EACH
def test_every_chapter_has_a_figure_on_paper(chapter: Chapter):
    reader = Reader()
    reader.feed(chapter.sheet.figure(chapter.defaults))
    assert reader.figures and not reader.open


def test_a_formula_of_two_lines_has_two_lines_everywhere():
    assert formula.html("[xi] = 1\n[xj] = 0").count("<br>") == 1
    assert formula.html(CHAPTERS["verdict"].formula).count("<br>") == 1


@pytest.mark.parametrize(
    "term",
    [
        "ADMM",
        "ADGM",
        "simplex",
        "converged",
        "penalty",
        "multiplier",
        "block",
        "relaxed",
        "energy",
        "rounding",
    ],
)
def test_a_word_of_admm_is_explained_in_every_chapter_that_uses_it(term):
    words = f'data-words="{formula.escape(formula.NAMES[term.lower()], quote=True)}"'
    texts = [text for each in COURSE for text in (each.claim, each.to_do(lambda name: False))]
    using = [text for text in texts if re.search(rf"\b{term}s?\b", text, re.IGNORECASE)]
    assert all(words in formula.explained(text) for text in using)
    assert using or term == "relaxed"  # which stands in a title


def test_a_word_is_explained_once_and_markup_stays_text():
    told = formula.explained("A block <b> and two blocks; the Hungarian method")
    assert told.count("data-words") == 2 and "&lt;b&gt;" in told and "two blocks;" in told


def test_links_that_make_no_sense_are_not_followed():
    plain = as_points("")
    assert (
        as_points("1,2;3|4") == as_points("1,1;2,2;nan,3|1,1;2,2;3,3") == as_points("9,1;2,2;3,3|1,1;2,2;3,3") == plain
    )
    assert as_points(as_text(plain)) == plain
    for chapter in COURSE:
        for control in chapter.controls:
            assert control.read("rubbish") == control.default
            assert all(control.read(str(option)) == option for option in control.options)


# ---- the page ------------------------------------------------------------------------------------------------


def page() -> None:
    from ui.learn.page import show
    from ui.shell import presenter

    presenter.begin()
    show()


class Visit:
    """The page without a browser."""

    def __init__(self, script: Callable[[], None] = page, **query: str) -> None:
        self.test = AppTest.from_function(script, default_timeout=60)
        self.test.query_params.update(query)
        self.run()

    def run(self) -> None:
        self.test.run()
        assert not self.test.exception

    def press(self, name: str) -> None:
        next(button for button in self.test.button if button.label == name).click()
        self.run()

    def answer(self, given: object) -> None:
        box = (*self.test.radio, *self.test.number_input)
        if box:
            box[0].set_value(given)
        self.press(next(button.label for button in self.test.button if button.label in ("Check", "Run")))

    def widget(self, name: str):
        kinds = ("select_slider", "button_group")
        return next(w for kind in kinds for w in self.test.get(kind) if str(w.key).endswith(f" {name}"))

    def query(self, name: str) -> str:
        found = self.test.query_params.get(name, "")
        return found if isinstance(found, str) else found[-1]

    def says(self) -> str:
        return " ".join(str(element.value) for element in (*self.test.markdown, *self.test.caption))


def right_and_wrong(chapter: Chapter) -> tuple[object, object]:
    right = chapter.answer(chapter.defaults)
    if chapter.question.number:
        return round(float(right), 2), float(right) + 1
    return right, next((option for option in chapter.question.options if option != right), None)


@EACH
def test_a_wrong_answer_gets_a_hint_and_a_right_one_a_reason(chapter: Chapter):
    visit = Visit(chapter=chapter.key)
    right, wrong = right_and_wrong(chapter)
    visit.answer(wrong)
    said = [info.value for info in visit.test.info]
    plain = chapter.question.options or chapter.question.number
    given = f"{wrong:.2f}" if chapter.question.number else wrong
    predicted = f"You predicted {given}; the run says {chapter.comes_to(chapter.defaults)}. "
    before = predicted if chapter.question.button == "Run" else f"You said {given}. " if plain else ""
    assert said == [before + chapter.question.hint]
    assert not visit.test.error and not visit.test.success
    assert f"0 of {len(COURSE)} answered" in visit.says()
    solved = {"assignment": {"try": "A3 B1 C2"}, "simplex": {"c": "1.6,-0.1,-0.5"}}.get(chapter.key, {})
    if solved:
        visit = Visit(chapter=chapter.key, **solved)
    visit.answer(right)
    predicted = f"You predicted {right}; the run says {chapter.comes_to(chapter.defaults)}. "
    before = predicted if chapter.question.button == "Run" else ""
    assert [success.value for success in visit.test.success] == [before + chapter.told(chapter.defaults | solved)]
    assert f"1 of {len(COURSE)} answered" in visit.says()


@EACH
def test_every_control_moves_and_is_in_the_address(chapter: Chapter):
    visit = Visit(chapter=chapter.key)
    assert all(visit.widget(control.name).disabled == control.later for control in chapter.controls)
    visit.answer(right_and_wrong(chapter)[0])
    for control in chapter.controls:
        for option in (control.options[-1], control.options[0]):
            visit.widget(control.name).set_value(option)
            visit.run()
            assert visit.query(control.name) == ("" if option == control.default else str(option))


def test_what_was_predicted_stands_beside_what_the_run_says():
    said = {key: CHAPTERS[key].comes_to(CHAPTERS[key].defaults) for key in ("structure", "order", "outliers", "luck")}
    assert said == {
        "structure": f"{lessons.structure(1.0).right} of 30",
        "order": f"distances {lessons.turned('B', 60.0, 1.6).right} of 10, angles 10 of 10",
        "outliers": f"{lessons.priced(0.9).right} right matches instead of {lessons.priced(3.0).right}",
        "luck": f"{lessons.reached(lessons.lucky_starts())} of 30",
    }
    assert CHAPTERS["plane"].comes_to(CHAPTERS["plane"].defaults) == (
        "620 iterations with 0.01, 14 iterations with 1, 205 iterations with 50"
    )


def test_no_answer_asks_for_a_guess():
    visit = Visit(chapter="penalty")
    visit.press("Check")
    assert "Predict first" in visit.test.info[0].value


def test_steps_go_forth_and_back_and_end_where_the_run_ends():
    visit = Visit(chapter="split", k="8")
    visit.press("Step forward")
    assert visit.query("k") == "9"
    assert "Both are the same matching" in visit.says()
    assert next(button for button in visit.test.button if button.label == "Step forward").disabled
    visit.press("Step back")
    assert visit.query("k") == "8"


def test_a_question_about_the_shown_state_is_asked_anew_when_it_changes():
    visit = Visit(chapter="split")
    visit.answer("columns")
    assert visit.test.success
    visit.press("Step forward")
    assert not visit.test.success and not visit.test.info


def test_chapters_follow_each_other_and_keep_their_state():
    visit = Visit()
    assert visit.query("chapter") == ""  # Back leaves the page as it was opened
    for chapter in COURSE[1:]:
        visit.press("Next")
        assert visit.query("chapter") == chapter.key
    assert next(button for button in visit.test.button if button.label == "Next").disabled
    visit = Visit(chapter="split", k="3")
    visit.press("Next")
    assert visit.query("k") == ""
    visit.press("Previous")
    assert visit.query("k") == "3"


def test_a_link_locks_what_it_names_and_nothing_else():
    visit = Visit(chapter="penalty", rho="1.0", lock="rho")
    assert visit.widget("rho").disabled and visit.widget("rho").value == 1.0
    visit.answer("30")
    assert not visit.widget("rule").disabled
    assert visit.query("lock") == "rho"
    chapter = CHAPTERS["penalty"]
    assert "move it" in chapter.to_do(lambda name: False)
    assert "move it" not in str([html.body for html in visit.test.get("html")])
    assert "Set by the link that opened this page: First penalty ρ₀" in visit.says()


def test_no_two_chapters_share_a_name_that_a_link_could_lock():
    names = [control.name for chapter in COURSE for control in chapter.controls]
    assert len(names) == len(set(names))


def test_only_a_careful_run_waits_for_its_kernels(monkeypatch):
    waited = []
    monkeypatch.setattr(WarmUp, "wait", lambda self, stage: waited.append(stage))
    for chapter in COURSE:
        Visit(chapter=chapter.key)
    assert waited == []
    Visit(chapter="verdict", solver="ADGM+")
    assert waited == ["portfolio"]


def test_back_and_forward_follow_the_address(monkeypatch):
    visit = Visit()
    visit.press("Next")
    visit.answer(CHAPTERS["structure"].question.options[0])
    visit.widget("weight").set_value(0.5)
    visit.run()
    monkeypatch.setattr(learn, "went_back", lambda: True)
    for query, chapter in (
        ({"chapter": "structure", "weight": "1.0"}, "structure"),
        ({"chapter": "structure"}, "structure"),
        ({}, "assignment"),
        ({"chapter": "order", "turn": "60.0"}, "order"),
    ):
        visit.test.query_params.clear()
        visit.test.query_params.update(query)
        visit.run()
        assert formula.explained(CHAPTERS[chapter].claim) in str([html.body for html in visit.test.get("html")])
        assert {name: visit.query(name) for name in query} == query  # and nothing is written over it
        assert visit.query("chapter") == query.get("chapter", "")


@pytest.mark.parametrize(
    ("said", "count"),
    [({"before": ["split", "luck"]}, 2), ({"before": ["nonsense", 7, None]}, 0), ({"before": "split"}, 0), (7, 0)],
)
def test_a_reload_keeps_what_is_answered(said, count):
    state = {}

    class Session:
        session_state = state

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "st", Session)
        progress.recall(said, CHAPTERS)
    assert sum(notes.get("done", False) for notes in state.get("learn", {}).values()) == count


def test_controls_of_an_answered_chapter_are_free_after_a_reload():
    visit = Visit(chapter="penalty")
    assert visit.widget("rule").disabled and f"0 of {len(COURSE)}" in visit.says()
    visit.test.session_state["learn"]["penalty"]["done"] = True  # as `progress.recall` leaves it
    visit.run()
    assert not visit.widget("rule").disabled and f"1 of {len(COURSE)}" in visit.says()
    assert not visit.test.success and not visit.test.info


def test_the_course_uses_no_download():
    for chapter in COURSE:
        brought = OWN if chapter.brings else None
        if chapter.recipe is None:
            assert chapter.key in ("plane", "simplex", "closing")  # no problem of matching
            continue
        assert chapter.recipe(chapter.defaults).dataset in ("turntable", "random", "warp", brought)
    assert lessons.STRUCTURE.model_params["rows"] == EXACTLY_ONE


def test_letters_of_charts_are_as_large_as_the_pages_in_presenter_mode(monkeypatch):
    from ui.learn import pictures
    from ui.shell import presenter

    drawn: list[dict] = []
    monkeypatch.setattr(pictures.st, "echarts_chart", lambda spec, **_: drawn.append(spec))
    monkeypatch.setattr(presenter, "active", lambda: True)
    for height, letters in ((720, 24), (1080, 32)):
        monkeypatch.setattr(presenter.st, "session_state", {"height of the window": height})
        pictures.chart("key", [], {"name": "x"}, {"name": "y", "axisLabel": {"fontSize": 11}}, "alt", 100)
        spec = drawn.pop()
        axes = [spec["xAxis"], *spec["yAxis"]]
        assert {axis[part]["fontSize"] for axis in axes for part in ("axisLabel", "nameTextStyle")} == {letters}
        assert spec["legend"]["textStyle"]["fontSize"] == letters and spec["grid"]["top"] == 56 * letters / 16
    monkeypatch.setattr(presenter, "active", lambda: False)
    pictures.chart("key", [], {"name": "x"}, {"name": "y"}, "alt", 100)
    assert "fontSize" not in str(drawn.pop())


@pytest.mark.parametrize("key", ["assignment", "split", "plane"])
def test_a_run_is_taken_away_as_a_moving_picture(key):
    from PIL import Image

    chapter = CHAPTERS[key]
    with Image.open(io.BytesIO(film.made(chapter, chapter.defaults, "gif"))) as picture:
        frames = [np.asarray(picture.convert("RGB")) for k in range(picture.n_frames) if picture.seek(k) is None]
    runs = {"plane": len(plane.walk(CHAPTERS["plane"].defaults, 1.0)), "split": len(lessons.trail()) + 1}
    assert len(frames) == runs.get(key, len(frames)) > 3
    assert (frames[0] != frames[-1]).any() and min(frames[0].shape[:2]) > 300


def test_every_chapter_with_a_run_offers_it_as_a_moving_picture():
    assert [chapter.key for chapter in COURSE if not (chapter.film or chapter.recipe)] == ["simplex", "closing"]
