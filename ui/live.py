"""A run while it goes on, and afterwards iteration by iteration: picture, curves, heat map, and the buttons."""

from collections.abc import Sequence
from math import isfinite

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from adgm import METHODS, Problem
from features.graphs import GRAPHS
from features.pairs import View
from ui import canvas
from ui.canvas import Line, Side
from ui.charts import Curves, energy_chart, heat_map, lanes_chart, penalty_chart
from ui.choices import CANVAS, Chosen
from ui.job import Frame, Snapshot
from ui.runs import Run, curves_of

TICK = 0.4  # seconds between two updates of the page
STRONG = 0.1  # relaxed values from here on are drawn beside the current matching
MOST_LINES = 400
REPLAY = 16  # updates of the page that a replay takes
RESULT = "result"  # the last stop of the slider through the iterations
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


def show(run: Run, graph: str, active: bool) -> None:
    """The live part of the page; it ticks only while the run (when the page was drawn), or its replay, does."""
    ticking = active or playing()
    st.fragment(_show, run_every=TICK if ticking else None)(run, graph, ticking)


def _show(run: Run, graph: str, ticking: bool) -> None:
    run.job.touch()
    snapshot = run.job.snapshot()
    if snapshot.active:
        _buttons(run, snapshot)
    elif playing():
        _play_on(stops(run.job.frames()))
    if ticking != (snapshot.active or playing()):
        st.rerun()  # the whole page: results appear and the ticking ends, or the ticking begins
    _status(run, snapshot)
    if snapshot.frame is None:
        show_points(run.chosen, "view", graph)
        return
    frames = run.job.frames()
    frame, cursor = (snapshot.frame, None) if snapshot.active else _scrub(frames)
    final = not snapshot.active and cursor is None
    _picture(run, frame, graph, final)
    _charts(run, snapshot, curves_of(snapshot, frames), frame, cursor)


def _buttons(run: Run, snapshot: Snapshot) -> None:
    job = run.job
    with st.container(horizontal=True, vertical_alignment="bottom", key="running"):
        if snapshot.status == "paused":
            st.button("Resume", icon=":material/play_arrow:", on_click=job.resume)
        else:
            st.button("Pause", icon=":material/pause:", on_click=job.pause)
        st.button("Step", icon=":material/skip_next:", on_click=job.step, help="One iteration, then pause")
        st.button("Stop solver", icon=":material/stop:", on_click=_stop, args=(run,))
        frame = snapshot.frame
        if frame is not None and isfinite(frame.rho):
            with st.popover(f"ρ = {frame.rho:.4g}", icon=":material/speed:", help="Change the penalty now"):
                st.caption("The run goes on with this ρ; the schedule's patience starts anew.")
                for label, factor in (("÷ 10", 0.1), ("÷ 2", 0.5), ("× 2", 2.0), ("× 10", 10.0)):
                    st.button(label, key=f"rho {label}", on_click=_change_rho, args=(run, factor), width="stretch")


def _stop(run: Run) -> None:
    run.job.stop()
    run.job.wait(0.3)  # it mostly ends at once, and this very update can show what came of it


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
    if lanes := snapshot.lanes:
        running = sum(not lane.ended for lane in lanes.curves)
        parts.append(
            f"{len(lanes.curves)} runs, {running} going on" if snapshot.active else f"{len(lanes.curves)} runs"
        )
        parts.append(f"{lanes.agreeing} agree on the best matching")
    parts.append(f"run {run.number}")
    st.markdown(" · ".join(parts))


# ---- back and forth through the stored iterations -----------------------------------------------------------


def stops(frames: Sequence[Frame]) -> list[str]:
    """The stops of the slider: the stored iterations, and the result."""
    return [*(str(frame.iteration) for frame in frames[:-1]), RESULT]


def playing() -> bool:
    return st.session_state.get("replay") is not None


def rewind(stop: str = RESULT) -> None:
    """End a replay, or show another run: a new slider, at the result or at a stop of its own.

    A tick under way still carries what the browser knew before; a slider with another name does not listen to it.
    """
    st.session_state["replay"] = None
    st.session_state["slider"] = st.session_state.get("slider", 0) + 1
    st.session_state[_slider()] = stop


def _slider() -> str:
    return f"frame {st.session_state.get('slider', 0)}"


def _play(labels: Sequence[str]) -> None:
    now = st.session_state.get(_slider(), RESULT)
    st.session_state["replay"] = 0 if now == RESULT or now not in labels else labels.index(now)


