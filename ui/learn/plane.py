"""ADMM with two points in the plane."""

import contextlib
from typing import Any

import streamlit as st

from features.explain import planar
from features.explain.planar import RHOS, SCENES, Moment, Point, Scene
from ui.learn import boards, figures, film
from ui.learn.chapter import Chapter, ChapterState, Question, Sheet, Talk, Values
from ui.shell import presenter

FIRST = "box"
COMPARED = (0.01, 1.0, 50.0)
NONE = "none of them"
NAMES = ("scene", "sets", "pen", "at")


def scene(values: Values) -> Scene:
    return SCENES.get(values["scene"], SCENES[FIRST])


def written(places: Any) -> str:
    """Two places and the start in a link: "4.2,3.9;7,3.4;10.5,5.8"."""
    return ";".join(f"{float(x):g},{float(y):g}" for x, y in places)


def as_places(values: Values) -> tuple[Point, Point, Point]:
    """Where both sets lie and where the points start; as the scene has it where a link makes no sense."""
    with contextlib.suppress(ValueError):
        found = [(float(x), float(y)) for x, y in (place.split(",") for place in values["sets"].split(";"))]
        if len(found) == 3 and all(0 <= x <= planar.WIDTH and 0 <= y <= planar.HEIGHT for x, y in found):
            return found[0], found[1], found[2]
    now = scene(values)
    return (*now.places, now.start)


def penalty(values: Values) -> float:
    """ρ from a link: one of the slider's."""
    with contextlib.suppress(ValueError):
        if float(values["pen"]) in RHOS:
            return float(values["pen"])
    return 1.0


def shown(values: Values) -> int:
    """The iteration from a link."""
    return int(values["at"]) if values["at"].isdecimal() and len(values["at"]) < 5 else 0


def walk(values: Values, rho: float) -> tuple[Moment, ...]:
    one, two, start = as_places(values)
    return planar.walk(scene(values).shapes, (one, two), start, rho)


def iterations(values: Values) -> dict[float, int | None]:
    """After how many iterations the points agree, with each of the penalties that are compared; None: they do not."""
    runs = {rho: walk(values, rho) for rho in COMPARED}
    return {rho: len(run) - 1 if planar.converged(run) else None for rho, run in runs.items()}


def fastest(values: Values) -> str:
    counted = {rho: count for rho, count in iterations(values).items() if count is not None}
    return f"{min(counted, key=lambda rho: counted[rho]):g}" if counted else NONE


def ends(values: Values) -> str:
    """Where runs end, and the lowest point that there is."""
    runs = {rho: walk(values, rho) for rho in (COMPARED[0], 0.1, *COMPARED[1:])}
    said = [
        f"ρ = {rho:g}: height **{run[-1].two[1]:.2f}** after {len(run) - 1:,} iterations"
        if planar.converged(run)
        else f"ρ = {rho:g}: no agreement within {planar.MOST:,} iterations"
        for rho, run in runs.items()
    ]
    one, two, _ = as_places(values)
    best = planar.lowest(scene(values).shapes, (one, two))
    lowest = (
        "The sets have no point in common." if best is None else f"The lowest common point has height {best[1]:.2f}."
    )
    return f"{'; '.join(said)}. {lowest}"


def explained(values: Values) -> str:
    """What the picture shows."""
    if scene(values).convex:
        return (
            "Purple arrows: the multiplier y adds up how far the points are apart, and pushes x₂ along y, x₁ the "
            "opposite way. Right: the residual, their squared distance plus how far both moved, squared. Between "
            "convex sets that meet, the points end at the lowest common point: this is proved."
        )
    return (
        "Two islands are **not convex**: x₂ goes to the nearer one, and points that agree on the wrong one stay there: "
        "they are stuck. The sets of ADGM are convex, but its cost is not: it can get stuck in the same way, and that "
        "it always converges is not proved."
    )


def outcome(values: Values) -> str:
    """The three runs in few words."""
    counted = iterations(values).items()
    return ", ".join(f"{count or f'more than {planar.MOST:,}'} iterations with {rho:g}" for rho, count in counted)


