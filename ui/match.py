"""The Match page: choose a pair, a model and a solver, watch it run, understand the matching, take it away."""

import streamlit as st

from features.datasets import DATASETS
from features.recipe import OWN
from ui import canvas, data, examples, exports, live, optimality, outcome, scrubber, toolbar, url_state, warmup
from ui.jobs.job import Job
from ui.learn import teach
from ui.page_run import Run
from ui.sidebar import CANVAS, Chosen, drop_zone, problem_of, sidebar
from ui.state import EDIT, LIMIT, LINK, PACE, RUN, START


def show() -> None:
    news, stage, result = (st.container(key=name) for name in ("news", "stage", "result"))
    examples.greet()
    link = asked_by_link()  # before the address is written anew
    chosen = sidebar()
    run = RUN.get()
    active = is_active(run)  # asked once: the whole page, and its ticking, must go by the same answer
    editing, shown = bool(st.session_state.get(EDIT)), None
    with news:
        if chosen is None:
            empty_state()
        else:
            if (START.pop() or (link and run is None)) and not chosen.complaint and not active:
                run = start(chosen)
            shown = run if run is not None and (active or run.shows(chosen)) and not editing else None
            if chosen.complaint:
                st.warning(chosen.complaint)
    with stage:
        teach.box()
        live.show(chosen, shown, active=active, editing=editing)
        teach.offer(chosen)  # above what comes with a result, so that it stays where it is
    over = shown if shown is not None and not active and shown.job.snapshot().best is not None else None
    with result:
        figures, question, more = (st.container(key=name) for name in ("figures", "question", "more"))
        with question:
            optimality.show(over)
        with figures:
            if over is not None:
                outcome.show(over)
        with more:
            if over is not None:
                outcome.compare(over)
                exports.show(over)
            elif chosen is not None and editing:
                exports.points(chosen)


def is_active(run: Run | None) -> bool:
    return run is not None and run.job.snapshot().active


def asked_by_link() -> bool:
    """Whether the page was opened by a link that also starts the run; once."""
    asked = url_state.ASKED in st.query_params and not LINK.get()
    LINK.set(True)
    return asked


def start(chosen: Chosen) -> Run | None:
    """A new run of what is chosen; a sentence and no run if that cannot be."""
    earlier = RUN.get()
    try:
        with st.spinner("Building the potentials …"):
            problem = problem_of(chosen)
        if refusal := live.refusal(chosen, problem):
            raise ValueError(refusal)
        method = chosen.recipe.method_object()
        stage = warmup.stage_of(chosen.recipe.method, method, problem)
        method, problem = warmup.begin().meanwhile(method, problem, stage)
        pace, hurry = toolbar.PACES[st.session_state.get(PACE, toolbar.DEFAULT_PACE)]
        limit = float(st.session_state.get(LIMIT, 60))
        job = Job(method, problem, time_limit=limit, pace=pace, hurry=hurry)
        job.start()
    except (ValueError, MemoryError) as error:
        st.error(str(error) or "There is not enough memory for this problem: take fewer points.")
        return earlier
    if earlier is not None:
        earlier.job.stop()
    canvas.clear_pick(CANVAS)
    RUN.set(Run(job, chosen, problem, 1 + (earlier.number if earlier else 0)))
    scrubber.rewind()
    st.rerun()
    return None


def empty_state() -> None:
    """What to do when there is no pair yet."""
    dataset = url_state.current().dataset
    if dataset == OWN:
        drop_zone()
        st.caption(
            "Drop two images here or into the sidebar: points are detected for you. A saved pair, or a problem "
            "without images (.dd, QAPLIB, NPZ), can be opened there, too."
        )
    elif not DATASETS[dataset].available():
        data.offer_download(dataset)
    else:
        st.info("Choose a pair in the sidebar, or one of the examples.", icon=":material/image_search:")
