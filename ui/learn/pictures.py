"""Pictures that several chapters share: a pair with its matching, and small charts."""

from typing import Any

import streamlit as st

from features.explain.lessons import Solved
from features.judge.metrics import matched_pairs
from ui.match.live import side
from ui.match.outcome import line_kinds
from ui.parts import canvas
from ui.parts.canvas import Line
from ui.parts.charts.run import TOOLTIP, line
from ui.shell import presenter

Spec = dict[str, Any]


def matching(key: str, found: Solved, height: int, graph: str = "none") -> None:
    """Both views with the matches found, right ones and wrong ones told apart."""
    pair = found.pair
    pairs = matched_pairs(found.problem, found.result.assignment)
    lines = [
        Line(i, j, kind, 1.0, f"left {i} → right {j}")
        for (i, j), kind in zip(pairs.tolist(), line_kinds(pair, pairs), strict=True)
    ]
    left, right = side(pair.left, "Left", graph), side(pair.right, "Right", graph)
    canvas.show(key, left, right, lines, canvas.Display(height=presenter.tall(height)))


def dots(name: str, data: list[list[float]], colour: str, symbol: str = "circle") -> Spec:
    """Points that were tried, joined by a thin line."""
    return line(name, sorted(data), colour, showSymbol=True, symbol=symbol, symbolSize=11, lineStyle={"width": 1.5})


def chart(key: str, series: list[Spec], x: Spec, y: Spec, alt: str, height: int, **more: Any) -> None:
    """A chart with room for the names of its axes."""
    named = {"type": "value", "nameLocation": "middle", "nameGap": 26, "min": 0}
    spec = {
        "animation": False,
        "grid": {"left": 8, "right": 8, "top": 56, "bottom": 28, "containLabel": True},
        "legend": {"top": 0, "type": "scroll"},
        "tooltip": TOOLTIP,
        "xAxis": named | {"name": "iteration"} | x,
        "yAxis": [{"type": "value", "scale": True, "nameTextStyle": {"align": "left"}, **y}],
        "series": series,
    }
    st.echarts_chart(presenter.enlarged(spec | more), height=presenter.tall(height), key=key, alt=alt)
