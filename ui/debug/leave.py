"""Ways out of the Debug page: a run on the Match page, or another pair's case."""

import streamlit as st

from features.explain import Case
from features.explain.trials import Trial, place
from features.pairs import Pair
from features.recipe import OWN, Recipe
from ui.choice import address
from ui.debug.links import run_again
from ui.jobs.comparison import picture
from ui.shell.pages import page


def on_match(recipe: Recipe) -> None:
    """Turn to the Match page with this choice; to be called in the page's body, not in a callback."""
    address.use(recipe)
    st.switch_page(page("match"))


def on_debug(recipe: Recipe) -> None:
    """Debug another run instead."""
    run_again(recipe)


def pair_of(case: Case, recipe: Recipe) -> Pair:
    """The pair of a recipe with its images, to be drawn: the case's own, or another one of the data set."""
    if recipe.dataset == OWN or place(recipe) == place(case.recipe):
        return case.pair
    return recipe.pair()


def drawn(case: Case, trial: Trial) -> tuple[Pair, bytes]:
    """A trial's pair, and its matching over the images as PNG."""
    pair = pair_of(case, trial.recipe)
    return pair, picture(pair, trial.pairs)
