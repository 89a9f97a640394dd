"""Exercises of a lecturer's own on the Match page: a link to what is on the screen, with a question."""

from typing import TYPE_CHECKING
from urllib.parse import urlencode

import streamlit as st

from ui import present

if TYPE_CHECKING:
    from ui.sidebar import Chosen

ASK, ANSWER = "ask", "answer"
LONGEST = 400  # characters of a question
LOCKS = ("images", "points", "model", "solver", "rho", "pace")


def right(given: str, expected: str) -> bool:
    """Whether an answer is the expected one: as numbers within a hundredth, else as words but for capitals."""
    try:
        a, b = (float(text.replace(",", ".").strip()) for text in (given, expected))
        return abs(a - b) <= 0.01 * max(abs(b), 1e-12)
    except ValueError:
        return given.lower().split() == expected.lower().split()


def box() -> None:
    """The question that a link brings, above the picture; what is asked is text, never markup."""
    asked, expected = (st.query_params.get(name, "")[:LONGEST].strip() for name in (ASK, ANSWER))
    with st.container(key="teach-asked", border=bool(asked), gap="small"):
        if not asked:
            return
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text(asked, width="stretch")
            if not expected:
                return
            given = st.text_input(
                "Your answer", key="teach answer", width=220, label_visibility="collapsed", placeholder="Your answer"
            )
            st.button("Check", key="teach check", icon=":material/check:")
        if given and right(given, expected):
            st.success("That is the expected answer.", icon=":material/check_circle:")
        elif given:
            st.info("Not what was expected: run it once more and look again.", icon=":material/lightbulb:")


def link(chosen: "Chosen", question: str, answer: str, locks: list[str], presenting: bool) -> str:
    """The address of what is on the screen, with a question and what is locked."""
    words = chosen.recipe.to_query() | {ASK: question[:LONGEST].strip()}
    words |= {ANSWER: answer.strip()} if answer.strip() else {}
    words |= {present.LOCK: ",".join(locks)} if locks else {}
    words |= {present.PRESENT: "1"} if presenting else {}
    here = str(st.context.url or "").partition("?")[0]
    return f"{here}?{urlencode(words)}"


def offer(chosen: "Chosen | None") -> None:
    """Teach this: a question about what is on the screen becomes a link."""
    if chosen is None:
        return
    with st.popover(
        "Teach this", icon=":material/school:", key="teach", help="A link to this with a question of yours"
    ):
        if chosen.own:
            st.caption("Images of your own and edited points cannot travel in a link: choose a data set's pair.")
            return
        question = st.text_area("Question", key="teach question", max_chars=LONGEST, placeholder="What happens if …?")
        answer = st.text_input("Expected answer (if you like)", key="teach expected", help="A number or a few words")
        locks = st.multiselect("Lock", LOCKS, key="teach locks", help="What the class cannot change")
        presenting = st.toggle("Open in presenter mode", key="teach present")
        if question.strip():
            st.code(link(chosen, question, answer, locks, presenting), language=None, wrap_lines=True)
        else:
            st.caption("Type a question: the link appears here.")
