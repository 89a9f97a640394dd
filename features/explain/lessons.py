"""What the Learn page shows, in numbers: small problems on built-in data, each with one thing to be seen.

Every function here is asked by the page and by a test, so that no chapter can say what its numbers do not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adgm import ADGM, ANY, EXACTLY_ONE, METHODS, Dense, Formula, Problem, Result, reference, solve
from adgm.bounds.bound import bound
from adgm.explain.terms import Term, paid_terms
from adgm.machine.numpy_fallback import plain
from adgm.penalty import AUTO
from adgm.reference import Iterate
from adgm.rounding import hungarian
from adgm.solver import COUPLINGS, ADGMState
from features.judge.metrics import Causes, Metrics, as_assignment, measure
from features.models import MODELS
from features.pairs import Pair, View
from features.points.keypoints import Keypoints
from features.recipe import Recipe

Floats = NDArray[np.float64]

SMALL: dict[str, Any] = {"inliers": 4, "outliers": 0, "noise": 20.0, "rotation": 40.0}
CROWD: dict[str, Any] = {"inliers": 8, "outliers": 12, "noise": 15.0, "rotation": 40.0}
VIEWS: dict[str, Any] = {"left": 20, "right": 50, "points": 30, "landmarks": "seen in both views"}

# The problems of the chapters, as Match can open them.
STRUCTURE = Recipe("turntable", VIEWS, "combined", {"descriptor": "orb", "rows": EXACTLY_ONE}, "adgm1")
SPLIT = Recipe("random", SMALL, "B", {}, "adgm1", {"rho0": 0.4})
PENALTY = Recipe("random", CROWD, "B", {}, "adgm1")
TURNED = Recipe("random", {"inliers": 10, "outliers": 0, "noise": 2.0}, "B", {}, "adgm1")
WRONG = Recipe("random", {"inliers": 8, "outliers": 8, "noise": 25.0, "rotation": 40.0, "seed": 12}, "B", {}, "adgm1")
STUCK = Recipe("random", {"inliers": 8, "outliers": 12, "noise": 3.0, "rotation": 40.0, "seed": 13}, "B", {}, "adgm1")
# ADGM whose penalty sets itself, without the local search after it: NumPy alone can run it.
TUNED = {name: value for name, value in AUTO.items() if name != "polish"}
STRAYS: dict[str, Any] = {"inliers": 15, "outliers": 10, "left_outliers": 10, "rotation": 0.0}
OUTLIERS = Recipe("random", STRAYS, "combined", {}, "adgm1", TUNED)
# What the Debug page offers to whoever has no failure of their own, by the verdict that is to be understood.
FAILING = {
    "model prefers this": Recipe("turntable", {**VIEWS, "right": 60, "points": 20}, "C", {}, "adgm"),
    "optimiser stuck": STUCK,
}
LUCK = Recipe("random", {"inliers": 10, "outliers": 20, "noise": 15.0, "rotation": 40.0}, "B", {}, "adgm1")

STARTS = 30
MOST_STEPS = 200  # of a run that is shown iteration by iteration


@dataclass(frozen=True, eq=False)
class Solved:
    """A problem of a chapter with what a method made of it."""

    pair: Pair
    problem: Problem
    result: Result[Any]
    metrics: Metrics

    @property
    def right(self) -> int:
        return self.metrics.correct or 0


def pair_of(recipe: Recipe) -> Pair:
    return _pair(Recipe(recipe.dataset, recipe.dataset_params))


def problem_of(recipe: Recipe) -> Problem:
    return _problem(replace(recipe, method="adgm", method_options={}))


@lru_cache(maxsize=32)
def _pair(recipe: Recipe) -> Pair:
    return recipe.pair()


@lru_cache(maxsize=64)
def _problem(recipe: Recipe) -> Problem:
    return recipe.problem(pair_of(recipe))


@lru_cache(maxsize=256)
def solved(recipe: Recipe) -> Solved:
    """The run that a recipe describes; asked again, the same one."""
    pair, problem = pair_of(recipe), problem_of(recipe)
    result = run(problem, recipe.method_object())
    return Solved(pair, problem, result, measure(pair, problem, result.assignment, MODELS[recipe.model].sense))


def run(problem: Problem, method: Any) -> Result[Any]:
    """A run. ADGM's is the reference's, always: its long runs are chaotic, so compiled ones, whose sums are rounded in
    another order, may end elsewhere, and the numbers of a chapter must not depend on whether the compiler is done."""
    return solve(*as_run(problem, method))


def as_run(problem: Problem, method: Any) -> tuple[Problem, Any]:
    """Problem and method as `run` takes them."""
    if isinstance(method, ADGM) and not (method.polish or method.escape):
        return plain(problem), ByReference(method)
    return problem, method


@dataclass(frozen=True, eq=False)
class ByReference:
    """ADGM by `adgm.reference`: no compiled code is needed. Its problems are `adgm.machine.numpy_fallback.plain`."""

    method: ADGM

    def init(self, problem: Problem) -> ADGMState:
        return self.method.init(problem)

    def done(self, state: ADGMState) -> bool:
        return self.method.done(state)

    def step(self, problem: Problem, state: ADGMState, n: int = 1) -> ADGMState:
        """One iteration; rounded where the method would."""
        made = reference.step(problem, self.method, state, Problem.contract)
        best, energy, every = state.best, state.best_energy, self.method.round_every
        if made.increases > state.increases or self.done(made) or (every and made.iteration % every == 0):
            best, energy = self.method.better(problem, made.x, best, energy)
        values = {"gap": made.gap, "change": made.change, "rho": state.rho, "residual": made.residual}
        trace = {name: np.array([value]) for name, value in values.items()}
        return replace(made, best=best, best_energy=energy, trace=trace)


# ---- 1: two graphs, one assignment --------------------------------------------------------------------------

LEFT = ((1.0, 1.0), (4.0, 1.0), (1.0, 5.0))  # in squares of the sheet: sides 3, 4 and 5
RIGHT = ((5.0, 1.0), (1.0, 4.0), (5.0, 4.5))
NAMES = ("A", "B", "C")
NUMBERS = ("1", "2", "3")


def triangles(left: ArrayLike = LEFT, right: ArrayLike = RIGHT) -> Problem:
    """Three points against three: each edge costs the difference of its two lengths, |d1 − d2|."""
    lengths = []
    for points in (np.asarray(left, float), np.asarray(right, float)):
        apart = points[:, None] - points
        lengths.append(np.hypot(apart[..., 0], apart[..., 1]))
    # half, because the energy counts every edge in both directions
    cost = Formula(lengths[0], lengths[1], lambda a, b: np.abs(a - b)[..., 0] / 2)
    return Problem((3, 3), [cost], EXACTLY_ONE, EXACTLY_ONE)


def triangle_pair(left: ArrayLike = LEFT, right: ArrayLike = RIGHT) -> Pair:
    """The same as a pair that brings its costs along, to be matched like any other."""
    views = [
        View(None, Keypoints(100.0 * np.asarray(points, float), labels=names))
        for points, names in ((left, NAMES), (right, NUMBERS))
    ]
    return Pair(views[0], views[1], None, "Chapter 1: two triangles", given=triangles(left, right))


class Ranked(NamedTuple):
    """A matching of the three points (the partner of each), its energy, and the term of each edge."""

    matching: tuple[int, ...]
    energy: float
    terms: list[Term]

    @property
    def name(self) -> str:
        return written(self.matching)


def written(matching: Sequence[int]) -> str:
    """(1, 0, 2) as "A2 B1 C3"."""
    return " ".join(f"{name}{NUMBERS[j]}" for name, j in zip(NAMES, matching, strict=True))


def ranking(problem: Problem) -> list[Ranked]:
    """All six matchings, the best first."""
    found, problem = [], plain(problem)
    for matching in permutations(range(3)):
        x = as_assignment(problem, matching)
        found.append(Ranked(matching, problem.energy(x.astype(float)), paid_terms(problem, x)))
    return sorted(found, key=lambda each: (round(each.energy, 9), each.matching))


# ---- 2: points alone, and pairs -----------------------------------------------------------------------------


def structure_recipe(weight: float) -> Recipe:
    """Descriptors with so much weight on the edges; none is a linear assignment."""
    params = {**STRUCTURE.model_params, "w2": weight}
    return replace(STRUCTURE, model_params=params, method="adgm1" if weight else "lap")


def structure(weight: float) -> Solved:
    return solved(structure_recipe(weight))


# ---- 3 and 5: the iterates, step by step --------------------------------------------------------------------


@lru_cache(maxsize=8)
def trail(recipe: Recipe = SPLIT) -> tuple[ADGMState, ...]:
    """The start and every iterate of the reference, until it converges."""
    problem, method = plain(problem_of(recipe)), recipe.method_object()
    assert isinstance(method, ADGM)
    states: list[ADGMState] = [method.init(problem)]
    while not states[-1].converged and len(states) <= MOST_STEPS:
        states.append(reference.step(problem, method, states[-1]))
    return tuple(states)


@dataclass(frozen=True)
class Sums:
    """Which of a block's sums are all one."""

    rows: bool
    cols: bool

    def __str__(self) -> str:
        return {(True, True): "both", (True, False): "rows", (False, True): "columns"}.get(
            (self.rows, self.cols), "neither"
        )


