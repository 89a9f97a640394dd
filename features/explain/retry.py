"""Is it the optimiser or the model? Solve it again, carefully or from the truth, and say what that proves."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adgm import METHODS, solve
from adgm.machine.short_repr import ShortRepr
from adgm.rounding import Assignment
from adgm.search.local_search import improve
from adgm.solver import ADGM
from features.explain.case import Case
from features.judge.metrics import SAME, WORD, measure, number, score

Watch = Callable[[Any], object]


@dataclass(frozen=True, eq=False)
class Retry(ShortRepr):
    """What another run ended with, and what follows from it."""

    what: str
    assignment: Assignment
    energy: float
    correct: int | None
    proves: str

    def _repr_markdown_(self) -> str:
        """For notebooks."""
        return self.proves


@dataclass(frozen=True)
class Attempt:
    """A way to solve a case again."""

    label: str
    help: str
    run: Callable[[Case, Watch | None, float | None], Retry]


def careful(case: Case, watch: Watch | None = None, time_limit: float | None = None) -> Retry:
    """ADGM+, and what it says about the truth."""
    recipe = replace(case.recipe, method="adgm+", method_options={})
    result = recipe.run(case.problem, watch=watch, every=10, time_limit=time_limit)
    told = f"The careful search ends with {_worth(case, result.energy)}"
    proved = bool(getattr(result.state, "proved", False))
    return _retry(case, "careful", result.assignment, result.energy, f"{told}{_against(case, result.energy, proved)}")


def _against(case: Case, energy: float, proved: bool) -> str:
    """What an energy says about the model and about the optimiser, the truth's being known or not."""
    best = ", proved the best of all" if proved else ""
    if case.truth is None:
        return f"{best}; the truth is unknown." if not proved else f"{best}."
    truth, answer = case.problem.energy(case.truth), case.metrics.energy
    if energy < truth - _same(truth):
        less = energy < answer - _same(answer)
        return (
            f"{best}, better than the truth ({_worth(case, truth)}): **the model prefers another matching**, and no "
            "optimiser would find the truth with it." + (" The run was stuck, too." if less else "")
        )
    if energy <= truth + _same(truth):
        why = "the truth is the best matching of this model" if proved else "nothing better than the truth was found"
        run = "the run was stuck" if answer > truth + _same(truth) else "the run found it, too"
        return f", that of the truth{best}: {why}, so **the model is not to blame**; {run}."
    return (
        f", worse than the truth ({_worth(case, truth)}): **the careful search is stuck, too**; the model does know "
        "better, and another start or a larger time limit may find it."
    )


def from_truth(case: Case, watch: Watch | None = None, time_limit: float | None = None) -> Retry:
    """ADGM with all its blocks at the truth, and a local search from there: does it stay?"""
    if case.truth is None:
        raise ValueError(f"The truth of {case.pair.name} is unknown: no run can start from it.")
    problem, truth = case.problem, case.truth
    method = case.recipe.method_object()
    if not isinstance(method, ADGM):
        method = METHODS["adgm"].make()
    start = method.init(problem)
    blocks = np.repeat(truth[None].astype(float), len(start.blocks), axis=0)
    begun = replace(start, blocks=blocks, x=blocks[-1], energy=problem.energy(truth))
    result = solve(problem, method, start=begun, watch=watch, every=10, time_limit=time_limit)
    nearby, gain = improve(problem, truth)
    there, here = problem.energy(truth), result.energy
    moved = int((result.assignment & ~truth).sum())
    if np.array_equal(result.assignment, truth):
        told = "Begun at the truth, the run stays there: **where it began is what went wrong**, not the model's costs."
    elif here < there - _same(there):
        told = (
            f"Begun at the truth, the run leaves it for {_worth(case, here)} ({_others(moved)}): **the model "
            "prefers another matching**."
        )
    else:
        told = (
            f"Begun at the truth, the run drifts away and ends worse ({_worth(case, here)}): **the penalty does not "
            "hold it**; a larger ρ₀ may."
        )
    if gain < -_same(there):
        changed = int((nearby & ~truth).sum())
        told += f" Small changes alone improve on the truth, by {number(-gain)} with {_others(changed)}."
    else:
        told += " No swap or move improves the truth: it is a local optimum of the model."
    return _retry(case, "truth", result.assignment, here, told)


ATTEMPTS = {
    "careful": Attempt(
        "Try careful", "Several runs, each improved by a local search, and a search for a proof", careful
    ),
    "truth": Attempt("Start from the truth", "Does the run stay where it should have gone?", from_truth),
}


def _retry(case: Case, what: str, assignment: Assignment, energy: float, proves: str) -> Retry:
    metrics = measure(case.pair, case.problem, assignment, case.sense)
    right = "" if metrics.correct is None else f" ({metrics.correct} of {metrics.possible} right)"
    return Retry(what, assignment, energy, metrics.correct, f"{proves}{right}")


def _others(count: int) -> str:
    return f"{count} other {'match' if count == 1 else 'matches'}"


def _worth(case: Case, energy: float) -> str:
    return f"{WORD[case.sense]} {number(score(energy, case.sense))}"


def _same(energy: float) -> float:
    return SAME * max(abs(energy), 1e-300)
