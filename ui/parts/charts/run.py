"""The curves of a run, as ECharts options: no Streamlit, no state, at most a few hundred points."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.judge.metrics import BETTER, WORD, score
from features.models.base import Sense
from features.plots.theme import BLUE, GREEN, PURPLE, SKY, VERMILION
from ui.jobs.history import Lanes, Mark

Floats = NDArray[np.float64]
Spec = dict[str, Any]

ORANGE, GREY = VERMILION, "#888888"
MOST_MARKS = 21  # as many as the paper lets ρ grow, and a change by hand
MOST_LABELS = 5  # marks that have room for a word each
SMALLEST = 1e-9  # where a logarithmic axis ends: far below any tolerance, and 0 has no logarithm
LEFT, RIGHT = 46, 42  # pixels beside the curves; the picture knows by them which iteration the pointer is at
FONT = 11
TITLES = ("Disagreement", "residual r, penalty ρ"), ("Cost", "lower is better")  # of the charts beside a picture
# How the two curves usually run, drawn faintly where there is no run yet: shares of the chart's height.
USUAL = (
    (0.86, 0.84, 0.85, 0.8, 0.72, 0.66, 0.5, 0.44, 0.3, 0.12),
    (0.9, 0.62, 0.6, 0.38, 0.33, 0.3, 0.2, 0.17, 0.15, 0.15),
)
TOOLTIP: Spec = {"trigger": "axis", "valueFormatter": "%.4g", "confine": True}


@dataclass(frozen=True)
class Reason:
    """Why ρ changed at an iteration: in a word and in a sentence."""

    iteration: int
    word: str
    sentence: str
    by_hand: bool = False


@dataclass(frozen=True, eq=False)
class Curves:
    """What a run traced, thinned: columns over "iteration", why ρ changed where, the rounded energies."""

    history: dict[str, Floats]
    reasons: Sequence[Reason] = ()
    rounded: Sequence[tuple[int, float]] = ()
    sense: Sense = "cost"

    @property
    def last(self) -> int:
        """The last iteration that the axis shows; at the very beginning there is room for some."""
        iterations = self.history.get("iteration", np.empty(0))
        return max(10, int(iterations[-1]) if len(iterations) else 0)


def factor(value: float) -> str:
    return f"× {value:.3g}" if value >= 1 else f"÷ {1 / value:.3g}"


def reasons(marks: Sequence[Mark], method: Any) -> list[Reason]:
    """Why ρ changed: by hand, by the schedule, or because gap and change were out of balance (said once per turn)."""
    found: list[Reason] = []
    growth, patience = getattr(method, "growth", 0.0), getattr(method, "patience", 0)
    balance, imbalance = getattr(method, "balance", 1.0), getattr(method, "imbalance", 1.0)
    turned: tuple[int, bool] | None = None  # the last iteration of balancing, and whether ρ grew
    for mark in marks:
        word, up = factor(mark.factor), mark.factor > 1
        if mark.by_hand:
            found.append(Reason(mark.iteration, word, f"changed by hand: ρ {word}", by_hand=True))
        elif balance > 1 and isclose(mark.factor if up else 1 / mark.factor, balance, rel_tol=1e-6):
            if turned is None or turned[1] != up:
                larger, smaller = ("gap", "change") if up else ("change", "gap")
                why = f"{larger} over {imbalance:g} × {smaller}: ρ {word} each time"
                found.append(Reason(mark.iteration, "↗" if up else "↘", why))
            turned = mark.iteration, up
        elif isclose(mark.factor, growth, rel_tol=1e-6):
            found.append(Reason(mark.iteration, word, f"{patience} iterations without progress: ρ {word}"))
        else:
            found.append(Reason(mark.iteration, word, f"ρ {word}"))
    if len(found) > MOST_MARKS:  # a restless balance: its curve tells enough
        found = [one for one in found if one.word not in "↗↘"]
    return found[-MOST_MARKS:]


def powers(xy: Sequence[Sequence[float]]) -> list[list[float]]:
    """[[x, y], …] as [[x, log10 y, y], …]: drawn as powers of ten, told as they are."""
    return [[x, float(f"{np.log10(max(y, SMALLEST)):.4f}"), y] for x, y in xy]


AS_TOLD = {"encode": {"x": 0, "y": 1, "tooltip": [2]}}


def points(history: dict[str, Floats], name: str) -> list[list[float]]:
    """[[iteration, value], …] without what is not a number."""
    if name not in history:
        return []
    x, y = history["iteration"], history[name]
    fine = np.isfinite(y)
    return [[int(a), float(f"{b:.6g}")] for a, b in zip(x[fine], y[fine], strict=True)]


def line(name: str, data: list[list[float]], colour: str, **more: Any) -> Spec:
    return {"type": "line", "name": name, "data": data, "showSymbol": False, "color": colour, "animation": False} | more


def axis(name: str, colour: str, **more: Any) -> Spec:
    """An axis of values that has its curve's colour, and its name for whoever reads the chart aloud."""
    label = {"color": colour, "fontSize": FONT} | more.pop("axisLabel", {})
    return {"type": "value", "scale": True, "name": name, "nameTextStyle": {"fontSize": 0}, "axisLabel": label} | more


