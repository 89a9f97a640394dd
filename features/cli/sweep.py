"""The command `sweep`: one or two parameters over a range, or the smallest change that makes a match right."""

import argparse
import sys
from typing import Any

from features.cli.arguments import add_command, recipe_and_pair
from features.cli.base import PROGRAM, several, write
from features.explain import sweeps
from features.explain.trials import pairs_like
from features.recipe import OWN
from features.tables import csv_text

ABOUT = """\
Run a pair (or several of its data set) with one or two parameters over a range; print what comes of each setting.

A parameter is named as in a link: model.eta, data.points, method.rho0. With --left the question is another one: the
smallest change of the parameter that makes the match of this left point right.
"""
EXAMPLES = f"""\
examples:
  {PROGRAM} sweep --dataset house --set points=10 --model B --over model.sigma2
  {PROGRAM} sweep --dataset house --model A --over model.eta=0..1:5 --over model.weight=1,10,100
  {PROGRAM} sweep --dataset cars --set outliers=20 --model C --over model.eta --pairs 10 -o out/
  {PROGRAM} sweep --dataset house --set points=10 --set right=90 --model B --over model.sigma2=1..10000 --left 6
"""


def add(commands: Any) -> None:
    method, out = add_command(commands, "sweep", ABOUT, EXAMPLES, run)
    method.add_argument("--method", metavar="KEY", help="a method (adgm): see 'methods'")
    several(method, "--option", "NAME=VALUE", "an option of the method; may be repeated")
    several(
        out, "--over", "NAME=LOW..HIGH:COUNT", "what varies; or NAME=VALUE,VALUE; or NAME, its range; once or twice"
    )
    out.add_argument("--pairs", type=int, metavar="N", help="on so many pairs of the data set, and their mean")
    out.add_argument("--any-gap", action="store_true", help="two frames however far apart, not only as far as these")
    out.add_argument("--seed", type=int, default=0, metavar="S", help="which pairs these are (0)")
    out.add_argument(
        "--left", type=int, metavar="I", help="the smallest change that makes this left point's match right"
    )


def run(args: argparse.Namespace) -> None:
    recipe, pair = recipe_and_pair(args)
    if not args.over:
        raise ValueError("There is nothing to vary; add --over with a parameter, such as --over model.eta.")
    axes = [sweeps.Axis.parse(recipe, text) for text in args.over]
    own = pair if recipe.dataset == OWN else None
    if args.left is not None:
        if len(axes) != 1:
            raise ValueError(f"{len(axes)} parameters were given; the smallest change is one of a single parameter.")
        ends = [] if "=" not in args.over[0] else [one for one in axes[0].values if not isinstance(one, str)]
        bounds = {"low": min(ends), "high": max(ends)} if ends else {}
        options: dict[str, Any] = {"pair": own, "time_limit": args.time_limit, **bounds}
        print(sweeps.smallest_change(recipe, axes[0].name, args.left, **options).text)
        return
    recipes = [recipe] if args.pairs is None else pairs_like(recipe, args.pairs, args.seed, any_gap=args.any_gap)
    cells = []
    for cell in sweeps.sweep(recipes, *axes, pair=own, time_limit=args.time_limit):
        cells.append(cell)
        if sys.stderr.isatty():
            print(f"\r{len(cells)} settings …", end="\r", file=sys.stderr)
    print(f"{pair.name if args.pairs is None else f'{len(recipes)} pairs'}\n{recipe.title}\n")
    print(sweeps.table(axes, cells).text())
    if args.output is not None:
        rows = [trial.to_dict() for cell in cells for trial in cell.trials]
        names = dict.fromkeys(name for row in rows for name in row)
        write(args.output, {"sweep.csv": csv_text(rows, list(names)).encode()})
