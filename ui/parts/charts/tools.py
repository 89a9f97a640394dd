"""Charts of the Debug page's tools, as ECharts options: sweeps, the course of a fit, runs over their parameters."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from features.explain.fitting import Step
from features.explain.sweeps import Axis, Cell
from features.explain.versus import Line
from features.judge.metrics import WORD, score
from features.models.base import Sense
from features.parameters import Value
from features.plots.theme import BLUE, COLOURS, GREEN, PURPLE, SHADES, VERMILION
from ui.parts.charts.run import GREY, Spec

VERDICTS = {
    "both agree": (GREEN, "circle"),
    "model prefers this": (PURPLE, "diamond"),
    "optimiser stuck": (VERMILION, "triangle"),
}
UNKNOWN = GREY, "emptyCircle"
Row = Mapping[str, Any]
WIDE = 100.0  # an axis of runs whose values differ by more than this factor is logarithmic


def told(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def sweep_chart(axes: Sequence[Axis], cells: Sequence[Cell], sense: Sense) -> Spec:
    """Accuracy and score over one parameter, every point with the mark of its verdict; over two, a heat map."""
    if len(axes) == 2:
        return _heat_map(axes, cells)
    names = [told(cell.setting[0]) for cell in cells]
    right = [_marked(cell, _percent(cell.accuracy)) for cell in cells]
    value = [float(f"{score(cell.energy, sense):.6g}") for cell in cells]
    line: Spec = {"type": "line", "animation": False, "selectedMode": "single"}
    series = [line | {"name": WORD[sense], "data": value, "yAxisIndex": 1, "color": BLUE, "showSymbol": False}]
    series[0]["lineStyle"] = {"type": "dashed", "width": 1.5}
    series += [line | {"name": "right %", "data": right, "symbolSize": 12, "color": GREY, "z": 3}]
    axis: Spec = {"type": "value", "scale": True, "splitLine": {"show": False}, "name": WORD[sense]}
    below = {"name": axes[0].name, "nameLocation": "middle", "nameGap": 28}
    return {
        "animation": False,
        "grid": {"left": 8, "right": 8, "top": 48, "bottom": 32, "containLabel": True},
        "legend": {"top": 0},
        "tooltip": {"trigger": "axis"},
        "xAxis": {"type": "category", "data": names, **below},
        "yAxis": [{"type": "value", "min": 0, "max": 100, "name": "right %"}, axis],
        "series": series,
    }


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 1)


def _marked(cell: Cell, value: float | None) -> Spec:
    worst = next((one for one in ("optimiser stuck", "model prefers this", "both agree") if one in cell.verdicts), "")
    colour, symbol = VERDICTS.get(worst, UNKNOWN)
    return {"value": value, "symbol": symbol, "itemStyle": {"color": colour}}


def _heat_map(axes: Sequence[Axis], cells: Sequence[Cell]) -> Spec:
    first, second = (list(axis.values) for axis in axes)
    data = [
        [first.index(cell.setting[0]), second.index(cell.setting[1]), _percent(cell.accuracy) or 0.0] for cell in cells
    ]
    label = {"show": len(cells) <= 120, "formatter": "{@[2]}"}
    sides = [{"type": "category", "data": [told(v) for v in values]} for values in (first, second)]
    return {
        "animation": False,
        "grid": {"left": 8, "right": 8, "top": 36, "bottom": 32, "containLabel": True},
        "tooltip": {"formatter": "{@[2]} % right"},
        "xAxis": sides[0] | {"name": axes[0].name, "nameLocation": "middle", "nameGap": 28},
        "yAxis": sides[1] | {"name": axes[1].name},
        "visualMap": {"min": 0, "max": 100, "show": False, "inRange": {"color": list(SHADES[1:])}},
        "series": [
            {"type": "heatmap", "name": "right %", "data": data, "label": label, "selectedMode": "single"}
            | {"animation": False}
        ],
    }


def clicked(selected: Sequence[Any], cells: int) -> int | None:
    """Which cell a click means, from what the chart reports."""
    for one in selected:
        indices = one.get("data_indices", [])
        if indices and 0 <= indices[-1] < cells:
            return int(indices[-1])
    return None


def fit_chart(steps: Sequence[Step]) -> Spec:
    """The training error of everything that was tried, and of what was kept."""
    tried = [[step.evaluations, round(100 * step.error, 2)] for step in steps if step.error <= 1]
    kept = [[step.evaluations, round(100 * step.error, 2)] for step in steps if step.kept]
    kept += [[steps[-1].evaluations, kept[-1][1]]] if kept else []
    return {
        "animation": False,
        "grid": {"left": 8, "right": 8, "top": 48, "bottom": 32, "containLabel": True},
        "legend": {"top": 0},
        "tooltip": {"trigger": "item", "formatter": "{a}: {@[1]} %"},
        "xAxis": {"type": "value", "name": "evaluations", "nameLocation": "middle", "nameGap": 28, "min": 1},
        "yAxis": {"type": "value", "min": 0, "name": "training error %", "nameTextStyle": {"align": "left"}},
        "series": [
            {"type": "line", "name": "kept", "data": kept, "step": "end", "color": BLUE, "showSymbol": False},
            {"type": "scatter", "name": "tried", "data": tried, "color": GREY, "symbolSize": 6},
        ],
    }


def gains_chart(lines: Sequence[Line]) -> Spec:
    """The difference of two models on each kind of pairs, with its interval; grey where that holds 0."""
    series: list[Spec] = []
    for at, line in enumerate(lines):
        gain = line.gain
        colour = GREY if not gain.decided else GREEN if gain.mean > 0 else VERMILION
        ends = [100 * end for end in (gain.low, gain.high) if math.isfinite(end)]
        shared = {"name": line.name, "color": colour, "animation": False, "tooltip": {"formatter": gain.points()}}
        series.append(shared | {"type": "line", "data": [[round(end, 2), at] for end in ends], "symbolSize": 5})
        series.append(shared | {"type": "scatter", "data": [[round(100 * gain.mean, 2), at]], "symbolSize": 13})
    zero = {"symbol": "none", "silent": True, "label": {"show": False}, "lineStyle": {"color": GREY, "type": "dashed"}}
    series[0]["markLine"] = zero | {"data": [{"xAxis": 0}]}
    below = {"name": "difference in points", "nameLocation": "middle", "nameGap": 28}
    return {
        "animation": False,
        "grid": {"left": 8, "right": 16, "top": 12, "bottom": 36, "containLabel": True},
        "tooltip": {"trigger": "item"},
        "xAxis": {"type": "value", "scale": True} | below,
        "yAxis": {"type": "category", "data": [line.name for line in lines], "inverse": True},
        "series": series,
    }


def parallel_chart(rows: Sequence[Row], names: Sequence[str]) -> Spec:
    """A line per run through all its parameters and numbers, coloured by its verdict."""
    axes: list[Spec] = []
    for at, name in enumerate(names):
        values = [row.get(name) for row in rows]
        words = any(isinstance(value, str) for value in values)
        axis: Spec = {"dim": at, "name": name, "nameRotate": 0, "nameTextStyle": {"fontSize": 11}}
        if words:
            axis |= {"type": "category", "data": list(dict.fromkeys(_word(value) for value in values))}
        else:
            numbers = [value for value in values if value is not None]
            wide = min(numbers, default=0) > 0 and max(numbers) / min(numbers) > WIDE
            axis |= {"type": "log"} if wide else {"type": "value", "scale": True}
        axes.append(axis)
    series = []
    for at, verdict in enumerate(dict.fromkeys(row.get("verdict") or "truth unknown" for row in rows)):
        mine = [row for row in rows if (row.get("verdict") or "truth unknown") == verdict]
        data = [
            [
                _word(row.get(name)) if axis.get("type") == "category" else row.get(name)
                for name, axis in zip(names, axes, strict=True)
            ]
            for row in mine
        ]
        colour = VERDICTS.get(verdict, (COLOURS[at % len(COLOURS)], ""))[0]
        series.append(
            {"type": "parallel", "name": verdict, "data": data, "color": colour, "animation": False}
            | {"lineStyle": {"color": colour, "width": 2, "opacity": 0.7}}
        )
    return {
        "animation": False,
        "legend": {"top": 0},
        "parallel": {"left": 48, "right": 64, "top": 64, "bottom": 24},
        "parallelAxis": axes,
        "series": series,
    }


def _word(value: Any) -> str:
    return "–" if value is None else str(value)
