"""A run as the page knows it: the job, what it was asked, and what can be said about its matching."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adgm import Problem
from adgm.machine.lazy import once
from features.judge.metrics import kinds, measure
from features.matching import Matching
from features.models import MODELS
from features.pairs import Pair
from ui.choice.sidebar import Chosen, model_key, pair_key
from ui.jobs.job import Frame, Job, Snapshot
from ui.match.patches import patches
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
    def wrong(self) -> NDArray[np.int64]:
        """Its matches that are known to be wrong."""
        found = self.matching.pairs
        named = kinds(self.pair, found) if self.pair.judged else ["unknown"] * len(found)
        return found[[kind in ("wrong", "stray") for kind in named]]

    @once
    def doubtful(self) -> NDArray[np.int64]:
        """Its matches, the least sure first; those that fit worst where nothing says how sure they are."""
        found = self.matching
        doubt = found.strengths if found.confidence is None else found.confidence
        return found.pairs[np.argsort(doubt, kind="stable")]

    def sure(self, matches: NDArray[np.int64]) -> list[float]:
        """How sure each of these matches is, of photographs."""
        known = self.matching.confidence
        at = {tuple(pair): k for k, pair in enumerate(self.matching.pairs.tolist())}
        return [] if known is None else [float(known[at[tuple(pair)]]) for pair in matches.tolist()]

    @once
    def patches(self) -> list[tuple[str, str]]:
        """The pictures of the matches to look at first, of photographs."""
        if self.matching.confidence is None:
            return []
        return patches(self.pair, self.wrong if len(self.wrong) else self.doubtful)

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
