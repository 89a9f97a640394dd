"""The Compare page: one pair, one model, several methods; who finds what, how good it is, and in how long."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from adgm import METHODS, Problem
from features.judge import comparison
from features.judge.metrics import BETTER, WORD, number, ratio
from features.limits import LIMITS
from features.models import MODELS
from features.models.base import Sense
from features.pairs import Pair
from features.recipe import Recipe
from ui.choice import address, strip, widgets
from ui.choice import gallery as examples
from ui.choice.problem_size import Size
from ui.choice.sidebar import Chosen, model_key, pair_key, problem_of, sidebar
from ui.compare import many
from ui.compare.pictures import charts, pictures
from ui.jobs.comparison import Entrant, Progress, Series
from ui.jobs.scheduler import POOL
from ui.match import exports, lead, live, timeline
from ui.match.page import empty_state
from ui.match.page_run import Run
from ui.parts import canvas, press, run_book
from ui.parts.escape import literal
from ui.shell import admission, reload_store, warmup
from ui.shell.pages import page
from ui.shell.session_slots import CANVAS, COMPARE, COMPARED, ENTRANT, LEFT_OUT, OPTIONS, OPTIONS_OF, RUN

TICK = 0.6  # seconds between two updates of the page
ENDS = {
    "finished": "All done",
    "stopped": "Stopped",
    "abandoned": "Stopped: the page was closed",
    "failed": "Failed",
}


@dataclass(frozen=True, eq=False)
class Compared:
    """A comparison as the page knows it: the worker, and what was chosen for it."""

    series: Series
    chosen: Chosen
    time_limit: float
    number: int

    @property
    def options(self) -> dict[str, dict[str, Any]]:
        return {recipe.method: recipe.method_options for recipe in self.series.recipes}

    @property
    def command(self) -> str:
        return comparison.as_command(self.chosen.recipe, self.series.keys, self.options, self.time_limit)


def show() -> Callable[[], None] | None:
    open_if_asked()
    places = (st.container(key=name) for name in ("strip", "head", "asked", "stage", "result"))
    gallery, head, asked, stage, result = places
    with head:
        examples.greet()
        lead_place = st.empty()
    chosen = sidebar(solver=False)
    lead_place.html(question(chosen).html)
    with asked:
        compared, progress = compared_now(chosen)
        COMPARE.pop()
    with stage:  # in every drawing of the page, as `live.show` explains
        ticking = progress is not None and progress.active
        st.fragment(status, run_every=POOL.unhurried(TICK) if ticking else None)(compared, progress)
    with result:
        if compared is not None and progress is not None:
            run_book.note_entrants(compared.chosen.pair, progress.entrants)
            table(compared, progress)
            pictures(progress, open_later)
            charts(progress, compared.series.sense)
    many.show()
    with gallery:
        strip.show()
    if compared is None or progress is None or progress.active:
        return None
    return partial(exports.comparison, compared.chosen, progress.rows, compared.command)


def compared_now(chosen: Chosen | None) -> tuple[Compared | None, Progress | None]:
    """Ask what to compare; the comparison to show, if there is one for what is chosen, and how far it is. That is asked
    once: the button, the ticking and the tables go by the same answer."""
    nothing = None, None
    empty_state(chosen)
    if chosen is None:
        return nothing
    if complaint := chosen.complaint:
        st.warning(complaint)
        return nothing
    try:
        with st.spinner("Building the potentials …"):
            problem = POOL.perform(partial(problem_of, chosen), admission.current())
    except (ValueError, MemoryError) as error:
        st.warning(literal(str(error) or "There is not enough memory for this problem: take fewer points."))
        return nothing
    compared = COMPARED.get()
    progress = compared.series.progress() if compared is not None else None
    active = progress is not None and progress.active
    methods = ask(chosen, problem, active)
    if compared is None:
        sense = MODELS[chosen.recipe.model].sense
        sheet(sense, [waiting(chosen.recipe, key, "not run yet") for key in methods])
        canvas.show("pair to compare", *live.sides(chosen.pair), display=canvas.Display(height=400))
        return nothing
    if not active and pair_key(compared.chosen.pair) != pair_key(chosen.pair):
        st.info("Another pair is chosen now: press **Compare** to run the methods on it.", icon=":material/info:")
        return nothing
    if model_key(compared.chosen) != model_key(chosen):
        st.info("The model has changed since this comparison.", icon=":material/info:")
    return compared, progress


def question(chosen: Chosen | None) -> lead.Lead:
    """What the page does, and with what."""
    asked = "One pair, one model, every method: who finds what, and how fast?"
    if chosen is None:
        return lead.Lead(asked)
    size = Size(chosen.pair.shape, MODELS[chosen.recipe.model], chosen.recipe.orders)
    return lead.Lead(asked, f"{chosen.pair.name} · {MODELS[chosen.recipe.model].label} · {size.text}")


# ---- what is asked -----------------------------------------------------------------------------------------------


def ask(chosen: Chosen, problem: Problem, active: bool) -> list[str]:
    """The button, the methods and their options; the methods that are ticked."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="ask"):
        button = st.empty()  # grey where no method is ticked
        methods = choose_methods(chosen.pair, problem)
        off = not methods or active
        looks = {"type": "primary", "icon": ":material/play_arrow:", "disabled": off}
        press.button("Compare", "compare", lambda: COMPARE.set(True), button, **looks)
        limit = st.number_input(
            "Time limit each (s)",
            1,
            int(min(600, LIMITS.job_seconds)),
            10,
            key="compare limit",
            width=150,
            help="A method that takes longer is stopped, and shows the best matching it has found by then.",
        )
        with widgets.popover(
            "Options", icon=":material/tune:", help="Seeds and other options, for each method"
        ) as opened:
            options = choose_options(drawn=opened)
        bounded = st.toggle(
            "Lower bound",
            True,
            key="compare bound",
            help="Also look for a lower bound on the energy of every matching: how far from optimal can they be?",
        )
    if COMPARE.get():
        if active:
            st.toast("Compare came too late: a comparison is going on.")
        elif methods:
            start(chosen, problem, methods, options, float(limit), bounded)
    return methods


