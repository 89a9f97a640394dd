"""The visitor's run book: every run of Match, Compare and the Debug page's sweeps, noted once, as it is first shown."""

from collections.abc import Sequence
from weakref import WeakSet

from features.explain.run_book import RunBook, thinned
from features.explain.trials import Trial
from features.judge.metrics import kinds
from features.pairs import Pair
from ui.jobs.comparison import Entrant
from ui.match.page_run import Run
from ui.shell.session_slots import BOOK


class Book(RunBook):
    """A run book that knows what it has seen, without holding on to it."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: WeakSet[object] = WeakSet()

    def first_sight(self, what: object) -> bool:
        new = what not in self.seen
        self.seen.add(what)
        return new


def current() -> Book:
    book = BOOK.get()
    if book is None:
        book = Book()
        BOOK.set(book)
    return book


def note_run(run: Run) -> None:
    """A run of the Match page that is over."""
    if current().first_sight(run.job):
        current().add(run.matching, "Match")


def note_entrants(pair: Pair, entrants: Sequence[Entrant]) -> None:
    """The methods of a comparison, as far as they are done."""
    for one in entrants:
        row, result = one.row, one.row.result
        if one.job is None or result is None or row.metrics is None or not current().first_sight(one.job):
            continue
        named = kinds(pair, row.pairs) if pair.judged else None
        ran = result.status, result.iterations, result.seconds
        trial = Trial(row.recipe, pair.name, row.metrics, row.pairs, named, *ran)
        current().note(trial, pair, thinned(result.history), "Compare")


def note_trials(trials: Sequence[tuple[Trial, Pair]], origin: str) -> None:
    """Runs of the Debug page, of which only the outcome is kept."""
    for trial, pair in trials:
        if current().first_sight(trial):
            current().note(trial, pair, origin=origin)
