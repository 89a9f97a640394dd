"""What an experiment came to: verdicts, a curve whose points open, the pairs behind a point, and the report."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import streamlit as st

from experiments import report, summary
from experiments.paper import EXPERIMENTS
from experiments.spec import Experiment, Panel
from experiments.store import Content, Record
from experiments.studies import SUMMARIES
from experiments.summary import MEASURES, Place
from features.datasets import DATASETS
from features.plots.figures import save
from features.recipe import Recipe
from ui.jobs.scheduler import POOL
from ui.parts.charts.experiment import curves, picked
from ui.parts.charts.legible import draw
from ui.parts.downloads import download
from ui.parts.pictures import inline
from ui.shell import admission
from ui.shell.session_slots import ALL_PAIRS, DEBUG_ROW, MEANS, METHOD_BEHIND, ROW, START, Slot

SHOWN = 8  # pairs behind a point, at first


@dataclass(frozen=True, eq=False)
class Results:
    """Rows with what is needed to draw them."""

    content: Content
    experiment: Experiment
    rows: list[Record]

    @cached_property
    def told(self) -> tuple[str, bytes]:
        """A study's own summary, and its diagram as PNG where there is one; once, since it takes a moment to draw."""
        words, figure = SUMMARIES[self.experiment.name](self.content)
        return words, b"" if figure is None else save(figure, "png")

    @cached_property
    def page(self) -> str:
        """The report; its figures take seconds to draw."""
        return report.page(self.content)


def explore(results: Results, only: Sequence[str] = ()) -> None:
    """Verdicts, a curve whose points open, the pairs behind a point, and the report."""
    experiment, rows = results.experiment, results.rows
    found = "\n".join(f"- {line}" for line in summary.verdicts(rows, experiment))
    if experiment.name in SUMMARIES and EXPERIMENTS[experiment.name].panels == experiment.panels:
        words, diagram = results.told
        if diagram:
            st.image(inline(diagram), width=760, alt=f"Diagram of {experiment.title}")
        st.markdown(words)
    finding, drawing = st.columns([1, 2], gap="medium")
    with finding:
        st.markdown(found)
    there = {row["panel"] for row in rows}
    panels = {panel.title: panel for panel in experiment.panels if panel.title in there}
    if not panels:
        st.caption("No unit has a result yet.")
        return
    with finding.container(horizontal=True, vertical_alignment="bottom"):
        title = st.selectbox("Diagram", list(panels), key=f"panel of {experiment.name}")
        measures = list(dict.fromkeys([*experiment.measures, "accuracy", "best", "seconds", "iterations"]))
        measure = st.selectbox(
            "Measure", measures, key=f"measure of {experiment.name}", format_func=lambda one: MEASURES[one].label
        )
    panel = panels[title]
    means = summary.points(rows, measure)
    methods = [key for key in experiment.applicable(panel) if not only or key in only]
    methods = [key for key in methods if any(place[0] == title and place[2] == key for place in means)]
    chart = f"curves {experiment.name} {title} {measure}"
    with drawing:
        draw(
            curves(experiment, panel, methods, measure, means),
            height=380,
            renderer="svg",
            key=chart,
            on_select=lambda: point_clicked(chart, panel, methods, measure),
            alt=f"{MEASURES[measure].label}, {title}",
        )
    MEANS.set(means)
    behind(results, panel, methods, measure, means)
    take_away(results)


def point_clicked(chart: str, panel: Panel, methods: Sequence[str], measure: str) -> None:
    """A click on a curve chooses its setting and its method below."""
    selected = st.session_state[chart]["selection"]["selected"]
    place = picked(panel, methods, MEANS.get() or {}, selected)
    if place is not None:
        st.session_state[f"setting {panel.title}"], st.session_state[METHOD_BEHIND] = place[1], place[2]


