"""Ablation: every potential left out, every weight halved and doubled, and what that does."""

from functools import partial

import streamlit as st

from adgm.explain.terms import Match
from features.explain import Case
from features.explain.ablation import Effect, ablation, variations
from features.explain.trials import pairs_like
from features.judge.metrics import score
from features.recipe import OWN
from ui.debug import background, leave
from ui.debug import picture as case_picture
from ui.jobs.task import Report
from ui.parts.pictures import inline
from ui.shell.session_slots import begin

SAMPLE = "ablation sample"
LIMIT = 20.0  # seconds for each run
COLUMNS = ("model", "match", "right", "other matches", "score", "verdict", "sample")
MARKS = {True: "✓ right", False: "× wrong", None: ""}


def show(case: Case, focus: Match | None) -> None:
    own = case.recipe.dataset == OWN
    with st.container(horizontal=True, vertical_alignment="bottom", key="ablation-asked"):
        count = int(
            st.number_input(
                "Other pairs of the data set",
                0,
                30,
                begin(SAMPLE, 0 if own else 3),
                key=SAMPLE,
                width=200,
                disabled=own,
                help="What each change does to so many other pairs, on average",
            )
        )
        count = 0 if own else count
        left = None if focus is None else focus[0]
        question = ("ablation", left, count)
        background.button(case, question, "Leave out, halve, double", partial(ablated, case, left, count))
    found = background.answer(case, question)
    if found is None or not found.value:
        st.caption("What each part of the model does to this match, to this pair and to others like it.")
        case_picture.waiting(case, focus)
        return
    effects: list[Effect] = found.value
    chosen = st.dataframe(
        [row(case, effect) for effect in effects],
        hide_index=True,
        placeholder="–",  # where there is nothing to tell
        alt="What each part of the model does",
        key=f"ablation table {question}",
        on_select="rerun",
        selection_mode="single-row",
        column_order=[
            name for name in COLUMNS if (name != "match" or focus is not None) and (name != "sample" or count)
        ],
        column_config={
            "match": st.column_config.TextColumn(help="The match in focus"),
            "right": st.column_config.NumberColumn(format="percent", help="Of this pair"),
            "other matches": st.column_config.NumberColumn(help="That the model as it is does not have"),
            "score": st.column_config.NumberColumn(format="%.5g"),
            "sample": st.column_config.NumberColumn(format="percent", help=f"Right on {count} other pairs, on average"),
        },
    )
    at = chosen["selection"]["rows"]
    if not at or at[0] >= len(effects):
        st.caption("Select a line to see its matching.")
        return
    effect = effects[at[0]]
    st.image(inline(leave.drawn(case, effect.trials[0])[1]), caption=effect.what, width="stretch", alt=effect.what)
    if effect.variation.opens:
        leave.match_button(effect.trials[0].recipe, "ablation open")
    else:
        st.caption("The model has no parameter for this change, so it cannot be opened on Match.")


def ablated(case: Case, left: int | None, count: int, report: Report) -> list[Effect]:
    total = len(variations(case.recipe, case.problem))
    sample = pairs_like(case.recipe, count) if count else []
    effects: list[Effect] = []
    report(0.0, f"0 of {total} changes")
    for effect in ablation(case.recipe, left=left, sample=sample, pair=case.pair, time_limit=LIMIT):
        effects.append(effect)
        report(len(effects) / total, f"{len(effects)} of {total} changes", list(effects))
    return effects


def row(case: Case, effect: Effect) -> dict[str, object]:
    metrics = effect.trials[0].metrics
    return {
        "model": effect.what,
        "match": MARKS[effect.right],
        "right": effect.accuracy,
        "other matches": effect.changed,
        "score": score(metrics.energy, case.sense),
        "verdict": metrics.verdict,
        "sample": effect.sample_accuracy,
    }
