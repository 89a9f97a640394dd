"""One record that says everything about a run: what the app, the command line and share links pass around."""

import functools
import json
import math
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from adgm import METHODS, Problem, Result, solve
from adgm.problem import CONSTRAINTS
from adgm.run import Method
from features.datasets import DATASETS
from features.models import MODELS
from features.pairs import Pair, Parameter, Value

OWN = "own"  # the data set of whoever brings images and points: the pair travels beside the record, as a zip file
PAIR_FILE = "pair.zip"
CONSTRAINED = ("rows", "cols")  # what every model takes beside its own parameters
Option = int | float | str | bool | None

SCRIPT = '''\
"""{title}

Run it in the folder that holds the packages adgm and features.
"""

{library}from adgm import METHODS, solve
{imports}
from features.models import MODELS
from features.score import measure

pair = {pair}
problem = MODELS[{model}].build({arguments})
method = METHODS[{method}].make({options})
result = solve(problem, method)

print(pair.name)
print(measure(pair, problem, result.assignment, MODELS[{model}].sense))
print(result.pairs.tolist())  # [left point, right point], numbered from 0
'''


@dataclass(frozen=True)
class Setup:
    """A reproducible run: a pair of a data set, a model and a method, each with what was chosen for it.

    Parameters that are not named keep their defaults. `model_params` may also hold the constraints `rows` and `cols`.
    The data set "own" stands for a pair that is handed over (see `features.exports.open_pair`).
    """

    dataset: str = "turntable"
    dataset_params: dict[str, Value] = field(default_factory=dict)
    model: str = "C"
    model_params: dict[str, Value] = field(default_factory=dict)
    method: str = "adgm1"
    method_options: dict[str, Option] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known_sets = [*DATASETS, OWN]
        for what, key, known in (
            ("data set", self.dataset, known_sets),
            ("model", self.model, list(MODELS)),
            ("method", self.method, list(METHODS)),
        ):
            if key not in known:
                raise ValueError(f"There is no {what} {key!r}; choose one of {', '.join(known)}.")
        for name in ("dataset_params", "model_params", "method_options"):
            if not isinstance(getattr(self, name), Mapping):
                raise ValueError(f"{name} is {getattr(self, name)!r}; names with their values are right.")
        object.__setattr__(self, "dataset_params", self._checked_dataset())
        object.__setattr__(self, "model_params", self._checked_model())
        object.__setattr__(self, "method_options", {k: _plain(k, v) for k, v in self.method_options.items()})
        self.method_object()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def _checked_dataset(self) -> dict[str, Value]:
        if self.dataset == OWN:
            if self.dataset_params:
                raise ValueError(f"A pair of your own has no parameters; {', '.join(self.dataset_params)} was given.")
            return {}
        dataset = DATASETS[self.dataset]
        known = {parameter.name: parameter for parameter in dataset.parameters}
        for name in self.dataset_params:
            if name not in known:
                raise ValueError(f"{dataset.label} has no parameter {name!r}; it has {', '.join(known)}.")
        return {name: known[name].check(_plain(name, value)) for name, value in self.dataset_params.items()}

    def _checked_model(self) -> dict[str, Value]:
        given = {name: _plain(name, value) for name, value in self.model_params.items()}
        for side in CONSTRAINED:
            if side in given and given[side] not in CONSTRAINTS:
                raise ValueError(f"{side} is {given[side]!r}; one of {', '.join(CONSTRAINTS)} is right.")
        own = {name: value for name, value in given.items() if name not in CONSTRAINED}
        values = MODELS[self.model].values(**own)
        return {name: values[name] if name in own else given[name] for name in given}

    # ---- what it describes -----------------------------------------------------------------------------------

    def pair(self) -> Pair:
        """The pair of the data set."""
        if self.dataset == OWN:
            raise ValueError(f"This run is about a pair of its owner's; open it from its file, {PAIR_FILE}.")
        return DATASETS[self.dataset].load(**dict[str, Any](self.dataset_params))

    def problem(self, pair: Pair | None = None) -> Problem:
        """The model's problem for the pair (or for one that is at hand already)."""
        return MODELS[self.model].build(self.pair() if pair is None else pair, **self.model_params)  # type: ignore[arg-type]

    def method_object(self) -> Method[Any]:
        """The method with its options."""
        known = method_options(self.method)
        for name in self.method_options:
            if name not in known:
                has = f"it has {', '.join(known)}" if known else "it has none"
                raise ValueError(f"{METHODS[self.method].label} has no option {name!r}; {has}.")
        try:
            return METHODS[self.method].make(**self.method_options)
        except TypeError as error:  # a comparison of text with a number, say
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

    # ---- as text ---------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The record as plain values; `from_dict` takes it back."""
        return {one.name: _copy(getattr(self, one.name)) for one in fields(self)}

    @classmethod
    def from_dict(cls, given: Any) -> "Setup":
        """A record from plain values, every one of them checked: what comes from a link or a file is not trusted."""
        if not isinstance(given, Mapping):
            raise ValueError(f"A setup is a set of names and values, not {type(given).__name__}.")
        known = [one.name for one in fields(cls)]
        for name in given:
            if name not in known:
                raise ValueError(f"A setup has no entry {name!r}; it has {', '.join(known)}.")
        for name in ("dataset", "model", "method"):
            if not isinstance(given.get(name, ""), str):
                raise ValueError(f"{name} is {given[name]!r}; the name of one is right.")
        return cls(**given)

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Setup":
        try:
            return cls.from_dict(json.loads(text))
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"This is not the JSON of a setup ({error}).") from error

    @property
    def title(self) -> str:
        where = "A pair of your own" if self.dataset == OWN else DATASETS[self.dataset].label
        return f"{where}, {MODELS[self.model].label}, {METHODS[self.method].label}."

    def as_python(self, pair_file: str = PAIR_FILE) -> str:
        """A program that reproduces the run; a pair of one's own is read from its zip file."""
        if self.dataset == OWN:
            imports = "from features.exports import open_pair"
            pair = f"open_pair(Path({_literal(pair_file)}).read_bytes()).pair"
        else:
            imports = "from features.datasets import DATASETS"
            pair = f"DATASETS[{_literal(self.dataset)}].load({_keywords(self.dataset_params)})"
        return SCRIPT.format(
            title=self.title,
            library="from pathlib import Path\n\n" if self.dataset == OWN else "",
            imports=imports,
            pair=pair,
            model=_literal(self.model),
            arguments=", ".join(["pair", *filter(None, [_keywords(self.model_params)])]),
            method=_literal(self.method),
            options=_keywords(self.method_options),
        )

    def as_command(self, pair_file: str = PAIR_FILE, output: str | None = None) -> str:
        """The same run on a command line."""
        words = ["python", "-m", "features", "match"]
        words += ["--pair", pair_file] if self.dataset == OWN else ["--dataset", self.dataset]
        words += [word for item in self.dataset_params.items() for word in ("--set", _assigned(*item))]
        words += ["--model", self.model]
        for name, value in self.model_params.items():
            words += [f"--{name}", str(value)] if name in CONSTRAINED else ["--param", _assigned(name, value)]
        words += ["--method", self.method]
        words += [word for item in self.method_options.items() for word in ("--option", _assigned(*item))]
        words += [] if output is None else ["-o", output]
        return shlex.join(words)


