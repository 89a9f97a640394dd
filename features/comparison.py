"""One pair, one model, several methods: their results as rows, and the rows as CSV, Markdown, LaTeX, JSON, a grid."""

import csv
import io
import json
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from adgm import METHODS, Problem, Result, State
from adgm.bound import checked
from features.figures import grid
from features.models import MODELS
from features.pairs import Pair
from features.ransac import ransac_matching
from features.score import BETTER, SAME, WORD, Metrics, as_assignment, measure, number, ratio
from features.setup import PAIR_FILE, Setup

RANSAC = "ransac"  # no solver of the problem: it looks at the images, and is everybody's reference point
LABELS = {key: entry.label for key, entry in METHODS.items()} | {RANSAC: "Nearest + RANSAC"}


@dataclass(frozen=True, eq=False)
class Row:
    """What one method came to, or why it did not run."""

    setup: Setup
    result: Result[Any] | None = None
    metrics: Metrics | None = None
    refusal: str = ""
    gap: float | None = None  # how far from optimal it can be, as a share; None: no bound is known
    reference: str = ""  # what it is if not the setup's method

    @property
    def key(self) -> str:
        return self.reference or self.setup.method

    @property
    def label(self) -> str:
        return LABELS[self.key]

    @property
    def caption(self) -> str:
        """correct/total (score); a matching that the problem does not allow has no score."""
        caption = "" if self.metrics is None else self.metrics.caption
        return caption.replace(" (nan)", "")

    @property
    def pairs(self) -> NDArray[np.int64]:
        """The matched pairs, k × 2."""
        return np.empty((0, 2), np.int64) if self.result is None else self.result.pairs


def fitting(problem: Problem) -> list[str]:
    """The methods that take this problem."""
    return [key for key, entry in METHODS.items() if not entry.refusal(problem)]


def references(pair: Pair) -> list[str]:
    """What else there is to compare with: on image pairs, nearest neighbours with RANSAC."""
    return [] if pair.left.image is None or pair.right.image is None else [RANSAC]


def reference_row(setup: Setup, pair: Pair, problem: Problem) -> Row:
    """Nearest neighbours, ratio test and RANSAC on the pair's images, measured by the model like any other matching.

    Who may leave points out pays less: under a cost model such a matching has no score if the problem forbids it.
    """
    began = perf_counter()
    try:
        matching = ransac_matching(pair)
    except ValueError as error:
        return Row(setup, refusal=f"{LABELS[RANSAC]}: {error}", reference=RANSAC)
    seconds = perf_counter() - began
    assignment = as_assignment(problem, matching)
    metrics = measure(pair, problem, assignment, MODELS[setup.model].sense)
    if metrics.sense == "cost" and not _allowed(problem, assignment):
        metrics = replace(metrics, energy=math.nan)
    state = State(iteration=1, x=assignment.astype(float), best=assignment, converged=True)
    result: Result[Any] = Result(problem, assignment, metrics.energy, "converged", 1, seconds, {}, state)
    return Row(setup, result, metrics, reference=RANSAC)


def _allowed(problem: Problem, assignment: NDArray[np.bool_]) -> bool:
    try:
        checked(problem, assignment)
    except ValueError:
        return False
    return True


def compare(
    setup: Setup,
    pair: Pair,
    problem: Problem,
    methods: Iterable[str] | None = None,
    *,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    time_limit: float | None = None,
) -> Iterator[Row]:
    """Run the methods (all that fit if None) one after another; a method that fails is a row with its reason.

    `options` gives the options of a method by its key; the setup's own method and options are not looked at.
    """
    sense = MODELS[setup.model].sense
    for key in [*fitting(problem), *references(pair)] if methods is None else methods:
        if key == RANSAC:
            yield reference_row(setup, pair, problem)
            continue
        mine = replace(setup, method=key, method_options=dict((options or {}).get(key, {})))
        try:
            result = mine.run(problem, time_limit=time_limit)
        except ValueError as error:
            yield Row(mine, refusal=str(error))
            continue
        yield Row(mine, result, measure(pair, problem, result.assignment, sense))


