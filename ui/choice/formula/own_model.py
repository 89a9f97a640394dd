"""Your own model in the sidebar: the formula, a slider for every parameter, and the way back to a ready model.

The record of the choice holds the last text without a mistake; what is being typed is kept beside it, as a draft.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from features.formulas.edit import with_parameter
from features.formulas.ready import READY
from features.formulas.records import parameter
from features.formulas.split import as_formula
from features.formulas.text import LONGEST_TEXT, model_text, parse
from features.models import MODELS, written
from features.parameters import Parameter, Value
from features.recipe import CONSTRAINED, Recipe
from ui.choice import address, widgets
from ui.choice.formula import editor
from ui.parts.escape import literal
from ui.shell.session_slots import DRAFT, FOLLOW, RUN, RUN_OF, START, begin, widget_key

OWN = "formula"  # among the keys of the models: any text stands behind it
LABEL = "Your own formula"
USE = "Type what a matching costs, see whether that tells right from wrong, and run it."
FIRST = "edges  (d1 - d2)^2 / s2  on delaunay\ns2 = 100 in 1..1000"
AT_ONCE = 0.3  # seconds: a run ends mostly within one iteration
PLACE = ("model", OWN)  # of the widgets


@dataclass(frozen=True)
class Draft:
    """What stands in the editor: the text as it was typed, the model in force then, and how often others changed it."""

    text: str
    model: str
    version: int = 0


def label(key: str) -> str:
    """A model as the selector offers it."""
    return LABEL if key == OWN else MODELS[key].label


def key_of(model: str) -> str:
    return OWN if written(model) else model


def chosen(key: str, before: Recipe) -> Recipe:
    """The choice with the model that the selector says; a formula begins with the text of the model before."""
    if key != OWN or written(before.model):
        return before
    return start_from(before)


def start_from(recipe: Recipe) -> Recipe:
    """The run with its model as a formula, where it has one, else with the first formula."""
    rules = {name: value for name, value in recipe.model_params.items() if name in CONSTRAINED}
    found = as_formula(recipe) or replace(recipe, model=FIRST, model_params=rules)
    return replace(found, model=found.model.rstrip())


def show(before: Recipe, *, follows: bool) -> dict[str, Value]:
    """The editor and the sliders of the formula in force; its parameters. `follows`: whether runs can be started."""
    draft = current_draft(before.model)
    parsed = parse(draft.text)
    editor.show(draft.text, draft.version, parsed, kept=bool(parsed.mistakes), on_typed=receive)
    formula = MODELS[before.model]
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="formula-tools"):
        with widgets.popover("Start from") as opened:
            if opened:
                offer_starts()
        with widgets.popover("Ranges", disabled=not formula.parameters) as opened:
            if opened:
                st.caption("Where each slider begins and ends, and what it is at first.")
                for one in model_text(before.model).parameters:
                    ranges(one)
        if follows:
            help = "A change of the formula or of a slider starts the run anew."
            st.toggle("Run every change", begin(FOLLOW, True), key=FOLLOW, help=help)
    st.latex(widgets.gathered(formula.formula), help="Costs are minimised; a similarity counts negatively.")
    return widgets.parameters(formula.parameters, before.model_params, *PLACE)


def current_draft(model: str) -> Draft:
    """What the editor holds: what was typed last, unless another model is in force since then."""
    draft = DRAFT.get()
    if draft is None or draft.model != model:
        draft = Draft(model, model, 1 + (draft.version if draft else 0))
        DRAFT.set(draft)
    return draft


def receive(sent: Any) -> None:
    """Another text stands in the editor; what a browser sends may be anything."""
    text = sent.get("text") if isinstance(sent, dict) else None
    if not isinstance(text, str) or not written(address.current().model):
        return
    text = text[: LONGEST_TEXT + 1]  # one more is a mistake, and is told
    version = current_draft(address.current().model).version
    model = text.rstrip()
    if parse(text).model is None:
        DRAFT.set(Draft(text, address.current().model, version))
        return
    use(model)
    DRAFT.set(Draft(text, model, version))


def use(text: str) -> None:
    """Another formula, with the values of the parameters that it still has."""
    recipe = address.current()
    declared = {one.name: one for one in MODELS[text].parameters}
    address.use(replace(recipe, model=text, model_params=fitting(declared, recipe.model_params)))


def fitting(declared: Mapping[str, Parameter], values: Mapping[str, Any]) -> dict[str, Value]:
    """The values that lie within the ranges of the parameters there are, and the constraints."""
    known = {name: value for name, value in values.items() if name in declared}
    kept = {name: value for name, value in known.items() if declared[name].low <= value <= declared[name].high}
    return kept | {name: value for name, value in values.items() if name in CONSTRAINED}


# ---- starting from a model, and the ranges of the sliders ----------------------------------------------------------


def offer_starts() -> None:
    """The ready models that are formulas; one replaces the text."""
    st.caption("The same problem as the ready model, to the last digit, to be changed from there.")
    for key in READY:
        st.button(MODELS[key].label, key=f"start from {key}", on_click=begin_with, args=(key,), width="stretch")


def begin_with(key: str) -> None:
    recipe = address.current()
    rules = {name: value for name, value in recipe.model_params.items() if name in CONSTRAINED}
    address.use(start_from(replace(recipe, model=key, model_params=rules)))


def ranges(one: Parameter) -> None:
    """Default, least and largest value of a slider: they are part of the text."""
    ends = {"default": float(one.default), "low": one.low, "high": one.high}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        for part, value in ends.items():
            key = widget_key(*PLACE, "range", one.name, part)
            words = f"{one.name} = {part}" if part == "default" else {"low": "from", "high": "to"}[part]
            change = partial(change_range, one, key, part)
            st.number_input(words, value=begin(key, float(value)), key=key, on_change=change, format="%g", width=120)


def change_range(one: Parameter, key: str, part: str) -> None:
    """An end of a slider was typed; a default outside moves along."""
    value = st.session_state[key]
    ends = {"default": float(one.default), "low": one.low, "high": one.high} | {part: value}
    if value is None or not ends["low"] < ends["high"]:
        st.toast(f"The range of {literal(one.name)} is empty: its first end must be below its second.")
        return
    if part == "default":
        ends |= {"low": min(ends["low"], value), "high": max(ends["high"], value)}
    else:
        ends["default"] = min(max(ends["default"], ends["low"]), ends["high"])
    use(with_parameter(address.current().model, parameter(one.name, **ends)))


# ---- a run that follows ------------------------------------------------------------------------------------------


def follow(model: str, values: Mapping[str, Any]) -> None:
    """Start a run where the formula or one of its parameters has changed since the last drawing, if that is wanted."""
    now = f"{model} {sorted(values.items())}" if written(model) else ""
    before = RUN_OF.get()
    RUN_OF.set(now)
    if not now or not before or now == before or not st.session_state.get(FOLLOW):
        return
    run = RUN.get()
    if run is not None and run.job.snapshot().active:
        run.job.stop()
        run.job.wait(AT_ONCE)
    START.set(True)
