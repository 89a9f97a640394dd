"""Two images side by side on one canvas of our own: matched lines to look at, points to edit.

Streamlit sends a component's script, markup and data anew with every update. Only a small loader and the data (points
and lines) are therefore given to it; the images and the script itself are registered as media files, whose address
is the hash of their content, so that the browser fetches each of them once.

Python owns the points: the browser shows an edit at once and sends it with a revision number, `edits` returns it,
`show` sends it back, and the browser ignores an answer that is older than its own last edit.
"""

import contextlib
import hashlib
import json
import math
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol, cast, get_args

import cv2
import numpy as np
import streamlit as st
from numpy.typing import ArrayLike, NDArray

from features.plots import theme
from features.plots.theme import KindLook
from ui.parts.canvas.edits import Edits, Points, as_origin, as_partners, numbered
from ui.shell.streamlit_patches import media

Kind = Literal["correct", "wrong", "stray", "rejected", "missed", "candidate", "score"]
KINDS: tuple[Kind, ...] = get_args(Kind)  # a line carries the position of its kind


def _look(look: KindLook, judged: bool = False) -> dict[str, Any]:
    """How a kind of line is drawn on a photograph; `judged` ones count when the share of right ones is told."""
    dash = [] if look.dashes == "solid" else [3 * length for length in look.dashes[1]]
    return {"name": look.meaning, "colour": look.bright, "dash": dash, "mark": look.mark, "judged": judged}


LOOKS: dict[Kind, dict[str, Any]] = {
    "correct": _look(theme.KINDS["correct"], judged=True),
    "wrong": _look(theme.KINDS["wrong"], judged=True),
    "stray": _look(theme.KINDS["stray"], judged=True),
    "rejected": _look(theme.REJECTED),
    "missed": _look(theme.KINDS["missed"]),
    "candidate": _look(theme.CANDIDATE),
    "score": {"name": "match", "colour": "", "dash": [], "mark": "", "judged": False},  # coloured by its value
}
Mode = Literal["view", "edit", "mask"]

MOST_POINTS = 2000  # per image: what a browser may send
LOSSLESS_PIXELS = 400_000  # larger images travel as JPEG
MOST_LINES = 48  # drawn at first, spread over the picture; the others on request
MARGIN = 0.08  # around the points of a side without image, as a share of their extent


class Picture(Protocol):
    """What the canvas needs of an image, such as `features.points.images.Image`."""

    @property
    def rgb(self) -> NDArray[np.uint8]: ...

    @property
    def size(self) -> tuple[int, int]: ...

    @property
    def digest(self) -> str: ...


@dataclass(frozen=True)
class Line:
    """One match of left point i with right point j; `value` in [0, 1] is its opacity, `text` its tooltip."""

    i: int
    j: int
    kind: Kind = "score"
    value: float = 1.0
    text: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"a line's kind must be one of {', '.join(KINDS)}; {self.kind!r} is none of them")
        if not math.isfinite(self.value):
            raise ValueError(f"the value of line {self.i} → {self.j} must be a finite number, not {self.value}")


