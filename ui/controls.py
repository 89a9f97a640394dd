"""Widgets that turn into plain values and back: one function per kind of declared parameter or option."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

import streamlit as st

from adgm import METHODS
from features.models import Model
from features.models.base import Parameter as ModelParameter
from features.pairs import Parameter, Value
from features.setup import method_options

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
    "fast": Preset("adgm", "One run whose penalty sets itself from the data"),
    "careful": Preset("adgm+", "Several runs from different penalties and starts, each improved by a local search"),
}

# What the options of a method are called on the page; an option that is not named here shows its own name.
OPTION_LABELS = {
    "rho0": "First penalty ρ₀",
    "growth": "Growth of ρ, β",
    "warmup": "Iterations to settle, T₁",
    "patience": "Iterations without improvement, T₂",
    "tol": "Tolerance ε of the residual",
    "improvement": "An improvement is r ≤ this × best r",
    "max_increases": "Most increases of ρ",
    "max_iter": "Most iterations",
    "start": "Start",
    "seed": "Seed",
    "rounding": "Rounding",
    "coupling": "Coupling",
    "balance": "Balancing: ρ changes by this factor",
    "imbalance": "Balancing: when gap and change differ by",
    "most_lanes": "Most runs side by side",
    "agree": "Runs that must agree",
    "kicks": "Kicks of the local search per node",
    "scouts": "Random starts per node",
    "rounds": "Rounds of kicks",
    "stride": "Iterations between two roundings",
    "trial": "Iterations until the worse half ends",
    "max_nodes": "Most nodes of the search",
    "effort": "Most pair costs to visit",
    "probe_every": "Sweeps between two probes",
    "take": "Share of a cost claimed at a visit",
}
OPTION_HELP = {
    "rho0": "The penalty on disagreement between the blocks, for costs divided by the largest one. Small values "
    "explore, large values converge. The paper takes n/1000.",
    "growth": "ρ ← β·ρ whenever the residual stops improving. 1 keeps ρ fixed.",
    "warmup": "At every ρ, this many iterations pass before patience is counted.",
    "patience": "After T₁, more than this many iterations in a row without improvement make ρ grow.",
    "tol": "Converged when r, the sum of squared gaps and changes of all blocks, is at most ε.",
    "improvement": "What counts as an improvement of the residual r.",
    "max_increases": "After that many increases ρ stays as it is.",
    "max_iter": "The run ends after that many iterations, converged or not.",
    "seed": "The same seed gives the same run.",
    "rounding": "How a matching is made from the relaxed assignment.",
    "balance": "After every iteration ρ is multiplied or divided by this, whichever brings the gap between the blocks "
    "and their change closer together. 1 keeps ρ as it is, as in the paper.",
    "imbalance": "How many times larger one of the two must be for ρ to change.",
    "most_lanes": "New runs are started in waves until enough of them agree, or there are this many.",
    "agree": "It is over when so many runs found the same best matching.",
    "kicks": "A kick changes the matching at random; what improves on it is kept.",
    "scouts": "Runs that begin anew take the best of so many random matchings.",
    "effort": "Of the search for a bound: the more, the more often the result is proved optimal. 0 does not search.",
    "start": "Where all blocks begin: 1/n₂ everywhere, zero, or random with the seed.",
}


def bound_key(*parts: str) -> str:
    """The key of a widget."""
    return "-".join(parts)


def choose(
    label: str,
    options: Sequence[str],
    key: str,
    *,
    default: str | None = None,
    format_func: Callable[[Any], str] = str,
    help: str | None = None,
    on_change: Callable[[], None] | None = None,
) -> str:
    """One of several words."""
    first = options[0] if default is None else default
    found = st.selectbox(
        label, options, index=options.index(first), key=key, format_func=format_func, help=help, on_change=on_change
    )
    return first if found is None else found


def parameter(declared: Parameter, key: str) -> Value:
    """The widget for a declared parameter of a data set or a model."""
    unit, symbol = getattr(declared, "unit", ""), getattr(declared, "symbol", "")
    told = ", ".join(filter(None, [f"${symbol}$" if symbol else "", unit]))
    label = f"{declared.label} ({told})" if told else declared.label
    if declared.kind == "choice":
        return choose(label, declared.choices, key, default=str(declared.default), help=declared.help)
    kind: type[int] | type[float] = int if declared.kind == "int" else float
    low, high = declared.low, declared.high
    step = kind(getattr(declared, "step", None) or (1 if kind is int else _step(low, high)))
    default = kind(declared.default)
    shared: dict[str, Any] = {"key": key, "help": declared.help, "step": step}
    if math.isfinite(high - low) and 0 < (high - low) / step <= MOST_SLIDER_STEPS:
        found: int | float = st.slider(label, kind(low), kind(high), default, **shared)
        return found
    ends = [None if math.isinf(end) else kind(end) for end in (low, high)]
    typed = st.number_input(label, min_value=ends[0], max_value=ends[1], value=default, **shared)
    return default if typed is None else kind(typed)


def _step(low: float, high: float) -> float:
    """A round hundredth of the range."""
    if not math.isfinite(high - low) or high <= low:
        return 0.1
    return float(10.0 ** round(math.log10((high - low) / 100)))


def parameters(declared: Iterable[Parameter], prefix: str) -> dict[str, Value]:
    """The values of several declared parameters that differ from their defaults."""
    values = {one.name: (parameter(one, bound_key(prefix, one.name)), one.default) for one in declared}
    return {name: value for name, (value, default) in values.items() if value != default}


def set_parameters(declared: Iterable[Parameter], prefix: str, values: Mapping[str, Any]) -> None:
    """Put the widgets of these parameters to values; those that are not named go to their defaults."""
    for one in declared:
        value = values.get(one.name, one.default)
        st.session_state[bound_key(prefix, one.name)] = float(value) if one.kind == "float" else value


def reset(declared: Iterable[ModelParameter], prefix: str) -> None:
    """Put the widgets of these parameters back: to the paper's values where it gives one, else to ours."""
    declared = list(declared)
    set_parameters(declared, prefix, {one.name: one.paper for one in declared if one.paper is not None})


