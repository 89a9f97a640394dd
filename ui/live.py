"""A run while it goes on, and afterwards iteration by iteration: picture, curves, heat map, and the buttons."""

from collections.abc import Sequence
from math import isfinite

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from adgm import METHODS, Problem
from features.graphs import GRAPHS
from features.pairs import Pair, View
from ui import canvas
from ui.canvas import Line, Side
from ui.charts import Curves, energy_chart, heat_map, penalty_chart
from ui.choices import CANVAS, Chosen
from ui.job import Frame, Snapshot
from ui.runs import Run, curves_of

TICK = 0.4  # seconds between two updates of the page
FAINT = 0.03  # relaxed values below this are not drawn
MOST_LINES = 400
OVERLAYS: dict[str, str | None] = {"none": None, "Delaunay": "delaunay", "nearest": "nearest", "complete": "complete"}
MOST_EDGES = 2000

WORDS = {
    "waiting": "Waiting for its turn",
    "running": "Running",
    "paused": "Paused",
    "converged": "Converged",
    "iteration limit": "Stopped at the iteration limit",
    "time limit": "Stopped at the time limit",
    "stopped": "Stopped",
    "abandoned": "Ended: nobody was watching",
    "failed": "Failed",
}


def refusal(chosen: Chosen, problem: Problem) -> str:
    return METHODS[chosen.setup.method].refusal(problem)


def side(view: View, label: str, graph: str) -> Side:
    """A view with its points, and the chosen graph over them."""
    key, edges = OVERLAYS.get(graph), None
    if key is not None and len(view.points) > 1:
        edges = GRAPHS[key].build(view.points.xy).edges[:MOST_EDGES]
    names = view.points.labels or ()
    return Side(view.points.xy, view.image, edges, label, names)


def show_points(chosen: Chosen, mode: canvas.Mode, graph: str) -> None:
    """The pair with its points and no matches."""
    pair = chosen.pair
    canvas.show(CANVAS, side(pair.left, "Left", graph), side(pair.right, "Right", graph), mode=mode)
    if mode == "view":
        st.caption("No matching yet: press Start.")


def show(run: Run, graph: str) -> None:
    """The live part of the page; it ticks only while the run does."""
    active = run.job.snapshot().active
    st.fragment(_show, run_every=TICK if active else None)(run, graph, active)


def _show(run: Run, graph: str, was_active: bool) -> None:
    run.job.touch()
    snapshot = run.job.snapshot()
    if was_active and not snapshot.active:
        st.rerun()  # the whole page: results appear, and the ticking ends
    if snapshot.active:
        _buttons(run, snapshot)
    _status(run, snapshot)
    if snapshot.frame is None:
        show_points(run.chosen, "view", graph)
        return
    frames = run.job.frames()
    frame, cursor = (snapshot.frame, None) if snapshot.active else _scrub(frames)
    final = not snapshot.active and cursor is None
    _picture(run, frame, graph, final)
    curves = curves_of(snapshot, frames)
    _charts(run, curves, frame, cursor)


def _buttons(run: Run, snapshot: Snapshot) -> None:
    job = run.job
    with st.container(horizontal=True, vertical_alignment="bottom", key="running"):
        if snapshot.status == "paused":
            st.button("Resume", icon=":material/play_arrow:", on_click=job.resume)
        else:
            st.button("Pause", icon=":material/pause:", on_click=job.pause)
        st.button("Step", icon=":material/skip_next:", on_click=job.step, help="One iteration, then pause")
        st.button("Stop solver", icon=":material/stop:", on_click=job.stop)
        frame = snapshot.frame
        if frame is not None and isfinite(frame.rho):
            with st.popover(f"ρ = {frame.rho:.4g}", icon=":material/speed:", help="Change the penalty now"):
                st.caption("The run goes on with this ρ; the schedule's patience starts anew.")
                for label, factor in (("÷ 10", 0.1), ("÷ 2", 0.5), ("× 2", 2.0), ("× 10", 10.0)):
                    st.button(label, key=f"rho {label}", on_click=_change_rho, args=(run, factor), width="stretch")


def _change_rho(run: Run, factor: float) -> None:
    frame = run.job.snapshot().frame
    if frame is not None and isfinite(frame.rho):
        run.job.change(rho=frame.rho * factor)


