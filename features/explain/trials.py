"""A recipe with one thing changed, other pairs of its data set, and what came of each: what sweeps, ablations, lists of
failures and fits are made of.

A parameter is named as in a link: `model.eta`, `data.points`, `points.left`, `method.rho0`.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from adgm import METHODS, Problem
from adgm.machine.deadline import check_time
from adgm.options import options
from features.datasets import DATASETS
from features.judge.metrics import Kind, Metrics
from features.matching import Matching
from features.models import MODELS
from features.pairs import Pair
from features.parameters import Parameter
from features.points.descriptors import DESCRIPTORS
from features.recipe import METHOD, OWN, PARTS, Recipe, method_options

T = TypeVar("T")
MOST_PAIRS, MOST_PROBLEMS = 64, 4  # that a bench keeps


@dataclass(frozen=True, eq=False)
class Trial:
    """What came of a recipe; light, so that hundreds of them can be kept. The recipe runs it again."""

    recipe: Recipe
    name: str  # of the pair
    metrics: Metrics
    pairs: NDArray[np.int64]  # matched, k × 2
    kinds: list[Kind] | None  # of each; None where the truth is unknown
    status: str
    iterations: int
    seconds: float

    def partner(self, left: int) -> int:
        """The right point that a left one was matched to, −1 for none."""
        found = self.pairs[self.pairs[:, 0] == left, 1]
        return int(found[0]) if len(found) else -1

    def to_dict(self) -> dict[str, Any]:
        """One line of a table: the choice, then what came of it."""
        ran = {"status": self.status, "iterations": self.iterations, "seconds": round(self.seconds, 6)}
        return {"pair": self.name, **self.recipe.to_query(), **self.metrics.to_dict(), **ran}


class Bench:
    """Runs recipes one after another; pairs and built potentials are kept as long as they are what is asked for.

    A pair that no data set has (`dataset="own"`) is handed over once.
    """

    def __init__(self, pair: Pair | None = None) -> None:
        self.own = pair
        self.pairs: OrderedDict[Any, Pair] = OrderedDict()
        self.problems: OrderedDict[Any, Problem] = OrderedDict()

    def pair(self, recipe: Recipe) -> Pair:
        """Without its images where nothing looks at them: that is much faster."""
        if recipe.dataset == OWN and self.own is not None:
            return self.own
        seen = needs_images(recipe)
        key = place(recipe), seen

        def load() -> Pair:
            if seen or recipe.dataset == OWN:
                return recipe.pair()
            return DATASETS[recipe.dataset].load(images=False, **dict[str, Any](recipe.dataset_params))

        return _kept(self.pairs, key, MOST_PAIRS, load)

    def problem(self, recipe: Recipe) -> Problem:
        pair = self.pair(recipe)
        key = _made_of(recipe, PARTS[:3])
        return _kept(self.problems, key, MOST_PROBLEMS, lambda: recipe.problem(pair))

    def run(self, recipe: Recipe, *, time_limit: float | None = None) -> Trial:
        """Solve it, and say what it is worth; within a deadline (`adgm.machine.deadline`) only while that has not
        passed."""
        check_time()
        pair, problem = self.pair(recipe), self.problem(recipe)
        result = recipe.run(problem, time_limit=time_limit)
        return trial_of(Matching(recipe, pair, problem, result))


def trial_of(found: Matching) -> Trial:
    """What a matching came to, without what is large about it."""
    result = found.result
    return Trial(
        found.recipe,
        found.pair.name,
        found.metrics,
        found.pairs,
        found.kinds,
        result.status,
        result.iterations,
        result.seconds,
    )


def needs_images(recipe: Recipe) -> bool:
    """Whether points or potentials are made from pixels."""
    model = MODELS[recipe.model]
    looks = DESCRIPTORS.get(str(model.values(**_own_values(recipe)).get("descriptor", "")))
    return recipe.points != OWN or model.photographs or model.images or (looks is not None and looks.needs_image)


def _own_values(recipe: Recipe) -> dict[str, Any]:
    known = {one.name for one in MODELS[recipe.model].parameters}
    return {name: value for name, value in recipe.model_params.items() if name in known}


def place(recipe: Recipe) -> tuple[Any, ...]:
    """What tells its pair from others: the data set and the points, with what was chosen for them."""
    return _made_of(recipe, PARTS[:2])


def _made_of(recipe: Recipe, parts: Sequence[Any]) -> tuple[Any, ...]:
    return tuple((getattr(recipe, part.key), tuple(sorted(getattr(recipe, part.values).items()))) for part in parts)


def _kept(store: OrderedDict[Any, T], key: Any, most: int, make: Callable[[], T]) -> T:
    if key not in store:
        store[key] = make()
        while len(store) > most:
            store.popitem(last=False)
    store.move_to_end(key)
    return store[key]


# ---- one thing changed -------------------------------------------------------------------------------------------


def parameters(recipe: Recipe) -> dict[str, Parameter]:
    """Everything of a recipe that is a number or one of several words, by its name in a link."""
    found: dict[str, Parameter] = {}
    for part in PARTS:
        key = getattr(recipe, part.key)
        declared = _options(recipe.method) if part is METHOD else part.declared(key)
        found |= {f"{part.word}.{one.name}": one for one in declared}
    return found


def _options(method: str) -> list[Parameter]:
    """A method's options that are numbers or words."""
    declared, found = options(type(METHODS[method].make())), []
    for name, default in method_options(method).items():
        one = declared[name]
        low = max(one.low, one.above + 1e-12)
        if isinstance(default, bool) or default is None:
            continue
        if one.number is None:
            found.append(Parameter(name, one.label, "choice", default, one.help, choices=one.words))
        else:  # a word that stands for a rule is no number: a sweep begins beside it
            kind: Literal["int", "float"] = "int" if one.number is int else "float"
            usual = max(low, 1.0) if isinstance(default, str) else default
            found.append(Parameter(name, one.label, kind, usual, one.help, low, one.high))
    return found


