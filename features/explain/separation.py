"""Does a potential tell right from wrong? Its values over tuples whose matches are all right, and over others.

Wrong tuples are drawn at random, with at least one wrong match, where the potential lives; of points all are taken.
Before any solver runs: where the two histograms overlap, a right tuple costs as much as a wrong one, and its cost alone
tells nothing. The AUC is the chance that a wrong tuple costs more than a right one, both drawn at
random: 1 for a potential that never errs, ½ for one that knows nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adgm import Formula, Problem
from adgm.explain.terms import Matches
from adgm.machine.deadline import check_time
from features.explain.case import parted, whole_names
from features.formulas.split import part_names
from features.pairs import Pair
from features.recipe import Recipe
from features.tables import Table

Floats = NDArray[np.float64]
Tuples = NDArray[np.int64]  # (m, D) nodes
MOST = 20_000  # tuples of either kind that are looked at
BARS, EXAMPLES = 40, 3
OUTER = 0.5  # percent of the values at either end that fall into the last bars


@dataclass(frozen=True, eq=False)
class Separation:
    """The values of one part of a model over right and wrong tuples."""

    name: str
    order: int
    edges: Floats  # (bars + 1,) of the histogram, costs; the last bars hold what lies beyond
    right: NDArray[np.int64]  # (bars,) how many right tuples have such a cost
    wrong: NDArray[np.int64]
    auc: float  # nan where there are no right or no wrong tuples
    right_examples: tuple[tuple[Matches, ...], ...]  # a few tuples of each bar, as matches (left, right)
    wrong_examples: tuple[tuple[Matches, ...], ...]
    unseen: int = 0  # right tuples that are not among those stored; they cost 0

    @property
    def overlap(self) -> float:
        """The share that both histograms have in common, 0 to 1."""
        sums = self.right.sum(), self.wrong.sum()
        return float(np.minimum(self.right / max(sums[0], 1), self.wrong / max(sums[1], 1)).sum())

    @property
    def verdict(self) -> str:
        """The number in words."""
        if np.isnan(self.auc):
            return "There are no right or no wrong tuples to compare."
        return f"A wrong tuple costs more than a right one in {told(100 * self.auc, 1, 100.0)} % of all draws."


@dataclass(frozen=True, eq=False)
class Sample:
    """Tuples of one kind, with what they cost."""

    left: Tuples
    right: Tuples
    costs: Floats

    def taken(self, which: Any) -> "Sample":
        return Sample(self.left[which], self.right[which], self.costs[which])

    def thinned(self, most: int, rng: np.random.Generator) -> "Sample":
        return self if len(self.costs) <= most else self.taken(np.sort(rng.choice(len(self.costs), most, False)))

    def matches(self, at: int) -> Matches:
        return tuple(zip(self.left[at].tolist(), self.right[at].tolist(), strict=True))


def separations(
    recipe: Recipe,
    pair: Pair,
    *,
    problem: Problem | None = None,
    whole: bool = False,
    most: int = MOST,
    bars: int = BARS,
    seed: int = 0,
) -> tuple[Separation, ...]:
    """One for every part of the recipe's model on this pair, whose truth must be known; of the `whole` potentials."""
    if not pair.judged:
        raise ValueError(f"The truth of {pair.name} is unknown, so nobody knows which tuples are right.")
    problem = recipe.problem(pair) if problem is None else problem
    problem, names = (problem, whole_names(recipe, problem)) if whole else parted(recipe, pair, problem)
    found = []
    for potential, name in zip(problem.potentials, names, strict=True):
        check_time()
        rng = np.random.default_rng(seed)
        if isinstance(potential, Formula):
            right, wrong, unseen = *_edges(potential, problem, pair, most, rng), 0
        elif potential.order(problem.shape) == 1:
            right, wrong, unseen = *_singles(potential, problem, pair), 0
        else:
            right, wrong, unseen = _stored(potential, problem, pair, most, rng)
        found.append(_compared(name, potential.order(problem.shape), right, wrong, unseen, bars))
    return tuple(found)


