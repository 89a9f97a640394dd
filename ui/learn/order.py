"""Higher order."""

import streamlit as st

from features.explain import lessons
from ui.learn import boards, figures, pictures
from ui.learn.chapter import Chapter, ChapterState, Control, Question, Sheet, Talk, Values

MODEL = {"distances": "B", "angles": "third"}
COPY = (60.0, 1.6)  # the turn and the scale that are asked about


def right(costs: str, turn: float, scale: float) -> int:
    return lessons.turned(MODEL[costs], turn, scale).right


def survivors(values: Values) -> str:
    alive = [costs for costs in MODEL if right(costs, *COPY) >= 9]
    return "both" if len(alive) == 2 else alive[0] if alive else "neither"


def told(values: Values) -> str:
    both = [f"{costs} **{right(costs, values['turn'], values['scale'])} of 10**" for costs in MODEL]
    return f"Right matches: {', '.join(both)}"


# Who is tied to whom among three blocks.
STAR = {"title": "ADGM1, star: all tied to x₁", "ties": [[0, 1], [0, 2]], "places": [[85, 18], [40, 46], [130, 46]]}
CHAIN = {"title": "ADGM2, chain: each to the next", "ties": [[0, 1], [1, 2]], "places": [[25, 32], [85, 32], [145, 32]]}


def show_order(state: ChapterState) -> None:
    values = state.values
    found = lessons.turned(MODEL[values["costs"]], values["turn"], values["scale"])
    pictures.matching("learn order", found, 275)
    if values["costs"] == "angles":
        boards.ties("learn ties", [STAR, CHAIN])
    else:
        st.caption("Distances are costs of order two: two blocks, x₁ and x₂, tied to each other.")


ORDER = Chapter(
    key="order",
    title="Higher order",
    claim="Distances change when a view is enlarged; the angles of triangles do not, but need three matches at once.",
    task="The right view is a slightly disturbed copy of the left. It will be turned by 60° and enlarged 1.6 times. "
    "Predict, then run.",
    formula="[F2] = −exp(−([d1] − [d2])^{2} / [sigma])\n[F3] = −exp(−‖[f1] − [f2]‖^{2} / [gamma])",
    source="section 4.1: model B, and the third-order model",
    controls=(
        Control("costs", "Costs compare", tuple(MODEL), "distances", kind="words"),
        Control("turn", "Turn", (0.0, 30.0, 60.0, 90.0, 180.0), 0.0, later=True, beside=True, text=lambda v: f"{v:g}°"),
        Control(
            "scale",
            "Scale",
            (0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 2.0),
            1.0,
            later=True,
            beside=True,
            text=lambda v: f"× {v:g}",
        ),
    ),
    says=told,
    question=Question(
        "Turned and enlarged: which costs still find the matching?",
        hint="Switch between distances and angles above, and count the green lines. What does scale do to a distance?",
        because="{answer}. Angles survive turning and scaling. Three matches per cost need three blocks, tied as a "
        "star or as a chain.",
        options=("distances", "angles", "both", "neither"),
        button="Run",
        then={"turn": 60.0, "scale": 1.6},
    ),
    code="""from features.explain import lessons

for model in ("B", "third"):  # distances, angles
    print(model, lessons.turned(model, rotation=60.0, scale=1.6).right)""",
    picture=show_order,
    answer=survivors,
    outcome=lambda values: ", ".join(f"{costs} {right(costs, *COPY)} of 10" for costs in MODEL),
    talk=Talk(
        5,
        "Ask what enlarging does to a length, and to an angle. Run, switch between distances and angles, then "
        "turn without enlarging: distances survive that. Say what an angle costs: three matches in one term, "
        "so three blocks.",
    ),
    sheet=Sheet(
        lambda values: figures.matching(lessons.turned(MODEL[values["costs"]], values["turn"], values["scale"])),
        "The right points are a slightly disturbed copy of the left ones, matched by distances. Now the copy is "
        "turned by 60° and enlarged 1.6 times.",
    ),
    recipe=lambda values: lessons.turned_recipe(MODEL[values["costs"]], values["turn"], values["scale"]),
    work=told,
)
