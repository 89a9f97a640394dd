"""Parameters of a model from pairs with truth: max-margin for what enters the energy linearly, a search without
derivatives for the rest, which then also tries the former: fewest errors and largest margin are not the same thing. The
result is judged on pairs that the fit never saw.

    recipe = Recipe("house", {}, "A", {"sigma_l": 0.2, "sigma_a": 0.5, "weight": 0.0})
    pairs = pairs_like(recipe, 40)
    found = fit(recipe, train=pairs[:15], test=pairs[15:])
    print(found.text)
    match(found.recipe)  # or found.link in the app, found.recipe.as_command() on a command line
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

import numpy as np

from features.explain.max_margin import linear, max_margin
from features.explain.sweeps import Span
from features.explain.trials import Bench, Trial, parameter, parameters, place, value_of, varied
from features.judge.intervals import Interval, interval
from features.models import MODELS
from features.pairs import Pair
from features.recipe import OWN, Recipe
from features.tables import Table

SCAN, LAST = 6, 0.02  # parts of a parameter's range that a search begins with, and the share of it that it ends with
EVALUATIONS = 80  # settings that a fit may try
ROUNDS = 3  # of the two taking turns
DIGITS = 4  # of a fitted value: what is finer does not matter, and people must read it


@dataclass(frozen=True, eq=False)
class Measured:
    """A set of pairs under one setting of the parameters."""

    trials: tuple[Trial, ...]

    @property
    def possible(self) -> int:
        return sum(one.metrics.possible or 0 for one in self.trials)

    @property
    def wrong(self) -> int:
        return self.possible - sum(one.metrics.correct or 0 for one in self.trials)

    @property
    def error(self) -> float:
        """The mean over the pairs of the share that is not right."""
        found = [1.0 - one.metrics.accuracy for one in self.trials if one.metrics.accuracy is not None]
        return float(np.mean(found)) if found else 0.0

    @property
    def blame(self) -> str:
        counts = dict.fromkeys(("optimiser stuck", "model prefers this", "both agree"), 0)
        for one in self.trials:
            if one.metrics.verdict is not None:
                counts[one.metrics.verdict] += 1
        return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)


@dataclass(frozen=True)
class Step:
    """Something that was tried, and what it gave on the training pairs."""

    what: str
    values: dict[str, Any]
    error: float
    kept: bool
    evaluations: int  # so far


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model: before and after, on the pairs that it was fitted to and on others."""

    start: Recipe
    recipe: Recipe  # the start with the fitted parameters: a link, a command line and a program are made from it
    linear: tuple[str, ...]  # fitted by max-margin
    searched: tuple[str, ...]  # fitted by the search alone
    train: tuple[Measured, Measured]  # before, after
    test: tuple[Measured, Measured]
    steps: tuple[Step, ...]

    @property
    def link(self) -> str:
        """What follows the app's address."""
        return f"?{urlencode(self.recipe.to_query())}"

    @property
    def values(self) -> dict[str, tuple[Any, Any]]:
        """The parameters, before and after."""
        names = (*self.linear, *self.searched)
        return {name: (value_of(self.start, name), value_of(self.recipe, name)) for name in names}

    @property
    def table(self) -> Table:
        lines = []
        for word, (before, after) in (("train", self.train), ("test", self.test)):
            for when, one in (("before", before), ("after", after)):
                shares = f"{100 * one.error:.2f}", f"{100 - 100 * one.error:.2f}", f"{one.wrong} of {one.possible}"
                lines.append((f"{word}, {when}", str(len(one.trials)), *shares, one.blame))
        return Table(("", "pairs", "error %", "accuracy %", "wrong", "verdicts"), tuple(lines), align="lrrrrl")

    @property
    def text(self) -> str:
        moved = [f"{name} {_short(old)} → {_short(new)}" for name, (old, new) in self.values.items() if old != new]
        told = [", ".join(moved) or "Nothing was changed.", self.table.text(), self.sure, self.why, self.ends]
        return "\n\n".join(filter(None, told))

    @property
    def gain(self) -> Interval:
        """By how much the test pairs, which the fit never saw, became right; a paired bootstrap over them."""
        sides = ([one.metrics.accuracy or 0.0 for one in measured.trials] for measured in self.test)
        return interval([new - old for old, new in zip(*sides, strict=True)])

    @property
    def sure(self) -> str:
        """That gain in a sentence."""
        gain = self.gain
        if gain.low == gain.high == 0:
            return f"On none of the {gain.count} test pairs did the accuracy change."
        told = f"On the {gain.count} test pairs the accuracy changed by {gain.points()}"
        return f"{told}: {'more than chance explains' if gain.decided else 'it may be chance; take more pairs'}."

    @property
    def at_ends(self) -> dict[str, float]:
        """The fitted parameters that went to an end of their range."""
        found = {}
        for name, (old, new) in self.values.items():
            declared = parameter(self.recipe, name)
            if new != old and new in (declared.low, declared.high):
                found[name] = float(new)
        return found

    @property
    def ends(self) -> str:
        """What that means, in a sentence; empty if none did."""
        if not self.at_ends:
            return ""
        told = ", ".join(f"{name} = {_short(value)}" for name, value in self.at_ends.items())
        return (
            f"At an end of its range: {told}. A better value may lie beyond; widen the range, or drop what it weighs."
        )

    @property
    def why(self) -> str:
        """What is left on the test pairs, and whose fault it is, by the energies."""
        after = self.test[1]
        if not after.wrong:
            return "No error is left on the test pairs."
        by: dict[str, int] = {"optimiser stuck": 0, "model prefers this": 0, "both agree": 0}
        for one in after.trials:
            by[one.metrics.verdict or "both agree"] += (one.metrics.possible or 0) - (one.metrics.correct or 0)
        model, stuck = by["model prefers this"], by["optimiser stuck"]
        return (
            f"Of the {after.wrong} errors left on the test pairs, {model} are on pairs where what was found costs less "
            "than the truth: with these parameters a better optimiser would not return the truth either. "
            f"{stuck} are on pairs where the truth costs less and the optimiser is stuck."
        )


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def split(recipes: Sequence[Recipe], share: float = 0.5) -> tuple[list[Recipe], list[Recipe]]:
    """(train, test): the first so many, and the others."""
    if not 0 < share < 1:
        raise ValueError(f"The share of training pairs is {share:g}; expected a number between 0 and 1.")
    if len(recipes) < 2:
        raise ValueError(f"There are {len(recipes)} pairs; a fit needs two or more, to learn from and to be judged by.")
    middle = min(max(round(share * len(recipes)), 1), len(recipes) - 1)
    return list(recipes[:middle]), list(recipes[middle:])


