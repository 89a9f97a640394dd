"""The command `separate`: does a model tell right from wrong, before any solver runs?"""

import argparse
from typing import Any

from features.cli.arguments import add_command, recipe_and_pair
from features.cli.base import PROGRAM, write
from features.explain.separation import Separation, separations, table
from features.tables import csv_text

ABOUT = """\
The values of every part of a model over tuples whose matches are all right, and over others drawn at random. The AUC is
the chance that a wrong tuple costs more than a right one: 1 never errs, 0.5 knows nothing.
"""
EXAMPLES = f"""\
examples:
  {PROGRAM} separate --dataset house --set right=80 --model C
  {PROGRAM} separate --dataset cars --formula 'edges abs(d1 - d2) / (d1 + d2)' -o out/
"""


def add(commands: Any) -> None:
    add_command(commands, "separate", ABOUT, EXAMPLES, run)


def run(args: argparse.Namespace) -> None:
    args.method, args.option = None, []  # nothing is solved
    recipe, pair = recipe_and_pair(args)
    found = separations(recipe, pair)
    print(f"{pair.name}\n{recipe.title}\n\n{table(found).text()}")
    for one in found:
        if one.unseen:
            print(f"{one.name}: {one.unseen} of {one.right.sum()} right tuples are not looked at; they cost 0.")
    if args.output is not None:
        rows = [row for one in found for row in bars(one)]
        write(args.output, {"separation.csv": csv_text(rows, list(rows[0])).encode()})


def bars(one: Separation) -> list[dict[str, Any]]:
    """The histogram as rows."""
    spans = zip(one.edges[:-1].tolist(), one.edges[1:].tolist(), one.right.tolist(), one.wrong.tolist(), strict=True)
    return [{"part": one.name, "from": a, "to": b, "right": right, "wrong": wrong} for a, b, right, wrong in spans]
