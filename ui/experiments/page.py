"""The Experiments page: the paper's experiments and your own; run them, watch the curves grow, look behind a point."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from experiments import runner, store, summary, toml_spec
from experiments.paper import EXPERIMENTS
from experiments.spec import Experiment
from experiments.store import SHIPPED, Content, Record
from features.limits import LIMITS
from ui.choice import address
from ui.choice import dataset_download as data
from ui.debug import links
from ui.experiments.results import Results, explore
from ui.jobs.experiment_process import ExperimentProcess, store_path
from ui.jobs.scheduler import POOL
from ui.match.lead import Lead
from ui.parts.downloads import download
from ui.parts.escape import literal
from ui.shell import admission
from ui.shell.pages import page
from ui.shell.session_slots import DEBUG_ROW, EXPERIMENT, ROW, RUN, VISITOR

INTRODUCTION = "Browse our results, or run one here on a few pairs. Every point of a curve opens the pairs behind it."
OWN = "Your own (TOML)"
SHIPPED_VIEW, RUN_VIEW = "Our results", "Run here"
TICK = 1.0  # seconds between two updates of a run
MOST_PAIRS = 20
STOPPING = 1.0  # seconds that a run on the Match page may take to give way to the one behind a row


def show() -> None:
    open_if_asked()
    process, owner = EXPERIMENT_PROCESS, visitor()
    process.touch(owner)
    head, asked, stage, result = (st.container(key=name) for name in ("head", "asked", "stage", "result"))
    with head:
        st.html(Lead("The paper's experiments, run again", INTRODUCTION).html)
        row = st.container(horizontal=True, vertical_alignment="bottom", key="experiment-row")
        experiment = choose(row)
        if experiment is None:
            view = RUN_VIEW
        else:
            with row:
                view = choose_view(experiment)
            paper = f" **The paper:** {literal(experiment.paper)}" if experiment.paper else ""
            st.caption(literal(experiment.about) + paper)
    watched = None
    with asked:
        if experiment is not None and view == RUN_VIEW:
            watched = run_here(process, owner, experiment)
    with stage:  # in every drawing of the page, as `live.show` explains
        ticking = watched is not None and watched.mine
        done = watched.done if watched is not None else 0
        st.fragment(progress, run_every=TICK if ticking else None)(process, owner, watched, done)
    with result:
        if experiment is not None and view == SHIPPED_VIEW:
            show_shipped(shipped_rows(experiment))
        elif watched is not None and results_rows(watched.path):
            show_rows(watched)


def shipped_rows(experiment: Experiment) -> Path:
    return SHIPPED / f"{experiment.name}.jsonl.gz"


def choose_view(experiment: Experiment) -> str:
    """The shipped results where there are some, or a run here."""
    if not shipped_rows(experiment).is_file() or EXPERIMENTS.get(experiment.name) != experiment:
        return RUN_VIEW
    chosen = st.segmented_control(
        "Results",
        [SHIPPED_VIEW, RUN_VIEW],
        default=SHIPPED_VIEW,
        required=True,
        key="results view",
        label_visibility="collapsed",
    )
    return chosen or SHIPPED_VIEW


def show_shipped(path: Path) -> None:
    try:
        results = results_of(str(path), *version_of(path))
    except ValueError as error:  # made by another version of this app
        st.error(literal(f"These results cannot be shown: {error}"))
        return
    explore(results)
    st.caption(origin(results.content))


EXPERIMENT_PROCESS = ExperimentProcess()  # one per server; not in Streamlit's cache, which can be cleared


def visitor() -> str:
    """A name for this visitor, who may stop only what is theirs."""
    name = VISITOR.get() or uuid4().hex
    VISITOR.set(name)
    return name


def origin(content: Content) -> str:
    last = content.run
    return f"{len(content.rows):,} rows made by `{last['command']}` at version {last['versions']['project']}."


# ---- choices -----------------------------------------------------------------------------------------------------


def choose(row: DeltaGenerator) -> Experiment | None:
    """A built-in experiment, chosen in this row, or one from an uploaded file."""
    names = [*EXPERIMENTS, OWN]
    titles = {name: one.title for name, one in EXPERIMENTS.items()}
    before = EXPERIMENT.get() or names[0]
    name = row.selectbox(
        "Experiment", names, index=names.index(before), key="experiment", format_func=lambda one: titles.get(one, one)
    )
    EXPERIMENT.set(name)
    if name != OWN:
        return EXPERIMENTS[name]
    file = st.file_uploader("A TOML file", ["toml"], key="experiment file", max_upload_size=1)
    download("An example to start from", "experiment.toml", toml_spec.EXAMPLE)
    if file is None:
        st.code(toml_spec.EXAMPLE, language="toml")
        return None
    try:
        return parsed(file.getvalue(), file.name)
    except ValueError as error:
        st.error(literal(str(error)))
        return None


@st.cache_resource(show_spinner="Reading the file …", max_entries=8)
def parsed(data: bytes, name: str) -> Experiment:
    return POOL.perform(partial(toml_spec.parse, data, name), admission.current())


def choose_size(experiment: Experiment, busy: bool) -> tuple[Experiment | None, int]:
    """The experiment with the chosen methods (None without any), and how many pairs per setting."""
    methods = st.multiselect(
        "Methods",
        experiment.methods,
        default=experiment.methods,
        disabled=busy,
        key=f"methods of {experiment.name}",
        format_func=lambda name: experiment.variant(name).label,
    )
    sample = st.number_input(
        "Pairs per setting",
        1,
        MOST_PAIRS,
        2,
        disabled=busy,
        key="sample",
        width=220,
        help="A fixed random choice; more pairs contain the fewer",
    )
    return (experiment.with_methods(tuple(methods)) if methods else None), int(sample)


@st.cache_data(show_spinner=False, max_entries=16)
def keys_of(declared: str, sample: int) -> list[str]:
    return [unit.key for unit in Experiment.from_dict(json.loads(declared)).units(sample)]


@st.cache_data(show_spinner="Counting …", max_entries=32)
def estimated(declared: str, sample: int, path: str, version: tuple[float, int]) -> float:
    """Seconds that the rest of an experiment takes."""
    experiment = Experiment.from_dict(json.loads(declared))
    mine = store.read(Path(path))
    known = {**store.read(SHIPPED / f"{experiment.name}.jsonl.gz").rows, **mine.rows}
    return runner.estimate(
        experiment, runner.left(list(experiment.units(sample)), mine), known, LIMITS.experiment_workers
    )


# ---- running -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Watched:
    """The rows that are asked for here, how many of them there are, and whether this visitor's run is making them."""

    experiment: Experiment
    path: Path
    keys: frozenset[str]
    mine: bool
    active: bool

    @property
    def done(self) -> int:
        return len(results_rows(self.path).keys() & self.keys)