@dataclass(frozen=True, eq=False)
class Side:
    """One half of the canvas; points in pixels of its image, or of a plain sheet around them where there is none."""

    points: Points
    image: Picture | None = None
    edges: NDArray[np.integer] | None = None
    label: str = ""
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", _as_points(self.points))
        if self.edges is not None:
            edges = np.asarray(self.edges).reshape(-1, 2)
            if edges.size and not 0 <= edges.min() <= edges.max() < len(self.points):
                raise ValueError(
                    f"an edge joins points {edges.min()} to {edges.max()}, but there are only {len(self.points)} points"
                )
            object.__setattr__(self, "edges", edges)
        if self.names and len(self.names) != len(self.points):
            raise ValueError(f"{len(self.names)} names were given for {len(self.points)} points; give one for each")

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, width and height of what is shown."""
        if self.image is not None:
            width, height = self.image.size
            return 0.0, 0.0, float(width), float(height)
        if not len(self.points):
            return 0.0, 0.0, 400.0, 300.0
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        size = high - low + 2 * MARGIN * max(float((high - low).max()), 1.0)
        size = np.maximum(size, size.max() / 3)  # points on a line would make a thread of a sheet
        left, top = (low + high - size) / 2
        return float(left), float(top), float(size[0]), float(size[1])


@dataclass(frozen=True, eq=False)
class Shown:
    """What the user has done: the isolated line and its index among those shown, and the points."""

    index: int | None
    line: Line | None
    edits: Edits


@dataclass(frozen=True, eq=False)
class Regions:
    """Rectangles of both pictures, each [1 (keep) or 0 (leave out), left, top, right, bottom]; who hears of others."""

    left: Sequence[Sequence[float]] = ()
    right: Sequence[Sequence[float]] = ()
    changed: Callable[[Any], None] = lambda sent: None


@dataclass(frozen=True)
class _Pick:
    """The isolated pair, and the number of the click that chose it."""

    pair: tuple[int, int] | None = None
    serial: int = 0


def edits(key: str, left: ArrayLike, right: ArrayLike, truth: NDArray[np.int64] | None = None) -> Edits:
    """The user's edits of these starting points on canvas `key`; the points themselves if there are none."""
    left, right = _as_points(left), _as_points(right)
    start = _digest(left, right, *([] if truth is None else [truth]))
    kept = st.session_state.get(_slot(key, "edits"))
    if kept is None or kept.start != start:
        partners = None if truth is None else tuple((i, j) for i, j in enumerate(truth.tolist()) if j >= 0)
        counts = len(left), len(right)
        kept = Edits(left, right, start, origin=numbered(counts), counts=counts, partners=partners)
        st.session_state[_slot(key, "edits")] = kept
    return cast(Edits, kept)


def revision(key: str) -> tuple[str, int]:
    """Changes with every edit, and with the points that the edits start from."""
    kept = st.session_state.get(_slot(key, "edits"))
    return (kept.start, kept.revision) if kept is not None else ("", 0)


def kept_edits(key: str) -> Edits | None:
    """The edits of canvas `key`, to be given to `restore_edits` in another session."""
    return cast("Edits | None", st.session_state.get(_slot(key, "edits")))


def restore_edits(key: str, kept: Edits) -> None:
    st.session_state[_slot(key, "edits")] = kept


def picked(key: str) -> tuple[int, int] | None:
    """The pair (i, j) isolated on canvas `key`: known before `show`, so that its neighbours can be looked up."""
    return cast(_Pick, st.session_state.get(_slot(key, "pick"), _Pick())).pair


def clear_pick(key: str) -> None:
    """Isolate nothing on canvas `key`, for instance because another pair of images is shown."""
    kept = st.session_state.get(_slot(key, "pick"), _Pick())
    st.session_state[_slot(key, "pick")] = _Pick(None, kept.serial)


def pick(key: str, pair: tuple[int, int] | None) -> None:
    """Isolate a pair on canvas `key`, or none, as a click on its line does."""
    kept = st.session_state.get(_slot(key, "pick"), _Pick())
    st.session_state[_slot(key, "pick")] = _Pick(pair, kept.serial + 1)


@dataclass(frozen=True, eq=False)
class Display:
    """How the lines are shown, and how large."""

    scale: str = "relaxed value"  # what the lines' value is called
    sift: bool = False  # with a slider that leaves out lines below a value
    final: bool = False  # they are an answer: the share of right ones is told
    support: Sequence[int] = ()  # the lines that support the isolated one,
    against: Sequence[int] = ()  # and those that contradict it
    over: NDArray[np.float64] | None = None  # a map by which the left picture can be laid over the right one
    stage: bool = False  # as tall as the window allows; elsewhere `height`
    height: int = 560

    def data(self) -> dict[str, Any]:
        return {
            "scale": self.scale,
            "sift": self.sift,
            "final": self.final,
            "support": [int(index) for index in self.support],
            "against": [int(index) for index in self.against],
            "over": [] if self.over is None else [float(f"{value:.9g}") for value in self.over.ravel()],
            "stage": self.stage,
            "height": self.height,
        }