def sums(matrix: Floats) -> Sums:
    return Sums(*(bool(np.allclose(matrix.sum(axis=axis), 1.0, atol=1e-6)) for axis in (1, 0)))


class Parts(NamedTuple):
    """What an entry of c_d is made of, (30) to (34): c = neighbour + multiplier + cost."""

    cost: float  # −p / (ρ t)
    neighbour: float  # the blocks it is tied to, their mean
    multiplier: float  # ±y / (ρ t)
    rho: float
    target: float  # c
    value: float  # x, its projection

    @property
    def strongest(self) -> str:
        return max(("cost", "neighbour", "multiplier"), key=lambda name: abs(getattr(self, name)))


def parts(method: ADGM, before: ADGMState, after: Iterate, block: int, entry: int) -> Parts:
    """How entry `entry` of block `block` came about in the step from `before` to `after`."""
    blocks = range(len(after.blocks))
    tied = [COUPLINGS[method.coupling](d) for d in blocks[1:]]
    rho, neighbour, multiplier, ties = before.rho, 0.0, 0.0, 0
    for e in blocks[1:]:
        if block == e:
            other, sign = after.blocks[tied[e - 1]], 1.0  # this iteration's already
        elif block == tied[e - 1]:
            other, sign = before.blocks[e], -1.0
        else:
            continue
        ties += 1
        neighbour += float(other[entry])
        multiplier += sign * float(before.duals[e - 1][entry]) / rho
    cost = -float(after.linear[block][entry]) / (rho * ties)
    made = float(after.targets[block][entry]), float(after.blocks[block][entry])
    return Parts(cost, neighbour / ties, multiplier / ties, rho, *made)