def why(values: Values) -> str:
    """What makes the others slow: where they are when the fastest has ended."""
    if fastest(values) == NONE:
        return f"The points do not agree within {planar.MOST:,} iterations with any of them."
    count = iterations(values)[float(fastest(values))] or 0
    said = [f"ρ = {fastest(values)} takes {count} iterations."]
    for rho, run in ((rho, walk(values, rho)) for rho in COMPARED):
        if len(run) - 1 > count:
            now, above = run[count], run[count].two[1] - run[-1].two[1]
            where = f"{now.gap**0.5:.2f} apart"
            if planar.converged(run) and above > 2 * now.gap**0.5:
                where += f" but still {above:.2f} above where they end: they crawl"
            said.append(f"With {rho:g} the points are then {where}.")
    return " ".join(said)


def board(values: Values) -> dict[str, Any]:
    """The picture in the browser."""
    return boards.plane_data(
        {
            "scene": values["scene"] if values["scene"] in SCENES else FIRST,
            "sets": [list(place) for place in as_places(values)],
            "rho": penalty(values),
            "at": shown(values),
        }
    )


def show_plane(state: ChapterState) -> None:
    def changed(sent: Any) -> None:
        with contextlib.suppress(TypeError, ValueError, KeyError):
            read = {
                "scene": str(sent["scene"]),
                "sets": written(sent["sets"]),
                "pen": f"{float(sent['rho']):g}",
                "at": str(int(sent["at"])),
            }
            plain = SCENES[read["scene"]]
            if as_places(read) == (*plain.places, plain.start):
                read["sets"] = ""
            for name, value in read.items():
                state.set(name, value)
            state.notes["heard"] = int(sent["number"]), read

    values = state.values
    number, read = state.notes.get("heard", (None, {}))
    heard = number if read == {name: values[name] for name in NAMES} else None  # else an address has brought the values
    locked = [name for name in NAMES if presenter.locked(name)]
    boards.plane("learn plane", board(values) | {"heard": heard, "locked": locked}, changed)
    with st.container(key="learn-aside"):
        st.caption(explained(values))


PLANE = Chapter(
    key="plane",
    title="ADMM in two dimensions",
    claim="ADMM gives each rule a point of its own; a multiplier and a penalty ρ make the points agree.",
    task="Wanted: the lowest point of both sets. x₁ stays in the disc, x₂ in the other set. Press Play, then change ρ, "
    "the sets and the start S. Try the two islands.",
    formula="[p1] ← nearest in set 1 to [p2] − «[y] + [down]¦[rho]»\n"
    "[p2] ← nearest in set 2 to [p1] + «[y]¦[rho]»\n[y] ← [y] + [rho] ([p1] − [p2])",
    source="equations (10), (11), (30) and (31) for two points",
    free={"scene": FIRST, "sets": "", "pen": "1", "at": "0"},
    reveals=ends,
    question=Question(
        "With which ρ do the points agree after the fewest iterations?",
        hint="Set ρ to each of the three and press Play: at which iteration does the residual reach the dashed line?",
        because="{why}",
        options=(*(f"{rho:g}" for rho in COMPARED), NONE),
        button="Run",
        depends=("scene", "sets"),
    ),
    code="""from features.explain.planar import SCENES, converged, walk

for key, scene in SCENES.items():
    runs = {rho: walk(scene.shapes, scene.places, scene.start, rho) for rho in (0.01, 0.1, 1.0, 50.0)}
    print(key, {rho: (len(run) - 1, converged(run), round(run[-1].two[1], 2)) for rho, run in runs.items()})""",
    picture=show_plane,
    board=board,
    film=lambda values: film.of_plane(scene(values), as_places(values), penalty(values), walk(values, penalty(values))),
    answer=fastest,
    outcome=outcome,
    numbers=lambda values: {"why": why(values)},
    talk=Talk(
        8,
        "Say what lowest means here: the cost is the height. Step four times and name what moves: x₁, x₂, "
        "then the arrow. Ask why the arrow grows (the points still disagree). Play with ρ = 1, then with the "
        "smallest and the largest ρ. End with the two islands: each point does the best it can, and still "
        "they agree on the wrong island. This is what stuck means.",
        short=3,
    ),
    sheet=Sheet(
        lambda values: figures.plane(scene(values), as_places(values), walk(values, penalty(values))),
        "The point x₁ must stay in the disc (1), x₂ in the other set (2, dashed), and lower is cheaper. The lines show "
        "where both points went with ρ = 1, from the start S to where they agree.",
        "With which of ρ = 0.01, 1 and 50 do the points agree after the fewest iterations? What makes the others slow?",
    ),
)
