"""A run about several views as the page knows it: the task behind it, where it is, and what was found."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from adgm.views import Forced
from adgm.views.tracks import Couple
from features.views import Step, Views, ViewSet, ViewsRun
from features.views.found import PairFound
from features.views.recipe import ViewsRecipe
from ui.jobs.task import Progress, Report, Task
from ui.parts.canvas.views import Point


@dataclass(frozen=True, eq=False)
class Reached:
    """Where a run is. Frozen: a page reads it while the run goes on."""

    view_set: ViewSet  # with the points that were found
    steps: tuple[Step, ...]
    pairs: Mapping[Couple, PairFound]
    run: ViewsRun
    found: Views | None = None  # once it is over


@dataclass(frozen=True)
class Picked:
    """What the visitor looks at: a point, or a pair of views; or the point for which a partner is asked."""

    point: Point | None = None
    couple: Couple | None = None
    joining: bool = False


@dataclass(frozen=True, eq=False)
class ViewsShown:
    """A run on the page, with the choice that it came from."""

    task: Task
    recipe: ViewsRecipe
    source: str  # what identifies its views
    number: int
    forced: tuple[Forced, ...] = ()

    @cached_property
    def ended(self) -> Views | None:
        """What was found, once the task is over; None if that is nothing."""
        reached: Reached | None = self.task.progress().value
        if reached is None:
            return None
        try:
            return reached.found or reached.run.result(stopped=True)
        except ValueError:
            return None

    def where(self) -> tuple[Progress, Reached | None]:
        progress = self.task.progress()
        return progress, progress.value


def follow(make: Callable[[], ViewsRun]) -> Callable[[Report], Any]:
    """The work of a task: step by step to the end."""

    def work(report: Report) -> Reached:
        run = make()
        while run.advance() is not None:
            share, words = run.progress
            report(share, words, Reached(run.view_set, tuple(run.steps), dict(run.pairs), run))
        return Reached(run.view_set, tuple(run.steps), dict(run.pairs), run, run.result())

    return work
