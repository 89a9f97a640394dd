"""Several methods on one problem, one after another: a worker that runs a job for each and keeps what came of it.

The jobs are ordinary ones (`ui.jobs.job`), so the cap on computing jobs, the heartbeat, stopping and time limits are
theirs. Between two of them the worker measures the matching and draws its picture: nothing else computes while a
method is timed, and a page only shows what is here.
"""

import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from adgm import ADGM, Problem, solve
from adgm.bounds.bound import bound, refusal, search
from adgm.bounds.branch_and_bound import relative_gap
from adgm.machine.deadline import TimeUp, deadline
from adgm.run import Method
from features import plots
from features.datasets import DATASETS
from features.judge.comparison import LABELS, Row, best_energy, is_best, reference_row
from features.judge.metrics import measure, score
from features.models import MODELS
from features.pairs import Pair
from features.plots.stage import DrawnLine, common
from features.recipe import Recipe
from ui.jobs.job import Job, Snapshot
from ui.jobs.scheduler import POOL, JobPool, Visitor
from ui.jobs.work import Work
from ui.match.optimality import Proof

Status = Literal["running", "finished", "stopped", "abandoned", "failed"]
T = TypeVar("T")
BOUND = "Lower bound"
PICTURE = 5.0, 128  # inches wide, dots per inch

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Entrant:
    """What one method came to: its row, the run behind it, its picture, and its score as time went by."""

    row: Row
    job: Job | None = None
    picture: bytes = b""  # drawn when all are over; those with the same matching share one
    curve: tuple[tuple[float, float], ...] = ()  # (seconds, score of the best matching so far)


@dataclass(frozen=True, eq=False)
class Progress:
    """How far a comparison is."""

    status: Status
    total: int  # parts: the methods and, where it is asked for, the bound
    entrants: tuple[Entrant, ...] = ()
    parts: int = 0  # that are over
    current: str = ""  # what is running
    job: Snapshot | None = None  # and how far that is
    lower: float = -np.inf  # no matching has less energy
    bound_note: str = ""  # why there is no bound
    error: str = ""  # why it failed

    @property
    def active(self) -> bool:
        return self.status == "running"

    @property
    def rows(self) -> list[Row]:
        return [entrant.row for entrant in self.entrants]


