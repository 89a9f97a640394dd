"""The buttons of the Match page: always the same row, whatever the run does; they are drawn with every tick.

Every button has one meaning, by its key, and `PRESSES` knows what it does (see `ui.match.presses`): a press acts on the
run that is there when it is performed, or says that it came too late.
"""

from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from math import isfinite, nan
from typing import Any

import streamlit as st

from features.limits import LIMITS
from ui.choice.sidebar import Chosen
from ui.jobs.job import Pacing, Snapshot
from ui.match import masking, timeline
from ui.match.page_run import Run
from ui.match.presses import PRESSES, Action
from ui.shell import presenter
from ui.shell.session_slots import APART, EDIT, GRAPH, LIMIT, MASK, PACE, RHO, RUN, START, begin
from ui.shell.streamlit_patches import session_name

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
FACTORS = {"÷ 10": 0.1, "÷ 2": 0.5, "× 2": 2.0, "× 10": 10.0}  # of ρ, by the buttons' names


def show(chosen: Chosen | None, run: Run | None, snapshot: Snapshot, labels: Sequence[str]) -> int:
    """Always the same row; what cannot be pressed now is grey. Returns the stop that the slider is at."""
    active, stops = run is not None and snapshot.active, len(labels)
    at = timeline.position(run, labels)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="running"):
        idle = chosen is not None and not chosen.complaint and not active
        _button("Start", "go", "play_arrow", idle, type="primary")
        back = stops >= 2 and (at > 0 or snapshot.status == "running")
        _button("Step back", "back", "skip_previous", back, "The iteration before; a run that goes on is paused")
        _pause_buttons(run, snapshot, labels)
        _button("Step", "step", "skip_next", active or at < stops - 1, "One iteration, then pause")
        _button("Stop solver", "stop", "stop", active, "End the run with the best matching so far")
        _penalty_button(run, snapshot, active)
        _pace(run)
        with st.container(key="scrub"):
            at = timeline.show(run, labels, resting=snapshot.moving)
        st.html(f'<span class="at">{escape(timeline.told(labels, at))}</span>', width="content")
        with st.popover("More", icon=":material/more_horiz:", key="rarely", help="Time limit, graph, editing points"):
            _more(chosen, active)
    return at


def _button(name: str, key: str, icon: str, enabled: bool, help: str | None = None, **looks: Any) -> None:
    looks |= {"disabled": not enabled, "help": help}
    st.button(name, key=key, icon=f":material/{icon}:", on_click=press, args=(key,), **looks)


def _pace(run: Run | None) -> None:
    """How fast the run goes; that is set with every drawing, so that what is shown is what holds."""
    chosen = st.selectbox(
        "Pace",
        list(PACES),
        list(PACES).index(st.session_state.get(PACE, DEFAULT_PACE)),  # not `begin`: a page tells a new server its own
        key=PACE,
        width=152,
        label_visibility="collapsed",
        disabled=presenter.locked("pace"),
        help="A run often takes a few hundredths of a second: it is slowed down to be watched. Can be changed in "
        "the middle of a run; the time limit and the times shown count computing only.",
    )
    if run is not None:
        run.job.pacing = Pacing(*PACES[chosen])


def _pause_buttons(run: Run | None, snapshot: Snapshot, labels: Sequence[str]) -> None:
    """One place for four buttons, of which at most one can be used; the style sheet shows that one, else Pause.

    All of them are drawn always: where one took another's place, a browser would show both for a moment.
    """
    there, paused, playing = run is not None and len(labels) >= 2, snapshot.status == "paused", timeline.playing()
    hold = "Hold the run; it can be stepped then"
    _button("Pause", "pause", "pause", there and snapshot.moving, hold)
    _button("Resume", "resume", "play_arrow", there and paused, "Go on")
    _button("Hold", "hold", "pause", there and not snapshot.active and playing, "Stay at this iteration")
    again = "Watch the stored iterations again"
    _button("Play", "play", "replay", there and not snapshot.active and not playing, again)


