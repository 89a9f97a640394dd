"""The projection onto the simplex, drawn."""

import contextlib
from typing import Any

import numpy as np

from features.explain import lessons
from ui.learn import boards, figures
from ui.learn.chapter import Chapter, ChapterState, Poll, Question, Sheet, Talk, Values

FIRST = "0.75,0.45,-0.2"
CANDIDATES = ("1", "2", "3")


def target(text: str) -> list[float]:
    """c from a link; the chapter's own where it makes no sense."""
    with contextlib.suppress(ValueError):
        c = [float(part) for part in text.split(",")]
        if len(c) == 3 and np.isfinite(c).all() and np.abs(c).max() <= 5 and abs(sum(c) - 1) < 1e-9:
            return c
    return target(FIRST)


def board(values: Values) -> dict[str, Any]:
    """The picture in the browser."""
    return boards.triangle_data(target(values["c"]), [f"all to candidate {name}" for name in CANDIDATES])


def show_triangle(state: ChapterState) -> None:
    def moved(c: Any) -> None:
        if isinstance(c, list) and len(c) == 3:
            state.set("c", ",".join(f"{float(value):g}" for value in c))

    boards.triangle("learn triangle", board(state.values), moved)


def alone(values: Values) -> bool:
    return shares(values) == 1


def shares(values: Values) -> int:
    """How many candidates have a share of the nearest point."""
    return int((lessons.nearest(target(values["c"])) > 0).sum())


def asked(values: Values) -> str:
    c = ", ".join(f"{value:g}" for value in target(values["c"]))
    return f"c = ({c}): how many candidates have a share of the nearest point?".replace("-", "−")


def told(values: Values) -> str:
    x = ", ".join(f"{value:.2f}" for value in lessons.nearest(target(values["c"])))
    return f"{shares(values)}: the nearest point is ({x})."


SIMPLEX = Chapter(
    key="simplex",
    title="Projection onto the simplex",
    claim="The nearest point that sums to one is found by taking the same amount from all entries; what would become "
    "negative is set to zero.",
    task="A left point splits its weight among three candidates; each split is a point of the triangle (the simplex). "
    "c is where the costs pull it: drag c and see where it lands.",
    formula="[xi] = max([c]_{i} − [tau], 0),  Σ [xi] = 1",
    source="equation (29) for one row: the nearest point x to c",
    free={"c": FIRST},
    question=Question(
        "Drag c until one candidate gets everything, then press Check.",
        hint="More than one candidate still has a share. Go beyond a corner, where the darker areas begin.",
        because="{answer}. Outside the triangle at least one entry ends at exactly zero, which saves ADGM work. In "
        "an ADMM step the entries of c sum to anything: a number added to all of them changes τ, not x.",
        depends=("c",),
    ),
    code="""from features.explain import lessons

print(lessons.nearest([0.75, 0.45, -0.2]))  # two candidates share
print(lessons.nearest([1.6, -0.1, -0.5]))  # one gets everything""",
    picture=show_triangle,
    board=board,
    answer=alone,
    poll=Poll(asked, CANDIDATES, lambda values: str(shares(values)), told, ("c",)),
    solution=lambda values: "Beyond a corner, where one entry of c exceeds both others by 1 or more",
    talk=Talk(
        4,
        "Ask for a guess before every move: how many candidates keep a share? Drag c outwards through a side, "
        "then beyond a corner, and read the bars: the water line τ is where the rest sums to one. Say that "
        "each row of a block is such a point.",
    ),
    sheet=Sheet(
        lambda values: figures.simplex(target(values["c"])),
        "A left point splits its weight among three candidates; each split is a point of the triangle (the simplex). "
        "Compute the nearest point of the triangle to c, and draw it.",
        "Where must c lie so that one candidate gets everything? Shade these areas.",
    ),
)
