"""The command `match-many`: all pairs of a folder, a ZIP file or a list, in a table and as files."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from features.batch import Progress, Sources, from_folder, from_list, from_zip, report, run_batch
from features.cli.arguments import counts
from features.cli.base import PROGRAM, listed, several
from features.limits import CORES
from features.matching import IMAGES
from features.points.keypoints import DETECTORS
from features.recipe import CHECKS, METHOD, MODEL, Recipe

ABOUT = """\
Match many pairs of photographs: those of a folder, of a ZIP file, or of a list of pairs. Points are looked for once per
image. The table says of every pair how many matches there are, how many hold, and the verdict.

With -o a folder gets the table (pairs.csv), a page with thumbnails (index.html), the matches and the map of every pair,
and what holds for COLMAP (colmap/).
"""
EXAMPLES = f"""\
examples:
  {PROGRAM} match-many holiday/ -o out/
      every pair of the images in a folder
  {PROGRAM} match-many frames.zip --window 3 -o out/
      each image with the next three, in the order of their names
  {PROGRAM} match-many pairs.txt --points 1000 -o out/
      the pairs of a list: two file names a line, apart by a comma or a space, relative to the list
"""


def add(commands: Any) -> None:
    command = commands.add_parser("match-many", description=ABOUT, epilog=EXAMPLES)
    command.add_argument("source", metavar="FOLDER|ZIP|LIST", help="where the pairs come from")
    command.add_argument("--window", type=int, metavar="K", help="only pairs at most K places apart, by name")
    command.add_argument("--points", type=counts, metavar="N", help="how many to detect in each image (500)")
    command.add_argument("--detector", choices=list(DETECTORS), default=IMAGES.points, help="how they are detected")
    command.add_argument("--model", metavar="KEY", default=IMAGES.model, help="what a matching costs (photo)")
    several(command, "--param", "NAME=VALUE", "a parameter of the model; may be repeated")
    command.add_argument("--method", metavar="KEY", default=IMAGES.method, help="a method (adgm): see 'methods'")
    several(command, "--option", "NAME=VALUE", "an option of the method; may be repeated")
    command.add_argument(
        "--check", choices=list(CHECKS), default=IMAGES.check, help="the map that matches are checked by"
    )
    command.add_argument("--time-limit", type=float, metavar="SECONDS", help="computing time for each pair")
    command.add_argument("--workers", type=int, default=CORES, metavar="N", help="pairs at the same time (all cores)")
    command.add_argument("-o", "--output", metavar="DIR", help="write everything to this folder")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    batch = run_batch(
        sources(args.source, args.window),
        recipe(args),
        workers=args.workers,
        time_limit=args.time_limit,
        told=_tell if sys.stderr.isatty() else None,
    )
    wide = max((len(f"{row.left}  {row.right}") for row in batch.table), default=0)
    for row in batch.table:
        print(f"{f'{row.left}  {row.right}':<{wide}}  {row.verdict}")
    print(report.summary(batch))
    if args.output is not None:
        print(f"written    {args.output.rstrip('/')}/: {report.write(args.output, batch)} files", file=sys.stderr)
    if all(row.failure for row in batch.table):
        raise ValueError("None of the pairs could be matched.")


def sources(given: str, window: int | None) -> Sources:
    """What a word on the command line names."""
    place = Path(given)
    if place.is_dir():
        return from_folder(place, window)
    if place.suffix.lower() == ".zip":
        return from_zip(place, window)
    if window is not None:
        raise ValueError("--window chooses pairs of a folder or a ZIP file; a list names its pairs itself.")
    return from_list(place)


def recipe(args: argparse.Namespace) -> Recipe:
    model, method = listed(args.model, MODEL.registry, "model"), listed(args.method, METHOD.registry, "method")
    return replace(
        IMAGES,
        model=model,
        model_params=MODEL.read(args.param, model),
        method=method,
        method_options=METHOD.read(args.option, method),
        points=args.detector,
        point_params=args.points or IMAGES.point_params,
        check=args.check,
    )


def _tell(progress: Progress) -> None:
    ended = progress.pairs == progress.all_pairs
    print(f"\r\033[K{progress}", end="\n" if ended else "", file=sys.stderr, flush=True)
