"""A declared number or choice of a data set, a model, a method or a sweep: its default, its range and its words."""

import math
import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as brief  # bounded in length, whatever a link or a file holds
from typing import Any, Literal

from features.points.regions import parse, told

Value = int | float | str
Option = int | float | str | bool | None  # of a method


@dataclass(frozen=True)
class Parameter:
    """One declared choice, enough to build a control, a command-line option or a sweep from."""

    name: str
    label: str
    kind: Literal["int", "float", "choice", "regions"]
    default: Value
    help: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    symbol: str = ""  # LaTeX, as in a model's formula
    unit: str = ""  # "px²", "px", …; empty for a pure number
    step: float | None = None  # of a control
    paper: Value | None = None  # the paper's value; None where it gives none

    def __post_init__(self) -> None:
        self.check(self.default)

    def check(self, value: Any) -> Value:
        """The value in its own type, or a ValueError that names the parameter, the value and what is expected."""
        if self.kind == "choice":
            if value not in self.choices:
                raise ValueError(f"{self.label} is {brief(value)}; expected one of {', '.join(self.choices)}.")
            return str(value)
        if self.kind == "regions":
            return told(parse(value))
        whole = self.kind == "int"
        try:
            number = operator.index(value) if whole else float(value)
        except (TypeError, ValueError):
            raise ValueError(f"{self.label} is {brief(value)}; expected a {'whole ' * whole}number.") from None
        except OverflowError:  # a whole number of more digits than any float has
            number = math.inf
        if not self.low <= number <= self.high:
            raise ValueError(f"{self.label} is {brief(number)}; expected {self.low:g} to {self.high:g}.")
        return number


def checked(declared: Iterable[Parameter], given: Mapping[str, Any], owner: str) -> dict[str, Value]:
    """The given values, each in its own type; a ValueError in a sentence about a name or value that `owner` lacks."""
    known = {parameter.name: parameter for parameter in declared}
    for name in given:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise ValueError(f"{owner} has no parameter {brief(name)}; {has}.")
    return {name: known[name].check(value) for name, value in given.items()}


def worded(parameters: Iterable[Parameter]) -> list[str]:
    """The names of the parameters whose values are words."""
    return [parameter.name for parameter in parameters if parameter.kind in ("choice", "regions")]


def seed_parameter(help: str = "Another seed, another order of the right points") -> Parameter:
    """The parameter that every data set has: with −1 (or None) the right points keep their own order."""
    what = f"{help}; −1 keeps their own order (anything else that is random is then as with seed 0)."
    return Parameter("seed", "Seed", "int", 0, what, -1, 2**31 - 1)


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
            raise ValueError(f"The {what} {brief(item)} is not of the form name=value.")
        if name in found:
            raise ValueError(f"The {what} {brief(name)} is given twice.")
        found[name] = text if name in words else parse_value(text)
    return found
