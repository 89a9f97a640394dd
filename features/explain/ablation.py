"""What each part of a model does: every potential left out, every weight halved and doubled.

    found = match(Recipe("house", {"left": 7, "right": 97}, "A"))
    for effect in ablation(found.recipe, left=4):
        print(effect.what, effect.right, effect.accuracy, effect.changed)

A potential that is scaled is a weight that is changed, also where the model has no parameter for it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from adgm import Dense, Formula, Problem, Sparse
from adgm.explain.ledger import named
from adgm.machine.deadline import check_time
from features.explain.case import TERMS
from features.explain.sweeps import is_right
from features.explain.trials import Bench, Trial, parameters, place, trial_of, value_of, varied
from features.judge.metrics import score
from features.matching import Matching
from features.models import MODELS
from features.models.base import Potential
from features.pairs import Pair
from features.recipe import Recipe
from features.tables import Table

FACTORS = (0.5, 2.0)


def _times(cost: Callable[..., Any], factor: float, a: Any, b: Any) -> Any:
    return factor * cost(a, b)


def scaled(potential: Potential, factor: float) -> Potential:
    """The same potential, its costs multiplied."""
    if isinstance(potential, Dense):
        return Dense(factor * potential.costs)
    if isinstance(potential, Sparse):
        return Sparse(potential.indices, factor * potential.costs, potential.symmetric)
    if not isinstance(potential, Formula):
        raise TypeError(f"a potential is Dense, Sparse or Formula, got {type(potential).__name__}")
    largest = None if potential.largest is None else factor * potential.largest
    return replace(potential, cost=partial(_times, potential.cost, factor), largest=largest)


@dataclass(frozen=True)
class Variation:
    """One change of a model: another recipe, or another problem made from the same one."""

    what: str
    recipe: Recipe
    change: Callable[[Problem], Problem] | None = None  # None: the recipe says it all, and can be opened

    @property
    def opens(self) -> bool:
        return self.change is None


@dataclass(frozen=True, eq=False)
class Effect:
    """What a variation does: to the match asked about, to its pair, to a sample of the data set."""

    variation: Variation
    trials: tuple[Trial, ...]  # the pair itself first
    right: bool | None  # the match that was asked about; None: nobody asked, or the truth is unknown
    changed: int  # matches of the pair that differ from those of the model as it is

    @property
    def what(self) -> str:
        return self.variation.what

    @property
    def accuracy(self) -> float | None:
        """Of the pair."""
        return self.trials[0].metrics.accuracy

    @property
    def sample_accuracy(self) -> float | None:
        """The mean over the sample, without the pair itself."""
        found = [one.metrics.accuracy for one in self.trials[1:] if one.metrics.accuracy is not None]
        return float(np.mean(found)) if found else None


def without(at: int, problem: Problem) -> Problem:
    """The problem with one potential left out."""
    return replace(problem, potentials=tuple(p for k, p in enumerate(problem.potentials) if k != at))


def weighted(at: int, factor: float, problem: Problem) -> Problem:
    """The problem with one potential multiplied."""
    parts = tuple(scaled(p, factor) if k == at else p for k, p in enumerate(problem.potentials))
    return replace(problem, potentials=parts)


def variations(recipe: Recipe, problem: Problem) -> list[Variation]:
    """The model as it is; then each potential left out and weighted, and each of its numbers halved and doubled.

    A single potential cannot be left out, and multiplying all there is changes no matching.
    """
    found = [Variation("as it is", recipe)]
    if len(problem.potentials) > 1:
        for at, name in enumerate(named(problem, TERMS)):
            found.append(Variation(f"without {name}", recipe, partial(without, at)))
            for factor, word in zip(FACTORS, ("½", "2"), strict=True):
                found.append(Variation(f"{name} × {word}", recipe, partial(weighted, at, factor)))
    for name, one in parameters(recipe).items():
        now = value_of(recipe, name)
        if not name.startswith("model.") or one.kind != "float" or not now:
            continue
        for factor in FACTORS:
            value = min(max(float(now) * factor, one.low), one.high)
            if value != now:
                found.append(Variation(f"{name} = {value:g}", varied(recipe, name, value)))
    return found


def ablation(
    recipe: Recipe,
    *,
    left: int | None = None,
    sample: Sequence[Recipe] = (),
    pair: Pair | None = None,
    time_limit: float | None = None,
) -> Iterator[Effect]:
    """Every variation, as it is finished. `left`: the point whose match is asked about; `sample`: the same run on other
    pairs (`trials.pairs_like`); `pair`: the recipe's, where that is one's own; `time_limit`: seconds for each run."""
    bench = Bench(pair)
    seen = bench.pair(recipe)
    if left is not None and not 0 <= left < seen.shape[0]:
        raise ValueError(f"There is no left point {left}; {seen.name} has 0 to {seen.shape[0] - 1}.")
    others = [one for one in sample if place(one) != place(recipe)]
    usual: set[tuple[int, ...]] | None = None
    for variation in variations(recipe, bench.problem(recipe)):
        trials = tuple(_run(bench, variation, one, time_limit) for one in (recipe, *others))
        mine = {tuple(match) for match in trials[0].pairs.tolist()}
        usual = mine if usual is None else usual
        right = is_right(trials[0], seen, left) if left is not None and seen.judged else None
        yield Effect(variation, trials, right, len(mine - usual))


def _run(bench: Bench, variation: Variation, recipe: Recipe, time_limit: float | None) -> Trial:
    changed = replace(recipe, model_params=variation.recipe.model_params)
    if variation.change is None:
        return bench.run(changed, time_limit=time_limit)
    check_time()
    problem = variation.change(bench.problem(changed))
    return trial_of(Matching(changed, bench.pair(changed), problem, changed.run(problem, time_limit=time_limit)))


def table(effects: Sequence[Effect]) -> Table:
    """A line per variation."""
    words = {True: "right", False: "wrong", None: ""}
    lines = []
    for one in effects:
        shares = ["" if a is None else f"{100 * a:.1f}" for a in (one.accuracy, one.sample_accuracy)]
        metrics = one.trials[0].metrics
        value = f"{score(metrics.energy, MODELS[one.variation.recipe.model].sense):.6g}"
        lines.append((one.what, words[one.right], shares[0], str(one.changed), value, metrics.verdict or "", shares[1]))
    header = ("model", "match", "right %", "other matches", "value", "verdict", "sample right %")
    return Table(header, tuple(lines), align="llrrrlr")