def behind(results: Results, panel: Panel, methods: Sequence[str], measure: str, means: dict[Place, Any]) -> None:
    """The pairs of one point, the worst first, each of which opens on the Match page."""
    if not methods:
        st.caption("No value of this measure yet.")
        return
    st.markdown("**The pairs behind a point**, worst first. Click a point, or choose one:")
    with st.container(horizontal=True):
        settings = [x for x in panel.settings if any((panel.title, x, method) in means for method in methods)]
        x = settings[0]
        if panel.values:
            x = st.selectbox(panel.label or "Setting", settings, key=f"setting {panel.title}")
        if st.session_state.get(METHOD_BEHIND) not in methods:
            st.session_state[METHOD_BEHIND] = methods[0]
        method = st.selectbox(
            "Method", methods, key=METHOD_BEHIND, format_func=lambda name: results.experiment.variant(name).label
        )
    found = summary.worst_first(results.rows, (panel.title, x, method), measure)
    shown = SHOWN if not st.session_state.get(ALL_PAIRS) else len(found)
    for row in found[:shown]:
        with st.container(horizontal=True, vertical_alignment="center", key=f"pair {row['key']}"):
            st.markdown(described(row, panel), width="stretch")
            if st.button("Open pair", key=f"open {row['key']}", help="Run it again on the Match page"):
                ask_to_open(ROW, results.experiment, panel, row)
            if st.button("Debug", key=f"debug {row['key']}", help="Run it again and ask why its matches are wrong"):
                ask_to_open(DEBUG_ROW, results.experiment, panel, row)
    if len(found) > SHOWN:
        st.toggle(f"Show all {len(found)} pairs", key=ALL_PAIRS)


def described(row: Record, panel: Panel) -> str:
    """A row in a line."""
    at = ", ".join(f"{name} {value}" for name, value in row["at"].items() if name not in panel.dataset_params)
    words = [f"{row['correct']}/{row['possible']} right"] if row.get("possible") else []
    ratio = summary.objective_ratio(row)
    words += [f"objective ratio {ratio:.4f}"] if ratio is not None else []
    words += [f"{row['iterations']} iterations, {row['seconds']:.3f} s, {row['status']}"]
    words += [row["note"]] if row.get("note") else []
    return f"{DATASETS[panel.dataset].label}, {at}: {' · '.join(words)}"


def recipe_of(experiment: Experiment, panel: Panel, row: Record) -> Recipe:
    """The run that made a row; of a classic, the pair with the model that it was measured by."""
    varied = panel.varied(row["x"])
    model = {**panel.model_params, **varied.get("model_params", {})}
    chosen = Recipe(panel.dataset, row["at"], panel.model, model)
    return experiment.variant(row["method"]).recipe(chosen, row.get("options", {}))


def ask_to_open(where: Slot[Recipe], experiment: Experiment, panel: Panel, row: Record) -> None:
    """A pair was asked for, perhaps in a part of the page that is drawn alone: draw the whole page, which opens it."""
    where.set(recipe_of(experiment, panel, row))
    if where is ROW and not experiment.variant(row["method"]).classic:
        START.set(True)  # a classic is no run of a solver: its pair is opened alone
    st.rerun()


def take_away(results: Results) -> None:
    """The report, here or as a file, and the tables."""
    experiment = results.experiment
    with st.expander("Report and tables", icon=":material/download:"):
        tables = report.tables(experiment, results.rows)
        with st.container(horizontal=True):
            for label, name, make in (
                ("Report (HTML)", "report.html", lambda: results.page),
                ("Tables (Markdown)", "tables.md", lambda: "\n".join(one.markdown() for one in tables)),
                ("Tables (LaTeX)", "tables.tex", lambda: "\n".join(one.latex() for one in tables)),
                ("Means (CSV)", "means.csv", lambda: report.long_csv(experiment, results.rows)),
            ):
                download(label, f"{experiment.name}-{name}", make)
        if st.toggle("Read the report here", key="read report"):
            try:
                with st.spinner("Drawing the report …"):
                    page = POOL.perform(lambda: results.page, admission.current())
            except ValueError as refused:  # the server is busy
                st.warning(str(refused))
            else:
                st.iframe(page, height=800)
