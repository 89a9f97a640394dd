"""The visitor's choice and the page's address: both are the one record, `features.recipe.Recipe`.

Widgets begin with what the record says, and the record is made again from them; so a choice survives while its widget
is not drawn. The address is read when the page is opened, also from another page, and when the visitor goes back or
forth in the browser's history, checked like anything from outside; otherwise it is only written.
"""

import streamlit as st

from features.recipe import CHECK, PARTS, Recipe
from ui.parts.escape import literal
from ui.shell import reload_store
from ui.shell.session_slots import FOLLOWED, PAGE, RECIPE, forget_widgets
from ui.shell.streamlit_patches import went_back

ASKED = "run"  # in an address: start at once
WORDS = {CHECK, *(part.word for part in PARTS)}  # of the record, in an address


def current() -> Recipe:
    return RECIPE.get() or Recipe()


def use(recipe: Recipe) -> None:
    """Choose something else than the widgets say; before they are drawn."""
    RECIPE.set(recipe.concise())
    forget_widgets()


def follow(first: Recipe) -> None:
    """Begin with what the address says, or else with `first`; follow the address again after Back."""
    reload_store.open_shared()
    words = {name: text for name, text in st.query_params.to_dict().items() if name.partition(".")[0] in WORDS}
    if words and (not FOLLOWED.get() or went_back()):
        try:
            use(Recipe.from_query(words))
        except ValueError as error:
            st.warning(f"The address of this page could not be followed: {literal(str(error))}")
    FOLLOWED.set(True)
    if RECIPE.get() is None:
        use(first)


def turn_to(page: str) -> None:
    """Another page than before is drawn: its widgets are new ones, and begin with what the record says."""
    if PAGE.get() != page:
        PAGE.set(page)
        FOLLOWED.pop()  # a link of the page before may say what to choose
        forget_widgets()


def keep(recipe: Recipe) -> None:
    """Remember what is chosen, and show it in the browser's address beside what else stands there."""
    RECIPE.set(recipe)
    here = st.query_params.to_dict()
    others = {
        name: text for name, text in here.items() if name.partition(".")[0] not in {ASKED, reload_store.WORD, *WORDS}
    }
    told = others | recipe.to_query()
    if here != told:
        st.query_params.from_dict(told)
