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
from features.judge.metrics import WORD, measure, number, score

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
    """What an energy says about the model and about the optimiser, the truth's being known or not: nothing that is not
    proved."""
    best = ", proved the best of all" if proved else ""
    if case.truth is None:
        return f"{best}; the truth is unknown." if not proved else f"{best}."
    told = case.metrics
    truth, answer, slack = told.truth_energy or 0.0, told.energy, told.slack
    if (least := min(energy, answer)) < truth - slack:
        whose = best if energy <= answer + slack else f"; the run's own answer has {_worth(case, answer)}"
        less = energy < answer - slack
        return (
            f"{whose}, better than the truth ({_worth(case, truth)}): **the model prefers another matching**, and no "
            "optimiser would find the truth with it." + (" The run was stuck, too." if less else "")
        )
    run = "the run was stuck" if answer > least + slack else "the run found it, too"
    if energy > truth + slack:
        stuck = "**the careful search is stuck, too**" if answer > truth + slack else "**the careful search is stuck**"
        return (
            f", worse than the truth ({_worth(case, truth)}): {stuck}; the model does know better, and another start "
            "or a larger time limit may find it."
        )
    if proved:
        why = "the truth is the best matching of this model, so **the model is not to blame**"
        return f", that of the truth{best}: {why}; {run}."
    return (
        f", that of the truth: nothing better was found, so **nothing speaks against the model**; {run}. Not known "
        "without a proof: whether another matching is better."
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
    there, here, slack = problem.energy(truth), result.energy, case.metrics.slack
    moved = int((result.assignment & ~truth).sum())
    if np.array_equal(result.assignment, truth):
        told = "Begun at the truth, the run stays there"
        if case.metrics.energy > there + slack:
            told += ": **where it began is what went wrong**."
        elif case.metrics.energy < there - slack:
            told += f", though **the model prefers the answer** ({_worth(case, case.metrics.energy)})."
        else:
            told += ", and the answer is as good."
    elif here < there - slack:
        told = (
            f"Begun at the truth, the run leaves it for {_worth(case, here)} ({_others(moved)}): **the model "
            "prefers another matching**."
        )
    else:
        told = (
            f"Begun at the truth, the run drifts away and ends worse ({_worth(case, here)}): **the penalty does not "
            "hold it**; a larger ρ₀ may."
        )
    if gain < -slack:
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
