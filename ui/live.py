"""A run while it goes on, and afterwards iteration by iteration: picture, curves, heat map, and the buttons."""

from collections.abc import Sequence
from contextlib import suppress
from math import isfinite
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from adgm import METHODS
from features.graphs import GRAPHS
from features.models import MODELS
from features.pairs import Pair, View
from ui import canvas, toolbar, url_state
from ui.canvas import Line, Side
from ui.charts.run import energy_chart, heat_map, lanes_chart, penalty_chart
from ui.jobs.job import Frame, Snapshot
from ui.outcome import VERDICT_ICONS, details, final_lines, line_kinds, neighbours
from ui.page_run import Run, curves_of
from ui.sidebar import CANVAS, Chosen
from ui.state import EDIT, GRAPH, KEPT, REPLAY, SLIDER, START
from ui.words import literal

TICK = 0.4  # seconds between two updates of the page
STRONG = 0.1  # relaxed values from here on are drawn beside the current matching
MOST_LINES = 400
REPLAY_TICKS = 16  # updates of the page that a replay takes
RESULT = "result"  # the last stop of the slider through the iterations
MOST_EDGES = 2000
SOON = 20  # seconds before its limit a run says so
CHART = 168  # pixels: three of them beside the picture
PROMISES = (
    "Residual and penalty ρ are drawn here while it runs: how far the blocks are from agreeing, and how hard they are "
    "pulled together.",
    "The energy of the relaxed and of the rounded matching: lower is better.",
    "The assignment: left points downwards, right points to the right.",
)

WORDS = {
    "waiting": "Waiting for its turn",
    "building": "Building the problem",
    "running": "Running",
    "paused": "Paused",
    "converged": "Converged",
    "iteration limit": "Stopped at the iteration limit",
    "time limit": "Stopped at the time limit",
    "stopped": "Stopped",
    "abandoned": "Ended: nobody was watching",
    "failed": "Failed",
}


def side(view: View, label: str, graph: str) -> Side:
    """A view with its points, and the chosen graph over them."""
    key, edges = toolbar.OVERLAYS.get(graph), None
    if key is not None and len(view.points) > 1:
        with suppress(ValueError):  # too many to be listed: then none are drawn
            edges = GRAPHS[key].build(view.points.xy).edges[:MOST_EDGES]
    names = view.points.labels or ()
    return Side(view.points.xy, view.image, edges, label, names)


def show(chosen: Chosen | None, run: Run | None, *, active: bool, editing: bool = False) -> None:
    """The stage: buttons, picture and curves of the chosen pair or the run; it ticks while that, or its replay, does.

    Streamlit's page loses elements when a part that is drawn alone (a tick) has another number of elements than the
    last drawing of the whole page, and the two meet. So this part has a skeleton: it is called at the same place in
    every drawing of the page, also when there is nothing to show, and always fills the same slots, some with nothing.
    """
    ticking = run is not None and (active or playing())
    with st.container(key="live"):
        fragment = st.fragment(_show, run_every=TICK if ticking else None)
        fragment(chosen, run, ticking, editing, (url_state.current(), canvas.revision(CANVAS)))


def _show(chosen: Chosen | None, run: Run | None, ticking: bool, editing: bool, seen: tuple[Any, Any]) -> None:
    snapshot, frames = (run.job.snapshot(), run.job.frames()) if run is not None else (Snapshot("stopped"), ())
    if run is not None:
        run.job.touch()
        if playing() and not snapshot.active:
            _play_on(stops(frames))
    changed = seen != (url_state.current(), canvas.revision(CANVAS)) or editing != bool(st.session_state.get(EDIT))
    goes_on = run is not None and (snapshot.active or playing())
    if START.get() or changed or ticking != goes_on:
        st.rerun()  # the whole page, before anything is drawn: the choice changed, the ticking begins or ends
    toolbar.show(chosen, run, snapshot)
    told, scrubber = st.columns([3, 2], vertical_alignment="center")
    with told.container(gap=None, key="told"):
        _status(st.empty(), st.empty(), chosen, run, snapshot)
    with scrubber:
        frame, cursor = _scrub(frames, run is None or snapshot.active)
    final = run is not None and frame is not None and not snapshot.active and cursor is None
    picture, curves = st.columns([21, 10], gap="small")
    with picture:
        place = st.container(key="picture")
        which = _filter(run if final else None)
        with place:
            if run is not None and frame is not None:
                _picture(run, frame, which if final else None)
            elif chosen is not None:
                canvas.show(CANVAS, *sides(chosen.pair), mode="edit" if editing else "view")
        details([st.empty() for _ in range(3)], run if final else None, canvas.picked(CANVAS))
    with curves.container(key="curves", gap="xsmall"):
        _charts([st.empty() for _ in range(3)], run, snapshot, frames, frame, cursor)