def choose_methods(pair: Pair, problem: Problem) -> list[str]:
    """The ticked methods, all that fit at first; the others are named with the reason."""
    fitting = [*comparison.fitting(problem), *comparison.references(pair)]
    left_out = LEFT_OUT.get() or set()
    LEFT_OUT.set(left_out)
    key = f"methods {' '.join(fitting)}"

    def remember() -> None:
        ticked = st.session_state[key]
        left_out.difference_update(ticked)
        left_out.update(method for method in fitting if method not in ticked)

    wanted = [one for one in fitting if one not in left_out]
    with widgets.popover("Methods", icon=":material/checklist:", help="Which methods are compared") as opened:
        if opened:
            st.pills(
                "Methods",
                fitting,
                selection_mode="multi",
                default=wanted,
                key=key,
                format_func=comparison.LABELS.__getitem__,
                on_change=remember,
            )
            for label, why in comparison.refused(pair):
                st.caption(f"{label}: {why}.")
            others = [one for one in METHODS if one not in fitting]
            if others:
                st.markdown(f"{len(others)} methods do not fit this problem:")
                st.markdown("\n".join(f"- {METHODS[one].refusal(problem)}" for one in others))
    st.caption(f"{len(wanted)} of {len(fitting)}", width="content")
    return wanted


def choose_options(*, drawn: bool) -> dict[str, dict[str, Any]]:
    """The options of each method, those that differ from their defaults; one method is shown at a time."""
    chosen = OPTIONS.get() or {}
    if drawn:
        before = next(reversed(chosen), None)  # the one that was looked at last is the last
        method = widgets.choose("Method", list(METHODS), OPTIONS_OF, before, format_func=lambda one: METHODS[one].label)
        st.caption(widgets.about_method(method))
        chosen[method] = widgets.method_settings(method, chosen.pop(method, {}), "compare")
        OPTIONS.set(chosen)
        changed = [METHODS[one].label for one, values in chosen.items() if values]
        if changed:
            st.caption(f"Changed: {', '.join(changed)}.")
    return {one: values for one, values in chosen.items() if values}


