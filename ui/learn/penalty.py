"""The residual and the penalty."""

from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from features.explain import lessons
from features.penalty_study import BAND, SEEDS, study
from features.plots.theme import BLUE, FAINT, GREEN, SKY, VERMILION
from features.recipe import Recipe
from ui.learn import figures, pictures
from ui.learn.chapter import Chapter, ChapterState, Control, Question, Sheet, Talk, Values
from ui.parts.charts.run import Curves, line, penalty_chart
from ui.shell import presenter

YOURS, PAPER, OURS = "your ρ₀", "the paper's", "ours"
RULE = {PAPER: "paper", OURS: "ours"}
COMPARED = (0.001, 1.0, 30.0)
POINTS = 300  # of a curve that is drawn


def asked(values: Values) -> float | str:
    return RULE[values["rule"]] if values["rule"] in RULE else float(values["rho"])


def found(values: Values) -> lessons.Solved:
    return lessons.penalised(asked(values))


def excess(run: lessons.Solved) -> float:
    """By how much a run of this problem, the study's first, ends above the best energy: in percent of it."""
    best = float(study().best[0])
    return max(0.0, 100.0 * (run.metrics.energy - best) / abs(best))


def told(values: Values) -> str:
    run = found(values)
    rho = run.result.history["rho"][0]
    return (
        f"ρ₀ = {rho:.3g}: energy **{run.metrics.energy:.1f}** ({excess(run):.0f} % above the best known), "
        f"{run.result.iterations:,} iterations"
    )


def hundredfold(values: Values) -> str:
    """The hundred problems at the penalty that is shown."""
    if values["rule"] in RULE:
        return ""
    rho = float(values["rho"])
    return (
        f"Of {SEEDS} problems like this, {study().reached(rho)} end at the best energy known with ρ₀ = {rho:g}; the "
        f"median takes {study().usual_iterations(rho):,.0f} iterations. The band leaves out the ten best and ten worst."
    )


def most_reliable(values: Values) -> str:
    return f"{max(COMPARED, key=study().reached):g}"


def counted(values: Values) -> dict[str, Any]:
    """The numbers behind the answer."""
    lower, _, higher = study().compared(COMPARED[0], COMPARED[-1])
    low, middle, high = (study().reached(rho) for rho in COMPARED)
    slow, quick = (f"{study().usual_iterations(rho):,.0f}" for rho in COMPARED[:2])
    return {
        "reached": f"{low} of {SEEDS} end at the best energy known, {middle} with 1, {high} with 30",
        "against": f"better than 30 in {lower} problems, worse in {higher}",
        "iterations": f"{slow} iterations, with 1 only {quick}",
    }


def thinned(count: int, most: int = POINTS) -> NDArray[np.int64]:
    """Which of so many values are drawn: about `most` of them, the first and the last always."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def curves(run: lessons.Solved) -> Curves:
    """Residual and penalty as they are drawn."""
    history = run.result.history
    at = thinned(len(history["rho"]))
    return Curves(
        {"iteration": (1 + at).astype(np.float64), **{name: history[name][at] for name in ("residual", "rho")}}
    )


def hundred() -> list[dict[str, Any]]:
    """The study as curves: its median, and the band that holds four of five problems."""
    low, middle, high = np.quantile(study().excess, (BAND[0], 0.5, BAND[1]), axis=0)
    band = f"{SEEDS * (BAND[1] - BAND[0]):.0f} of {SEEDS} problems"
    hidden = {"lineStyle": {"opacity": 0}, "stack": "band", "silent": True}
    at = list(lessons.RHOS)
    return [
        line("", list(map(list, zip(at, low.tolist(), strict=True))), FAINT, **hidden),
        line(
            band,
            list(map(list, zip(at, (high - low).tolist(), strict=True))),
            SKY,
            areaStyle={"opacity": 0.3},
            **hidden,
        ),
        line("median", list(map(list, zip(at, middle.tolist(), strict=True))), FAINT, lineStyle={"type": "dashed"}),
    ]


def show_penalty(state: ChapterState) -> None:
    run = found(state.values)
    tried = state.notes.setdefault("tried", {})
    if state.values["rule"] == YOURS:
        tried[state.values["rho"]] = excess(run)
    one, two = st.columns(2)
    with one:
        st.echarts_chart(
            presenter.enlarged(penalty_chart(curves(run))),
            height=presenter.tall(360),
            key="learn residual",
            alt="Residual and penalty over the iterations",
        )
    with two:
        series = hundred() if state.checked else []
        series.append(pictures.dots("this problem", [[rho, round(e, 2)] for rho, e in tried.items()], BLUE))
        for rule, colour, symbol in ((PAPER, VERMILION, "diamond"), (OURS, GREEN, "triangle")):
            if state.values["rule"] == rule:
                at = [[float(run.result.history["rho"][0]), round(excess(run), 2)]]
                series.append(pictures.dots(rule, at, colour, symbol))
        pictures.chart(
            "learn energies",
            series,
            {"type": "log", "name": "first penalty ρ₀", "min": 0.0005, "max": 50},
            {"name": "% above the best known", "min": 0, "max": 30},
            "How far above the best energy known runs end, over the first penalty",
            360,
            tooltip={"trigger": "item"},
            legend={"top": 0, "type": "scroll", "data": [one["name"] for one in series if one["name"]]},
        )
    if state.checked and (words := hundredfold(state.values)):
        st.caption(words)


def recipe(values: Values) -> Recipe:
    return lessons.penalised_recipe(asked(values))


PENALTY = Chapter(
    key="penalty",
    title="Residual and ρ",
    claim="A small first penalty ρ₀ often, but not always, ends at a lower energy than a large one, and takes longer.",
    task="ρ says what disagreement between the blocks costs. A run has converged when its residual is nearly zero.",
    formula="[rk] = ‖[x1] − [x2]‖^{2} + what moved\nif it stalls: [rho] ← [beta] [rho]",
    source='equation (12); section 3.4: "often (but not always)" better',
    controls=(
        Control(
            "rho",
            "First penalty ρ₀",
            lessons.RHOS,
            0.3,
            "The penalty that the run begins with",
            task="Every position of the slider is a run: move it.",
        ),
        Control("rule", "Who chooses ρ₀", (YOURS, PAPER, OURS), YOURS, kind="words", later=True),
    ),
    says=told,
    question=Question(
        f"{SEEDS} problems like this: which ρ₀ is best most often?",
        hint="At which end does the band stay lowest? Read the count below it, too, at each of the three.",
        because="{answer}: {reached}. It is {against}. It takes longer: {iterations} (medians).",
        options=("0.001", "1", "30"),
    ),
    code="""from features.penalty_study import study

for rho0 in (0.001, 1.0, 30.0):  # of 100 problems; iterations: the median
    print(rho0, study().reached(rho0), study().usual_iterations(rho0))""",
    picture=show_penalty,
    answer=most_reliable,
    talk=Talk(
        5,
        "Move ρ₀ from left to right and let the class see that one problem proves nothing: the energy jumps. "
        "Ask the question, then show the hundred problems. Say the paper's words: often, but not always.",
    ),
    sheet=Sheet(
        lambda values: figures.over_penalties(
            lessons.RHOS, study().excess[0].tolist(), "One problem: final energy, in % above the best one known"
        ),
        "One problem, solved once with each first penalty: where ADGM ends jumps up and down.",
    ),
    numbers=counted,
    recipe=recipe,
    work=told,
)