def power(value: float) -> str:
    """A number as people write it: 0.21, or 1.5·10⁻⁸ where it is small."""
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{value:.2g}" if value == 0 or abs(int(exponent)) < 3 else f"{mantissa}·10{exponent_of(int(exponent))}"


def exponent_of(number: int) -> str:
    return str(number).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def power_axis(name: str, colour: str, **more: Any) -> Spec:
    raised = {"up": {"fontSize": FONT - 2, "padding": [0, 0, 7, 0], "color": colour}}
    return axis(name, colour, minInterval=1, axisLabel={"formatter": "10{up|{value}}", "rich": raised}, **more)


def frame(title: tuple[str, str], last: int, *y_axes: Spec, legend: Spec | None = None) -> Spec:
    """Title, axes, legend and tooltip that all curves share: their iterations lie below each other."""
    name, about = title
    look = {"rich": {"b": {"fontSize": FONT + 3, "fontWeight": "bold"}, "s": {"fontSize": FONT, "color": GREY}}}
    return {
        "animation": False,
        "title": [{"text": f"{{b|{name}}} {{s|{about}}}", "left": 0, "top": 3, "padding": 0, "textStyle": look}],
        "grid": {"left": LEFT, "right": RIGHT, "top": 46, "bottom": 20, "outerBoundsMode": "none"},
        "legend": {
            "top": 20,
            "left": 0,
            "padding": 0,
            "itemWidth": 14,
            "itemHeight": 8,
            "itemGap": 8,
            "textStyle": {"fontSize": FONT},
        }
        | (legend or {}),
        "tooltip": TOOLTIP,
        "xAxis": {"type": "value", "min": 0, "max": last, "axisLabel": {"fontSize": FONT, "showMaxLabel": True}},
        "yAxis": list(y_axes),
    }


def dashed(spec: Spec) -> Spec:
    return spec | {"lineStyle": {"type": "dashed", "width": 1.5, "opacity": 0.8}}


def marks(curves: Curves, cursor: int | None, *, words: bool) -> Spec:
    """Where ρ changed and, under the pointer, why; a change by hand looks different; the iteration looked at."""
    found: list[Spec] = []
    for one in curves.reasons:
        share = one.iteration / curves.last
        label = {"align": "left" if share < 0.35 else "right" if share > 0.65 else "center", "fontSize": FONT}
        look = {"color": PURPLE, "type": "solid"} if one.by_hand else {"color": GREY, "type": "dotted"}
        short = {"show": words and len(curves.reasons) <= MOST_LABELS, "formatter": one.word, "align": "center"}
        found.append(
            {
                "xAxis": one.iteration,
                "lineStyle": look,
                "label": {"fontSize": FONT, "color": look["color"], "distance": 2} | short,
                "emphasis": {"label": label | {"show": True, "formatter": one.sentence}},
            }
        )
    if cursor is not None:
        style = {"color": GREEN, "type": "solid", "width": 2}
        found.append({"xAxis": cursor, "lineStyle": style, "label": {"show": False}})
    return {"symbol": "none", "data": found}


def heading(text: str, top: int) -> Spec:
    style = {"fontSize": FONT, "fontWeight": "normal", "color": GREY}
    return {"text": text, "left": 0, "top": top, "padding": 0, "textStyle": style}


