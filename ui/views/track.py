"""The panel below the images: what was found, the track or pair that is picked, and what can be done with it."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import NamedTuple

import numpy as np
import streamlit as st

from adgm.views import Forced, cycle_errors
from features.views import Step, Views
from ui.choice import address, uploads
from ui.debug import links
from ui.jobs.task import Progress
from ui.parts import press
from ui.parts.canvas.views import Couple, Point
from ui.parts.escape import literal
from ui.shell.pages import page
from ui.shell.session_slots import (
    OWN_PAIR,
    START,
    VIEWS_FORCE,
    VIEWS_PICKED,
    VIEWS_RUN,
    VIEWS_TO_DEBUG,
    VIEWS_TO_MATCH,
    begin,
)
from ui.views.choice import Chosen
from ui.views.run import Picked, Reached, ViewsShown

MOST_TOLD = 60  # matches of a track in the list
EXPLAINED = (
    ("1. Pairs", "Every two views are matched alone. Each match may be right, and yet three of them contradict."),
    ("2. Closing", "Go from A to B, to C and back to A: an orange point does not come back to itself."),
    (
        "3. Tracks",
        "One view at a time is matched against the tracks of all others, until the total cost falls no more.",
    ),
)
CLICK = ("Then", "click a point: its track lights up in every view. Click a pair in the table to see its lines.")


class Match(NamedTuple):
    """A match of two views on a track, and what is said about it."""

    i: int
    p: int
    j: int
    q: int
    words: str


def show(
    chosen: Chosen | None, run: ViewsShown | None, progress: Progress, reached: Reached | None, step: Step | None
) -> None:
    """Explainers before a run; then figures, and what is picked."""
    views = run.ended if run is not None and not progress.active else None
    left, right = st.columns([4, 5], gap="small")
    with left.container(key="views-figures"):
        st.html(explained(EXPLAINED[:2]) if reached is None else figures(reached, views))
    with right.container(key="views-picked"):
        if reached is None:
            st.html(explained((EXPLAINED[2], CLICK)))
        else:
            picked(run, views, step)


def explained(lines: Sequence[tuple[str, str]]) -> str:
    told = "".join(f"<p><b>{escape(head)}</b> {escape(text)}</p>" for head, text in lines)
    return f'<div class="views-told">{told}</div>'


def figures(reached: Reached, views: Views | None) -> str:
    """The pairs alone beside the tracks."""
    alone = {couple: found.matching for couple, found in reached.pairs.items()}
    sizes = reached.view_set.sizes
    rows = [
        row(
            "Pairs alone",
            reached.view_set.judge(alone),
            closing(sizes, alone),
            sum(f.energy for f in reached.pairs.values()),
        )
    ]
    if views is not None and views.consistent:
        rows.append(row("Tracks", views.judged, closing(sizes, views.matchings), views.energy))
    heads = "".join(f"<th>{head}</th>" for head in ("", "found", "of them right", "ways that close", "energy"))
    note = "Tracks must agree in all views, so their energy can be higher than the sum of pairs that need not."
    return f'<div class="views-told"><table><tr>{heads}</tr>{"".join(rows)}</table><p>{note}</p></div>'


def closing(sizes: Sequence[int], matchings: dict[Couple, np.ndarray]) -> float | None:
    """The share of ways over third views that lead where the pair itself leads; None where there is no such way."""
    errors = cycle_errors(sizes, matchings)
    return None if np.isnan(errors).all() else float(1 - np.nanmean(errors))


def row(name: str, judged: tuple[float | None, float | None], closes: float | None, energy: float) -> str:
    cells = [share(judged[0]), share(judged[1]), share(closes), f"{energy:.6g}".replace("-", "−")]
    return f"<tr><th>{escape(name)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def share(value: float | None) -> str:
    """A share in per cent; never 100 where a little is missing, nor 0 where a little is there."""
    if value is None:
        return "–"
    told = round(100 * value)
    if 0 < value < 1:
        told = min(max(told, 1), 99)
    return f"{told} %"


# ---- what is picked ---------------------------------------------------------------------------------------------


def picked(run: ViewsShown | None, views: Views | None, step: Step | None) -> None:
    """The track of a point, or a pair of views, with the buttons for it."""
    now = VIEWS_PICKED.get() or Picked()
    if views is None or run is None:
        st.caption(
            "Click a point: its partners in the other views light up. Click a pair in the table to see its lines."
        )
        return
    if run.forced:
        undo(run)
    if now.couple is not None:
        of_couple(views, now.couple)
    elif now.point is not None and now.point[0] < len(views.view_set):
        of_point(run, views, now)
    else:
        st.caption("Click a point to follow its track, or a pair in the table to see its lines.")


def undo(run: ViewsShown) -> None:
    """What was forced by hand, and the way back."""
    together = sum(one.together for one in run.forced)
    told = " and ".join(
        f"{count} match{'es' if count > 1 else ''} {what}"
        for count, what in ((together, "set"), (len(run.forced) - together, "forbidden"))
        if count
    )
    with st.container(horizontal=True, vertical_alignment="center", key="views-forced"):
        st.markdown(f"**By hand:** {told}.", width="content")
        press.button(
            "Undo the last one", "views undo", lambda: VIEWS_FORCE.set(run.forced[:-1]), icon=":material/undo:"
        )


def of_couple(views: Views, couple: Couple) -> None:
    i, j = couple
    names = views.view_set.names
    st.markdown(f"**Views {i + 1} and {j + 1}** ({literal(names[i])}, {literal(names[j])})")
    open_buttons(views, couple)


def of_point(run: ViewsShown, views: Views, now: Picked) -> None:
    """The track of a point: what every pair of views says about it, what speaks most against it first."""
    assert now.point is not None
    view, point = now.point
    if point >= views.view_set.sizes[view]:
        return
    if not views.consistent:
        st.markdown(f"**View {view + 1}, point {point}.** Pairs alone have no tracks; its partners are shown above.")
        return
    track = int(views.tracks[view][point])
    sure, length = float(views.confidence[track]), int(views.lengths[track])
    told = f"**Track {track}** passes through {length} of {len(views.view_set)} views."
    if np.isfinite(sure):
        told += f" {share(sure)} of its pairs were matched alone, too."
    st.markdown(told)
    matches = evidence(views, track)
    with st.container(horizontal=True, vertical_alignment="bottom", key="views-doing"):
        if matches:
            names = [one.words for one in matches]
            key = f"views match {run.number} {track}"
            found = st.selectbox(
                "Its matches, the least fitting first", names, index=names.index(begin(key, names[0])), key=key
            )
            match = matches[names.index(found)]
            forbid = Forced(match.i, match.p, match.j, match.q, together=False)
            press.button(
                "Forbid it",
                f"views forbid {track}",
                lambda: VIEWS_FORCE.set((*run.forced, forbid)),
                icon=":material/link_off:",
            )
        if now.joining:
            press.button("Cancel", "views cancel", lambda: VIEWS_PICKED.set(replace(now, joining=False)))
        else:
            joining = replace(now, joining=True)
            press.button("Set a partner", "views join", lambda: VIEWS_PICKED.set(joining), icon=":material/add_link:")
    if now.joining:
        st.caption("Click its partner in another view: the two must then be on one track.")
    elif matches:
        open_buttons(views, (match.i, match.j))


def evidence(views: Views, track: int) -> list[Match]:
    """The matches of a track in words."""
    found = []
    for one in views.evidence(track)[:MOST_TOLD]:
        right = {True: ", right", False: ", wrong", None: ""}[one.right]
        alone = "the pair alone agrees" if one.alone else "the pair alone disagrees"
        words = f"view {one.i + 1} point {one.p} – view {one.j + 1} point {one.q}: cost {one.cost:+.3g}, {alone}{right}"
        found.append(Match(one.i, one.p, one.j, one.q, words))
    return found


def open_buttons(views: Views, couple: Couple) -> None:
    """The pair on Match and on Debug, with the problem that was solved here; only pairs that were compared have one."""
    i, j = couple
    compared = couple in views.problem.problems
    with st.container(horizontal=True, key="views-open"):
        label = f"Views {i + 1} and {j + 1} on Match"
        press.button(
            label,
            f"views match {i} {j}",
            lambda: VIEWS_TO_MATCH.set(couple),
            icon=":material/share:",
            disabled=not compared,
        )
        press.button(
            "On Debug",
            f"views debug {i} {j}",
            lambda: VIEWS_TO_DEBUG.set(couple),
            icon=":material/bug_report:",
            disabled=not compared,
        )
    if not compared:
        st.caption("This pair was not compared: its matches follow from the others.")


# ---- other pages ------------------------------------------------------------------------------------------------


def open_if_asked() -> None:
    """Turn to Match or Debug with a pair of views."""
    run = VIEWS_RUN.get()
    match, debug = VIEWS_TO_MATCH.pop(), VIEWS_TO_DEBUG.pop()
    views = run.ended if run is not None and (match or debug) else None
    if views is None:
        return
    if match is not None:
        OWN_PAIR.set(views.pair(*match))
        address.use(replace(views.pair_recipe, **uploads.OF_ITS_OWN))
        START.set(True)
        st.switch_page(page("match"))
    if debug is not None:
        point = (VIEWS_PICKED.get() or Picked()).point
        links.debug(views.opened(*debug), focus_of(views, debug, point))


def focus_of(views: Views, couple: Couple, point: Point | None) -> tuple[int, int] | None:
    """The match of the picked point between two views, if it has one there."""
    if point is None or point[0] not in couple or not views.consistent:
        return None
    i, j = couple
    other = views.matching(*((i, j) if point[0] == i else (j, i)))[point[1]]
    return None if other < 0 else (point[1], int(other)) if point[0] == i else (int(other), point[1])
