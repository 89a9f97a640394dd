"""The Debug page: why is this match wrong? One tab per tool, all about one case.

A case (`features.explain.Case`: recipe, pair, problem, answer; the truth and the metrics follow from them) comes from
Match's finished run, from a Compare entrant through Match, or from an Experiments row, which is run again;
`ui.debug.links` leads here. A tab is a module here with a function `show(case, focus)`, listed in `TABS`; `focus` is
the match that is being looked at, or None. It is called only while its tab is chosen. Long work goes through
`ui.debug.background`: the tab draws `background.button(case, question, label, work)` and shows
`background.answer(case, question)`; the frame shows progress and Stop.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from adgm import METHODS
from adgm.explain.terms import Match
from features.datasets import DATASETS
from features.explain import Case, case_of
from features.explain.lessons import FAILING
from features.models import MODELS
from features.recipe import OWN, Recipe
from ui.choice import address, dataset_download
from ui.debug import (
    ablation,
    background,
    confidence,
    failures,
    fit,
    leave,
    ledger,
    path_to_truth,
    runs,
    separate,
    sweep,
    versus,
)
from ui.jobs.task import Report
from ui.parts import press
from ui.parts.escape import literal
from ui.shell.session_slots import AGAIN, CASE, FOCUS, MATCH, RUN, TOOL, begin

VERDICT_ICONS = {
    "optimiser stuck": ":material/warning:",
    "model prefers this": ":material/psychology_alt:",
    "both agree": ":material/check_circle:",
}
SECONDS = 60.0  # for a run that is made again
AGAIN_QUESTION = ("run again",)
WHOLE = "the whole matching"
ABOUT = (
    "To ask about a run of your own, start it on the Match page, click a wrong line and press **Why? Open in Debug**."
)


@dataclass(frozen=True)
class Tab:
    """A tool: the function that draws it, and what its tab is called."""

    label: str
    icon: str
    show: Callable[[Case, Match | None], None]


TABS = (
    Tab("Right or wrong", ":material/bar_chart:", separate.show),
    Tab("Ledger", ":material/balance:", ledger.show),
    Tab("Way back", ":material/undo:", path_to_truth.show),
    Tab("Confidence", ":material/verified_user:", confidence.show),
    Tab("Sweep", ":material/tune:", sweep.show),
    Tab("Ablation", ":material/content_cut:", ablation.show),
    Tab("Failures", ":material/running_with_errors:", failures.show),
    Tab("Fit", ":material/model_training:", fit.show),
    Tab("Versus", ":material/compare_arrows:", versus.show),
    Tab("Runs", ":material/menu_book:", runs.show),
)


# ---- the page ----------------------------------------------------------------------------------------------------


def show() -> None:
    leave.turn_if_asked()
    head, work, tool = (st.container(key=f"debug-{name}", gap="small") for name in ("head", "progress", "tool"))
    busy = background.busy()
    case = the_case()
    focus = None
    with head:
        if case is None:
            empty_state()
        else:
            focus = heading(case)
    with work:
        background.show(busy)
    with tool:
        if case is not None:
            chosen().show(case, focus)
        else:
            runs.show(None, None)


def the_case() -> Case | None:
    """The case that is open; one that is run again becomes it as soon as it is there."""
    if AGAIN.get() is None and CASE.get() is None:
        open_something()
    recipe = AGAIN.get()
    if recipe is None:
        return CASE.get()
    found = background.answer(None, (*AGAIN_QUESTION, recipe))
    if found is None and not lacks_data(recipe):
        run(recipe)
    elif found is not None and found.status == "finished":
        CASE.set(found.value)
        AGAIN.pop()
        return CASE.get()
    return None


def open_something() -> None:
    """For whoever comes without a case: the finished run on Match, or else a real failure as an example."""
    run = RUN.get()
    if run is not None and not (end := run.job.snapshot()).active and end.best is not None:
        CASE.set(Case.of(run.matching))
    else:
        AGAIN.set(next(iter(FAILING.values())))


def lacks_data(recipe: Recipe) -> bool:
    """Whether its data set has to be fetched first."""
    return recipe.dataset in DATASETS and not DATASETS[recipe.dataset].available()


def run(recipe: Recipe) -> None:
    """Make the run that is to be the case."""

    def work(report: Report) -> Case:
        report(0.0, recipe.title)
        return case_of(recipe, time_limit=SECONDS)

    background.start(None, (*AGAIN_QUESTION, recipe), "Running it again", work)


def empty_state() -> None:
    """What to do without a case; a run that is to become one may be under way, have failed, or lack its data."""
    st.subheader("Why is this match wrong?", anchor=False)
    again = AGAIN.get()
    if again is not None and lacks_data(again):
        dataset_download.offer_download(again.dataset)
    st.caption(ABOUT)
    example_cases()


def example_cases() -> None:
    """Other cases to look at."""
    recipe = address.current()
    with st.container(horizontal=True, key="debug-examples"):
        if recipe.dataset != OWN:
            case_button("Run what is chosen now", ":material/play_arrow:", recipe, recipe.title)
        for verdict, failing in FAILING.items():
            case_button(f"An example: {verdict}", VERDICT_ICONS[verdict], failing)


def case_button(label: str, icon: str, recipe: Recipe, help: str | None = None) -> None:
    """A button that runs a recipe and opens what came of it."""
    press.button(label, f"debug {label}", partial(open_case_of, recipe), icon=icon, help=help)


def open_case_of(recipe: Recipe) -> None:
    AGAIN.set(recipe)
    if not lacks_data(recipe):
        run(recipe)  # also one that has failed before


def heading(case: Case) -> Match | None:
    """What is looked at, its verdict, the tabs and the match in focus."""
    metrics = case.metrics
    names = MODELS[case.recipe.model].label, METHODS[case.recipe.method].label
    example = ["An example"] if case.recipe in FAILING.values() else []
    with st.container(horizontal=True, vertical_alignment="center", key="debug-case"):
        st.caption(" · ".join((*example, literal(case.pair.name), *names)), width="stretch")
        with st.popover("Other cases", icon=":material/folder_open:"):
            st.caption(ABOUT)
            example_cases()
    if metrics.verdict is not None:
        st.markdown(f"{VERDICT_ICONS[metrics.verdict]} {metrics.explanation}")
    else:
        st.markdown(metrics.explanation)
    with st.container(horizontal=True, vertical_alignment="center", key="debug-choice"):
        labels = [tab.label for tab in TABS]
        first = labels[0] if FOCUS.get() is None else "Ledger"  # for whoever asks about a match, why it is there
        st.segmented_control(
            "Tool",
            labels,
            default=begin(TOOL, first),
            key=TOOL,
            required=True,
            format_func=lambda label: f"{TABS[labels.index(label)].icon} {label}",
            label_visibility="collapsed",
        )
        return choose_focus(case)


def chosen() -> Tab:
    return next((tab for tab in TABS if tab.label == st.session_state.get(TOOL)), TABS[0])


def choose_focus(case: Case) -> Match | None:
    """One match, the wrong ones first, or all of them together."""
    right = [(i, j) for i, j in case.pairs.tolist() if (i, j) not in case.wrong]
    offered: list[Match | str] = [WHOLE, *case.wrong, *right]
    before = FOCUS.get()
    if st.session_state.get(MATCH) not in offered:
        st.session_state[MATCH] = before if before in offered else [*case.wrong, WHOLE][0]

    def told(match: Match | str) -> str:
        if isinstance(match, str):
            return match
        i, j = match
        if match not in case.wrong:
            return f"{i} → {j}" + (", right" if case.pair.judged else "")
        partner = case.partner(i)
        return f"{i} → {j}, wrong" + ("" if partner is None else f": should be {partner}")

    at = offered.index(st.session_state[MATCH])
    found = st.selectbox("Match", offered, at, key=MATCH, format_func=told, width=280, label_visibility="collapsed")
    if isinstance(found, str):
        FOCUS.pop()
        return None
    FOCUS.set(found)
    return found
