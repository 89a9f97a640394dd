"""The pages that are made from the registries and from the parsers of the command line."""

import argparse
import ast
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from unittest import mock

from adgm import METHODS, options
from experiments.commands import parser as experiments_parser
from experiments.tools.documentation.kept import code
from features.__main__ import parser as features_parser
from features.datasets import DATASETS
from features.formulas.expression import FUNCTIONS
from features.formulas.quantities import ORDERS, QUANTITIES
from features.formulas.ready import READY
from features.models import MODELS
from features.parameters import Parameter

COLUMNS = "96"  # of the help that is printed


def table(header: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """A Markdown table; bars and line breaks would end a cell."""
    told = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for line in lines:
        told.append("| " + " | ".join(" ".join(str(cell).replace("|", "\\|").split()) for cell in line) + " |")
    return "\n".join(told) + "\n"


def parameters(given: Sequence[Parameter]) -> str:
    if not given:
        return "It has no parameters.\n"
    lines = []
    for one in given:
        allowed = " · ".join(f"`{word}`" for word in one.choices) or span(one.low, one.high)
        lines.append((f"`{one.name}`", f"`{one.default}`", allowed, one.unit, one.help))
    return table(("parameter", "default", "allowed", "unit", "what it does"), lines)


def span(low: float, high: float) -> str:
    ends = ("−∞" if low == float("-inf") else f"{low:.10g}", "∞" if high == float("inf") else f"{high:.10g}")
    return " to ".join(ends)


def models() -> str:
    parts = [
        "# Models\n",
        "What a matching costs. A key is what `model=` and `--model` take; a formula of your own stands wherever a key "
        "does ([your model in fifteen minutes](../your-model.md)). Written from `MODELS`.\n",
    ]
    for key, one in MODELS.items():
        orders = ", ".join(map(str, one.orders)) or "of the problem that comes with the pair"
        parts += [f"## {one.label} {{#{key}}}\n", f"`{key}`: {one.use} Orders: {orders}. It is a {one.sense}.\n"]
        parts += [f"$${one.formula}$$\n"] if one.formula else []
        parts += [parameters(one.parameters)]
        parts += ["As a formula:\n", code(READY[key], "text")] if key in READY else []
    parts += ["## What a formula may use\n", "Every other name in a formula is a parameter.\n"]
    for word, order in ORDERS.items():
        lines = [
            (", ".join(f"`{name}`" for name in one.written), one.tip, one.unit)
            for one in QUANTITIES
            if one.order == order
        ]
        parts += [f"### {word.capitalize()}\n", table(("name", "what it is", "unit"), lines)]
    parts += ["### Functions\n"]
    parts += [table(("function", "what it gives"), [(f"`{name}`", one.help) for name, one in FUNCTIONS.items()])]
    return "\n".join(parts)


def methods() -> str:
    parts = [
        "# Methods\n",
        "Who minimises the cost. A key is what `solve`, `method=` and `--method` take. Written from `METHODS`.\n",
    ]
    entries = {key: one for key, one in METHODS.items() if key != "libmgm"}  # not ours: there only where installed
    lines = [(f"[`{key}`](#{anchor(key)})", one.label, orders(one.orders), one.cite) for key, one in entries.items()]
    parts.append(table(("key", "name", "takes", "from"), lines))
    for key, entry in entries.items():
        made = entry.make()
        parts += [f"## {entry.label} {{#{anchor(key)}}}\n", f"`{key}`: {entry.does}\n"]
        told = [
            (f"`{name}`", f"`{getattr(made, name)}`", str(one), one.help)
            for name, one in options.options(type(made)).items()
        ]
        parts.append(table(("option", "default", "may be", "what it does"), told) if told else "It has no options.\n")
    return "\n".join(parts)


def anchor(key: str) -> str:
    return key.replace("+", "-plus")


def orders(span: range) -> str:
    if span[-1] >= 99:
        return "any order" if span[0] == 1 else f"order {span[0]} and higher"
    return f"order {span[0]}" if len(span) == 1 else f"orders {span[0]} to {span[-1]}"


def datasets() -> str:
    parts = [
        "# Data sets\n",
        "Where pairs with a known truth come from. Those that are not built in are read from the folder that "
        "`ADGM_DATA_DIR` names, or fetched once by `python -m features datasets --download KEY`. Written from "
        "`DATASETS`.\n",
    ]
    for key, one in DATASETS.items():
        place = "Built in." if one.builtin else "To be fetched."
        parts += [f"## {one.label} {{#{key}}}\n", f"`{key}`: {one.description} {place}\n", parameters(one.parameters)]
    return "\n".join(parts)


def commands() -> str:
    """The help of every command, as it is printed."""
    parts = [
        "# Command line\n",
        "Installed, everything is one command, `adgm-explorer`; alone it opens the app. This is what `--help` says.\n",
    ]
    with mock.patch.dict(os.environ, {"COLUMNS": COLUMNS}):
        for name, parser in (
            ("", features_parser()),
            ("experiments ", experiments_parser()),
        ):
            parts += [f"## adgm-explorer {name}{{#{name.strip() or 'all'}}}\n", code(parser.format_help(), "text")]
            for word, command in children(parser):
                parts += [f"### {name}{word}\n", code(command.format_help(), "text")]
    return "\n".join(parts)


def children(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def source(path: str, name: str, root: str) -> str:
    """A function of the repository, as it is written."""
    text = Path(root, path).read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if getattr(node, "name", None) == name:
            return ast.get_source_segment(text, node) or ""
    raise ValueError(f"{path} has no {name}")
