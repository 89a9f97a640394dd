"""A run to look at: curves with the paper's axes, tables in Markdown, LaTeX and CSV, one HTML file with everything."""

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments import summary
from experiments.spec import KNOWN, Experiment, Panel, Variant
from experiments.store import Content, Record
from experiments.summary import MEASURES, OURS, PUBLISHED, Point
from features.datasets import DATASETS
from features.models import MODELS
from features.parameters import Value
from features.plots.figures import save
from features.plots.theme import method_look
from features.tables import Table, csv_text, html_page, html_picture

# Okabe and Ito's palette, told apart by people with any kind of colour vision, and a marker for each method.
COLUMNS = 3


def look(variant: Variant) -> dict[str, Any]:
    """How a method is drawn, the same in every figure; a variant of it is dashed."""
    width, order = (2.2, 3) if variant.method in PUBLISHED + OURS else (1.2, 2)
    own = method_look(variant.method)
    stroke = own.stroke if variant.name in KNOWN else "dashed"
    return {"color": own.colour, "marker": own.marker, "ls": stroke, "lw": width, "ms": 5, "zorder": order}


# ---- curves ------------------------------------------------------------------------------------------------------


def figures(experiment: Experiment, rows: Sequence[Record]) -> dict[str, Figure]:
    """One figure per data set: a column per panel, a row per measure. Panels without anything that varies have none."""
    found = {}
    for dataset in dict.fromkeys(panel.dataset for panel in experiment.panels):
        drawn = {row["panel"] for row in rows}
        panels = [p for p in experiment.panels if p.dataset == dataset and p.values and p.title in drawn]
        for start in range(0, len(panels), COLUMNS):
            page = f" {start // COLUMNS + 1}" if len(panels) > COLUMNS else ""
            some = panels[start : start + COLUMNS]
            found[f"{DATASETS[dataset].label}{page}"] = curves(experiment, some, rows)
    return found


def curves(experiment: Experiment, panels: Sequence[Panel], rows: Sequence[Record]) -> Figure:
    """Panels side by side, their measures below each other; of a single panel the measures stand side by side."""
    measures, alone = experiment.measures, len(panels) == 1
    high, wide = (1, len(measures)) if alone else (len(measures), len(panels))
    size = (0.6 + 3.7 * wide, 0.9 + 2.7 * high)
    figure = Figure(figsize=size, dpi=110, facecolor="white", layout="constrained")
    boxes = figure.subplots(high, wide, squeeze=False)
    shown: dict[str, None] = {}
    for line, measure in enumerate(measures):
        means = summary.points(rows, measure)
        for column, panel in enumerate(panels):
            axes = boxes[column, line] if alone else boxes[line, column]
            for method in experiment.applicable(panel):
                mine = {x: means[panel.title, x, method] for x in panel.values if (panel.title, x, method) in means}
                if mine:
                    draw(axes, panel, mine, experiment.variant(method))
                    shown[method] = None
            furnish(axes, panel)
            if alone or line == 0:
                axes.set_title(panel.title, fontsize=10)
            if alone or column == 0:
                axes.set_ylabel(MEASURES[measure].label, fontsize=9)
            if alone or line == len(measures) - 1:
                axes.set_xlabel(panel.label, fontsize=9)
    drawn = [experiment.variant(method) for method in experiment.methods if method in shown]
    handles = [Line2D([], [], label=variant.label, **look(variant)) for variant in drawn]
    columns = min(2 * wide, max(len(handles), 1))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize=8.5, frameon=False)
    return figure


def places(panel: Panel) -> dict[Value, float]:
    """Where the settings lie on the axis: words, and numbers that span powers of ten, side by side."""
    numbers = [float(x) for x in panel.values if not isinstance(x, str)]
    wide = len(numbers) > 1 and min(numbers) > 0 and max(numbers) / min(numbers) >= 50
    if wide or len(numbers) < len(panel.values):
        return {x: float(at) for at, x in enumerate(panel.values)}
    return {x: float(x) for x in panel.values}