def _status(run: Run, snapshot: Snapshot) -> None:
    """One line: what it is doing, how far and how fast."""
    if snapshot.status == "failed":
        st.error(f"The run failed: {snapshot.error}")
        return
    parts = [f"**{WORDS[snapshot.status]}**"]
    if snapshot.status == "waiting" and snapshot.position:
        parts.append(f"number {snapshot.position} in the queue; other runs on this server come first")
    parts.append(f"iteration {snapshot.iteration:,}")
    parts.append(f"{snapshot.elapsed:.2f} s")
    if snapshot.rate and snapshot.status == "running":
        parts.append(f"{snapshot.rate:,.0f} iterations/s")
    if snapshot.active and snapshot.remaining is not None:
        parts.append(f"{snapshot.remaining:.0f} s of its time left")
    if snapshot.frame is not None and isfinite(snapshot.frame.residual):
        parts.append(f"residual {snapshot.frame.residual:.2e}")
    st.markdown(" · ".join(parts))


def _scrub(frames: Sequence[Frame]) -> tuple[Frame, int | None]:
    """The iteration the user looks at; None for the result."""
    if len(frames) < 2:
        return frames[-1], None
    labels = [str(frame.iteration) for frame in frames[:-1]] + ["result"]
    chosen = st.select_slider(
        "Iteration", labels, value="result", key="frame",
        help="Go back through the stored iterations; the picture and the curves follow.",
    )  # fmt: skip
    at = labels.index(str(chosen))
    return frames[at], None if at == len(frames) - 1 else frames[at].iteration


def _picture(run: Run, frame: Frame, graph: str, final: bool) -> None:
    pair = run.pair
    left, right = side(pair.left, "Left", graph), side(pair.right, "Right", graph)
    if not final:
        canvas.show(CANVAS, left, right, relaxed_lines(run, frame))
        return
    from ui.outcome import details, final_lines, neighbours

    which = st.segmented_control(
        "Matches", ["all", "wrong", "missed too", "best 10"], default="all", key="which", required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    lines = final_lines(run, which or "all")
    support, against = neighbours(run, lines, canvas.picked(CANVAS))
    canvas.show(CANVAS, left, right, lines, supporters=support, contradictors=against)
    details(run, canvas.picked(CANVAS))


def relaxed_lines(run: Run, frame: Frame) -> list[Line]:
    """The strongest relaxed values of an iteration as lines, opacity = value."""
    layout, truth = run.problem.layout, run.pair.truth
    keep = frame.values >= FAINT
    support, values = frame.support[keep], frame.values[keep]
    order = np.argsort(values)[-MOST_LINES:]
    lines = []
    for k in order:
        i, j = int(layout.row[support[k]]), int(layout.col[support[k]])
        text = f"left {i} → right {j}, relaxed value {values[k]:.3f}"
        lines.append(Line(i, j, kind_of(truth, i, j), float(values[k]), text))
    return lines


def kind_of(truth: NDArray[np.int64] | None, i: int, j: int) -> canvas.Kind:
    if truth is None:
        return "score"
    return "correct" if truth[i] == j else "wrong"


def _charts(run: Run, curves: Curves, frame: Frame, cursor: int | None) -> None:
    kept = st.session_state.get("kept")
    earlier = kept.curves if kept is not None and kept.number != run.number else None
    one, two, three = st.columns(3)
    has_residual = "residual" in curves.history
    with one:
        if has_residual:
            st.echarts_chart(
                penalty_chart(curves, earlier, cursor), height=300, key="penalty chart",
                alt="Residual and penalty over the iterations",
            )  # fmt: skip
        else:
            st.caption("This method has no residual to draw.")
    with two:
        st.echarts_chart(
            energy_chart(curves, earlier, run.truth_energy, cursor), height=300, key="energy chart",
            alt="Relaxed and rounded energy over the iterations",
        )  # fmt: skip
    with three:
        st.echarts_chart(
            heat_map(run.problem.matrix(frame.x), shown_truth(run.pair)), height=300, key="heat map",
            alt="The relaxed assignment as a matrix",
        )  # fmt: skip


def shown_truth(pair: Pair) -> NDArray[np.int64] | None:
    return pair.truth
