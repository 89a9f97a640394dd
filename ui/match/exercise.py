"""Exercises of a lecturer's own on the Match page: what is on the screen, with a question.

A question without an expected answer travels in the link (`?ask=…`). With one, or about a pair of the lecturer's own,
the server keeps the exercise under a short link (`ui.learn.exercises`), and compares the answers itself.
"""

from typing import TYPE_CHECKING
from urllib.parse import urlencode

import streamlit as st

from features.recipe import Recipe
from ui.choice import address
from ui.learn import exercises, question_form
from ui.learn.classroom import TEXT
from ui.learn.exercises import EXERCISES, GONE, Exercise
from ui.parts.escape import literal
from ui.parts.links import address as address_of
from ui.shell import presenter
from ui.shell.session_slots import EXERCISE, OWN_PAIR

if TYPE_CHECKING:
    from ui.choice.sidebar import Chosen

ASK = "ask"
LOCKS = ("images", "points", "model", "solver", "rho", "pace")


def follow() -> None:
    """Begin with what the exercise in the link is about; once, before anything is drawn."""
    code = st.query_params.get(exercises.WORD, "")
    if not code or code == EXERCISE.get():
        return
    EXERCISE.set(code)
    found = EXERCISES.find(code)
    if found is None or found[0].page != "match":
        st.warning(GONE, icon=":material/link_off:")
        return
    exercise, _ = found
    if exercise.pair is not None:
        OWN_PAIR.set(exercise.pair)
    address.use(Recipe.from_query(dict(exercise.words)))
    presenter.begin_with(exercise.locked, exercise.hidden, exercise.presenting)


def box() -> None:
    """The question that a link brings, above the picture; what is asked is text, never markup."""
    found = EXERCISES.find(st.query_params.get(exercises.WORD, ""))
    exercise = found[0] if found and found[0].page == "match" else None
    asked = exercise.text if exercise else st.query_params.get(ASK, "")[:TEXT].strip()
    with st.container(key="teach-asked", border=bool(asked), gap="small"):
        if not asked:
            return
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text(asked, width="stretch")
            if exercise is None or not exercise.answer:
                return
            given = answered(exercise)
            st.button("Check", key="teach check", icon=":material/check:")
        if given and exercise.accepts(given[:TEXT]):
            st.success(literal(exercise.because or "That is the expected answer."), icon=":material/check_circle:")
        elif given:
            hint = exercise.hint or "Not what was expected: run it once more and look again."
            st.info(literal(hint), icon=":material/lightbulb:")


def answered(exercise: Exercise) -> str:
    """A place for the answer, and what stands there."""
    label, key = "Your answer", "teach answer"
    if exercise.options:
        options = exercise.options
        return st.radio(label, options, None, literal, key, horizontal=True, label_visibility="collapsed") or ""
    return st.text_input(label, key=key, width=220, label_visibility="collapsed", placeholder=label)


def offer(chosen: "Chosen | None") -> None:
    """Teach this: a question about what is on the screen becomes a link."""
    if chosen is None:
        return
    with st.popover(
        "Teach this", icon=":material/school:", key="teach", help="A link to this with a question of yours"
    ):
        kinds = (question_form.WORDS, question_form.NUMBER, question_form.CHOICES)
        parts = question_form.asked("teach", kinds)
        locks = st.multiselect("Lock", LOCKS, key="teach locks", help="What the class cannot change")
        presenting = st.toggle("Open in presenter mode", key="teach present")
        words = chosen.recipe.to_query()
        if chosen.own:
            st.caption("Your pictures and points travel with the exercise: everybody who has its link sees them.")
        elif parts["text"] and not parts["answer"]:
            words |= {ASK: parts["text"]}
            words |= {presenter.LOCK: ",".join(locks)} if locks else {}
            words |= {presenter.PRESENT: "1"} if presenting else {}
            question_form.shown(f"{address_of()}{urlencode(words)}", "Link to the question, which does not expire")
        pair = chosen.pair if chosen.own else None
        more = {"locked": tuple(locks), "presenting": presenting}
        question_form.make("teach", "match", chosen.recipe.to_query(), pair, **parts, **more)
