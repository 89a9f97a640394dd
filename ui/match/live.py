"""A run while it goes on, and afterwards iteration by iteration: picture, curves, heat map, and the buttons."""

from collections.abc import Sequence
from contextlib import suppress
from math import isfinite
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from features.judge.metrics import WORD
from features.limits import LIMITS
from features.pairs import Pair, View
from features.points.graphs import GRAPHS
from ui.choice import address
from ui.choice.sidebar import Chosen
from ui.jobs.job import POOL, Frame, Snapshot
from ui.jobs.numpy_fallback import NumpyFallback
from ui.match import answers, lead, masking, timeline, toolbar
from ui.match.outcome import details, final_lines, line_kinds, neighbours
from ui.match.page_run import Run, curves_of
from ui.match.timeline import Stop
from ui.parts import canvas
from ui.parts.canvas import Line, Side, matrix
from ui.parts.charts.legible import draw
from ui.parts.charts.run import LEFT, RIGHT, TITLES, USUAL, blank, energy_chart, lanes_chart, penalty_chart, power
from ui.shell.session_slots import APART, CANVAS, GRAPH, KEPT, RUN, START, STORED, TO_DEBUG

TICK = 0.4  # seconds between two updates of the page
RESTING = LIMITS.patience / 4  # seconds between two signs of life of a page whose run is paused
STRONG = 0.1  # relaxed values from here on are drawn beside the current matching
MOST_LINES = 400
MOST_EDGES = 2000
SOON = 20  # seconds before its limit a run says so
CHART = 112  # pixels at least: the style sheet makes three of them as tall as the window allows
CHARTS = ("penalty chart", "energy chart")
PROMISES = (
    "How far the copies of the answer are from agreeing, and how hard they are pulled together.",
    "How badly the answer fits: the search lowers the cost, step by step.",
)

