"""Exercises of a lecturer's own: kept under short links, bounded, and judged without telling the answer."""

import re
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from features.explain import lessons
from features.pairs import Pair, View
from features.points.images import Image
from features.points.keypoints import Keypoints
from features.recipe import OWN, Recipe
from test_learn import Visit
from ui.learn import page as learn
from ui.learn import progress, question_form
from ui.learn.chapters import CHAPTERS
from ui.learn.classroom import TEXT
from ui.learn.exercises import CODE, FULL, GONE, LENGTH, Exercise, Exercises, how_long
from ui.match import exercise as on_match
from ui.shell.session_slots import OWN_PAIR, RECIPE

SPLIT = {"chapter": "split", "k": "5"}


def made(text: str = "Which block is it?", answer: str = "x₂", **more: object) -> Exercise:
    return Exercise("learn", SPLIT, text, answer, **{"options": ("x₁", "x₂", "both"), **more})


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def kept(monkeypatch, clock) -> Exercises:
    store = Exercises(most=5, each=3, nbytes=100_000, seconds=100, clock=clock)
    for module in (learn, question_form, on_match):
        monkeypatch.setattr(module, "EXERCISES", store)
    return store


# ---- the record and the store ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected", "good"),
    [
        ("30", "30", True),
        ("29,9", "30", True),
        ("29", "30", False),
        ("−40.1", "-40.13", True),
        ("Both  Agree", "both agree", True),
        ("no", "1", False),
        ("nan", "1", False),
        ("inf", "inf", True),  # words
    ],
)
def test_an_answer_is_compared_as_a_number_or_as_words(given, expected, good):
    assert made(answer=expected, options=()).accepts(given) is good


@given(some.floats(-1e6, 1e6), some.floats(0, 10), some.floats(-20, 20))
@settings(max_examples=60)
def test_a_number_is_accepted_within_the_tolerance_and_not_beyond(expected, tolerance, off):
    asked = made(answer=repr(expected), options=(), tolerance=tolerance)
    if abs(abs(off) - tolerance) > 1e-6:
        assert asked.accepts(repr(expected + off)) == (abs(off) < tolerance)
    plain = made(answer=repr(expected), options=())
    assert plain.accepts(repr(expected * 1.0049)) and (
        abs(expected) < 1e-6 or not plain.accepts(repr(expected * 1.0051))
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"text": ""}, "Type a question"),
        ({"text": "x" * (TEXT + 1)}, "at most 400 characters"),
        ({"hint": "x" * (TEXT + 1)}, "at most 400 characters"),
        ({"options": ("a",)}, "at least two options"),
        ({"options": ("a", "a")}, "at least two options"),
        ({"options": tuple(map(str, range(13)))}, "at most 12 options"),
        ({"options": ("a", "b")}, "none of the options"),
        ({"options": (), "tolerance": -1.0}, "at least 0"),
        ({"options": (), "tolerance": float("nan")}, "at least 0"),
    ],
)
def test_an_exercise_that_makes_no_sense_is_refused_in_a_sentence(wrong, said):
    with pytest.raises(ValueError, match=said):
        made(**wrong)


def test_exercises_are_bounded_in_number_and_bytes_and_the_oldest_of_an_owner_give_way(kept):
    codes = [kept.keep("a", made(f"Question {k}?")).code for k in range(5)]
    assert [kept.find(code) is not None for code in codes] == [False, False, True, True, True]
    kept.keep("b", made()), kept.keep("c", made())
    with pytest.raises(ValueError, match=re.escape(FULL)):
        kept.keep("d", made())
    assert kept.find(codes[2]) is not None  # who is in stays
    kept.keep("a", made())  # in place of the oldest of the same owner
    images = View(Image(np.zeros((300, 300, 3), np.uint8)), Keypoints(np.ones((2, 2))))
    with pytest.raises(ValueError, match=re.escape(FULL)):
        Exercises(nbytes=500_000).keep("a", made(pair=Pair(images, images)))
    assert made(pair=Pair(images, images)).nbytes > 2 * 270_000


def test_an_exercise_is_deleted_when_nobody_has_opened_it_for_long(kept, clock):
    code, other = kept.keep("a", made()).code, kept.keep("a", made()).code
    clock.now = 90
    assert kept.find(code) is not None
    clock.now = 150
    assert kept.expire() and not kept.expire()
    assert kept.find(code) is not None and kept.find(other) is None


def test_only_the_lecturers_link_may_reveal_and_codes_are_nothing_else(kept):
    mine = kept.keep("a", made())
    assert CODE.fullmatch(mine.code) and CODE.fullmatch(mine.lecturers) and len(mine.code) == LENGTH
    assert kept.find(mine.code)[1] is False and kept.find(mine.lecturers)[1] is True
    assert kept.find(mine.code + mine.code)[1] is False
    for text in ("", mine.code[:-1], mine.lecturers + "A", "<script>", mine.code.lower(), "K" * 5000):
        assert kept.find(text) is None


