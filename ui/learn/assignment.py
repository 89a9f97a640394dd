"""What is looked for, and why it takes more than points."""

import contextlib
from typing import Any

import numpy as np
import streamlit as st

from features.explain import lessons
from features.explain.lessons import NAMES, NUMBERS
from features.plots.theme import BLUE, FAINT
from features.recipe import OWN, Recipe
from ui.learn import boards, figures, pictures
from ui.learn.chapter import Chapter, ChapterState, Control, Poll, Question, Sheet, Talk, Values
from ui.shell import presenter

SIX = tuple(lessons.written(each) for each in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)))


def as_text(sides: Any) -> str:
    """Both sides' points in a link: "1,1;4,1;1,5|…"."""
    return "|".join(";".join(f"{float(x):g},{float(y):g}" for x, y in side) for side in sides)


def as_points(text: str) -> list[list[list[float]]]:
    """Both sides' points from a link; the chapter's own where it makes no sense."""
    with contextlib.suppress(ValueError):
        sides = [[[float(v) for v in point.split(",")] for point in side.split(";")] for side in text.split("|")]
        if np.shape(sides) == (2, 3, 2) and np.isfinite(sides).all() and np.min(sides) >= 0 and np.max(sides) <= 6:
            return sides
    return [[list(point) for point in side] for side in (lessons.LEFT, lessons.RIGHT)]


def ranked(values: Values) -> list[lessons.Ranked]:
    return lessons.ranking(lessons.triangles(*as_points(values["points"])))


def tried(values: Values) -> lessons.Ranked:
    return next(each for each in ranked(values) if each.name == values["try"])


def board(values: Values, choices: bool = True) -> dict[str, Any]:
    """The picture in the browser, with a button for every matching or without."""
    all_six = [each.matching for each in ranked(values)] if choices else []
    return boards.graphs_data(as_points(values["points"]), tried(values).matching, (NAMES, NUMBERS), sorted(all_six))


def show_triangles(state: ChapterState) -> None:
    def moved(sides: Any) -> None:
        if np.shape(sides) == (2, 3, 2):
            state.set("points", as_text(as_points(as_text(sides))))

    now = tried(state.values)
    boards.graphs("learn graphs", board(state.values, choices=False), moved)
    one, two = st.columns([2, 3])
    with one:
        x = np.eye(3)[list(now.matching)]
        boards.matrices(
            "learn assignment",
            [
                boards.matrix(
                    "Assignment matrix X", x, NAMES, NUMBERS, note=f"Row A: A goes with {NUMBERS[now.matching[0]]}"
                )
            ],
        )
    with two:
        if not state.done:
            st.caption("All six matchings, ranked, appear here when you have found the best one.")
            return
        data = [
            {"value": round(each.energy, 3), "itemStyle": {"color": BLUE if each.name == now.name else FAINT}}
            for each in ranked(state.values)[::-1]
        ]
        bars = {"type": "bar", "data": data, "label": {"show": True, "position": "right"}, "animation": False}
        names = [each.name for each in ranked(state.values)[::-1]]
        spec = {
            "animation": False,
            "grid": {"left": 4, "right": 44, "top": 4, "bottom": 4, "containLabel": True},
            "xAxis": {"type": "value", "show": False},
            "yAxis": {"type": "category", "data": names, "axisTick": {"show": False}},
            "series": [bars],
        }
        st.echarts_chart(
            presenter.enlarged(spec), height=presenter.tall(165), key="learn ranking", alt="The six matchings by energy"
        )


