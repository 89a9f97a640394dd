"""The one record of a choice: what the app, the command line, links, exported programs and experiments pass around.

`PARTS` declares once what can be chosen and how each choice is written; links, command lines, JSON and the checks are
made from it.
"""

import functools
import json
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from reprlib import repr as brief
from typing import Any

import numpy as np

from adgm import METHODS, Problem, Result, solve
from adgm.problem import CONSTRAINTS
from adgm.run import Method
from features.datasets import DATASETS
from features.formulas.link import packed, unpacked
from features.judge.verification import KINDS, Kind
from features.limits import LIMITS
from features.models import MODELS
from features.pairs import POINTS, SIDES, Pair
from features.parameters import Option, Parameter, Value, checked, parse_assignments, worded
from features.points.keypoints import DETECTORS

OWN = "own"  # a pair of one's own, which travels beside the record as a zip file; or the points that come with a pair
PAIR_FILE = "pair.zip"
CONSTRAINED = ("rows", "cols")  # what every model takes beside its own parameters
RULES = tuple(Parameter(side, side, "choice", CONSTRAINTS[0], "", choices=tuple(CONSTRAINTS)) for side in CONSTRAINED)
COUNTS = tuple(
    Parameter(side, f"Points, {side}", "int", POINTS, "At most so many are detected.", 1, min(4000, LIMITS.detected))
    for side in SIDES
)
MASKS = tuple(
    Parameter(
        f"mask_{side}",
        f"Mask, {side}",
        "regions",
        "",
        "Where points are looked for: keep or drop, then left, top, right, bottom in pixels; several with commas",
    )
    for side in SIDES
)
CHECK = "check"  # in a link
CHECKS = ("automatic", "none", *KINDS)
LARGEST = 2**63  # whole numbers of this size or more are a mistake, and overflow what is computed with them
LONGEST = 600  # characters of a word: a mask has the longest


@dataclass(frozen=True)
class Part:
    """One of the things that are chosen, by its key, with values for its parameters.

    In a link it is `word=key&word.name=value`; on a command line `flag key value_flag name=value`.
    """

    word: str
    what: str  # for people
    key: str  # the field of the recipe that holds the key
    values: str  # the field with the values
    flag: str
    value_flag: str
    registry: Mapping[str, Any]
    parameters: Callable[[Any], tuple[Parameter, ...]]  # of an entry; of a method none: its record checks its options
    own: str = ""  # what the key "own" is called, where there is one

    @property
    def known(self) -> list[str]:
        return [*self.registry, *([OWN] if self.own else [])]

    def has(self, key: str) -> bool:
        """Whether it can be chosen; a model may also be a formula."""
        return key in self.registry or (key == OWN and bool(self.own))

    def label(self, key: str) -> str:
        return str(self.registry[key].label) if key in self.registry else self.own

    def declared(self, key: str) -> tuple[Parameter, ...]:
        """What can be chosen beside a key; nothing for "own" and for what there is not."""
        return self.parameters(self.registry[key]) if key in self.registry else ()

    def read(self, given: Sequence[str], key: str) -> dict[str, Any]:
        """["left=0", …] as names and values; what is declared to be a word stays text whatever it looks like."""
        return parse_assignments(given, f"{self.what} parameter", worded(self.declared(key)))


PARTS = (
    Part(
        *("data", "data set", "dataset", "dataset_params", "--dataset", "--set"),
        DATASETS,
        lambda entry: tuple(entry.parameters),
        own="A pair of your own",
    ),
    Part(
        *("points", "detector", "points", "point_params", "--detector", "--points"),
        DETECTORS,
        lambda entry: (*COUNTS, *MASKS),
        own="The pair's own points",
    ),
    Part(
        *("model", "model", "model", "model_params", "--model", "--param"),
        MODELS,
        lambda entry: (*entry.parameters, *RULES),
    ),
    Part(*("method", "method", "method", "method_options", "--method", "--option"), METHODS, lambda entry: ()),
)
DATA, FOUND, MODEL, METHOD = PARTS

SCRIPT = '''\
"""{title}.

Run it in the folder that holds the packages adgm and features.
"""

{library}from adgm import METHODS, solve
{imports}
from features.judge.metrics import measure
from features.models import MODELS
{checker}{plugged}
{plugins}pair = {pair}
problem = MODELS[{model}].build({arguments})
method = METHODS[{method}].make({options})
result = solve(problem, method)

print(pair.name)
print(measure(pair, problem, result.assignment, MODELS[{model}].sense))
{check}print(result.pairs.tolist())  # [left point, right point], numbered from 0
'''


