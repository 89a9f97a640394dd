"""The command `fit`: the parameters of a model from pairs with truth, judged on pairs that it never saw."""

import argparse
import sys
from typing import Any

from features.cli.arguments import add_command, recipe_and_pair
from features.cli.base import PROGRAM, several, write
from features.explain.fitting import EVALUATIONS, Fitting, split
from features.explain.trials import pairs_like

ABOUT = """\
Fit the parameters of a model to pairs of a data set: max-margin for what enters the energy linearly, a search for the
rest. Prints before and after on training and test pairs, and how to use the fitted model.
"""
EXAMPLES = f"""\
examples:
  {PROGRAM} fit --dataset house --model A --param sigma_l=0.2 --param sigma_a=0.5 --param weight=0 --pairs 40 --any-gap
  {PROGRAM} fit --dataset cars --set outliers=20 --model C --pairs 28 --train 0.5 -o out/
"""


def add(commands: Any) -> None:
    method, out = add_command(commands, "fit", ABOUT, EXAMPLES, run)
    method.add_argument("--method", metavar="KEY", help="a method (adgm): see 'methods'")
    several(method, "--option", "NAME=VALUE", "an option of the method; may be repeated")
    out.add_argument("--pairs", type=int, default=30, metavar="N", help="of the data set, in all (30)")
    out.add_argument(
        "--train", type=float, default=0.5, metavar="SHARE", help="of them to fit to; the others judge (0.5)"
    )
    out.add_argument("--any-gap", action="store_true", help="two frames however far apart, not only as far as these")
    out.add_argument("--seed", type=int, default=0, metavar="S", help="which pairs these are (0)")
    out.add_argument(
        "--fit", metavar="NAME,NAME,…", help="which parameters (all numbers of the model that are not whole)"
    )
    out.add_argument("--evaluations", type=int, default=EVALUATIONS, metavar="N", help=f"of the search ({EVALUATIONS})")


def run(args: argparse.Namespace) -> None:
    recipe, _ = recipe_and_pair(args)
    train, test = split(pairs_like(recipe, args.pairs, args.seed, any_gap=args.any_gap), args.train)
    names = (
        None if args.fit is None else [f"model.{name.strip().removeprefix('model.')}" for name in args.fit.split(",")]
    )
    fitting = Fitting(recipe, train, test, names=names, evaluations=args.evaluations)
    print(f"{recipe.title} {len(train)} training and {len(test)} test pairs.\n")
    for step in fitting.run():
        values = ", ".join(f"{name.partition('.')[2]}={value:g}" for name, value in step.values.items())
        error = f"error {100 * step.error:.2f} %" if step.error <= 1 else "worse"
        print(f"{step.what:<28} {error:<15} {'kept' * step.kept:<5} {values}", file=sys.stderr, flush=True)
    found = fitting.found
    assert found is not None
    print(f"{found.text}\n\nlink       {found.link}\ncommand    {found.recipe.as_command()}")
    if args.output is not None:
        files = {"recipe.json": found.recipe.to_json(), "run.py": found.recipe.as_python(), "fit.txt": found.text}
        write(args.output, {name: f"{text}\n".encode() for name, text in files.items()})