def show(
    key: str,
    left: Side,
    right: Side,
    lines: Sequence[Line] = (),
    display: Display = Display(),
    *,
    mode: Mode = "view",
    regions: Regions = Regions(),
) -> Shown:
    """Show the canvas. `regions` are drawn in the mode "mask"."""
    _check(lines, left, right)
    drawn = Edits(left.points, right.points, _digest(left.points, right.points))
    numbers: Sequence[Sequence[int] | None] = (None, None)
    if mode == "edit":
        drawn = _edits_shown_as(key, drawn)
        left, right = _with_points(left, drawn.left), _with_points(right, drawn.right)
        numbers = drawn.origin
    pick: _Pick = st.session_state.get(_slot(key, "pick"), _Pick())
    _COMPONENT(
        key=key,
        data={
            "part": "default",
            "key": key,
            "session": session(),
            "mode": mode,
            **display.data(),
            "candidate": KINDS.index("candidate"),
            "missed": KINDS.index("missed"),
            "most": MOST_LINES,
            "kinds": list(LOOKS.values()),
            "module": module(key),
            "sides": [_side(left, f"{key}-left", numbers[0]), _side(right, f"{key}-right", numbers[1])],
            "partners": drawn.partners or (),
            "start": drawn.start,
            "revision": drawn.revision,
            "regions": [list(map(list, those)) for those in (regions.left, regions.right)],
            "lines": line_data(lines),
            "pick": pick.pair,
            "serial": pick.serial,
        },
        on_points_change=partial(_receive_points, key, left.image, right.image),
        on_pick_change=partial(_receive_pick, key),
        on_regions_change=lambda: regions.changed(st.session_state[key].get("regions")),
    )
    index = next((k for k, line in enumerate(lines) if (line.i, line.j) == pick.pair), None)
    return Shown(index, None if index is None else lines[index], drawn)


def line_data(lines: Sequence[Line]) -> dict[str, list[Any]]:
    """Lines as the browser reads them, column by column."""
    return {
        "i": [line.i for line in lines],
        "j": [line.j for line in lines],
        "kind": [KINDS.index(line.kind) for line in lines],
        "value": [round(min(max(line.value, 0.0), 1.0), 3) for line in lines],
        "text": [line.text for line in lines],
    }


def session() -> str:
    """What tells one visitor's canvases from another's, in a browser that shows both."""
    return cast(str, st.session_state.setdefault("canvas session", uuid.uuid4().hex))


def module(key: str) -> str:
    """Where the browser finds the script."""
    return media(_MODULE, "text/javascript", f"{key}-module")


def _check(lines: Sequence[Line], left: Side, right: Side) -> None:
    for line in lines:
        if not (0 <= line.i < len(left.points) and 0 <= line.j < len(right.points)):
            raise ValueError(
                f"the line {line.i} → {line.j} needs points that do not exist: there are "
                f"{len(left.points)} on the left and {len(right.points)} on the right"
            )


def _edits_shown_as(key: str, given: Edits) -> Edits:
    """The kept edits if the page shows exactly these, or the points they started from; else a new start."""
    kept = st.session_state.get(_slot(key, "edits"))
    if kept is not None and np.array_equal(kept.left, given.left) and np.array_equal(kept.right, given.right):
        return cast(Edits, kept)
    return edits(key, given.left, given.right)


def _receive_points(key: str, left: Picture | None, right: Picture | None) -> None:
    """An edit arrived. What a browser sends is checked like anything from outside, and clipped to the images."""
    sent = st.session_state[key].get("points")
    kept = st.session_state.get(_slot(key, "edits"))
    if kept is None or not isinstance(sent, dict) or sent.get("start") != kept.start:
        return  # an edit of points that have been replaced since
    new, origin, partners = [kept.left, kept.right], kept.origin, kept.partners
    with contextlib.suppress(KeyError, TypeError, ValueError, OverflowError):
        given = [_as_points([row[:2] for row in sent[side]]) for side in ("left", "right")]
        numbers = [as_origin(sent[side], count) for side, count in zip(("left", "right"), kept.counts, strict=True)]
        told = as_partners(sent["partners"], len(given[0]), len(given[1]))
        if max(map(len, given)) <= MOST_POINTS:
            new, origin = [_within(given[0], left), _within(given[1], right)], (numbers[0], numbers[1])
            partners = told if told or kept.partners is not None else None
    # A refused edit is answered under its own number too: the browser then shows the kept points again.
    revision = sent.get("revision")
    number = revision if isinstance(revision, int) else kept.revision + 1
    st.session_state[_slot(key, "edits")] = Edits(new[0], new[1], kept.start, number, origin, kept.counts, partners)