class Series(Work):
    """Methods (recipes of one pair and model) in a row, at last the classics that only look at the images.

    Its jobs are members of the pool, one at a time; it is none itself, and only takes a place between them.
    """

    subject = "The comparison"

    def __init__(
        self,
        pair: Pair,
        problem: Problem,
        recipes: Sequence[Recipe],
        *,
        time_limit: float | None = None,
        bounded: bool = True,
        references: Sequence[str] = (),
        visitor: Visitor | None = None,
        pool: JobPool = POOL,
    ) -> None:
        if not recipes:
            raise ValueError("There is nothing to compare: tick at least one method.")
        super().__init__(visitor, pool)
        self.pair, self.problem, self.recipes, self.references = pair, problem, tuple(recipes), tuple(references)
        self.time_limit = time_limit
        self.sense = MODELS[recipes[0].model].sense
        reason = refusal(problem) if bounded else "No bound was asked for."
        # DD's own bound serves as well as a run of its own
        self._bounding = not reason and all(recipe.method != "dd" for recipe in recipes)
        self._progress = Progress("running", len(recipes) + len(references) + self._bounding, bound_note=reason)
        self._job: Job | None = None

    # ------------------------------------------------------------------ what a page asks and says

    def touch(self) -> None:
        super().touch()
        if (job := self._job) is not None:
            job.touch()

    def stop(self) -> None:
        super().stop()
        if (job := self._job) is not None:
            job.stop()

    def progress(self) -> Progress:
        with self._changed:
            now, job = self._progress, self._job
        return replace(now, job=job.snapshot()) if job is not None and now.active else now

    def wait(self, timeout: float | None = None) -> Progress:
        """Block until all is over: for tests."""
        self.join(timeout)
        return self.progress()

    @property
    def keys(self) -> list[str]:
        """Who takes part."""
        return [*(recipe.method for recipe in self.recipes), *self.references]

    # ------------------------------------------------------------------ the worker thread

    def _admit(self) -> None:
        if refusal := self._pool.refusal(self.visitor):
            raise ValueError(refusal)

    def _work(self) -> Status:
        # Builds the tables that all share: the first method need not pay
        self._in_place(lambda: solve(self.problem, ADGM(max_iter=1)))
        for recipe in self.recipes:
            if self._over():
                break
            self._publish(current=Row(recipe).label)
            if (entrant := self._compete(recipe)) is not None:
                self._publish(entrant)
        for key in self.references:
            if self._over():
                break
            self._publish(current=LABELS[key])
            if (entrant := self._in_place(partial(self._refer, key))) is not None:
                self._publish(entrant)
        if self._bounding and not self._over():
            self._publish(current=BOUND)
            self._bound()
        self._draw()
        status: Status = self._why() if self._progress.parts < self._progress.total else "finished"
        return status

    def _ended(self, status: Status, error: str) -> None:
        with self._changed:
            self._job = None
            self._progress = replace(self._progress, status=status, current="", job=None, error=error)

    def _in_place(self, work: Callable[[], T]) -> T | None:
        """What work that is no job comes to, done in a place of the pool; None if it was stopped."""
        if not self._pool.enter(self, self._over):
            return None
        try:
            with suppress(TimeUp), deadline(self._over):
                return work()
            return None
        finally:
            self._pool.leave(self)

    def _refer(self, key: str) -> Entrant:
        row = reference_row(self.recipes[0], self.pair, self.problem, key)
        return Entrant(row)

    def _part(self, method: Method[Any]) -> Job:
        return Job(
            method,
            self.problem,
            time_limit=self.time_limit,
            light=True,
            visitor=self.visitor,
            pool=self._pool,
        )

    def _finished(self, method: Method[Any]) -> Job | None:
        """A job that has run to its end; None if there was no time for it any more."""
        job = self._queued(method)
        if job is not None:
            job.wait()
        with self._changed:
            self._job = None
        return job

    def _queued(self, method: Method[Any]) -> Job | None:
        """A job that has been started; while others fill the queue, wait."""
        job = self._part(method)
        with self._changed:
            while not self._over():
                try:
                    self._job = job
                    job.start()
                    return job
                except ValueError:
                    self._changed.wait(0.5)
        return None

    def _compete(self, recipe: Recipe) -> Entrant | None:
        """One method's part; None if it was stopped before it had anything to show."""
        self._in_place(partial(load, recipe))
        job = self._finished(recipe.method_object())
        end = None if job is None else job.snapshot()
        if job is None or end is None or (end.best is None and end.status != "failed"):
            return None
        if end.status == "failed":
            return Entrant(Row(recipe, refusal=end.error))
        try:
            result = job.result()
            if recipe.method == "dd" and not self._progress.bound_note:
                self._raise_bound(result.state.lower)
            metrics = measure(self.pair, self.problem, result.assignment, self.sense)
            job.release()
            row = Row(recipe, job.result(), metrics)
            return Entrant(row, job, curve=curve(job, self.sense))
        except Exception as fault:  # one that cannot be shown is a row with its reason
            log.exception("a matching could not be measured or drawn")
            return Entrant(Row(recipe, refusal=f"Its matching could not be shown ({type(fault).__name__}: {fault})."))

    def _draw(self) -> None:
        """A picture of every matching: the best one whole, of others the lines that it does not have."""
        entrants, rows = self._progress.entrants, self._progress.rows
        distinct = {matching_of(one): one.row.pairs for one in entrants if one.row.result is not None}
        best = next((row.pairs for row in rows if is_best(row, rows)), None)
        drawn = {
            key: picture(self.pair, pairs, () if best is None else common(self.pair, best, pairs))
            for key, pairs in distinct.items()
        }
        told = (replace(one, picture=drawn.get(matching_of(one), b"")) for one in entrants)
        with self._changed:
            self._progress = replace(self._progress, entrants=tuple(told))

    def _bound(self) -> None:
        """Search for a lower bound, beginning with the best matching found."""
        rows = [row for row in self._progress.rows if row.result is not None and not row.reference]
        if not rows:
            return
        lowest = best_energy(rows)
        best = next(row.result.assignment for row in rows if row.result and row.result.energy <= lowest)
        job = self._finished(Proof(best, search(self.problem)))
        end = None if job is None else job.snapshot()
        done = end is not None and end.status not in ("stopped", "abandoned")
        if job is not None and end is not None and end.best is not None:
            self._raise_bound(job.state.lower)
        elif job is None or (end is not None and end.status == "failed"):  # too large: in one go
            found = self._in_place(lambda: bound(self.problem, best, time_limit=self.time_limit).lower)
            self._raise_bound(-np.inf if found is None else found)
            done = found is not None
        if done:
            self._publish(parts=1)

    def _raise_bound(self, lower: float) -> None:
        with self._changed:
            now = self._progress
            self._progress = replace(now, lower=max(lower, now.lower))
        self._publish()

    def _publish(self, entrant: Entrant | None = None, *, current: str | None = None, parts: int = 0) -> None:
        with self._changed:
            now = self._progress
            entrants = now.entrants if entrant is None else (*now.entrants, entrant)
            self._progress = replace(
                now,
                entrants=tuple(self._with_gap(one, now.lower) for one in entrants),
                current=now.current if current is None else current,
                parts=now.parts + parts + (entrant is not None),
            )

    def _with_gap(self, entrant: Entrant, lower: float) -> Entrant:
        metrics = entrant.row.metrics
        if metrics is None or not np.isfinite(lower) or np.isnan(metrics.energy):
            return entrant
        gap = relative_gap(metrics.energy, lower, self.problem.spread)
        return replace(entrant, row=replace(entrant.row, gap=gap))


