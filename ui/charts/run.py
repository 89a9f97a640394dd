"""The curves and the heat map of a run, as ECharts options: no Streamlit, no state, at most a few hundred points."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.plots.theme import BLUE, GREEN, VERMILION
from ui.jobs.history import Lanes

Floats = NDArray[np.float64]
Spec = dict[str, Any]

ORANGE, GREY = VERMILION, "#888888"
VIRIDIS = ["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"]
MOST_MARKS = 21  # as many as the paper lets ρ grow, and a change by hand
SMALLEST = 1e-16  # a logarithmic axis has no zero


@dataclass(frozen=True, eq=False)
class Curves:
    """What a run traced, thinned: columns over "iteration", the iterations where ρ grew, the rounded energies."""

    history: dict[str, Floats]
    increases: Sequence[int] = ()
    rounded: Sequence[tuple[int, float]] = ()


def powers(xy: Sequence[Sequence[float]]) -> list[list[float]]:
    """[[x, y], …] as [[x, log10 y, y], …]: drawn as powers of ten, told as they are."""
    return [[x, float(f"{np.log10(max(y, SMALLEST)):.4f}"), y] for x, y in xy]


AS_TOLD = {"encode": {"x": 0, "y": 1, "tooltip": [2]}}
POWER_AXIS: Spec = {"type": "value", "scale": True, "minInterval": 1, "axisLabel": {"formatter": "1e{value}"}}


def points(history: dict[str, Floats], name: str, *, positive: bool = False) -> list[list[float]]:
    """[[iteration, value], …] without what is not a number."""
    if name not in history:
        return []
    x, y = history["iteration"], history[name]
    fine = np.isfinite(y)
    y = np.maximum(y[fine], SMALLEST) if positive else y[fine]
    return [[int(a), float(f"{b:.6g}")] for a, b in zip(x[fine], y, strict=True)]


def line(name: str, data: list[list[float]], colour: str, **more: Any) -> Spec:
    return {"type": "line", "name": name, "data": data, "showSymbol": False, "color": colour, "animation": False} | more


def frame(*y_axes: Spec) -> Spec:
    """Axes, legend and tooltip that all curves share."""
    return {
        "animation": False,
        "grid": {"left": 8, "right": 8, "top": 56, "bottom": 28, "containLabel": True},
        "legend": {"top": 0, "type": "scroll"},
        "tooltip": {"trigger": "axis", "valueFormatter": "%.4g"},
        "xAxis": {"type": "value", "name": "iteration", "nameLocation": "middle", "nameGap": 26, "min": 0},
        "yAxis": list(y_axes),
    }


def dashed(spec: Spec) -> Spec:
    return spec | {"lineStyle": {"type": "dashed", "width": 1.5, "opacity": 0.8}}


def penalty_chart(now: Curves, earlier: Curves | None = None, cursor: int | None = None) -> Spec:
    """Residual and ρ over the iterations, both logarithmic, the increases of ρ marked."""
    # A penalty that balances itself changes all the time: then its curve tells enough.
    rare = len(now.increases) <= min(MOST_MARKS, 1 + len(now.history.get("rho", ())) / 10)
    marks: list[Spec] = [{"xAxis": k} for k in now.increases] if rare else []
    if cursor is not None:
        marks.append({"xAxis": cursor, "lineStyle": {"color": GREEN, "type": "solid", "width": 2}})
    mark = {"symbol": "none", "label": {"show": False}, "lineStyle": {"color": GREY, "type": "dotted"}, "data": marks}
    series = [
        line("residual r", powers(points(now.history, "residual", positive=True)), BLUE, markLine=mark, **AS_TOLD),
        line("penalty ρ", points(now.history, "rho", positive=True), ORANGE, yAxisIndex=1, step="end"),
    ]
    if earlier is not None:
        series += [
            dashed(line("residual, run A", powers(points(earlier.history, "residual")), BLUE, **AS_TOLD)),
            dashed(line("ρ, run A", points(earlier.history, "rho", positive=True), ORANGE, yAxisIndex=1, step="end")),
        ]
    left = POWER_AXIS | {"name": "residual r", "nameTextStyle": {"align": "left"}}
    right = {"type": "log", "name": "penalty ρ", "nameTextStyle": {"align": "right"}, "splitLine": {"show": False}}
    return frame(left, right) | {"series": series}


def lanes_chart(lanes: Lanes) -> Spec:
    """The residuals of several runs over their own iterations, the leader in front."""
    series = []
    for k, one in enumerate(lanes.curves):
        leads = k == lanes.leader
        data = powers(np.stack([one.iterations, one.residuals], axis=1).tolist())
        style = {"width": 3 if leads else 1, "opacity": 1 if leads else 0.7, "type": "dotted" if one.ended else "solid"}
        style |= {"type": "solid"} if leads else {}
        name = f"leader, run {k + 1}: {one.name}" if leads else f"run {k + 1}: {one.name}"
        series.append(line(name, data, BLUE if leads else GREY, lineStyle=style, z=3 if leads else 2, **AS_TOLD))
    axis = POWER_AXIS | {"name": "residual r of each run", "nameTextStyle": {"align": "left"}}
    leader = series[lanes.leader]["name"]
    plain = frame(axis)
    return plain | {"series": series, "legend": plain["legend"] | {"data": [leader]}, "tooltip": {"trigger": "item"}}


def energy_chart(
    now: Curves, earlier: Curves | None = None, truth: float | None = None, cursor: int | None = None
) -> Spec:
    """Relaxed and rounded energy over the iterations, and the true matching's as a level."""
    marks: list[Spec] = []
    if truth is not None:
        label = {"formatter": "truth", "position": "insideEndTop", "color": GREY}
        marks.append({"yAxis": truth, "label": label, "lineStyle": {"color": GREY, "type": "dashed"}})
    if cursor is not None:
        marks.append({"xAxis": cursor, "label": {"show": False}, "lineStyle": {"color": GREEN, "type": "solid"}})
    mark = {"symbol": "none", "data": marks}
    rounded = [[k, float(f"{e:.6g}")] for k, e in now.rounded]
    series = [
        line("relaxed", points(now.history, "energy"), BLUE, markLine=mark),
        line("rounded", rounded, ORANGE, step="end"),
    ]
    if earlier is not None:
        series.append(dashed(line("relaxed, run A", points(earlier.history, "energy"), BLUE)))
        series.append(dashed(line("rounded, run A", [[k, e] for k, e in earlier.rounded], ORANGE, step="end")))
    axis = {"type": "value", "scale": True, "name": "energy (lower is better)", "nameTextStyle": {"align": "left"}}
    return frame(axis) | {"series": series}