def draw(axes: Axes, panel: Panel, mine: dict[Value, Point], variant: Variant) -> None:
    at = places(panel)
    style = look(variant)
    if all(isinstance(x, str) for x in panel.values):
        style["ls"] = ""
    xs, means, errors = [at[x] for x in mine], [p.mean for p in mine.values()], [p.error for p in mine.values()]
    axes.errorbar(xs, means, yerr=errors, capsize=2, elinewidth=0.8, **style)


def furnish(axes: Axes, panel: Panel) -> None:
    at = places(panel)
    if list(at) != list(at.values()) or len(at) <= 10:
        axes.set_xticks(list(at.values()), [f"{x:g}" if isinstance(x, int | float) else x for x in at])
    axes.tick_params(labelsize=8)
    axes.grid(True, color="#e4e6ea", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


# ---- tables ------------------------------------------------------------------------------------------------------


def tables(experiment: Experiment, rows: Sequence[Record]) -> list[Table]:
    """Per panel: methods by measures where nothing varies, else a table of methods by settings for every measure."""
    found = []
    for panel in experiment.panels:
        means = {measure: summary.points(rows, measure) for measure in experiment.measures}
        methods = [m for m in experiment.applicable(panel) if any(row["method"] == m for row in rows)]
        if not panel.values:
            beside = {MEASURES[measure].label: (measure, None) for measure in experiment.measures}
            found.append(table(experiment, panel, panel.title, beside, methods, means))
            continue
        for measure in experiment.measures:
            columns = {_short(x): (measure, x) for x in panel.values}
            title = f"{panel.title}: {MEASURES[measure].label}"
            found.append(table(experiment, panel, title, columns, methods, means))
    return [one for one in found if one.lines]


def _short(x: Value) -> str:
    return f"{x:g}" if isinstance(x, int | float) else str(x)


def table(
    experiment: Experiment,
    panel: Panel,
    title: str,
    columns: Mapping[str, tuple[str, Value | None]],
    methods: Sequence[str],
    means: dict[str, dict[summary.Place, Point]],
) -> Table:
    lines, numbers, counts = [], [], []
    for method in methods:
        line = [means[measure].get((panel.title, x, method)) for measure, x in columns.values()]
        found = [point for point in line if point is not None]
        if found:
            digits = [MEASURES[measure].digits for measure, _ in columns.values()]
            cells = ["–" if p is None else f"{p.mean:.{d}f}" for p, d in zip(line, digits, strict=True)]
            lines.append((experiment.variant(method).label, *cells))
            numbers.append([None if p is None else p.mean for p in line])
            counts.append(max(point.count for point in found))
    bold = set()
    for column, (measure, _) in enumerate(columns.values()):
        good = MEASURES[measure].better if len(numbers) > 1 else 0
        values = {at: good * mean for at, row in enumerate(numbers) if (mean := row[column]) is not None}
        top = max(values.values(), default=0.0)
        bold |= {(at, column + 1) for at, value in values.items() if good and value >= top - 1e-9 * abs(top)}
    pairs = f"{min(counts)} to {max(counts)}" if len(set(counts)) > 1 else f"{max(counts, default=0)}"
    first = "Method" if not panel.values else f"Method \\ {panel.label}"
    return Table((first, *columns), tuple(lines), frozenset(bold), f"{title} ({pairs} pairs per point)")


def long_csv(experiment: Experiment, rows: Sequence[Record]) -> str:
    """Every mean of every measure, one per line."""
    columns = ("panel", "setting", "method", "measure", "mean", "standard_error", "count")
    found: list[tuple[object, ...]] = []
    for measure in MEASURES:
        for (panel, x, method), p in sorted(summary.points(rows, measure).items(), key=lambda item: str(item[0])):
            found.append((panel, x, method, measure, p.mean, p.error, p.count))
    return csv_text([dict(zip(columns, line, strict=True)) for line in found], columns)


# ---- files -------------------------------------------------------------------------------------------------------


def settings(content: Content, experiment: Experiment) -> list[tuple[str, str]]:
    """What made the rows, as lines of a table."""
    last = content.run
    methods = ", ".join(experiment.variant(method).label for method in experiment.methods)
    models = ", ".join(f"{MODELS[key].label}" for key in dict.fromkeys(panel.model for panel in experiment.panels))
    machines = [f"{m['id']}: {m['cpu']}, {m['cores']} cores, {m['system']}" for m in content.machines.values()]
    sample = "all pairs" if last["sample"] is None else f"{last['sample']} pairs per setting (seeded, nested)"
    return [
        ("Command", last["command"] or "–"),
        ("Pairs", sample),
        ("Seeds", ", ".join(map(str, experiment.seeds))),
        ("Models", models),
        ("Methods", methods),
        ("Time limit", f"{experiment.time_limit:g} s per unit"),
        ("Units", counted(content)),
        ("Machines", "; ".join(machines) or "–"),
        ("Versions", ", ".join(f"{key} {value}" for key, value in last["versions"].items())),
        ("Runs", ", ".join(map(begun, content.runs))),
    ]


def begun(run: Record) -> str:
    """When a run began, of which version, and how busy the machine was."""
    load = f", load {run['load']:g}" if "load" in run else ""
    return f"{run['began']} ({run['versions']['project']}{load})"


def counted(content: Content) -> str:
    """How many rows there are, and how many of them tell less than they should."""
    rows = content.rows.values()
    failed, late = sum("reason" in row for row in rows), sum(row["status"] == "time limit" for row in rows)
    return f"{len(rows):,} rows, {failed} without a result, {late} ended by their time limit"


def page(content: Content) -> str:
    """The whole report as one HTML file that needs nothing else."""
    experiment = summary.declared(content)
    rows = summary.enriched(content, experiment)
    text = html.escape
    parts = [f"<h1>{text(experiment.title)}</h1><p>{text(experiment.about)}</p>"]
    if experiment.paper:
        parts.append(f"<p><b>The paper:</b> {text(experiment.paper)}</p>")
    lines = summary.verdicts(rows, experiment)
    if lines:
        parts.append("<p><b>Here:</b></p><ul>" + "".join(f"<li>{text(line)}</li>" for line in lines) + "</ul>")
    for title, figure in figures(experiment, rows).items():
        parts.append(f"<h2>{text(title)}</h2>{html_picture(save(figure, 'png', dpi=110), title)}")
        parts.append("<p>Bars: the standard error of the mean.</p>")
    parts.append("<h2>Tables</h2>" + "".join(one.html() for one in tables(experiment, rows)))
    if machine := summary.main_machine(rows):
        parts.append(f"<p>Times are only comparable within one machine: those above are of {text(machine)}.</p>")
    for heading, said in (("Without a result", summary.lacking(content)), ("Notes", summary.notes(content))):
        if said:
            items = "".join(f"<li>{text(reason)} ({count})</li>" for reason, count in said[:50])
            parts.append(f"<h2>{heading}</h2><ul>{items}</ul>")
    made = settings(content, experiment)
    cells = "".join(f"<tr><td>{text(key)}</td><td style='text-align:left'>{text(one)}</td></tr>" for key, one in made)
    parts.append(f"<h2>How it was made</h2><table>{cells}</table>")
    return html_page(experiment.title, parts)


def write(content: Content, folder: Path) -> list[Path]:
    """report.html, tables.md, tables.tex, means.csv and the figures as PNG and PDF."""
    experiment = summary.declared(content)
    rows = summary.enriched(content, experiment)
    made = tables(experiment, rows)
    files: dict[str, bytes] = {
        "report.html": page(content).encode(),
        "tables.md": "\n".join(one.markdown() for one in made).encode(),
        "tables.tex": "\n".join(one.latex() for one in made).encode(),
        "means.csv": long_csv(experiment, rows).encode(),
    }
    for title, figure in figures(experiment, rows).items():
        for kind in ("png", "pdf"):
            files[f"{'-'.join(title.lower().split())}.{kind}"] = save(figure, kind)
    folder.mkdir(parents=True, exist_ok=True)
    for file, data in files.items():
        (folder / file).write_bytes(data)
    return [folder / file for file in files]
