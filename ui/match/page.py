"""The Match page: choose a pair, a model and a solver, watch it run, understand the matching, export it."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from adgm import METHODS, Problem
from adgm.machine.numpy_fallback import plain
from features.datasets import DATASETS
from features.models import MODELS
from features.recipe import OWN
from ui.choice import address, dataset_download, drop, strip
from ui.choice import gallery as examples
from ui.choice.formula import own_model
from ui.choice.sidebar import Chosen, problem_of, sidebar
from ui.debug import links
from ui.jobs.job import Job, Pacing, Snapshot
from ui.jobs.numpy_fallback import NumpyFallback
from ui.match import exercise, exports, live, masking, optimality, outcome, timeline, toolbar
from ui.match.page_run import Run
from ui.parts import canvas, run_book
from ui.parts.escape import literal
from ui.shell import admission, reload_store, warmup
from ui.shell.session_slots import CANVAS, LIMIT, LINK, PACE, RUN, START, TO_DEBUG

AT_ONCE = 0.1  # seconds: what a run refuses by then leaves the one before it on the page


def show() -> Callable[[], None]:
    places = (st.container(key=name) for name in ("strip", "news", "stage", "result"))
    gallery, news, stage, result = places
    with news:  # a link that cannot be followed is told where it is seen
        exercise.follow()
        examples.greet()
    asked_by_link()  # before the address is written anew
    chosen = sidebar()
    if chosen is not None:
        own_model.follow(chosen.record.model, chosen.record.model_params)
    run = RUN.get()
    then = run.job.snapshot() if run is not None else Snapshot("stopped")
    mode = masking.mode(chosen)
    active = then.active  # asked once: the whole page, and its ticking, must go by the same answer
    shown = None
    with news:
        empty_state(chosen)
        if chosen is not None:
            if START.get() and not chosen.complaint and not active:
                run = start(chosen)
            shown = run if run is not None and (active or run.shows(chosen)) and mode == "view" else None
            if chosen.complaint:
                st.warning(chosen.complaint)
        # A drawing that is stopped before this starts the run next time. Also where there is no pair: what ticks would
        # ask for the whole page, and so on for ever.
        START.pop()
    over = shown if shown is not None and not active and then.best is not None else None
    if TO_DEBUG.pop() and over is not None:
        links.debug(over.matching, canvas.picked(CANVAS))
    with stage:
        exercise.box()
        live.show(chosen, shown, then, mode=mode)
    if over is not None:
        run_book.note_run(over)
    with result:
        optimality.show(over)
        if over is not None:
            outcome.compare(over)
        elif chosen is not None and mode == "edit":
            exports.points(chosen)
    with gallery:
        strip.show()
    return partial(share, chosen, over)


def share(chosen: Chosen | None, run: Run | None) -> None:
    """What can be taken away from this page."""
    if run is not None:
        exports.show(run)
    elif chosen is not None:
        exports.share_link(chosen)
    exercise.offer(chosen)


def asked_by_link() -> None:
    """A link that opens the page may also start the run; once."""
    if address.ASKED in st.query_params and not LINK.get() and RUN.get() is None:
        START.set(True)
    LINK.set(True)


def start(chosen: Chosen) -> Run | None:
    """A new run of what is chosen; a sentence and no run if that cannot be."""
    earlier = RUN.get()
    try:
        key, order, method = chosen.recipe.method, order_of(chosen), chosen.recipe.method_object()
        sparse = MODELS[chosen.recipe.model].photographs
        method, lacks_kernels = warmup.begin().with_fallback(key, method, order, chosen.pair.shape, sparse=sparse)
        limit = float(st.session_state.get(LIMIT, 60))
        build, visitor = partial(fitting_problem, chosen, isinstance(method, NumpyFallback)), admission.current()
        pacing = Pacing(*toolbar.PACES[st.session_state.get(PACE, toolbar.DEFAULT_PACE)])
        job = Job(method, build, time_limit=limit, pacing=pacing, lacks_kernels=lacks_kernels, visitor=visitor)
        if (end := job.start().wait(AT_ONCE)).status == "failed":
            raise ValueError(end.error)
    except (ValueError, MemoryError) as error:
        st.error(literal(str(error) or "There is not enough memory for this problem: take fewer points."))
        return earlier
    try:
        reload_store.save(Run(job, chosen, 1 + (earlier.number if earlier else 0)))
    except BaseException:  # this drawing is stopped, and the next one starts the run
        job.stop()
        raise
    if earlier is not None:
        earlier.job.stop()
    START.pop()
    canvas.clear_pick(CANVAS)
    timeline.rewind()
    st.rerun()
    return None


def fitting_problem(chosen: Chosen, borrowed: bool) -> Problem:
    """What the job builds, for NumPy if that begins the run; refused in a sentence if the method does not take it."""
    problem = problem_of(chosen)
    if refusal := METHODS[chosen.recipe.method].refusal(problem):
        raise ValueError(refusal)
    return plain(problem) if borrowed else problem


def order_of(chosen: Chosen) -> int:
    """Of the problem that will be built."""
    model, given = MODELS[chosen.recipe.model], chosen.pair.given
    return given.order if model.given and given is not None else max(chosen.recipe.orders)


def empty_state(chosen: Chosen | None) -> None:
    """What to do when there is no pair yet; photographs can always be dropped."""
    dataset = address.current().dataset
    drop.area(empty=chosen is None and dataset == OWN)
    if chosen is not None or dataset == OWN:
        return
    if not DATASETS[dataset].available():
        dataset_download.offer_download(dataset)
    else:
        st.info("Choose a pair in Settings, or one of the examples.", icon=":material/image_search:")
