"""Links and exercises of a lecturer's own: what is locked and hidden, and a question with its expected answer."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from ui.learn import exercises
from ui.learn.chapter import Chapter, ChapterState, Question, Values
from ui.learn.chapters import CHAPTERS
from ui.learn.exercises import WORD, Exercise
from ui.learn.question_form import CHOICES, NUMBER, asked, make, shown
from ui.parts.escape import literal
from ui.parts.links import address
from ui.shell import presenter

ASKED = "learn link asked"
COARSE = 0.0051  # numbers are typed with two decimals
# What a link can hide of a chapter, besides its controls.
PARTS = {
    "task": "the task",
    "formula": "the formula",
    "numbers": "the lines of numbers",
    "question": "the question",
    "python": "The same in Python",
    "match": "Open this on Match",
    "glossary": "Glossary",
}


def chapter_of(exercise: Exercise, code: str, reveals: bool) -> Chapter:
    """A chapter that asks a lecturer's question in place of its own."""
    chapter = CHAPTERS[exercise.words["chapter"]]
    number = exercise.number
    reason = literal(exercise.because or "That is the expected answer.").replace("{", "{{").replace("}", "}}")
    tolerance = exercises.FINE * abs(number or 0) if exercise.tolerance is None else exercise.tolerance
    right: Any = exercise.answer if number is None else number

    def work(values: Values) -> None:
        chapter.prepare(values)

    return replace(
        chapter,
        exercise=code,
        reveals_answer=reveals,
        begins=dict(exercise.words),
        question=Question(
            exercise.text,
            hint=literal(exercise.hint or "Look at the picture once more."),
            because="{answer}. " + reason,
            options=exercise.options,
            number=number is not None,
            tolerance=max(tolerance, COARSE),
        ),
        answer=lambda values: right,
        solution=lambda values: literal(exercise.answer),
        work=work,
        poll=None,
        outcome=None,
        numbers=None,
    )


def open_dialog() -> None:
    st.session_state[ASKED] = True


def follow(state: ChapterState) -> None:
    """Show the dialog if it was asked for."""
    if st.session_state.pop(ASKED, False):
        dialog(state)


@st.dialog("A link of your own", width="large")
def dialog(state: ChapterState) -> None:
    """A link to this chapter as it stands."""
    chapter = CHAPTERS[state.chapter.key]
    labels = {one.name: one.label for one in chapter.controls}
    left, right = st.columns(2)
    locked = left.multiselect("Lock", list(labels), format_func=labels.__getitem__, key="link lock")
    hidden = right.multiselect("Hide", [*PARTS, *labels], format_func=(PARTS | labels).__getitem__, key="link hide")
    presenting = left.toggle("Open in presenter mode", key="link present")
    own = right.toggle("Ask a question of your own", key="link own")
    words = {name: value for name, value in state.words.items() if name != WORD}
    if own:
        parts = asked("link", (CHOICES, NUMBER))
        more = {"locked": tuple(locked), "hidden": tuple(hidden), "presenting": presenting}
        make("link", "learn", words, None, **parts, **more)
        return
    words |= {presenter.LOCK: ",".join(locked)} if locked else {}
    words |= {presenter.HIDE: ",".join(hidden)} if hidden else {}
    words |= {presenter.PRESENT: "1"} if presenting else {}
    shown(address(**words), "Link")
    st.caption("It holds everything itself, so it does not expire.")
    st.markdown("**To put it into a page of yours**")
    inside = urlencode(words | {"embed": "true", presenter.PRESENT: "1"})
    frame = f'<iframe src="{address()}{inside}" width="100%" height="640"></iframe>'
    st.code(frame, language="html", wrap_lines=True)