def _play_on(labels: Sequence[str]) -> None:
    """One tick of the replay further; it ends at the result."""
    at = st.session_state["replay"] + max(1, round(len(labels) / REPLAY))
    if at < len(labels) - 1:
        st.session_state["replay"] = at
    else:
        rewind()


def _scrub(frames: Sequence[Frame]) -> tuple[Frame, int | None]:
    """The iteration the user looks at; None for the result."""
    if len(frames) < 2:
        return frames[-1], None
    labels = stops(frames)
    with st.container(horizontal=True, vertical_alignment="center", key="scrub"):
        if playing():
            at = st.session_state["replay"]
            st.button("Hold", icon=":material/pause:", key="hold", on_click=rewind, args=(labels[at],))
            st.progress((at + 1) / len(labels), f"Iteration {labels[at]}", width="stretch")
        else:
            st.button("Play", icon=":material/replay:", key="play", on_click=_play, args=(labels,),
                      help="Watch the stored iterations again")  # fmt: skip
            chosen = st.select_slider(
                "Iteration", labels, value=RESULT, key=_slider(), width="stretch",
                help="Go back through the stored iterations; the picture and the curves follow.",
            )  # fmt: skip
            at = labels.index(str(chosen))
    return frames[at], None if at == len(frames) - 1 else frames[at].iteration


# ---- the picture and the curves -----------------------------------------------------------------------------


def _picture(run: Run, frame: Frame, graph: str, final: bool) -> None:
    pair = run.pair
    left, right = side(pair.left, "Left", graph), side(pair.right, "Right", graph)
    if not final:
        canvas.show(CANVAS, left, right, relaxed_lines(run, frame))
        return
    from ui.outcome import details, final_lines, neighbours

    lines = final_lines(run, *_filter(run))
    support, against = neighbours(run, lines, canvas.picked(CANVAS))
    canvas.show(CANVAS, left, right, lines, supporters=support, contradictors=against)
    details(run, canvas.picked(CANVAS))


def _filter(run: Run) -> tuple[str, int]:
    """Which matches to draw, and how many of the best."""
    offered = ["all", "wrong", "missed too", "best"] if run.pair.truth is not None else ["all", "best"]
    with st.container(horizontal=True, vertical_alignment="center", key="filter"):
        which = st.segmented_control(
            "Matches", offered, default="all", key=f"which of {len(offered)}", required=True,
            label_visibility="collapsed", help="Which matches are drawn",
        )  # fmt: skip
        most = len(run.outcome.pairs)
        if which != "best" or most < 2:
            return which or "all", most
        count = st.number_input(
            "How many", 1, most, min(10, most), key="best of all", width=130, label_visibility="collapsed"
        )
    return which, int(count)


def relaxed_lines(run: Run, frame: Frame) -> list[Line]:
    """The matching of an iteration and whatever else is strong in it, as lines; opacity = relaxed value."""
    layout, truth, x = run.problem.layout, run.pair.truth, frame.x
    strong = max(STRONG, 2 / max(run.problem.shape))  # at the start all of them are 1/n
    drawn = np.flatnonzero(frame.assignment | (x >= strong))
    lines = []
    for k in drawn[np.argsort(x[drawn], kind="stable")][-MOST_LINES:].tolist():
        i, j = int(layout.row[k]), int(layout.col[k])
        text = f"left {i} → right {j}, relaxed value {x[k]:.3f}" + ("" if frame.assignment[k] else ", not chosen")
        lines.append(Line(i, j, kind_of(truth, i, j), float(x[k]), text))
    return lines


def kind_of(truth: NDArray[np.int64] | None, i: int, j: int) -> canvas.Kind:
    if truth is None:
        return "score"
    return "correct" if truth[i] == j else "wrong"


def _charts(run: Run, snapshot: Snapshot, curves: Curves, frame: Frame, cursor: int | None) -> None:
    kept = st.session_state.get("kept")
    earlier = kept.curves if kept is not None and kept.number != run.number else None
    one, two, three = st.columns(3)
    with one:
        if snapshot.lanes is not None:
            st.echarts_chart(lanes_chart(snapshot.lanes), height=300, key="lanes chart", alt="Residual of every run")
        elif "residual" in curves.history:
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
        dark = st.context.theme.type == "dark"
        st.echarts_chart(
            heat_map(run.problem.matrix(frame.x), run.pair.truth, dark), height=300, key="heat map",
            alt="The relaxed assignment as a matrix",
        )  # fmt: skip
