"""Pictures of pairs, matchings, runs and relaxed assignments: matplotlib `Figure` objects, never pyplot."""

import io
import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from features.judge.metrics import BETTER, WORD, score
from features.models.base import Sense
from features.pairs import Pair
from features.plots.pair import draw
from features.plots.stage import DrawnLine, Floats, Stage
from features.plots.theme import BLUE, FAINT, GREEN, INK, ORANGE, SKY, VERMILION
from features.points.graphs import GRAPHS

WIDTH = 10.0  # inches, of one pair
TITLE, CAPTION, LEGEND = 0.30, 0.24, 0.34  # inches
FLOOR = 1e-8  # residuals below are drawn here: the last step often falls to 1e-30, and would flatten all others
SAVING = threading.Lock()  # matplotlib's settings are global, and pages are served by several threads
METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


# ---- the figures -------------------------------------------------------------------------------------------------


def matches(
    pair: Pair,
    pairs: ArrayLike | None = None,
    *,
    graph: str | None = None,
    strength: ArrayLike | None = None,
    strength_label: str = "strength of the match",
    caption: str = "",
) -> Figure:
    """A pair, its points, the edges of a graph over them and the matched pairs (k × 2).

    `strength` (one number per match, larger is better) makes lines wider, and colours them where there is no truth.
    """
    probe = Stage(pair)
    bar = 0.85 if not pair.judged and strength is not None else 0.0
    width = WIDTH * min(1.0, 1.6 * probe.size[0] / probe.size[1])
    inner = width * probe.size[1] / probe.size[0]
    figure = Figure(figsize=(width + bar, inner), dpi=150, facecolor="white")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    _, handles, coloured = draw(axes, pair, pairs, graph=graph, strength=strength)
    if graph is not None:
        look: dict[str, Any] = {"color": "white", "lw": 1.2}
        halo = [patheffects.withStroke(linewidth=2.4, foreground=FAINT)]
        handles.append(Line2D([], [], label=f"graph: {GRAPHS[graph].label}", path_effects=halo, **look))
    bottom = _legend(figure, handles)
    height = inner + TITLE + (CAPTION if caption else 0) + 0.08 + bottom
    figure.set_size_inches(width + bar, height)
    axes.set_position((0.0, bottom / height, width / (width + bar), inner / height))
    if coloured is not None:
        place = ((width + 0.12) / (width + bar), bottom / height, 0.16 / (width + bar), inner / height)
        colours = figure.colorbar(coloured, cax=figure.add_axes(place))
        _furnish_bar(colours, strength_label)
    _write(figure, 0.1, height - TITLE / 2 - 0.06, pair.name, 11, weight="bold")
    _write(figure, 0.1, height - TITLE - CAPTION / 2 - 0.04, caption, 9, color=FAINT)
    return figure


def bare(pair: Pair, pairs: ArrayLike, width: float, without: Collection[DrawnLine] = ()) -> Figure:
    """The matched lines over both images but for some, so many inches wide, and nothing around them."""
    size = Stage(pair).size
    figure = Figure(figsize=(width, width * size[1] / size[0]), facecolor="none")
    draw(figure.add_axes((0, 0, 1, 1)), pair, pairs, graph=None, strength=None, thin=0.8, without=without)
    return figure


