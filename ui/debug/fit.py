"""Fitting: the model's parameters from pairs with truth, judged on pairs that it never saw, and used everywhere."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from urllib.parse import urlencode

import streamlit as st

from adgm.explain.terms import Match
from features.explain import Case
from features.explain.fitting import Fit, Fitting, Step, fittable, split
from features.explain.trials import has_gap, pairs_like
from features.judge.metrics import percent
from features.recipe import OWN, Recipe
from ui.debug import background, leave
from ui.debug import picture as case_picture
from ui.jobs.task import Report
from ui.parts.charts.legible import draw
from ui.parts.charts.tools import fit_chart
from ui.shell.session_slots import begin

PAIRS, SHARE, WIDE = "fit pairs", "fit share", "fit any gap"


def show(case: Case, focus: Match | None) -> None:
    known = fittable(case.recipe)
    if case.recipe.dataset == OWN or not known:
        why = (
            "This pair is your own: a fit needs others like it." if known else "This model has no number to be fitted."
        )
        st.info(f"{why} Choose a data set and a model with weights on Match.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="fit-asked"):
        count = int(st.number_input("Pairs", 2, 200, begin(PAIRS, 20), key=PAIRS, width=110))
        wide = has_gap(case.recipe) and st.toggle(
            "any two frames", begin(WIDE, False), key=WIDE, help="However far apart they are"
        )
        share = st.slider("Of these to learn from (%)", 10, 90, begin(SHARE, 50), 5, key=SHARE, width=220)
        names = st.pills(
            "Parameters",
            known,
            selection_mode="multi",
            default=known,
            key=f"fit names {case.recipe.model}",
            format_func=lambda name: name.partition(".")[2],
        )
        if names:
            question = ("fit", count, wide, share, tuple(names))
            work = partial(fitted, case.recipe, count, wide, share / 100, names)
            background.button(case, question, "Fit the model", work)
    if not names:
        st.warning("Choose one or more parameters to fit.")
        return
    places(case, count, wide, share)
    found = background.answer(case, question)
    if found is None:
        st.caption("Finds values with more right matches on the pairs to learn from, and counts them on the others.")
        case_picture.waiting(case, focus)
    if found is None or not found.value:
        return
    if isinstance(found.value, Fit):
        outcome(case, found.value)
    else:
        draw(fit_chart(found.value), height=240, renderer="svg", key="fit so far", alt="Training error")


@st.cache_data(show_spinner=False, max_entries=64)
def chosen_pairs(recipe: str, count: int, wide: bool) -> list[str]:
    """The pairs of a fit, as JSON."""
    return [one.to_json() for one in pairs_like(Recipe.from_json(recipe), count, any_gap=wide)]


def places(case: Case, count: int, wide: bool, share: int) -> None:
    """Which pairs are learnt from, and which judge."""
    try:
        drawn = [Recipe.from_json(one) for one in chosen_pairs(case.recipe.to_json(), count, wide)]
        train, test = split(drawn, share / 100)
    except ValueError as error:
        st.warning(str(error))
        return
    with st.expander(f"{len(train)} pairs to learn from, {len(test)} others that judge"):
        for word, some in (("Learn from", train), ("Judge", test)):
            st.caption(f"{word}: {'; '.join(_place(one) for one in some)}")


def _place(recipe: Recipe) -> str:
    return ", ".join(f"{name} {value}" for name, value in recipe.dataset_params.items() if name in PLACES)


PLACES = ("left", "right", "number", "seed")


def fitted(recipe: Recipe, count: int, wide: bool, share: float, names: Sequence[str], report: Report) -> Fit:
    report(0.0, "drawing pairs")
    fitting = Fitting(recipe, *split(pairs_like(recipe, count, any_gap=wide), share), names=names)
    steps: list[Step] = []
    report(0.0, f"{len(fitting.train)} training and {len(fitting.test)} test pairs as they are")
    for step in fitting.run():
        steps.append(step)
        best = min(one.error for one in steps)
        report(len(steps) / (len(steps) + 20), f"{step.what}; training error {100 * best:.1f} %", list(steps))
    assert fitting.found is not None
    return fitting.found


def outcome(case: Case, found: Fit) -> None:
    """Before and after, on both; then where the fitted model goes."""
    before, after = found.test
    numbers, chart = st.columns([3, 2])
    with numbers:
        with st.container(horizontal=True, key="fit-metrics"):
            for word, (old, new) in (("training", found.train), ("test", found.test)):
                gain = round(100 * (old.error - new.error), 1)
                told = f"{gain:+.1f} points" if gain else None  # no arrow where nothing changed
                st.metric(f"Right on {len(new.trials)} {word} pairs", percent(1 - new.error, 1), told)
        rows = [
            {"parameter": name, "before": old, "after": new, "by": "max-margin" if name in found.linear else "search"}
            for name, (old, new) in found.values.items()
        ]
        st.dataframe(rows, hide_index=True)
    with chart:
        draw(fit_chart(found.steps), height=240, renderer="svg", key="fit chart", alt="Training error")
    st.markdown(found.sure)
    st.markdown(found.why)
    if found.ends:
        st.warning(found.ends)
    with st.expander("The numbers"):
        st.code(found.table.text(), language=None)
    recipe = replace(case.recipe, model_params=found.recipe.model_params)
    with st.container(horizontal=True, key="fit-use"):
        leave.match_button(recipe, "fit use", "Use it on Match", type="primary")
        leave.debug_button(recipe, "fit debug", "Debug this pair with it")
    python, command, link = st.tabs(["Python", "Command line", "Link"])
    python.code(recipe.as_python(), language="python")
    command.code(recipe.as_command(), language="bash")
    page = (st.context.url or "").partition("?")[0].removesuffix("debug")
    link.code(f"{page}?{urlencode(recipe.to_query())}", language=None, wrap_lines=True)
    if after.error > before.error:
        st.caption("The test pairs got worse: the fit has learnt its training pairs by heart. Take more of them.")
