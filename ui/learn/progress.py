"""What a reload brings back: the chapters that are answered, and under which name this tab takes part in a class.

The name is made by the server, cannot be guessed and says nothing about a person; the browser's tab remembers it.
"""

import re
import secrets
from collections.abc import Container, Sequence
from pathlib import Path

import streamlit as st

KEY = "chapters answered"  # the component's
NAME, TAKEN = "learn name", "learn name taken over"
NAMED = re.compile(r"[\w-]{16}")


def recall(said: object, chapters: Container[str]) -> None:
    """Take over what the tab remembers; what a browser says may be anything."""
    if not hasattr(said, "get"):
        return
    before, name = said.get("before"), said.get("name")
    for key in before if isinstance(before, list) else ():
        if isinstance(key, str) and key in chapters:
            st.session_state.setdefault("learn", {}).setdefault(key, {})["done"] = True
    if isinstance(name, str) and NAMED.fullmatch(name) and not st.session_state.get(TAKEN):
        st.session_state[TAKEN] = True  # once: a session answers under one name
        st.session_state[NAME] = name


def name() -> str:
    """Of this tab, in a class."""
    if NAME not in st.session_state:
        st.session_state[NAME] = secrets.token_urlsafe(12)
    return str(st.session_state[NAME])


def remember(answered: Sequence[str]) -> None:
    """Let the tab remember these chapters and its name, and say what it knew before."""
    with st.container(key="learn-progress"):
        _TAB(
            key=KEY,
            data={"answered": list(answered), "name": name()},
            on_before_change=lambda: None,
            on_name_change=lambda: None,
        )


_TAB = st.components.v2.component(
    "adgm_learn_progress",
    html="<span></span>",
    js=Path(__file__).with_name("progress.js").read_text(encoding="utf-8"),
)