def _penalty_button(run: Run | None, snapshot: Snapshot, active: bool) -> None:
    rho = nan
    if run is not None and snapshot.frame is not None:
        rho = run.job.asked or snapshot.frame.rho
        RHO.set((run.number, rho))
    with st.popover(
        f"ρ = {rho:.4g}" if isfinite(rho) else "ρ",
        key="rho",
        icon=":material/speed:",
        help="Change the penalty now",
        disabled=not active or not isfinite(rho) or presenter.locked("rho"),
    ):
        st.caption("The run goes on with this ρ; the schedule's patience starts anew.")
        for label, factor in FACTORS.items():
            key, leads_to = f"rho {label}", f"ρ becomes {rho * factor:.4g}"
            st.button(label, key=key, on_click=press, args=(key,), help=leads_to, width="stretch")


def _more(chosen: Chosen | None, active: bool) -> None:
    """What is rarely chosen."""
    st.number_input(
        "Time limit (s)",
        1,
        int(LIMITS.job_seconds),
        begin(LIMIT, 60),
        key=LIMIT,
        help="Seconds of computing (processor time), then the best matching so far is the result",
    )
    now = list(OVERLAYS).index(begin(GRAPH, "none"))
    st.selectbox("Graph", list(OVERLAYS), now, key=GRAPH, help="Edges drawn over the points")
    st.toggle(
        "Edit points",
        begin(EDIT, False),
        key=EDIT,
        on_change=MASK.set,
        args=(False,),
        disabled=active or presenter.locked("points"),
        help="Click to add, drag to move, right-click or the Delete key to delete; say who is whose partner; with undo",
    )
    st.button(
        "Crop and mask",
        icon=":material/crop:",
        key="crop and mask",
        on_click=masking.switch,
        disabled=active or presenter.locked("points") or not masking.possible(chosen),
        help="Drag rectangles on the pictures: points are looked for in those to keep, and not in those to leave out; "
        "with undo. Points that come with a pair are not looked for",
    )
    st.toggle(
        "Gap and change apart",
        begin(APART, False),
        key=APART,
        help="The residual's two parts beside it: how far the blocks are from each other, and how far they moved",
    )


# ---- what the buttons do --------------------------------------------------------------------------------------


def press(key: str) -> None:
    """The function of every button."""
    PRESSES.press(session_name(), PRESSES.actions[key])


def perform() -> None:
    """Do what has been pressed since the last drawing; every drawing begins with this."""
    PRESSES.perform(session_name())


def start() -> str | None:
    run = RUN.get()
    if run is not None and run.job.snapshot().active:
        return f"Start came too late: run {run.number} is going on."
    START.set(True)
    return None


def on_run(name: str, does: Callable[[Run], bool]) -> Action:
    """What a button does with the run; `does` returns False if that was over."""

    def act() -> str | None:
        run = RUN.get()
        if run is not None and does(run):
            return None
        return f"{name} came too late: {'there is no run' if run is None else f'run {run.number} was over'}."

    return act


def pause(run: Run) -> bool:
    timeline.rewind()
    run.job.pause()
    run.job.rest(timeline.AT_ONCE)
    return run.job.snapshot().active


def resume(run: Run) -> bool:
    timeline.rewind()
    there = run.job.snapshot().active
    run.job.resume()
    return there


def stop(run: Run) -> bool:
    timeline.rewind()
    run.job.stop()
    end = run.job.wait(0.3)  # it mostly ends at once, and this very update can show what came of it
    return end.active or end.status == "stopped"


def hold(run: Run) -> bool:
    timeline.hold(run)
    return True


def play(run: Run) -> bool:
    if run.job.snapshot().active:
        return False
    timeline.play(run)
    return True


def multiply(run: Run, factor: float) -> bool:
    """Another ρ: a factor of the one that was shown, or that an earlier press has made of it."""
    number, rho = RHO.get() or (0, nan)
    if number != run.number or not isfinite(rho) or not run.job.snapshot().active:
        return False
    run.job.change(rho * factor)
    RHO.set((number, rho * factor))
    return True


PRESSES.actions |= {
    "go": start,
    "back": on_run("Step back", lambda run: timeline.step(run, -1)),
    "step": on_run("Step", lambda run: timeline.step(run, 1)),
    "pause": on_run("Pause", pause),
    "resume": on_run("Resume", resume),
    "hold": on_run("Hold", hold),
    "play": on_run("Play", play),
    "stop": on_run("Stop solver", stop),
    **{f"rho {name}": on_run(f"ρ {name}", partial(multiply, factor=factor)) for name, factor in FACTORS.items()},
}
