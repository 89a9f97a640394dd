"""Exercises of a lecturer's own on the Match page: a link to what is on the screen, with a question.

A link may carry the expected answer, sealed: a random salt and a hash of both. Nobody can read the answer from it, and
the server need not keep anything. Whoever tries all possible answers can find it, as they could on the page.
"""

import hashlib
import math
import re
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import streamlit as st

from ui.shell import presenter

if TYPE_CHECKING:
    from ui.choice.sidebar import Chosen

ASK, ANSWER = "ask", "answer"
LONGEST = 400  # characters of a question
ROUNDS = 20_000  # of hashing: some hundredths of a second for an answer
FINE = math.log1p(0.005)  # numbers are as good as equal if they are of the same step of this size, or of the next one
SEAL = re.compile(r"([0-9a-f]{16})\.([0-9a-f]{32})")
KEPT = "A number or a few words. The link carries it as a salted hash, which cannot be read."
LOCKS = ("images", "points", "model", "solver", "rho", "pace")


def sealed(answer: str) -> str:
    """The expected answer as a link carries it."""
    salt = secrets.token_hex(8)
    return f"{salt}.{_hash(salt, readings(answer)[0])}"


def right(given: str, seal: str) -> bool:
    """Whether an answer is the expected one: the same words but for capitals, or a number that is off by half a percent
    at most; one that is off by more than one percent never is."""
    found = SEAL.fullmatch(seal)
    return found is not None and any(_hash(found[1], each) == found[2] for each in readings(given))


def readings(answer: str) -> list[str]:
    """What an answer may stand for: a number for steps that grow with it, its own and the two beside; or its words."""
    with suppress(ValueError, OverflowError):
        value = float(answer.replace(",", ".").strip())
        step = round(math.log(abs(value)) / FINE) if value else None
        if step is None:
            return ["0"]
        return [f"{'-' if value < 0 else '+'}{step + by}" for by in (0, -1, 1)]
    return [" ".join(answer.lower().split())]


def _hash(salt: str, reading: str) -> str:
    return hashlib.pbkdf2_hmac("sha256", reading.encode(), bytes.fromhex(salt), ROUNDS, 16).hex()


def box() -> None:
    """The question that a link brings, above the picture; what is asked is text, never markup."""
    asked, seal = (st.query_params.get(name, "")[:LONGEST].strip() for name in (ASK, ANSWER))
    with st.container(key="teach-asked", border=bool(asked), gap="small"):
        if not asked:
            return
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text(asked, width="stretch")
            if not SEAL.fullmatch(seal):
                return
            given = st.text_input(
                "Your answer", key="teach answer", width=220, label_visibility="collapsed", placeholder="Your answer"
            )
            st.button("Check", key="teach check", icon=":material/check:")
        if given and right(given[:LONGEST], seal):
            st.success("That is the expected answer.", icon=":material/check_circle:")
        elif given:
            st.info("Not what was expected: run it once more and look again.", icon=":material/lightbulb:")


def link(chosen: "Chosen", question: str, answer: str, locks: list[str], presenting: bool) -> str:
    """The address of what is on the screen, with a question and what is locked."""
    words = chosen.recipe.to_query() | {ASK: question[:LONGEST].strip()}
    words |= {ANSWER: sealed(answer)} if answer.strip() else {}
    words |= {presenter.LOCK: ",".join(locks)} if locks else {}
    words |= {presenter.PRESENT: "1"} if presenting else {}
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
        answer = st.text_input("Expected answer (if you like)", key="teach expected", help=KEPT)
        locks = st.multiselect("Lock", LOCKS, key="teach locks", help="What the class cannot change")
        presenting = st.toggle("Open in presenter mode", key="teach present")
        if question.strip():
            st.code(link(chosen, question, answer, locks, presenting), language=None, wrap_lines=True)
        else:
            st.caption("Type a question: the link appears here.")