ASSIGNMENT = Chapter(
    key="assignment",
    title="Two graphs, one assignment",
    claim="Matching means choosing a partner for every point so that the total cost, the energy, is lowest.",
    task="An edge laid on another costs the difference of their lengths. Edges that look alike lie on each other.",
    formula="[E] = Σ_{i<j} [F2] [xi] [xj],  here [F2] = |[d1] − [d2]|",
    source="equation (5) of the paper, its pairwise part, each edge counted once",
    controls=(
        Control(
            "try",
            "Matching",
            SIX,
            SIX[0],
            "A2 means: left point A goes with right point 2",
            "words",
            "Try the six matchings; drag the points if you like.",
        ),
    ),
    free={"points": as_text((lessons.LEFT, lessons.RIGHT))},
    question=Question(
        "Choose the matching with the lowest energy, then press Check.",
        hint="There is a cheaper one. Compare the lengths: which right edge is about as long as AB, which as BC?",
        because="{answer}. With three points one can try all six; with 20 there are more than 10¹⁸.",
        depends=("try", "points"),
    ),
    code="""from features.explain import lessons

for each in lessons.ranking(lessons.triangles()):  # all six, the best first
    print(each.name, round(each.energy, 2))""",
    picture=show_triangles,
    board=board,
    answer=lambda values: tried(values).energy <= ranked(values)[0].energy + 1e-9,
    talk=Talk(
        5,
        "Let the class name the edges that lie on each other before you speak of energy. Choose two or three "
        "matchings with the keys A to F and read the sum of one aloud, edge by edge. Point at the matrix: one "
        "1 per row and per column. Then ask the question, and say why trying all matchings ends soon: their "
        "number grows faster than any power.",
        short=2,
    ),
    sheet=Sheet(
        lambda values: figures.triangles(as_points(values["points"]), (NAMES, NUMBERS)),
        "The numbers are the lengths of the edges. An edge laid on another costs the difference of their lengths: if A "
        "goes with 2 and B with 1, edge AB lies on edge 21.",
        f"Compute the energy of all six matchings: {', '.join(SIX)}. Which one is lowest?",
    ),
    poll=Poll(
        lambda values: "Which matching has the lowest energy?",
        SIX,
        lambda values: ranked(values)[0].name,
        lambda values: f"{ranked(values)[0].name} costs least, {ranked(values)[0].energy:.2f}.",
        ("points",),
    ),
    solution=lambda values: f"{ranked(values)[0].name} costs least, {ranked(values)[0].energy:.2f}",
    recipe=lambda values: Recipe(OWN, model="given"),
    brings=lambda values: lessons.triangle_pair(*as_points(values["points"])),
)


# ---- 2 ------------------------------------------------------------------------------------------------------

WEIGHTS = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
TOTAL = 30


def repaired(values: Values) -> str:
    right = lessons.structure(1.0).right
    return f"all {TOTAL}" if right == TOTAL else "about 24" if right > 21 else "about 18, as before"


def show_structure(state: ChapterState) -> None:
    found = lessons.structure(state.values["weight"])
    pictures.matching("learn structure", found, 400, "Delaunay" if state.values["weight"] else "none")


STRUCTURE = Chapter(
    key="structure",
    title="Why points alone are not enough",
    claim="Points that look alike are confused; edges between neighbours tell them apart.",
    task="These matches come from what each point's surroundings look like, nothing else. Orange ones are wrong. "
    "Now we also ask neighbours to stay neighbours. Predict, then run.",
    formula="[E] = Σ_{i} [F1] [xi] + Σ_{ij} [F2] [xi] [xj]",
    source="equation (5): points, then pairs",
    controls=(Control("weight", "Weight of the edges", WEIGHTS, 0.0, "0: every point for itself", later=True),),
    says=lambda values: (
        f"**{lessons.structure(values['weight']).right} of {TOTAL} right** at weight {values['weight']:g}"
    ),
    question=Question(
        "How many of the 30 are right when edges count as well?",
        hint="Look at the picture: which lines were orange before, and what became of them?",
        because="{answer}: a wrong match lays the edges to its neighbours on edges unlike them, and that costs more "
        "than points that look less alike.",
        options=("about 18, as before", "about 24", "all 30"),
        button="Run",
        then={"weight": 1.0},
    ),
    code="""from features.explain import lessons

for weight in (0, 1):  # of the edges
    print(weight, lessons.structure(weight).right)""",
    picture=show_structure,
    answer=repaired,
    outcome=lambda values: f"{lessons.structure(1.0).right} of {TOTAL}",
    talk=Talk(
        4,
        "Start with the orange lines: each point was asked alone. Ask what a wrong match does to the edges of "
        "its neighbours. Run, then move the weight slowly back to 0 and let the class say when the first line "
        "turns orange again.",
    ),
    sheet=Sheet(
        lambda values: figures.matching(lessons.structure(0.0)),
        "These matches come from what each point's surroundings look like, nothing else. Now we also ask neighbours to "
        "stay neighbours: edges count with weight 1.",
    ),
    recipe=lambda values: lessons.structure_recipe(values["weight"]),
    work=lambda values: lessons.structure(values["weight"]),
)
