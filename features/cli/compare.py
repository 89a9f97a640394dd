"""The command `compare`: one pair, one model, several methods; a table of who finds what, in how long."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from adgm import METHODS, Problem
from features.cli.arguments import add_command, recipe_and_pair
from features.cli.base import PROGRAM, complain, listed, several, write
from features.judge import comparison
from features.judge.classics import CLASSICS
from features.judge.metrics import number
from features.models import MODELS
from features.parameters import parse_value
from features.plots import figures

TABLES: dict[str, Callable[[Sequence[comparison.Row]], str]] = {
    "text": comparison.table_text,
    "csv": lambda rows: comparison.table_csv(rows).decode(),
    "markdown": comparison.table_markdown,
    "latex": comparison.table_latex,
}
ENDINGS = {"csv": "csv", "markdown": "md", "latex": "tex"}
ABOUT = """\
One pair, one model, several methods: a table of who finds what, in how long.

With -o the table (CSV, Markdown, LaTeX), a grid of the matchings (PNG, PDF) and all matchings (JSON) are written.
"""
EXAMPLES = f"""\
examples:
  {PROGRAM} compare --dataset house --set points=20 --model B -o out/
  {PROGRAM} compare left.png right.png --points 30 --methods adgm1,adgm2 --table markdown
  {PROGRAM} compare --dataset random --model third --option adgm1.rho0=0.5 --time-limit 20
"""


def add(commands: Any) -> None:
    method, out = add_command(commands, "compare", ABOUT, EXAMPLES, run)
    method.add_argument("--methods", metavar="KEY,KEY,…", help="which ones, in this order (all that take the problem)")
    several(method, "--option", "KEY.NAME=VALUE", "an option of one of them, such as adgm1.rho0=0.5")
    out.add_argument("--table", choices=list(TABLES), default="text", help="how the table is printed (text)")


def run(args: argparse.Namespace) -> None:
    args.method, options = None, _options_by_method(args.option)
    args.option = []
    recipe, pair = recipe_and_pair(args)
    problem = recipe.problem(pair)
    chosen = [key.strip() for key in args.methods.split(",")] if args.methods else _fitting(problem)
    chosen += [] if args.methods else comparison.references(pair)
    for key in [*chosen, *options]:
        if listed(key, comparison.LABELS if key in chosen else METHODS, "method") not in CLASSICS:
            replace(recipe, method=key, method_options=options.get(key, {}))  # complains before anything runs
    rows = []
    for row in comparison.compare(recipe, pair, problem, chosen, options=options, time_limit=args.time_limit):
        rows.append(row)
        if sys.stderr.isatty():
            print(f"\r{len(rows)} of {len(chosen)} methods …", end="\r", file=sys.stderr)
    print(f"{pair.name}, {MODELS[recipe.model].label}\n" if args.table == "text" else "", end="")
    print(TABLES[args.table](rows).rstrip("\n"))
    metrics = [row.metrics for row in rows if row.metrics is not None]
    if args.table == "text" and metrics and metrics[0].truth_score is not None:
        print(f"* the best found; the truth has {number(metrics[0].truth_score)}")
    for row in rows:
        if row.refusal:
            complain(row.refusal)
    if not metrics:
        raise ValueError("None of the methods takes this problem.")
    if args.output is not None:
        picture = comparison.grid_figure(pair, rows)
        files = {f"grid.{form}": figures.save(picture, form) for form in ("png", "pdf")}
        files |= {f"table.{ending}": TABLES[name](rows).encode() for name, ending in ENDINGS.items()}
        write(args.output, files | {"matchings.json": comparison.matchings_json(pair, rows)})


def _fitting(problem: Problem) -> list[str]:
    found = comparison.fitting(problem)
    for key in (key for key in METHODS if key not in found):
        complain(f"left out: {METHODS[key].refusal(problem)}")
    return found


def _options_by_method(given: Sequence[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for item in given:
        key, dot, rest = item.partition(".")
        name, equals, text = rest.partition("=")
        if not (dot and equals):
            raise ValueError(f"The option {item!r} is not of the form method.name=value, such as adgm1.rho0=0.5.")
        found.setdefault(key, {})[name] = parse_value(text)
    return found
