"""The form in which a lecturer types a question with its expected answer, and gets the links of the exercise."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import streamlit as st

from features.limits import LIMITS
from features.pairs import Pair
from ui.learn import progress
from ui.learn.classroom import OPTION, TEXT
from ui.learn.exercises import EXERCISES, WORD, Exercise, how_long
from ui.parts.escape import literal
from ui.parts.links import address

MADE = "exercise made"
CHOICES, NUMBER, WORDS = "one of several", "a number", "a few words"


def asked(key: str, kinds: Sequence[str]) -> dict[str, Any]:
    """The question with its answer, hint and reason, as typed: parts of an `Exercise`."""
    text = st.text_area("Question", key=f"{key} question", max_chars=TEXT, placeholder="What happens if …?", height=70)
    kind = st.segmented_control("The answer is", kinds, default=kinds[0], required=True, key=f"{key} kind")
    options: tuple[str, ...] = ()
    tolerance = None
    if kind == CHOICES:
        lines = st.text_area("Options, one per line", key=f"{key} options", max_chars=12 * OPTION, height=90)
        options = tuple(dict.fromkeys(filter(None, (line.strip() for line in lines.splitlines()))))
        answer = st.selectbox("Expected answer", options, key=f"{key} expected option") or ""
    elif kind == NUMBER:
        one, two = st.columns(2)
        value = one.number_input("Expected answer", value=None, format="%.4g", key=f"{key} expected number")
        answer = "" if value is None else repr(value)
        tolerance = two.number_input(
            "Tolerance",
            value=None,
            min_value=0.0,
            format="%.4g",
            key=f"{key} tolerance",
            help="Half a percent if empty",
        )
    else:
        answer = st.text_input("Expected answer (if you like)", key=f"{key} expected", max_chars=TEXT)
    one, two = st.columns(2)
    hint = one.text_input("Hint after another answer", key=f"{key} hint", max_chars=TEXT)
    because = two.text_input("Reason after the expected answer", key=f"{key} because", max_chars=TEXT)
    parts = {"text": text, "answer": answer, "hint": hint, "because": because}
    return {name: text.strip() for name, text in parts.items()} | {"options": options, "tolerance": tolerance}


def make(key: str, page: Literal["learn", "match"], words: Mapping[str, str], pair: Pair | None, **parts: Any) -> None:
    """A button that keeps the exercise and shows its links."""
    told = f"The server keeps it for {how_long()} after it was opened last, or until it is restarted."
    st.caption(f"{told} The expected answer stays on the server. Of yours it keeps the latest {LIMITS.exercises_each}.")
    if st.button("Make the link", key=f"{key} make", type="primary", icon=":material/link:"):
        st.session_state.pop(MADE, None)
        try:
            exercise = Exercise(page, dict(words), pair=pair, **parts)
            if page == "learn" and not exercise.answer:
                raise ValueError("Give the expected answer.")
            st.session_state[MADE] = key, EXERCISES.keep(progress.name(), exercise)
        except ValueError as refused:
            st.warning(literal(str(refused)), icon=":material/link_off:")
    made = st.session_state.get(MADE)
    if made and made[0] == key:
        shown(address(**{WORD: made[1].code}), "For students")
        if page == "learn":
            shown(address(**{WORD: made[1].lecturers}), "For you: it can also reveal the answer")


def shown(link: str, label: str) -> None:
    st.markdown(f"**{label}**")
    st.code(link, language=None, wrap_lines=True)
