"""What may be chosen about a method: each option is one field of its record, with its range and its words for people.

    growth: float = option(2.0, "Growth of ρ, β", "ρ ← β·ρ whenever …", low=1)

is all that an option needs: `check` refuses other values, `options` tells pages and command lines what to offer. Its
kind comes from the field's type: bool, int (whole numbers), float, Literal words, any of them or None.
"""

from dataclasses import dataclass, field, fields, replace
from math import inf, isfinite
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np


@dataclass(frozen=True)
class Option:
    """An option for people: a bool, a number from `low` to `high` (above `above`), one of `words`, or None."""

    label: str
    help: str = ""
    low: float = -inf
    high: float = inf
    above: float = -inf
    words: tuple[str, ...] = ()
    number: type[int] | type[float] | None = None
    flag: bool = False
    optional: bool = False  # whether it may be None

    def allows(self, value: Any) -> bool:
        if isinstance(value, str | bool) or value is None:
            return value in self.words or (self.flag and isinstance(value, bool)) or (self.optional and value is None)
        numbers = (int, np.integer) if self.number is int else (int, float, np.number)
        if self.number is None or not isinstance(value, numbers):
            return False
        return bool(isfinite(value) and self.low <= value <= self.high and value > self.above)

    def __str__(self) -> str:
        """What it may be, as the end of a sentence that says "must be"."""
        kind = "a whole number" if self.number is int else "a number"
        if self.above == 0 and self.high == inf:
            kind = kind.replace("a ", "a positive ", 1)
        elif self.above > -inf:
            kind += f" above {self.above:g}" + (f" and at most {self.high:g}" if self.high < inf else "")
        elif self.high < inf:
            kind += f" from {self.low:g} to {self.high:g}"
        elif self.low > -inf:
            kind += f" of at least {self.low:g}"
        parts = [kind] if self.number else []
        parts += [f"one of {', '.join(self.words)}"] if self.words else []
        parts += ["True or False"] if self.flag else []
        return " or ".join(parts + (["None"] if self.optional else []))


_known: dict[type, dict[str, Option]] = {}


def option(
    default: Any, label: str, help: str = "", *, low: float = -inf, high: float = inf, above: float = -inf
) -> Any:
    """A dataclass field that declares an option."""
    return field(default=default, metadata={"option": Option(label, help, low, high, above)})


def options(kind: type) -> dict[str, Option]:
    """The options of a record, by name: as declared with `option`, here or in a base, and by their types."""
    if kind in _known:
        return _known[kind]
    hints = get_type_hints(kind)
    found: dict[str, Option] = {}
    for each in fields(kind):
        parts = get_args(hints[each.name]) if get_origin(hints[each.name]) is not Literal else (hints[each.name],)
        parts = parts or (hints[each.name],)
        words = [word for part in parts if get_origin(part) is Literal for word in get_args(part)]
        bases = (vars(base).get("__dataclass_fields__", {}).get(each.name) for base in kind.__mro__)
        given = (base.metadata["option"] for base in bases if base is not None and "option" in base.metadata)
        declared = next(given, Option(each.name.replace("_", " ").capitalize()))
        found[each.name] = replace(
            declared,
            words=tuple(words),
            number=float if float in parts else int if int in parts else None,
            flag=bool in parts,
            optional=type(None) in parts,
        )
    _known[kind] = found
    return found


def check(record: Any) -> None:
    """An error that names the first option whose value is not allowed."""
    for name, declared in options(type(record)).items():
        value = getattr(record, name)
        if not declared.allows(value):
            raise ValueError(f"{name} must be {declared}, got {value!r}")