@dataclass(frozen=True)
class Recipe:
    """A reproducible run: a pair of a data set, its points, a model and a method, each with what was chosen for it.

    Parameters that are not named keep their defaults. `points` is "own" for those that come with the pair, or a
    detector that finds others, with how many in `point_params`. `model_params` may also hold the constraints `rows`
    and `cols`. The data set "own" stands for a pair that is handed over (see `features.files.exports.open_pair`).
    `check` names the map that matches are checked by afterwards (see `features.judge.verification`), or "none";
    "automatic" checks photographs by whatever map explains them best, and nothing else.
    """

    dataset: str = "turntable"
    dataset_params: dict[str, Value] = field(default_factory=dict)
    model: str = "C"
    model_params: dict[str, Value] = field(default_factory=dict)
    method: str = "adgm"
    method_options: dict[str, Option] = field(default_factory=dict)
    points: str = OWN
    point_params: dict[str, Value] = field(default_factory=dict)
    check: str = CHECKS[0]

    def __post_init__(self) -> None:
        if self.check not in CHECKS:
            raise ValueError(f"There is no map {brief(self.check)} to check matches by; choose {', '.join(CHECKS)}.")
        for part in PARTS:
            key, given = getattr(self, part.key), getattr(self, part.values)
            if not isinstance(key, str):
                raise ValueError(f"{part.key} is {brief(key)}; expected the name of a {part.what}.")
            if not part.has(key):
                raise ValueError(f"There is no {part.what} {brief(key)}; choose one of {', '.join(part.known)}.")
            if not isinstance(given, Mapping):
                raise ValueError(f"{part.values} is {brief(given)}; expected names with their values.")
            values = {name: _plain(name, value) for name, value in given.items()}
            if part is not METHOD:
                values = checked(part.declared(key), values, part.label(key))
            object.__setattr__(self, part.values, values)
        self.method_object()

    def __hash__(self) -> int:
        return hash(self.to_json())

    @property
    def orders(self) -> tuple[int, ...]:
        """The orders of the terms that the model has with these parameters."""
        given = {name: value for name, value in self.model_params.items() if name not in CONSTRAINED}
        return MODELS[self.model].orders_with(**given)

    @property
    def misfit(self) -> str:
        """Why the method does not take problems of this model, in a sentence; empty if it does."""
        rules = [str(self.model_params.get(side, "")) for side in CONSTRAINED]
        return METHODS[self.method].misfit(self.orders, rules, products=MODELS[self.model].given)

    def concise(self) -> "Recipe":
        """The same run without values equal to their defaults: as the app's widgets make it."""
        found: dict[str, Any] = {}
        for part in PARTS:
            key, given = getattr(self, part.key), getattr(self, part.values)
            usual = method_options(key) if part is METHOD else {one.name: one.default for one in part.declared(key)}
            usual = {name: value for name, value in usual.items() if name not in CONSTRAINED}  # by default the model's
            found[part.values] = {
                name: float(value) if type(value) is int and isinstance(usual.get(name), float) else value
                for name, value in given.items()
                if name not in usual or value != usual[name]
            }
        return replace(self, **found)

    # ---- what it describes -----------------------------------------------------------------------------------

    def pair(self) -> Pair:
        """The pair of the data set, with its own points or detected ones."""
        if self.dataset == OWN:
            raise ValueError(f"This run is about a pair of its owner's; open it from its file, {PAIR_FILE}.")
        pair = DATASETS[self.dataset].load(**dict[str, Any](self.dataset_params))
        return pair if self.points == OWN else pair.detected(self.points, self.wanted, slants=self.slants)

    @property
    def slants(self) -> bool:
        """Whether points of two images are looked for again from a slant where they hardly agree."""
        return MODELS[self.model].photographs

    @property
    def counts(self) -> dict[str, int]:
        """How many points to detect on either side."""
        return {one.name: int(self.point_params.get(one.name, one.default)) for one in COUNTS}

    @property
    def wanted(self) -> dict[str, Any]:
        """How many points to detect on either side, and where, if not everywhere."""
        return self.counts | {one.name: self.point_params[one.name] for one in MASKS if self.point_params.get(one.name)}

    def problem(self, pair: Pair | None = None) -> Problem:
        """The model's problem for the pair (or for one that is at hand already)."""
        return MODELS[self.model].build(self.pair() if pair is None else pair, **self.model_params)  # type: ignore[arg-type]

    @property
    def maps(self) -> tuple[Kind, ...]:
        """The kinds of map that the matches are checked by; none if they are not."""
        if self.check == "automatic":
            return KINDS if MODELS[self.model].photographs else ()
        return tuple(kind for kind in KINDS if kind == self.check)

    def method_object(self) -> Method[Any]:
        """The method with its options."""
        known = method_options(self.method)
        for name in self.method_options:
            if name not in known:
                has = f"it has {', '.join(known)}" if known else "it has none"
                raise ValueError(f"{METHODS[self.method].label} has no option {brief(name)}; {has}.")
        try:
            return METHODS[self.method].make(**self.method_options)
        except (TypeError, OverflowError) as error:  # a comparison of text with a number, say
            raise ValueError(f"The options of {METHODS[self.method].label} do not fit: {error}.") from error

    def run(
        self,
        problem: Problem | None = None,
        *,
        watch: Callable[[Any], object] | None = None,
        every: int = 50,
        time_limit: float | None = None,
    ) -> Result[Any]:
        """Solve it; a method that does not take the problem says so in a sentence."""
        problem = self.problem() if problem is None else problem
        if refusal := METHODS[self.method].refusal(problem):
            raise ValueError(refusal)
        return solve(problem, self.method_object(), watch=watch, every=every, time_limit=time_limit)

    # ---- as JSON ---------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The record as plain values; `from_dict` takes it back. Own points and the usual check go unsaid."""
        found = {one.name: _copy(getattr(self, one.name)) for one in fields(self)}
        silent = (["points", "point_params"] if self.points == OWN else []) + ["check"] * (self.check == CHECKS[0])
        return {name: value for name, value in found.items() if name not in silent}

    @classmethod
    def from_dict(cls, given: Any) -> "Recipe":
        """A record from plain values, every one of them checked: what comes from a link or a file is not trusted.

        A file that holds it under "recipe", or "setup" as it used to be called, will do.
        """
        for name in ("recipe", "setup"):
            if isinstance(given, Mapping) and name in given:
                given = given[name]
        if not isinstance(given, Mapping):
            raise ValueError(f"A recipe is a set of names and values, not {type(given).__name__}.")
        known = [one.name for one in fields(cls)]
        for name in given:
            if name not in known:
                raise ValueError(f"A recipe has no entry {brief(name)}; it has {', '.join(known)}.")
        return cls(**given)

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Recipe":
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:  # a ValueError also for numbers of thousands of digits
            raise ValueError(f"This is not the JSON of a recipe ({error}).") from error
        return cls.from_dict(found)

    # ---- as words --------------------------------------------------------------------------------------------

    def to_query(self) -> dict[str, str]:
        """The words of a link: data=house&data.left=3&model=B …; `from_query` takes them back."""
        found = {}
        for part in PARTS:
            if part is FOUND and self.points == OWN:
                continue
            found[part.word] = packed(getattr(self, part.key))
            found |= {f"{part.word}.{name}": str(value) for name, value in getattr(self, part.values).items()}
        return found if self.check == CHECKS[0] else found | {CHECK: self.check}

    @classmethod
    def from_query(cls, words: Mapping[str, str]) -> "Recipe":
        """What a link stands for; words of others are passed over. A ValueError in a sentence if it makes no sense."""
        given: dict[str, Any] = {}
        for part in PARTS:
            key = unpacked(words.get(part.word, getattr(cls, part.key)))
            mark = f"{part.word}."
            items = [f"{name.removeprefix(mark)}={text}" for name, text in words.items() if name.startswith(mark)]
            given |= {part.key: key, part.values: part.read(items, key)}
        return cls(**given, check=words.get(CHECK, CHECKS[0]))

    @property
    def title(self) -> str:
        data, points, model, method = (part.label(getattr(self, part.key)) for part in PARTS)
        return f"{data}, {'' if self.points == OWN else f'{points} points, '}{model}, {method}"

    @property
    def plugins(self) -> list[str]:
        """The files of the user's that add its data set, model or method."""
        from features.plugins import file_of

        kinds = (("data set", self.dataset), ("model", self.model), ("method", self.method))
        return list(dict.fromkeys(file for kind, key in kinds if (file := file_of(kind, key))))

    def as_python(self, pair_file: str = PAIR_FILE) -> str:
        """A program that reproduces the run; a pair of one's own is read from its zip file."""
        imports = "from features.datasets import DATASETS"
        pair = f"DATASETS[{_literal(self.dataset)}].load({_keywords(self.dataset_params)})"
        if self.points != OWN:
            pair += f".detected({_literal(self.points)}, {self.wanted}, slants={self.slants})"
        if self.dataset == OWN:
            imports = "from features.files.exports import open_pair"
            pair = f"open_pair(Path({_literal(pair_file)}).read_bytes()).pair"
        agreed = ", neighbours=True" if MODELS[self.model].photographs else ""
        return SCRIPT.format(
            title=self.title,
            library="from pathlib import Path\n\n" if self.dataset == OWN else "",
            imports=imports,
            plugged="from features.plugins import load\n" if self.plugins else "",
            plugins="".join(f"load({_literal(file)})\n" for file in self.plugins),
            pair=pair,
            model=_literal(self.model),
            arguments=", ".join(["pair", *filter(None, [_keywords(self.model_params)])]),
            method=_literal(self.method),
            options=_keywords(self.method_options),
            checker="from features.judge.verification import verify\n" if self.maps else "",
            check=f"print(verify(pair, result.pairs, kinds={self.maps}{agreed}).verdict)\n" if self.maps else "",
        )

    def words(self, pair_file: str = PAIR_FILE) -> list[str]:
        """The pair, its points and the model on a command line."""
        found = ["--pair", pair_file] if self.dataset == OWN else []
        for part in PARTS:
            own = part in (DATA, FOUND) and OWN in (self.dataset, getattr(self, part.key))
            if own or part is METHOD:
                continue
            found += [part.flag, getattr(self, part.key)]
            if part is FOUND:
                found += [part.value_flag, ",".join(str(count) for count in self.counts.values())]
                masks = ((one.name, self.wanted.get(one.name)) for one in MASKS)
                found += [word for name, value in masks if value for word in (f"--{name.replace('_', '-')}", value)]
                continue
            for name, value in getattr(self, part.values).items():
                found += [f"--{name}", str(value)] if name in CONSTRAINED else [part.value_flag, f"{name}={value}"]
        return found

    def as_command(self, pair_file: str = PAIR_FILE, output: str | None = None) -> str:
        """The same run on a command line."""
        program = [*shlex.split("python -m features"), *(word for file in self.plugins for word in ("--plugin", file))]
        words = [*program, "match", *self.words(pair_file), "--method", self.method]
        words += [word for name, value in self.method_options.items() for word in ("--option", f"{name}={value}")]
        words += [] if self.check == CHECKS[0] else ["--check", self.check]
        return shlex.join(words if output is None else [*words, "-o", output])


