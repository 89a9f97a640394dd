"""Arguments of the commands about a pair: read which pair, points, model and method they name."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from adgm.problem import CONSTRAINTS
from features.cli.base import PROGRAM, complain, listed, several
from features.files.exports import open_pair
from features.files.point_files import outside
from features.formulas import toml_file
from features.formulas.text import model_text
from features.matching import IMAGES, LANDMARKS, of_pair, suited
from features.pairs import POINTS, SIDES, Pair, file_bytes, read_pair
from features.points.keypoints import DETECTORS, summary
from features.recipe import CHECKS, CONSTRAINED, DATA, MASKS, METHOD, MODEL, OWN, Recipe

POINT_WORDS = ("points", "detector", "mask-left", "mask-right", "left-points", "right-points", "truth")
FOUND_WORDS = ("points", "detector", "mask-left", "mask-right")  # of a data set, too


def add_command(commands: Any, name: str, about: str, examples: str, run: Callable[..., None]) -> tuple[Any, Any]:
    """Add a command about a pair; returns two groups of its options, on the method and on the output."""
    usage = f"{PROGRAM} {name} [LEFT RIGHT] [options]\n       {PROGRAM} {name} --dataset KEY [options]"
    command = commands.add_parser(name, description=about, epilog=examples, usage=usage)
    _pair_options(command)
    method, out = (command.add_argument_group(title) for title in ("who minimises the cost", "what comes out"))
    method.add_argument("--time-limit", type=float, metavar="SECONDS", help="computing time, then the best so far")
    out.add_argument("-o", "--output", metavar="DIR", help="write pictures and tables to this folder")
    command.set_defaults(run=run)
    return method, out


def _pair_options(command: argparse.ArgumentParser) -> None:
    source = command.add_argument_group("the pair")
    source.add_argument("images", nargs="*", metavar="LEFT RIGHT", help="two image files, …")
    source.add_argument("--dataset", metavar="KEY", help="… or a data set: see 'datasets'")
    several(source, "--set", "NAME=VALUE", "a parameter of the data set, such as left=0; may be repeated")
    source.add_argument("--pair", metavar="ZIP", help="… or a pair that was saved as a zip file")
    points = command.add_argument_group("the points of two images, or points alone")
    points.add_argument(
        "--points",
        type=counts,
        metavar="N",
        help=f"how many to detect in each image ({IMAGES.counts['left']}; of a data set {POINTS}), or N,M",
    )
    points.add_argument("--detector", choices=list(DETECTORS), help="how they are detected (sift); in a data set too")
    for side in SIDES:
        points.add_argument(f"--{side}-points", metavar="FILE", help=f"or the {side} points: CSV, JSON, NPZ, MAT, text")
    for side in SIDES:
        points.add_argument(
            f"--mask-{side}",
            metavar="REGIONS",
            help=f"where on the {side}: 'keep 40 30 400 300, drop 9 9 50 50' (pixels)",
        )
    points.add_argument("--truth", metavar="FILE", help="the true matching: lines 'left,right', numbered from 0")
    model = command.add_argument_group("the model")
    model.add_argument(
        "--model",
        metavar="KEY",
        help="what a matching costs (photo for images, A for points of your own, C for data sets): see 'models'",
    )
    model.add_argument(
        "--formula", metavar="TEXT", help="or a formula of your own: 'edges (d1 - d2)^2 / s2; price 0.3'"
    )
    model.add_argument("--model-file", metavar="FILE", help="or a formula from a file: TOML, or as it is typed")
    several(model, "--param", "NAME=VALUE", "a parameter of the model, such as eta=0.5; may be repeated")
    model.add_argument("--check", choices=list(CHECKS), help="the map that matches are checked by (photographs: any)")
    for side, what in zip(CONSTRAINED, SIDES, strict=True):
        model.add_argument(f"--{side}", choices=list(CONSTRAINTS), help=f"how many partners a {what} point takes")


def counts(text: str) -> dict[str, int]:
    found = [int(part) for part in text.split(",")]
    return dict(zip(SIDES, found * 2 if len(found) == 1 else found, strict=True))


def recipe_and_pair(args: argparse.Namespace) -> tuple[Recipe, Pair]:
    """The run that the arguments describe, and its pair; arguments are checked before any work begins."""
    files = args.left_points is not None and args.right_points is not None
    alone = files and not (args.images or args.dataset or args.pair)  # points without images
    sources = [bool(args.images) or alone, args.dataset is not None, args.pair is not None]
    if sum(sources) != 1:
        found = "none" if not any(sources) else "several"
        raise ValueError(
            f"One source of a pair is needed, {found} given: two images, --left-points and --right-points, "
            "--dataset KEY or --pair ZIP."
        )
    if args.images and len(args.images) != 2:
        raise ValueError(f"Two images make a pair; {len(args.images)} given: {', '.join(args.images)}.")
    if args.set and args.dataset is None:
        raise ValueError("--set chooses parameters of a data set; there is no --dataset.")
    about = [name for name in POINT_WORDS if getattr(args, name.replace("-", "_")) is not None]
    if args.dataset is not None and "detector" in about:
        about = [name for name in about if name not in FOUND_WORDS]
    if alone:
        about = [name for name in about if name in FOUND_WORDS]
    if about and not args.images:
        hint = " Did you mean --set points=…?" if args.dataset and "points" in about else ""
        raise ValueError(f"--{about[0]} is about two image files, and there are none.{hint}")
    saved = open_pair(file_bytes(args.pair), args.pair) if args.pair is not None else None
    if saved is not None:
        kept = replace(saved.recipe, points=OWN, point_params={}) if saved.recipe else suited(saved.pair)
        return of_pair(saved.pair, _recipe(args, kept))
    recipe = _recipe(args, None)
    return recipe, recipe.pair() if args.dataset else _own(args, recipe)


def _recipe(args: argparse.Namespace, saved: Recipe | None) -> Recipe:
    """A saved pair's own model and method, or what suits it, count where the words name no others."""
    given = args.left_points is not None and args.right_points is not None
    base = saved or (Recipe() if args.dataset else LANDMARKS if given else IMAGES)
    dataset = OWN if args.dataset is None else listed(args.dataset, DATA.registry, "data set")
    words = {"--model": args.model, "--formula": args.formula, "--model-file": args.model_file}
    model = listed(named_model(words) or base.model, MODEL.registry, "model")
    method = listed(args.method or base.method, METHOD.registry, "method")
    finding = args.detector is not None or (base.points != OWN and not given)
    return Recipe(
        dataset,
        DATA.read(args.set, dataset),
        model,
        {
            **(base.model_params if model == base.model else {}),
            **MODEL.read(args.param, model),
            **{side: value for side in CONSTRAINED if (value := getattr(args, side)) is not None},
        },
        method,
        {**(base.method_options if method == base.method else {}), **METHOD.read(args.option, method)},
        (args.detector or IMAGES.points) if finding else OWN,
        _points(args, base) if finding else {},
        args.check or base.check,
    )


