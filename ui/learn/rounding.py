"""From fractions to a matching: rounding, and what it changes."""

from typing import Any

import numpy as np
import streamlit as st

from features.explain import lessons
from ui.learn import boards, figures
from ui.learn.chapter import Chapter, ChapterState, Control, Question, Sheet, Talk, Values
from ui.learn.splitting import COLS, LAST, ROWS, blocks

OPTIONS = ("3", "6", "9")


def found(values: Values) -> lessons.Rounded:
    return lessons.rounded(lessons.trail()[values["rounds"]])


def twice(values: Values) -> list[str]:
    """The columns that more than one row would take if each took its largest entry."""
    taken = blocks(values["rounds"])[1].argmax(axis=1).tolist()
    return [name for k, name in enumerate(COLS) if taken.count(k) > 1]


def told(values: Values) -> str:
    now = found(values)
    changed = (
        f"costs {abs(now.lost):.2f} {'more' if now.lost > 0 else 'less'}"
        if abs(now.lost) >= 0.005
        else "costs the same"
    )
    text = (
        f"Iteration {values['rounds']}: block x₂ has energy {now.block_energy:.2f}, the matching **{now.energy:.2f}**. "
        f"It {changed}. The framed entries add up to {now.total:.2f}."
    )
    return text.replace("-", "−")


def collided(values: Values) -> str:
    clash = twice(values)
    if not clash:
        return "The largest entries of the rows are in different columns: they are the matching."
    return f"The largest entry of every row is no matching: {' and '.join(clash)} would be taken more than once."


def first_final() -> int:
    """The iteration from which on rounding gives the matching that the run ends with."""
    matchings = [lessons.rounded(state).matching for state in lessons.trail()]
    return max(k for k in range(len(matchings)) if matchings[k] != matchings[-1]) + 1


def counted(values: Values) -> dict[str, Any]:
    """The numbers behind the answer."""
    at = first_final()
    return {"early": LAST - at, "block": f"{lessons.rounded(lessons.trail()[at]).block_energy:.2f}".replace("-", "−")}


def framed(values: Values) -> list[tuple[int, int]]:
    return list(enumerate(found(values).matching))


def show_rounding(state: ChapterState) -> None:
    values = state.values
    x, matching = blocks(values["rounds"])[1], np.eye(4)[list(found(values).matching)]
    boards.matrices(
        "learn rounding",
        [
            boards.matrix("Block x₂", x, ROWS, COLS, picked=framed(values)),
            boards.matrix("Rounded: a matching", matching, ROWS, COLS, picked=framed(values)),
        ],
    )
    st.caption(collided(values))


ROUNDING = Chapter(
    key="rounding",
    title="From fractions to a matching",
    claim="Rounding turns a block into the matching with the largest sum of entries; the energy changes unless the "
    "block is a matching already.",
    task="A matching takes one entry of every row and every column. The Hungarian method finds the one whose entries "
    "(framed) add up to most.",
    formula="rounded [x2] = the matching [m] of largest Σ [m] [x2]",
    source="section 2.2; done when ADGM ends and whenever ρ grows",
    controls=(
        Control("rounds", "Iteration", tuple(range(1, LAST + 1)), 1, task="Step through the iterations.", steps=True),
    ),
    says=told,
    question=Question(
        f"From which of the {LAST} iterations on does rounding give the matching that the run ends with?",
        hint="Step forward and look at the framed entries: from which iteration on do they stay where they are?",
        because="{answer}: {early} iterations before the run ends, with fractions left in the block (energy {block}). "
        "ADGM returns the best matching that it has rounded to.",
        options=OPTIONS,
    ),
    code="""from features.explain import lessons

for state in lessons.trail():
    print(state.iteration, lessons.rounded(state))""",
    picture=show_rounding,
    answer=lambda values: str(first_final()),
    numbers=counted,
    talk=Talk(
        4,
        "Cover the right matrix and let the class mark one entry per row and column. Show a row whose largest "
        "entry another row needs, too. Step on until the frames stay, and say that ADGM rounds on the way and "
        "keeps the best.",
        short=1,
    ),
    sheet=Sheet(
        lambda values: figures.matrices({"Block x₂": blocks(values["rounds"])[1]}, ROWS, COLS),
        "This is a block after the first iteration. A matching takes one entry of every row and every column.",
        "Mark the matching whose entries add up to most. Then guess: of 9 iterations, from which one on does rounding "
        "give the matching that the run ends with?",
    ),
    recipe=lambda values: lessons.SPLIT,
)