# ---- the table ---------------------------------------------------------------------------------------------------


def best_energy(rows: Sequence[Row]) -> float:
    """The lowest energy that any of the methods found."""
    energies = [row.metrics.energy for row in rows if row.metrics is not None]
    return min((energy for energy in energies if not math.isnan(energy)), default=math.nan)


def is_best(row: Row, rows: Sequence[Row]) -> bool:
    """Whether nobody found a better matching, but for rounding."""
    lowest = best_energy(rows)
    return row.metrics is not None and row.metrics.energy <= lowest + SAME * abs(lowest)


def records(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows as plain values, one dictionary each; one that did not run has nothing but its reason."""
    lowest = best_energy(rows)
    found = []
    for row in rows:
        if row.result is None or row.metrics is None:
            found.append({"method": row.label, "status": row.refusal})
            continue
        record: dict[str, Any] = {"method": row.label}
        if row.metrics.possible is not None:
            record |= {"correct": row.metrics.correct, "possible": row.metrics.possible}
            record |= {"accuracy": row.metrics.accuracy}
        record |= {"matched": row.metrics.matched, WORD[row.metrics.sense]: row.metrics.score}
        if row.metrics.ratio is not None:
            record["ratio_to_truth"] = row.metrics.ratio
        record["ratio_to_best"] = ratio(row.metrics.energy, lowest)
        record |= {} if row.gap is None else {"gap": row.gap}
        record |= {"iterations": row.result.iterations, "seconds": row.result.seconds, "status": row.result.status}
        found.append(record)
    return found


def table_csv(rows: Sequence[Row]) -> bytes:
    """Every number in full."""
    found = records(rows)
    out = io.StringIO()
    columns = max(found, key=len, default={"method": ""})
    writer = csv.DictWriter(out, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)
    return out.getvalue().encode()


def table_text(rows: Sequence[Row]) -> str:
    """Aligned columns for a terminal; a star marks the best."""
    cells = [[*line, "*" if best else ""] for line, best in _lines(rows)]
    header = [*_header(rows), ""]
    widths = [max(len(line[i]) for line in [header, *cells]) for i in range(len(header))]
    lines = [_row(line, widths) for line in [header, *cells]]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def table_markdown(rows: Sequence[Row]) -> str:
    """A table for a README; the best in bold."""
    header = _header(rows)
    lines = [f"| {' | '.join(header)} |", "|" + "|".join(["---"] + ["---:"] * (len(header) - 1)) + "|"]
    for cells, best in _lines(rows):
        marked = [f"**{cells[0]}**" if best else cells[0], *cells[1:]]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in marked) + " |")
    return "\n".join(lines) + "\n"


def table_latex(rows: Sequence[Row]) -> str:
    """A table for a paper (package booktabs); the best in bold."""
    header = _header(rows)
    lines = [rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}", r"\toprule"]
    lines += [" & ".join(map(_latex, header)) + r" \\", r"\midrule"]
    for cells, best in _lines(rows):
        safe = [_latex(cell) for cell in cells]
        lines.append(" & ".join([rf"\textbf{{{safe[0]}}}" if best else safe[0], *safe[1:]]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _header(rows: Sequence[Row]) -> list[str]:
    metrics = next((row.metrics for row in rows if row.metrics is not None), None)
    if metrics is None:
        return ["method"]
    truth = ["correct", "accuracy"] if metrics.possible is not None else ["matched"]
    beside = ["/ truth"] if metrics.truth_energy is not None else []
    gap = ["gap"] if _bounded(rows) else []
    return ["method", *truth, WORD[metrics.sense], *beside, "/ best", *gap, "iterations", "seconds"]


def _bounded(rows: Sequence[Row]) -> bool:
    return any(row.gap is not None for row in rows)


def _lines(rows: Sequence[Row]) -> Iterator[tuple[list[str], bool]]:
    """The cells of each finished row, and whether it is the best."""
    lowest = best_energy(rows)
    for row in rows:
        if row.result is None or row.metrics is None:
            continue
        m = row.metrics
        accuracy = "–" if m.accuracy is None else f"{m.accuracy:.1%}"
        cells = [row.label, *([f"{m.correct}/{m.possible}", accuracy] if m.possible is not None else [str(m.matched)])]
        cells.append("–" if math.isnan(m.score) else number(m.score))
        cells += [] if m.ratio is None else [_share(m.ratio)]
        cells.append(_share(ratio(m.energy, lowest)))
        if _bounded(rows):
            cells.append("–" if row.gap is None else f"{row.gap:.2%}")
        cells += [str(row.result.iterations), f"{row.result.seconds:.3f}"]
        yield cells, is_best(row, rows)


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.4f}"


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """The first cell to the left, the others to the right."""
    first, *others = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]).rstrip()


def _latex(cell: str) -> str:
    special = {"%": r"\%", "&": r"\&", "_": r"\_", "#": r"\#", "$": r"\$", "–": "--"}
    return "".join(special.get(letter, letter) for letter in cell)


# ---- pictures and matchings --------------------------------------------------------------------------------------


def grid_figure(pair: Pair, rows: Sequence[Row]) -> Figure:
    """The matchings side by side, method correct/total (score), as in the paper's figures."""
    done = {row.label: row for row in rows if row.metrics is not None}
    metrics = [row.metrics for row in done.values() if row.metrics is not None]
    note = ""
    if metrics:
        word = WORD[metrics[0].sense]
        note = f"In brackets the {word}: {BETTER[metrics[0].sense]}; the best in bold."
        if metrics[0].truth_score is not None:
            note += f" The truth has {number(metrics[0].truth_score)}."
    best = [label for label, row in done.items() if is_best(row, rows)]
    cells = {label: (row.caption, row.pairs) for label, row in done.items()}
    return grid(pair, cells, best=best, note=note)


def matchings_json(pair: Pair, rows: Sequence[Row]) -> bytes:
    """All matchings, with settings and metrics; points are numbered from 0. What was refused says why."""
    content = {
        "pair": pair.name,
        "truth": None if pair.truth is None else pair.truth.tolist(),
        "methods": [
            {
                "method": row.key,
                "setup": None if row.reference else row.setup.to_dict(),
                "label": row.label,
                "refused": row.refusal or None,
                "pairs": None if row.result is None else row.pairs.tolist(),
                "metrics": None if row.metrics is None else _plain(row.metrics.to_dict()),
                "gap": row.gap,
                "iterations": None if row.result is None else row.result.iterations,
                "seconds": None if row.result is None else row.result.seconds,
                "status": None if row.result is None else row.result.status,
            }
            for row in rows
        ],
    }
    return json.dumps(content, ensure_ascii=False, indent=1).encode()


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """JSON has no nan."""
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in values.items()}


def as_command(
    setup: Setup,
    methods: Sequence[str],
    options: Mapping[str, Mapping[str, Any]],
    time_limit: float | None = None,
    pair_file: str = PAIR_FILE,
) -> str:
    """The same comparison on a command line; the setup's own method and options are not looked at."""
    plain = replace(setup, method=next(iter(METHODS)), method_options={})
    words = shlex.split(plain.as_command(pair_file))
    at = words.index("--method")
    words[at : at + 2] = ["--methods", ",".join(methods)]
    words[words.index("match")] = "compare"
    for method, values in options.items():
        words += [word for name, value in values.items() for word in ("--option", f"{method}.{name}={value}")]
    words += [] if time_limit is None else ["--time-limit", f"{time_limit:g}"]
    return shlex.join(words)
