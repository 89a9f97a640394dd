"""The assignment in two copies, each under half of the rules."""

from typing import Any

import streamlit as st

from features.explain import lessons
from ui.learn import boards, figures
from ui.learn.chapter import Chapter, ChapterState, Control, Question, Sheet, Talk, Values

LAST = 9  # iterations until the small problem has converged
ROWS, COLS = ("A", "B", "C", "D"), ("1", "2", "3", "4")
TITLES = ("Block x₁", "Block x₂")


def blocks(iteration: int) -> list[Any]:
    problem = lessons.problem_of(lessons.SPLIT)
    return [problem.matrix(block) for block in lessons.trail()[iteration].blocks]


def apart(values: Values) -> str:
    state = lessons.trail()[values["k"]]
    if not values["k"]:
        value = state.blocks[0][0]
        return f"Iteration 0, the start: the blocks agree, but on {value:.2f} everywhere, which is no matching."
    told = f"Iteration {values['k']}: squared distance of the blocks ‖x₁ − x₂‖² = {state.gap:.3g}"
    return told + (". **Both are the same matching.**" if same_matching(values["k"]) else ".")


def same_matching(iteration: int) -> bool:
    """Whether both blocks are one and the same matching."""
    one, two = blocks(iteration)
    return bool((one == two).all() and ((one == 0) | (one == 1)).all())


def show_blocks(state: ChapterState) -> None:
    boards.matrices(
        "learn blocks",
        [
            boards.matrix(
                title,
                x,
                ROWS,
                COLS,
                sums=state.checked,
                note=f"Sums that are one: {lessons.sums(x)}"
                if state.checked
                else "Its sums appear after your prediction",
            )
            for title, x in zip(TITLES, blocks(state.values["k"]), strict=True)
        ],
    )
    st.caption("Rows are left points, columns right points; the bluer, the closer to 1.")


SPLIT = Chapter(
    key="split",
    title="Relax and split",
    claim="ADGM (alternating direction graph matching) keeps two copies of the assignment, each under half of the "
    "rules.",
    task="In a matching all rows and all columns sum to one: these are the rules. Entries may now lie between 0 and 1. "
    "The two copies are called blocks.",
    formula="[x1] ∈ [Mc],  [x2] ∈ [Mr],  [x1] = [x2]",
    source="equations (25) to (27)",
    controls=(Control("k", "Iteration", tuple(range(LAST + 1)), 1, task="Step forward and watch both.", steps=True),),
    says=apart,
    question=Question(
        "In block x₁, at the iteration you see: which sums are all one?",
        hint="Add up a row of x₁, then a column. Which of the two always gives 1?",
        because="{answer}. x₁ obeys the column rule, x₂ the row rule; a matching must obey both. One rule alone is "
        "easy to obey: the next chapter shows how.",
        options=("rows", "columns", "both", "neither"),
        depends=("k",),
    ),
    code="""from features.explain import lessons

for state in lessons.trail():  # every iteration, by adgm.reference
    print(state.iteration, [str(lessons.sums(block.reshape(4, 4))) for block in state.blocks])""",
    picture=show_blocks,
    answer=lambda values: str(lessons.sums(blocks(values["k"])[0])),
    talk=Talk(
        4,
        "Say why one copy is not enough: rows and columns at once are hard, either of them alone is easy. "
        "Step forward and watch both blocks turn blue in the same places. Ask the question at iteration 1, "
        "where the blocks differ most.",
        short=2,
    ),
    sheet=Sheet(
        lambda values: figures.matrices(dict(zip(TITLES, blocks(values["k"]), strict=True)), ROWS, COLS),
        "Entries may now lie between 0 and 1. These are the two copies, called blocks, after the first iteration. Rows "
        "are left points, columns right points.",
        "In block x₁: which sums are all one?",
    ),
    recipe=lambda values: lessons.SPLIT,
)