# ---- on Learn -------------------------------------------------------------------------------------------------


def page_of(visit: Visit) -> str:
    """Everything that the browser was sent."""
    return str([element.proto for element in visit.test.main]) + str(visit.test.main) + str(visit.test.query_params)


def test_a_chapter_asks_the_lecturers_question_and_tells_no_answer_before_it_is_given(kept):
    asked = made(
        "Is **x₂** {a} matching?",
        "secret option",
        options=("other", "secret option"),
        hint="Look {here}: *rows*",
        because="Its rows are {all} one & so on",
        locked=("k",),
        hidden=("formula", "python"),
    )
    code = kept.keep("lecturer", asked).code
    visit = Visit(exercise=code)
    assert visit.query("chapter") == "split" and visit.query("lock") == "k" and visit.query("exercise") == code
    assert visit.widget("k").value == 5 and visit.widget("k").disabled
    assert "Is \\*\\*x₂\\*\\* \\{a\\} matching?" in visit.says()  # as text, not as markup
    assert "equations (25)" not in page_of(visit) and "from features" not in page_of(visit)
    assert "so on" not in page_of(visit) and "Look" not in page_of(visit)
    visit.answer("other")
    assert visit.test.info[0].value == "You said other. Look \\{here\\}\\: \\*rows\\*"
    assert "so on" not in page_of(visit)
    visit.answer("secret option")
    assert visit.test.success[0].value == "Secret option. Its rows are \\{all\\} one \\& so on"
    assert f"0 of {len(CHAPTERS)} answered" in visit.says()  # the chapter's own question is not
    visit.press("Next")
    assert visit.query("exercise") == "" and visit.query("chapter") == "simplex"
    assert CHAPTERS["simplex"].question.text.split(",")[0] in visit.says().replace("\\", "")
    locked = Visit(exercise=code, chapter="split", k="2")
    assert locked.widget("k").value == 5  # an address does not move what is locked


def test_numbers_have_a_tolerance_and_only_the_lecturer_reveals(kept):
    ticket = kept.keep("lecturer", made("How far?", "3.5", options=(), tolerance=0.25, presenting=True))
    student = Visit(exercise=ticket.code)
    assert "Reveal" not in [button.label for button in student.test.button] and student.query("present") == "1"
    for value, good in ((3.8, False), (3.7, True), (3.3, True), (3.2, False)):
        student.answer(value)
        assert bool(student.test.success) == good
    lecturer = Visit(exercise=ticket.lecturers)
    lecturer.press("Reveal")
    assert lecturer.test.success[0].value.startswith("3\\.5. ")


def test_a_class_answers_a_lecturers_question(kept):
    ticket = kept.keep("lecturer", made("A question of mine?"))
    lecturer = Visit(exercise=ticket.lecturers)
    lecturer.press("Let the class answer")
    room = question_form_room(lecturer)
    student = Visit(**{"class": room})
    assert "A question of mine?" in student.says() and list(student.test.radio[0].options) == ["x₁", "x₂", "both"]
    lecturer.press("Close the room")


def question_form_room(lecturer: Visit) -> str:
    from ui.learn.classroom import ROOMS

    room = ROOMS.of(lecturer.test.session_state[progress.NAME])
    assert room is not None
    return room.code


@pytest.mark.parametrize("code", ["AAAAAAAA", "<script>", "K" * 5000, "x"])
def test_an_exercise_that_is_gone_is_told_and_the_course_stays(kept, code):
    visit = Visit(exercise=code)
    assert visit.test.warning[0].value == GONE
    assert CHAPTERS["assignment"].question.text in visit.says().replace("\\", "")
    visit.press("Next")
    assert not visit.test.warning


# What a link can hide, by a text of the page that then is gone.
HIDDEN = {
    "task": "Step forward and watch both",
    "formula": "equations (25)",
    "numbers": "squared distance of the blocks ‖",
    "question": "which sums are all one?",
    "python": "from features.explain import lessons",
    "match": "Open this on Match",
    "glossary": "**Words**",
    "k": "learn split k",
}


def test_a_link_hides_what_it_names_and_nothing_else():
    def seen(visit: Visit) -> set[str]:
        sent = page_of(visit)
        return {name for name, text in HIDDEN.items() if text in sent}

    assert seen(Visit(**SPLIT)) == set(HIDDEN)
    for name in HIDDEN:
        visit = Visit(**SPLIT, hide=name)
        assert seen(visit) == set(HIDDEN) - {name} and visit.query("hide") == name
    free = Visit(chapter="penalty", hide="question")
    assert not free.widget("rule").disabled  # which otherwise waits for a prediction


def dialog() -> None:
    """The form alone: a test's page draws no dialog twice."""
    from ui.learn import builder
    from ui.learn.chapter import ChapterState
    from ui.learn.chapters import CHAPTERS

    builder.dialog(ChapterState(CHAPTERS["split"]))


def by_key(visit: Visit, kind: str, key: str):
    return next(each for each in visit.test.get(kind) if each.key == key)


