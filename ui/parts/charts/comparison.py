"""The charts of a comparison, as ECharts options: scores over time, and score against accuracy."""

from collections.abc import Mapping, Sequence
from typing import Any

from features.judge.comparison import LABELS
from features.judge.metrics import BETTER, WORD
from features.models.base import Sense
from features.plots.theme import method_look
from ui.parts.charts.run import GREY, Spec

MOST_NAMES = 3  # on one dot


def name_of(method: str) -> str:
    """The label without what it says in brackets."""
    return LABELS[method].split(" (")[0]


def rounded(value: float) -> float:
    return float(f"{value:.6g}")


def axis(name: str, **more: Any) -> Spec:
    return {"type": "value", "scale": True, "name": name, "nameTextStyle": {"align": "left"}} | more


def time_chart(curves: Mapping[str, Sequence[tuple[float, float]]], sense: Sense, truth: float | None = None) -> Spec:
    """Score of the best matching so far over the seconds of computing; {method: (seconds, score), …}, by key."""
    series: list[Spec] = []
    for method, points in curves.items():
        look = method_look(method)
        data: list[Any] = [[rounded(moment), rounded(value)] for moment, value in points]
        data[-1] = {"value": data[-1], "symbol": "circle", "symbolSize": 8}
        series.append(
            {
                "type": "line",
                "name": name_of(method),
                "data": data,
                "step": "end",
                "color": look.colour,
                "symbol": "none",
                "showSymbol": True,
                "animation": False,
                "lineStyle": {"type": look.stroke, "width": 1.8},
                "emphasis": {"focus": "series"},
            }
        )
    if truth is not None and series:
        mark = {"yAxis": rounded(truth), "lineStyle": {"color": GREY, "type": "dashed"}}
        label = {"formatter": "truth", "position": "insideStartTop", "color": GREY}
        series[0]["markLine"] = {"symbol": "none", "silent": True, "data": [mark], "label": label}
    ends = [points[-1][1] for points in curves.values()] + ([] if truth is None else [truth])
    room = 0.08 * (max(ends) - min(ends)) or 0.02 * abs(ends[0]) or 1.0
    # Where the methods begin is far from where they end: what matters lies between their ends.
    span = {"min": rounded(min(ends) - room), "max": rounded(max(ends) + room)}
    below = {"nameLocation": "middle", "nameGap": 26, "nameTextStyle": {"align": "center"}}
    return {
        "animation": False,
        "grid": {"left": 8, "right": 16, "top": 64, "bottom": 28, "containLabel": True},
        "legend": {"top": 0, "type": "scroll"},
        "tooltip": {"trigger": "item", "formatter": "{a}: {c}"},
        "xAxis": axis("seconds (log)", type="log", **below) | {"splitLine": {"show": False}},
        "yAxis": axis(
            f"{WORD[sense]} ({BETTER[sense]})", **span, axisLabel={"showMinLabel": False, "showMaxLabel": False}
        ),
        "series": series,
    }


def scatter_chart(
    dots: Mapping[str, tuple[float, float]], sense: Sense, truth: tuple[float, float] | None = None
) -> Spec:
    """Score against accuracy; {method: (score, accuracy)}, by key. Methods that agree share a dot."""
    places: dict[tuple[float, float], list[str]] = {}
    for method, (value, accuracy) in dots.items():
        places.setdefault((rounded(value), round(100 * accuracy, 2)), []).append(method)
    series: list[Spec] = []
    values = [value for value, _ in places] + ([] if truth is None else [truth[0]])
    middle = (min(values) + max(values)) / 2 if values else 0.0
    for (value, accuracy), methods in places.items():
        names = [name_of(method) for method in methods]
        more = f" + {len(names) - MOST_NAMES}" if len(names) > MOST_NAMES else ""
        side = "right" if value < middle else "left"  # away from the edge
        label = {"show": True, "formatter": ", ".join(names[:MOST_NAMES]) + more, "position": side, "color": "inherit"}
        series.append(
            {
                "type": "scatter",
                "name": ", ".join(names),
                "data": [[value, accuracy]],
                "color": method_look(methods[0]).colour,
                "symbolSize": 10 + 3 * min(len(names), 6),
                "label": label,
                "labelLayout": {"hideOverlap": True},
                "animation": False,
            }
        )
    if truth is not None:
        label = {"show": True, "formatter": "truth", "position": "bottom", "color": GREY}
        series.append(
            {
                "type": "scatter",
                "name": "truth",
                "data": [[rounded(truth[0]), 100 * truth[1]]],
                "symbol": "diamond",
                "symbolSize": 16,
                "color": GREY,
                "label": label,
                "animation": False,
                "z": 1,
            }
        )
    below = {"nameLocation": "middle", "nameGap": 26, "nameTextStyle": {"align": "center"}}
    return {
        "animation": False,
        "grid": {"left": 8, "right": 40, "top": 64, "bottom": 28, "containLabel": True},
        "tooltip": {"trigger": "item", "formatter": "{a}: {c}"},
        "xAxis": axis(f"{WORD[sense]} ({BETTER[sense]})", **below),
        "yAxis": axis("accuracy (%)", scale=False, min=0, max=100),
        "series": series,
    }