def heat_map(x: Floats, truth: NDArray[np.int64] | None = None, dark: bool = False) -> Spec:
    """The relaxed assignment: graph 1 downwards, graph 2 to the right, the true pairs framed.

    Where the truth is known the right points are put in the order of their partners: it is then the diagonal.
    """
    n1, n2 = x.shape
    partners = [] if truth is None else [int(j) for j in truth if j >= 0]
    known = set(partners)
    order = partners + [j for j in range(n2) if j not in known]
    place = np.argsort(order)
    i, j = np.nonzero(x > 1e-3)
    cells = [[int(place[b]), int(a), round(float(x[a, b]), 3)] for a, b in zip(i, j, strict=True)]
    series: list[Spec] = [{"type": "heatmap", "name": "relaxed value", "data": cells, "animation": False}]
    if truth is not None:
        frames = [[int(place[b]), a] for a, b in enumerate(truth.tolist()) if b >= 0]
        style = {"color": "transparent", "borderColor": ORANGE, "borderWidth": 1.2}
        size = max(4, min(14, 420 // max(n1, n2)))
        series.append(
            {
                "type": "scatter",
                "name": "true pair",
                "symbol": "rect",
                "symbolSize": size,
                "data": frames,
                "itemStyle": style,
                "silent": True,
                "animation": False,
            }
        )
    colours = VIRIDIS[1:] if dark else VIRIDIS[::-1]  # what is large stands out from the page
    axis = {"type": "category", "splitArea": {"show": False}, "nameLocation": "middle"}
    return {
        "animation": False,
        "grid": {"left": 24, "right": 8, "top": 36, "bottom": 28, "containLabel": True},
        "legend": {"top": 0},
        "tooltip": {"formatter": "relaxed value {@[2]}"},
        "xAxis": axis | {"data": [str(k) for k in order], "name": "right point", "nameGap": 26},
        "yAxis": axis | {"data": [str(k) for k in range(n1)], "name": "left point", "nameGap": 36, "inverse": True},
        "visualMap": {
            "min": 0,
            "max": 1,
            "show": False,
            "seriesIndex": 0,
            "inRange": {"color": colours},
        },
        "series": series,
    }
