"""A run as the page knows it: the job, what it was asked, and what can be said about its matching."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from adgm import Problem
from adgm.machine.lazy import once
from features.judge.metrics import measure
from features.matching import Matching
from features.models import MODELS
from features.pairs import Pair
from ui.choice.sidebar import Chosen, model_key, pair_key
from ui.jobs.job import Frame, Job, Snapshot
from ui.parts.charts.run import Curves, reasons


@dataclass(frozen=True, eq=False)
class Run:
    """A job with the choice it came from."""

    job: Job
    chosen: Chosen
    number: int

    @property
    def problem(self) -> Problem:
        """Of its job, which builds it first."""
        return self.job.problem

    @property
    def pair(self) -> Pair:
        return self.chosen.pair

    @property
    def sense(self) -> Any:
        return MODELS[self.chosen.recipe.model].sense

    @property
    def title(self) -> str:
        return f"Run {self.number}: {self.chosen.recipe.title}"

    def shows(self, chosen: Chosen) -> bool:
        """Whether its pair is the one that is chosen now."""
        return pair_key(self.pair) == pair_key(chosen.pair)

    def answers(self, chosen: Chosen) -> bool:
        """Whether it is a run of exactly what is chosen now."""
        mine, now = self.chosen.recipe, chosen.recipe
        same = (mine.method, mine.method_options, mine.check) == (now.method, now.method_options, now.check)
        return self.shows(chosen) and model_key(self.chosen) == model_key(chosen) and same

    @once
    def matching(self) -> Matching:
        """What it ended with; ask only when the job is over."""
        return Matching(self.chosen.recipe, self.pair, self.problem, self.job.result())

    @once
    def curves(self) -> Curves:
        """Of a run that is over."""
        return curves_of(self, self.job.snapshot(), self.job.frames())

    @property
    def model(self) -> str:
        """What energies can be compared by: the model with its parameters, on this pair."""
        return f"{model_key(self.chosen)} {pair_key(self.pair)}"

    @once
    def truth_energy(self) -> float | None:
        nothing = np.zeros(self.problem.n, bool)
        return measure(self.pair, self.problem, nothing, self.sense).truth_energy


def curves_of(run: Run, snapshot: Snapshot, frames: tuple[Frame, ...]) -> Curves:
    """A snapshot's history with why ρ changed, and the rounded energies of the stored frames."""
    rounded = [(frame.iteration, frame.rounded_energy) for frame in frames]
    return Curves(snapshot.history or {}, reasons(snapshot.marks, run.job.method), rounded, run.sense)
