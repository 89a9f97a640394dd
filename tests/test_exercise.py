"""Exercises of a lecturer's own: a link to what is on the screen, with a question and a sealed answer."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from features.explain import lessons
from features.recipe import Recipe
from test_learn import Visit
from ui.match import exercise


@pytest.mark.parametrize(
    ("given", "expected", "good"),
    [
        ("30", "30", True),
        ("29.9", "30", True),
        ("29", "30", False),
        ("Both  Agree", "both agree", True),
        ("no", "1", False),
    ],
)
def test_a_lecturers_answer_is_compared_as_a_number_or_as_words(given, expected, good):
    assert exercise.right(given, exercise.sealed(expected)) is good


@given(some.floats(-1e6, 1e6), some.floats(-0.02, 0.02))
@settings(max_examples=25)
def test_numbers_within_half_a_percent_are_accepted_and_beyond_one_are_not(expected, off):
    given = expected * (1 + off)
    mine, theirs = exercise.readings(repr(given)), exercise.readings(repr(expected))[0]
    if abs(off) <= 0.0049 or given == expected:
        assert theirs in mine
    elif abs(off) > 0.0101:
        assert theirs not in mine


def test_a_link_does_not_tell_the_expected_answer():
    for answer in ("yes", "30", "-40.13", "model prefers this"):
        one, other = exercise.sealed(answer), exercise.sealed(answer)
        assert one != other  # salted
        assert exercise.SEAL.fullmatch(one)  # a salt and a hash, of one length for all answers
        assert exercise.right(answer, one) and not exercise.right("another", one)
    assert not exercise.right("yes", "yes") and not exercise.right("nan", exercise.sealed("inf"))


def match() -> None:
    from ui.match import page as match
    from ui.shell import presenter

    presenter.begin()
    match.show()()


def test_a_link_brings_a_question_to_match_and_a_wrong_answer_a_second_look():
    visit = Visit(
        match, **lessons.STUCK.to_query(), ask="Is **it** stuck?", answer=exercise.sealed("yes"), lock="model"
    )
    assert "Is **it** stuck?" in [text.value for text in visit.test.text]  # as text, not as markup
    box = next(box for box in visit.test.text_input if box.key == "teach answer")
    box.set_value("no")
    visit.run()
    assert "look again" in visit.test.info[-1].value
    next(box for box in visit.test.text_input if box.key == "teach answer").set_value("Yes")
    visit.run()
    assert visit.test.success
    assert visit.query("ask") and visit.query("lock") == "model"  # the address keeps them


def test_what_is_on_the_screen_becomes_a_link_with_a_question():
    visit = Visit(match, **lessons.STUCK.to_query())
    next(box for box in visit.test.text_area if box.key == "teach question").set_value("How many & why?")
    next(box for box in visit.test.multiselect if box.key == "teach locks").set_value(["rho", "model"])
    next(box for box in visit.test.text_input if box.key == "teach expected").set_value("stuck")
    visit.run()
    link = next(code.value for code in visit.test.code if "ask=" in code.value)
    words = dict(parse_qsl(urlsplit(link).query))
    assert "stuck" not in link and exercise.right("Stuck", words.pop("answer"))
    assert (words.pop("ask"), words.pop("lock")) == ("How many & why?", "rho,model")
    assert Recipe.from_query(words) == lessons.STUCK
