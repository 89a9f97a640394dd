"""A model as a TOML file, for the command line; a file may also hold the plain text of the model.

name = "Springs"
price = "p"

[[potential]]
on = "edges"
formula = "(d1 - d2)^2 / s2"
where = "on delaunay of left"
similarity = false

[parameters]
s2 = { default = 100, low = 1, high = 1000, step = 10 }
p = 0.5
"""

import json
import tomllib
from collections.abc import Mapping
from reprlib import repr as brief
from typing import Any

from features.formulas.expression import write as expression
from features.formulas.records import FormulaText
from features.formulas.text import model_text
from features.limits import LIMITS

ENTRIES = {"name": str, "price": str | int | float, "potential": list, "parameters": Mapping}
POTENTIAL = {"on": str, "formula": str, "where": str, "similarity": bool}
PARAMETER = ("default", "low", "high", "step")


def read(data: bytes, name: str = "the model file") -> str:
    """The text of the model in a file; a ValueError in a sentence about what is wrong with it."""
    if len(data) > LIMITS.settings_bytes:
        raise ValueError(f"{name} has {len(data):,} bytes; expected at most {LIMITS.settings_bytes:,}.")
    try:
        content = data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is no text: {error.reason} at byte {error.start}.") from None
    try:
        found = tomllib.loads(content)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        if "[[" in content:
            raise ValueError(f"{name} is no TOML: {str(error)[:200]}.") from None
        model_text(content)  # a plain text, or a sentence about its first mistake
        return content
    text = _text(found, name)
    model_text(text)
    return text


def _text(found: Mapping[str, Any], name: str) -> str:
    _check(found, ENTRIES, name)
    lines = [f"name {_line(found['name'])}"] if "name" in found else []
    for at, one in enumerate(found.get("potential", []), 1):
        where = f"potential {at} of {name}"
        if not isinstance(one, Mapping):
            raise ValueError(f"{where} is {brief(one)}; expected a table with on and formula.")
        _check(one, POTENTIAL, where)
        for entry in ("on", "formula"):
            if entry not in one:
                raise ValueError(f"{where} has no {entry}.")
        sense = "similarity " * one.get("similarity", False)
        lines.append(f"{_line(one['on'])} {sense}{_line(one['formula'])} {_line(one.get('where', ''))}".rstrip())
    lines += [f"price {_line(str(found['price']))}"] if "price" in found else []
    lines += [_parameter(key, value, name) for key, value in found.get("parameters", {}).items()]
    return "\n".join(lines)


def _parameter(key: str, value: Any, name: str) -> str:
    where = f"parameter {brief(key)} of {name}"
    if not key.isidentifier():
        raise ValueError(f"{where} is no name.")
    given = dict(value) if isinstance(value, Mapping) else {"default": value}
    for entry, one in given.items():
        if entry not in PARAMETER or isinstance(one, bool) or not isinstance(one, int | float):
            raise ValueError(f"{where} has {brief(entry)} = {brief(one)}; expected numbers {', '.join(PARAMETER)}.")
    if "default" not in given or ("low" in given) != ("high" in given):
        raise ValueError(f"{where} needs a default, and low and high together or neither.")
    span = f" in {_number(given['low'])}..{_number(given['high'])}" if "low" in given else ""
    step = f" step {_number(given['step'])}" if "step" in given else ""
    return f"{key} = {_number(given['default'])}{span}{step}"


def _number(value: float) -> str:
    return f"{float(value):.17g}" if abs(value) < 1e300 else "1e300"


def _line(text: str) -> str:
    if any(letter in text for letter in "\r\n;#"):
        raise ValueError(f"{brief(text)} has a line end, ; or #; each entry of a model file is one line.")
    return text.strip()


def _check(given: Mapping[str, Any], known: Mapping[str, Any], where: str) -> None:
    for entry, value in given.items():
        if entry not in known:
            raise ValueError(f"{where} has no entry {brief(entry)}; it has {', '.join(known)}.")
        if not isinstance(value, known[entry]):
            raise ValueError(f"{entry} of {where} is {brief(value)}, which is not what is expected there.")


def write(formula: FormulaText) -> str:
    """A TOML file that `read` turns into the same model."""
    lines = [f"name = {_quoted(formula.title)}"] if formula.title else []
    lines += [f"price = {_quoted(expression(formula.price))}"] if formula.price else []
    for term in formula.terms:
        lines += ["", "[[potential]]", f'on = "{term.what}"', f"formula = {_quoted(expression(term.expression))}"]
        lines += [f'where = "{place}"'] if (place := term.place.write()) else []
        lines += ["similarity = true"] if term.similarity else []
    if formula.declared:
        lines += ["", "[parameters]"]
    for one in formula.declared:
        entries = {"default": one.default, "low": one.low, "high": one.high, "step": one.step}
        lines.append(f"{one.name} = {{ {', '.join(f'{entry} = {value!r}' for entry, value in entries.items())} }}")
    return "\n".join([*lines, ""])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