def whole_and_parts(recipe: Recipe, pair: Pair, problem: Problem) -> tuple[Separation, ...]:
    """The potentials, and after them the summands of those that are sums; a constant tells nothing."""
    whole, parts = separations(recipe, pair, problem=problem, whole=True), part_names(recipe) or []
    if len(parts) <= len(whole):
        return separations(recipe, pair, problem=problem)
    found = separations(recipe, pair, problem=problem)
    return *whole, *(one for one in found if ":" in one.name and ": constant" not in one.name)


def _edges(
    formula: Formula, problem: Problem, pair: Pair, most: int, rng: np.random.Generator
) -> tuple[Sample, Sample]:
    """All right pairs of edges, or a sample, and as many that are drawn at random, where the formula lives."""
    n1, n2 = problem.shape
    rows, cols = _true_matches(pair)
    first, second = np.triu_indices(len(rows), 1)
    if len(first) > most:
        some = rng.choice(len(first), most, False)
        first, second = first[some], second[some]
    right = rows[first], rows[second], cols[first], cols[second]
    if min(n1, n2) < 2:
        return _priced(formula, *right), _priced(formula, *([np.zeros(0, np.int64)] * 4))
    count = 4 * most if formula.on_edges else most
    i1, i2 = rng.integers(n1, size=count), rng.integers(n2, size=count)
    j1, j2 = (i1 + rng.integers(1, n1, size=count)) % n1, (i2 + rng.integers(1, n2, size=count)) % n2
    needed = formula.right_edges is None or formula.where == "both"  # a left edge, wherever the formula lives
    if formula.left_edges is not None and len(formula.left_edges) and needed:
        at = formula.left_edges[rng.integers(len(formula.left_edges), size=count)]
        i1, j1 = at.T
    false = ~(_correct(pair, i1, i2) & _correct(pair, j1, j2))
    wrong = i1[false], j1[false], i2[false], j2[false]
    return _priced(formula, *right), _priced(formula, *wrong).thinned(most, rng)


def _priced(formula: Formula, i1: Tuples, j1: Tuples, i2: Tuples, j2: Tuples) -> Sample:
    live = formula.lives(i1, j1, i2, j2) if formula.on_edges and len(i1) else (i1 != j1) & (i2 != j2)
    i1, j1, i2, j2 = i1[live], j1[live], i2[live], j2[live]
    return Sample(np.stack([i1, j1], 1), np.stack([i2, j2], 1), formula.between(i1, j1, i2, j2))


def _true_matches(pair: Pair) -> tuple[Tuples, Tuples]:
    """Matches that are right, one for each left point that has a partner."""
    assert pair.partners is not None
    rows = np.flatnonzero(pair.partners >= 0)
    return rows, pair.partners[rows]


def _correct(pair: Pair, left: Tuples, right: Tuples) -> NDArray[np.bool_]:
    return pair.correct(np.stack([left.reshape(-1), right.reshape(-1)], 1)).reshape(left.shape)


def _singles(potential: Any, problem: Problem, pair: Pair) -> tuple[Sample, Sample]:
    """Every match that can be made."""
    layout = problem.layout
    costs = np.zeros(layout.n)
    entries = potential.entries(layout)
    np.add.at(costs, entries.indices[:, 0], entries.costs)
    every = Sample(layout.row[:, None], layout.col[:, None], costs)
    right = _correct(pair, every.left, every.right)[:, 0]
    return every.taken(right), every.taken(~right)