def start(
    chosen: Chosen, problem: Problem, methods: Sequence[str], options: Mapping[str, Any], limit: float, bounded: bool
) -> None:
    """Run the methods; a sentence and no comparison if that cannot be."""
    earlier = COMPARED.get()
    named = {one: METHODS[one].make() for one in methods if one in METHODS}
    needed = (warmup.stage_of(one, method, problem.order) for one, method in named.items())
    warmup.begin().wait(warmup.latest(["portfolio", *needed]))  # no method, nor the bound, shall pay for compiling
    try:
        recipes = [
            replace(chosen.recipe, method=one, method_options=dict(options.get(one, {})))
            for one in methods
            if one in METHODS
        ]
        classics = [one for one in methods if one not in METHODS]
        series = Series(
            chosen.pair,
            problem,
            recipes,
            time_limit=limit,
            bounded=bounded,
            references=classics,
            visitor=admission.current(),
        ).start()
    except (ValueError, MemoryError) as error:
        st.error(literal(str(error) or "There is not enough memory for this comparison."))
        return
    if earlier is not None:
        earlier.series.stop()
    COMPARED.set(Compared(series, chosen, limit, 1 + (earlier.number if earlier else 0)))
    COMPARE.pop()
    st.rerun()


# ---- what came of it ---------------------------------------------------------------------------------------------


def status(compared: Compared | None, drawn: Progress | None) -> None:
    """The live part of the page: how far it is. All else is drawn anew only when there is something new."""
    press.perform()
    progress = None
    if compared is not None and drawn is not None:
        compared.series.touch()
        progress = compared.series.progress()
        if (progress.status, len(progress.entrants)) != (drawn.status, len(drawn.entrants)):
            st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", key="comparing"):
        button, told = st.empty(), st.empty()
    if compared is None or progress is None:
        return
    if progress.active:
        press.button("Stop comparing", "stop comparing", compared.series.stop, button, icon=":material/stop:")
        job = progress.job
        text = f"**{progress.current or 'Preparing'}**, {progress.parts + 1} of {progress.total}"
        if job is not None and job.status == "waiting" and job.position:
            text += f" · {lead.turn(job)}"
        elif job is not None:
            text += f" · iteration {job.iteration:,} · {job.elapsed:.1f} s"
        told.progress(progress.parts / progress.total, text)
        return
    parts = [f"**{ENDS[progress.status]}**", f"{len(progress.entrants)} of {len(compared.series.keys)} methods"]
    seen = {entrant.row.key for entrant in progress.entrants}
    missing = [comparison.LABELS[key] for key in compared.series.keys if key not in seen]
    if missing:
        parts.append(f"not run: {', '.join(missing)}")
    if progress.error:
        parts.append(literal(progress.error))
    told.markdown(" · ".join(parts))


def table(compared: Compared, progress: Progress) -> None:
    """A row for each method; a click opens it."""
    series, rows = compared.series, progress.rows
    recipes = {recipe.method: recipe for recipe in series.recipes}
    seen = {row.key for row in rows}
    missing = [key for key in series.keys if key not in seen and progress.active]
    to_come = [waiting(recipes.get(key, series.recipes[0]), key, "waiting") for key in missing]
    sheet(
        series.sense,
        [*rows, *to_come],
        key=table_key(compared),
        on_select=lambda: ask_to_open(compared),
        selection_mode="single-row",  # not cells: a click on a header to sort would select the first of them, too
    )
    notes = ["Tick a row to open its matching on the Match page; click a header to sort."]
    metrics = next((row.metrics for row in rows if row.metrics is not None), None)
    if metrics is not None and metrics.truth_score is not None:
        notes.append(f"The truth has {WORD[series.sense]} {number(metrics.truth_score)}.")
    if not progress.active and progress.bound_note:
        notes.append(f"No bound gap: {progress.bound_note}")
    st.caption(" ".join(notes))


def waiting(recipe: Recipe, key: str, why: str) -> comparison.Row:
    """A row that has its place, and nothing to tell yet."""
    if key in METHODS:
        return comparison.Row(replace(recipe, method=key, method_options={}), refusal=why)
    return comparison.Row(recipe, refusal=why, reference=key)


