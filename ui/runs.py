"""A run as the page knows it: the job, what it was asked, and what can be said about its matching."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adgm import Problem
from adgm.terms import Term, paid_terms, shares
from features.models import MODELS
from features.models.sampled import MOST_ENTRIES
from features.pairs import Pair
from features.score import Metrics, matched_pairs, measure
from ui.charts import Curves
from ui.choices import Chosen, model_key, pair_key
from ui.job import Frame, Job, Snapshot


@dataclass(frozen=True)
class Size:
    """How large a problem is going to be."""

    shape: tuple[int, int]
    order: int

    @property
    def variables(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes of its tables: a matrix within the solver's budget, or the sampled tensor with its tree."""
        square = self.variables**2
        return min(8 * square, 1 << 30) if self.order == 2 else 36 * min(6 * square, MOST_ENTRIES)

    @property
    def text(self) -> str:
        n1, n2 = self.shape
        return f"{n1} × {n2} = {self.variables:,} variables, order {self.order}, about {readable(self.nbytes)}"


def readable(nbytes: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "kB", "MB"):
        if nbytes < 1000:
            return f"{nbytes:.3g} {unit}"
        nbytes /= 1000
    return f"{nbytes:.3g} GB"


def size_of(chosen: Chosen) -> Size:
    return Size(chosen.pair.shape, max(MODELS[chosen.setup.model].orders))


@dataclass(frozen=True, eq=False)
class Run:
    """A job with the choice it came from."""

    job: Job
    chosen: Chosen
    problem: Problem
    number: int

    @property
    def pair(self) -> Pair:
        return self.chosen.pair

    @property
    def sense(self) -> Any:
        return MODELS[self.chosen.setup.model].sense

    @property
    def title(self) -> str:
        return f"Run {self.number}: {self.chosen.setup.title}"

    def shows(self, chosen: Chosen) -> bool:
        """Whether its pair is the one that is chosen now."""
        return pair_key(self.pair) == pair_key(chosen.pair)

    def answers(self, chosen: Chosen) -> bool:
        """Whether it is a run of exactly what is chosen now."""
        mine, now = self.chosen.setup, chosen.setup
        same = (mine.method, mine.method_options) == (now.method, now.method_options)
        return self.shows(chosen) and model_key(self.chosen) == model_key(chosen) and same

    @cached_property
    def outcome(self) -> "Outcome":
        """What it ended with; ask only when the job is over."""
        return Outcome(self)

    @cached_property
    def truth_energy(self) -> float | None:
        nothing = np.zeros(self.problem.n, bool)
        return measure(self.pair, self.problem, nothing, self.sense).truth_energy


class Outcome:
    """The best matching of a finished run, its metrics and its terms, computed when first asked for."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.result = run.job.result()
        self.frames = run.job.frames()
        self.snapshot = run.job.snapshot()

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        return matched_pairs(self.run.problem, self.result.assignment)

    @cached_property
    def metrics(self) -> Metrics:
        return measure(self.run.pair, self.run.problem, self.result.assignment, self.run.sense)

    @cached_property
    def terms(self) -> list[Term]:
        return paid_terms(self.run.problem, self.result.assignment)

    @cached_property
    def shares(self) -> dict[tuple[int, int], float]:
        return shares(self.terms)

    @cached_property
    def curves(self) -> Curves:
        return curves_of(self.snapshot, self.frames)


def curves_of(snapshot: Snapshot, frames: tuple[Frame, ...]) -> Curves:
    """A snapshot's history with the rounded energies of the stored frames."""
    rounded = [(frame.iteration, frame.rounded_energy) for frame in frames]
    return Curves(snapshot.history or {}, [mark.iteration for mark in snapshot.marks], rounded)
