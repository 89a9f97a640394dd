"""One or two parameters over a range, and the smallest change of one that makes a match right.

    recipe = Recipe("house", {"points": 10}, "B")
    axis = Axis.of(recipe, "model.sigma2", count=9)
    for cell in sweep(recipe, axis):
        print(cell.setting, cell.accuracy, cell.verdicts)
    print(smallest_change(recipe, "model.sigma2", left=3).text)

Every cell is a run of its own, from the method's own start: what is opened from a cell is what the cell showed.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from features.explain.trials import Bench, Trial, parameter, value_of, varied
from features.judge.metrics import kinds
from features.pairs import Pair
from features.parameters import Parameter, Value
from features.recipe import Recipe
from features.tables import Table

MOST_CELLS = 400
WIDE = 30.0  # a range whose ends differ by more than this factor is walked through by factors
UNBOUNDED = 10.0  # an end that is infinite is taken to be so many times the present value
STEPS = 12  # on either side of the present value, before the change is halved
FIGURES = 4  # of the values of a sweep: people read them
FINE = 1e-3  # of the range: how closely the smallest change is found


@dataclass(frozen=True)
class Axis:
    """A parameter and the values it takes."""

    name: str  # as in a link: "model.eta"
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) < len(self.values):
            raise ValueError(f"{self.name} takes {list(self.values)}; expected one or more different values.")

    @classmethod
    def of(
        cls, recipe: Recipe, name: str, *, low: float | None = None, high: float | None = None, count: int = 9
    ) -> "Axis":
        """`count` values from `low` to `high` (else of the declared range), equally far apart, or by equal factors
        where the range is wide; all words of a choice."""
        declared = parameter(recipe, name)
        if declared.kind == "choice":
            return cls(name, declared.choices)
        if count < 2:
            raise ValueError(f"{count} values were asked for; expected 2 or more.")
        ends = Span.of(declared, value_of(recipe, name), low, high)
        found = [ends.at(float(share), FIGURES) for share in np.linspace(0, 1, count)]
        return cls(name, tuple(dict.fromkeys(found)))

    @classmethod
    def parse(cls, recipe: Recipe, text: str) -> "Axis":
        """From a command line: "model.eta" (its whole range), "model.eta=0..1", "model.eta=0..1:5" or
        "model.eta=0.1,0.5"."""
        name, mark, values = text.partition("=")
        if not mark:
            return cls.of(recipe, name)
        declared = parameter(recipe, name)
        if ".." not in values:
            return cls(name, tuple(declared.check(_number(declared, word)) for word in values.split(",")))
        ends, _, count = values.partition(":")
        low, high = (_number(None, end) for end in ends.split("..", 1))
        return cls.of(recipe, name, low=float(low), high=float(high), count=int(count or 9))


def _number(declared: Parameter | None, word: str) -> Value:
    """A number of the parameter's kind, or its word; the parameter itself complains about what it does not take."""
    if declared is not None and declared.kind == "choice":
        return word
    try:
        return int(word) if declared is not None and declared.kind == "int" else float(word)
    except ValueError:
        raise ValueError(f"{word!r} is not a number; expected such as 0.5, or a range such as 0..1.") from None


@dataclass(frozen=True)
class Span:
    """A range of a number as a line from 0 to 1: plain, or by factors where it is wide and positive."""

    low: float
    high: float
    whole: bool
    factors: bool

    @classmethod
    def of(cls, declared: Parameter, now: Any, low: float | None = None, high: float | None = None) -> "Span":
        near = abs(float(now)) if not isinstance(now, str) and now else 1.0
        begin = declared.low if low is None else max(low, declared.low)
        end = declared.high if high is None else min(high, declared.high)
        if math.isinf(begin) or (low is None and begin <= 0 and math.isinf(end)):
            begin = max(declared.low, near / UNBOUNDED)
        if math.isinf(end):
            end = UNBOUNDED * near
        if not begin < end:
            raise ValueError(f"{declared.label} is to go from {begin:g} to {end:g}; expected a range within its own.")
        return cls(begin, end, declared.kind == "int", begin > 0 and end / begin > WIDE)

    def at(self, share: float, figures: int = 8) -> Value:
        """The value at a place from 0 to 1, to so many figures."""
        share = min(max(share, 0.0), 1.0)
        if self.factors:
            value = self.low * (self.high / self.low) ** share
        else:
            value = self.low + share * (self.high - self.low)
        value = min(max(float(f"{value:.{figures}g}"), self.low), self.high)
        return round(value) if self.whole else value

    def place(self, value: float) -> float:
        """Where a value is, from 0 to 1; beyond the ends outside of it."""
        if self.factors:
            return math.log(max(value, 1e-300) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, eq=False)
