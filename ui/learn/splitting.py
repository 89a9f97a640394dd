"""The assignment in two copies, and one step by hand."""

import contextlib
from typing import Any

import streamlit as st

from adgm import ADGM
from adgm.reference import Iterate
from features.explain import lessons
from ui.learn import boards, figures
from ui.learn.chapter import Chapter, Control, Desk, Question, Sheet, Values

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
    told = f"Iteration {values['k']}: ‖x₁ − x₂‖² = {state.gap:.3g}"
    return told + (". **Both are the same matching.**" if same_matching(values["k"]) else ".")


def same_matching(iteration: int) -> bool:
    """Whether both blocks are one and the same matching."""
    one, two = blocks(iteration)
    return bool((one == two).all() and ((one == 0) | (one == 1)).all())


def show_blocks(desk: Desk) -> None:
    boards.matrices(
        "learn blocks",
        [
            boards.matrix(
                title,
                x,
                ROWS,
                COLS,
                sums=desk.checked,
                note=f"Sums that are one: {lessons.sums(x)}"
                if desk.checked
                else "Its sums appear after your prediction",
            )
            for title, x in zip(TITLES, blocks(desk.values["k"]), strict=True)
        ],
    )
    st.caption("Rows are left points, columns right points; the bluer, the closer to 1.")


SPLIT = Chapter(
    key="split",
    title="Relax and split",
    claim="ADGM (alternating direction graph matching) keeps two copies of the assignment, each under half of the "
    "rules.",
    task="Entries may now lie between 0 and 1. The two copies are called blocks.",
    formula="[x1] ∈ [Mc],  [x2] ∈ [Mr],  [x1] = [x2]",
    source="equations (25) to (27)",
    controls=(Control("k", "Iteration", tuple(range(LAST + 1)), 1, task="Step forward and watch both.", steps=True),),
    says=apart,
    question=Question(
        "In block x₁, at the iteration you see: which sums are all one?",
        hint="Add up a row of x₁, then a column. Which of the two always gives 1?",
        because="{answer}. x₁ obeys the column rule, x₂ the row rule; a matching must obey both.",
        options=("rows", "columns", "both", "neither"),
        depends=("k",),
    ),
    code="""from features.explain import lessons

for state in lessons.trail():  # every iteration, by adgm.reference
    print(state.iteration, [str(lessons.sums(block.reshape(4, 4))) for block in state.blocks])""",
    picture=show_blocks,
    answer=lambda values: str(lessons.sums(blocks(values["k"])[0])),
    sheet=Sheet(
        lambda values: figures.matrices(dict(zip(TITLES, blocks(values["k"]), strict=True)), ROWS, COLS),
        "Entries may now lie between 0 and 1. These are the two copies, called blocks, after the first iteration. Rows "
        "are left points, columns right points.",
        "In block x₁: which sums are all one?",
    ),
    recipe=lambda values: lessons.SPLIT,
)


# ---- 5 ------------------------------------------------------------------------------------------------------

ENTRY = "0-1-3"  # block, row, column
RULES = ("columns sum to one", "rows sum to one")


def entry_of(text: str) -> tuple[int, int, int]:
    """Block, row and column from a link; the chapter's own where it makes no sense."""
    with contextlib.suppress(ValueError):
        block, row, col = (int(part) for part in text.split("-"))
        if 0 <= block < 2 and 0 <= row < 4 and 0 <= col < 4:
            return block, row, col
    return entry_of(ENTRY)


def parts(values: Values) -> lessons.Parts:
    block, row, col = entry_of(values["cell"])
    before, after = lessons.trail()[values["iteration"] - 1], lessons.trail()[values["iteration"]]
    method = lessons.SPLIT.method_object()
    assert isinstance(after, Iterate) and isinstance(method, ADGM)
    return lessons.parts(method, before, after, block, 4 * row + col)


def show_step(desk: Desk) -> None:
    def picked(cell: Any) -> None:
        if isinstance(cell, list) and len(cell) == 3:
            desk.set("cell", "-".join(str(entry) for entry in entry_of("-".join(map(str, cell)))))

    block, row, col = entry_of(desk.values["cell"])
    boards.matrices(
        "learn step",
        [
            boards.matrix(
                f"{TITLES[d]}, {RULES[d]}", x, ROWS, COLS, pick=True, picked=(row, col) if d == block else None
            )
            for d, x in enumerate(blocks(desk.values["iteration"]))
        ],
        picked,
    )
    st.html(sum_of(desk.values, answered=desk.right))


def sum_of(values: Values, answered: bool) -> str:
    """The parts of c as a line of numbers, the strongest one lit."""
    made = parts(values)
    block, row, col = entry_of(values["cell"])
    last = (
        [("c", f"{made.target:.3f}"), (f"x<sub>{block + 1}</sub>", f"{made.value:.3f}")] if answered else [("c", "?")]
    )
    named = [("other block", "neighbour"), ("multiplier / ρ", "multiplier"), ("− cost / ρ", "cost")]
    cells = [
        f'<td class="{"lit" if made.strongest == name else ""}"><small>{words}</small>{getattr(made, name):+.3f}</td>'
        for words, name in named
    ]
    cells += [f"<td class='made'><small>{words}</small>{number}</td>" for words, number in last]
    title = f"<caption>Entry {ROWS[row]}{COLS[col]} of x<sub>{block + 1}</sub></caption>"
    return f'<table class="learn-sum">{title}<tr>{"".join(cells)}</tr></table>'


STEP = Chapter(
    key="step",
    title="One ADMM step by hand",
    claim="Each entry is pulled by the other block, by the multiplier and by the cost; then the block is projected.",
    task="ADMM solves the blocks in turn; the multiplier adds up their disagreement. Click an entry of either block. "
    "Its three pulls appear below; the strongest is highlighted. Add them to get its target c.",
    formula="[cd] = {neighbour:[xe]} {multiplier:± «[ye]¦[rho]»} {cost:− «[pd]¦[rho]»}",
    source="equations (30) and (31), two blocks",
    controls=(Control("iteration", "Iteration", tuple(range(1, LAST + 1)), 2, steps=True),),
    free={"cell": ENTRY},
    lit=lambda values: parts(values).strongest,
    says=lambda values: f"ρ = {parts(values).rho:g} in iteration {values['iteration']}",
    question=Question(
        "What is c for the entry you chose?",
        hint="Add the three numbers below the blocks, with their signs. Two decimals will do.",
        because="{answer}. Projecting c (subtracting τ, cutting at 0) gives the new entry.",
        number=True,
        tolerance=0.011,
        depends=("iteration", "cell"),
    ),
    code="""from adgm import reference
from features.explain import lessons

problem, method = lessons.problem_of(lessons.SPLIT), lessons.SPLIT.method_object()
first = reference.step(problem, method, method.init(problem))
second = reference.step(problem, method, first)
print(lessons.parts(method, first, second, block=0, entry=7))""",
    picture=show_step,
    answer=lambda values: parts(values).target,
    sheet=Sheet(
        lambda values: (
            figures.matrices(dict(zip(TITLES, blocks(values["iteration"]), strict=True)), ROWS, COLS)
            + sum_of(values, answered=False)
        ),
        "These are the two blocks after the second iteration, and below them the three pulls on one entry.",
        "What is the target c of this entry?",
    ),
    recipe=lambda values: lessons.SPLIT,
)