def run_here(process: ExperimentProcess, owner: str, asked: Experiment) -> Watched | None:
    """Ask, estimate and run; what there is to watch, if anything."""
    running = process.running
    mine = running is not None and running.owner == owner
    missing = asked.missing()
    for key in missing:
        data.offer_download(key)
    if missing:
        return None
    experiment, sample = choose_size(asked, mine)
    if experiment is None:
        st.info("Choose at least one method.", icon=":material/checklist:")
        return None
    if (size := experiment.size(sample)) > LIMITS.experiment_units:  # before they are listed
        limit = f"more than the {LIMITS.experiment_units:,} this server runs"
        st.warning(f"{size:,} units are {limit}: take fewer pairs or methods, or use the command line.")
        return None
    path = store_path(experiment)
    keys = keys_of(json.dumps(experiment.to_dict()), sample)
    done = len(results_rows(path).keys() & set(keys))
    if running is not None and not mine:
        st.info(
            f"Another visitor is running an experiment on this server ({literal(running.experiment.title)}). One runs "
            "at a time; yours can start when it has ended.",
            icon=":material/hourglass:",
        )
    if mine and running is not None and running.path != path:
        st.info(f"Your experiment is running: {literal(running.experiment.title)}.", icon=":material/hourglass:")
    announce(experiment, sample, path, len(keys), done, mine)
    with st.container(horizontal=True):
        word = "Resume" if 0 < done < len(keys) else "Run"
        if st.button(
            word,
            type="primary",
            icon=":material/play_arrow:",
            key="run experiment",
            disabled=running is not None or done == len(keys),
        ):
            start(process, owner, experiment, sample)
        if st.button("Stop experiment", icon=":material/stop:", key="stop experiment", disabled=not mine):
            process.stop(owner)
            st.rerun()
    if process.failure:
        st.error(literal(process.failure))
    active = mine and running is not None and running.path == path
    return Watched(experiment, path, frozenset(keys), mine, active)


def announce(experiment: Experiment, sample: int, path: Path, total: int, done: int, mine: bool) -> None:
    """How much there is to do, before it is done."""
    if mine:
        return
    if done == total:
        st.caption(f"All {total:,} units are there.")
        return
    seconds = estimated(json.dumps(experiment.to_dict()), sample, str(path), version_of(path))
    st.caption(
        f"{total:,} units, {total - done:,} still to run: about {runner.duration(seconds)} "
        f"with {LIMITS.experiment_workers} workers."
    )


def start(process: ExperimentProcess, owner: str, experiment: Experiment, sample: int) -> None:
    try:
        process.start(experiment, sample, owner)
    except ValueError as error:
        st.warning(literal(str(error)))
        return
    st.rerun()


def progress(process: ExperimentProcess, owner: str, watched: Watched | None, drawn: int) -> None:
    """The live part of the page: the bar. The curves are drawn anew only when there are more rows."""
    process.touch(owner)
    done = watched.done if watched is not None else 0
    if done != drawn or (watched is not None and watched.active and process.running is None):
        st.rerun()
    bar, word = st.empty(), st.empty()
    if watched is not None:
        total = len(watched.keys)
        bar.progress(done / max(total, 1), f"{done:,} of {total:,} units")
        if watched.active and (running := process.running) is not None:
            word.caption(literal(running.progress_line.partition(" units, ")[2] or running.progress_line))


def show_rows(watched: Watched) -> None:
    try:
        results = results_of(str(watched.path), *version_of(watched.path))
    except ValueError as error:
        st.error(literal(str(error)))
        return
    explore(results, watched.experiment.methods)


def version_of(path: Path) -> tuple[float, int]:
    """Changes with the file."""
    try:
        found = path.stat()
    except OSError:
        return 0.0, 0
    return found.st_mtime, found.st_size


def results_rows(path: Path) -> dict[str, Record]:
    return contents(str(path), *version_of(path)).rows


@st.cache_resource(show_spinner=False, max_entries=4)
def contents(path: str, *version: float) -> Content:
    return store.read(Path(path))


@st.cache_resource(show_spinner=False, max_entries=8)
def results_of(path: str, *version: float) -> Results:
    """A store's rows, read once until it changes."""
    content = contents(path, *version)
    experiment = summary.declared(content)
    return Results(content, experiment, summary.enriched(content, experiment))


def open_if_asked() -> None:
    """Hand the run behind a row to the Match page, or to the Debug page."""
    if (asked := DEBUG_ROW.pop()) is not None:
        links.run_again(asked)
    recipe = ROW.pop()
    if recipe is not None:
        if (run := RUN.get()) is not None:
            run.job.stop()
            run.job.wait(STOPPING)
        address.use(recipe)
        st.switch_page(page("match"))
