"""A run book: every run with its settings, its numbers, its picture and its curves, as a table, CSV or a report.

    book = RunBook()
    for eta in (0.2, 0.5, 0.8):
        book.add(match(Recipe("turntable", {}, "C", {"eta": eta})))
    Path("report.html").write_text(book.html("Three values of η"))

A report is one file that needs nothing else.
"""

import html
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from adgm import METHODS
from features import plots
from features.explain.trials import Trial, parameters, trial_of, value_of
from features.judge.metrics import WORD
from features.limits import LIMITS
from features.matching import Matching
from features.models import MODELS
from features.pairs import Pair, View
from features.recipe import PARTS
from features.tables import Table, csv_text, html_page, html_picture

MOST = 200  # runs that a book keeps; the oldest go first
MOST_POINTS = 400  # of a curve
DPI = 90


@dataclass(frozen=True, eq=False)
class Entry:
    """A run, with what its picture and its curves are drawn from."""

    number: int
    trial: Trial
    pair: Pair
    history: Mapping[str, NDArray[np.float64]]
    when: datetime
    origin: str = ""  # where it was made

    @property
    def settings(self) -> dict[str, Any]:
        """Whatever was chosen beside the pair, the model and the method, by its name in a link."""
        recipe = self.trial.recipe
        given = ((part.word, getattr(recipe, part.values)) for part in PARTS)
        return {f"{word}.{name}": value for word, values in given for name, value in values.items()}

    def value(self, name: str) -> Any:
        """A cell of the row; of a setting that was not named, its default, if the run has such a thing."""
        if name in (row := self.row):
            return row[name]
        return value_of(self.trial.recipe, name) if name in parameters(self.trial.recipe) else None

    @property
    def row(self) -> dict[str, Any]:
        """One line of the table."""
        metrics, recipe = self.trial.metrics, self.trial.recipe
        return {
            "run": self.number,
            "time": self.when.isoformat(timespec="seconds"),
            "made on": self.origin,
            "pair": self.trial.name,
            "model": MODELS[recipe.model].label,
            "method": METHODS[recipe.method].label,
            **self.settings,
            "sense": metrics.sense,
            "score": metrics.score,
            "truth": metrics.truth_score,
            "accuracy": metrics.accuracy,
            "matched": metrics.matched,
            "verdict": metrics.verdict,
            "status": self.trial.status,
            "iterations": self.trial.iterations,
            "seconds": round(self.trial.seconds, 4),
        }

    @property
    def link(self) -> str:
        """What follows the app's address."""
        return f"?{urlencode(self.trial.recipe.to_query())}"

    @cached_property
    def picture(self) -> bytes:
        """The matching over its images, as PNG; kept for a page that shows it again and again."""
        return self.draw()

    def draw(self) -> bytes:
        """The picture, made anew."""
        caption = f"{self.trial.recipe.title}: {self.trial.metrics.caption}"
        return plots.figures.save(plots.figures.matches(self.pair, self.trial.pairs, caption=caption), "png", dpi=DPI)

    @cached_property
    def curves(self) -> bytes | None:
        """Residual, penalty and energy, as PNG; None where nothing was traced. Kept like the picture."""
        return self.draw_curves()

    def draw_curves(self) -> bytes | None:
        if not any(len(values) for name, values in self.history.items() if name != "seconds"):
            return None
        metrics = self.trial.metrics
        drawn = plots.figures.curves(self.history, sense=metrics.sense, best=metrics.energy, truth=metrics.truth_energy)
        return plots.figures.save(drawn, "png", dpi=DPI)


