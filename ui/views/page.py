"""The Views page: match several images at once, watch tracks form, follow one, break it, take all of it away."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from adgm import METHODS
from adgm.views import Forced
from features.limits import LIMITS
from features.views import Step, Views, ViewsRun
from ui.jobs.scheduler import POOL
from ui.jobs.task import Progress, Task
from ui.match.lead import Lead
from ui.parts import press
from ui.parts.canvas import views as canvas
from ui.parts.charts.legible import draw
from ui.parts.charts.views import energy_chart, judged_chart
from ui.parts.escape import literal
from ui.shell import admission, warmup
from ui.shell.session_slots import (
    VIEWS_FORCE,
    VIEWS_PICKED,
    VIEWS_RUN,
    VIEWS_START,
    VIEWS_TO_DEBUG,
    VIEWS_TO_MATCH,
    begin,
)
from ui.views import choice, exports, track
from ui.views.choice import Chosen
from ui.views.run import Picked, Reached, ViewsShown, follow
from ui.views.shown import counted, nothing, shown

TICK = 0.5  # seconds between two updates of the page
SECONDS = 120.0  # of computing, for a run
QUESTION = Lead(
    "Which points are the same, in all views at once?",
    "Pairs are matched first. Where A → B → C → A does not lead back, tracks put it right. Press Start.",
)


def show() -> Callable[[], None] | None:
    track.open_if_asked()
    strip, news, stage = (st.container(key=name) for name in ("strip", "news", "stage"))
    with news:
        choice.follow()
        chosen = choice.choose()
        run = VIEWS_RUN.get()
        active = run is not None and run.task.progress().active
        if chosen is None:
            choice.empty()
        elif not active and (forced := VIEWS_FORCE.get()) is not None and run is not None:
            start(chosen, run.ended, forced)
        elif VIEWS_START.get() and not active and not chosen.complaint:
            start(chosen)
        VIEWS_START.pop()
        VIEWS_FORCE.pop()
    run = run if run is not None and chosen is not None and run.source == chosen.source else None
    with stage, st.container(key="live"):
        ticking = POOL.unhurried(TICK) if active and run is not None else None
        st.fragment(live, run_every=ticking)(chosen, run, bool(ticking))
    with strip:
        choice.show_strip()
    if run is None or active or run.ended is None:
        return None
    return partial(exports.show, run.ended)


def start(chosen: Chosen, earlier: Views | None = None, forced: Sequence[Forced] = ()) -> None:
    """A run of what is chosen; with forced matches it goes on from the tracks of an earlier one."""
    before = VIEWS_RUN.get()
    how = chosen.how
    warmup.begin().wait(warmup.stage_of(how.method, METHODS[how.method].make(), max(how.orders)))
    limit = min(SECONDS, LIMITS.job_seconds)
    make = partial(ViewsRun, chosen.view_set, chosen.recipe, time_limit=limit)
    if earlier is not None:
        make = partial(ViewsRun, earlier.view_set, earlier.recipe, start=earlier, forced=forced, time_limit=limit)
    try:
        run = POOL.perform(make, admission.current())
        task = Task(follow(lambda: run), visitor=admission.current()).start()
    except (ValueError, MemoryError) as error:
        st.toast(literal(str(error) or "There is not enough memory for these views: take fewer points."))
        return
    if before is not None:
        before.task.stop()
    number = 1 + (before.number if before else 0)
    VIEWS_RUN.set(ViewsShown(task, chosen.recipe, chosen.source, number, tuple(forced)))
    if earlier is None:
        VIEWS_PICKED.pop()
    VIEWS_START.pop()
    VIEWS_FORCE.pop()
    st.rerun()


# ---- the live part ----------------------------------------------------------------------------------------------


def live(chosen: Chosen | None, run: ViewsShown | None, ticking: bool) -> None:
    """The images, the buttons and the curves; the same places in every drawing, as `ui.match.live` explains."""
    press.perform()
    progress, reached = run.where() if run is not None else (Progress("finished"), None)
    if run is not None:
        run.task.touch()
    if asked() or (ticking and not progress.active):
        st.rerun()  # the whole page: something was pressed, or the run is over
    above = st.container(key="lead")
    main, beside = st.columns([3, 1], gap="small")
    with main:
        picture, buttons, results = (st.container(key=name) for name in ("picture", "transport", "results"))
    stops = stops_of(reached)
    with buttons:
        step = transport(chosen, run, progress, reached, stops)
    picked = VIEWS_PICKED.get() or Picked()
    above.html(lead(chosen, run, progress, reached).html)
    view_set = reached.view_set if reached is not None else chosen.view_set if chosen is not None else None
    with picture:
        if view_set is None:
            st.html("<i></i>")  # keeps the place
        else:
            pairs = {} if reached is None else reached.pairs
            over = nothing(view_set) if reached is None else shown(view_set, step, pairs, picked)
            canvas.show("views board", view_set, over, pick)
    with results:
        track.show(chosen, run, progress, reached, step)
    with beside.container(key="curves", gap="xsmall"):
        with st.container(key="matrix"):
            if view_set is None:
                st.html("<i></i>")
            else:
                made, errors = counted(view_set, step, {} if reached is None else reached.pairs)
                title = "matches, and ways that contradict them"
                canvas.couples("views couples", view_set.names, made, errors, title, pick_couple, picked.couple)
        steps = () if reached is None else reached.steps
        at = step.number if step is not None and steps and step is not steps[-1] else None
        draw(energy_chart(steps, at), height=160, key="views energy")
        draw(judged_chart(steps, at), height=160, key="views judged")


def asked() -> bool:
    """Whether a button of this part has asked for what the whole page does."""
    pressed = (VIEWS_START.get(), VIEWS_TO_MATCH.get(), VIEWS_TO_DEBUG.get())
    return any(pressed) or VIEWS_FORCE.get() is not None


def stops_of(reached: Reached | None) -> list[Step]:
    """What the slider goes through: the pairs alone, then every step of the joint that placed all views."""
    steps = () if reached is None else reached.steps
    alone = [one for one in steps if one.phase == "pairs"][-1:]
    return [*alone, *(one for one in steps if one.phase == "joint" and one.tracks is not None)]


def transport(
    chosen: Chosen | None, run: ViewsShown | None, progress: Progress, reached: Reached | None, stops: Sequence[Step]
) -> Step | None:
    """Start, Stop, and the slider over the steps; the step that is looked at."""
    now = stops[-1] if stops else None
    with st.container(horizontal=True, key="running"):
        go, halt, along = st.empty(), st.empty(), st.container(key="scrub")
        blocked = chosen is None or bool(chosen.complaint) or progress.active
        looks = {"type": "primary", "icon": ":material/play_arrow:", "disabled": blocked}
        press.button("Start", "views start", lambda: VIEWS_START.set(True), go, **looks)
        stop = run.task.stop if run is not None else lambda: None
        halted = {"icon": ":material/stop:", "disabled": run is None or not progress.active}
        press.button("Stop", "views stop", stop, halt, **halted)
        with along:
            place = st.empty()
            if progress.active:
                place.progress(progress.share, progress.text or "Waiting for its turn")
            elif len(stops) > 1 and run is not None:
                names = [f"{k}: {one.words}" if k else "pairs alone" for k, one in enumerate(stops)]
                key = f"views step {run.number}"
                at = begin(key, names[-1])
                found = place.select_slider("Step", names, value=at, key=key, label_visibility="collapsed")
                return stops[names.index(found)]
    return now


def pick(point: canvas.Point | None) -> None:
    """A point was clicked; while a partner is asked for, it is that."""
    before = VIEWS_PICKED.get() or Picked()
    if before.joining and before.point is not None and point is not None and point[0] != before.point[0]:
        run = VIEWS_RUN.get()
        forced = (*(run.forced if run else ()), Forced(*before.point, *point, together=True))
        VIEWS_FORCE.set(forced)
        VIEWS_PICKED.set(Picked(before.point))
        return
    VIEWS_PICKED.set(Picked(point))


def pick_couple(couple: canvas.Couple) -> None:
    before = VIEWS_PICKED.get()
    VIEWS_PICKED.set(Picked() if before is not None and before.couple == couple else Picked(couple=couple))


# ---- the line above the images ----------------------------------------------------------------------------------


def lead(chosen: Chosen | None, run: ViewsShown | None, progress: Progress, reached: Reached | None) -> Lead:
    """What this is, what the run does, what came of it."""
    if chosen is None:
        return Lead("Which points are the same, in all views at once?", "Choose images of your own, or an example.")
    if chosen.complaint:
        return Lead("This cannot be run yet", chosen.complaint, "Not ready", "bad")
    if run is None:
        return QUESTION
    if progress.status == "failed":
        return Lead("The run failed", progress.error, "Failed", "bad")
    if run.recipe != chosen.recipe:
        return Lead("The settings have changed since this run", "Start runs the new ones.", "Changed", "bad")
    if progress.active:
        words = reached.steps[-1].words if reached is not None and reached.steps else "Preparing"
        return Lead(progress.text or "Waiting for its turn", words, "Running", "run")
    views = run.ended
    if views is None:
        return Lead("The run ended before a pair was matched.", "Start it once more.", "Stopped", "bad")
    return verdict(views)


def verdict(views: Views) -> Lead:
    """How right the tracks are, beside the pairs alone, or else how many there are."""
    long = int((views.lengths > 1).sum())
    whole = int((views.lengths == len(views.view_set)).sum())
    badge, tone = ("Done", "good") if views.status == "converged" else ("Stopped early", "bad")
    (now, _), (alone, _) = views.judged, views.judged_alone
    counted = f"{long} tracks, {whole} of them through all {len(views.view_set)} views."
    if not views.consistent:
        counted = f"{len(views.pairs)} pairs matched alone."
    note = f"{views.note} " if views.note else ""
    if now is None or alone is None:
        return Lead(counted, f"{note}The true matches are not known here.", badge, "good" if tone == "good" else "bad")
    told = f"{track.share(now)} of the true matches are found; by the pairs alone {track.share(alone)}."
    return Lead(told, f"{note}{counted}", badge, "good" if tone == "good" else "bad")
