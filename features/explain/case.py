"""The record that every debugging tool works on: a matching, how it came about, and what would have been right."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adgm import Problem
from adgm.explain.ledger import WORDS, Ledger, ledger, named
from adgm.explain.margins import Margin, margins
from adgm.explain.paths import Path, Way, exchange_of, path
from adgm.explain.terms import Match
from adgm.machine.short_repr import ShortRepr
from adgm.rounding import Assignment
from features.formulas.split import part_names, summands
from features.judge.metrics import Metrics, kinds, matched_pairs, measure, true_assignment
from features.matching import Matching, match
from features.models import MODELS, written
from features.models.base import Sense
from features.pairs import Pair
from features.recipe import Recipe

TERMS = WORDS | {1: "descriptors"}  # what models compare: points by their descriptors


@dataclass(frozen=True, eq=False)
class Case(ShortRepr):
    """A matching that somebody asks about; what takes time is computed when it is first asked for."""

    recipe: Recipe
    pair: Pair
    problem: Problem
    answer: Assignment  # the matching, over the problem's variables

    def __post_init__(self) -> None:
        if self.pair.shape != self.problem.shape:
            raise ValueError(f"The pair has {self.pair.shape} points, its problem {self.problem.shape} nodes.")
        answer = np.asarray(self.answer, dtype=bool)
        if answer.shape != (self.problem.n,):
            raise ValueError(f"The answer has shape {answer.shape}; expected ({self.problem.n},), one per variable.")
        object.__setattr__(self, "answer", answer)

    @classmethod
    def of(cls, found: Matching) -> "Case":
        return cls(found.recipe, found.pair, found.problem, found.result.assignment)

    @property
    def sense(self) -> Sense:
        return MODELS[self.recipe.model].sense

    @property
    def title(self) -> str:
        return f"{self.pair.name} · {self.recipe.title}"

    @cached_property
    def metrics(self) -> Metrics:
        return measure(self.pair, self.problem, self.answer, self.sense)

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """The matched pairs, k × 2."""
        return matched_pairs(self.problem, self.answer)

    @cached_property
    def truth(self) -> Assignment | None:
        """The true matching, completed where the constraints demand it; None where it is unknown."""
        return None if self.pair.partners is None else true_assignment(self.problem, self.pair.partners)

    @cached_property
    def wrong(self) -> tuple[Match, ...]:
        """The matches that are not right: to another than the partner, or of points that have none."""
        if not self.pair.judged:
            return ()
        named = zip(self.pairs.tolist(), kinds(self.pair, self.pairs), strict=True)
        return tuple((i, j) for (i, j), kind in named if kind != "correct")

    def partner(self, left: int) -> int | None:
        """The right point that belongs to a left one in the truth (the completed one), if there is any."""
        if self.truth is None:
            return None
        at = np.flatnonzero(self.truth & (self.problem.layout.row == left))
        return int(self.problem.layout.col[at[0]]) if len(at) else None

    @cached_property
    def parted(self) -> tuple[Problem, list[str]]:
        """The problem with every summand of its model as a potential of its own, and their names."""
        return parted(self.recipe, self.pair, self.problem)

    def ledger(self, match: Match | None = None) -> Ledger:
        """The answer's terms against the truth's; with a match only what the exchange that it belongs to changes."""
        problem, names = self.parted
        return ledger(problem, self.answer, self.other(match), names)

    def other(self, match: Match | None = None) -> Assignment:
        """What the answer is compared with: the truth; with a match, the answer after the exchange it belongs to."""
        if self.truth is None:
            raise ValueError(f"The truth of {self.pair.name} is unknown: there is nothing to compare its matches with.")
        return self.truth if match is None else exchange_of(self.problem, self.answer, self.truth, match)

    def way_back(self, way: Way = "cheapest first") -> Path:
        """The exchanges that lead from the answer to the truth."""
        return path(self.problem, self.answer, self.other(), way)

    def margins(self, **options: Any) -> tuple[Margin, ...]:
        """How much dearer it is to do without each match; see `adgm.explain.margins`."""
        return margins(self.problem, self.answer, rivals=self.rivals, **options)

    @property
    def rivals(self) -> list[Assignment]:
        """Matchings that are known beside the answer: the truth."""
        return [] if self.truth is None else [self.truth]


def parted(recipe: Recipe, pair: Pair, problem: Problem) -> tuple[Problem, list[str]]:
    """The problem with every summand of its model as a potential, and the names of all."""
    names = part_names(recipe)
    if names is None or len(names) < len(problem.potentials):
        return problem, whole_names(recipe, problem)
    if len(names) > len(problem.potentials):
        problem = replace(problem, potentials=tuple(part.potential for part in summands(recipe, pair)))
    usual = whole_names(recipe, problem)
    found = [mine if ":" in mine or mine == "price" else word for mine, word in zip(names, usual, strict=True)]
    return problem, [name if found.count(name) == 1 else f"{name} ({k})" for k, name in enumerate(found, 1)]


def whole_names(recipe: Recipe, problem: Problem) -> list[str]:
    """What the potentials of its problem are called."""
    return named(problem, WORDS if MODELS[recipe.model].given or written(recipe.model) else TERMS)


def case_of(recipe: Recipe, **options: Any) -> Case:
    """The case of a recipe, run again: what `features.match` finds."""
    return Case.of(match(recipe, **options))