def sides(pair: Pair) -> tuple[Side, Side]:
    """Both halves of the canvas, with the graph that is chosen for them."""
    graph = st.session_state.get(GRAPH, "none")
    return side(pair.left, "Left", graph), side(pair.right, "Right", graph)


def _status(
    about: DeltaGenerator, slot: DeltaGenerator, chosen: Chosen | None, run: Run | None, snapshot: Snapshot
) -> None:
    """What is matched by what; what it is doing, how far and how fast; what came of it."""
    if run is not None or chosen is not None:
        about.caption(summary(chosen if run is None else run.chosen))
    if run is None:
        slot.markdown("" if chosen is None else "No matching yet: press **Start**.")
        return
    if snapshot.status == "failed":
        slot.error(f"The run failed: {snapshot.error}")
        return
    parts = [f"**{WORDS[snapshot.status]}**"]
    if snapshot.status == "waiting" and snapshot.position:
        parts.append(turn(snapshot))
    parts.append(f"iteration {snapshot.iteration:,}")
    parts.append(f"{snapshot.elapsed:.2f} s")
    if snapshot.rate and snapshot.status == "running":
        parts.append(f"{snapshot.rate:,.0f} iterations/s")
    if snapshot.active and snapshot.remaining is not None and snapshot.remaining < SOON:
        parts.append(f"{snapshot.remaining:.0f} s of its time left")
    if snapshot.frame is not None and isfinite(snapshot.frame.residual):
        parts.append(f"residual {snapshot.frame.residual:.2e}")
    if lanes := snapshot.lanes:
        running = sum(not lane.ended for lane in lanes.curves)
        parts.append(
            f"{len(lanes.curves)} runs, {running} going on" if snapshot.active else f"{len(lanes.curves)} runs"
        )
        parts.append(f"{lanes.agreeing} agree on the best matching")
    if not snapshot.active and snapshot.best is not None and (verdict := run.matching.metrics.verdict):
        parts.append(f"{VERDICT_ICONS[verdict]} {verdict}")
    parts.append(f"run {run.number}")
    slot.markdown(" · ".join(parts))


def turn(snapshot: Snapshot) -> str:
    """Where a run stands in the queue, and how long that takes."""
    return f"number {snapshot.position} in the queue of this server, about {max(1, round(snapshot.delay))} s"


def summary(chosen: Chosen | None) -> str:
    """The pair, its size, the model and the method."""
    if chosen is None:
        return ""
    recipe = chosen.recipe
    names = (MODELS[recipe.model].label, METHODS[recipe.method].label)
    n1, n2 = chosen.pair.shape
    return f"{literal(chosen.pair.name)} · {n1} × {n2} points · {' · '.join(names)}"


# ---- back and forth through the stored iterations -----------------------------------------------------------


def stops(frames: Sequence[Frame]) -> list[str]:
    """The stops of the slider: the stored iterations, and the result."""
    return [*(str(frame.iteration) for frame in frames[:-1]), RESULT]


def playing() -> bool:
    return REPLAY.get() is not None


def rewind(stop: str = RESULT) -> None:
    """End a replay, or show another run: a new slider, at the result or at a stop of its own.

    A tick under way still carries what the browser knew before; a slider with another name does not listen to it.
    """
    REPLAY.pop()
    SLIDER.set((SLIDER.get() or 0) + 1)
    st.session_state[_slider()] = stop


def _slider() -> str:
    return f"frame {SLIDER.get() or 0}"


def _play(labels: Sequence[str]) -> None:
    now = st.session_state.get(_slider(), RESULT)
    REPLAY.set(0 if now == RESULT or now not in labels else labels.index(now))


def _play_on(labels: Sequence[str]) -> None:
    """One tick of the replay further; it ends at the result."""
    at = (REPLAY.get() or 0) + max(1, round(len(labels) / REPLAY_TICKS))
    if at < len(labels) - 1:
        REPLAY.set(at)
    else:
        rewind()


