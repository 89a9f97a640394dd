"""Widgets that turn into plain values and back: one function per kind of declared parameter or option."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import streamlit as st

from adgm import METHODS
from adgm.options import Option, options
from adgm.search.portfolio import Portfolio
from features.models import Model
from features.parameters import Parameter, Value
from features.recipe import method_options
from ui.shell.session_slots import begin, panel_key, widget_key

MOST_SLIDER_STEPS = 400
OWN_VALUE = "a value"  # beside the words that stand for a rule

AUTOMATIC = "automatic"  # the constraint that the model suggests


@dataclass(frozen=True)
class Preset:
    """A method with its default options, and why one would take it."""

    method: str
    about: str


# "paper" is the published algorithm, number by number.
PRESETS = {
    "paper": Preset("adgm1", "The published algorithm: ρ₀ = n/1000, β = 2, T₁ = 300, T₂ = 50"),
    "fast": Preset("adgm", "One run that finds its own penalty ρ, then a local search"),
    "careful": Preset("adgm+", "Several runs from different penalties and starts, each improved by a local search"),
}


@contextmanager
def popover(label: str, **looks: Any) -> Iterator[bool]:
    """What pops up with widgets of the choice; yields whether it is open.

    A browser makes what is inside when it is opened, and a closed one needs no widgets: they are drawn only then.
    """
    with st.popover(label, key=panel_key(label), on_change="rerun", **looks) as part:
        yield bool(part.open)


def choose(
    label: str,
    options: Sequence[str],
    key: str,
    value: str | None = None,
    *,
    format_func: Callable[[Any], str] = str,
    help: str | None = None,
    on_change: Callable[[], None] | None = None,
) -> str:
    """One of several words; it begins with `value`, or with the first."""
    first = value if value in options else options[0]
    if (now := begin(key, first)) not in options:  # what there was to choose has changed
        now = st.session_state[key] = first
    at = options.index(now)
    found = st.selectbox(label, options, at, key=key, format_func=format_func, help=help, on_change=on_change)
    return first if found is None else found


def parameter(declared: Parameter, key: str, value: Value | None = None) -> Value:
    """The widget for a declared parameter of a data set, a detector or a model; it begins with `value`."""
    unit, symbol = getattr(declared, "unit", ""), getattr(declared, "symbol", "")
    told = ", ".join(filter(None, [f"${symbol}$" if symbol else "", unit]))
    label = f"{declared.label} ({told})" if told else declared.label
    first = declared.default if value is None else value
    if declared.kind == "choice":
        return choose(label, declared.choices, key, str(first), help=declared.help)
    if declared.kind == "regions":
        return st.text_input(label, begin(key, str(first)), key=key, help=declared.help, placeholder="everywhere")
    kind: type[int] | type[float] = int if declared.kind == "int" else float
    low, high = declared.low, declared.high
    step = kind(getattr(declared, "step", None) or (1 if kind is int else _step(low, high)))
    now = begin(key, kind(first))
    shared: dict[str, Any] = {"value": now, "key": key, "help": declared.help, "step": step}
    if math.isfinite(high - low) and 0 < (high - low) / step <= MOST_SLIDER_STEPS:
        found: int | float = st.slider(label, kind(low), kind(high), **shared)
        return found
    ends = [None if math.isinf(end) else kind(end) for end in (low, high)]
    typed = st.number_input(label, min_value=ends[0], max_value=ends[1], **shared)
    return kind(declared.default) if typed is None else kind(typed)


def _step(low: float, high: float) -> float:
    """A round hundredth of the range."""
    if not math.isfinite(high - low) or high <= low:
        return 0.1
    return float(10.0 ** round(math.log10((high - low) / 100)))


def parameters(declared: Iterable[Parameter], values: Mapping[str, Any], *place: str) -> dict[str, Value]:
    """The values of several declared parameters that differ from their defaults; they begin with `values`."""
    found = {one.name: (parameter(one, widget_key(*place, one.name), values.get(one.name)), one) for one in declared}
    return {name: value for name, (value, one) in found.items() if value != one.default}


def gathered(formula: str) -> str:
    """A formula of several parts with one part per line: a sidebar is narrow."""
    return r"\small\begin{gathered}" + formula.replace(r",\quad ", r"\\[4pt] ") + r"\end{gathered}"


def model_parameters(key: str, model: Model, values: Mapping[str, Any]) -> dict[str, Value]:
    """The model's formula, its parameters, and the way back to the paper's values."""
    st.caption(model.use)
    st.latex(gathered(model.formula), help="Costs are minimised; a similarity counts negatively.")
    found = parameters(model.parameters, values, "model", key)
    if model.parameters:
        st.button("Reset to the paper's values", key=f"reset {key}", on_click=reset, args=(key, model))
    return found


def reset(key: str, model: Model) -> None:
    """Put the model's widgets back: to the paper's values where it gives one, else to ours."""
    for one in model.parameters:
        value = one.default if one.paper is None else one.paper
        st.session_state[widget_key("model", key, one.name)] = float(value) if one.kind == "float" else value


# ---- options of a method ------------------------------------------------------------------------------------


def method_settings(method: str, values: Mapping[str, Any], *place: str) -> dict[str, Any]:
    """Widgets for all options of a method, which begin with `values`; returns those that differ from their defaults."""
    defaults, declared = method_options(method), options(type(METHODS[method].make()))
    key = widget_key(*place, method)
    chosen = {
        name: _option(f"{key} {name}", declared[name], default, values.get(name, default))
        for name, default in defaults.items()
    }
    return {name: value for name, value in chosen.items() if value != defaults[name]}


def about_method(method: str) -> str:
    """What it does, and where it comes from."""
    return f"{METHODS[method].does} *{METHODS[method].cite}*"


def option_label(method: str, name: str) -> str:
    return options(type(METHODS[method].make()))[name].label


def polishes(method: Any) -> bool:
    """Whether a local search improves what this method rounds."""
    return isinstance(method, Portfolio) or bool(getattr(method, "polish", False))


def presets() -> dict[str, Preset]:
    """The presets whose methods there are."""
    return {name: preset for name, preset in PRESETS.items() if preset.method in METHODS}


def preset_of(method: str) -> str | None:
    return next((name for name, preset in presets().items() if preset.method == method), None)


def _option(key: str, declared: Option, default: Any, value: Any) -> Any:
    """The widget of a method's option; what is not for people (None by default, no words) keeps its default."""
    label, help = declared.label, declared.help
    if declared.words and declared.number:  # a word that stands for a rule, or a number of one's own
        own = not isinstance(value, str)
        word = choose(label, [*declared.words, OWN_VALUE], key, OWN_VALUE if own else value, help=help)
        if word != OWN_VALUE:
            return word
        now = begin(f"{key} value", float(value) if own else 1.0)
        typed = st.number_input(f"{label}: value", min_value=1e-6, value=now, format="%g", key=f"{key} value")
        return 1.0 if typed is None else typed
    if declared.words:
        return choose(label, declared.words, key, str(value), help=help)
    if isinstance(default, bool):
        return st.checkbox(label, begin(key, bool(value)), key=key, help=help)
    if not isinstance(default, int | float):
        return default
    kind: type[int] | type[float] = type(default)
    small = 0 < abs(default) < 1e-3
    shared: dict[str, Any] = {"value": begin(key, kind(value)), "key": key, "help": help}
    shared["step"] = kind(1 if kind is int else default / 10 if small else 0.1)
    if kind is float:
        shared["format"] = "%.1e" if small else "%g"
    ends = [None if math.isinf(end) else kind(end) for end in (max(declared.low, declared.above), declared.high)]
    found = st.number_input(label, min_value=ends[0], max_value=ends[1], **shared)
    return default if found is None else kind(found)