def penalty_chart(
    now: Curves, earlier: Curves | None = None, cursor: int | None = None, *, apart: bool = False
) -> Spec:
    """Residual and ρ over the iterations, both logarithmic; the residual's two parts beside it if wanted."""
    series = [
        line(
            "residual r",
            powers(points(now.history, "residual")),
            BLUE,
            markLine=marks(now, cursor, words=True),
            **AS_TOLD,
        ),
        line("penalty ρ", powers(points(now.history, "rho")), ORANGE, yAxisIndex=1, step="end", **AS_TOLD),
    ]
    if apart:
        for name, colour in (("gap", SKY), ("change", PURPLE)):
            thin = {"lineStyle": {"width": 1.2}}
            series.append(line(name, powers(points(now.history, name)), colour, **thin, **AS_TOLD))
    if earlier is not None:
        rho = powers(points(earlier.history, "rho"))
        series += [
            dashed(line("residual, run A", powers(points(earlier.history, "residual")), BLUE, **AS_TOLD)),
            dashed(line("ρ, run A", rho, ORANGE, yAxisIndex=1, step="end", **AS_TOLD)),
        ]
    left = power_axis("residual r", BLUE)
    right = power_axis("penalty ρ", ORANGE, splitLine={"show": False})
    last = now.last if earlier is None else max(now.last, earlier.last)
    told = heading(f"{now.reasons[-1].iteration}: {now.reasons[-1].sentence}" if now.reasons else "", top=34)
    plain = frame(TITLES[0], last, left, right)
    return plain | {"grid": plain["grid"] | {"top": 60}, "series": series, "title": [*plain["title"], told]}


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
    leader = series[lanes.leader]["name"]
    last = max([10, *(int(one.iterations[-1]) for one in lanes.curves if len(one.iterations))])
    plain = frame(TITLES[0], last, power_axis("residual r of each run", BLUE), legend={"data": [leader]})
    return plain | {"series": series, "tooltip": TOOLTIP | {"trigger": "item"}}


def energy_chart(
    now: Curves, earlier: Curves | None = None, truth: float | None = None, cursor: int | None = None
) -> Spec:
    """Score or cost of the relaxed and the rounded assignment over the iterations, the true matching's as a level."""

    def read(xy: Sequence[Sequence[float]]) -> list[list[float]]:
        return [[int(x), float(f"{score(y, now.sense):.6g}")] for x, y in xy]

    mark = marks(now, cursor, words=False)
    if truth is not None:
        label = {"formatter": "truth", "position": "insideEndTop", "color": GREY, "fontSize": FONT}
        style = {"color": GREY, "type": "dashed"}
        mark["data"].append({"yAxis": score(truth, now.sense), "label": label, "lineStyle": style})
    series = [
        line("relaxed", read(points(now.history, "energy")), BLUE, markLine=mark),
        line("rounded", read(now.rounded), ORANGE, step="end"),
    ]
    if earlier is not None:
        series.append(dashed(line("relaxed, run A", read(points(earlier.history, "energy")), BLUE)))
        series.append(dashed(line("rounded, run A", read(earlier.rounded), ORANGE, step="end")))
    last = now.last if earlier is None else max(now.last, earlier.last)
    word = WORD[now.sense]
    plain = frame((word.capitalize(), BETTER[now.sense]), last, axis(word, GREY))
    return plain | {"series": series}


def blank(title: tuple[str, str], promise: str, usual: Sequence[float] = ()) -> Spec:
    """A chart before there is anything to draw: its title, a faint sketch of a usual curve, and what it will tell."""
    style = {"fontSize": FONT + 2, "fontWeight": "normal", "lineHeight": 16, "overflow": "break", "width": 240}
    words = {"text": promise, "left": LEFT - 22, "bottom": 6, "padding": 0, "textStyle": style}
    plain = frame(title, 80, axis("", GREY, min=0, max=1, splitNumber=3, axisLabel={"show": False}))
    data = [[80 * k / (len(usual) - 1), y] for k, y in enumerate(usual)]
    faint = {"lineStyle": {"width": 4, "opacity": 0.18, "cap": "round"}, "smooth": 0.3, "silent": True}
    return plain | {
        "title": [*plain["title"], words],
        "grid": plain["grid"] | {"top": 28, "bottom": 62},
        "xAxis": plain["xAxis"] | {"axisLabel": {"show": False}},
        "series": [line("", data, BLUE, **faint)] if data else [],
        "tooltip": {"show": False},
    }
