"""Weights by structured max-margin: what enters the energy linearly is chosen so that the truth costs less than every
other matching, the less alike by the more.

With parameters p that enter linearly, E(x; p) = E₀(x) + Σ p_k g_k(x) for every matching x. The fit maximises

    (1/N) Σ_n min(cap, m_n(p)) − λ Σ_k |p_k − start_k| / range_k,
    m_n(p) = min over x of (E_n(x; p) − E_n(truth; p)) / (Δ_n(x) s(p))

where Δ counts what is not right and s(p) is what a match costs more at random than in the truth, so that margins have
no unit and nothing is gained by larger weights. The inner minimum is a matching problem itself, with m_n s added to the
cost of every true match: the method solves it. The matchings that it finds become constraints of a linear programme (in
p / s and 1 / s), until none is new (Tsochantaridis et al. 2005). No model says what is linear in it: that is tested.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from adgm import Problem, Sparse
from adgm.machine.deadline import check_time
from adgm.rounding import hungarian
from features.explain.sweeps import Span
from features.explain.trials import Bench, parameter, value_of, varied
from features.judge.metrics import as_assignment, matched_pairs, true_assignment
from features.pairs import Pair
from features.recipe import Recipe

Floats = NDArray[np.float64]
Matches = NDArray[np.int64]  # k × 2

CAP = 0.2  # a pair whose margin is larger than this needs no more of it
PULL = 1e-4  # λ: so little that it only decides where the margins do not
ROUNDS = 12  # of new matchings
SAME = 1e-9  # energies that differ by less than this share of their size are equal but for rounding
PROBES = 3  # random matchings, beside the truth, on which linearity is tested


def energy_of(problem: Problem, matches: Matches) -> float:
    """The energy of matched pairs, from what they pay alone."""
    partner = np.full(problem.shape[0], -1)
    partner[matches[:, 0]] = matches[:, 1]
    return problem.paid(as_assignment(problem, partner))


def far_end(recipe: Recipe, name: str) -> float:
    """The end of a parameter's range that is farther from its present value."""
    now = float(value_of(recipe, name))
    span = Span.of(parameter(recipe, name), now)
    return span.high if span.high - now >= now - span.low else span.low


def linear(recipe: Recipe, names: Sequence[str], pair: Pair) -> list[str]:
    """Those of the parameters that enter the energy linearly, together: E is affine in all of them at once.

    Tested on the true and some random matchings of a pair; of two that only enter by their product the first is kept.
    """
    base = recipe.problem(pair)
    rng = np.random.default_rng(0)
    some = [true_assignment(base, pair.partners)] if pair.partners is not None else []
    some += [hungarian(base, rng.uniform(0.5, 1.0, base.n)) for _ in range(PROBES)]
    probes = [matched_pairs(base, one) for one in some]

    def energies(changes: dict[str, float]) -> Floats:
        changed = recipe
        for name, value in changes.items():
            changed = varied(changed, name, value)
        problem = changed.problem(pair)
        return np.array([energy_of(problem, one) for one in probes])

    at = energies({})
    kept: list[str] = []
    ends: dict[str, Floats] = {}
    for name in names:
        now, far = float(value_of(recipe, name)), far_end(recipe, name)
        end = energies({name: far})
        if _differ(2 * energies({name: (now + far) / 2}), at + end):
            continue
        if any(_differ(energies({name: far, other: far_end(recipe, other)}) + at, end + ends[other]) for other in kept):
            continue
        kept.append(name)
        ends[name] = end
    return kept


def _differ(a: Floats, b: Floats) -> bool:
    return bool(np.any(np.abs(a - b) > SAME * np.maximum(np.maximum(np.abs(a), np.abs(b)), 1e-12)))


@dataclass(eq=False)
class Example:
    """A pair with its truth, how energies of its matchings depend on the parameters, and the matchings seen so far."""

    recipe: Recipe
    pair: Pair
    base: Problem  # at the start
    probes: list[tuple[Problem, float]]  # for each parameter: the problem with it moved, and by how much
    truth: Matches
    rows: list[tuple[Floats, float]]  # of every matching: E − E(truth), with its slopes, and Δ
    known: set[bytes]

    @classmethod
    def of(cls, recipe: Recipe, names: Sequence[str], pair: Pair) -> "Example":
        if pair.partners is None:
            raise ValueError(f"The truth of {pair.name} is unknown; a fit needs pairs with truth.")
        base = recipe.problem(pair)
        probes = []
        for name in names:
            check_time()
            far = far_end(recipe, name)
            probes.append((varied(recipe, name, far).problem(pair), far - float(value_of(recipe, name))))
        truth = matched_pairs(base, true_assignment(base, pair.partners))
        return cls(recipe, pair, base, probes, truth, [], set())

    def features(self, matches: Matches) -> Floats:
        """(E at the start, ∂E/∂p_1, …) of a matching."""
        at = energy_of(self.base, matches)
        slopes = [(energy_of(problem, matches) - at) / step for problem, step in self.probes]
        return np.array([at, *slopes])

    def add(self, matches: Matches) -> bool:
        """Take a matching into account; False if it is known already, or is the truth."""
        key = matches[np.argsort(matches[:, 0])].tobytes()
        loss = self.loss(matches)
        if key in self.known or loss == 0:
            return False
        self.known.add(key)
        self.rows.append((self.features(matches) - self.features(self.truth), loss))
        return True

    def loss(self, matches: Matches) -> float:
        """Δ: the true matches that are missing, and the matches of points that have no partner and need none."""
        mine = {tuple(match) for match in matches.tolist()}
        stray = sum(not self.pair.has_partner[i] for i, _ in mine) - sum(
            not self.pair.has_partner[i] for i, _ in self.truth.tolist()
        )
        assert self.pair.partners is not None
        partners = enumerate(self.pair.partners.tolist())
        return float(sum(j >= 0 and (i, j) not in mine for i, j in partners) + max(stray, 0))

    def rival(self, problem: Problem, margin: float) -> Matches:
        """The matching that violates the margin most, as far as the method finds it."""
        layout = problem.layout
        partners = np.asarray(self.pair.partners)
        true = partners[layout.row] == layout.col
        stray = ~self.pair.has_partner[layout.row]
        price = np.where(true, margin, np.where(stray, -margin, 0.0))
        loss = Sparse(layout.variables[:, None], price)
        dearer = replace(problem, potentials=(*problem.potentials, loss))
        return matched_pairs(problem, self.recipe.run(dearer).assignment)


