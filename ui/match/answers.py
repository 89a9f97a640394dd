"""The results below the picture: what the method is before a run, what happens during it, the answers after it.

One component of a fixed size, so that nothing moves. A row of answers and a match can be clicked.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from adgm import METHODS
from features.judge.metrics import WORD, kinds, number, percent, score, share_right
from features.models import MODELS
from features.recipe import OWN
from ui.choice import address
from ui.choice.sidebar import Chosen
from ui.choice.widgets import polishes
from ui.jobs.job import Snapshot
from ui.match import outcome, timeline
from ui.match.lead import PHASES, phase, sureness
from ui.match.outcome import Match
from ui.match.page_run import Run
from ui.match.timeline import BEST, LAST, POLISHED, ROUNDED, Stop
from ui.parts import canvas
from ui.shell.session_slots import CANVAS, LATE, TO_DEBUG

_KEY = "answers"
MOST_BARS = 60  # left points whose sureness is told one by one
FITS = 3  # matches that fit best, and worst, beside the chosen one
MOST_CHIPS = 40  # matches to look at
NAMES = {
    LAST: ("Soft", "last iterate"),
    ROUNDED: ("Rounded", "one partner each"),
    POLISHED: ("Polished", "local search"),
    BEST: ("Best", "of all roundings"),
}
CHECKED = {"homography": "flat or far (homography)", "affine": "flat (affine)", "fundamental": "with depth (epipolar)"}
Data = dict[str, Any]


def show(
    chosen: Chosen | None,
    run: Run | None,
    snapshot: Snapshot,
    stops: Sequence[Stop],
    stop: Stop | None,
    status: str,
) -> None:
    """The panel; `status` is the line below it."""
    asked = run.chosen if run is not None else chosen
    data: Data = {"status": status, "summary": summary(asked), "rows": [], "head": [], "foot": ""}
    if run is None or stop is None:
        data["steps"] = steps(chosen)
    else:
        data |= told(run, snapshot, stops, stop)
    _COMPONENT(key=_KEY, data=[data], on_stop_change=_stop, on_match_change=_match, on_debug_change=_debug)


def summary(chosen: Chosen | None) -> str:
    """The pair, its size, the model and the method."""
    if chosen is None:
        return ""
    recipe = chosen.recipe
    n1, n2 = chosen.pair.shape
    names = (MODELS[recipe.model].label, METHODS[recipe.method].label)
    late = LATE.get()
    return f"{chosen.pair.name} · {n1} × {n2} points · {' · '.join(names)}{f' · {late}' if late else ''}"


def steps(chosen: Chosen | None) -> list[tuple[str, str, str]]:
    """Before a run: question, method and answer, in the places where results will be; each with a sketch."""
    if chosen is None and address.current().dataset == OWN:
        return [
            (
                "alike",
                "Works well",
                "The same thing from another place, closer or turned, much of it in both pictures.",
            ),
            ("answer", "Works a little", "Two different cars, two ducks: mark the points yourself, with Edit points."),
            (
                "apart",
                "Does not work",
                "Plain walls, water, blur, or two pictures of different things. The page tells you so.",
            ),
        ]
    n1, n2 = chosen.pair.shape if chosen is not None else (0, 0)
    dots = f"{n1} dots on the left, {n2} on the right, in no order. " if n1 and n2 else ""
    judged = chosen is not None and chosen.pair.judged
    answer = (
        "Green lines are right, dashed orange ones wrong."
        if judged
        else "A line joins two partners; its colour says how sure that is."
    )
    return [
        ("question", "1. The question", f"{dots}Which two are the same place?"),
        (
            "method",
            "2. The method",
            "It begins undecided, compares dots and pairs of dots, and comes step by step to one answer.",
        ),
        ("answer", "3. The answer", f"{answer} Click a line to see what speaks for and against it."),
    ]


def told(run: Run, snapshot: Snapshot, stops: Sequence[Stop], stop: Stop) -> Data:
    """The answers, and beside them the phase of the run, a chosen match, or matches to look at."""
    over = not snapshot.active and snapshot.best is not None
    checked = run.matching.verification if over else None
    if checked is not None:
        data: Data = {"rows": facts(run)}
    else:
        data = {"head": ["right" if run.pair.judged else "", WORD[run.sense]], "rows": answers(run, stops, stop, over)}
        data["foot"] = "Click a row to see that answer." if over else ""
    if not over or stop.label.isdigit():
        return data | {"phase": happening(run, stop)}
    match = canvas.picked(CANVAS)
    if match is not None and match in run.matching.shares:
        return data | {"match": explained(run, match)}
    return data | {"look": to_look_at(run)}


def answers(run: Run, stops: Sequence[Stop], stop: Stop, over: bool) -> list[Data]:
    """Soft, rounded, polished and true, with the share that is right and the cost (or score) of each."""

    def row(label: str, x: np.ndarray | None, energy: float | None, *, on: bool = False, note: str = "") -> Data:
        right = None if x is None else share_right(run.pair, run.problem, x)
        name, about = NAMES[label]
        return {
            "name": name,
            "note": note or about,
            "right": "" if right is None else percent(right),
            "cost": None if energy is None else score(energy, run.sense),
            "stop": label if over else "",
            "on": on,
        }

    frame = stop.frame
    note = "" if stop.label in NAMES else f"iteration {stop.label}"
    end = next((one for one in stops if one.label in (POLISHED, BEST)), None)
    best = POLISHED if polishes(run.job.method) else BEST
    rows = [
        row(LAST, frame.x, frame.energy, on=stop.relaxed, note=note),
        row(ROUNDED, frame.assignment.astype(float), frame.rounded_energy, on=stop.label == ROUNDED),
    ]
    if end is not None:
        rows.append(row(end.label, end.x, end.energy, on=stop is end))
    elif not over:
        rows.append(row(best, None, None))
    if run.truth_energy is not None:
        cost = score(run.truth_energy, run.sense)
        rows.append({"name": "True matching", "note": "", "right": percent(1), "cost": cost, "stop": "", "on": False})
    shown = column([one["cost"] for one in rows])
    return [one | {"cost": told} for one, told in zip(rows, shown, strict=True)]


def column(values: Sequence[float | None]) -> list[str]:
    """Numbers below each other: as few decimals as tell apart what differs, and three figures of the largest."""
    there = [value for value in values if value is not None and np.isfinite(value)]
    largest, exact = max(map(abs, there), default=0.0), len({number(value) for value in there})

    def told(value: float | None, decimals: int | None) -> str:
        if value is None or not np.isfinite(value):
            return "–"
        return minus(number(value) if decimals is None else f"{value:.{decimals}f}")

    if 1e-2 <= largest < 1e5:
        for decimals in range(4):
            if largest * 10**decimals >= 100 and len({told(value, decimals) for value in there}) == exact:
                return [told(value, decimals) for value in values]
    return [told(value, None) for value in values]


def minus(told: str) -> str:
    """With minus signs, as they are printed."""
    return told.replace("-", "−")


def facts(run: Run) -> list[Data]:
    """What a map between two photographs says about the matches."""
    checked = run.matching.verification
    assert checked is not None
    found = [("Matches found", "", f"{len(checked.pairs):,}")]
    if checked.map is not None:
        obey = int(checked.verified.sum())
        found += [
            ("Agree on one change of view", "", f"{obey:,}"),
            ("Do not fit, left out", "", f"{len(checked.pairs) - obey:,}"),
            ("Typical error", "", f"{checked.map.error:.1f} px"),
        ]
    accuracy = run.matching.metrics.accuracy
    if accuracy is not None:
        found.append(("Accuracy", "of points with a partner", percent(accuracy, 1)))
    elif checked.map is not None:
        found.append(("Kind of scene", "", CHECKED[checked.map.kind]))
    return [
        {"name": name, "note": note, "right": "", "cost": value, "stop": "", "on": k == 1}
        for k, (name, note, value) in enumerate(found)
    ]


def happening(run: Run, stop: Stop) -> Data:
    """The phase of a relaxed assignment, and how sure each left point is."""
    now, sure = phase(run, stop), sureness(run, stop)
    if len(sure) > MOST_BARS:
        sure = np.quantile(sure, np.linspace(1, 0, MOST_BARS))
    return {
        "names": [one.name for one in PHASES],
        "at": PHASES.index(now),
        "about": now.about,
        "sure": np.round(sure, 3).tolist(),
    }


def explained(run: Run, match: Match) -> Data:
    """A match, what it costs, and the matches that it fits best and worst."""
    i, j = match
    share, total, word = run.matching.shares.get(match, 0.0), run.matching.metrics.energy, WORD[run.sense]
    joint = sorted(outcome.together(run, match).items(), key=lambda item: item[1])
    part = f" ({percent(share / total, 1)})" if total else ""
    low, high = ("low", "high") if run.sense == "cost" else ("high", "low")
    worst = joint[::-1][: min(FITS, max(0, len(joint) - FITS))]
    widest = max((abs(cost) for _, cost in joint), default=0.0) or 1.0

    def bars(some: Sequence[tuple[Match, float]]) -> list[Data]:
        return [
            {
                "pair": list(other),
                "width": round(abs(cost) / widest, 3),
                "value": minus(f"{score(cost, run.sense):.3g}"),
            }
            for other, cost in some
        ]

    return {
        "title": f"Left {i} → right {j}",
        "badge": _badge(run, match),
        "wrong": _kind(run, match) in ("wrong", "stray"),
        "about": minus(
            f"Its share of the {word} {number(score(total, run.sense))} is {score(share, run.sense):.4g}{part}, "
            f"by how well it fits {len(joint)} other matches."
        ),
        "well": {"name": f"Fits well, {low} {word}", "bars": bars(joint[:FITS])},
        "badly": {
            "name": f"Fits badly, {high} {word}",
            "bars": bars(worst),
        },
    }


def _kind(run: Run, match: Match) -> str:
    return kinds(run.pair, np.array([match]))[0] if run.pair.judged else "unknown"


def _badge(run: Run, match: Match) -> str:
    """What is known about a match."""
    kind = _kind(run, match)
    if kind == "unknown":
        return ""
    partners = run.pair.partners
    if kind == "wrong" and partners is not None and partners[match[0]] >= 0:
        return f"wrong, true partner is {int(partners[match[0]])}"
    return {"correct": "right", "wrong": "wrong"}.get(kind, "has no true partner")


def to_look_at(run: Run) -> Data:
    """The matches that a visitor would look at first: wrong ones, else those that are least sure or fit worst."""
    wrong = len(run.wrong)
    least = "Those that fit worst" if run.matching.confidence is None else "Check the least sure"
    title, found = (f"{wrong} wrong", run.wrong) if wrong else (least, run.doubtful)
    shown = len(run.patches) or MOST_CHIPS
    first: list[Match] = [(i, j) for i, j in found[:shown].tolist()]
    return {
        "title": title,
        "pairs": first,
        "patches": run.patches,
        "sure": [f"{value:.2f}" for value in run.sure(found[: len(run.patches)])],
        "more": max(0, wrong - shown),
        "first": explained(run, first[0]) if first else None,
    }


# ---- what is clicked; a browser may send anything ----------------------------------------------------------------


def _sent(name: str) -> Any:
    return st.session_state[_KEY].get(name)


def _stop() -> None:
    if _sent("stop") in NAMES:
        timeline.rewind(_sent("stop"))


def _match() -> None:
    match _sent("match"):
        case [int(i), int(j)]:
            canvas.pick(CANVAS, (i, j))
        case None:
            canvas.pick(CANVAS, None)


def _debug() -> None:
    TO_DEBUG.set(True)


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


_COMPONENT: Callable[..., Any] = st.components.v2.component(
    "adgm_answers", html='<div class="answers"></div>', css=_text("answers.css"), js=_text("answers.js")
)
