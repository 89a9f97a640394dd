"""One pair, one model, several methods: their results as rows, and the rows as CSV, Markdown, LaTeX, JSON, a grid."""

import json
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adgm import METHODS, Problem, Result, State
from adgm.machine.short_repr import ShortRepr
from features import plots
from features.judge.classics import CLASSICS
from features.judge.metrics import BETTER, WORD, Metrics, as_assignment, equal, measure, measure_matches, number, ratio
from features.models import MODELS
from features.pairs import Pair
from features.recipe import PAIR_FILE, Recipe
from features.tables import Table, csv_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Labels(Mapping[str, str]):
    """What methods and classics are called; a plug-in may add some."""

    def __getitem__(self, key: str) -> str:
        return METHODS[key].label if key in METHODS else CLASSICS[key].label

    def __iter__(self) -> Iterator[str]:
        return iter([*METHODS, *CLASSICS])

    def __len__(self) -> int:
        return len(METHODS) + len(CLASSICS)


LABELS = Labels()


@dataclass(frozen=True, eq=False)
class Row(ShortRepr):
    """What one method came to, or why it did not run."""

    recipe: Recipe
    result: Result[Any] | None = None
    metrics: Metrics | None = None
    refusal: str = ""
    gap: float | None = None  # how far from optimal it can be, as a share; None: no bound is known
    reference: str = ""  # the classic that it is, if it is not the recipe's method
    matches: NDArray[np.int64] | None = None  # a classic's, k × 2: the problem may know nothing of some of them

    @property
    def key(self) -> str:
        return self.reference or self.recipe.method

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
        if self.matches is not None:
            return self.matches
        return np.empty((0, 2), np.int64) if self.result is None else self.result.pairs


def fitting(problem: Problem) -> list[str]:
    """The methods that take this problem."""
    return [key for key, entry in METHODS.items() if not entry.refusal(problem)]


def references(pair: Pair) -> list[str]:
    """What else there is to compare with: on image pairs, the classics."""
    if pair.left.image is None or pair.right.image is None:
        return []
    return [key for key, classic in CLASSICS.items() if not classic.refusal(pair)]


def refused(pair: Pair) -> list[tuple[str, str]]:
    """The classics that do not match this image pair, by label, and why: what it lacks, or how to install them."""
    if pair.left.image is None or pair.right.image is None:
        return []
    return [(one.label, why) for one in CLASSICS.values() if (why := one.refusal(pair))]


def reference_row(recipe: Recipe, pair: Pair, problem: Problem, key: str) -> Row:
    """A classic on the pair's images, measured by the model like any other matching."""
    began = perf_counter()
    try:
        matching = CLASSICS[key].matching(pair)
    except ValueError as error:
        return Row(recipe, refusal=f"{LABELS[key]}: {error}", reference=key)
    seconds = perf_counter() - began
    rows = np.flatnonzero(matching >= 0)
    matches = np.stack([rows, matching[rows]], axis=1)
    assignment = as_assignment(problem, matching)
    metrics = measure_matches(pair, problem, matches, MODELS[recipe.model].sense)
    state = State(iteration=1, x=assignment.astype(float), best=assignment, converged=True)
    result: Result[Any] = Result(problem, assignment, metrics.energy, "converged", 1, seconds, seconds, {}, state)
    return Row(recipe, result, metrics, reference=key, matches=matches)


def compare(
    recipe: Recipe,
    pair: Pair,
    problem: Problem,
    methods: Iterable[str] | None = None,
    *,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    time_limit: float | None = None,
) -> Iterator[Row]:
    """Run methods one after another on one problem; one that fails is a row with its reason.

    Parameters
    ----------
    recipe : Recipe
        Names the model; its own method and options are not looked at.
    pair, problem : Pair, Problem
        What is matched, and what is minimised.
    methods : keys of `adgm.METHODS`, optional
        All that take the problem if None.
    options : mapping, optional
        The options of a method, by its key.
    time_limit : float, optional
        Seconds of computing (processor time) of each.

    Returns
    -------
    iterator of Row
        Each with its `Result` and its `Metrics`; `table`, `table_csv` and others make tables of them.

    Raises
    ------
    KeyError
        A method that there is not.

    Examples
    --------
    >>> from features.judge.comparison import compare
    >>> from features.recipe import Recipe
    >>> recipe = Recipe("random", {"noise": 0}, model="B")
    >>> pair = recipe.pair()
    >>> rows = compare(recipe, pair, recipe.problem(pair), ["adgm", "rrwm"])
    >>> [(row.label, row.metrics.accuracy) for row in rows]
    [('ADGM (self-tuning)', 1.0), ('RRWM', 1.0)]
    """
    sense = MODELS[recipe.model].sense
    for key in [*fitting(problem), *references(pair)] if methods is None else methods:
        if key in CLASSICS:
            yield reference_row(recipe, pair, problem, key)
            continue
        mine = replace(recipe, method=key, method_options=dict((options or {}).get(key, {})))
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
    return row.metrics is not None and equal(row.metrics.energy, lowest, row.metrics.slack)


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
        record |= {"iterations": row.result.iterations, "seconds": row.result.seconds}
        record |= {"seconds_to_best": row.result.seconds_to_best, "status": row.result.status}
        found.append(record)
    return found