def links(visit: Visit) -> list[dict[str, str]]:
    return [dict(parse_qsl(urlsplit(code.value).query)) for code in visit.test.code if "?" in code.value]


def test_the_builder_makes_a_link_that_needs_no_server_and_one_that_does(kept):
    visit = Visit(dialog, **SPLIT)
    by_key(visit, "multiselect", "link lock").set_value(["k"])
    by_key(visit, "multiselect", "link hide").set_value(["formula"])
    visit.run()
    assert links(visit)[0] == {**SPLIT, "lock": "k", "hide": "formula"}
    assert "embed=true&present=1" in visit.test.code[1].value and visit.test.code[1].value.startswith("<iframe")
    by_key(visit, "toggle", "link own").set_value(True)
    visit.run()
    visit.press("Make the link")
    assert visit.test.warning[0].value == "Type a question\\."
    by_key(visit, "text_area", "link question").set_value("Rows or columns?")
    by_key(visit, "text_area", "link options").set_value("rows\n\n columns \nrows\n")
    visit.run()
    by_key(visit, "selectbox", "link expected option").set_value("columns")
    visit.press("Make the link")
    assert how_long() in visit.says()
    (student, lecturer) = links(visit)
    assert student.keys() == lecturer.keys() == {"exercise"}
    asked, reveals = kept.find(student["exercise"])
    assert (asked.text, asked.options, asked.answer) == ("Rows or columns?", ("rows", "columns"), "columns")
    assert (asked.words, asked.locked, asked.hidden, reveals) == (SPLIT, ("k",), ("formula",), False)
    assert kept.find(lecturer["exercise"])[1] is True


# ---- on Match -------------------------------------------------------------------------------------------------


def match() -> None:
    from ui.match import page as match
    from ui.shell import presenter

    presenter.begin()
    match.show()()


def test_a_question_in_a_link_is_text_and_needs_no_server(kept):
    visit = Visit(match, **lessons.STUCK.to_query(), ask="Is **it** stuck?", answer="0123456789abcdef." + "0" * 32)
    assert "Is **it** stuck?" in [text.value for text in visit.test.text]  # as text, not as markup
    assert not [box for box in visit.test.text_input if box.key == "teach answer"]  # a link of former times


def test_an_exercise_on_match_opens_the_lecturers_own_pair_and_judges_on_the_server(kept):
    pair = lessons.triangle_pair()
    words = Recipe(OWN, model="given").to_query()
    asked = Exercise("match", words, "Is **it** stuck?", "yes", hint="Run it.", pair=pair, locked=("model",))
    code = kept.keep("lecturer", asked).code
    visit = Visit(match, exercise=code)
    assert visit.test.session_state[OWN_PAIR.name] is pair and visit.query("exercise") == code
    assert "Is **it** stuck?" in [text.value for text in visit.test.text]
    for answer, good in (("no", False), (" YES ", True)):
        next(box for box in visit.test.text_input if box.key == "teach answer").set_value(answer)
        visit.run()
        assert bool(visit.test.success) == good
        assert good or visit.test.info[-1].value == "Run it\\."
    assert GONE in [warning.value for warning in Visit(match, exercise="AAAAAAAA").test.warning]
    assert GONE in [warning.value for warning in Visit(match, exercise=kept.keep("a", made()).code).test.warning]


def test_what_is_on_the_screen_becomes_an_exercise(kept):
    visit = Visit(match, **lessons.STUCK.to_query())
    by_key(visit, "text_area", "teach question").set_value("How many & why?")
    by_key(visit, "multiselect", "teach locks").set_value(["rho", "model"])
    visit.run()
    words = links(visit)[-1]
    assert (words.pop("ask"), words.pop("lock")) == ("How many & why?", "rho,model")
    assert Recipe.from_query(words) == lessons.STUCK
    by_key(visit, "text_input", "teach expected").set_value("stuck")
    visit.press("Make the link")
    told = [code.value for code in visit.test.code if "exercise=" in code.value]
    asked, _ = kept.find(dict(parse_qsl(urlsplit(told[0]).query))["exercise"])
    assert len(told) == 1 and asked.accepts("Stuck") and asked.locked == ("rho", "model") and asked.pair is None
    assert Recipe.from_query(dict(asked.words)) == lessons.STUCK


def test_an_exercise_about_ones_own_formula_opens_with_it(kept):
    text = "edges -exp(-(d1 - d2)^2 / s2) on delaunay\ns2 = 500" + "\n# a remark that makes the text long" * 6
    recipe = Recipe("random", {"inliers": 5, "outliers": 0}, text, {"s2": 300.0})
    asked = Exercise("match", recipe.to_query(), "Does s2 matter?", "yes")
    visit = Visit(match, exercise=kept.keep("lecturer", asked).code)
    opened = visit.test.session_state[RECIPE.name]
    assert (opened.model, opened.model_params["s2"]) == (recipe.model, 300.0)
    assert "Does s2 matter?" in [text.value for text in visit.test.text]
