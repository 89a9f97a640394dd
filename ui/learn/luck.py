"""Luck, and what a portfolio buys."""

from typing import Any

import numpy as np
import streamlit as st

from features.explain import lessons
from features.plots.theme import BLUE, FAINT
from ui.learn import figures, pictures
from ui.learn.chapter import Chapter, ChapterState, Control, Question, Sheet, Talk, Values

FEWEST, SOME, MOST = "fewer than 10", "10 to 20", "more than 20"
FEW = 5
RUNS = (1, 2, 3, 5, 8, 12, 20, 30)


def share(values: Values) -> str:
    count = lessons.reached(lessons.lucky_starts())
    return FEWEST if count < 10 else SOME if count <= 20 else MOST


def told(values: Values) -> str:
    energies = lessons.lucky_starts()
    chance = lessons.chance(values["runs"], energies)
    return (
        f"{lessons.reached(energies)} of {len(energies)} starts end at the best energy. The best of {values['runs']} "
        f"{'run' if values['runs'] == 1 else 'runs'} reaches it with probability **{100 * chance:.0f} %**."
    )


def counted(values: Values) -> dict[str, Any]:
    """The numbers behind the answer."""
    energies = lessons.lucky_starts()
    return {
        "reached": f"{lessons.reached(energies)} of {len(energies)}",
        "few": f"The best of {FEW} runs reaches it with probability {100 * lessons.chance(FEW, energies):.0f} %",
        "best": f"{energies.min():.2f}",
        "truth": f"{lessons.solved(lessons.LUCK).metrics.truth_energy:.2f}",
    }


def show_luck(state: ChapterState) -> None:
    if not state.checked:
        pictures.matching("learn luck", lessons.solved(lessons.LUCK), 390)
        st.caption("One run, from one start. Thirty starts follow when you have made your prediction.")
        return
    energies = lessons.lucky_starts()
    edges = np.arange(np.floor(energies.min()), np.ceil(energies.max()) + 1)
    counts, _ = np.histogram(energies, edges)
    best = int(np.argmax(counts > 0))
    data = [
        {"value": [low + 0.5, int(count)], "itemStyle": {"color": BLUE if k == best else FAINT}}
        for k, (low, count) in enumerate(zip(edges[:-1].tolist(), counts, strict=True))
    ]
    bars = {"type": "bar", "name": "starts", "data": data, "barWidth": "90%", "animation": False}
    chances = [[runs, round(100 * lessons.chance(runs, energies), 1)] for runs in RUNS]
    now = [[state.values["runs"], round(100 * lessons.chance(state.values["runs"], energies), 1)]]
    one, two = st.columns(2)
    with one:
        x = {"name": "final energy (lower is better)", "min": float(edges[0]), "max": float(edges[-1])}
        pictures.chart(
            "learn histogram",
            [bars],
            x,
            {"name": "starts", "min": 0},
            "How many starts end at which energy",
            390,
            legend={"show": False},
        )
    with two:
        series = [
            pictures.dots("chance to see the best", chances, FAINT),
            pictures.dots("your number of runs", now, BLUE, "diamond"),
        ]
        x = {"name": "runs", "min": 0, "max": 31}
        pictures.chart("learn chance", series, x, {"name": "%", "min": 0, "max": 100}, "Chance over runs", 390)


LUCK = Chapter(
    key="luck",
    title="Luck",
    claim="Where ADGM ends depends on where it starts; of several runs the best one counts, which leaves less to luck.",
    task="Thirty runs of the same problem differ only in their random start. Predict how many reach the best energy.",
    formula="chance of the best of [runs] runs = 1 − (1 − [share])^{k}",
    source="our own: what ADGM+ builds on",
    controls=(Control("runs", "Number of runs", RUNS, 1, "The best of so many runs counts", later=True),),
    reveals=told,
    question=Question(
        "How many of the thirty starts end at the best energy?",
        hint="Count the blue bar of the histogram: it stands at the lowest energy.",
        because="{answer}: {reached}. {few}: ADGM+ builds on this. The best matching ({best}) is not the true one "
        "({truth}) here: see “Stuck, or wrong?”.",
        options=(FEWEST, SOME, MOST),
        button="Run",
        then={"runs": FEW},
    ),
    code="""from features.explain import lessons

energies = lessons.lucky_starts()
print(lessons.reached(energies), "of", len(energies))
print(f"best of five: {lessons.chance(5, energies):.0%}")""",
    picture=show_luck,
    answer=share,
    outcome=lambda values: counted(values)["reached"],
    talk=Talk(
        4,
        "One start first, as every user begins. Let the class bet, run the thirty, then move the number of "
        "runs: the best of a few runs is seldom bad. Say once more that the best energy need not be the "
        "truth.",
    ),
    sheet=Sheet(
        lambda values: figures.matching(lessons.solved(lessons.LUCK)),
        "This is the matching of one run. Thirty runs of the same problem differ only in their random start.",
    ),
    numbers=counted,
    recipe=lambda values: lessons.LUCK,
    work=lambda values: lessons.solved(lessons.LUCK),  # the answer solves the thirty
)
