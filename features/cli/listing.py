"""What there is to choose from, as text for a terminal: data sets, models and methods, and a download's progress."""

import argparse
import inspect
import math
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from adgm import METHODS
from features.cli.base import listed, width
from features.datasets import DATASETS
from features.datasets.download import download, sources_of
from features.formulas.expression import FUNCTIONS
from features.formulas.quantities import ORDERS, QUANTITIES
from features.formulas.ready import READY
from features.models import MODELS
from features.parameters import Parameter
from features.recipe import method_options


def add(commands: Any) -> None:
    for name, about, show in (
        ("datasets", "What pairs there are; with a KEY the parameters of one data set.", datasets),
        ("models", "What a matching costs; with a KEY the formula and the parameters of one model.", models),
        ("methods", "Who minimises the cost; with a KEY the options of one method.", methods),
    ):
        command = commands.add_parser(name, description=about)
        command.add_argument("key", nargs="?", metavar="KEY", help="show one of them in full")
        command.set_defaults(run=run, show=show, download=None)
        if name == "models":
            command.add_argument("--quantities", action="store_true", help="what a formula of your own may use")
        if name == "datasets":
            command.add_argument("--download", nargs="+", metavar="KEY", help="fetch these data sets; 'all' for all")


def run(args: argparse.Namespace) -> None:
    if getattr(args, "quantities", False):
        print(quantities())
    else:
        print(fetch(args.download) if args.download else args.show(args.key))


def entries(items: Iterable[tuple[str, str, str]]) -> str:
    """(key, facts, sentence) as a list: the key and its facts on one line, the sentence below, indented."""
    lines = []
    for key, facts, sentence in items:
        lines.append(f"  {key:<12}{facts}")
        lines += textwrap.wrap(sentence, width(), initial_indent=" " * 14, subsequent_indent=" " * 14)
    return "\n".join(lines)


def parameters(given: Sequence[Parameter]) -> str:
    """Names, defaults, what is allowed and what it means."""
    if not given:
        return "  (none)"
    lines = []
    for one in given:
        unit = f" {one.unit}" if one.unit else ""
        if one.kind == "choice":
            allowed = "one of " + ", ".join(one.choices)
        elif math.isinf(one.low) and math.isinf(one.high):
            allowed = "any number"
        else:
            allowed = f"{one.low:.10g} to {one.high:.10g}{unit}"
        lines.append(f"  {one.name}={one.default}")
        about = f"{one.help.rstrip('.')}. {allowed[0].upper()}{allowed[1:]}."
        lines += textwrap.wrap(about, width(), initial_indent=" " * 6, subsequent_indent=" " * 6)
    return "\n".join(lines)


def datasets(key: str | None) -> str:
    """All data sets, or one with its parameters."""
    if key is not None:
        one = DATASETS[listed(key, DATASETS, "data set")]
        return f"{one.label}: {one.description}\n\nParameters (--set name=value):\n{parameters(one.parameters)}"
    items = []
    for name, one in DATASETS.items():
        if one.builtin:
            state = "built in"
        elif one.available():
            state = "on this computer"
        else:
            state = f"not here yet: --download {name} ({size_of(name) / 1e6:.0f} MB)"
        count = "" if one.count is None else f", {one.count} {one.unit}"
        items.append((name, f"{one.label}{count} [{state}]", one.description))
    return f"{entries(items)}\n\nOne of them with its parameters: python -m features datasets house"


def models(key: str | None) -> str:
    """All models, or one with its formula and parameters."""
    if key is not None:
        one = MODELS[listed(key, MODELS, "model")]
        formula = textwrap.indent(one.formula, "  ")
        text = textwrap.indent(READY.get(key, ""), "  ")
        return (
            f"{one.label} ({_orders(one.orders)}, {one.sense})\n{one.use}\n\nFormula (LaTeX):\n{formula}\n\n"
            f"{f'As a formula of your own (--formula TEXT):{chr(10)}{text}{chr(10)}' if text else ''}"
            f"Parameters (--param name=value):\n{parameters(one.parameters)}"
        )
    items = [(name, f"{one.label} [{_orders(one.orders)}, {one.sense}]", one.use) for name, one in MODELS.items()]
    own = "What a formula of your own may use: python -m features models --quantities"
    return f"{entries(items)}\n\nOne of them with its parameters: python -m features models B\n{own}"


def quantities() -> str:
    """The names that a formula may use, by what it compares, and its functions."""
    told = []
    for word, order in ORDERS.items():
        items = [(", ".join(one.written), one) for one in QUANTITIES if one.order == order]
        lines = [f"  {names:<24}{one.tip}{f' [{one.unit}]' * bool(one.unit)}" for names, one in items]
        told.append("\n".join([f"{word}:", *lines]))
    functions = [f"  {name:<24}{one.help}" for name, one in FUNCTIONS.items()]
    about = "Of left (1) and right (2) tuples; every other name is a parameter."
    return "\n\n".join([about, *told, "\n".join(["functions:", *functions])])


def methods(key: str | None) -> str:
    """All methods, or one with its options."""
    if key is not None:
        one = METHODS[listed(key, METHODS, "method")]
        about = inspect.getdoc(type(one.make())) or ""
        options = "\n".join(f"  {name}={value}" for name, value in method_options(key).items()) or "  (none)"
        return f"{one.label} [{one.cite}]\n\n{one.does}\n\n{about}\n\nOptions (--option name=value):\n{options}"
    items = [(name, f"{one.label} [{_span(one.orders)}]", one.cite) for name, one in METHODS.items()]
    return f"{entries(items)}\n\nOne of them with its options: python -m features methods adgm1"


def _orders(orders: Sequence[int]) -> str:
    return f"order {orders[0]}" if len(orders) == 1 else f"orders {', '.join(map(str, orders))}"


def _span(orders: range) -> str:
    if orders[-1] >= 99:
        return "any order" if orders[0] == 1 else f"order {orders[0]} and higher"
    return f"order {orders[0]}" if len(orders) == 1 else f"orders {orders[0]} to {orders[-1]}"


def size_of(key: str) -> int:
    return sum(source.bytes for source in sources_of(key))


class Bar:
    """Progress on one line of a terminal; elsewhere a line for every tenth."""

    def __init__(self, title: str, stream: TextIO | None = None) -> None:
        self.title, self.stream, self.tenths = title, stream or sys.stderr, -1

    def __call__(self, done: int, total: int, file: str) -> None:
        share = done / total if total else 1.0
        text = f"{self.title}  {share:4.0%}  {done / 1e6:.1f} of {total / 1e6:.1f} MB"
        if self.stream.isatty():
            filled = round(30 * share)
            end = "\n" if done >= total else ""
            self.stream.write(f"\r{text}  [{'█' * filled}{'·' * (30 - filled)}]{end}")
        elif int(10 * share) > self.tenths:
            self.stream.write(f"{text}\n")
        self.tenths = int(10 * share)
        self.stream.flush()


def fetch(keys: Sequence[str]) -> str:
    """Download data sets (or all of them), with progress; returns what to tell at the end."""
    real = [key for key, one in DATASETS.items() if not one.builtin]
    wanted = real if "all" in keys else [listed(key, DATASETS, "data set") for key in keys]
    told = []
    for key in wanted:
        if DATASETS[key].builtin:
            told.append(f"{DATASETS[key].label} is built in: there is nothing to download.")
        elif DATASETS[key].available():
            told.append(f"{DATASETS[key].label} is on this computer already.")
        else:
            told.append(f"{DATASETS[key].label} is now in {download(key, Bar(DATASETS[key].label))}.")
    return "\n".join(told)