def method_options(key: str) -> dict[str, Any]:
    """The options of a method that a caller may choose, with their defaults."""
    make = METHODS[key].make
    fixed = make.keywords if isinstance(make, functools.partial) else {}
    method = make()
    if not is_dataclass(method):
        return {}
    return {one.name: getattr(method, one.name) for one in fields(method) if one.init and one.name not in fixed}


def parse_value(text: str) -> Option:
    """A value as people write it on a command line: a whole number, a number, true, false, none, or text."""
    words: dict[str, Option] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parse_assignments(given: Sequence[str], what: str, words: Collection[str] = ()) -> dict[str, Any]:
    """["left=0", "right=50"] as names and values; those of the names in `words` are text whatever they look like."""
    found: dict[str, Any] = {}
    for item in given:
        name, mark, text = (part.strip() for part in item.partition("="))
        if not mark or not name.isidentifier():
            raise ValueError(f"The {what} {item!r} is not of the form name=value.")
        if name in found:
            raise ValueError(f"The {what} {name!r} is given twice.")
        found[name] = text if name in words else parse_value(text)
    return found


def worded(parameters: Iterable[Parameter]) -> list[str]:
    """The names of the parameters whose values are words."""
    return [parameter.name for parameter in parameters if parameter.kind == "choice"]


def _plain(name: str, value: Any) -> Any:
    """A number, text, truth value or None, as Python has them; nothing else belongs into a setup."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} is {value}; a finite number is right.")
    if value is not None and not isinstance(value, bool | int | float | str):
        raise ValueError(f"{name} is a {type(value).__name__}; a number or a word is right.")
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"{name!r} is not the name of a parameter.")
    return value


def _copy(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _keywords(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_literal(value)}" for name, value in values.items())


def _literal(value: Option) -> str:
    """Python's own way to write it, text in double quotes (JSON's escapes are Python's)."""
    return json.dumps(value, ensure_ascii=True) if isinstance(value, str) else repr(value)


def _assigned(name: str, value: Any) -> str:
    return f"{name}={value}"
