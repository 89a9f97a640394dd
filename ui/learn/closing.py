"""A → B → C → A: three views, and whether the way over all of them leads back."""

from typing import Any

import numpy as np
import streamlit as st

from features.explain.three_views import POINTS, ThreeViews, three_views
from ui.learn import figures
from ui.learn.chapter import Chapter, ChapterState, Control, Question, Sheet, Talk, Values
from ui.parts.canvas import views as canvas
from ui.views.run import Picked
from ui.views.shown import of_pairs, of_tracks

ALONE, TRACKS = "each pair alone", "tracks"
PICKED = "learn closing point"


def found(values: Values) -> ThreeViews:
    return three_views(values["noise"])


def compared(values: Values) -> str:
    """What the tracks cost beside the pairs alone."""
    now = found(values)
    if abs(now.cost - now.alone_cost) <= 1e-9 * max(now.cost, 1.0):
        return "the same"
    return "more" if now.cost > now.alone_cost else "less"


def told(values: Values) -> str:
    now, every = found(values), 3 * POINTS
    if values["shown"] == TRACKS:
        return f"Tracks: **{now.right} of {every}** matches right, all ways close, cost {now.cost:.0f}."
    ways = f"{now.closing} of {POINTS} ways A → B → C → A close"
    return f"Pairs alone: **{now.right_alone} of {every}** matches right, {ways}, cost {now.alone_cost:.0f}."


def counted(values: Values) -> dict[str, Any]:
    """The numbers behind the answer."""
    now = found(values)
    gain = "Here the pairs agree already."
    if now.right > now.right_alone:
        gain = f"It pays: {now.right} of {3 * POINTS} matches are right, not {now.right_alone}."
    elif now.closing < POINTS:
        gain = f"Now all ways close, and {now.right} of {3 * POINTS} matches are right."
    return {"tracks": f"{now.cost:.0f}", "alone": f"{now.alone_cost:.0f}", "gain": gain}


def show_closing(state: ChapterState) -> None:
    now, point = found(state.values), st.session_state.get(PICKED) or astray(found(state.values))
    if state.values["shown"] == TRACKS:
        over = of_tracks(now.view_set, now.tracks, now.alone, Picked(point))
    else:
        over = of_pairs(now.view_set, now.alone, Picked(point))
    canvas.show("learn closing", now.view_set, over, pick)


def astray(now: ThreeViews) -> canvas.Point:
    """A point of A whose way does not lead back, if there is one."""
    ways = of_pairs(now.view_set, now.alone, Picked()).marks.numbers[0]
    return 0, int(np.argmax(ways == 2))


def pick(point: canvas.Point | None) -> None:
    st.session_state[PICKED] = point


def paper(values: Values) -> str:
    """The three views with the matches of the pairs alone."""
    now, corners = found(values), ((20, 150), (245, 20), (470, 150))
    places = []
    for view, corner in zip(now.view_set.views, corners, strict=True):
        xy = view.points.xy - view.points.xy.min(axis=0)
        places.append(145 * xy / max(float(xy.max()), 1e-9) + corner)
    parts = [
        figures.line(places[i][p], places[j][q], dashes="" if p == q else "6 4")
        for (i, j), partner in now.alone.items()
        for p, q in enumerate(partner.tolist())
    ]
    parts += [figures.dot(at) for side in places for at in side]
    parts += [figures.text((x + 70, y - 12), name) for name, (x, y) in zip(now.view_set.names, corners, strict=True)]
    told = f"{now.right_alone} of {3 * POINTS} matches are right, wrong ones are dashed."
    return f"<figure>{figures.svg(640, 310, parts, told)}<figcaption>{told}</figcaption></figure>"


CLOSING = Chapter(
    key="closing",
    title="A → B → C → A",
    claim="With three views every pair may look well matched, and yet the way over all three need not lead back.",
    task="Three views of six points. An orange point of the pairs alone does not come back to itself. Click a point to "
    "see where its partners lead.",
    formula="A → B → C = A → C, at least cost of all [m]",
    source="not in the paper; every step of it is an ordinary problem of the paper's",
    controls=(
        Control("noise", "Noise", (0.0, 2.0, 4.0, 6.0, 8.0), 6.0, text=lambda v: f"{v:g} px"),
        Control("shown", "Shown", (ALONE, TRACKS), ALONE, kind="words", later=True),
    ),
    says=told,
    question=Question(
        "Now all three matchings must agree. What do they cost together, beside the three best ones alone?",
        hint="Each pair alone has the cheapest matching that there is. Can three others that must agree be cheaper?",
        because="{answer}: {tracks} beside {alone}, as every pair alone is as cheap as it can be. {gain}",
        options=("less", "the same", "more"),
        button="Run",
        depends=("noise",),
        then={"shown": TRACKS},
    ),
    code="""from features.explain.three_views import three_views

found = three_views(noise=6.0)
print(found.right_alone, found.closing, found.right, found.cost > found.alone_cost)""",
    picture=show_closing,
    answer=compared,
    numbers=counted,
    talk=Talk(
        4,
        "Follow an orange point from A to B, to C and back. Ask which of the three matches is wrong: the pairs alone "
        "cannot say. Let the class guess the cost, run, and show the tracks. Then open the page Views.",
    ),
    sheet=Sheet(
        paper,
        "Three views of six points, each pair matched alone. Follow each point of A to B, to C and back to A.",
        "Which points come back to themselves? Then guess: if all three matchings must agree, do they cost less, the "
        "same, or more together than the three best ones alone?",
    ),
    work=told,
)