def grid(
    pair: Pair,
    matchings: Mapping[str, tuple[str, ArrayLike]],
    *,
    best: Sequence[str] = (),
    columns: int | None = None,
    note: str = "",
) -> Figure:
    """The pair and its matchings by several methods: {method: (caption, pairs)}, the best ones in bold.

    The first cell shows the points alone, as in the paper's figures; the note stands under everything.
    """
    probe = Stage(pair)
    n1, n2 = pair.shape
    alone = "" if not pair.judged else f" ({sum(map(len, pair.outliers()))} without a partner)"
    cells: list[tuple[str, str, ArrayLike | None]] = [("", f"{n1} against {n2} points{alone}", None)]
    cells += [(method, caption, pairs) for method, (caption, pairs) in matchings.items()]
    columns = columns or (1 if len(cells) == 1 else 2 if len(cells) <= 6 else 3 if len(cells) <= 15 else 4)
    rows = -(-len(cells) // columns)
    cell = 10.0 / columns - 0.12
    inner = cell * probe.size[1] / probe.size[0]
    foot, width = 0.27, columns * (cell + 0.12) + 0.12
    figure = Figure(figsize=(width, rows * inner), dpi=150, facecolor="white")
    handles: dict[str, Line2D] = {}
    for _, _, pairs in cells:
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        graph = "delaunay" if pairs is None else None
        for entry in draw(axes, pair, pairs, graph=graph, strength=None, thin=0.5 + 0.5 / columns)[1]:
            label = str(entry.get_label()).split(" (")[0]
            entry.set_label(label)
            handles.setdefault(label, entry)
    bottom = _legend(figure, sorted(handles.values(), key=lambda entry: entry.get_linestyle() == "None"))
    height = TITLE + 0.1 + rows * (inner + foot) + bottom + (0.2 if note else 0)
    figure.set_size_inches(width, height)
    for i, (method, caption, _) in enumerate(cells):
        row, column = divmod(i, columns)
        x, y = 0.12 + column * (cell + 0.12), height - TITLE - 0.1 - row * (inner + foot) - inner
        figure.axes[i].set_position((x / width, y / height, cell / width, inner / height))
        bold = "bold" if method in best else "normal"
        _write(figure, x + cell / 2, y - foot / 2, f"{method} {caption}".strip(), 9, weight=bold, align="center")
    _write(figure, 0.12, height - TITLE / 2 - 0.05, pair.name, 11, weight="bold")
    _write(figure, 0.12, bottom + 0.1, note, 8, color=FAINT)
    return figure


def curves(
    history: Mapping[str, ArrayLike],
    *,
    sense: Sense = "cost",
    rounded: tuple[ArrayLike, ArrayLike] | None = None,
    best: float | None = None,
    truth: float | None = None,
    title: str = "",
) -> Figure:
    """Residual and ρ on log axes, relaxed and rounded energy, over one axis of iterations; ρ's increases are marked.

    `history` is a result's; what a method does not trace is left out. `rounded`: iterations and energies of rounded
    assignments. `best`, `truth`: energies drawn as levels. Energies are shown as the model's sense says.
    """
    trace = {name: np.asarray(values, float) for name, values in history.items()}
    length = max((len(values) for values in trace.values()), default=0)
    steps = trace.get("iteration", np.arange(1, length + 1))
    panels = [name for name in ("residual", "rho", "energy") if name == "energy" or len(trace.get(name, ()))]
    figure = Figure(figsize=(7.2, 0.7 + 1.55 * len(panels)), dpi=150, facecolor="white", layout="constrained")
    boxes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    rho = trace.get("rho", np.empty(0))
    grows = steps[1:][np.diff(rho) > 0] if len(rho) > 1 else np.empty(0)
    for name, axes in zip(panels, boxes, strict=True):
        _furnish(axes)
        for step in grows:
            axes.axvline(step, color=ORANGE, lw=0.8, ls=(0, (2, 2)), zorder=1)
        if name == "energy":
            _energies(axes, steps, trace.get("energy"), sense, rounded, best, truth)
            continue
        if name == "residual":
            _residual(axes, steps, trace[name])
        else:
            _penalty(axes, steps, rho, grows)
    boxes[-1].set_xlabel("iteration", fontsize=9)
    boxes[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    if title:
        boxes[0].set_title(printable(title), fontsize=10, loc="left", weight="bold", color=INK, parse_math=False)
    return figure


def _residual(axes: Axes, steps: Floats, values: Floats) -> None:
    drawn = np.maximum(values, FLOOR)
    axes.semilogy(steps, drawn, color=BLUE, lw=1.3, marker="." if len(steps) < 3 else "")
    low = values < FLOOR
    if low.any():
        look: dict[str, Any] = {"ls": "", "marker": "v", "color": BLUE, "ms": 6, "clip_on": False}
        axes.plot(steps[low], drawn[low], label=f"below {FLOOR:g}", **look)
        axes.legend(fontsize=8, frameon=False, loc="best")
    axes.set_ylabel("residual", fontsize=9)


def _penalty(axes: Axes, steps: Floats, rho: Floats, grows: Floats) -> None:
    axes.step(steps, rho, color=BLUE, lw=1.3, where="post", marker="." if len(steps) < 3 else "")
    axes.set_yscale("log")
    levels = np.unique(rho)
    shown = levels[:: -(-len(levels) // 6)]
    axes.set_yticks(shown, [f"{value:.4g}" for value in shown])
    axes.minorticks_off()
    axes.set_ylabel("penalty ρ", fontsize=9)
    if len(grows):
        at = rho[np.searchsorted(steps, grows)]
        axes.plot(grows, at, ls="", marker="^", color=ORANGE, mec=INK, mew=0.5, ms=6, label="ρ grows")
        axes.legend(fontsize=8, frameon=False, loc="best")


def _energies(
    axes: Axes,
    steps: Floats,
    relaxed: Floats | None,
    sense: Sense,
    rounded: tuple[ArrayLike, ArrayLike] | None,
    best: float | None,
    truth: float | None,
) -> None:
    def shown(energies: ArrayLike) -> list[float]:
        return [score(float(value), sense) for value in np.asarray(energies, float).ravel()]

    if relaxed is not None and len(relaxed):
        axes.plot(steps, shown(relaxed), color=SKY, lw=1.3, marker="." if len(relaxed) < 3 else "", label="relaxed")
    if rounded is not None:
        axes.plot(rounded[0], shown(rounded[1]), color=INK, lw=0.9, marker="o", ms=2.4, ls="--", label="rounded")
    for value, look, label in ((best, (VERMILION, "-"), "best matching"), (truth, (GREEN, ":"), "truth")):
        if value is not None:
            axes.axhline(score(value, sense), color=look[0], ls=look[1], lw=1.4, label=label)
    axes.set_ylabel(f"{WORD[sense]}\n({BETTER[sense]})", fontsize=9)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, frameon=False, loc="best", ncols=2)


def assignment(
    x: ArrayLike, pairs: ArrayLike | None = None, truth: ArrayLike | None = None, *, sort: bool = True, title: str = ""
) -> Figure:
    """The relaxed assignment (n1 × n2) as a matrix: matched pairs in squares, true ones with a cross.

    `sort` puts the right points in the order of their partners, by the truth or else the matching: a perfect matching
    is then the diagonal.
    """
    values = np.asarray(x, float)
    found = np.empty((0, 2), np.int64) if pairs is None else np.asarray(pairs, np.int64).reshape(-1, 2)
    known = np.full(len(values), -1) if truth is None else np.asarray(truth, np.int64)
    true = np.stack([np.flatnonzero(known >= 0), known[known >= 0]], axis=1)
    n1, n2 = values.shape
    order = np.arange(n2)
    if sort:
        leading = true if len(true) else found
        first = list(dict.fromkeys(leading[np.argsort(leading[:, 0], kind="stable"), 1].tolist()))
        order = np.array(first + [j for j in range(n2) if j not in set(first)], dtype=np.int64)
    place = np.argsort(order)
    width = 5.6
    inner = float(np.clip(width * n1 / n2, 1.2, 7.5))
    width = min(width, inner * n2 / n1)  # square cells
    edge, bar, top, bottom = 0.55, 0.85, 0.42, 0.72
    size = (edge + width + bar, top + inner + bottom)
    figure = Figure(figsize=size, dpi=150, facecolor="white")
    axes = figure.add_axes((edge / size[0], bottom / size[1], width / size[0], inner / size[1]))
    most = max(1.0, float(values.max(initial=0.0)))
    heat = axes.imshow(values[:, order], cmap="Blues", vmin=0, vmax=most, aspect="auto")
    box = float(np.clip(72 * 0.7 * inner / n1, 2.0, 14))
    axes.plot(place[true[:, 1]], true[:, 0], ls="", marker="x", color=ORANGE, ms=0.6 * box, mew=1.3)
    square: dict[str, Any] = {"ls": "", "marker": "s", "mfc": "none", "mec": VERMILION, "mew": 1.2}
    axes.plot(place[found[:, 1]], found[:, 0], ms=box, **square)
    axes.set_xlabel("right point" + ", sorted by partner" * sort, fontsize=9)
    axes.set_ylabel("left point", fontsize=9)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    axes.tick_params(labelsize=8, length=2, color=FAINT, labelcolor=INK)
    if sort:
        axes.set_xticks([])
    handles = [Line2D([], [], ls="", marker="x", color=ORANGE, ms=7, mew=1.5, label="truth")] if len(true) else []
    handles += [Line2D([], [], ms=8, label="matched", **square)] if len(found) else []
    _legend(figure, handles)
    place_bar = ((edge + width + 0.12) / size[0], bottom / size[1], 0.14 / size[0], inner / size[1])
    colours = figure.colorbar(heat, cax=figure.add_axes(place_bar))
    _furnish_bar(colours, "relaxed value")
    _write(figure, edge, size[1] - top / 2, title, 10, weight="bold")
    return figure


# ---- what they share ---------------------------------------------------------------------------------------------


def save(figure: Figure, format: str = "png", *, dpi: float = 150) -> bytes:
    """The figure as a file; the same figure gives the same bytes."""
    if format not in METADATA:
        raise ValueError(f"There is no picture format {format!r}; choose one of {', '.join(METADATA)}.")
    out = io.BytesIO()
    settings: Any = {"svg.hashsalt": "adgm", "svg.fonttype": "path", "pdf.fonttype": 42}
    extra: dict[str, Any] = (
        {"pil_kwargs": {"compress_level": 3}} if format == "png" else {}
    )  # half the time, 5 % larger
    with SAVING, matplotlib.rc_context(settings):
        figure.savefig(out, format=format, dpi=dpi, metadata=METADATA[format], **extra)
    return out.getvalue()


def printable(text: str) -> str:
    """Text that every format can hold: SVG has no control characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _write(figure: Figure, x: float, y: float, text: str, size: float, *, align: str = "left", **look: Any) -> None:
    """A line of text at inches from the lower left corner, taken literally: a name with $ is no formula."""
    if text:
        width, height = figure.get_size_inches()
        settings = {"color": INK, "va": "center", "ha": align, "fontsize": size, "parse_math": False, **look}
        figure.text(x / width, y / height, printable(text), **settings)


def _legend(figure: Figure, handles: list[Line2D]) -> float:
    """A legend at the foot, in as many rows as the width asks for; returns its height in inches."""
    if not handles:
        return 0.1
    needed = sum(0.7 + 0.078 * len(str(entry.get_label())) for entry in handles)
    rows = int(np.ceil(needed / figure.get_size_inches()[0]))
    columns = int(np.ceil(len(handles) / rows))
    look: dict[str, Any] = {"frameon": False, "fontsize": 8.5, "labelcolor": INK, "handlelength": 2.6}
    figure.legend(handles=handles, loc="lower center", ncols=columns, borderaxespad=0.25, **look)
    return LEGEND + 0.19 * (-(-len(handles) // columns) - 1)


def _furnish(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, color="#e4e6ea", lw=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8, length=2, color=FAINT, labelcolor=INK)


def _furnish_bar(colours: Any, label: str) -> None:
    colours.set_label(label, fontsize=8, color=INK)
    colours.ax.tick_params(labelsize=7, length=2, color=FAINT, labelcolor=INK)
    colours.outline.set_visible(False)