def method_options(key: str) -> dict[str, Any]:
    """The options of a method that a caller may choose, with their defaults."""
    make = METHODS[key].make
    fixed = make.keywords if isinstance(make, functools.partial) else {}
    method = make()
    if not is_dataclass(method):
        return {}
    return {one.name: getattr(method, one.name) for one in fields(method) if one.init and one.name not in fixed}


def _plain(name: str, value: Any) -> Any:
    """A number, text, truth value or None, as Python has them; nothing else belongs into a recipe."""
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"{brief(name)} is not the name of a parameter.")
    name = name[:40]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} is {value}; expected a finite number.")
    if isinstance(value, int) and abs(value) >= LARGEST:
        raise ValueError(f"{name} is {brief(value)}; expected a number below {LARGEST:.0e}.")
    if isinstance(value, str) and len(value) > LONGEST:
        raise ValueError(f"{name} is {brief(value)}; expected at most {LONGEST} characters.")
    if value is not None and not isinstance(value, bool | int | float | str):
        raise ValueError(f"{name} is a {type(value).__name__}; expected a number or a word.")
    return value


def _copy(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _keywords(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_literal(value)}" for name, value in values.items())


def _literal(value: Option) -> str:
    """Python's own way to write it, text in double quotes (JSON's escapes are Python's)."""
    return json.dumps(value, ensure_ascii=True) if isinstance(value, str) else repr(value)
