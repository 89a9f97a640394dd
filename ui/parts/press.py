"""Buttons whose presses are neither lost nor done twice, whatever else changes on the page (see `ui.match.presses`)."""

from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.match.presses import PRESSES, Action
from ui.shell.streamlit_patches import session_name


def button(label: str, key: str, does: Callable[[], object], place: DeltaGenerator | None = None, **looks: Any) -> None:
    """A button, in a place or where the page is. What it does is done before anything of the next drawing: it sets what
    the page reads then, and turns to no other page itself. Its meaning, by its key, is the one it was drawn with."""

    def action() -> None:
        does()

    PRESSES.offer(session_name(), key, action)
    (place or st).button(label, key=key, on_click=press, args=(action,), **looks)


def press(action: Action) -> None:
    PRESSES.press(session_name(), action)


def perform() -> None:
    """Do what has been pressed; a part of a page that is drawn alone begins with this. The whole page follows."""
    if PRESSES.perform(session_name()):
        st.rerun()
