"""Chapter 8: stuck, or wrong?"""

from dataclasses import replace

import streamlit as st

from features import lessons
from features.recipe import Recipe
from ui.learn import pictures
from ui.learn.chapter import Chapter, Control, Desk, Question, Values

PROBLEMS = {"first": lessons.WRONG, "second": lessons.STUCK}
ONE, MANY = "ADGM", "ADGM+"
MEANING = {
    "optimiser stuck": "The truth has a lower energy than what was found: the solver is stuck.",
    "model prefers this": "What was found has a lower energy than the truth: the costs are wrong, not the solver.",
    "both agree": "What was found has the energy of the truth: costs and solver are right.",
    "": "",
}


def found(values: Values) -> lessons.Solved:
    problem = PROBLEMS[values["problem"]]
    return lessons.careful(problem) if values["solver"] == MANY else lessons.solved(problem)


def told(values: Values) -> str:
    run = found(values)
    numbers = f"Found: energy **{run.metrics.energy:.2f}**, {run.right} of {run.metrics.possible} right. "
    numbers += f"The truth: energy **{run.metrics.truth_energy:.2f}**."
    if values["solver"] == MANY and lessons.proved(PROBLEMS[values["problem"]]):
        numbers += " Proved: no matching has a lower energy."
    return numbers


def stuck(values: Values) -> str:
    those = [name for name, one in PROBLEMS.items() if lessons.solved(one).metrics.verdict == "optimiser stuck"]
    return "both" if len(those) == 2 else those[0] if those else "neither"


def show_verdict(desk: Desk) -> None:
    pictures.matching("learn verdict", found(desk.values), 350)
    if desk.checked:
        st.caption(MEANING[found(desk.values).metrics.verdict or ""])


def recipe(values: Values) -> Recipe:
    problem = PROBLEMS[values["problem"]]
    return replace(problem, method="adgm+") if values["solver"] == MANY else problem


VERDICT = Chapter(
    key="verdict",
    title="Stuck, or wrong?",
    claim="A wrong matching has one of two causes: the solver got stuck, or the costs themselves prefer it.",
    task="Two problems, both with wrong (orange) matches. Compare the energy that was found with the truth's. Lower "
    "is better.",
    formula="[E]([truth]) < [E]([found]): the solver is stuck\n[E]([found]) < [E]([truth]): the costs are wrong",
    source="our own: energies compared, and a lower bound",
    controls=(
        Control("problem", "Problem", tuple(PROBLEMS), "first", kind="words", beside=True),
        Control(
            "solver",
            "Solver",
            (ONE, MANY),
            ONE,
            "ADGM+ runs many times and looks for a proof",
            "words",
            later=True,
            beside=True,
        ),
    ),
    says=told,
    question=Question(
        "In which problem is the solver stuck?",
        hint="Stuck means: a better matching exists, and the truth is one. Where is the truth's energy the lower one?",
        because="{answer}. There the truth is better than what was found. In the other one even a perfect solver "
        "errs. Try ADGM+ on both.",
        options=("first", "second", "both", "neither"),
    ),
    code="""from features import lessons

for problem in (lessons.WRONG, lessons.STUCK):
    print(lessons.solved(problem).metrics.verdict, "|", lessons.careful(problem).metrics.verdict)""",
    picture=show_verdict,
    answer=stuck,
    recipe=recipe,
    work=told,
)
