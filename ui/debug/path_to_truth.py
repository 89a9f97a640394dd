"""The way back: the exchanges that lead from the answer to the truth, what each costs, and the energy on the way."""

import streamlit as st

from adgm.explain.paths import WAYS, Path, named_matches
from adgm.explain.terms import Match
from features.explain import Case
from features.explain.records import way_records
from features.judge.metrics import number
from features.tables import csv_text
from ui.debug import background, picture
from ui.jobs.task import Report
from ui.parts import table
from ui.parts.charts.debug import energy_along
from ui.parts.charts.legible import draw
from ui.parts.downloads import download

CHART = 220
HEADER = ("exchange", "goes", "comes", "costs")
MOST = 60  # characters of a cell
QUICK = 40  # matches that differ, up to which the way is found while the page is drawn


def show(case: Case, focus: Match | None) -> None:
    if case.truth is None:
        st.info("The truth of this pair is unknown, so there is no way back to it.", icon=":material/help:")
        return
    way = st.segmented_control("Order", WAYS, default=WAYS[0], required=True, key="way", label_visibility="collapsed")
    found = known(case, way or WAYS[0])
    if found is None:
        return
    if not found.steps:
        st.success("The answer is the truth: there is nothing to exchange.", icon=":material/check_circle:")
        return
    st.markdown(sentence(found))
    with st.container(key="debug-board"):
        st.fragment(board)(case, found)
    download("Way back (CSV)", "way_back.csv", lambda: csv_text(way_records(found)), icon=":material/download:")


def known(case: Case, way: str) -> Path | None:
    """The way, at once or (where many matches differ) when the background work has found it."""

    def work(report: Report) -> Path:
        report(0.0, "trying exchanges")
        return case.way_back(way)  # type: ignore[arg-type]

    question = ("way", way)
    answered = background.answer(case, question)
    try:
        if answered is None and int((case.answer ^ case.other()).sum()) <= 2 * QUICK:
            return work(lambda *_: None)
    except ValueError as error:  # too many exchanges for all their orders
        st.info(str(error), icon=":material/info:")
        return None
    if answered is None:
        background.button(case, question, "Find the way back", work)
    return None if answered is None else answered.value


def sentence(found: Path) -> str:
    """What the way proves about the model and about the optimiser."""
    dear = found.first_dear
    if dear is None and found.better:
        first = "No exchange costs anything: **the optimiser stopped too early**, the model leads to the truth."
    elif dear is None:
        first = "No exchange costs anything, and the truth costs the same: **the model does not tell the two apart**."
    else:
        step = found.steps[dear]
        free = f"after {dear} that cost nothing, " if dear else ""
        what = f"({free}{named_matches(step.gone)} becomes {named_matches(step.came)}): it costs {number(step.cost)}."
        first = {
            True: f"**The optimiser has not got over exchange {dear + 1}** {what} Yet the truth costs less in the end.",
            None: f"**The model does not tell the two apart**; between them is exchange {dear + 1} {what}",
            False: f"**The model errs at exchange {dear + 1}** {what}",
        }[found.better]
    top = found.top
    barrier = (
        f"The barrier on this way is {number(found.barrier)}, after exchange {top}." if top else "There is no barrier."
    )
    return f"{len(found.steps)} exchanges lead to the truth. {first} {barrier}"


def board(case: Case, found: Path) -> None:
    left, right = st.columns([11, 10], gap="small")
    largest = max(abs(step.cost) for step in found.steps) or 1.0
    rows = [
        table.Row((str(k), short(step.gone), short(step.came), f"{step.cost:+.5g}"), step.cost / largest)
        for k, step in enumerate(found.steps, 1)
    ]
    with right:
        at = table.lines("way lines", HEADER, rows, height=200)
        st.caption("Point at an exchange to see it. What costs speaks for the answer.")
        draw(
            energy_along(found, at),
            height=CHART,
            key="way chart",
            alt="The energy on the way from the answer to the truth",
        )
    with left:
        step = None if at is None else found.steps[at]
        if step is None:
            picture.show(case, *picture.differing(case, case.other()))
        else:
            picture.show(case, step.gone, step.came, extra=step.gone)


def short(matches: tuple[Match, ...]) -> str:
    told = named_matches(matches)
    return told if len(told) <= MOST else f"{told[: MOST - 1]}…"
