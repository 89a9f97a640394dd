"""Sweeps: one or two parameters over a range, as curves and small pictures; and the smallest change that would do."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from adgm.explain.terms import Match
from features.explain import Case
from features.explain.sweeps import MOST_CELLS, Axis, Cell, Change, Span, changes, sweep
from features.explain.trials import parameters, value_of
from features.pairs import Pair
from features.parameters import Parameter
from ui.debug import background, leave
from ui.debug import picture as case_picture
from ui.jobs.task import Report
from ui.parts import run_book
from ui.parts.charts.legible import draw
from ui.parts.charts.tools import clicked, sweep_chart, told
from ui.parts.pictures import inline
from ui.shell.session_slots import begin

LIMIT = 20.0  # seconds for each run
MOST_PICTURES, COLUMNS = 24, 4
NONE = "nothing else"


@dataclass(frozen=True, eq=False)
class Shot:
    """A cell with its picture."""

    cell: Cell
    pair: Pair
    picture: bytes


def show(case: Case, focus: Match | None) -> None:
    declared = parameters(case.recipe)
    with st.container(horizontal=True, vertical_alignment="bottom", key="sweep-asked"):
        first = choose_axis(case, declared, "1", [*declared])
        second = choose_axis(
            case, declared, "2", [NONE, *(one for one in declared if first is None or one != first.name)]
        )
    axes = tuple(axis for axis in (first, second) if axis is not None)
    size = math.prod(len(axis.values) for axis in axes)
    if not axes or size > MOST_CELLS:
        st.warning(f"The sweep has {size} settings; choose at most {MOST_CELLS}.") if axes else None
        return
    question = ("sweep", axes)
    with st.container(horizontal=True, vertical_alignment="center", key="sweep-ask"):
        background.button(case, question, f"Run {size} settings", partial(swept, case, axes))
        changeable = first is not None and not first.name.startswith(("data.", "points."))
        if first is not None and changeable and focus is not None and case.pair.judged:
            ask_change(case, focus, first)
        elif changeable and case.wrong:
            st.caption("Choose a wrong match above to ask for the smallest change that makes it right.")
    if first is not None:
        show_change(case, focus, first)
    found = background.answer(case, question)
    if found is None:
        st.caption("This pair is run once for every value: how many matches are right then, and what they cost.")
        case_picture.waiting(case, focus)
    elif found.value:
        show_shots(case, axes, found.value)


def choose_axis(case: Case, declared: dict[str, Parameter], at: str, names: Sequence[str]) -> Axis | None:
    """A parameter, its ends and how many values between them."""
    usual = next((name for name in names if name.startswith("model.") and declared[name].kind == "float"), names[0])
    key = f"sweep {at} {case.recipe.model}"
    if (now := begin(key, names[0] if names[0] == NONE else usual)) not in names:
        now = st.session_state[key] = names[0]
    label = {"1": "Parameter", "2": "And"}[at]
    name = st.selectbox(label, names, names.index(now), key=key, width=220, format_func=partial(labelled, declared))
    if name is None or name == NONE:
        return None
    one = declared[name]
    if one.kind == "choice":
        return Axis.of(case.recipe, name)
    span = Span.of(one, value_of(case.recipe, name))
    ends = []
    for word, value in (("from", span.low), ("to", span.high)):
        own = f"{key} {name} {word}"
        low, high = (None if math.isinf(end) else float(end) for end in (one.low, one.high))
        shared: dict[str, Any] = {"value": begin(own, float(value)), "key": own, "width": 120, "format": "%g"}
        ends.append(st.number_input(word.capitalize(), low, high, **shared))
    many = begin(f"{key} count", 9 if at == "1" else 5)
    count = st.number_input("Values", 2, 40, many, key=f"{key} count", width=90)
    if ends[0] is None or ends[1] is None or not ends[0] < ends[1]:
        st.warning("The range is empty: choose a smaller beginning than end.")
        return None
    return Axis.of(case.recipe, name, low=ends[0], high=ends[1], count=int(count))


def labelled(declared: dict[str, Parameter], name: str) -> str:
    return name if name not in declared else f"{declared[name].label} ({name})"


def swept(case: Case, axes: Sequence[Axis], report: Report) -> tuple[Shot, ...]:
    """Every setting, with a picture of the first so many."""
    total = math.prod(len(axis.values) for axis in axes)
    shots: list[Shot] = []
    report(0.0, f"0 of {total} settings")
    for cell in sweep(case.recipe, *axes, pair=case.pair, time_limit=LIMIT):
        trial = cell.trials[0]
        few = total <= MOST_PICTURES
        pair, picture = leave.drawn(case, trial) if few else (leave.pair_of(case, trial.recipe), b"")
        shots.append(Shot(cell, pair, picture))
        report(len(shots) / total, f"{len(shots)} of {total} settings", tuple(shots))
    return tuple(shots)


def show_shots(case: Case, axes: Sequence[Axis], shots: Sequence[Shot]) -> None:
    """The chart, the setting that was clicked, and all small pictures."""
    run_book.note_trials([(shot.cell.trials[0], shot.pair) for shot in shots], "Sweep")
    cells = [shot.cell for shot in shots]
    chosen = draw(
        sweep_chart(axes, cells, case.sense),
        height=300,
        renderer="svg",
        key=f"sweep chart {axes}",
        on_select="rerun",
        alt=f"Accuracy and score over {' and '.join(axis.name for axis in axes)}",
    )
    st.caption(
        "Circle: both agree. Diamond: the model prefers this. Triangle: the optimiser is stuck. Click one to see it."
    )
    at = clicked(chosen["selection"]["selected"], len(shots))
    if at is not None:
        shot = shots[at]
        with st.container(border=True, key="sweep-clicked"):
            open_button(shot, "sweep open clicked")
            picture = shot.picture or leave.drawn(case, shot.cell.trials[0])[1]
            st.image(inline(picture), width="stretch", alt=f"Matching at {shot.cell.setting}")
    if not shots[0].picture:
        return
    for begins in range(0, len(shots), COLUMNS):
        for place, shot in zip(st.columns(COLUMNS), shots[begins : begins + COLUMNS], strict=False):
            with place.container(gap=None):
                st.image(inline(shot.picture), width="stretch", alt=f"Matching at {shot.cell.setting}")
                open_button(shot, f"sweep open {shot.cell.setting}")


def open_button(shot: Shot, key: str) -> None:
    """A setting and what came of it: pressed, it opens on the Match page."""
    trial = shot.cell.trials[0]
    text = f"{', '.join(map(told, shot.cell.setting))}: {trial.metrics.caption}"
    help = f"{trial.metrics.verdict or ''} Open on the Match page"
    leave.match_button(trial.recipe, key, text, type="tertiary", help=help, icon=None)


# ---- the smallest change -----------------------------------------------------------------------------------------


def ask_change(case: Case, focus: Match, axis: Axis) -> None:
    label = f"Which {axis.name} corrects {focus[0]} → {focus[1]}?"
    help = "The smallest change, by bisection, in the range of the first parameter"
    work = searched(case, focus[0], axis)
    background.button(case, ("change", focus, axis), label, work, icon=":material/search:", help=help)


def searched(case: Case, left: int, axis: Axis) -> Callable[[Report], Change]:
    ends = [value for value in axis.values if not isinstance(value, str)]
    low, high = (float(min(ends)), float(max(ends))) if ends else (None, None)

    def work(report: Report) -> Change:
        report(0.0, "trying values")
        found = None
        for found in changes(case.recipe, axis.name, left, low=low, high=high, pair=case.pair, time_limit=LIMIT):
            report(min(found.tried / 34, 1.0), f"{found.tried} values tried", found)
        assert found is not None
        return found

    return work


def show_change(case: Case, focus: Match | None, axis: Axis) -> None:
    found = background.answer(case, ("change", focus, axis))
    change: Change | None = found.value if found is not None else None
    if change is None or found is None or found.active:
        return
    icon = ":material/block:" if change.value is None else ":material/check_circle:"
    with st.container(horizontal=True, vertical_alignment="center", key="change-found"):
        st.markdown(f"{icon} {change.text}", width="stretch")
        if change.trial is not None and change.value != change.now:
            leave.match_button(change.trial.recipe, "change open")
