"""The curves of a run about several views: the energy of its tracks, and how right they are."""

from collections.abc import Sequence
from math import isfinite

from features.plots.theme import BLUE, GREEN, VERMILION
from features.views import Step
from ui.parts.charts.run import GREY, USUAL, Spec, axis, blank, frame, line

ENERGY = "Total energy", "of the tracks, lower is better"
JUDGED = "How right", "in per cent"
PROMISES = (
    "What all pairs cost together. No step of the tracks raises it.",
    "How many of the true matches are found, and how many of those found are right, where the truth is known.",
)


def energy_chart(steps: Sequence[Step], at: int | None = None) -> Spec:
    """Total energy of the tracks over the joint's steps."""
    data = [[one.number, float(f"{one.energy:.6g}")] for one in steps if one.phase == "joint" and isfinite(one.energy)]
    if not data:
        return blank(ENERGY, PROMISES[0], USUAL[1])
    made = frame(ENERGY, steps[-1].number, axis(ENERGY[0], GREY))
    made["xAxis"]["min"] = data[0][0] - 1
    return made | {"series": [looked_at(line("total energy", data, BLUE, step="end", showSymbol=len(data) < 3), at)]}


def judged_chart(steps: Sequence[Step], at: int | None = None) -> Spec:
    """Accuracy and precision over the steps, where the truth is known."""
    series = []
    for name, attribute, colour in (("found", "accuracy", GREEN), ("of them right", "precision", VERMILION)):
        told = [(one.number, getattr(one, attribute)) for one in steps if one.phase != "points"]
        data = [[n, round(100 * value, 2)] for n, value in told if value is not None]
        series.append(line(name, data, colour, showSymbol=len(data) == 1))
    if not series[0]["data"]:
        return blank(JUDGED, PROMISES[1])
    series[0] = looked_at(series[0], at)
    return frame(JUDGED, steps[-1].number, axis(JUDGED[0], GREY, max=100)) | {"series": series}


def looked_at(series: Spec, at: int | None) -> Spec:
    """With a line at the step that the slider is at."""
    if at is None:
        return series
    style = {"color": GREEN, "type": "solid", "width": 2}
    data = [{"xAxis": at, "lineStyle": style, "label": {"show": False}}]
    return series | {"markLine": {"symbol": "none", "silent": True, "data": data}}
