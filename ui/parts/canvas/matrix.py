"""The assignment matrix beside the canvas: drawn by the same script, so that cells, lines and curves answer at once."""

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from ui.parts import canvas
from ui.parts.canvas import Line
from ui.shell.streamlit_patches import media

Floats = NDArray[np.float64]
VISIBLE = 1e-3  # relaxed values from here on are cells
_COMPONENT = canvas.component("adgm_matrix", '<div class="matrix-canvas"></div>')
MOST_BYTES = 4_000_000  # of the stored iterations that a browser is given, unpacked


@dataclass(frozen=True, eq=False)
class Stored:
    """An iteration to look at: its relaxed assignment (left × right) and the lines that picture it."""

    iteration: int
    x: Floats
    lines: Sequence[Line]

    def data(self) -> dict[str, Any]:
        return {"iteration": self.iteration, "cells": cells(self.x), "lines": canvas.line_data(self.lines)}


@dataclass(frozen=True)
class CurvesBeside:
    """Where the curves are: their keys, the pixels beside them, and the last iteration of their axis."""

    charts: tuple[str, ...]
    left: int
    right: int
    last: int


def cells(x: Floats) -> list[list[Any]]:
    """What is visible of a matrix: the places, counted row by row, and the values."""
    at = np.flatnonzero(x > VISIBLE)
    return [at.tolist(), np.round(x.ravel()[at], 3).tolist()]


def packed(stored: Sequence[Stored]) -> bytes:
    """Stored iterations for the browser; every other one, again and again, until they are small enough.

    Compressed: every open page keeps them, and only some of them are asked for.
    """
    while True:
        made = json.dumps([one.data() for one in stored], separators=(",", ":")).encode()
        if len(made) <= MOST_BYTES or len(stored) < 3:
            return gzip.compress(made, compresslevel=1, mtime=0)  # the same iterations, the same file
        stored = stored[::2]


def show(
    key: str,
    x: Floats,
    title: str,
    *,
    truth: NDArray[np.int64] | None = None,
    stored: bytes = b"",
    curves: CurvesBeside | None = None,
    on_jump: Callable[[int], None] | None = None,
) -> None:
    """The matrix that belongs to canvas `key`; where the truth is known the right points are put in its order.

    With `stored` iterations the pointer over the curves shows the one that it is at, and a click goes there.
    """
    partners = [] if truth is None else [int(j) for j in truth if j >= 0]
    order = partners + sorted(set(range(x.shape[1])) - set(partners))
    pairs = [] if truth is None else [i * x.shape[1] + int(j) for i, j in enumerate(truth) if j >= 0]

    def jumped() -> None:
        sent = st.session_state[f"{key} matrix"].get("jump")
        if isinstance(sent, int) and on_jump is not None:
            on_jump(sent)

    _COMPONENT(
        key=f"{key} matrix",
        data={
            "part": "matrix",
            "key": key,
            "session": canvas.session(),
            "module": canvas.module(key),
            "title": title,
            "shape": list(x.shape),
            "order": order,
            "truth": pairs,
            "cells": cells(x),
            "frames": media(stored, "application/gzip", f"{key}-frames") if stored else "",
            "curves": None if curves is None else vars(curves) | {"charts": list(curves.charts)},
        },
        on_jump_change=jumped,
    )