def fit(recipe: Recipe, train: Sequence[Recipe], test: Sequence[Recipe], **options: Any) -> Fit:
    """The parameters that are right on the training pairs, judged on the test pairs; `options` are `Fitting`'s."""
    fitting = Fitting(recipe, train, test, **options)
    for _ in fitting.run():
        pass
    assert fitting.found is not None
    return fitting.found


class Fitting:
    """A fit as it goes: `run` yields every step; then `found` is the result.

    `names`: parameters of the model, as in a link ("model.eta"); all of its numbers that are not whole if None.
    `pair`: where the recipes are about a pair of one's own. Stop it by `adgm.machine.deadline`.
    """

    def __init__(
        self,
        recipe: Recipe,
        train: Sequence[Recipe],
        test: Sequence[Recipe],
        *,
        names: Sequence[str] | None = None,
        evaluations: int = EVALUATIONS,
        pair: Pair | None = None,
    ) -> None:
        if not train or not test:
            raise ValueError(f"{len(train)} training and {len(test)} test pairs; expected one or more of each.")
        shared = {place(one) for one in train} & {place(one) for one in test}
        if shared and recipe.dataset != OWN:
            raise ValueError(f"{len(shared)} pairs are in the training and in the test set; expected different ones.")
        self.start, self.evaluations = recipe, evaluations
        self.names = list(names) if names is not None else fittable(recipe)
        for name in self.names:
            if not name.startswith("model.") or parameter(recipe, name).kind == "choice":
                raise ValueError(f"{name} is no number of the model; choose some of {', '.join(fittable(recipe))}.")
        if not self.names:
            raise ValueError(f"{MODELS[recipe.model].label} has no parameter that could be fitted.")
        self.train, self.test = tuple(train), tuple(test)
        self.bench = Bench(pair)
        self.best = {name: value_of(recipe, name) for name in self.names}
        self.linear: list[str] = []
        self.steps: list[Step] = []
        self.known: dict[tuple[Any, ...], float] = {}  # training errors; infinite where measuring was given up
        self.used = 0
        self.found: Fit | None = None

    # ---- what is asked of the pairs ------------------------------------------------------------------------------

    def with_values(self, recipe: Recipe, values: dict[str, Any]) -> Recipe:
        """A recipe's pair under the model of the start, with these values."""
        mine = replace(recipe, model=self.start.model, model_params=dict(self.start.model_params))
        mine = replace(mine, method=self.start.method, method_options=dict(self.start.method_options))
        for name, value in values.items():
            mine = varied(mine, name, value)
        return mine

    def measured(self, recipes: Sequence[Recipe], values: dict[str, Any], limit: float = np.inf) -> Measured | None:
        """The pairs under these values; None as soon as the sum of their errors is beyond the limit."""
        trials: list[Trial] = []
        total = 0.0
        for one in recipes:
            trials.append(self.bench.run(self.with_values(one, values)))
            total += 1.0 - (trials[-1].metrics.accuracy or 0.0)
            if total > limit + 1e-9:
                return None
        return Measured(tuple(trials))

    def training(self, values: dict[str, Any], now: float) -> float | None:
        """The training error of a setting, infinite beyond `now`; None if it was tried before and is no better."""
        key = tuple(values[name] for name in self.names)
        if self.known.get(key, -1.0) >= now:
            return None
        result = self.measured(self.train, values, now * len(self.train))
        self.known[key] = np.inf if result is None else result.error
        return self.known[key]

    # ---- the fit -------------------------------------------------------------------------------------------------

    def run(self) -> Iterator[Step]:
        before = self._measured_all(self.best)
        now = before[0].error
        yield self._note("start", self.best, now, True)
        first = self.bench.pair(self.train[0])
        self.linear = linear(self.start, self.names, first)
        rest = [name for name in self.names if name not in self.linear]
        for _ in range(ROUNDS):
            at = now
            for step in self._margins(now):
                now = step.error if step.kept else now
                yield step
            for step in self._search([*rest, *self.linear], now):
                now = step.error if step.kept else now
                yield step
            if now >= at or not now:
                break
        after = before if self.best == self._values_of(self.start) else self._measured_all(self.best)
        self.found = Fit(
            self.start,
            self.with_values(self.start, self.best),
            tuple(self.linear),
            tuple(rest),
            (before[0], after[0]),
            (before[1], after[1]),
            tuple(self.steps),
        )

    def _values_of(self, recipe: Recipe) -> dict[str, Any]:
        return {name: value_of(recipe, name) for name in self.names}

    def _measured_all(self, values: dict[str, Any]) -> tuple[Measured, Measured]:
        train, test = self.measured(self.train, values), self.measured(self.test, values)
        assert train is not None and test is not None
        return train, test

    def _note(self, what: str, values: dict[str, Any], error: float, kept: bool) -> Step:
        self.used += 1
        self.steps.append(Step(what, dict(values), error, kept, self.used))
        return self.steps[-1]

    def _margins(self, now: float) -> Iterator[Step]:
        """What enters linearly, all at once; kept unless it makes more errors on the training pairs."""
        if not self.linear:
            return
        recipes = [self.with_values(one, self.best) for one in self.train]
        for found in max_margin(recipes, self.linear, self.bench):
            trying = self.best | {name: self._fine(name, value) for name, value in found.values.items()}
            error = None if trying == self.best else self.training(trying, now)
            if error is None:
                continue
            kept = error <= now
            if kept:
                self.best, now = trying, error
            yield self._note(f"max-margin, {found.matchings} matchings", trying, error, kept)

    def _search(self, names: Sequence[str], now: float) -> Iterator[Step]:
        """One parameter after another: first over its whole range, then by a step that is halved when nothing improves.

        The best of what is tried along a parameter is kept, if it makes fewer errors than before.
        """
        spans = {name: Span.of(parameter(self.start, name), self.best[name]) for name in names}
        size, first = 1 / SCAN, True
        while names and now > 0 and size >= LAST and self.used < self.evaluations:
            better = False
            for name in names:
                here = min(max(spans[name].place(float(self.best[name])), 0.0), 1.0)
                shares = [k / SCAN for k in range(SCAN + 1)] if first else [here + size, here - size]
                values = dict.fromkeys(self._fine(name, float(spans[name].at(share))) for share in shares)
                for value in values:
                    if value == self.best[name] or now == 0 or self.used >= self.evaluations:
                        continue
                    trying = self.best | {name: value}
                    error = self.training(trying, now)
                    if error is None:
                        continue
                    kept = error < now - 1e-12
                    if kept:
                        self.best, now, better = trying, error, True
                    yield self._note("scan" if first else f"search, step {size:.2g}", trying, error, kept)
            first, size = False, size if better and not first else size / 2

    def _fine(self, name: str, value: float) -> Any:
        declared = parameter(self.start, name)
        if declared.kind == "int":
            return round(value)
        return min(max(rounded(value), declared.low), declared.high)


def fittable(recipe: Recipe) -> list[str]:
    """The numbers of the model that are not whole."""
    return [name for name, one in parameters(recipe).items() if name.startswith("model.") and one.kind == "float"]
