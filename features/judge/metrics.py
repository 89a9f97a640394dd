"""What a matching is worth: right and wrong, its metrics, the energy of the truth beside its own, the verdict in words.

`kinds` is the one place that calls a match right, wrong or without partner: pictures, tables and exports ask it.
Energies are costs and are minimised; the one place where a number for people is made from an energy is `score`.
"""

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adgm import EXACTLY_ONE, Problem, State
from adgm.bounds.bound import checked
from adgm.bounds.branch_and_bound import tolerance
from adgm.costs.affinity import affinity
from adgm.explain import terms
from adgm.rounding import Assignment, best_rounding, hungarian
from features.models.base import Sense
from features.pairs import Pair

Verdict = Literal["optimiser stuck", "model prefers this", "both agree"]
Kind = Literal["correct", "wrong", "stray", "missed"]  # stray: matched, but has no partner; missed: the opposite

WORD: dict[Sense, str] = {"similarity": "score", "cost": "cost"}
BETTER: dict[Sense, str] = {"similarity": "higher is better", "cost": "lower is better"}
SAME = 1e-12  # energies that differ by less than this share of their size are equal but for rounding


def score(energy: float, sense: Sense) -> float:
    """The number that people read: similarity models score −energy (the paper's objective), cost models their cost."""
    return 0.0 - energy if sense == "similarity" else energy


def equal(a: float, b: float, slack: float = 0.0) -> bool:
    """Whether two energies differ by nothing but rounding, or by no more than `slack`."""
    return abs(a - b) <= max(slack, SAME * max(abs(a), abs(b), 1e-300))


def ratio(energy: float, reference: float) -> float:
    """How good an energy is beside another, above 1 is better; nan where they differ in sign or one is 0.

    Similarities (both energies negative) are divided as they are; of two costs the smaller one is the better.
    """
    if energy * reference <= 0:
        return float("nan")
    return energy / reference if energy < 0 else reference / energy


def kinds(pair: Pair, pairs: ArrayLike) -> list[Kind]:
    """What each matched pair (k × 2) is: "correct", "wrong", or "stray" if its left point has no partner.

    By numbered truth a match is right if it is the numbered one; by a map, if it lies within the tolerance (`Pair`).
    """
    found = np.asarray(pairs, np.int64).reshape(-1, 2)
    named = np.where(pair.correct(found), "correct", np.where(pair.has_partner[found[:, 0]], "wrong", "stray"))
    return cast(list[Kind], named.tolist())


def missed(pair: Pair, pairs: ArrayLike) -> NDArray[np.int64]:
    """The true pairs (m × 2) of left points that have a partner and are matched to nobody."""
    found = np.asarray(pairs, np.int64).reshape(-1, 2)
    partners = np.full(pair.shape[0], -1) if pair.partners is None else pair.partners
    alone = np.setdiff1d(np.flatnonzero(partners >= 0), found[:, 0])
    return np.stack([alone, partners[alone]], axis=1).astype(np.int64)


def kinds_of(pair: Pair, pairs: ArrayLike) -> dict[Kind, NDArray[np.int64]]:
    """The matched pairs (k × 2) by kind, and the missed ones."""
    found = np.asarray(pairs, np.int64).reshape(-1, 2)
    named = np.array(kinds(pair, found), np.str_)
    told: tuple[Kind, ...] = ("correct", "wrong", "stray")
    return {kind: found[named == kind] for kind in told} | {"missed": missed(pair, found)}


def matched_pairs(problem: Problem, assignment: ArrayLike) -> NDArray[np.int64]:
    """The matched pairs (i1, i2), k × 2, of an assignment over the problem's variables."""
    chosen = np.asarray(assignment, dtype=bool)
    return np.stack([problem.layout.row[chosen], problem.layout.col[chosen]], axis=1).astype(np.int64)


def as_assignment(problem: Problem, matching: ArrayLike) -> Assignment:
    """A matching (the partner of each left point, −1 for none) over the problem's variables."""
    partner = np.asarray(matching, dtype=np.int64)
    full = np.zeros(problem.shape, bool)
    rows = np.flatnonzero(partner >= 0)
    full[rows, partner[rows]] = True
    chosen: Assignment = full[problem.layout.row, problem.layout.col]
    return chosen