class RunBook:
    """Runs in the order in which they were made; `add` numbers them from 1."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.count = 0

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def add(self, found: Matching, origin: str = "") -> Entry:
        """A run with its curves."""
        return self.note(trial_of(found), found.pair, thinned(found.result.history), origin)

    def note(
        self, trial: Trial, pair: Pair, history: Mapping[str, NDArray[np.float64]] | None = None, origin: str = ""
    ) -> Entry:
        """A run of which only the outcome was kept."""
        self.count += 1
        shown = replace(pair, given=None)  # costs are not drawn, and may be large
        self.entries.append(Entry(self.count, trial, shown, history or {}, datetime.now(UTC), origin))
        del self.entries[:-MOST]
        self._lighten()
        return self.entries[-1]

    def _lighten(self) -> None:
        """Runs whose images do not fit beside those of later ones keep their points and lines."""
        counted: dict[int, int] = {}  # bytes of each image: many runs share theirs
        for at, entry in reversed(list(enumerate(self.entries))):
            views = entry.pair.left, entry.pair.right
            beside = counted | {id(view.image): view.image.rgb.nbytes for view in views if view.image is not None}
            if sum(beside.values()) <= LIMITS.book_bytes:
                counted = beside
            else:
                left, right = (View(None, view.points) for view in views)
                self.entries[at] = replace(entry, pair=replace(entry.pair, left=left, right=right))

    def csv(self, entries: Iterable[Entry] | None = None) -> str:
        """Every number in full, a line per run; a setting that a run did not name is empty: it had its default."""
        rows = [entry.row | {"link": entry.link} for entry in (self.entries if entries is None else entries)]
        last = ("sense", "score", "truth", "accuracy", "matched", "verdict", "status", "iterations", "seconds", "link")
        names = dict.fromkeys(name for row in rows for name in row if name not in last)
        return csv_text(rows, [*names, *last])

    def html(
        self,
        title: str = "Run book",
        entries: Iterable[Entry] | None = None,
        watch: Callable[[int, int], None] = lambda done, of: None,
    ) -> str:
        """One file that needs nothing else: the table, then every run with its picture and its curves.

        `watch` is told how many runs are done, of how many.
        """
        chosen = list(self.entries if entries is None else entries)
        text = html.escape
        parts = [f"<h1>{text(title)}</h1>", summary(chosen).html()]
        for done, entry in enumerate(chosen):
            watch(done, len(chosen))
            metrics = entry.trial.metrics
            parts.append(f"<section id='run-{entry.number}'><h2>Run {entry.number}: {text(entry.trial.name)}</h2>")
            parts.append(f"<p>{text(entry.trial.recipe.title)}. {text(metrics.explanation)}</p>")
            if sum(map(len, parts)) <= LIMITS.book_bytes:
                parts.append(html_picture(entry.draw(), f"The matching of run {entry.number}"))
                curves = entry.draw_curves()
                parts += [html_picture(curves, f"The curves of run {entry.number}")] if curves else []
            else:
                parts.append("<p>Its pictures are left out: the report would be too large.</p>")
            command = text(entry.trial.recipe.as_command())
            parts.append(f"<p>To repeat it: <code>{command}</code>, or in the app <code>{text(entry.link)}</code></p>")
            parts.append("</section>")
        return html_page(title, parts)


def thinned(history: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    """At most `MOST_POINTS` values of every curve, over a column of iterations; the last ones stay."""
    length = max((len(values) for values in history.values()), default=0)
    kept = np.unique(np.linspace(0, max(length - 1, 0), min(length, MOST_POINTS)).astype(int))
    columns = {"iteration": np.arange(1.0, length + 1), **{n: v for n, v in history.items() if len(v) == length}}
    return {name: np.asarray(values)[kept] for name, values in columns.items()} if length else {}


def summary(entries: Iterable[Entry]) -> Table:
    """The runs for people; each number as it is read."""
    lines = []
    for entry in entries:
        metrics = entry.trial.metrics
        settings = ", ".join(f"{name}={value}" for name, value in entry.settings.items())
        right = "" if metrics.accuracy is None else f"{metrics.accuracy:.1%}"
        value = f"{metrics.score:.6g} ({WORD[metrics.sense]})"
        names = MODELS[entry.trial.recipe.model].label, METHODS[entry.trial.recipe.method].label
        ended = metrics.verdict or entry.trial.status
        lines.append(
            (str(entry.number), entry.trial.name, *names, settings, value, right, ended, f"{entry.trial.seconds:.3f}")
        )
    header = ("run", "pair", "model", "method", "parameters", "value", "right", "verdict", "seconds")
    return Table(header, tuple(lines), title=f"{len(lines)} runs", align="rllllrrlr")