def gathered(formula: str) -> str:
    """A formula of several parts with one part per line: a sidebar is narrow."""
    return r"\small\begin{gathered}" + formula.replace(r",\quad ", r"\\[4pt] ") + r"\end{gathered}"


def model_parameters(key: str, model: Model) -> dict[str, Value]:
    """The model's formula, its parameters, and the way back to the paper's values."""
    st.caption(model.use)
    st.latex(gathered(model.formula), help="Costs are minimised; a similarity counts negatively.")
    values = parameters(model.parameters, key)
    if model.parameters:
        st.button("Reset to the paper's values", key=f"reset {key}", on_click=reset, args=(model.parameters, key))
    return values


# ---- options of a method ------------------------------------------------------------------------------------


def method_settings(key: str) -> dict[str, Any]:
    """Widgets for all options of a method; returns those that differ from their defaults."""
    defaults = method_options(key)
    hints = get_type_hints(type(METHODS[key].make()))
    chosen = {name: _option(key, name, default, hints[name]) for name, default in defaults.items()}
    return {name: value for name, value in chosen.items() if value != defaults[name]}


def set_options(method: str, values: Mapping[str, Any]) -> None:
    """Put the widgets of a method's options to values; those that are not named go to their defaults."""
    hints = get_type_hints(type(METHODS[method].make()))
    for name, default in method_options(method).items():
        value, key = values.get(name, default), bound_key(method, name)
        if default is None or callable(default):
            continue  # not for people: there is no widget
        if _numeric(hints[name]) and _words(hints[name]) and not isinstance(value, str):
            st.session_state[key], st.session_state[f"{key}-value"] = OWN_VALUE, float(value)
        else:
            st.session_state[key] = type(default)(value)


def option_label(name: str) -> str:
    return OPTION_LABELS.get(name, name.replace("_", " ").capitalize())


def presets() -> dict[str, Preset]:
    """The presets whose methods there are."""
    return {name: preset for name, preset in PRESETS.items() if preset.method in METHODS}


def first_preset() -> str:
    return "fast" if "fast" in presets() else "paper"


def preset_of(method: str) -> str | None:
    return next((name for name, preset in presets().items() if preset.method == method), None)


def _numeric(hint: Any) -> bool:
    return any(kind in (int, float) for kind in (*get_args(hint), hint))


def _option(method: str, name: str, default: Any, hint: Any) -> Any:
    label, help = option_label(name), OPTION_HELP.get(name)
    key = bound_key(method, name)
    words = _words(hint)
    if words and _numeric(hint):  # a word that stands for a rule, or a number of one's own
        word = choose(label, [*words, OWN_VALUE], key, default=default if default in words else OWN_VALUE, help=help)
        if word != OWN_VALUE:
            return word
        value = st.number_input(f"{label}: value", value=1.0, min_value=1e-6, format="%g", key=f"{key}-value")
        return 1.0 if value is None else value
    if words:
        return choose(label, words, key, default=str(default), help=help)
    if isinstance(default, bool):
        return st.checkbox(label, default, key=key, help=help)
    if isinstance(default, int | float):
        kind: type[int] | type[float] = type(default)
        small = 0 < abs(default) < 1e-3
        step = kind(1 if kind is int else default / 10 if small else 0.1)
        shared: dict[str, Any] = {"key": key, "help": help, "step": step}
        if kind is float:
            shared["format"] = "%.1e" if small else "%g"
        found = st.number_input(label, value=default, min_value=kind(0), **shared)
        return default if found is None else kind(found)
    return default


def _words(hint: Any) -> list[str]:
    """The words that a type allows: Literal["a", "b"], alone or in a union."""
    parts = get_args(hint) if get_origin(hint) is not Literal else (hint,)
    found = [word for part in parts if get_origin(part) is Literal for word in get_args(part)]
    return [word for word in found if isinstance(word, str)]
