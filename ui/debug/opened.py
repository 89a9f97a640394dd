"""Which case the Debug page is about, and which of its matches."""

import streamlit as st

from adgm.terms import Match
from features.explain import Case
from ui.state import AGAIN, CASE, FOCUS, MATCH


def open_case(case: Case, focus: Match | None = None) -> None:
    """Look at another case from the next drawing on; also for callbacks."""
    CASE.set(case)
    AGAIN.pop()
    FOCUS.set(focus) if focus is not None else FOCUS.pop()
    st.session_state.pop(MATCH, None)
