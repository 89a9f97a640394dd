"""The command `match`: find the matching of a pair, say what it is worth, write down what the options ask for."""

import argparse
from typing import Any

from features.cli.arguments import add_command, recipe_and_pair
from features.cli.base import PROGRAM, several, write
from features.files import exports, maps
from features.matching import Matching, match
from features.pairs import SIDES
from features.plots import figures

ABOUT = """\
Find the matching of two images, or of a pair of a data set; print what it is worth.

With -o the picture (matches.png), the matches in the pixels of the original images (matches.csv, matches.json)
and, with --all, everything else that can be had are written to a folder.
"""
EXAMPLES = f"""\
examples:
  {PROGRAM} match left.png right.png -o out/
      two photographs: SIFT points, the model for photographs, and a map that verifies the matches
  {PROGRAM} match left.png right.png --left-points l.csv --right-points r.csv --truth t.csv -o out/
      your own points, and what is right about them
  {PROGRAM} match --dataset cars --set number=3 --set outliers=10 --method adgm1 --option rho0=0.1
      a pair of a data set; its parameters: {PROGRAM} datasets cars
  {PROGRAM} match --dataset turntable --model B --param sigma2=1000 --method adgm2 --all -o out/
      everything that can be had, among it a Python program that repeats the run
"""


def add(commands: Any) -> None:
    method, out = add_command(commands, "match", ABOUT, EXAMPLES, run)
    method.add_argument("--method", metavar="KEY", help="a method (adgm): see 'methods'")
    several(method, "--option", "NAME=VALUE", "an option of the method, such as max_iter=500; may be repeated")
    out.add_argument("--format", choices=list(figures.METADATA), default="png", help="of the pictures (png)")
    out.add_argument("--graph", choices=["delaunay", "nearest", "complete"], help="draw the edges of a graph too")
    out.add_argument("--all", action="store_true", help="also curves, matrix, keypoints, history, NPZ, pair, program")


def run(args: argparse.Namespace) -> None:
    recipe, pair = recipe_and_pair(args)
    found = match(pair, recipe=recipe, curve=args.all, every=10, time_limit=args.time_limit)
    result = found.result
    print(f"{pair.name}\n{recipe.title}\n{found.metrics}")
    to_best = f"the best after {result.seconds_to_best:.2f} s"
    print(f"run        {result.status} after {result.iterations} iterations, {result.seconds:.2f} s, {to_best}")
    if result.note:
        print(f"note       {result.note}")
    if found.verification is not None:
        print(f"check      {found.verification.verdict}")
    if args.output is not None:
        files = pictures(found, args.graph, args.format) | tables(found)
        write(args.output, files | (everything(found, args.format) if args.all else {}))


def pictures(found: Matching, graph: str | None, form: str) -> dict[str, bytes]:
    picture = figures.matches(
        found.pair,
        found.pairs,
        graph=graph,
        strength=None if found.pair.judged else found.strengths,
        strength_label=found.strength_label,
        caption=f"{found.recipe.title} {found.metrics.caption}",
    )
    return {f"matches.{form}": figures.save(picture, form)}


def tables(found: Matching) -> dict[str, bytes]:
    files = {"matches.csv": exports.matches_csv(found), "matches.json": exports.matches_json(found)}
    if found.verification is not None:
        files |= {"map.json": exports.map_json(found), "map.xml": maps.map_file_storage(found)}
        files |= {"map.npz": maps.map_npz(found)}
        files |= {"overlay.png": maps.overlay_png(found)} if maps.has_overlay(found) else {}
    if None not in (found.pair.left.image, found.pair.right.image):
        files["side-by-side.html"] = maps.side_by_side(found)
    return files


def everything(found: Matching, form: str) -> dict[str, bytes]:
    """What else can be had: curves, matrix, points, history, arrays, the pair, and programs that repeat the run."""
    pair, result, recipe, metrics, name = found.pair, found.result, found.recipe, found.metrics, found.pair.name
    levels: dict[str, Any] = {"best": result.energy, "truth": metrics.truth_energy, "sense": found.sense}
    rounded = None if found.curve is None else (found.curve.iterations, found.curve.energies)
    curves = figures.curves(result.history, rounded=rounded, title=name, **levels)
    matrix = figures.assignment(result.x, found.pairs, pair.partners, title=name)
    return {
        f"curves.{form}": figures.save(curves, form),
        f"assignment.{form}": figures.save(matrix, form),
        **{f"{side}_points.csv": exports.keypoints(getattr(pair, side)) for side in SIDES},
        "history.csv": exports.history_csv(result.history),
        "result.npz": exports.everything_npz(found),
        "pair.zip": exports.save_pair(pair, recipe),
        "recipe.json": recipe.to_json().encode(),
        "run.py": recipe.as_python().encode(),
        "run.sh": f"{recipe.as_command()}\n".encode(),
    }
