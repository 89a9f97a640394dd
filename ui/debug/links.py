"""Doors to the Debug page: which case it is about, which of its matches, and the buttons that lead there.

They stand on other pages, so they bring in nothing of the Debug page itself.
"""

from typing import TYPE_CHECKING

import streamlit as st

from adgm.explain.terms import Match
from features.matching import Matching
from features.recipe import Recipe
from ui.shell.pages import page
from ui.shell.session_slots import AGAIN, CASE, FOCUS, MATCH

if TYPE_CHECKING:
    from features.explain import Case


def debug(found: Matching, focus: Match | None) -> None:
    """Turn to the page with a finished run, and with the match that is isolated."""
    from features.explain import Case  # all of the page's tools: only for whoever opens it

    enter(Case.of(found), focus)


def enter(case: "Case", focus: Match | None = None) -> None:
    """Turn to the page with a case."""
    open_case(case, focus)
    st.switch_page(page("debug"))


def run_again(recipe: Recipe) -> None:
    """Turn to the page with a run that has to be made first."""
    ask_again(recipe)
    st.switch_page(page("debug"))


def ask_again(recipe: Recipe) -> None:
    """Make this run, and look at it, from the next drawing on; also for callbacks."""
    AGAIN.set(recipe)
    CASE.pop()
    FOCUS.pop()


def open_case(case: "Case", focus: Match | None = None) -> None:
    """Look at another case from the next drawing on; also for callbacks."""
    CASE.set(case)
    AGAIN.pop()
    FOCUS.set(focus) if focus is not None else FOCUS.pop()
    st.session_state.pop(MATCH, None)