class Cell:
    """A setting of the axes, and what came of it on every pair."""

    setting: tuple[Value, ...]
    trials: tuple[Trial, ...]

    @property
    def accuracy(self) -> float | None:
        found = [one.metrics.accuracy for one in self.trials if one.metrics.accuracy is not None]
        return float(np.mean(found)) if found else None

    @property
    def energy(self) -> float:
        return float(np.mean([one.metrics.energy for one in self.trials]))

    @property
    def verdicts(self) -> dict[str, int]:
        """How often whom is to blame."""
        return dict(Counter(one.metrics.verdict or "truth unknown" for one in self.trials))

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.trials)


def sweep(
    recipe: Recipe | Sequence[Recipe], *axes: Axis, pair: Pair | None = None, time_limit: float | None = None
) -> Iterator[Cell]:
    """A cell for each setting, the last axis fastest, as they are finished; on one recipe's pair or on several.

    `pair`: for recipes about a pair of one's own. `time_limit`: seconds for each run.
    """
    recipes = [recipe] if isinstance(recipe, Recipe) else list(recipe)
    if not 1 <= len(axes) <= 2:
        raise ValueError(f"{len(axes)} parameters were given; a sweep takes one or two.")
    if len({axis.name for axis in axes}) < len(axes):
        raise ValueError(f"Both axes are {axes[0].name}; expected two different parameters.")
    if (cells := math.prod(len(axis.values) for axis in axes)) > MOST_CELLS:
        raise ValueError(f"The sweep has {cells} settings; expected at most {MOST_CELLS}.")
    settings = [
        (setting, [_set(one, axes, setting) for one in recipes]) for setting in product(*(axis.values for axis in axes))
    ]
    bench = Bench(pair)
    return (Cell(at, tuple(bench.run(one, time_limit=time_limit) for one in them)) for at, them in settings)


def _set(recipe: Recipe, axes: Sequence[Axis], setting: Sequence[Value]) -> Recipe:
    for axis, value in zip(axes, setting, strict=True):
        recipe = varied(recipe, axis.name, value)
    return recipe


def table(axes: Sequence[Axis], cells: Sequence[Cell]) -> Table:
    """A line per setting, the best accuracy bold."""
    known = [cell.accuracy for cell in cells if cell.accuracy is not None]
    lines, bold = [], set()
    for at, cell in enumerate(cells):
        right = "" if cell.accuracy is None else f"{100 * cell.accuracy:.1f}"
        told = ", ".join(f"{count} {verdict}" for verdict, count in cell.verdicts.items())
        words = [f"{value:g}" if not isinstance(value, str) else value for value in cell.setting]
        lines.append((*words, right, f"{cell.energy:.6g}", told, f"{cell.seconds:.3f}"))
        if cell.accuracy is not None and cell.accuracy >= max(known):
            bold.add((at, len(axes)))
    header = (*(axis.name for axis in axes), "right %", "energy", "verdict", "seconds")
    return Table(header, tuple(lines), frozenset(bold), align="r" * (len(axes) + 2) + "lr")


# ---- the smallest change -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Change:
    """The smallest change of a parameter that makes a match right, as far as was searched."""

    name: str
    left: int  # the point whose match is meant
    now: Value
    value: Value | None  # the nearest value found with which it is right; None: none in this range
    wrong: Value | None  # the value on the way there with which it is still wrong
    searched: tuple[Value, Value]
    tried: int  # values
    trial: Trial | None = None  # of `value`

    @property
    def text(self) -> str:
        if self.value == self.now:
            return f"The match of left point {self.left} is right as it is ({self.name} = {_short(self.now)})."
        within = f"from {_short(self.searched[0])} to {_short(self.searched[1])}"
        if self.value is None:
            return (
                f"None in this range: with no {self.name} {within} that was tried ({self.tried} values) is the match "
                f"of left point {self.left} right."
            )
        right = self.trial.metrics.accuracy if self.trial is not None else None
        whole = "" if right is None else f" The pair is then {100 * right:.1f} % right."
        return (
            f"{self.name} = {_short(self.value)} instead of {_short(self.now)} makes the match of left point "
            f"{self.left} right; with {_short(self.wrong)} it is still wrong.{whole}"
        )


def _short(value: Value | None) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def is_right(trial: Trial, pair: Pair, left: int) -> bool:
    """Whether a left point is matched to its partner, or to nobody if it has none."""
    partner = trial.partner(left)
    if partner < 0:
        return not pair.has_partner[left]
    return kinds(pair, [(left, partner)])[0] == "correct"