@cache
def _few_points() -> Pair:
    pair = DATASETS["random"].load(images=True, inliers=6, outliers=0)
    return replace(pair, given=MODELS["B"].build(pair))


@cache
def _load(method: str, model: str) -> None:
    with suppress(ValueError):  # whatever does not suit so few points will say so about the real ones
        Recipe("random", {}, model, {}, method).run(MODELS[model].build(_few_points()), time_limit=1.0)


def load(recipe: Recipe) -> None:
    """Have the compiled code of a method and a model in memory before it is timed."""
    _load(recipe.method, recipe.model)


# ---- what is kept of a run ---------------------------------------------------------------------------------------


def matching_of(entrant: Entrant) -> tuple[tuple[int, ...], ...]:
    """The matched pairs, the same for the same matching."""
    return tuple(sorted(map(tuple, entrant.row.pairs.tolist())))


def picture(pair: Pair, pairs: NDArray[np.int64], without: "Collection[DrawnLine]" = ()) -> bytes:
    """The matched lines over both images but for some, nothing around them, as PNG."""
    wide, dpi = PICTURE
    return plots.figures.save(plots.figures.bare(pair, pairs, wide, without), "png", dpi=dpi)


def curve(job: Job, sense: Any) -> tuple[tuple[float, float], ...]:
    """The score of the best matching so far over the seconds of computing, at the stored iterations and the end."""
    result = job.result()
    frames = [frame for frame in job.frames() if frame.iteration > 0]
    iterations = result.history.get("iteration", np.empty(0))
    if len(iterations) and frames:
        seconds = np.interp([frame.iteration for frame in frames], iterations, result.history["seconds"])
        lowest = np.minimum.accumulate([frame.rounded_energy for frame in frames])
        points = [*zip(seconds.tolist(), lowest.tolist(), strict=True)]
    else:
        points = []
    points = [point for point in points if point[1] >= result.energy] + [(result.seconds, result.energy)]
    return tuple((max(moment, 1e-6), score(energy, sense)) for moment, energy in points)