def named_model(words: Mapping[str, str | None]) -> str | None:
    """A model's key or formula, from the values of three flags: for a key, for a formula, for a file."""
    given = [flag for flag, value in words.items() if value is not None]
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} were given; expected one model.")
    key, formula, file = words.values()
    if file is not None:
        return toml_file.read(file_bytes(file), file)
    if formula is not None:
        model_text(formula)  # raises a ValueError about its first mistake
    return formula or key


def _points(args: argparse.Namespace, base: Recipe) -> dict[str, Any]:
    """How many points to detect, and where."""
    masks = {one.name: getattr(args, one.name) for one in MASKS}
    found: dict[str, Any] = args.points or base.point_params
    return {**found, **{name: text for name, text in masks.items() if text is not None}}


def _own(args: argparse.Namespace, recipe: Recipe) -> Pair:
    """Two image files, with points from files or from a detector, or points alone; whatever may surprise is said."""
    files = args.left_points, args.right_points
    detector = None if recipe.points == OWN else recipe.points
    pair = read_pair(
        *(args.images or (None, None)),
        points=files,
        truth=args.truth,
        detector=detector,
        counts=recipe.wanted,
        slants=recipe.slants,
    )
    for side, file, view in zip(SIDES, files, (pair.left, pair.right), strict=True):
        if view.image is None:
            continue
        if file is None and detector is not None and len(view.points) < (wanted := recipe.counts[side]):
            complain(f"{side} image: {summary(view.points, detector, wanted)}")
        elif file is not None and len(stray := outside(view.points, view.image.size)):
            complain(f"{len(stray)} of the {len(view.points)} {side} points lie outside the image.")
    return pair