def sheet(sense: Sense, rows: Sequence[comparison.Row], **options: Any) -> None:
    """The rows as a table."""
    records = list(table_records(sense, rows))
    word = WORD[sense].capitalize()
    number_column, help = st.column_config.NumberColumn, BETTER[sense]
    st.dataframe(
        records,
        hide_index=True,
        placeholder="–",  # where there is nothing to tell
        alt="How every method did",
        height=40 + 35 * len(records),
        column_config={
            "Method": st.column_config.TextColumn(pinned=True, width="medium"),
            "Accuracy": number_column(format="percent", help="Share of the points with a true partner matched to it"),
            word: number_column(format="%.6g", help=help.capitalize()),
            "/ truth": number_column(format="%.4f", help=f"{word} beside the truth's; above 1: better than it"),
            "/ best": number_column(format="%.4f", help=f"{word} beside the best found, 1 is the best"),
            "Gap": number_column(format="%.2f %%", help="How far from optimal it can be at most; 0: proved optimal"),
            "Iterations": number_column(format="localized"),
            "Seconds": number_column(format="%.4f", help="Computing alone: neither waiting nor drawing"),
            "To best": number_column(format="%.4f", help="Of these, the seconds until the best matching was found"),
        },
        **options,
    )


def table_key(compared: Compared) -> str:
    return f"table {compared.number}"


def table_records(sense: Sense, rows: Sequence[comparison.Row]) -> Iterable[dict[str, Any]]:
    """The rows as the page shows them; a method that failed has its reason and no numbers."""
    lowest = comparison.best_energy(rows)
    known = any(row.metrics is not None and row.metrics.possible is not None for row in rows)
    bounded = any(row.gap is not None for row in rows)
    for row in rows:
        m, result = row.metrics, row.result
        star = " ★" if comparison.is_best(row, rows) else ""
        record: dict[str, Any] = {"Method": f"{row.label}{star}"}
        if known:
            record["Correct"] = None if m is None or m.possible is None else f"{m.correct}/{m.possible}"
            record["Accuracy"] = None if m is None else m.accuracy
        else:
            record["Matched"] = None if m is None else m.matched
        record[WORD[sense].capitalize()] = None if m is None else m.score
        if known:
            record["/ truth"] = None if m is None else m.ratio
        record["/ best"] = None if m is None else ratio(m.energy, lowest)
        if bounded:
            record["Gap"] = None if row.gap is None else comparison.gap_percent(row.gap)
        record["Iterations"] = None if result is None else result.iterations
        record["Seconds"] = None if result is None else result.seconds
        record["To best"] = None if result is None else result.seconds_to_best
        record["Status"] = row.refusal if result is None else result.status
        yield record


# ---- opening a row -----------------------------------------------------------------------------------------------


def ask_to_open(compared: Compared) -> None:
    """A row was clicked: remember which, and open it before anything is drawn."""
    entrants = compared.series.progress().entrants
    selected = st.session_state[table_key(compared)]["selection"]
    for at in selected["rows"]:
        if at < len(entrants):
            open_later(entrants[at])


def open_later(entrant: Entrant) -> None:
    ENTRANT.set(entrant)


def open_if_asked() -> None:
    """Hand the run of a clicked row to the Match page, with the settings it had."""
    entrant = ENTRANT.pop()
    compared = COMPARED.get()
    if entrant is None or compared is None:
        return
    if entrant.job is None:
        st.toast(entrant.row.refusal or f"{entrant.row.label} is no run of a solver: there is nothing to open.")
        return
    earlier = RUN.get()
    if earlier is not None:
        earlier.job.stop()
    recipe = entrant.row.recipe
    record = replace(compared.chosen.record, method=recipe.method, method_options=recipe.method_options)
    number = 1 + (earlier.number if earlier is not None else 0)
    reload_store.save(Run(entrant.job, replace(compared.chosen, record=record), number))
    canvas.clear_pick(CANVAS)
    timeline.rewind()
    address.use(record)
    st.switch_page(page("match"))