def _receive_pick(key: str) -> None:
    sent = st.session_state[key].get("pick")
    if not (isinstance(sent, dict) and isinstance(sent.get("serial"), int)):
        return
    match sent.get("pair"):
        case [int(i), int(j)]:
            st.session_state[_slot(key, "pick")] = _Pick((i, j), sent["serial"])
        case None:
            st.session_state[_slot(key, "pick")] = _Pick(None, sent["serial"])


def _slot(key: str, what: str) -> str:
    return f"canvas {what} {key}"


def _as_points(values: ArrayLike) -> Points:
    points = np.asarray(values, dtype=np.float64)
    if not points.size:
        return np.zeros((0, 2))
    if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise ValueError(f"points must be finite numbers in an (n, 2) array, not of shape {points.shape}")
    return points


def _within(points: Points, image: Picture | None) -> Points:
    return points if image is None else np.clip(points, 0, image.size)


def _with_points(side: Side, points: Points) -> Side:
    if points is side.points:
        return side
    fits = np.array_equal(points, side.points)
    return Side(points, side.image, side.edges if fits else None, side.label, side.names if fits else ())


def _side(side: Side, coordinates: str, numbers: Sequence[int] | None) -> dict[str, Any]:
    """One side; in edit mode each point carries its number, so that it is told apart after points have been removed."""
    points = np.round(side.points, 2).tolist()
    if numbers is not None:
        points = [[*point, number] for point, number in zip(points, numbers, strict=True)]
    return {
        "src": "" if side.image is None else image_address(side.image, coordinates),
        "box": [round(edge, 2) for edge in side.box],
        "points": points,
        "edges": [] if side.edges is None else side.edges.ravel().tolist(),
        "label": side.label,
        "names": [str(name) for name in side.names],
    }


def image_address(image: Picture, coordinates: str) -> str:
    """Where the browser finds an image."""
    mimetype, content = _encoded(image.digest, image.rgb)
    return media(content, mimetype, coordinates)


@st.cache_resource(max_entries=32, show_spinner=False)
def _encoded(digest: str, _rgb: NDArray[np.uint8]) -> tuple[str, bytes]:
    """An image as a file; kept by the digest of its pixels, because encoding takes longer than a whole update."""
    height, width = _rgb.shape[:2]
    small = width * height <= LOSSLESS_PIXELS
    extension, options = (".png", []) if small else (".jpg", [cv2.IMWRITE_JPEG_QUALITY, 92])
    ok, content = cv2.imencode(extension, np.ascontiguousarray(_rgb[..., ::-1]), options)
    if not ok:
        raise ValueError(f"an image of {width} × {height} pixels could not be encoded for the browser")
    return ("image/png" if small else "image/jpeg"), content.tobytes()


def _digest(*arrays: NDArray[Any]) -> str:
    total = hashlib.sha1(usedforsecurity=False)
    for array in arrays:
        total.update(str(array.shape).encode())
        total.update(np.ascontiguousarray(array).data if array.size else b"")
    return total.hexdigest()


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


SCRIPTS = (
    *("partners", "paint", "tuples", "stage", "overlay", "geometry", "editing", "regions", "pointing", "canvas"),
    *("matrix", "separation", "views"),
)
STYLES = {"STYLE": "canvas.css", "SEPARATION": "separation.css", "COUPLES": "views.css"}
_PARTS = [_text(f"{name}.js") for name in SCRIPTS]
_PARTS += [f"const {name} = {json.dumps(_text(file))};" for name, file in STYLES.items()]
_MODULE = "\n".join([*_PARTS, ""]).encode()

# Addresses of media files are relative to the app's root, which may itself be a folder of the site: the page's own
# script tells where that is.
LOADER = """
const script = document.querySelector('script[type="module"][src*="static/js/"]');
const root = script ? script.src.replace(/static\\/js\\/.*/, "") : document.baseURI;
export default async function (component) {
  const [data] = component.data;
  const locate = (address) => new URL(address.replace(/^\\//, ""), root).href;
  return (await import(locate(data.module)))[data.part]({ ...component, data, locate });
}
"""


def component(name: str, html: str) -> Callable[..., Any]:
    """A part of the script as an element of the page.

    Its data travel in a list: in a dict Streamlit looks for data frames, and imports pandas to do so.
    """
    mount = st.components.v2.component(name, html=html, js=LOADER)
    return lambda *, data, **given: mount(data=[data], **given)


_COMPONENT = component("adgm_canvas", '<div class="pair-canvas"></div>')
