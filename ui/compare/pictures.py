"""What Compare draws below its table: the matchings that differ, and the charts."""

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from features.judge import comparison
from features.models.base import Sense
from features.plots.theme import KINDS
from ui.jobs.comparison import Entrant, Progress, matching_of
from ui.parts import press
from ui.parts.charts.comparison import scatter_chart, time_chart
from ui.parts.charts.legible import draw
from ui.parts.pictures import inline

COLUMNS = 3  # of the grid of pictures
COLOUR_NAMES = {"correct": "green", "wrong": "orange", "stray": "violet", "missed": "blue"}  # of the drawn lines


def pictures(progress: Progress, open_later: Callable[[Entrant], None]) -> None:
    """The matchings side by side, each one once: the best whole, of the others what differs from it."""
    groups: dict[Any, list[Entrant]] = {}
    for entrant in progress.entrants:
        if entrant.picture:
            groups.setdefault(matching_of(entrant), []).append(entrant)
    if not groups:
        return
    alike = list(groups.values())
    st.markdown(f"**{differences(len(alike))}**")
    for first in range(0, len(alike), COLUMNS):
        for place, some in zip(st.columns(COLUMNS), alike[first : first + COLUMNS], strict=False):
            with place.container(gap="xsmall"):
                names = ", ".join(one.row.label for one in some)
                st.image(inline(some[0].picture), width="stretch", alt=f"Matching of {names}")
                with st.container(horizontal=True, gap="small", key=f"who {some[0].row.key}"):
                    for entrant in some:
                        opener(entrant, comparison.is_best(entrant.row, progress.rows), open_later)
    first_row = alike[0][0].row
    if first_row.metrics is not None and first_row.metrics.possible is not None:
        meanings = [f":{COLOUR_NAMES[name]}[{kind.meaning}]" for name, kind in KINDS.items()]
        st.caption(f"Lines: {', '.join(meanings)}. Diamonds have no partner. The best found in bold.")


def differences(matchings: int) -> str:
    """What the pictures show, in a sentence."""
    if matchings == 1:
        return "All methods came to one matching"
    return f"{matchings} different matchings: the best one whole, of the others the lines that it does not have"


def opener(entrant: Entrant, best: bool, open_later: Callable[[Entrant], None]) -> None:
    """The button below a picture."""
    looks: dict[str, Any] = {"type": "tertiary", "help": "Open on the Match page", "disabled": entrant.job is None}
    press.button(caption(entrant, best), f"open {entrant.row.key}", partial(open_later, entrant), **looks)


def caption(entrant: Entrant, best: bool) -> str:
    """Method correct/total (score), the best in bold."""
    text = f"{entrant.row.label} {entrant.row.caption}"
    return f"**{text}**" if best else text


def charts(progress: Progress, sense: Sense) -> None:
    """Score over time, and score against accuracy."""
    done = [one for one in progress.entrants if one.curve]
    if not done:
        return
    first = done[0].row.metrics
    assert first is not None
    left, right = st.columns(2)
    with left:
        curves = {one.row.key: one.curve for one in done}
        draw(
            time_chart(curves, sense, first.truth_score),
            height=380,
            key="time chart",
            alt="Score of the best matching of every method over time",
        )
    with right:
        metrics = {one.row.key: one.row.metrics for one in done}
        dots = {key: (m.score, m.accuracy) for key, m in metrics.items() if m is not None and m.accuracy is not None}
        if not dots:
            st.caption("Score against accuracy needs a known truth, and this pair has none.")
            return
        truth = None if first.truth_score is None else (first.truth_score, 1.0)
        draw(
            scatter_chart(dots, sense, truth),
            height=380,
            key="scatter chart",
            alt="Score against accuracy of every method",
        )
