"""Two views on one pair of matplotlib axes: images, points, graph edges and matches.

Lines lie on a white halo, so that they stay visible on any image.
"""

from collections.abc import Collection
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from features.pairs import Pair
from features.plots.stage import DrawnLine, Floats, Stage, lines_of
from features.plots.theme import BLUE, INK, KINDS, PAPER, RAMP
from features.points.graphs import GRAPHS

HALO = 1.6  # points that the white halo is wider than its line


def _prepare(axes: Axes, stage: Stage) -> None:
    """Lay the images down; points without an image get a plain sheet."""
    axes.set(xlim=(0, stage.size[0]), ylim=(stage.size[1], 0), aspect="equal")
    axes.set_axis_off()
    for side, view in enumerate(stage.views):
        (x0, y0), (x1, y1) = (stage.at(side, corner) for corner in stage.boxes[side])
        if view.image is not None:
            # a pixel's centre lies at whole coordinates, as the points count
            axes.imshow(view.image.rgb, extent=(x0, x1, y1, y0), interpolation="antialiased", zorder=0)
        else:
            axes.fill([x0, x1, x1, x0], [y0, y0, y1, y1], color=PAPER, zorder=0)
    axes.set(xlim=(0, stage.size[0]), ylim=(stage.size[1], 0))


def _lines(axes: Axes, segments: Floats, width: ArrayLike, z: float, **look: Any) -> None:
    """Lines on a white halo."""
    if len(segments):
        under = np.asarray(width, float) + np.minimum(HALO, width)
        halo = LineCollection(list(segments), linewidths=under, colors="white", alpha=0.75, capstyle="round", zorder=z)
        axes.add_collection(halo, autolim=False)
        over = LineCollection(list(segments), linewidths=width, zorder=z + 0.5, **look)
        axes.add_collection(over, autolim=False)


def _edges(axes: Axes, stage: Stage, graph: str) -> None:
    if graph not in GRAPHS:
        raise ValueError(f"There is no graph {graph!r}; choose one of {', '.join(GRAPHS)}.")
    for side, view in enumerate(stage.views):
        xy = stage.at(side, view.points.xy)
        near = GRAPHS[graph].build(view.points.xy).adjacency()
        ends = xy[np.argwhere(np.triu(near, 1))]
        shade = LineCollection(list(ends), linewidths=1.8, colors=INK, alpha=0.25, zorder=1)
        light = LineCollection(list(ends), linewidths=0.7, colors="white", alpha=0.85, zorder=1.2)
        axes.add_collection(shade, autolim=False)
        axes.add_collection(light, autolim=False)


def _points(axes: Axes, stage: Stage, pair: Pair, size: float) -> bool:
    """Discs for points that have a partner or may have one, hollow diamonds for those that have none."""
    lonely = False
    outliers = (np.empty(0, int), np.empty(0, int)) if not pair.judged else pair.outliers()
    for side, view in enumerate(stage.views):
        xy = stage.at(side, view.points.xy)
        alone = np.zeros(len(xy), bool)
        alone[outliers[side]] = True
        lonely |= bool(alone.any())
        for some, marker, face, edge in ((~alone, "o", INK, "white"), (alone, "D", "white", INK)):
            x, y = xy[some].T
            axes.scatter(
                x, y, s=size, marker=marker, c=face, edgecolors=edge, linewidths=0.9 * min(size / 12, 1), zorder=6
            )
    return lonely


def draw(
    axes: Axes,
    pair: Pair,
    pairs: ArrayLike | None,
    *,
    graph: str | None,
    strength: ArrayLike | None,
    thin: float = 1.0,
    without: Collection[DrawnLine] = (),
) -> tuple[Stage, list[Line2D], LineCollection | None]:
    """A pair with its matches; returns the legend's entries, and the coloured lines where the truth is unknown.

    The lines in `without` are left out; their points are not.
    """
    stage = Stage(pair)
    _prepare(axes, stage)
    if graph is not None:
        _edges(axes, stage, graph)
    found = np.empty((0, 2), np.int64) if pairs is None else np.asarray(pairs, np.int64).reshape(-1, 2)
    crowd = float(np.clip(40 / max(len(found), 1), 0.45, 1.0))  # many lines are thin lines
    base = 1.7 * crowd * thin
    width = np.full(len(found), base)
    if strength is not None:
        given = np.asarray(strength, float)
        if given.shape != (len(found),):
            raise ValueError(f"There are {len(found)} matches and strengths of shape {given.shape}; expected one each.")
        low, high = (given.min(), given.max()) if len(given) else (0.0, 1.0)
        width = base * (0.6 + 0.9 * ((given - low) / (high - low) if high > low else np.ones(len(given)) / 2))
    handles: list[Line2D] = []
    coloured = None
    if not pair.judged:
        drawn = np.array([("correct", i, j) not in without for i, j in found.tolist()], bool)
        told = None if strength is None else np.asarray(strength, float)[drawn]
        coloured = _coloured(axes, stage.segments(found[drawn]), width[drawn], told)
        if pairs is not None:
            how = "" if coloured is None else ": the wider and brighter, the stronger"
            colour = BLUE if coloured is None else coloured.get_cmap()(0.6)
            handles.append(Line2D([], [], color=colour, lw=2, label=f"matched ({len(found)}){how}"))
    elif pairs is not None:
        which = {tuple(match): i for i, match in enumerate(found.tolist())}
        for z, (name, every) in enumerate(lines_of(pair, found).items()):
            kind = KINDS[name]
            some = np.array([(i, j) for i, j in every.tolist() if (name, i, j) not in without], int).reshape(-1, 2)
            wide = [width[which[tuple(match)]] if tuple(match) in which else base for match in some.tolist()]
            _lines(axes, stage.segments(some), wide, 2 + z, colors=kind.colour, linestyles=[kind.dashes])
            if len(some) or name in ("correct", "wrong"):
                label = f"{kind.meaning} ({len(some)})"
                handles.append(Line2D([], [], color=kind.colour, ls=kind.dashes, lw=2, label=label))
    size = 22 * float(np.clip(60 / max(*pair.shape, 1), 0.35, 1.0)) * thin**2
    if _points(axes, stage, pair, size):
        look: dict[str, Any] = {"marker": "D", "ls": "", "mfc": "white", "mec": INK, "ms": 5}
        handles.append(Line2D([], [], label="point without a partner", **look))
    if strength is not None and pair.judged and len(found):
        handles.append(Line2D([], [], ls="", label="wider: stronger"))
    return stage, handles, coloured


def _coloured(axes: Axes, segments: Floats, width: Floats, strength: ArrayLike | None) -> LineCollection | None:
    """Lines coloured by strength, the strongest on top; plain ones if no strength is known."""
    if strength is None or not len(segments):
        _lines(axes, segments, width, 2, colors=BLUE)
        return None
    values = np.asarray(strength, float)
    order = np.argsort(values, kind="stable")
    norm = Normalize(values.min(), values.max() if np.ptp(values) > 0 else values.min() + 1)
    under = LineCollection(
        list(segments[order]), linewidths=width[order] + 0.3 + HALO, colors="white", alpha=0.75, zorder=2
    )
    lines = LineCollection(
        list(segments[order]), array=values[order], cmap=RAMP, norm=norm, linewidths=width[order] + 0.3, zorder=2.5
    )
    axes.add_collection(under, autolim=False)
    axes.add_collection(lines, autolim=False)
    return lines