def parameter(recipe: Recipe, name: str) -> Parameter:
    """One of `parameters`, or a sentence about what there is."""
    known = parameters(recipe)
    if name not in known:
        raise ValueError(f"{recipe.title}: there is no parameter {name!r}; choose one of {', '.join(known)}.")
    return known[name]


def value_of(recipe: Recipe, name: str) -> Any:
    """What a recipe says about a parameter, or its default."""
    default = parameter(recipe, name).default
    part, short = _part(name), name.partition(".")[2]
    usual = method_options(recipe.method) if part is METHOD else {}
    return getattr(recipe, part.values).get(short, usual.get(short, default))


def varied(recipe: Recipe, name: str, value: Any) -> Recipe:
    """The same recipe with one parameter changed."""
    checked = parameter(recipe, name).check(value)
    part = _part(name)
    changes: dict[str, Any] = {part.values: {**getattr(recipe, part.values), name.partition(".")[2]: checked}}
    return replace(recipe, **changes)


def _part(name: str) -> Any:
    return next(part for part in PARTS if part.word == name.partition(".")[0])


# ---- other pairs of the same data set ----------------------------------------------------------------------------


def pairs_like(recipe: Recipe, count: int, seed: int = 0, *, any_gap: bool = False) -> list[Recipe]:
    """The same run on `count` different pairs of its data set, drawn at random, always in the same order for a seed.

    Two frames stay as far apart as they are, unless any two will do (`any_gap`); numbered pairs are drawn by number;
    what is generated, by its seed. What comes first is among what comes later: 10 pairs are the beginning of 20. Fewer
    where the set has fewer, or none of the kind: some numbered pairs have too few outliers.
    """
    if count < 1:
        raise ValueError(f"{count} pairs were asked for; expected 1 or more.")
    if recipe.dataset == OWN:
        raise ValueError("This pair is its owner's, there are no others like it; choose a data set.")
    declared = {one.name: one for one in DATASETS[recipe.dataset].parameters}
    rng = np.random.default_rng(seed)
    if has_gap(recipe):
        given = {name: int(recipe.dataset_params.get(name, declared[name].default)) for name in ("left", "right")}
        apart = given["right"] - given["left"]
        lefts, rights = _span(declared["left"]), _span(declared["right"])
        gaps = range(1, len(rights)) if any_gap else (apart,)
        frames = [(left, left + gap) for gap in gaps for left in lefts if left + gap in rights]
        drawn = [{"left": left, "right": right} for left, right in rng.permutation(frames).tolist()]
    elif "number" in declared:
        drawn = [{"number": number} for number in rng.permutation(_span(declared["number"])).tolist()]
    else:
        drawn = [{"seed": value} for value in dict.fromkeys(rng.integers(2**31 - 1, size=2 * count).tolist())]
    found = []
    for params in drawn:
        other = replace(recipe, dataset_params={**recipe.dataset_params, **params})
        if "seed" in params or _loads(other):
            found.append(other)
        if len(found) == count:
            break
    return found


def has_gap(recipe: Recipe) -> bool:
    """Whether its pairs are two frames of a sequence."""
    return recipe.dataset != OWN and {"left", "right"} <= {one.name for one in DATASETS[recipe.dataset].parameters}


def _span(one: Parameter) -> range:
    return range(int(one.low), int(one.high) + 1)


def _loads(recipe: Recipe) -> bool:
    try:
        DATASETS[recipe.dataset].load(images=False, **dict[str, Any](recipe.dataset_params))
    except ValueError:
        return False
    return True
