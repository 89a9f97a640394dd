"""The buttons of the Match page: always the same row, whatever the run does; they are drawn with every tick."""

from math import isfinite, nan

import streamlit as st

from features.limits import LIMITS
from ui import examples, present
from ui.jobs.job import Snapshot
from ui.page_run import Run
from ui.sidebar import Chosen
from ui.state import EDIT, GRAPH, LIMIT, PACE, RUN, START

OVERLAYS: dict[str, str | None] = {"none": None, "Delaunay": "delaunay", "nearest": "nearest", "complete": "complete"}
# Slowed down by default: a run often takes a few hundredths of a second, and a newcomer should see it move.
# Iterations per second, and after how many seconds they become more.
PACES: dict[str, tuple[float | None, float | None]] = {
    "25/s, then faster": (25.0, 4.0),
    "1 iteration/s": (1.0, None),
    "10 iterations/s": (10.0, None),
    "100 iterations/s": (100.0, None),
    "full speed": (None, None),
}
DEFAULT_PACE = next(iter(PACES))


def show(chosen: Chosen | None, run: Run | None, snapshot: Snapshot) -> None:
    """Always the same row; what cannot be pressed now is grey."""
    active, paused = run is not None and snapshot.active, snapshot.status == "paused"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="running"):
        st.button(
            "Start",
            type="primary",
            icon=":material/play_arrow:",
            key="go",
            on_click=START.set,
            args=(True,),
            disabled=chosen is None or bool(chosen.complaint) or active,
        )
        st.button(
            "Resume" if paused else "Pause",
            key="pause",
            icon=":material/play_arrow:" if paused else ":material/pause:",
            on_click=_pause,
            args=(run, paused),
            disabled=not active,
        )
        st.button(
            "Step",
            key="step",
            icon=":material/skip_next:",
            on_click=_step,
            args=(run,),
            disabled=not active,
            help="One iteration, then pause",
        )
        st.button("Stop solver", key="stop", icon=":material/stop:", on_click=_stop, args=(run,), disabled=not active)
        _penalty_button(run, snapshot, active)
        st.selectbox(
            "Pace",
            list(PACES),
            key=PACE,
            width=150,
            on_change=change_pace,
            label_visibility="collapsed",
            disabled=present.locked("pace"),
            help="A run often takes a few hundredths of a second: it is slowed down to be watched. Can be changed in "
            "the middle of a run; the time limit and the times shown count computing only.",
        )
        with st.popover(
            "Examples",
            icon=":material/photo_library:",
            help="Pairs worth seeing, and your own pictures",
            disabled=present.locked("images") or present.locked("model"),
        ):
            examples.show()
        with st.popover("More", icon=":material/more_horiz:", help="Time limit, graph, editing points"):
            _more(active)


def _penalty_button(run: Run | None, snapshot: Snapshot, active: bool) -> None:
    rho = snapshot.frame.rho if snapshot.frame is not None else nan
    with st.popover(
        f"ρ = {rho:.4g}" if isfinite(rho) else "ρ",
        key="rho",
        icon=":material/speed:",
        help="Change the penalty now",
        disabled=not active or not isfinite(rho) or present.locked("rho"),
    ):
        st.caption("The run goes on with this ρ; the schedule's patience starts anew.")
        for label, factor in (("÷ 10", 0.1), ("÷ 2", 0.5), ("× 2", 2.0), ("× 10", 10.0)):
            st.button(label, key=f"rho {label}", on_click=_change_rho, args=(run, factor), width="stretch")


def _more(active: bool) -> None:
    """What is rarely chosen."""
    st.number_input(
        "Time limit (s)",
        1,
        int(LIMITS.job_seconds),
        60,
        key=LIMIT,
        help="Seconds of computing, then the best matching so far is the result",
    )
    st.selectbox("Graph", list(OVERLAYS), key=GRAPH, help="Edges drawn over the points")
    st.toggle(
        "Edit points",
        key=EDIT,
        disabled=active or present.locked("points"),
        help="Click to add, drag to move, right-click or the Delete key to delete, with undo",
    )


def change_pace() -> None:
    run = RUN.get()
    if run is not None:
        run.job.pace, run.job.hurry = PACES[st.session_state[PACE]]


# The buttons of a page that is being drawn anew can still be pressed: what they ask for is then no longer to be had.


def _pause(run: Run | None, paused: bool) -> None:
    if run is not None:
        run.job.resume() if paused else run.job.pause()


def _step(run: Run | None) -> None:
    if run is not None:
        run.job.step()


def _stop(run: Run | None) -> None:
    if run is not None:
        run.job.stop()
        run.job.wait(0.3)  # it mostly ends at once, and this very update can show what came of it


def _change_rho(run: Run | None, factor: float) -> None:
    frame = run.job.snapshot().frame if run is not None else None
    if run is not None and frame is not None and isfinite(frame.rho):
        run.job.change(frame.rho * factor)