def costs_beside(entry: int, recipe: Recipe = SPLIT) -> Floats:
    """What a match costs together with each other one, F(entry, ·): divided by the largest cost, as the solver does."""
    problem = plain(problem_of(recipe))
    beside = np.zeros(problem.n)
    for index, cost, _ in problem.tensors:
        if index.shape[1] == 2:
            here = index[:, 0] == entry
            np.add.at(beside, index[here, 1], cost[here] / problem.scale)
    return beside


class Rounded(NamedTuple):
    """A block as a matching: the partner of each left point, the sum of its entries, and the energies of both."""

    matching: tuple[int, ...]
    total: float
    block_energy: float
    energy: float

    @property
    def lost(self) -> float:
        """By how much the matching costs more than the block; below zero it costs less."""
        return self.energy - self.block_energy


def rounded(state: ADGMState, recipe: Recipe = SPLIT) -> Rounded:
    """The matching with the largest sum of entries of the last block, as ADGM rounds it."""
    problem = plain(problem_of(recipe))
    chosen = hungarian(problem, state.x)
    partners = problem.matrix(chosen.astype(float)).argmax(axis=1).tolist()
    energy = problem.energy(chosen.astype(float))
    return Rounded(tuple(partners), float(state.x[chosen].sum()), problem.energy(state.x), energy)