def shares(problem: Problem, assignment: ArrayLike) -> NDArray[np.float64]:
    """What each match of `matched_pairs` contributes to the energy; they sum to it (see
    `adgm.explain.terms.shares`)."""
    part = terms.shares(terms.paid_terms(problem, assignment))
    return np.array([part.get((i, j), 0.0) for i, j in matched_pairs(problem, assignment).tolist()])


def share_right(pair: Pair, problem: Problem, x: ArrayLike) -> float | None:
    """The share of the left points with a true partner that an assignment gives to it, of a relaxed one by weight.

    Of a matching it is the accuracy; None where the truth is unknown or nobody has a partner.
    """
    possible = np.count_nonzero(pair.has_partner)
    if not pair.judged or not possible:
        return None
    values = np.asarray(x, float)
    found = np.flatnonzero(values)
    return float(values[found][pair.correct(matched_pairs(problem, values != 0))].sum() / possible)


def true_assignment(problem: Problem, truth: ArrayLike) -> Assignment:
    """The truth as an assignment that the problem allows.

    Where the problem demands a partner for points that have none, those are matched in the way that adds the least
    to the energy, one by one beside the true pairs: the truth, completed.
    """
    chosen = as_assignment(problem, truth)
    layout = problem.layout
    demanded = [
        np.bincount(place[chosen], minlength=size).min() == 0
        for place, size, rule in zip((layout.row, layout.col), problem.shape, (problem.rows, problem.cols), strict=True)
        if rule == EXACTLY_ONE
    ]
    if not any(demanded):
        return chosen
    slope = problem.gradient(chosen)
    span = float(np.ptp(slope)) or 1.0
    appeal = 0.6 + 0.3 * (slope.max() - slope) / span  # above ½, what a free side must exceed; below any true pair
    return hungarian(problem, appeal + 2.0 * max(problem.shape) * chosen)  # one true pair more than all others together


@dataclass(frozen=True)
class Causes:
    """Why a matching is not the truth: one cause, the other, both or neither. True and False are proved, None open."""

    stuck: bool | None  # the optimiser: a matching of lower energy than the one found exists
    model: bool | None  # the costs: a matching of lower energy than the truth exists


