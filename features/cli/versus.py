"""The command `versus`: two models, or two methods, on the same pairs of a data set."""

import argparse
import sys
from dataclasses import replace
from typing import Any

from features.cli.arguments import add_command, named_model, recipe_and_pair
from features.cli.base import PROGRAM, listed, several, write
from features.explain.trials import pairs_like
from features.explain.versus import Versus, duels, every_kind
from features.recipe import METHOD, MODEL, OWN, Recipe
from features.tables import csv_text

ABOUT = """\
Solve the same pairs of a data set by two models (or methods): accuracy and energy with 95 % intervals, the paired
bootstrap of their difference, wins and losses, and the pairs where they differ most.
"""
EXAMPLES = f"""\
examples:
  {PROGRAM} versus --dataset cars --set outliers=10 --model C --other B --pairs 20
  {PROGRAM} versus --dataset house --model C --other-formula 'edges abs(d1 - d2) / (d1 + d2)' --pairs 20 -o out/
  {PROGRAM} versus --dataset willow --model A --other-file my.toml --pairs 5 --every-kind
"""


def add(commands: Any) -> None:
    method, out = add_command(commands, "versus", ABOUT, EXAMPLES, run)
    method.add_argument("--method", metavar="KEY", help="a method (adgm): see 'methods'")
    several(method, "--option", "NAME=VALUE", "an option of the method; may be repeated")
    other = method
    other.add_argument("--other", metavar="KEY", help="the other model; without one the same")
    other.add_argument("--other-formula", metavar="TEXT", help="or a formula")
    other.add_argument("--other-file", metavar="FILE", help="or a formula from a file")
    several(other, "--other-param", "NAME=VALUE", "a parameter of the other model; may be repeated")
    other.add_argument("--other-method", metavar="KEY", help="the other method; without one the same")
    several(other, "--other-option", "NAME=VALUE", "an option of the other method; may be repeated")
    out.add_argument("--pairs", type=int, default=20, metavar="N", help="of the data set (20)")
    out.add_argument("--every-kind", action="store_true", help="so many of every category of the data set")
    out.add_argument("--any-gap", action="store_true", help="two frames however far apart, not only as far as these")
    out.add_argument("--seed", type=int, default=0, metavar="S", help="which pairs these are, and the bootstrap (0)")


def run(args: argparse.Namespace) -> None:
    first, pair = recipe_and_pair(args)
    second = _other(args, first)
    if (first.model, first.model_params, first.method, first.method_options) == (
        *(second.model, second.model_params, second.method, second.method_options),
    ):
        raise ValueError("Both sides are the same; name another model or method, such as --other B.")
    draw = every_kind if args.every_kind else pairs_like
    own = first.dataset == OWN
    recipes = [first] if own else draw(first, args.pairs, args.seed, any_gap=args.any_gap)
    done = []
    for one in duels(first, second, recipes, pair=pair if own else None, time_limit=args.time_limit):
        done.append(one)
        if sys.stderr.isatty():
            print(f"\r{len(done)} of {len(recipes)} pairs …", end="\r", file=sys.stderr)
    found = Versus.of(done, seed=args.seed)
    print(f"{first.title}\n{second.title}\n\n{found.text}")
    if args.output is not None:
        rows = [trial.to_dict() for duel in done for trial in (duel.first, duel.second)]
        names = dict.fromkeys(name for row in rows for name in row)
        write(
            args.output, {"versus.txt": f"{found.text}\n".encode(), "pairs.csv": csv_text(rows, list(names)).encode()}
        )


def _other(args: argparse.Namespace, first: Recipe) -> Recipe:
    """The first recipe with what the words change."""
    words = {"--other": args.other, "--other-formula": args.other_formula, "--other-file": args.other_file}
    model = listed(named_model(words) or first.model, MODEL.registry, "model")
    method = listed(args.other_method or first.method, METHOD.registry, "method")
    rules = {side: value for side in ("rows", "cols") if (value := first.model_params.get(side)) is not None}
    kept = first.model_params if model == first.model else rules
    options = first.method_options if method == first.method else {}
    return replace(
        first,
        model=model,
        model_params={**kept, **MODEL.read(args.other_param, model)},
        method=method,
        method_options={**options, **METHOD.read(args.other_option, method)},
    )
