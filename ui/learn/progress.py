"""What a reload brings back: the chapters that are answered. The browser's tab remembers them; nobody else is told."""

from collections.abc import Container, Sequence
from pathlib import Path

import streamlit as st

KEY = "chapters answered"  # the component's


def recall(said: object, chapters: Container[str]) -> None:
    """Take over what the tab remembers; what a browser says may be anything."""
    before = said.get("before") if hasattr(said, "get") else None
    for key in before if isinstance(before, list) else ():
        if isinstance(key, str) and key in chapters:
            st.session_state.setdefault("learn", {}).setdefault(key, {})["done"] = True


def remember(answered: Sequence[str]) -> None:
    """Let the tab remember these chapters, and say which ones it knew before."""
    with st.container(key="learn-progress"):
        _TAB(key=KEY, data={"answered": list(answered)}, on_before_change=lambda: None)


_TAB = st.components.v2.component(
    "adgm_learn_progress",
    html="<span></span>",
    js=Path(__file__).with_name("progress.js").read_text(encoding="utf-8"),
)
