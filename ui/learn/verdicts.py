"""Stuck, or wrong? Four cases, each of them proved."""

from dataclasses import replace

import streamlit as st

from features.explain import lessons
from features.judge.metrics import Causes
from features.recipe import Recipe
from ui.learn import figures, pictures
from ui.learn.chapter import Chapter, ChapterState, Control, Question, Sheet, Talk, Values

ONE, MANY = "ADGM", "ADGM+"
METHODS = {ONE: "adgm1", MANY: "adgm+"}
CASES = {
    Causes(stuck=True, model=False): "the solver",
    Causes(stuck=False, model=True): "the costs",
    Causes(stuck=True, model=True): "both",
    Causes(stuck=False, model=False): "neither",
}
REASONS = {
    "the solver": "The truth ({truth}) costs less than what was found ({found}), and no matching costs less than it.",
    "the costs": "What was found ({found}) costs less than the truth ({truth}), and no matching costs less than that.",
    "both": "The best matching ({best}) costs less than what was found ({found}), and less than the truth ({truth}).",
    "neither": "No matching costs less than what was found ({found}), nor than the truth ({truth}).",
}


def recipe(values: Values) -> Recipe:
    return replace(lessons.EXAMPLES[values["problem"]].recipe, method=METHODS[values["solver"]])


def told(values: Values) -> str:
    run = lessons.solved(recipe(values))
    return (
        f"Found: energy **{run.metrics.energy:.2f}**, {run.right} of {run.metrics.possible} right. "
        f"The truth: energy **{run.metrics.truth_energy:.2f}**."
    )


def revealed(values: Values) -> str:
    lowest = lessons.EXAMPLES[values["problem"]].lowest
    return f"The best of all matchings: energy **{lowest:.2f}**. A lower bound proves that no matching costs less."


def at_fault(values: Values) -> str:
    return CASES[lessons.causes(values["problem"], METHODS[values["solver"]])]


def numbers(values: Values) -> dict[str, str]:
    """The reason, with its energies."""
    run = lessons.solved(recipe(values)).metrics
    energies = {"found": run.energy, "truth": run.truth_energy, "best": lessons.EXAMPLES[values["problem"]].lowest}
    return {"reason": REASONS[at_fault(values)].format(**{name: f"{value:.2f}" for name, value in energies.items()})}


def compared(values: Values) -> str:
    """What the energies of the two matchings prove by themselves."""
    causes = lessons.solved(recipe(values)).metrics.causes()
    if causes.stuck:
        return "These two prove that the solver is stuck. Whether the costs are wrong, too, takes the best energy."
    if causes.model:
        return "These two prove that the costs are wrong. Whether the solver is stuck, too, takes the best energy."
    return "These two are equal, which proves nothing: whether a better matching exists takes the best energy."


def show_verdict(state: ChapterState) -> None:
    pictures.matching("learn verdict", lessons.solved(recipe(state.values)), 350)
    if state.checked:
        st.caption(compared(state.values))


def on_paper(values: Values) -> str:
    both = f"<p>{told(values)} {revealed(values)}</p>".replace("**", "")
    return figures.matching(lessons.solved(recipe(values))) + both


VERDICT = Chapter(
    key="verdict",
    title="Stuck, or wrong?",
    claim="A wrong matching has two possible causes, alone or together: the solver is stuck, or the costs "
    "prefer a wrong one.",
    task="Three problems with wrong (orange) matches. Compare the energy found with the truth's: lower is better.",
    formula="[E]([best]) < [E]([found]): the solver is stuck\n[E]([best]) < [E]([truth]): the costs are wrong",
    source="our own: energies compared, and a lower bound that proves the best one",
    controls=(
        Control("problem", "Problem", tuple(lessons.EXAMPLES), "first", kind="words", beside=True),
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
    reveals=revealed,
    question=Question(
        "What is at fault in this problem?",
        hint="Which of the three energies is lowest? If that is below what was found, the solver is stuck; if it is "
        "below the truth, the costs are wrong.",
        because="{answer}. {reason} All of this is proved.",
        options=tuple(CASES.values()),
        depends=("problem", "solver"),
    ),
    code="""from features.explain import lessons

for problem in lessons.EXAMPLES:
    print(problem, lessons.causes(problem), lessons.causes(problem, "adgm+"))""",
    picture=show_verdict,
    answer=at_fault,
    talk=Talk(
        5,
        "Two energies first: found and truth. Ask which one is lower and what that proves. Then reveal the "
        "third, the best of all, and let the class fill the four cases. Switch to ADGM+: what was stuck gets "
        "free, wrong costs stay wrong.",
        short=2,
    ),
    sheet=Sheet(
        on_paper,
        "A matching with wrong matches, and three energies: of what was found, of the truth, and of the best of all "
        "matchings. Lower is better.",
    ),
    numbers=numbers,
    recipe=recipe,
    work=told,
    needs=lambda values: "portfolio" if values["solver"] == MANY else "",
)
