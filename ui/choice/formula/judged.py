"""Does the model in force tell right from wrong? Computed in the pool, kept while nothing changes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import thread_time

import streamlit as st

from adgm import Problem
from adgm.machine.deadline import TimeUp, deadline
from features.explain.separation import Separation, whole_and_parts
from features.formulas.split import curves_of
from features.formulas.typeset import Curve
from features.pairs import Pair
from features.recipe import Recipe
from ui.jobs.scheduler import POOL
from ui.parts.canvas import separation
from ui.parts.escape import literal
from ui.shell import admission

SECONDS = 3.0  # of computing: the page waits for it
LATE = f"This takes more than {SECONDS:g} s here: take fewer points, a smaller sample, or fewer nearest tuples."


@dataclass(frozen=True, eq=False)
class Judged:
    """The parts of a model with their histograms, or why there are none."""

    parts: tuple[Separation, ...] = ()
    curves: tuple[tuple[str, Curve], ...] = ()
    complaint: str = ""


def judged(recipe: Recipe, pair: Pair, build: Callable[[], Problem]) -> Judged:
    """Work for the pool; what is wrong with the model is part of the answer."""
    begun = thread_time()
    try:
        with deadline(lambda: thread_time() - begun > SECONDS):
            return Judged(whole_and_parts(recipe, pair, build()), tuple(curves_of(recipe)))
    except TimeUp:
        return Judged(complaint=LATE)
    except (ValueError, MemoryError) as error:
        return Judged(complaint=str(error) or "There is not enough memory for this problem: take fewer points.")


@st.cache_resource(show_spinner=False, max_entries=32)
def known(key: str, _recipe: Recipe, _pair: Pair, _build: Callable[[], Problem]) -> Judged:
    """The same, computed once for a pair and a model."""
    return POOL.perform(partial(judged, _recipe, _pair, _build), admission.current())


def show(canvas_key: str, key: str, recipe: Recipe, pair: Pair, build: Callable[[], Problem]) -> None:
    """The histograms of a model on a pair; `key` tells both. A sentence where there are none."""
    try:
        found = known(key, recipe, pair, build)
    except ValueError as error:  # the server is busy
        st.caption(literal(str(error)))
        return
    if found.complaint:
        st.warning(literal(found.complaint))
        return
    separation.show(canvas_key, found.parts, found.curves)
