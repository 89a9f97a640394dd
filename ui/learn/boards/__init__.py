"""Small pictures to touch: two graphs, ADMM in the plane, the triangle of three candidates, matrices to click."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from features.explain import planar
from features.plots.theme import BLUE, GREEN, VERMILION

Floats = NDArray[np.float64]
Points = Sequence[Sequence[float]]

# The three edges of a triangle: told apart by colour and by dashes.
EDGES = (((0, 1), BLUE, ""), ((0, 2), VERMILION, "12 5"), ((1, 2), GREEN, "3 4"))


def graphs(key: str, data: Mapping[str, Any], moved: Callable[[Any], None]) -> None:
    """Two sheets with three points each, see `graphs_data`; `moved` gets both sides."""
    _BOARD(key=key, data=dict(data), on_moved_change=lambda: moved(st.session_state[key].get("moved")))


def graphs_data(
    sides: Sequence[Points], matching: Sequence[int], names: Any, choices: Sequence[Sequence[int]] = ()
) -> dict[str, Any]:
    """An edge and the one that it is laid on look alike; `choices`: matchings that get a button each."""
    return {
        "kind": "graphs",
        "sides": [[list(point) for point in side] for side in sides],
        "matching": list(matching),
        "names": [list(each) for each in names],
        "edges": [{"ends": list(ends), "colour": colour, "dash": dash} for ends, colour, dash in EDGES],
        "choices": [list(each) for each in choices],
    }


def triangle(key: str, data: Mapping[str, Any], moved: Callable[[Any], None]) -> None:
    """The point c, the triangle and the nearest point of it, see `triangle_data`; `moved` gets c."""
    _BOARD(key=key, data=dict(data), on_target_change=lambda: moved(st.session_state[key].get("target")))


def triangle_data(c: Sequence[float], names: Sequence[str]) -> dict[str, Any]:
    far = 2.6
    regions: list[Any] = []
    for k in range(3):  # beyond corner k, both other entries end at zero
        one = np.eye(3)[k]
        ways = [one - np.eye(3)[j] for j in range(3) if j != k]
        sides = [one + far * (2 * way - other) / 3 for way, other in (ways, ways[::-1])]
        regions.append([list(one), list(sides[0]), list(sides[0] + sides[1] - one), list(sides[1])])
    return {
        "kind": "triangle",
        "c": [float(value) for value in c],
        "names": list(names),
        "regions": regions,
        "colour": VERMILION,
    }


def matrix(
    title: str,
    values: Floats,
    rows: Sequence[str],
    cols: Sequence[str],
    *,
    note: str = "",
    sums: bool = False,
    picked: Collection[tuple[int, int]] = (),
    digits: int = 2,
) -> dict[str, Any]:
    """A matrix for `matrices` and `steps`: with the sums of its rows and columns, with entries that are framed.

    NaN is shown as a question mark. Blocks of an assignment, whose entries lie between 0 and 1, are shaded.
    """
    shown = np.round(values, digits if digits > 2 else 4) + 0.0  # no −0
    return {
        "title": title,
        "values": [[None if v != v else int(v) if float(v).is_integer() else float(v) for v in row] for row in shown],
        "rows": list(rows),
        "cols": list(cols),
        "note": note,
        "sums": [shown.sum(axis=1).tolist(), shown.sum(axis=0).tolist()] if sums else None,
        "pick": False,
        "picked": [list(each) for each in picked],
        "digits": digits,
        "shaded": bool(np.nanmin(values) >= 0 and np.nanmax(values) <= 1),
        "low": len(rows) < 4,
    }


def matrices(key: str, given: Sequence[dict[str, Any]]) -> None:
    """Matrices side by side."""
    _BOARD(key=key, data={"kind": "matrices", "matrices": list(given)})


def steps(key: str, heads: Any, cells: Sequence[dict[str, Any]], picked: Callable[[Any], None]) -> None:
    """Cells of several kinds under the names of the steps; `picked` gets the cell's number, row and column."""
    data = {"kind": "steps", "heads": heads, "cells": list(cells)}
    _BOARD(key=key, data=data, on_cell_change=lambda: picked(st.session_state[key].get("cell")))


def ties(key: str, drawings: Sequence[dict[str, Any]]) -> None:
    """Blocks as discs, with a line between those that are tied; each with its title."""
    _BOARD(key=key, data={"kind": "ties", "drawings": list(drawings)})


def plane(key: str, data: Mapping[str, Any], changed: Callable[[Any], None]) -> None:
    """ADMM in the plane, see `plane_data`. The browser computes it; `changed` gets its state and the message's number.

    `heard` among the data is the number of the message that the state came with; None: the state is news for the board.
    """
    _BOARD(key=key, data=dict(data), on_state_change=lambda: changed(st.session_state[key].get("state")))


def plane_data(state: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "plane",
        "scenes": {key: planar.as_data(scene) for key, scene in planar.SCENES.items()},
        "rhos": list(planar.RHOS),
        "size": [planar.WIDTH, planar.HEIGHT],
        "limits": {
            "tolerance": planar.TOLERANCE,
            "most": planar.MOST,
            "careful": planar.CAREFUL,
            "longest": planar.LONGEST,
        },
        "state": dict(state),
        "heard": None,
        "locked": [],
    }


def text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


PARTS = (
    "drawing.js",
    "bars.js",
    "graphs.js",
    "triangle.js",
    "matrices.js",
    "steps.js",
    "ties.js",
    "planar.js",
    "plane.js",
    "board.js",
)
SCRIPT = "\n".join(map(text, PARTS))
STYLE = text("boards.css")
HTML = '<div class="learn-board"></div>'
_BOARD = st.components.v2.component("adgm_learn_board", html=HTML, css=STYLE, js=f"{SCRIPT}\nexport default mount;")