def table(rows: Sequence[Row]) -> Table:
    """The finished rows; the names of the best are bold."""
    lines = list(_lines(rows))
    bold = frozenset((at, 0) for at, (_, best) in enumerate(lines) if best)
    return Table(tuple(_header(rows)), tuple(tuple(cells) for cells, _ in lines), bold)


def table_csv(rows: Sequence[Row]) -> bytes:
    """Every number in full."""
    found = records(rows)
    return csv_text(found, None if found else ["method"]).encode()


def table_text(rows: Sequence[Row]) -> str:
    """Aligned columns for a terminal; a star marks the best."""
    return table(rows).text()


def table_markdown(rows: Sequence[Row]) -> str:
    """A table for a README; the best in bold."""
    return table(rows).markdown()


def table_latex(rows: Sequence[Row]) -> str:
    """A table for a paper (package booktabs); the best in bold."""
    return table(rows).latex()


def _header(rows: Sequence[Row]) -> list[str]:
    metrics = next((row.metrics for row in rows if row.metrics is not None), None)
    if metrics is None:
        return ["method"]
    truth = ["correct", "accuracy"] if metrics.possible is not None else ["matched"]
    beside = ["/ truth"] if metrics.truth_energy is not None else []
    gap = ["gap"] if _bounded(rows) else []
    return ["method", *truth, WORD[metrics.sense], *beside, "/ best", *gap, "iterations", "seconds", "to best"]


def gap_percent(gap: float) -> float:
    """A gap in percent, rounded up to two decimals: 0 only where it is proved to be none."""
    return math.ceil(1e4 * gap) / 100 if math.isfinite(gap) else gap


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
            cells.append("–" if row.gap is None else f"{gap_percent(row.gap):.2f}%")
        cells += [str(row.result.iterations), f"{row.result.seconds:.3f}", f"{row.result.seconds_to_best:.3f}"]
        yield cells, is_best(row, rows)


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.4f}"


# ---- pictures and matchings --------------------------------------------------------------------------------------


def grid_figure(pair: Pair, rows: Sequence[Row]) -> "Figure":
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
    return plots.figures.grid(pair, cells, best=best, note=note)


def matchings_json(pair: Pair, rows: Sequence[Row]) -> bytes:
    """All matchings, with settings and metrics; points are numbered from 0. What was refused says why."""
    content = {
        "pair": pair.name,
        "truth": None if pair.partners is None else pair.partners.tolist(),
        "methods": [
            {
                "method": row.key,
                "recipe": None if row.reference else row.recipe.to_dict(),
                "label": row.label,
                "refused": row.refusal or None,
                "pairs": None if row.result is None else row.pairs.tolist(),
                "metrics": None if row.metrics is None else _plain(row.metrics.to_dict()),
                "gap": row.gap,
                "iterations": None if row.result is None else row.result.iterations,
                "seconds": None if row.result is None else row.result.seconds,
                "seconds_to_best": None if row.result is None else row.result.seconds_to_best,
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
    recipe: Recipe,
    methods: Sequence[str],
    options: Mapping[str, Mapping[str, Any]],
    time_limit: float | None = None,
    pair_file: str = PAIR_FILE,
) -> str:
    """The same comparison on a command line; the recipe's own method and options are not looked at."""
    words = [*shlex.split("python -m features compare"), *recipe.words(pair_file), "--methods", ",".join(methods)]
    for method, values in options.items():
        words += [word for name, value in values.items() for word in ("--option", f"{method}.{name}={value}")]
    words += [] if time_limit is None else ["--time-limit", f"{time_limit:g}"]
    return shlex.join(words)
