"""Does the model tell right from wrong? What it costs on right tuples and on others, before any solver runs."""

import streamlit as st

from adgm.explain.terms import Match
from features.explain import Case
from features.formulas.split import as_formula
from features.models import written
from features.recipe import OWN
from ui.choice.formula import judged
from ui.debug import leave, picture

ABOUT = (
    "**Bars**: tuples whose matches are all right. **Outline**: others, drawn at random. Where the two overlap, the "
    "cost of one tuple does not tell whether it is right; a method has many of them together. The AUC is the chance "
    "that a wrong tuple costs more than a right one: 1 never errs, 0.5 knows nothing. Point at a bar, or press it, to "
    "see some of its tuples."
)


def show(case: Case, focus: Match | None) -> None:
    if not case.pair.judged:
        st.info(
            "The truth of this pair is unknown, so nobody knows which tuples are right. How sure the matches are can "
            "be told without: see Confidence.",
            icon=":material/help:",
        )
        return
    with st.container(key="debug-board"):
        left, right = st.columns([13, 10], gap="small")
        with left:
            picture.show(case, [(i, j) for i, j in case.pairs.tolist()])
            st.caption(ABOUT)
        with right, st.container(height=picture.HEIGHT, border=False, key="debug-separation"):
            judged.show(picture.CANVAS, key(case), case.recipe, case.pair, lambda: case.problem)
    begin_with(case)


def key(case: Case) -> str:
    """What identifies the model and the pair of a case."""
    model = f"{case.recipe.model} {sorted(case.recipe.model_params.items())}"
    return f"{case.pair.name} {case.pair.digest} {model}"


def begin_with(case: Case) -> None:
    """The way to another model: the same one as a formula, to be changed."""
    formula = case.recipe if written(case.recipe.model) else as_formula(case.recipe)
    if formula is not None and case.recipe.dataset != OWN:
        leave.match_button(formula, "separation formula", "Change its formula on Match", icon=":material/function:")
