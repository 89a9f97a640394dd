"""Chapter 6: the residual and the penalty."""

import numpy as np
import streamlit as st

from features import lessons
from features.plots.theme import BLUE, GREEN, VERMILION
from features.recipe import Recipe
from ui import present
from ui.charts.run import Curves, penalty_chart
from ui.learn import pictures
from ui.learn.chapter import Chapter, Control, Desk, Question, Values

YOURS, PAPER, OURS = "your ρ₀", "the paper's", "ours"
RULE = {PAPER: "paper", OURS: "ours"}
COMPARED = (0.001, 1.0, 30.0)


def asked(values: Values) -> float | str:
    return RULE[values["rule"]] if values["rule"] in RULE else float(values["rho"])


def found(values: Values) -> lessons.Solved:
    return lessons.penalised(asked(values))


def told(values: Values) -> str:
    run = found(values)
    rho = run.result.history["rho"][0]
    return f"ρ₀ = {rho:.3g}: energy **{run.metrics.energy:.1f}** after {run.result.iterations:,} iterations"


def worst(values: Values) -> str:
    return f"{max(COMPARED, key=lambda rho: lessons.penalised(rho).metrics.energy):g}"


def show_penalty(desk: Desk) -> None:
    run = found(desk.values)
    tried = desk.notes.setdefault("tried", {})
    if desk.values["rule"] == YOURS:
        tried[desk.values["rho"]] = run.metrics.energy
    one, two = st.columns(2)
    with one:
        history = run.result.history
        step = max(1, len(history["rho"]) // 300)
        thin = {name: history[name][::step] for name in ("residual", "rho")}
        thin["iteration"] = 1.0 + step * np.arange(len(thin["rho"]), dtype=np.float64)
        chart = penalty_chart(Curves(thin))
        st.echarts_chart(
            chart, height=present.tall(360), key="learn residual", alt="Residual and penalty over the iterations"
        )
    with two:
        series = [pictures.dots("your runs", [[rho, round(e, 3)] for rho, e in tried.items()], BLUE)]
        for rule, colour, symbol in ((PAPER, VERMILION, "diamond"), (OURS, GREEN, "triangle")):
            if desk.values["rule"] == rule:
                at = [[float(run.result.history["rho"][0]), round(run.metrics.energy, 3)]]
                series.append(pictures.dots(rule, at, colour, symbol))
        pictures.chart(
            "learn energies",
            series,
            {"type": "log", "name": "first penalty ρ₀", "min": 0.0005, "max": 50},
            {"name": "final energy (lower is better)", "min": -54, "max": -36},
            "Final energy over the first penalty, for the runs so far",
            360,
            tooltip={"trigger": "item"},
        )


def recipe(values: Values) -> Recipe:
    return lessons.penalised_recipe(asked(values))


PENALTY = Chapter(
    key="penalty",
    title="Residual and ρ",
    claim="A small penalty ρ lets the blocks wander for long; a large one freezes them at a poor matching.",
    task="Every position of the slider is a run. Move it and draw the curve of final energies on the right.",
    formula="[rk] = ‖[x1] − [x2]‖^{2} + what moved\nif it stalls: [rho] ← [beta] [rho]",
    source="equation (12) and section 3.4",
    controls=(
        Control("rho", "First penalty ρ₀", lessons.RHOS, 0.3, "The penalty that the run begins with"),
        Control("rule", "Who chooses ρ₀", (YOURS, PAPER, OURS), YOURS, kind="words", later=True),
    ),
    says=told,
    question=Question(
        "Which of these ends with the worst (highest) energy?",
        hint="Run the three of them and compare the heights of the points on the right.",
        because="ρ₀ = {answer}: it converges, but too early. Small ones take thousands of iterations instead. Now let "
        "the paper's rule, then ours, choose.",
        options=("0.001", "1", "30"),
    ),
    code="""from features import lessons

for rho0 in (0.001, 1.0, 30.0, "paper", "ours"):
    run = lessons.penalised(rho0)
    print(rho0, round(run.metrics.energy, 1), run.result.iterations)""",
    picture=show_penalty,
    answer=worst,
    recipe=recipe,
    work=told,
)
