"""The formula editor as an element of the page: what is typed comes back while it is typed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from features.formulas.expression import FUNCTIONS, WORDS
from features.formulas.quantities import ORDERS, QUANTITIES
from features.formulas.records import Mistake, Parsed
from ui.choice.formula.drawings import all_drawings
from ui.parts import canvas
from ui.shell.streamlit_patches import media

KEY = "formula editor"
KEPT = "The last model without a mistake stays in force."


def show(text: str, version: int, parsed: Parsed, *, kept: bool, on_typed: Callable[[Any], None]) -> None:
    """Show the editor with a text and what is wrong with it; another `version` replaces what stands in the browser."""
    _COMPONENT(
        key=KEY,
        data={
            "module": media(_MODULE, "text/javascript", "formula-module"),
            "part": "editor",
            "text": text,
            "version": version,
            "mistakes": [_place(one) for one in parsed.mistakes],
            "hints": [_place(one) for one in parsed.hints],
            "kept": KEPT if kept else "",
        },
        on_typed_change=lambda: on_typed(st.session_state[KEY].get("typed")),
    )


def _place(one: Mistake) -> dict[str, Any]:
    return {"line": one.line, "column": one.column, "message": one.message}


def _vocabulary() -> dict[str, Any]:
    """What a line may be made of: by what it compares, with a sentence and a drawing each."""
    names: dict[str, list[dict[str, Any]]] = {what: [] for what in ORDERS}
    word = {order: what for what, order in ORDERS.items()}
    for one in QUANTITIES:
        about = {"name": one.name, "label": one.label, "tip": one.tip, "unit": one.unit, "written": list(one.written)}
        names[word[one.order]].append(about | {"drawing": f"{one.order} {one.name}"})
    return {
        "WORDS": [*WORDS, "similarity", "cost", "delaunay", "left", "right", "both", "either"],
        "FUNCTIONS": list(FUNCTIONS),
        "QUANTITIES": {name: True for one in QUANTITIES for name in one.written},
        "ORDERS": list(ORDERS),
        "NAMES": names,
    }


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


_GIVEN = {"STYLE": _text("editor.css"), "DRAWINGS": all_drawings(), **_vocabulary()}
_MODULE = "\n".join(
    [*(f"const {name} = {json.dumps(it)};" for name, it in _GIVEN.items()), _text("editor.js")]
).encode()
_COMPONENT = canvas.component("adgm_formula", '<div class="formula-editor"></div>')