@dataclass(frozen=True)
class Metrics:
    """A matching in numbers. What needs the truth is None where that is unknown."""

    shape: tuple[int, int]
    matched: int
    energy: float
    sense: Sense
    correct: int | None = None
    possible: int | None = None  # left points that have a true partner
    truth_energy: float | None = None
    added: int = 0  # matches beyond the true ones that the problem demands of the truth
    tolerance: float | None = None  # pixels, where right and wrong come from a map
    slack: float = 0.0  # energies that differ by no more are the same: a proof does not tell them apart

    @property
    def accuracy(self) -> float | None:
        """The share of the left points with a true partner that are matched to it: the recall of what can be found."""
        return None if not self.possible or self.correct is None else self.correct / self.possible

    @property
    def precision(self) -> float | None:
        """The share of the matches that are right."""
        return None if not self.matched or self.correct is None else self.correct / self.matched

    @property
    def score(self) -> float:
        return score(self.energy, self.sense)

    @property
    def truth_score(self) -> float | None:
        return None if self.truth_energy is None else score(self.truth_energy, self.sense)

    @property
    def ratio(self) -> float | None:
        """To the truth; above 1 the matching scores better than it."""
        return None if self.truth_energy is None else ratio(self.energy, self.truth_energy)

    @property
    def verdict(self) -> Verdict | None:
        """What a comparison with the truth alone proves: its better score that the optimiser is stuck, its worse one
        that the model prefers another matching. Whether the other holds as well takes a proof: see `causes`."""
        if self.truth_energy is None or math.isnan(self.energy):
            return None
        if equal(self.energy, self.truth_energy, self.slack):
            return "both agree"
        return "optimiser stuck" if self.truth_energy < self.energy else "model prefers this"

    def causes(self, best: float | None = None, proved: bool = False) -> "Causes":
        """Why the matching is not the truth, as far as it is proved.

        `best`: the lowest energy of any matching that is known beside these two; `proved`: no matching at all has less
        than the lowest of the three.
        """
        known = [energy for energy in (self.energy, self.truth_energy, best) if energy is not None]
        lowest = min(known)
        left = False if proved else None
        return Causes(
            stuck=left if equal(self.energy, lowest, self.slack) else True,
            model=None if self.truth_energy is None else left if equal(self.truth_energy, lowest, self.slack) else True,
        )

    @property
    def explanation(self) -> str:
        """The verdict in sentences."""
        return self.explained()

    def explained(self, best: float | None = None, proved: bool = False) -> str:
        """The verdict in sentences; what is known of other matchings as for `causes`."""
        if self.verdict is None or self.truth_score is None or self.truth_energy is None:
            unknown = "truth is unknown" if self.truth_energy is None else "model has no energy for these matches"
            return f"The {unknown}, so nothing can be said about errors."
        word, truth = WORD[self.sense], "the truth"
        if self.added:
            truth += (
                f" (with {self.added} more {'match' if self.added == 1 else 'matches'} that the constraints demand)"
            )
        numbers = f"{word} {number(self.score)} against {number(self.truth_score)}"
        first = {
            "optimiser stuck": f"Optimiser stuck: {truth} has a better {word} than what was found ({numbers}).",
            "model prefers this": f"Model prefers this: what was found has a better {word} than {truth} ({numbers}).",
            "both agree": f"Both agree: what was found and {truth} have the same {word} ({number(self.score)}).",
        }[self.verdict]
        why = self.causes(best, proved)
        other = why.model if self.verdict == "optimiser stuck" else why.stuck
        second = {
            ("optimiser stuck", True): "The model is wrong, too: a known matching, of {n}, is better than the truth.",
            ("optimiser stuck", False): "The model is right: no matching has a better {word} (proved).",
            ("optimiser stuck", None): "Not known without a proof: whether the model prefers another matching, too.",
            ("model prefers this", True): "The optimiser is stuck, too: a known matching, of {n}, is better.",
            ("model prefers this", False): "The optimiser is not stuck: no matching has a better {word} (proved).",
            ("model prefers this", None): "Not known without a proof: whether the optimiser is stuck, too.",
            ("both agree", True): "Yet a known matching, of {n}, is better: the optimiser is stuck, and the model is "
            "wrong.",
            ("both agree", False): "No matching has a better {word} (proved).",
            ("both agree", None): "Not known without a proof: whether another matching has a better {word}.",
        }[self.verdict, other]
        lowest = min(self.energy, self.truth_energy, self.energy if best is None else best)
        return f"{first} {second.format(word=word, n=f'{word} {number(score(lowest, self.sense))}')}"

    @property
    def caption(self) -> str:
        """correct/total (score), as under the paper's figures."""
        counted = f"{self.matched} matched" if self.correct is None else f"{self.correct}/{self.possible}"
        return f"{counted} ({number(self.score)})"

    def __str__(self) -> str:
        lines = [f"matched    {self.matched} of {self.shape[0]} left points, {self.shape[1]} right points"]
        if self.possible is not None:
            share = "no point has a partner" if self.accuracy is None else f"{self.accuracy:.1%}"
            lines.append(f"correct    {self.correct} of {self.possible} ({share})")
        if self.tolerance is not None and self.precision is not None:
            lines.append(f"precision  {self.precision:.1%} of the matches lie within {self.tolerance:g} px of the map")
        lines.append(f"{WORD[self.sense]:<10} {number(self.score)} ({BETTER[self.sense]})")
        if self.verdict is not None:
            lines.append(f"verdict    {self.explanation}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and words, fit for JSON."""
        return {
            "points_left": self.shape[0],
            "points_right": self.shape[1],
            "matched": self.matched,
            "correct": self.correct,
            "possible": self.possible,
            "accuracy": self.accuracy,
            "precision": self.precision,
            "energy": self.energy,
            "sense": self.sense,
            "score": self.score,
            "truth_energy": self.truth_energy,
            "truth_score": self.truth_score,
            "truth_completed_by": self.added,
            "verdict": self.verdict,
        }


def number(value: float) -> str:
    """Seven figures, as the paper prints its objectives."""
    return f"{value:.4f}" if 1e-2 <= abs(value) < 1e5 else f"{value:.6g}"


def percent(share: float, decimals: int = 0) -> str:
    """A share in percent. Nearly all of something is not all of it: 299 of 300 are 99.7 %."""
    told = f"{100 * share:.{decimals}f}"
    if share < 1 and float(told) == 100:
        told = f"{min(100 * share, 99.9):.1f}"
    return f"{told} %"


def bound_number(lower: float, sense: Sense) -> str:
    """A lower bound as people read it: rounded to the side where it still is one."""
    told = number(score(lower, sense))
    while score(float(told), sense) > lower:
        now = Decimal(told)
        last = Decimal(1).scaleb(-4 if "." in told and "e" not in told and abs(now) < 100_000 else now.adjusted() - 5)
        told = number(float(now + (last if sense == "similarity" else -last)))
    return told


def measure(pair: Pair, problem: Problem, assignment: ArrayLike, sense: Sense) -> Metrics:
    """The metrics of an assignment over the problem's variables, such as `Result.assignment`."""
    found = matched_pairs(problem, assignment)
    energy = problem.worth(problem.vector(assignment) > 0)  # builds no table: a page may ask
    if pair.partners is None:
        return Metrics(pair.shape, len(found), energy, sense)
    correct = kinds(pair, found).count("correct")
    possible, numbered = int(pair.has_partner.sum()), int((pair.partners >= 0).sum())
    true = true_assignment(problem, pair.partners)
    truth_energy, added = problem.worth(true), max(int(true.sum()) - numbered, 0)
    if added and correct == possible:  # the matching holds the whole truth: it is a completion too
        truth_energy = min(truth_energy, energy)
    pixels = pair.tolerance if pair.truth is None else None
    slack = tolerance(max(abs(energy), abs(truth_energy)), problem.spread)
    return Metrics(pair.shape, len(found), energy, sense, correct, possible, truth_energy, added, pixels, slack)


def measure_matches(pair: Pair, problem: Problem, matches: NDArray[np.int64], sense: Sense) -> Metrics:
    """The metrics of matches (k × 2) that the problem has not made, such as a classic's or those that a map found.

    All of them are told right from wrong. They have an energy (else nan) if the problem has them all as candidates
    and, under costs, if it allows them: who may leave points out pays less.
    """
    partner = np.full(problem.shape[0], -1)
    partner[matches[:, 0]] = matches[:, 1]
    assignment = as_assignment(problem, partner)
    metrics = measure(pair, problem, assignment, sense)
    correct = int(pair.correct(matches).sum()) if pair.judged else None
    scored = int(assignment.sum()) == len(matches) and (sense == "similarity" or _allowed(problem, assignment))
    return replace(metrics, matched=len(matches), correct=correct, energy=metrics.energy if scored else math.nan)


def _allowed(problem: Problem, assignment: Assignment) -> bool:
    try:
        checked(problem, assignment)
    except ValueError:
        return False
    return True


def objectives(problem: Problem, metrics: Metrics) -> tuple[float | None, float | None]:
    """The paper's objective, which is maximised, of the matching and of the truth; None where there is none.

    Similarities count as they are. Costs of order d become (largest cost of that order) − cost over all ordered tuples
    of different matches, as `adgm.costs.affinity` has them; beyond order 2 that is no rule of the paper's.
    """
    orders = {potential.order(problem.shape) for potential in problem.potentials}
    if metrics.sense == "similarity":
        ceilings = {}
    elif orders == {2}:
        ceilings = {2: problem.scale}
    elif max(orders, default=3) <= 2:
        ceilings = affinity(problem).ceilings
    else:
        return None, None

    def objective(energy: float | None, matched: int) -> float | None:
        tuples = {1: matched, 2: matched * (matched - 1)}
        return None if energy is None else sum(top * tuples[d] for d, top in ceilings.items()) - energy

    true = (metrics.possible or 0) + metrics.added
    return objective(metrics.energy, metrics.matched), objective(metrics.truth_energy, true)


class RoundedCurve:
    """For `solve(..., watch=RoundedCurve(problem))`: the energy of the rounded assignment as the run goes on."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.iterations: list[int] = []
        self.energies: list[float] = []

    def __call__(self, state: State) -> None:
        self.iterations.append(state.iteration)
        self.energies.append(best_rounding(self.problem, state.x)[1])
