"""The curves of an experiment as ECharts options whose points can be clicked: no Streamlit, no state."""

from collections.abc import Sequence
from typing import Any

from experiments.report import look, places
from experiments.spec import KNOWN, Experiment, Panel, Variant
from experiments.summary import MEASURES, Place, Point
from features.parameters import Value
from ui.parts.charts.run import Spec

SYMBOLS = ("circle", "rect", "diamond", "triangle", "roundRect", "emptyCircle", "emptyRect", "emptyDiamond")


def drawn(panel: Panel, method: str, means: dict[Place, Point]) -> list[tuple[Value | None, Point]]:
    """The settings that have a point, in the order of the axis."""
    return [(x, means[panel.title, x, method]) for x in panel.settings if (panel.title, x, method) in means]


def curves(
    experiment: Experiment, panel: Panel, methods: Sequence[str], measure: str, means: dict[Place, Point]
) -> Spec:
    """A line per method over what varies, with the standard errors as whiskers; bars where nothing varies."""
    if not panel.values:
        return bars(experiment, panel, methods, measure, means)
    at: dict[Any, float] = dict(places(panel))
    words = list(at) != list(at.values())
    series = [one_curve(panel, experiment.variant(method), means, at) for method in methods]
    names = [f"{x:g}" if isinstance(x, int | float) else str(x or "") for x in at]
    axis: Spec = {"name": panel.label, "nameLocation": "middle", "nameGap": 28}
    axis |= {"type": "category", "data": names} if words else {"type": "value", "scale": True}
    return {
        "animation": False,
        "grid": {"left": 8, "right": 16, "top": 64, "bottom": 32, "containLabel": True},
        "legend": {"top": 0, "type": "plain"},
        "tooltip": {"trigger": "item", "valueFormatter": "%.4g"},
        "xAxis": axis,
        "yAxis": {"type": "value", "scale": True, "name": MEASURES[measure].label, "nameTextStyle": {"align": "left"}},
        "series": series,
    }


def bars(experiment: Experiment, panel: Panel, methods: Sequence[str], measure: str, means: dict[Place, Point]) -> Spec:
    """A bar per method, each a series of its own like a curve, so that a click means the same."""
    entrants = list(map(experiment.variant, methods))
    labels = [f"{one.label}   {point.mean:.3g}" for one in entrants for _, point in drawn(panel, one.name, means)]
    each = [
        one_curve(panel, one, means, {None: float(i)}) | {"type": "bar", "stack": "one"}
        for i, one in enumerate(entrants)
    ]
    for series in each:
        series["data"] = [[value, place] for place, value in series["data"]]
        for ends in series["markLine"]["data"]:
            for end in ends:
                end["coord"].reverse()
    return {
        "animation": False,
        "grid": {"left": 8, "right": 24, "top": 8, "bottom": 32, "containLabel": True},
        "tooltip": {"trigger": "item", "valueFormatter": "%.4g"},
        "xAxis": {"type": "value", "name": MEASURES[measure].label, "nameLocation": "middle", "nameGap": 28},
        "yAxis": {"type": "category", "data": labels, "inverse": True, "axisTick": {"show": False}},
        "series": each,
    }


def one_curve(panel: Panel, variant: Variant, means: dict[Place, Point], at: dict[Any, float]) -> Spec:
    style, number = look(variant), list(KNOWN).index(variant.method)
    found = drawn(panel, variant.name, means)
    data = [[at[x], float(f"{point.mean:.6g}")] for x, point in found]
    whiskers = [
        [{"coord": [at[x], point.mean - point.error]}, {"coord": [at[x], point.mean + point.error]}]
        for x, point in found
        if point.error > 0
    ]
    mark = {
        "symbol": "none",
        "silent": True,
        "z": 1,  # below the points, which can be clicked
        "animation": False,
        "data": whiskers,
        "label": {"show": False},
        "lineStyle": {"color": style["color"], "type": "solid", "width": 2, "opacity": 0.7},
    }
    return {
        "type": "line",
        "id": variant.name,
        "name": variant.label,
        "data": data,
        "color": style["color"],
        "symbol": SYMBOLS[number % len(SYMBOLS)],
        "symbolSize": 10,
        "lineStyle": {"width": style["lw"], "type": style["ls"]},
        "selectedMode": "single",
        "select": {"itemStyle": {"borderColor": "#111", "borderWidth": 2}},
        "markLine": mark,
        "animation": False,
    }


def picked(panel: Panel, methods: Sequence[str], means: dict[Place, Point], selected: Any) -> Place | None:
    """The point that was clicked, from what the chart reports."""
    for one in selected:
        index, indices = one.get("series_index", -1), one.get("data_indices", [])
        if 0 <= index < len(methods) and indices:
            found = drawn(panel, methods[index], means)
            if 0 <= indices[-1] < len(found):
                return panel.title, found[indices[-1]][0], methods[index]
    return None
