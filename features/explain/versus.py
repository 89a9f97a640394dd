"""Two models (or methods) on the same pairs: who is right more often, by how much, and how sure that is.

    first = Recipe("cars", {"outliers": 10}, "C")
    second = replace(first, model="edges abs(d1 - d2) / (d1 + d2)")
    found = Versus.of(list(duels(first, second, pairs_like(first, 20))))
    print(found.text)

Every pair is solved twice. The difference of the two accuracies on a pair is one number; the interval of its mean is a
bootstrap over pairs (`features.judge.intervals`). Energies of different models have different units, so they are
compared only where both are the same problem; beside that each is told with the energy of its own truth.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from features.datasets import DATASETS
from features.explain.trials import Bench, Trial, pairs_like
from features.judge.intervals import FEWEST, Interval, interval, signs
from features.pairs import Pair
from features.recipe import OWN, Recipe
from features.tables import Table

KINDS = ("kind", "scene", "map")  # parameters of data sets that say of which kind a pair is
MOST_SHOWN = 10  # pairs where they differ most


@dataclass(frozen=True, eq=False)
class Duel:
    """One pair, solved by both."""

    first: Trial
    second: Trial

    @property
    def category(self) -> str:
        """Which kind of pair it is: the values of its data set that are words."""
        return category(self.first.recipe)

    @property
    def gain(self) -> float:
        """By how much the second is right more often."""
        return (self.second.metrics.accuracy or 0.0) - (self.first.metrics.accuracy or 0.0)


@dataclass(frozen=True, eq=False)
class Line:
    """Both over some of the pairs."""

    name: str
    accuracy: tuple[Interval, Interval]
    gain: Interval  # second − first, paired
    wins: int  # of the second
    losses: int
    ties: int

    @classmethod
    def of(cls, name: str, duels: Sequence[Duel], seed: int) -> "Line":
        sides = [[one.metrics.accuracy or 0.0 for one in side] for side in _sides(duels)]
        gains = [duel.gain for duel in duels]
        first, second, gain = (interval(values, seed) for values in (*sides, gains))
        return cls(name, (first, second), gain, *signs(gains))


@dataclass(frozen=True, eq=False)
class Versus:
    """What came of two recipes on the same pairs."""

    names: tuple[str, str]
    whole: Line
    categories: tuple[Line, ...]  # empty where all pairs are of one kind
    energies: tuple[Interval, Interval]
    truths: tuple[Interval, Interval] | None  # energies of the true matchings; None where they are unknown
    saving: Interval | None  # first − second energy, where both solve the same problem
    duels: tuple[Duel, ...]  # those first that differ most

    @classmethod
    def of(cls, duels: Sequence[Duel], *, seed: int = 0) -> "Versus":
        judged = [one for one in duels if one.first.metrics.accuracy is not None]
        if not judged:
            raise ValueError("No pair has a truth that is known, so nobody knows who is right.")
        kinds = sorted({one.category for one in judged})
        lines = [Line.of(kind, [one for one in judged if one.category == kind], seed) for kind in kinds]
        energies = [[one.metrics.energy for one in side] for side in _sides(judged)]
        truths = [[one.metrics.truth_energy for one in side] for side in _sides(judged)]
        known = all(value is not None for side in truths for value in side)
        one, two = (duel.recipe for duel in (judged[0].first, judged[0].second))
        same = (one.model, one.concise().model_params) == (two.model, two.concise().model_params)
        return cls(
            names(one, two),
            Line.of("all", judged, seed),
            tuple(lines) if len(kinds) > 1 else (),
            (interval(energies[0], seed), interval(energies[1], seed)),
            (interval(_numbers(truths[0]), seed), interval(_numbers(truths[1]), seed)) if known else None,
            interval([a - b for a, b in zip(*energies, strict=True)], seed) if same else None,
            tuple(sorted(judged, key=lambda duel: -abs(duel.gain))),
        )

    @property
    def verdict(self) -> str:
        """Who is better, in a sentence that says how sure it is."""
        gain, count = self.whole.gain, self.whole.gain.count
        first, second = self.names
        told = f"{gain.points()} on {count} pair{'s' * (count != 1)}"
        if not gain.decided:
            why = f"fewer than {FEWEST} pairs" if count < FEWEST else "the interval holds 0"
            return f"Undecided: {second} against {first} {told}; {why}. Take more pairs."
        better, worse = (second, first) if gain.mean > 0 else (first, second)
        return f"{better} is right more often than {worse}: {second} against {first} {told}."

    @property
    def table(self) -> Table:
        """A line for every category, and one for all."""
        lines = tuple(
            (
                one.name,
                str(one.gain.count),
                *(side.percent() for side in one.accuracy),
                one.gain.points(),
                f"{one.wins}/{one.losses}/{one.ties}",
            )
            for one in (*self.categories, self.whole)
        )
        return Table(("", "pairs", *self.names, "difference", "wins/losses/ties"), lines)

    @property
    def differing(self) -> Table:
        """The pairs where they differ most, with what to call to see them."""
        shown = [one for one in self.duels[:MOST_SHOWN] if one.gain]
        lines = tuple(
            (
                one.first.name,
                *(f"{100 * (side.metrics.accuracy or 0.0):.0f}" for side in (one.first, one.second)),
                ", ".join(f"{name}={value}" for name, value in one.first.recipe.dataset_params.items()),
            )
            for one in shown
        )
        return Table(("pair", f"{self.names[0]} %", f"{self.names[1]} %", "data set"), lines, align="lrrl")

    @property
    def told(self) -> list[str]:
        """Runs that were cut short; then the energies, which different models have in different units."""
        sides = zip(self.names, self.energies, self.truths or (None, None), strict=True)
        energies = [
            f"Energy of {name}: {one.plain()}" + (f", of its truth {truth.plain()}" if truth else "")
            for name, one, truth in sides
        ]
        saved = [] if self.saving is None else [f"{self.names[1]} saves {self.saving.plain()}"]
        return [*self._cut_short, *energies, *saved]

    @property
    def _cut_short(self) -> list[str]:
        """What the comparison says about time, not about the models."""
        found = []
        for name, side in zip(self.names, _sides(self.duels), strict=True):
            if cut := sum(one.status == "time limit" for one in side):
                found.append(f"{name}: {cut} of {len(side)} runs ended at the time limit, with what they had by then.")
        return found

    @property
    def text(self) -> str:
        tables = [self.table.text(), *([self.differing.text()] if any(one.gain for one in self.duels) else [])]
        return "\n\n".join([self.verdict, *tables, "\n".join(self.told)])


def names(first: Recipe, second: Recipe) -> tuple[str, str]:
    """What tells two recipes apart, in few words."""
    from features.recipe import METHOD, MODEL

    labels = [[part.label(getattr(one, part.key)) for part in (MODEL, METHOD)] for one in (first, second)]
    for k in (0, 1):
        if labels[0][k] != labels[1][k] and labels[0][1 - k] == labels[1][1 - k]:
            return labels[0][k], labels[1][k]
    mine, theirs = (", ".join(each) for each in labels)
    return (mine, theirs) if mine != theirs else (f"{mine} (first)", f"{theirs} (second)")


def duels(
    first: Recipe,
    second: Recipe,
    recipes: Sequence[Recipe],
    *,
    pair: Pair | None = None,
    time_limit: float | None = None,
) -> Iterator[Duel]:
    """Every pair of the recipes by both, as it is finished; stop it by `adgm.machine.deadline`."""
    bench = Bench(pair)
    for one in recipes:
        trials = [bench.run(_on(one, side), time_limit=time_limit) for side in (first, second)]
        yield Duel(*trials)


def every_kind(recipe: Recipe, count: int, seed: int = 0, *, any_gap: bool = False) -> list[Recipe]:
    """`count` pairs of every kind that the data set has, such as the categories of Willow."""
    kinds = kinds_of(recipe)
    if kinds is None:
        return pairs_like(recipe, count, seed, any_gap=any_gap)
    name, words = kinds
    found = [replace(recipe, dataset_params={**recipe.dataset_params, name: word}) for word in words]
    return [one for kind in found for one in pairs_like(kind, count, seed, any_gap=any_gap)]


def kinds_of(recipe: Recipe) -> tuple[str, tuple[str, ...]] | None:
    """The parameter of the data set that says which kind of pairs these are, and its values; None if it has none."""
    if recipe.dataset == OWN:
        return None
    for one in DATASETS[recipe.dataset].parameters:
        if one.kind == "choice" and one.name in KINDS:
            return one.name, one.choices
    return None


def category(recipe: Recipe) -> str:
    kinds = kinds_of(recipe)
    if kinds is None:
        return ""
    default = next(one.default for one in DATASETS[recipe.dataset].parameters if one.name == kinds[0])
    return str(recipe.dataset_params.get(kinds[0], default))


def _on(pair: Recipe, side: Recipe) -> Recipe:
    """A recipe's model and method on another's pair."""
    changes: dict[str, Any] = {
        "model": side.model,
        "model_params": side.model_params,
        "method": side.method,
        "method_options": side.method_options,
    }
    return replace(pair, **changes)


def _sides(duels: Sequence[Duel]) -> tuple[list[Trial], list[Trial]]:
    return [one.first for one in duels], [one.second for one in duels]


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]