WORDS = {
    "waiting": "Waiting for its turn",
    "compiling": "Compiling",
    "building": "Building the problem",
    "running": "Running",
    "paused": "Paused",
    "converged": "Converged",
    "iteration limit": "Stopped at the iteration limit",
    "time limit": "Stopped at the time limit",
    "stopped": "Stopped",
    "abandoned": "Stopped: the page was closed",
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


def show(chosen: Chosen | None, run: Run | None, then: Snapshot, *, mode: canvas.Mode = "view") -> None:
    """The stage: buttons, picture and curves of the chosen pair or the run; it ticks while that, or its replay, does.

    Streamlit's page loses elements when a part that is drawn alone (a tick) has another number of elements than the
    last drawing of the whole page, and the two meet. So this part has a skeleton: it is called at the same place in
    every drawing of the page, also when there is nothing to show, and always fills the same slots, some with nothing.

    `then` is where the run was when the drawing of the page began. The ticking goes by that: a run that has ended
    since then is one that the rest of the page does not know to be over, and the page is drawn again.
    """
    every = rhythm(run, then)
    with st.container(key="live"):
        fragment = st.fragment(_show, run_every=every and POOL.unhurried(every))
        fragment(chosen, run, every, mode, (address.current(), canvas.revision(CANVAS)))


def rhythm(run: Run | None, snapshot: Snapshot) -> float | None:
    """Seconds between two updates: none where nothing moves, and signs of life while a run is paused."""
    if run is None:
        return None
    if timeline.playing() or snapshot.moving:
        return TICK
    return RESTING if snapshot.active else None


def _show(
    chosen: Chosen | None, run: Run | None, every: float | None, mode: canvas.Mode, seen: tuple[Any, Any]
) -> None:
    toolbar.perform()
    snapshot, frames = (run.job.snapshot(), run.job.frames()) if run is not None else (Snapshot("stopped"), ())
    stops = timeline.stops(run, snapshot, frames)
    labels = [stop.label for stop in stops]
    if run is not None:
        run.job.touch()
        if timeline.playing() and labels:
            timeline.play_on(labels)
    changed = seen != (address.current(), canvas.revision(CANVAS)) or mode != masking.mode(chosen)
    if START.get() or TO_DEBUG.get() or changed or every != rhythm(run, snapshot):
        st.rerun()  # the whole page, before anything is drawn: the choice changed, the ticking begins or ends
    above = st.container(key="lead")
    main, beside = st.columns([3, 1], gap="small")
    with main:
        picture, buttons, results = (st.container(key=name) for name in ("picture", "transport", "results"))
    with buttons:
        at = toolbar.show(chosen, run, snapshot, labels)
    stop = stops[at] if stops else None
    with above:
        lead.show(chosen, run, snapshot, stop)
    with results:
        answers.show(chosen, run, snapshot, stops, stop, status(run, snapshot))
    with picture:
        if run is not None and stop is not None:
            _picture(run, stop)
        elif chosen is not None:
            whole = canvas.Display(stage=True)
            canvas.show(CANVAS, *sides(chosen.pair), display=whole, mode=mode, regions=masking.regions(chosen))
        else:
            st.html("<i></i>")  # keeps the place
    with beside.container(key="curves", gap="xsmall"):
        _charts(run, snapshot, frames, stop if at < len(stops) - 1 else None)
        with st.container(key="matrix"):
            _matrix(chosen, run, snapshot, stops, stop)
    with st.container(key="terms"):
        final = run if stop is not None and stop.result else None
        details([st.empty() for _ in range(3)], final, canvas.picked(CANVAS))


def sides(pair: Pair) -> tuple[Side, Side]:
    """Both halves of the canvas, with the graph that is chosen for them."""
    graph = st.session_state.get(GRAPH, "none")
    return side(pair.left, "Left", graph), side(pair.right, "Right", graph)


def status(run: Run | None, snapshot: Snapshot) -> str:
    """How far a run is and how fast, in one line of numbers."""
    if run is None:
        return "No run yet"
    if snapshot.status == "failed":
        return f"Failed · run {run.number}"
    parts = [WORDS[snapshot.status], f"iteration {snapshot.iteration:,}"]
    if snapshot.status == "running" and isinstance(run.job.method, NumpyFallback) and not run.job.method.ready():
        parts.append("in NumPy while the solver compiles (once)")
    parts.append(f"{snapshot.elapsed:.2f} s")
    if snapshot.rate and snapshot.status == "running":
        parts.append(f"{snapshot.rate:,.0f} iterations/s")
    if snapshot.active and snapshot.remaining is not None and snapshot.remaining < SOON:
        parts.append(f"{snapshot.remaining:.0f} s of its time left")
    if snapshot.frame is not None and isfinite(snapshot.frame.residual):
        parts.append(f"residual {power(snapshot.frame.residual)}")
    if lanes := snapshot.lanes:
        going = sum(not lane.ended for lane in lanes.curves)
        parts.append(f"{len(lanes.curves)} runs, {going} going on" if snapshot.active else f"{len(lanes.curves)} runs")
        parts.append("proved optimal" if lanes.proved else f"{lanes.agreeing} agree on the best matching")
    return " · ".join([*parts, f"run {run.number}"])


# ---- the picture and the curves -----------------------------------------------------------------------------


def _picture(run: Run, stop: Stop) -> None:
    """An iteration of a run, or what was made of the last one."""
    left, right = sides(run.pair)
    if not stop.result:
        canvas.show(CANVAS, left, right, stop_lines(run, stop), canvas.Display(stage=True))
        return
    lines = final_lines(run)
    support, against = neighbours(run, lines, canvas.picked(CANVAS))
    sure = run.matching.confidence is not None
    display = canvas.Display(
        support=support,
        against=against,
        scale="confidence" if sure else f"share of the {WORD[run.sense]}",
        sift=sure,
        final=True,
        stage=True,
        over=between(run),
    )
    canvas.show(CANVAS, left, right, lines, display)


def between(run: Run) -> NDArray[np.float64] | None:
    """The map from left to right pixels, found by the matches or known; None where there is none, or depth."""
    checked = run.matching.verification
    if checked is not None and checked.map is not None and checked.map.kind != "fundamental":
        return checked.map.matrix
    return run.pair.homography


def stop_lines(run: Run, stop: Stop) -> list[Line]:
    """The matching at a stop; beside an iterate's what else is strong in it. Opacity = what the matrix shows."""
    layout, x, relaxed, matching = run.problem.layout, stop.x, stop.frame.x, stop.chosen
    strong = max(STRONG, 2 / max(run.problem.shape))  # at the start all of them are 1/n
    drawn = np.flatnonzero(matching | (x >= strong))
    drawn = drawn[np.argsort(x[drawn] + matching[drawn], kind="stable")][-MOST_LINES:]
    pairs = np.stack([layout.row[drawn], layout.col[drawn]], axis=1)
    lines = []
    for k, (i, j), kind in zip(drawn.tolist(), pairs.tolist(), line_kinds(run.pair, pairs), strict=True):
        chosen = bool(matching[k])
        text = f"left {i} → right {j}, relaxed value {relaxed[k]:.3f}" + ("" if chosen else ", not chosen")
        lines.append(Line(i, j, kind if chosen else "candidate", float(x[k]), text))
    return lines


def _charts(run: Run | None, snapshot: Snapshot, frames: tuple[Frame, ...], looked_at: Stop | None) -> None:
    """Residual and ρ, and the energy; `looked_at` is the earlier iteration that the slider is at."""
    if run is None or not frames:
        for key, title, text, usual in zip(CHARTS, TITLES, PROMISES, USUAL, strict=True):
            draw(blank(title, text, usual), height=CHART, key=key, alt=f"{title[0]}: {text}")
        return
    curves, cursor = curves_of(run, snapshot, frames), looked_at.frame.iteration if looked_at is not None else None
    kept = KEPT.get()
    earlier = kept.curves if kept is not None and kept.number != run.number else None
    comparable = earlier if kept is not None and kept.model == run.model else None
    if snapshot.lanes is not None:
        spec, told = lanes_chart(snapshot.lanes), "Residual of every run"
    elif "residual" in curves.history:
        apart = bool(st.session_state.get(APART))
        spec, told = penalty_chart(curves, earlier, cursor, apart=apart), "Residual and penalty over the iterations"
    else:
        spec, told = blank(TITLES[0], "This method has no residual to draw."), "No residual"
    draw(spec, height=CHART, key=CHARTS[0], alt=told)
    draw(
        energy_chart(curves, comparable, run.truth_energy, cursor),
        height=CHART,
        key=CHARTS[1],
        alt=f"{WORD[run.sense]} of the relaxed and the rounded assignment over the iterations".capitalize(),
    )


def _matrix(
    chosen: Chosen | None, run: Run | None, snapshot: Snapshot, stops: Sequence[Stop], stop: Stop | None
) -> None:
    """The assignment at the stop; where nothing moves the browser gets the stored iterations, too."""
    if run is None or stop is None:
        shape = chosen.pair.shape if chosen is not None else (0, 0)
        matrix.show(CANVAS, np.zeros(shape), "assignment matrix", truth=chosen.pair.partners if chosen else None)
        return
    still = not snapshot.moving and not timeline.playing() and snapshot.lanes is None
    last = max(10, int(snapshot.history["iteration"][-1]) if snapshot.history else 0)
    name = f"iteration {stop.label}" if stop.label.isdigit() else stop.label
    matrix.show(
        CANVAS,
        run.problem.matrix(stop.x),
        f"assignment matrix, {name}",
        truth=run.pair.partners,
        stored=_stored(run, stops) if still else b"",
        curves=matrix.CurvesBeside(tuple(key.replace(" ", "-") for key in CHARTS), LEFT, RIGHT, last),
        on_jump=_jump,
    )


def _stored(run: Run, stops: Sequence[Stop]) -> bytes:
    """The stored iterations as the browser reads them; made once as long as no other comes."""
    found = [stop for stop in stops if stop.relaxed]
    key = (run.number, len(found), found[-1].frame.iteration)
    kept = STORED.get()
    if kept is None or kept[0] != key:
        made = [matrix.Stored(s.frame.iteration, run.problem.matrix(s.x), stop_lines(run, s)) for s in found]
        kept = key, matrix.packed(made)
        STORED.set(kept)
    return kept[1]


def _jump(iteration: int) -> None:
    """The stored iteration nearest to a place on a curve that was clicked."""
    run = RUN.get()
    if run is None:
        return
    found = [stop for stop in timeline.stops(run, run.job.snapshot(), run.job.frames()) if stop.relaxed]
    if found:
        timeline.rewind(min(found, key=lambda stop: abs(stop.frame.iteration - iteration)).label)