def smallest_change(recipe: Recipe, name: str, left: int, **options: Any) -> Change:
    """From the present value outwards in `steps` on either side; then the step into the right halved until it is fine.

    Right and wrong may alternate between two steps, where nobody looked: what is found is a change that works, next to
    one that does not. Of a choice every word is tried. `options` are those of `changes`.
    """
    *_, found = changes(recipe, name, left, **options)
    return found


def changes(
    recipe: Recipe,
    name: str,
    left: int,
    *,
    low: float | None = None,
    high: float | None = None,
    pair: Pair | None = None,
    steps: int = STEPS,
    time_limit: float | None = None,
) -> Iterator[Change]:
    """`smallest_change` as it is searched for: what is known after every value that was tried; the last is the answer.

    A parameter of the data set is no part of it: another pair has other points.
    """
    if name.startswith(("data.", "points.")):
        raise ValueError(
            f"{name} makes another pair, with other points; choose a parameter of the model or the method."
        )
    declared, now = parameter(recipe, name), value_of(recipe, name)
    bench = Bench(pair)
    seen = bench.pair(recipe)
    if not seen.judged:
        raise ValueError(f"The truth of {seen.name} is unknown, so no match of it is right or wrong.")
    if not 0 <= left < seen.shape[0]:
        raise ValueError(f"There is no left point {left}; {seen.name} has 0 to {seen.shape[0] - 1}.")
    if declared.kind != "choice" and isinstance(now, str):
        raise ValueError(f"{name} is the rule {now!r}, which is no number to go on from; give it a number first.")
    search = _Search(recipe, name, left, seen, bench, time_limit)
    if declared.kind == "choice":
        yield from search.words(now, declared.choices)
    else:
        yield from search.numbers(now, Span.of(declared, now, low, high), steps)


class _Search:
    """The values that were tried, and what came of them."""

    def __init__(
        self, recipe: Recipe, name: str, left: int, pair: Pair, bench: Bench, time_limit: float | None
    ) -> None:
        self.recipe, self.name, self.left, self.pair, self.bench = recipe, name, left, pair, bench
        self.time_limit = time_limit
        self.trials: dict[Value, Trial] = {}

    def right(self, value: Value) -> bool:
        if value not in self.trials:
            changed = varied(self.recipe, self.name, value)
            self.trials[value] = self.bench.run(changed, time_limit=self.time_limit)
        return is_right(self.trials[value], self.pair, self.left)

    def known(self, now: Value, ends: tuple[Value, Value], value: Value | None, wrong: Value | None) -> Change:
        trial = None if value is None else self.trials[value]
        return Change(self.name, self.left, now, value, wrong, ends, len(self.trials), trial)

    def words(self, now: Value, choices: Sequence[str]) -> Iterator[Change]:
        ends = choices[0], choices[-1]
        for word in (now, *(one for one in choices if one != now)):
            right = self.right(word)
            yield self.known(now, ends, word if right else None, None if word == now else now)
            if right:
                return

    def numbers(self, now: Value, span: Span, steps: int) -> Iterator[Change]:
        ends = span.at(0), span.at(1)
        if self.right(now):
            yield self.known(now, ends, now, None)
            return
        yield self.known(now, ends, None, now)
        here = min(max(span.place(float(now)), 0.0), 1.0)
        stride = max(here, 1 - here) / steps
        for step, side in product(range(1, steps + 1), (-1, 1)):  # the nearest first, whichever side it is on
            before, share = here + side * (step - 1) * stride, here + side * step * stride
            if before * side >= (side > 0) - 1e-9:  # that end is reached already
                continue
            if (value := span.at(share)) in self.trials:
                continue
            right = self.right(value)
            yield self.known(now, ends, value if right else None, now if step == 1 else span.at(before))
            if right:
                yield from self.halved(now, ends, span, before, min(max(share, 0.0), 1.0))
                return

    def halved(self, now: Value, ends: tuple[Value, Value], span: Span, wrong: float, right: float) -> Iterator[Change]:
        """Between a place that is wrong and one that is right, until both are next to each other."""
        while abs(right - wrong) > FINE:
            middle = (wrong + right) / 2
            if span.at(middle) in (span.at(wrong), span.at(right)):  # whole numbers: nothing is between them
                break
            if self.right(span.at(middle)):
                right = middle
            else:
                wrong = middle
            shown = now if math.isclose(span.place(float(now)), wrong, abs_tol=1e-12) else span.at(wrong)
            yield self.known(now, ends, span.at(right), shown)
