"""Ways out of the Debug page: a run on the Match page, or another pair's case."""

from functools import partial
from typing import Any

import streamlit as st

from features.explain import Case
from features.explain.trials import Trial, place
from features.pairs import Pair
from features.recipe import OWN, Recipe
from ui.choice import address
from ui.debug.links import ask_again
from ui.jobs.comparison import picture
from ui.parts import press
from ui.shell.pages import page
from ui.shell.session_slots import TO_MATCH


def match_button(recipe: Recipe, key: str, label: str = "Open on Match", **looks: Any) -> None:
    """A button that turns to the Match page with this choice."""
    press.button(label, key, partial(TO_MATCH.set, recipe), **{"icon": ":material/share:", **looks})


def debug_button(recipe: Recipe, key: str, label: str) -> None:
    """A button that debugs another run instead."""
    press.button(label, key, partial(ask_again, recipe), icon=":material/bug_report:")


def turn_if_asked() -> None:
    """Turn to the Match page if a button asked for it."""
    if recipe := TO_MATCH.get():
        address.use(recipe)
        TO_MATCH.pop()
        st.switch_page(page("match"))


def pair_of(case: Case, recipe: Recipe) -> Pair:
    """The pair of a recipe with its images, to be drawn: the case's own, or another one of the data set."""
    if recipe.dataset == OWN or place(recipe) == place(case.recipe):
        return case.pair
    return recipe.pair()


def drawn(case: Case, trial: Trial) -> tuple[Pair, bytes]:
    """A trial's pair, and its matching over the images as PNG."""
    pair = pair_of(case, trial.recipe)
    return pair, picture(pair, trial.pairs)
