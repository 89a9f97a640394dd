"""The page's address: all that is chosen, as words, so that a link, a reload or a way back restores it.

It is made from the record of the run (`features.setup.Setup`), never from widgets, and what it says is checked like
anything from outside before a widget is set to it.
"""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from features.datasets import DATASETS
from features.keypoints import DETECTORS
from features.models import MODELS
from features.setup import CONSTRAINED, OWN, Setup, parse_assignments, worded
from ui import controls

Address = dict[str, str]
KEPT = "address"  # where the session keeps it while another page is shown
DATA_POINTS = "own"
COUNTS = ("left", "right")
PARTS = ("data", "model", "method")


def address(setup: Setup, points: str = DATA_POINTS, counts: Mapping[str, int] | None = None) -> Address:
    """The words for a run: its setup, and where the points come from."""
    found: Address = {}
    chosen: tuple[tuple[str, Mapping[str, Any]], ...] = (
        (setup.dataset, setup.dataset_params),
        (setup.model, setup.model_params),
        (setup.method, setup.method_options),
    )
    for part, (key, params) in zip(PARTS, chosen, strict=True):
        found[part] = key
        found |= {f"{part}.{name}": str(value) for name, value in params.items()}
    if points != DATA_POINTS:
        found["points"] = points
        found |= {f"points.{side}": str(count) for side, count in (counts or {}).items()}
    return found


def read(words: Mapping[str, str]) -> tuple[Setup, str, dict[str, int]]:
    """What an address stands for; a ValueError in a sentence if it makes no sense."""
    usual = Setup()
    keys = {part: words.get(part, key) for part, key in zip(PARTS, (OWN, usual.model, usual.method), strict=True)}
    declared: dict[str, Any] = {
        "data": DATASETS[keys["data"]].parameters if keys["data"] in DATASETS else (),
        "model": MODELS[keys["model"]].parameters if keys["model"] in MODELS else (),
        "method": (),
    }
    values = {part: _values(words, part, declared[part]) for part in PARTS}
    setup = Setup(keys["data"], values["data"], keys["model"], values["model"], keys["method"], values["method"])
    points = words.get("points", DATA_POINTS)
    if points not in (DATA_POINTS, *DETECTORS):
        raise ValueError(f"There is no detector {points!r}; choose one of {', '.join(DETECTORS)}.")
    counts = {name: value for name, value in _values(words, "points", ()).items() if name in COUNTS}
    return setup, points, {name: min(max(value, 3), 150) for name, value in counts.items() if isinstance(value, int)}


def _values(words: Mapping[str, str], part: str, declared: Any) -> dict[str, Any]:
    given = [f"{name.partition('.')[2]}={text}" for name, text in words.items() if name.startswith(f"{part}.")]
    return parse_assignments(given, f"{part} parameter", [*worded(declared), *CONSTRAINED])


def use(words: Mapping[str, str]) -> None:
    """Set the page's widgets to an address; before they are drawn."""
    setup, points, counts = read(words)
    st.session_state["data"] = setup.dataset
    if setup.dataset in DATASETS:
        controls.set_parameters(DATASETS[setup.dataset].parameters, setup.dataset, setup.dataset_params)
    st.session_state["points"] = points
    for side, count in counts.items():
        st.session_state[f"count-{side}"] = count
    use_solver(setup)


def use_solver(setup: Setup) -> None:
    """Set the widgets of model and solver to a setup's."""
    st.session_state["model"] = setup.model
    own = {name: value for name, value in setup.model_params.items() if name not in CONSTRAINED}
    controls.set_parameters(MODELS[setup.model].parameters, setup.model, own)
    for side in CONSTRAINED:
        st.session_state[side] = setup.model_params.get(side, controls.AUTOMATIC)
    use_method(setup.method, setup.method_options)


def use_method(method: str, options: Mapping[str, Any]) -> None:
    st.session_state["method"] = method
    st.session_state["preset"] = controls.preset_of(method)
    controls.set_options(method, options)


def restore() -> bool:
    """Set the widgets of a fresh page to its address, or to what was chosen before another page was shown."""
    if "data" in st.session_state:
        return True
    words = dict(st.query_params.to_dict()) if "data" in st.query_params else st.session_state.get(KEPT)
    if words is None:
        return False
    try:
        use({name: text for name, text in words.items() if name.partition(".")[0] in (*PARTS, "points")})
    except ValueError as error:
        st.warning(f"The address of this page could not be followed: {error}")
        return False
    return True


def turn_to(page: str) -> None:
    """Another page than before is shown: its widgets are new ones, and begin with what was chosen there."""
    if st.session_state.get("page") != page:
        st.session_state["page"] = page
        st.session_state.pop("data", None)


def keep(words: Address) -> None:
    """Show the address in the browser, and remember it."""
    st.session_state[KEPT] = words
    if st.query_params.to_dict() != words:
        st.query_params.from_dict(words)
