"""The visitor's choice and the page's address: both are the one record, `features.recipe.Recipe`.

Widgets begin with what the record says, and the record is made again from them; so a choice survives while its widget
is not drawn. The address is written from the record and read back into it, checked like anything from outside.
"""

from time import monotonic

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from features.recipe import PARTS, Recipe
from ui import desk
from ui.state import ADDRESS, BEFORE, PAGE, RECIPE, forget_widgets
from ui.words import literal

ASKED = "run"  # in an address: start at once
ON_ITS_WAY = 2.0  # seconds in which a browser may not have heard of its new address, and still send the one before


def current() -> Recipe:
    return RECIPE.get() or Recipe()


def use(recipe: Recipe) -> None:
    """Choose something else than the widgets say; before they are drawn."""
    RECIPE.set(recipe.concise())
    forget_widgets()


def follow(first: Recipe) -> None:
    """Begin with what the address says, or else with `first`; an address that changed without us is followed again."""
    desk.reopen()
    here = st.query_params.to_dict()
    words = {name: text for name, text in here.items() if name.partition(".")[0] in [part.word for part in PARTS]}
    if words and words != ADDRESS.get() and not _outdated(words):
        ADDRESS.set(words)
        try:
            use(Recipe.from_query(words))
        except ValueError as error:
            st.warning(f"The address of this page could not be followed: {literal(str(error))}")
    if RECIPE.get() is None:
        use(first)


def _outdated(words: dict[str, str]) -> bool:
    """Whether the browser asked before it heard of the address that the page wrote last; Back is never outdated."""
    if getattr(get_script_run_ctx(), "is_history_navigation", False):
        return False
    address, until = BEFORE.get() or ({}, 0.0)
    return words == address and monotonic() - until < ON_ITS_WAY


def turn_to(page: str) -> None:
    """Another page than before is drawn: its widgets are new ones, and begin with what the record says."""
    if PAGE.get() != page:
        PAGE.set(page)
        forget_widgets()


def keep(recipe: Recipe) -> None:
    """Remember what is chosen, and show it in the browser's address beside what else stands there."""
    RECIPE.set(recipe)
    words, here, before = recipe.to_query(), st.query_params.to_dict(), ADDRESS.get()
    if before is not None and before != words:
        BEFORE.set((before, monotonic()))
    ADDRESS.set(words)
    parts = [ASKED, desk.WORD, *(part.word for part in PARTS)]
    others = {name: text for name, text in here.items() if name.partition(".")[0] not in parts}
    told = others | words | {desk.WORD: desk.token()}
    if here != told:
        st.query_params.from_dict(told)
