"""Where a model fails over a data set: the pairs and points with the largest regret, grouped by their cause.

    recipe = Recipe("cars", {"outliers": 10}, "C")
    found = list(failures(pairs_like(recipe, 10)))
    for cause, points in by_cause(found).items():
        print(cause, len(points))

The regret of a pair is the energy of the answer minus that of the truth: above 0 the optimiser is stuck, below 0 the
model prefers another matching. The regret of a point is what it saves to leave it wrong: how much dearer the answer
becomes when it is made right by the cheapest exchange, the point's partner taken from whoever has it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy  # whose parts are imported when they are first used
from numpy.typing import NDArray

from adgm import EXACTLY_ONE, Problem
from adgm.machine.deadline import check_time
from features.explain.max_margin import energy_of
from features.explain.trials import Bench, Trial
from features.judge.metrics import matched_pairs, true_assignment
from features.pairs import Pair
from features.recipe import Recipe
from features.tables import Table

Floats = NDArray[np.float64]
Matches = NDArray[np.int64]
Cause = Literal["partner hidden", "optimiser stuck", "ambiguous", "far from its neighbours", "model prefers another"]
CAUSES: dict[Cause, str] = {
    "partner hidden": "The point has no partner, or none among its candidates.",
    "optimiser stuck": "The truth costs less than the answer: the optimiser did not find it.",
    "ambiguous": "Right and wrong cost nearly the same: the model cannot tell them apart.",
    "far from its neighbours": "Its true partner is not where its neighbours go.",
    "model prefers another": "The answer costs less than the truth, and clearly so.",
}
NEAR_ZERO = 0.01  # of what a match costs on average: regrets below it are ambiguous
AROUND, DROPPED = 8, 2  # neighbours that say where a point should go; so many of them may err themselves
FAR = 3.0  # times the median of its pair


@dataclass(frozen=True)
class Point:
    """A left point that is not right."""

    left: int
    matched: int  # the right point it was matched to; −1: none
    partner: int  # its true partner; −1: it has none
    regret: float
    cause: Cause


@dataclass(frozen=True, eq=False)
class Failure:
    """A pair, with every point that is not right."""

    trial: Trial
    points: tuple[Point, ...]  # the largest regret first

    @property
    def regret(self) -> float:
        """Energy of the answer minus that of the truth."""
        metrics = self.trial.metrics
        return metrics.energy - (metrics.energy if metrics.truth_energy is None else metrics.truth_energy)

    @property
    def causes(self) -> dict[Cause, int]:
        counts = {cause: sum(point.cause == cause for point in self.points) for cause in CAUSES}
        return {cause: count for cause, count in counts.items() if count}


def failures(
    recipes: Sequence[Recipe], *, pair: Pair | None = None, time_limit: float | None = None
) -> Iterator[Failure]:
    """Every pair, also those without a wrong point, as they are finished."""
    bench = Bench(pair)
    for recipe in recipes:
        trial = bench.run(recipe, time_limit=time_limit)
        yield diagnosed(trial, bench.pair(recipe), bench.problem(recipe))


def diagnosed(trial: Trial, pair: Pair, problem: Problem) -> Failure:
    """The points of a run that are not right, with what each of them saves by being wrong, and why."""
    if pair.partners is None:
        raise ValueError(f"The truth of {pair.name} is unknown, so nothing of it has failed.")
    truth = matched_pairs(problem, true_assignment(problem, pair.partners))
    each = abs(trial.metrics.energy) / max(trial.metrics.matched, 1)
    stuck = trial.metrics.verdict == "optimiser stuck"
    strays = _strays(pair)
    allowed = {tuple(match) for match in truth.tolist()}
    right = {int(i) for (i, _), kind in zip(trial.pairs, trial.kinds or [], strict=True) if kind == "correct"}
    points = []
    for left in range(pair.shape[0]):
        partner, matched = int(pair.partners[left]), trial.partner(left)
        if left in right or (matched < 0 and partner < 0) or (partner < 0 and (left, matched) in allowed):
            continue
        check_time()
        repaired = exchanged(problem, trial.pairs, left, partner)
        regret = 0.0 if repaired is None else energy_of(problem, repaired) - trial.metrics.energy
        cause: Cause = "model prefers another"
        if partner < 0 or repaired is None:
            cause = "partner hidden"
        elif stuck:
            cause = "optimiser stuck"
        elif abs(regret) < NEAR_ZERO * each:
            cause = "ambiguous"
        elif strays[left] > FAR:
            cause = "far from its neighbours"
        points.append(Point(left, matched, partner, regret, cause))
    points.sort(key=lambda point: -abs(point.regret))
    return Failure(trial, tuple(points))


def exchanged(problem: Problem, pairs: Matches, left: int, partner: int) -> Matches | None:
    """The matching with a point moved to its partner (−1: to nobody), whoever had that taking the point's old one.

    None where the problem has no such match. Of the two ways to let the other point go on, the one that the
    constraints allow and that costs less.
    """
    if partner < 0:
        return None if problem.rows == EXACTLY_ONE else pairs[pairs[:, 0] != left]
    grid = problem.layout.grid()
    if grid[left, partner] < 0:
        return None
    old = pairs[pairs[:, 0] == left, 1]
    other = pairs[pairs[:, 1] == partner, 0]
    rest = pairs[(pairs[:, 0] != left) & (pairs[:, 1] != partner)]
    moved = np.concatenate([rest, [[left, partner]]])
    ways = []
    if len(other) and len(old) and grid[other[0], old[0]] >= 0:
        ways.append(np.concatenate([moved, [[other[0], old[0]]]]))
    if not len(other) or problem.rows != EXACTLY_ONE:
        ways.append(moved)
    if len(other) and problem.rows == EXACTLY_ONE and not ways:  # somebody else must take it
        free = np.setdiff1d(np.flatnonzero(grid[other[0]] >= 0), moved[:, 1])
        ways += [np.concatenate([moved, [[other[0], one]]]) for one in free]
    return min(ways, key=lambda way: energy_of(problem, way), default=None)


def _strays(pair: Pair) -> Floats:
    """How far each point's true partner is from where its neighbours' affine map puts it, in medians of the pair."""
    found = np.zeros(pair.shape[0])
    assert pair.partners is not None
    known = np.flatnonzero(pair.partners >= 0)
    if len(known) <= AROUND:
        return found
    left, right = pair.left.points.xy[known], pair.right.points.xy[pair.partners[known]]
    _, near = scipy.spatial.cKDTree(left).query(left, k=AROUND + 1)
    misses = np.zeros(len(known))
    for at, (own, *others) in enumerate(near):
        kept = np.array(others)
        for _ in range(2):  # again without those that agree least
            affine = np.linalg.lstsq(_lifted(left[kept]), right[kept], rcond=None)[0]
            gaps = np.hypot(*(_lifted(left[kept]) @ affine - right[kept]).T)
            kept = kept[np.argsort(gaps)[: AROUND - DROPPED]]
        misses[at] = np.hypot(*(_lifted(left[[own]]) @ affine - right[own])[0])
    found[known] = misses / max(float(np.median(misses)), 1e-9)
    return found


def _lifted(xy: Floats) -> Floats:
    return np.column_stack([xy, np.ones(len(xy))])


def by_cause(found: Sequence[Failure]) -> dict[Cause, list[tuple[Failure, Point]]]:
    """All wrong points by their cause, the largest regret first; the most frequent cause first."""
    every = [(failure, point) for failure in found for point in failure.points]
    every.sort(key=lambda one: -abs(one[1].regret))
    groups = {cause: [one for one in every if one[1].cause == cause] for cause in CAUSES}
    return dict(sorted(((c, them) for c, them in groups.items() if them), key=lambda item: -len(item[1])))


def table(found: Sequence[Failure]) -> Table:
    """A line per pair, the largest regret first."""
    lines: list[tuple[Any, ...]] = []
    for one in sorted(found, key=lambda failure: -abs(failure.regret)):
        metrics = one.trial.metrics
        causes = ", ".join(f"{count} {cause}" for cause, count in one.causes.items())
        right = f"{metrics.correct}/{metrics.possible}"
        lines.append((one.trial.name, right, f"{one.regret:.4g}", metrics.verdict or "", causes))
    return Table(("pair", "right", "regret", "verdict", "wrong points"), tuple(lines), align="lrrll")
