"""The charts of the Debug page, as ECharts options: the energy along a way, and claims against what came true."""

from collections.abc import Mapping
from typing import Any

from adgm.explain.paths import Path
from features.explain.calibration import Calibration
from features.plots.theme import BLUE, GREEN, VERMILION
from ui.parts.charts.comparison import axis, rounded
from ui.parts.charts.run import GREY, Spec

CLAIM_COLOURS = (BLUE, VERMILION)


def energy_along(way: Path, at: int | None = None) -> Spec:
    """The energy after each exchange; the barrier and the first exchange that costs are named, `at` is marked."""
    energies = [rounded(energy) for energy in way.energies]
    names = {way.first_dear + 1: "the first that costs"} if way.first_dear is not None else {}
    if way.top:
        names[way.top] = f"barrier {way.barrier:.4g}" if way.top not in names else f"{names[way.top]}, barrier"
    names = {0: "answer", **names, len(energies) - 1: "truth"}
    beside = [6, 11 if energies[1] >= energies[0] else -13]  # pixels: off the dashed line, and where the curve is not
    data: list[Any] = [
        {
            "value": [k, energy],
            "symbolSize": 13 if at is not None and k == at + 1 else 8,
            "itemStyle": {"color": VERMILION if k == 0 else GREEN if k == len(energies) - 1 else BLUE},
            "label": {
                "show": k in names,
                "formatter": names.get(k, ""),
                "position": "top" if k else beside,
                "color": GREY,
            },
        }
        for k, energy in enumerate(energies)
    ]
    return {
        "animation": False,
        "grid": {"left": 8, "right": 40, "top": 34, "bottom": 28, "containLabel": True},
        "tooltip": {"trigger": "axis", "valueFormatter": "%.6g"},
        "xAxis": {
            "type": "value",
            "name": "exchanges",
            "nameLocation": "middle",
            "nameGap": 26,
            "minInterval": 1,
            "max": len(energies) - 1,
        },
        "yAxis": axis("energy (lower is better)", boundaryGap=["12%", "18%"]),
        "series": [
            {
                "type": "line",
                "name": "energy",
                "data": data,
                "color": BLUE,
                "symbol": "circle",
                "animation": False,
                "markLine": {
                    "symbol": "none",
                    "silent": True,
                    "label": {"show": False},
                    "lineStyle": {"color": GREY, "type": "dashed"},
                    "data": [{"yAxis": energies[0]}],
                },
            }
        ],
    }


def calibration_chart(curves: Mapping[str, Calibration]) -> Spec:
    """Share that is right over what was claimed, with 95 % intervals; on the diagonal 90 % means 90 %."""
    series: list[Spec] = [
        {
            "type": "line",
            "name": "as claimed",
            "data": [[0, 0], [100, 100]],
            "symbol": "none",
            "color": GREY,
            "lineStyle": {"type": "dashed", "width": 1.2},
            "animation": False,
        }
    ]
    for (name, found), colour in zip(curves.items(), CLAIM_COLOURS, strict=False):
        spans = [[{"coord": [100 * b.claimed, 100 * end]} for end in b.interval] for b in found.bins]
        series.append(
            {
                "type": "line",
                "name": name,
                "data": [[rounded(100 * b.claimed), rounded(100 * b.right)] for b in found.bins],
                "symbol": "circle",
                "symbolSize": 8,
                "color": colour,
                "animation": False,
                "markLine": {
                    "symbol": "none",
                    "silent": True,
                    "lineStyle": {"color": colour, "type": "solid", "width": 1.2},
                    "data": spans,
                },
            }
        )
    percent: Spec = {"min": 0, "max": 100, "axisLabel": {"formatter": "{value} %"}}
    below = {"nameLocation": "middle", "nameGap": 26, "nameTextStyle": {"align": "center"}}
    return {
        "animation": False,
        "grid": {"left": 8, "right": 24, "top": 56, "bottom": 28, "containLabel": True},
        "legend": {"top": 0},
        "tooltip": {"trigger": "item", "valueFormatter": "%.1f"},
        "xAxis": axis("claimed", **percent) | below,
        "yAxis": axis("right", **percent),
        "series": series,
    }