def _stored(
    potential: Any, problem: Problem, pair: Pair, most: int, rng: np.random.Generator
) -> tuple[Sample, Sample, int]:
    """Left tuples that the potential looks at, with their true partners and with others drawn among the candidates;
    what is not stored costs nothing. Also how many of the right ones are not."""
    layout, (index, costs, _) = problem.layout, potential.entries(problem.layout)
    order = np.argsort(layout.row[index], axis=1)
    index = np.take_along_axis(index, order, axis=1)
    book, at = np.unique(_keys(layout.row[index], layout.col[index]), return_inverse=True)
    paid = np.bincount(at, costs, len(book)) if len(book) else np.zeros(0)
    lefts = np.unique(layout.row[index], axis=0)
    lefts = lefts[(np.diff(lefts, axis=1) > 0).all(axis=1)]

    def priced(left: Tuples, right: Tuples) -> tuple[Sample, NDArray[np.bool_]]:
        keys = _keys(left, right)
        place = np.minimum(np.searchsorted(book, keys), max(len(book) - 1, 0))
        known = book[place] == keys if len(book) else np.zeros(len(keys), bool)
        return Sample(left, right, np.where(known, paid[place] if len(book) else 0.0, 0.0)), known

    assert pair.partners is not None
    true = lefts[pair.has_partner[lefts].all(axis=1) & (pair.partners[lefts] >= 0).all(axis=1)]
    right, known = priced(true, pair.partners[true])
    drawn = lefts[rng.integers(len(lefts), size=most)] if len(lefts) else lefts
    begin, end = (np.searchsorted(layout.row, drawn, side) for side in ("left", "right"))
    cols = layout.col[begin + (rng.random(drawn.shape) * (end - begin)).astype(np.int64)]
    ordered = np.sort(cols, axis=1)
    false = (np.diff(ordered, axis=1) > 0).all(axis=1) & ~_correct(pair, drawn, cols).all(axis=1)
    wrong, _ = priced(drawn[false], cols[false])
    return right.thinned(most, rng), wrong, int((~known).sum())


def _keys(left: Tuples, right: Tuples) -> NDArray[np.uint64]:
    """A number for every tuple of matches, in the order of its left nodes; different tuples have different ones but for
    a chance of about 1 in 10¹⁹."""
    factors = np.random.default_rng(1).integers(1, 2**63, size=(2, left.shape[1]), dtype=np.uint64) | np.uint64(1)
    both = left.astype(np.uint64) * factors[0] + right.astype(np.uint64) * factors[1]
    mixed: NDArray[np.uint64] = (both ^ (both >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray(mixed.sum(axis=1, dtype=np.uint64))


def _compared(name: str, order: int, right: Sample, wrong: Sample, unseen: int, bars: int) -> Separation:
    both = np.concatenate([right.costs, wrong.costs])
    low, high = np.percentile(both, [OUTER, 100 - OUTER]) if len(both) else (0.0, 1.0)
    if not high > low:
        low, high = (float(both.min()), float(both.max())) if len(both) else (0.0, 1.0)
    edges = np.linspace(low, high if high > low else low + 1.0, bars + 1)
    (first, shown), (second, others) = (_bars(each, edges) for each in (right, wrong))
    return Separation(name, order, edges, first, second, auc(right.costs, wrong.costs), shown, others, unseen)


def _bars(sample: Sample, edges: Floats) -> tuple[NDArray[np.int64], tuple[tuple[Matches, ...], ...]]:
    """How many costs fall into each bar, and a few of their tuples."""
    bars = len(edges) - 1
    at = np.clip(np.searchsorted(edges, sample.costs, side="right") - 1, 0, bars - 1)
    order = np.argsort(at, kind="stable")
    starts = np.searchsorted(at[order], np.arange(bars + 1))
    spans = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    examples = tuple(tuple(sample.matches(k) for k in order[a : min(b, a + EXAMPLES)].tolist()) for a, b in spans)
    return np.diff(starts), examples


def auc(right: Floats, wrong: Floats) -> float:
    """The share of pairs in which the wrong one costs more; equal costs count half."""
    if not len(right) or not len(wrong):
        return float("nan")
    ordered = np.sort(right)
    below, upto = (np.searchsorted(ordered, wrong, side=side) for side in ("left", "right"))
    return float((below + upto).mean() / 2 / len(right))


def told(value: float, digits: int, most: float) -> str:
    """A number from 0 to `most`, rounded, but to neither end: what is nearly always so is not always so."""
    least = 10.0**-digits
    if 0.0 < value < most:
        value = min(max(value, least), most - least)
    return f"{value:.{digits}f}"


def table(found: Sequence[Separation]) -> Table:
    """A line per part."""
    lines = tuple(
        (
            one.name,
            str(int(one.right.sum())),
            str(int(one.wrong.sum())),
            told(one.auc, 3, 1.0),
            told(100 * one.overlap, 0, 100.0),
        )
        for one in found
    )
    return Table(("part", "right tuples", "wrong tuples", "AUC", "overlap %"), lines)