# ---- 4: projection ------------------------------------------------------------------------------------------


def nearest(c: ArrayLike) -> Floats:
    """The nearest point of {x ≥ 0, Σx = 1} to c; entries that fall below the common threshold are exactly zero."""
    values = np.asarray(c, float)
    row = Problem((1, len(values)), [Dense(np.zeros(len(values)))], EXACTLY_ONE, ANY)
    return reference.project(row, values, 1)


def threshold(c: ArrayLike) -> float:
    """τ: what is taken from every entry that stays positive."""
    values, x = np.asarray(c, float), nearest(c)
    top = int(np.argmax(x))
    return float(values[top] - x[top])


# ---- 6: the penalty -----------------------------------------------------------------------------------------

RHOS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


def penalised_recipe(rho0: float | str) -> Recipe:
    """The crowd with a first penalty: a number, the "paper"'s rule or "ours"."""
    if rho0 == "ours":
        return replace(PENALTY, method_options=TUNED)
    return replace(PENALTY, method_options={"rho0": rho0})


def penalised(rho0: float | str) -> Solved:
    return solved(penalised_recipe(rho0))


# ---- 7: higher order ----------------------------------------------------------------------------------------


def turned_recipe(model: str, rotation: float, scale: float) -> Recipe:
    """Ten points and their turned, enlarged copy under a model: B compares distances, third the angles."""
    params = {**TURNED.dataset_params, "rotation": rotation, "scale": scale}
    return replace(TURNED, dataset_params=params, model=model)


def turned(model: str, rotation: float, scale: float) -> Solved:
    return solved(turned_recipe(model, rotation, scale))


# ---- 8: stuck, or wrong -------------------------------------------------------------------------------------


def careful(recipe: Recipe) -> Solved:
    """The same problem for ADGM+."""
    return solved(replace(recipe, method="adgm+"))


@lru_cache(maxsize=8)
def proved(recipe: Recipe) -> bool:
    """Whether the dual bound proves that no matching has a lower energy than what ADGM+ found."""
    run = careful(recipe)
    return bound(run.problem, run.result.assignment).proved


class Example(NamedTuple):
    """A problem, and the lowest energy of all its matchings: found by ADGM+ and proved (`careful`, `proved`)."""

    recipe: Recipe
    lowest: float


EXAMPLES = {
    "first": Example(WRONG, -40.12664672796649),
    "second": Example(STUCK, -55.65496497460748),
    "third": Example(LUCK, -77.97478063781901),
}


def causes(example: str, solver: str = "adgm1") -> Causes:
    """Which causes a wrong matching has, each of them proved: by the energies of the truth and of the optimum."""
    recipe, lowest = EXAMPLES[example]
    return solved(replace(recipe, method=solver)).metrics.causes(lowest, proved=True)


# ---- 9: outliers --------------------------------------------------------------------------------------------


def priced_recipe(price: float) -> Recipe:
    """Points without partner on both sides, under a price for each match that is not made."""
    return replace(OUTLIERS, model_params={"unmatched": price})


def priced(price: float) -> Solved:
    return solved(priced_recipe(price))


def trapped(method: str) -> Solved:
    """Triangles for edges, and nothing for a match that is not made: then every match costs a price."""
    return solved(
        replace(OUTLIERS, model_params={"unmatched": 0.0, "w2": 0.0, "w3": 3.0}, method=method, method_options={})
    )


def strays(found: Solved) -> int:
    """Matches of points that have no partner, or with another than theirs."""
    return found.metrics.matched - found.right


# ---- 10: luck -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def lucky_starts() -> Floats:
    """The final energies of thirty random starts."""
    problem = problem_of(LUCK)
    make = METHODS["adgm1"].make
    return np.array([run(problem, make(start="random", seed=seed)).energy for seed in range(STARTS)])


def reached(energies: Floats) -> int:
    """How many of them are the best."""
    return int(np.isclose(energies, energies.min(), rtol=0, atol=1e-6).sum())


def chance(runs: int, energies: Floats) -> float:
    """The chance that the best of so many starts, drawn at random, is the best of all."""
    return 1.0 - (1.0 - reached(energies) / len(energies)) ** runs
