"""The Match page: choose a pair, a model and a solver, watch it run, understand the matching, take it away."""

import streamlit as st

from features.setup import OWN
from ui import address, canvas, gallery, live, outcome, takeaway, warmup
from ui.choices import CANVAS, Chosen, problem_of, sidebar
from ui.job import Job
from ui.runs import Run, size_of

INTRODUCTION = (
    "Choose a pair and press **Start**: ADGM looks for the partner of every point while its residual and its "
    "penalty ρ are drawn live. Everything can be changed in the sidebar."
)
# Slowed down by default: a run often takes a few hundredths of a second, and a newcomer should see it move.
# Iterations per second, and after how many seconds they become more.
PACES: dict[str, tuple[float | None, float | None]] = {
    "25/s, then faster": (25.0, 4.0),
    "10 iterations/s": (10.0, None),
    "100 iterations/s": (100.0, None),
    "full speed": (None, None),
}
DEFAULT_PACE = next(iter(PACES))


def show() -> None:
    st.subheader("Match two images, and watch ADGM think", anchor=False)
    st.caption(INTRODUCTION)
    gallery.greet()
    gallery.show()
    chosen = sidebar()
    link = asked_by_link()
    run: Run | None = st.session_state.get("run")
    active = is_active(run)  # asked once: the whole page, and its ticking, must go by the same answer
    if chosen is None:
        empty_state()
        return
    address.keep(chosen.address)
    size = size_of(chosen)
    complaint = chosen.complaint
    with st.container(horizontal=True, vertical_alignment="bottom", key="start"):
        again = run is not None and run.answers(chosen)
        if st.button("Start again" if again else "Start", type="primary", icon=":material/play_arrow:", key="go",
                     disabled=bool(complaint) or active):  # fmt: skip
            run = start(chosen)
        st.selectbox(
            "Pace", list(PACES), key="pace", width=180, on_change=change_pace,
            help="A run often takes a few hundredths of a second: it is slowed down to be watched. Can be changed in "
            "the middle of a run; the time limit and the times shown count computing only.",
        )  # fmt: skip
        st.number_input("Time limit (s)", 1, 3600, 60, key="limit", width=130,
                        help="Seconds of computing, then the best matching so far is the result")  # fmt: skip
        graph = st.selectbox("Graph", list(live.OVERLAYS), key="graph", width=140,
                             help="Edges drawn over the points")  # fmt: skip
        editing = st.toggle("Edit points", key="edit", disabled=active, help="Click to add, drag to move, "
                            "right-click or the Delete key to delete, with undo")  # fmt: skip
    st.caption(f"{chosen.pair.name} · {size.text}")
    if complaint:
        st.warning(complaint)
    if link and run is None and not complaint:
        run = start(chosen)
    shown = run if run is not None and (active or run.shows(chosen)) and not editing else None
    if shown is not None and not shown.answers(chosen):
        st.info("The settings have changed since this run. Press Start to run the new ones.", icon=":material/info:")
    if shown is None:
        if run is not None and not editing and not run.shows(chosen):
            st.caption(f"Run {run.number} was on {run.pair.name}: choose that pair again to see what it found.")
        live.show_points(chosen, "edit" if editing else "view", graph)
        if editing:
            takeaway.points(chosen)
        return
    live.show(shown, graph, active)
    if not active and shown.job.snapshot().best is not None:
        outcome.show(shown)
        takeaway.show(shown)


def is_active(run: Run | None) -> bool:
    return run is not None and run.job.snapshot().active


def asked_by_link() -> bool:
    """Whether the page was opened by a link that also starts the run; once."""
    asked = "run" in st.query_params and not st.session_state.get("link followed")
    st.session_state["link followed"] = True
    return asked


def change_pace() -> None:
    run: Run | None = st.session_state.get("run")
    if run is not None:
        run.job.pace, run.job.hurry = PACES[st.session_state["pace"]]


def start(chosen: Chosen) -> Run | None:
    """A new run of what is chosen; a sentence and no run if that cannot be."""
    earlier: Run | None = st.session_state.get("run")
    warmup.begin().wait()
    try:
        with st.spinner("Building the potentials …"):
            problem = problem_of(chosen)
        if refusal := live.refusal(chosen, problem):
            raise ValueError(refusal)
        pace, hurry = PACES[st.session_state.get("pace", DEFAULT_PACE)]
        limit = float(st.session_state.get("limit", 60))
        job = Job(chosen.setup.method_object(), problem, time_limit=limit, pace=pace, hurry=hurry)
        job.start()
    except (ValueError, MemoryError) as error:
        st.error(str(error) or "There is not enough memory for this problem: take fewer points.")
        return earlier
    if earlier is not None:
        earlier.job.stop()
    canvas.clear_pick(CANVAS)
    st.session_state["run"] = Run(job, chosen, problem, 1 + (earlier.number if earlier else 0))
    live.rewind()
    st.rerun()
    return None


def empty_state() -> None:
    """What to do when there is no pair yet."""
    if st.session_state.get("data") == OWN:
        st.info(
            "Drop two images into the sidebar. Points are detected for you; you can also load or edit them.",
            icon=":material/upload:",
        )
    else:
        st.info("Choose a pair in the sidebar, or one of the examples above.", icon=":material/image_search:")
