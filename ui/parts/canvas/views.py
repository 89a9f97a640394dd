"""Several images with the points that belong together, and the table of all pairs of views."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from features.plots import theme
from features.views import ViewSet
from ui.parts import canvas
from ui.parts.canvas import Side, image_address
from ui.shell.streamlit_patches import media

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
PointKind = Literal["closed", "astray", "open"]  # ways over two other views: all come back, some do not, there are none
POINT_KINDS: tuple[PointKind, ...] = ("open", "closed", "astray")
LineKind = Literal["right", "wrong", "agrees", "joined"]
LOOKS = {  # the colours of points and lines, those of `features.plots.theme` where they mean the same
    "closed": theme.KINDS["correct"].bright,
    "astray": theme.KINDS["wrong"].bright,
    "open": theme.CANDIDATE.bright,
    "right": theme.KINDS["correct"].bright,
    "wrong": theme.KINDS["wrong"].bright,
    "agrees": theme.SKY,
    "joined": theme.CANDIDATE.bright,
}
Point = tuple[int, int]  # a view and its point
Couple = tuple[int, int]

_BOARD = canvas.component("adgm_views", '<div class="views-canvas"></div>')
_COUPLES = canvas.component("adgm_couples", '<div class="views-couples"></div>')


@dataclass(frozen=True)
class Line:
    """A line from point p of view i to point q of view j."""

    i: int
    p: int
    j: int
    q: int
    kind: LineKind


@dataclass(frozen=True, eq=False)
class Marks:
    """What is said of every point: the number of its track (−1: it is alone), or which of POINT_KINDS it is."""

    numbers: Sequence[Longs]
    tracks: bool
    ways: Sequence[Longs] = ()  # of pairs alone: along how many ways it comes back, and goes astray
    wrong: Sequence[Longs] = ()  # points on tracks that are known to be wrong


@dataclass(frozen=True, eq=False)
class Shown:
    """What lies over the images."""

    marks: Marks
    lines: Sequence[Line] = ()
    picked: Point | None = None
    legend: Sequence[tuple[str, str]] = field(default_factory=tuple)  # a kind and its words
    label: str = "Several views"


def show(key: str, view_set: ViewSet, shown: Shown, on_pick: Callable[[Point | None], None]) -> None:
    """The images with their points; a click on a point, or beside all of them, is told to `on_pick`."""
    sizes = view_set.sizes

    def picked() -> None:
        found = _couple(st.session_state[key].get("pick"))
        valid = found is not None and 0 <= found[0] < len(sizes) and 0 <= found[1] < sizes[found[0]]
        on_pick(found if valid else None)

    marks = shown.marks
    _BOARD(
        key=key,
        data={
            "part": "views",
            "key": key,
            "session": canvas.session(),
            "module": canvas.module(key),
            "sheet": media(sheet(key, view_set), "application/json", f"{key}-sheet"),
            "marks": [one.tolist() for one in marks.numbers],
            "tracks": marks.tracks,
            "kinds": POINT_KINDS,
            "looks": LOOKS,
            "ways": [one.tolist() for one in marks.ways] or None,
            "wrong": [one.tolist() for one in marks.wrong] or None,
            "lines": [[one.i, one.p, one.j, one.q, one.kind] for one in shown.lines],
            "pick": shown.picked,
            "legend": list(shown.legend),
            "label": shown.label,
        },
        on_pick_change=picked,
    )


def sheet(key: str, view_set: ViewSet) -> bytes:
    """What stays the same during a run, as a file that the browser fetches once: images, names and points."""
    views = []
    for k, (view, name) in enumerate(zip(view_set.views, view_set.names, strict=True)):
        box = Side(view.points.xy, view.image).box
        views.append(
            {
                "src": "" if view.image is None else image_address(view.image, f"{key}-{k}"),
                "box": [round(edge, 1) for edge in box],
                "name": name,
                "points": np.round(view.points.xy, 1).tolist(),
            }
        )
    return json.dumps(views, separators=(",", ":")).encode()


def couples(
    key: str,
    names: Sequence[str],
    matches: Sequence[Sequence[int | None]],
    errors: Floats,
    title: str,
    on_pick: Callable[[Couple], None],
    picked: Couple | None = None,
) -> None:
    """All pairs of views: above the diagonal how many matches each has, below it how far other ways contradict them.

    A click on a pair is told to `on_pick`.
    """
    count = len(names)

    def told() -> None:
        found = _couple(st.session_state[key].get("couple"))
        if found is not None and 0 <= found[0] < found[1] < count:
            on_pick(found)

    _COUPLES(
        key=key,
        data={
            "part": "couples",
            "key": key,
            "session": canvas.session(),
            "module": canvas.module(key),
            "names": list(names),
            "matches": matches,
            "errors": [[None if np.isnan(one) else round(float(one), 3) for one in row] for row in errors],
            "most": max((one for row in matches for one in row if one is not None), default=1),
            "title": title,
            "picked": picked,
        },
        on_couple_change=told,
    )


def _couple(sent: Any) -> tuple[int, int] | None:
    """Two numbers, if that is what the browser sent."""
    valid = isinstance(sent, list | tuple) and len(sent) == 2 and all(type(one) is int for one in sent)
    return (sent[0], sent[1]) if valid else None
