"""Widgets that turn into plain values: one function per kind of declared parameter, all of them in the address bar.

Every widget has a key that is also its name in the page's address, so that a link restores what was chosen.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, get_args, get_origin, get_type_hints

import streamlit as st

from adgm import METHODS
from features.models import Model
from features.models.base import Parameter as ModelParameter
from features.pairs import Parameter, Value
from features.setup import method_options

MOST_SLIDER_STEPS = 400

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
}
OPTION_HELP = {
    "rho0": "The penalty on disagreement between the blocks, for costs divided by the largest one. Small values "
    "explore, large values converge. The paper takes n/1000.",
    "growth": "ρ ← β·ρ whenever the residual stops improving. 1 keeps ρ fixed.",
    "warmup": "At every ρ, this many iterations pass before patience is counted.",
    "patience": "After T₁, more than this many iterations in a row without improvement make ρ grow.",
    "tol": "Converged when r, the sum of squared gaps and changes of all blocks, is at most ε.",
    "start": "Where all blocks begin: 1/n₂ everywhere, zero, or random with the seed.",
}


def bound_key(*parts: str) -> str:
    """The name of a widget in the page's address."""
    return "-".join(parts)


def choose(
    label: str,
    options: Sequence[str],
    key: str,
    *,
    default: str | None = None,
    format_func: Callable[[Any], str] = str,
    help: str | None = None,
    segmented: bool = False,
) -> str:
    """One of several words."""
    first = options[0] if default is None else default
    if segmented:
        found = st.segmented_control(
            label, options, default=first, required=True, key=key, format_func=format_func, help=help,
            bind="query-params", width="stretch",
        )  # fmt: skip
        return first if found is None else found
    found = st.selectbox(
        label, options, index=options.index(first), key=key, format_func=format_func, help=help, bind="query-params"
    )
    return first if found is None else found


def parameter(declared: Parameter, key: str) -> Value:
    """The widget for a declared parameter of a data set or a model."""
    unit = getattr(declared, "unit", "")
    label = f"{declared.label} ({unit})" if unit else declared.label
    if declared.kind == "choice":
        return choose(label, declared.choices, key, default=str(declared.default), help=declared.help)
    kind: type[int] | type[float] = int if declared.kind == "int" else float
    low, high = declared.low, declared.high
    step = kind(getattr(declared, "step", None) or (1 if kind is int else _step(low, high)))
    default = kind(declared.default)
    shared: dict[str, Any] = {"key": key, "help": declared.help, "bind": "query-params", "step": step}
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


def reset(declared: Iterable[ModelParameter], prefix: str) -> None:
    """Put the widgets of these parameters back: to the paper's values where it gives one, else to ours."""
    for one in declared:
        st.session_state[bound_key(prefix, one.name)] = one.default if one.paper is None else one.paper


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


def _option(method: str, name: str, default: Any, hint: Any) -> Any:
    label, help = OPTION_LABELS.get(name, name.replace("_", " ").capitalize()), OPTION_HELP.get(name)
    key = bound_key(method, name)
    words = _words(hint)
    numeric = any(kind in (int, float) for kind in (*get_args(hint), hint))
    if words and numeric:  # a word that stands for a rule, or a number of one's own
        own = "a value"
        word = choose(label, [*words, own], key, default=default if default in words else own, help=help)
        if word != own:
            return word
        value = st.number_input(f"{label}: value", value=1.0, min_value=1e-6, format="%g", key=f"{key}-value",
                                bind="query-params")  # fmt: skip
        return 1.0 if value is None else value
    if words:
        return choose(label, words, key, default=str(default), help=help)
    if isinstance(default, bool):
        return st.checkbox(label, default, key=key, help=help, bind="query-params")
    if isinstance(default, int | float):
        kind: type[int] | type[float] = type(default)
        small = 0 < abs(default) < 1e-3
        step = kind(1 if kind is int else default / 10 if small else 0.1)
        shared: dict[str, Any] = {"key": key, "help": help, "bind": "query-params", "step": step}
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