def _scrub(frames: Sequence[Frame], busy: bool) -> tuple[Frame | None, int | None]:
    """The iteration the user looks at; None for the result, and while the run goes on for the latest."""
    labels = stops(frames)
    with st.container(horizontal=True, vertical_alignment="center", key="scrub"):
        button, slider = st.empty(), st.empty()
    if busy or len(frames) < 2:
        return (frames[-1] if frames else None), None
    if playing():
        at = REPLAY.get() or 0
        button.button("Hold", icon=":material/pause:", key="hold", on_click=rewind, args=(labels[at],))
        slider.progress((at + 1) / len(labels), f"Iteration {labels[at]}", width="stretch")
    else:
        button.button(
            "Play",
            icon=":material/replay:",
            key="play",
            on_click=_play,
            args=(labels,),
            help="Watch the stored iterations again",
        )
        chosen = slider.select_slider(
            "Iteration",
            labels,
            value=RESULT,
            key=_slider(),
            width="stretch",
            label_visibility="collapsed",
            help="Go back through the stored iterations; the picture and the curves follow.",
        )
        at = labels.index(str(chosen))
    return frames[at], None if at == len(frames) - 1 else frames[at].iteration


# ---- the picture and the curves -----------------------------------------------------------------------------


def _picture(run: Run, frame: Frame, which: tuple[str, int] | None) -> None:
    """A run's iteration; its result, filtered, where `which` tells how."""
    left, right = sides(run.pair)
    if which is None:
        canvas.show(CANVAS, left, right, relaxed_lines(run, frame))
        return
    lines = final_lines(run, *which)
    support, against = neighbours(run, lines, canvas.picked(CANVAS))
    sure = run.matching.confidence is not None
    canvas.show(
        CANVAS,
        left,
        right,
        lines,
        supporters=support,
        contradictors=against,
        scale="confidence" if sure else "relaxed value",
        sift=sure,
        final=True,
    )


def _filter(run: Run | None) -> tuple[str, int]:
    """Which matches of a finished run to draw, and how many of the best."""
    with st.container(horizontal=True, vertical_alignment="center", key="filter"):
        which, many = st.empty(), st.empty()
    if run is None:
        return "all", 0
    offered = ["all", "wrong", "missed too", "best"] if run.pair.judged else ["all", "best"]
    chosen = which.segmented_control(
        "Matches",
        offered,
        default="all",
        key=f"which of {len(offered)}",
        required=True,
        label_visibility="collapsed",
        help="Which matches are drawn",
    )
    most = len(run.matching.pairs)
    if chosen != "best" or most < 2:
        return chosen or "all", most
    count = many.number_input(
        "How many", 1, most, min(10, most), key="best of all", width=130, label_visibility="collapsed"
    )
    return chosen, int(count)


def relaxed_lines(run: Run, frame: Frame) -> list[Line]:
    """The matching of an iteration and whatever else is strong in it, as lines; opacity = relaxed value."""
    layout, x = run.problem.layout, frame.x
    strong = max(STRONG, 2 / max(run.problem.shape))  # at the start all of them are 1/n
    drawn = np.flatnonzero(frame.assignment | (x >= strong))
    drawn = drawn[np.argsort(x[drawn], kind="stable")][-MOST_LINES:]
    pairs = np.stack([layout.row[drawn], layout.col[drawn]], axis=1)
    lines = []
    for k, (i, j), kind in zip(drawn.tolist(), pairs.tolist(), line_kinds(run.pair, pairs), strict=True):
        text = f"left {i} → right {j}, relaxed value {x[k]:.3f}" + ("" if frame.assignment[k] else ", not chosen")
        lines.append(Line(i, j, kind, float(x[k]), text))
    return lines


def _charts(
    slots: Sequence[DeltaGenerator],
    run: Run | None,
    snapshot: Snapshot,
    frames: tuple[Frame, ...],
    frame: Frame | None,
    cursor: int | None,
) -> None:
    if run is None or frame is None:
        for slot, text in zip(slots, PROMISES, strict=True):
            slot.caption(text)
        return
    curves = curves_of(snapshot, frames)
    kept = KEPT.get()
    earlier = kept.curves if kept is not None and kept.number != run.number else None
    penalty, energy, matrix = slots
    if snapshot.lanes is not None:
        penalty.echarts_chart(lanes_chart(snapshot.lanes), height=CHART, key="lanes chart", alt="Residual of every run")
    elif "residual" in curves.history:
        penalty.echarts_chart(
            penalty_chart(curves, earlier, cursor),
            height=CHART,
            key="penalty chart",
            alt="Residual and penalty over the iterations",
        )
    else:
        penalty.caption("This method has no residual to draw.")
    energy.echarts_chart(
        energy_chart(curves, earlier, run.truth_energy, cursor),
        height=CHART,
        key="energy chart",
        alt="Relaxed and rounded energy over the iterations",
    )
    dark = st.context.theme.type == "dark"
    matrix.echarts_chart(
        heat_map(run.problem.matrix(frame.x), run.pair.partners, dark),
        height=CHART,
        key="heat map",
        alt="The relaxed assignment as a matrix",
    )