@dataclass(frozen=True)
class Round:
    """How far the max-margin fit is: the values, the mean margin over the matchings known, and how many those are."""

    values: dict[str, float]
    margin: float
    started: float  # the margin of the start, over the same matchings
    matchings: int


def max_margin(recipes: Sequence[Recipe], names: Sequence[str], bench: Bench) -> Iterator[Round]:
    """Fit the parameters `names`, which enter linearly, beginning with what the recipes say; a round after another."""
    examples = [Example.of(one, names, bench.pair(one)) for one in recipes]
    scale = typical(examples)
    start = np.array([float(value_of(recipes[0], name)) for name in names])
    spans = [Span.of(parameter(recipes[0], name), value) for name, value in zip(names, start, strict=True)]
    now: Floats = start
    for turn in range(ROUNDS):
        new = 0
        unit = float(scale @ np.array([1.0, *(now - start)]))
        for example in examples:
            check_time()
            problem = _at(example.recipe, names, now).problem(example.pair)
            margins = {margin_of(example, now - start, scale), *([] if turn else [0.0])}
            for margin in sorted(margins):
                new += example.add(example.rival(problem, margin * max(unit, 0.0)))
        better = programme(examples, start, spans, scale)
        if better is None:
            return
        now = better
        values = dict(zip(names, now.tolist(), strict=True))
        seen = sum(len(example.rows) for example in examples)
        yield Round(values, objective(examples, now - start, scale), objective(examples, 0 * start, scale), seen)
        if not new:
            return


def _at(recipe: Recipe, names: Sequence[str], values: Any) -> Recipe:
    for name, value in zip(names, values, strict=True):
        recipe = varied(recipe, name, float(value))
    return recipe


def typical(examples: Sequence[Example]) -> Floats:
    """s: what a match costs more at random than in the truth, at the start, and how that depends on the parameters."""
    rng = np.random.default_rng(0)
    found = []
    for one in examples:
        for _ in range(PROBES):
            some = matched_pairs(one.base, hungarian(one.base, rng.uniform(0.5, 1.0, one.base.n)))
            if loss := one.loss(some):
                found.append((one.features(some) - one.features(one.truth)) / loss)
    mean: Floats = np.mean(found, axis=0) if found else np.eye(len(examples[0].probes) + 1)[0]
    return mean


def margin_of(example: Example, moved: Floats, scale: Floats) -> float:
    """m_n over the matchings known, at most the cap."""
    point = np.array([1.0, *moved])
    unit = float(scale @ point)
    if unit <= 0:
        return 0.0
    return min([CAP, *(float(row @ point) / (loss * unit) for row, loss in example.rows)])


def objective(examples: Sequence[Example], moved: Floats, scale: Floats) -> float:
    """The mean margin over the matchings known, without the pull."""
    return float(np.mean([margin_of(one, moved, scale) for one in examples]))


def programme(examples: Sequence[Example], start: Floats, spans: Sequence[Span], scale: Floats) -> Floats | None:
    """The linear programme over the matchings known, in κ = 1/s, z = κ (p − start), the margins m and |z| / range.

    None where costs range over so many powers of ten that it cannot be solved.
    """
    k, n = len(start), len(examples)
    largest = float(np.abs(scale).max()) or 1.0
    low, high = np.array([(span.low, span.high) for span in spans]).T
    above = []
    for at, example in enumerate(examples):
        for row, loss in example.rows:  # m ≤ (κ row₀ + z · row) / Δ
            line = np.zeros(1 + 2 * k + n)
            line[: 1 + k], line[1 + k + at] = -row / (loss * largest), 1.0
            above.append(line)
    for at in range(k):
        for sign, end in ((1.0, high), (-1.0, low)):
            bound, pull = np.zeros(1 + 2 * k + n), np.zeros(1 + 2 * k + n)
            bound[0], bound[1 + at] = -sign * (end[at] - start[at]), sign  # within its range
            pull[1 + at], pull[1 + k + n + at] = sign / (high[at] - low[at]), -1.0
            above += [bound, pull]
    cost = np.concatenate([np.zeros(1 + k), np.full(n, -1.0 / n), np.full(k, PULL)])
    unit = np.concatenate([scale / largest, np.zeros(n + k)])[None]
    bounds = [(0.0, None), *[(None, None)] * k, *[(None, CAP)] * n, *[(0.0, None)] * k]
    found = linprog(cost, np.array(above), np.zeros(len(above)), unit, [1.0], bounds=bounds, method="highs")
    if not found.success or found.x[0] <= 0:
        return None
    values: Floats = np.clip(start + found.x[1 : 1 + k] / found.x[0], low, high)
    return values
