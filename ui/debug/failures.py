"""Where does it fail? Pairs of the data set with the largest regret, and their wrong points by cause."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from adgm.explain.terms import Match
from features.explain import Case
from features.explain.failures import CAUSES, Failure, by_cause, failures
from features.explain.trials import has_gap, pairs_like
from features.recipe import OWN
from ui.debug import background, leave
from ui.debug import picture as case_picture
from ui.jobs.task import Report
from ui.parts.pictures import inline
from ui.shell.session_slots import begin

COUNT, WIDE = "failures count", "failures any gap"
LIMIT = 20.0  # seconds for each run
MOST_POINTS = 200


@dataclass(frozen=True, eq=False)
class Shown:
    """A pair and a small picture of it."""

    failure: Failure
    picture: bytes


def show(case: Case, focus: Match | None) -> None:
    if case.recipe.dataset == OWN:
        st.info("This pair is your own: there are no others like it to look through. Choose a data set on Match.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="failures-asked"):
        count = int(st.number_input("Pairs of the data set", 1, 200, begin(COUNT, 12), key=COUNT, width=180))
        wide = has_gap(case.recipe) and st.toggle(
            "any two frames", begin(WIDE, False), key=WIDE, help="However far apart they are"
        )
        question = ("failures", count, wide)
        background.button(case, question, "Look for failures", partial(searched, case, count, wide))
    found = background.answer(case, question)
    if found is None or not found.value:
        st.caption(
            "The regret of a pair is the energy of the answer minus that of the truth: above 0 the optimiser is stuck, "
            "below 0 the model prefers another matching."
        )
        case_picture.waiting(case, focus)
        return
    every: list[Shown] = found.value
    told([one.failure for one in every])
    causes = list(by_cause([one.failure for one in every]))
    wanted = st.pills("Cause", causes, key="failures cause", help="Only pairs with wrong points of this cause")
    chosen = [one for one in every if wanted is None or wanted in one.failure.causes]
    chosen.sort(key=lambda one: -abs(one.failure.regret))
    table(chosen)


def searched(case: Case, count: int, wide: bool, report: Report) -> list[Shown]:
    recipes = pairs_like(case.recipe, count, any_gap=wide)
    every: list[Shown] = []
    report(0.0, f"0 of {len(recipes)} pairs")
    for failure in failures(recipes, time_limit=LIMIT):
        every.append(Shown(failure, leave.drawn(case, failure.trial)[1]))
        report(len(every) / len(recipes), f"{len(every)} of {len(recipes)} pairs", list(every))
    return every


def told(found: Sequence[Failure]) -> None:
    """How many points are wrong, and why."""
    groups = by_cause(found)
    wrong = sum(map(len, groups.values()))
    possible = sum(failure.trial.metrics.possible or 0 for failure in found)
    st.markdown(f"**{wrong} wrong points** of {possible} that have a partner, on {len(found)} pairs.")
    for cause, points in groups.items():
        st.markdown(f"- **{len(points)} {cause}**: {CAUSES[cause]}")


def line(one: Shown) -> dict[str, object]:
    """A pair's row of the table."""
    trial = one.failure.trial
    return {
        "matching": inline(one.picture),
        "pair": trial.name,
        "right": trial.metrics.accuracy,
        "regret": one.failure.regret,
        "verdict": trial.metrics.verdict,
        "wrong points": ", ".join(f"{count} {cause}" for cause, count in one.failure.causes.items()),
    }


def table(chosen: Sequence[Shown]) -> None:
    """The pairs, the largest regret first; the selected one with its points."""
    rows = [line(one) for one in chosen]
    picked = st.dataframe(
        rows,
        hide_index=True,
        placeholder="–",  # where there is nothing to tell
        alt="Failures, with their matchings",
        row_height=64,
        key=f"failures table {len(rows)}",
        on_select="rerun",
        selection_mode="single-row",
        column_config={
            "matching": st.column_config.ImageColumn(width="medium"),
            "right": st.column_config.NumberColumn(format="percent"),
            "regret": st.column_config.NumberColumn(
                format="%.4g", help="Energy of the answer minus that of the truth: above 0 stuck, below 0 preferred"
            ),
        },
    )
    at = picked["selection"]["rows"]
    if not at or at[0] >= len(chosen):
        st.caption("Select a line to see its wrong points.")
        return
    one = chosen[at[0]]
    with st.container(horizontal=True, key="failures-open"):
        leave.debug_button(one.failure.trial.recipe, "failures debug", "Debug this pair")
        leave.match_button(one.failure.trial.recipe, "failures match")
    picture, points = st.columns([3, 2])
    picture.image(inline(one.picture), width="stretch", alt="The pair with its matching")
    lines = [
        {
            "left": point.left,
            "matched": point.matched if point.matched >= 0 else None,
            "partner": point.partner if point.partner >= 0 else None,
            "regret": point.regret,
            "cause": point.cause,
        }
        for point in one.failure.points[:MOST_POINTS]
    ]
    points.dataframe(
        lines,
        hide_index=True,
        column_config={
            "regret": st.column_config.NumberColumn(
                format="%.4g", help="What it costs more to make this point right by one exchange"
            )
        },
    )
