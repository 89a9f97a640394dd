"""The command line: match two images or a pair of a data set, compare methods, and see what there is to choose."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from adgm import METHODS, Problem
from adgm.problem import CONSTRAINTS
from features import comparison, exports, figures, listing
from features.datasets import DATASETS
from features.datasets.download import MissingData
from features.images import decode
from features.keypoints import DETECTORS, Keypoints, detect, summary
from features.models import MODELS
from features.pairs import SIDES, Pair, own_pair
from features.pointfiles import outside, read_points, read_truth
from features.score import RoundedCurve, measure, number, shares
from features.setup import OWN, Setup, parse_assignments, parse_value, worded

PROGRAM = "python -m features"
POINTS = 40
TABLES: dict[str, Callable[[Sequence[comparison.Row]], str]] = {
    "text": comparison.table_text,
    "csv": lambda rows: comparison.table_csv(rows).decode(),
    "markdown": comparison.table_markdown,
    "latex": comparison.table_latex,
}

ABOUT = """\
Match the points of two images with ADGM and its rivals.

  match       two images, or a pair of a data set: find the matching, draw it, write it down
  compare     the same pair by several methods: a table, a grid of pictures, all matchings
  datasets    what pairs there are, and download those that are not built in
  models      what a matching costs: the paper's models and others, with their parameters
  methods     who minimises it: ADGM and other solvers, with their options
"""
EXAMPLES = f"""\
examples:
  {PROGRAM} match left.png right.png --model C --points 40 -o out/
  {PROGRAM} match --dataset house --set left=0 --set right=50 --model B -o out/
  {PROGRAM} compare --dataset turntable --model C -o out/
  {PROGRAM} datasets --download house

help on one of them:  {PROGRAM} match --help
"""
MATCH = """\
Find the matching of two images, or of a pair of a data set; print what it is worth.

With -o the picture (matches.png), the matches in the pixels of the original images (matches.csv, matches.json)
and, with --all, everything else that can be had are written to a folder.
"""
MATCH_EXAMPLES = f"""\
examples:
  {PROGRAM} match left.png right.png --points 40 -o out/
      detects 40 SIFT points in each image and matches them
  {PROGRAM} match left.png right.png --left-points l.csv --right-points r.csv --truth t.csv -o out/
      your own points, and what is right about them
  {PROGRAM} match --dataset cars --set number=3 --set outliers=10 --model C --option rho0=0.1
      a pair of a data set; its parameters: {PROGRAM} datasets cars
  {PROGRAM} match --dataset turntable --model B --param sigma2=1000 --method adgm2 --all -o out/
      everything that can be had, among it a Python program that repeats the run
"""
COMPARE = """\
One pair, one model, several methods: a table of who finds what, in how long.

With -o the table (CSV, Markdown, LaTeX), a grid of the matchings (PNG, PDF) and all matchings (JSON) are written.
"""
COMPARE_EXAMPLES = f"""\
examples:
  {PROGRAM} compare --dataset house --set points=20 --model B -o out/
  {PROGRAM} compare left.png right.png --points 30 --methods adgm1,adgm2 --table markdown
  {PROGRAM} compare --dataset random --model third --option adgm1.rho0=0.5 --time-limit 20
"""


class Parser(argparse.ArgumentParser):
    """Help as it is written here, errors in one sentence."""

    def __init__(self, **options: Any) -> None:
        layout = partial(argparse.RawDescriptionHelpFormatter, max_help_position=30, width=listing.width())
        super().__init__(formatter_class=layout, allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        complain(f"{message[:1].upper()}{message[1:]}. Help: {self.prog} --help")
        raise SystemExit(2)


def complain(sentence: str) -> None:
    print(f"{PROGRAM}: {sentence}", file=sys.stderr)


# ---- what is asked -----------------------------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    main = Parser(prog=PROGRAM, description=ABOUT, epilog=EXAMPLES, usage=f"{PROGRAM} COMMAND …")
    commands = main.add_subparsers(dest="command", metavar="COMMAND", required=True, help=argparse.SUPPRESS)

    match = commands.add_parser("match", description=MATCH, epilog=MATCH_EXAMPLES, usage=_usage("match"))
    _pair_options(match)
    method = match.add_argument_group("the method")
    method.add_argument("--method", metavar="KEY", help="who minimises the cost (adgm1): see 'methods'")
    _several(method, "--option", "NAME=VALUE", "an option of the method, such as rho0=0.5; may be repeated")
    method.add_argument("--time-limit", type=float, metavar="SECONDS", help="stop after so long with the best so far")
    out = match.add_argument_group("what comes out")
    out.add_argument("-o", "--output", metavar="DIR", help="write the picture and the matches to this folder")
    out.add_argument("--format", choices=list(figures.METADATA), default="png", help="of the pictures (png)")
    out.add_argument("--graph", choices=["delaunay", "nearest", "complete"], help="draw the edges of a graph too")
    out.add_argument("--all", action="store_true", help="also curves, matrix, keypoints, history, NPZ, pair, program")
    match.set_defaults(run=run_match)

    compare = commands.add_parser("compare", description=COMPARE, epilog=COMPARE_EXAMPLES, usage=_usage("compare"))
    _pair_options(compare)
    method = compare.add_argument_group("the methods")
    method.add_argument("--methods", metavar="KEY,KEY,…", help="which ones, in this order (all that take the problem)")
    _several(method, "--option", "KEY.NAME=VALUE", "an option of one of them, such as adgm1.rho0=0.5")
    method.add_argument("--time-limit", type=float, metavar="SECONDS", help="stop each of them after so long")
    out = compare.add_argument_group("what comes out")
    out.add_argument("-o", "--output", metavar="DIR", help="write tables, grid and matchings to this folder")
    out.add_argument("--table", choices=list(TABLES), default="text", help="how the table is printed (text)")
    compare.set_defaults(run=run_compare)

    for name, about, show in (
        ("datasets", "What pairs there are; with a KEY the parameters of one data set.", listing.datasets),
        ("models", "What a matching costs; with a KEY the formula and the parameters of one model.", listing.models),
        ("methods", "Who minimises the cost; with a KEY the options of one method.", listing.methods),
    ):
        command = commands.add_parser(name, description=about)
        command.add_argument("key", nargs="?", metavar="KEY", help="show one of them in full")
        command.set_defaults(run=run_listing, show=show, download=None)
        if name == "datasets":
            command.add_argument("--download", nargs="+", metavar="KEY", help="fetch these data sets; 'all' for all")
    return main


def _usage(command: str) -> str:
    return f"{PROGRAM} {command} LEFT RIGHT [options]\n       {PROGRAM} {command} --dataset KEY [options]"


def _several(group: Any, flag: str, form: str, help: str) -> None:
    group.add_argument(flag, action="append", default=[], metavar=form, help=help)


def _pair_options(command: argparse.ArgumentParser) -> None:
    source = command.add_argument_group("the pair")
    source.add_argument("images", nargs="*", metavar="LEFT RIGHT", help="two image files, …")
    source.add_argument("--dataset", metavar="KEY", help="… or a data set: see 'datasets'")
    _several(source, "--set", "NAME=VALUE", "a parameter of the data set, such as left=0; may be repeated")
    source.add_argument("--pair", metavar="ZIP", help="… or a pair that was saved as a zip file")
    points = command.add_argument_group("the points of two image files")
    points.add_argument("--points", type=int, metavar="N", help=f"how many to detect in each image ({POINTS})")
    points.add_argument("--detector", choices=list(DETECTORS), help="how they are detected (sift)")
    for side in SIDES:
        points.add_argument(f"--{side}-points", metavar="FILE", help=f"or the {side} points: CSV, JSON, NPZ, MAT, text")
    points.add_argument("--truth", metavar="FILE", help="the true matching: lines 'left,right', numbered from 0")
    model = command.add_argument_group("the model")
    model.add_argument("--model", metavar="KEY", help="what a matching costs (C; combined for images): see 'models'")
    _several(model, "--param", "NAME=VALUE", "a parameter of the model, such as eta=0.5; may be repeated")
    for side, what in (("rows", "left"), ("cols", "right")):
        model.add_argument(f"--{side}", choices=list(CONSTRAINTS), help=f"how many partners a {what} point takes")


# ---- what is done ------------------------------------------------------------------------------------------------


def run_listing(asked: argparse.Namespace) -> None:
    print(listing.fetch(asked.download) if asked.download else asked.show(asked.key))


def run_match(asked: argparse.Namespace) -> None:
    setup, pair = described(asked)
    problem = setup.problem(pair)
    curve = RoundedCurve(problem)
    result = setup.run(problem, time_limit=asked.time_limit, watch=curve if asked.all else None, every=10)
    sense = MODELS[setup.model].sense
    metrics = measure(pair, problem, result.assignment, sense)
    print(f"{pair.name}\n{setup.title}\n{metrics}")
    print(f"run        {result.status} after {result.iterations} iterations, {result.seconds:.2f} s")
    if asked.output is None:
        return
    matches = exports.matches_of(pair, problem, result.assignment, result.x)
    form = asked.format
    picture = figures.matches(
        pair,
        result.pairs,
        graph=asked.graph,
        strength=-shares(problem, result.assignment) if pair.truth is None else None,
        strength_label="share of the score" if sense == "similarity" else "share of the cost, negated",
        caption=f"{setup.title} {metrics.caption}",
    )
    files = {
        f"matches.{form}": figures.save(picture, form),
        "matches.csv": exports.matches_csv(matches),
        "matches.json": exports.matches_json(matches, setup, metrics),
    }
    if asked.all:
        energies: dict[str, Any] = {
            "best": result.energy,
            "truth": metrics.truth_energy,
            "sense": sense,
            "title": pair.name,
        }
        curves = figures.curves(result.history, rounded=(curve.iterations, curve.energies), **energies)
        matrix = figures.assignment(result.x, result.pairs, pair.truth, title=pair.name)
        files |= {f"curves.{form}": figures.save(curves, form), f"assignment.{form}": figures.save(matrix, form)}
        files |= {f"{side}_points.csv": exports.keypoints(getattr(pair, side)) for side in SIDES}
        files |= {"history.csv": exports.history_csv(result.history)}
        files |= {"result.npz": exports.everything_npz(pair, result, setup, metrics)}
        files |= {"pair.zip": exports.save_pair(pair, setup), "setup.json": setup.to_json().encode()}
        files |= {"run.py": setup.as_python().encode(), "run.sh": f"{setup.as_command()}\n".encode()}
    write(asked.output, files)


def run_compare(asked: argparse.Namespace) -> None:
    asked.method, options = None, _options_by_method(asked.option)
    asked.option = []
    setup, pair = described(asked)
    problem = setup.problem(pair)
    chosen = [key.strip() for key in asked.methods.split(",")] if asked.methods else _fitting(problem)
    chosen += [] if asked.methods else comparison.references(pair)
    for key in [*chosen, *options]:
        if listing.chosen(key, comparison.LABELS if key in chosen else METHODS, "method") == comparison.RANSAC:
            continue
        replace(setup, method=key, method_options=options.get(key, {}))  # complains about options before anything runs
    rows = []
    for row in comparison.compare(setup, pair, problem, chosen, options=options, time_limit=asked.time_limit):
        rows.append(row)
        if sys.stderr.isatty():
            print(f"\r{len(rows)} of {len(chosen)} methods …", end="\r", file=sys.stderr)
    print(f"{pair.name}, {MODELS[setup.model].label}\n" if asked.table == "text" else "", end="")
    print(TABLES[asked.table](rows).rstrip("\n"))
    metrics = [row.metrics for row in rows if row.metrics is not None]
    if asked.table == "text" and metrics and metrics[0].truth_score is not None:
        print(f"* the best found; the truth has {number(metrics[0].truth_score)}")
    for row in rows:
        if row.refusal:
            complain(row.refusal)
    if not metrics:
        raise ValueError("None of the methods takes this problem.")
    if asked.output is not None:
        picture = comparison.grid_figure(pair, rows)
        files = {f"grid.{form}": figures.save(picture, form) for form in ("png", "pdf")}
        files |= {f"table.{end}": TABLES[name](rows).encode() for name, end in
                  (("csv", "csv"), ("markdown", "md"), ("latex", "tex"))}  # fmt: skip
        write(asked.output, files | {"matchings.json": comparison.matchings_json(pair, rows)})


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


# ---- the pair and the setup --------------------------------------------------------------------------------------


def described(asked: argparse.Namespace) -> tuple[Setup, Pair]:
    """The run that the words describe, and its pair; every complaint about them comes before any work."""
    sources = [bool(asked.images), asked.dataset is not None, asked.pair is not None]
    if sum(sources) != 1:
        found = "none" if not any(sources) else "several"
        raise ValueError(f"One source of a pair is right, {found} given: two images, --dataset KEY or --pair ZIP.")
    if asked.images and len(asked.images) != 2:
        raise ValueError(f"Two images make a pair; {len(asked.images)} given: {', '.join(asked.images)}.")
    if asked.set and asked.dataset is None:
        raise ValueError("--set chooses parameters of a data set; there is no --dataset.")
    detecting = [f"--{name}" for name in ("points", "detector", "left-points", "right-points", "truth")
                 if getattr(asked, name.replace("-", "_")) is not None]  # fmt: skip
    if detecting and not asked.images:
        hint = " Did you mean --set points=…?" if asked.dataset and asked.points is not None else ""
        raise ValueError(f"{detecting[0]} is about two image files, and there are none.{hint}")
    saved = exports.open_pair(read(asked.pair), asked.pair) if asked.pair is not None else None
    setup = _setup(asked, None if saved is None else saved.setup)
    if saved is not None:
        return setup, saved.pair
    return setup, _own(asked) if asked.images else setup.pair()


def _setup(asked: argparse.Namespace, saved: Setup | None) -> Setup:
    """A saved pair's own model and method count where the words name no others."""
    dataset = OWN if asked.dataset is None else listing.chosen(asked.dataset, DATASETS, "data set")
    usual: tuple[str, Mapping[str, Any], str, Mapping[str, Any]] = (
        "C" if asked.dataset else "combined",
        {},
        "adgm1",
        {},
    )
    base = usual if saved is None else (saved.model, saved.model_params, saved.method, saved.method_options)
    model = listing.chosen(asked.model or base[0], MODELS, "model")
    method = listing.chosen(asked.method or base[2], METHODS, "method")
    params: Mapping[str, Any] = base[1] if model == base[0] else {}
    options: Mapping[str, Any] = base[3] if method == base[2] else {}
    values = [] if dataset == OWN else DATASETS[dataset].parameters
    return Setup(
        dataset,
        parse_assignments(asked.set, "data set parameter", worded(values)),
        model,
        {
            **params,
            **parse_assignments(asked.param, "model parameter", worded(MODELS[model].parameters)),
            **{side: value for side in ("rows", "cols") if (value := getattr(asked, side)) is not None},
        },
        method,
        {**options, **parse_assignments(asked.option, "option")},
    )


def _own(asked: argparse.Namespace) -> Pair:
    """Two image files, with points from files or from a detector."""
    images, points = [], []
    for side, path in zip(SIDES, asked.images, strict=True):
        image = decode(read(path), name=path)
        images.append(image)
        points.append(_own_points(asked, side, path, image))
    truth = None
    if asked.truth is not None:
        truth = read_truth(read(asked.truth), asked.truth, (len(points[0]), len(points[1])))
    names = [Path(path).name for path in asked.images]
    return own_pair((images[0], images[1]), (points[0], points[1]), truth=truth, name=" and ".join(names))


def _own_points(asked: argparse.Namespace, side: str, path: str, image: Any) -> Keypoints:
    """Points of one image in its original pixels; whatever may surprise is said."""
    file = getattr(asked, f"{side}_points")
    if file is not None:
        points = read_points(read(file), file)
        if len(stray := outside(points, image.original_size)):
            complain(f"{len(stray)} of the {len(points)} {side} points lie outside the image.")
        return points
    count, detector = POINTS if asked.points is None else asked.points, asked.detector or "sift"
    found = detect(image, detector, count)
    if len(found) < count:
        complain(f"{Path(path).name}: {summary(found, detector, count)}")
    return found.scaled(1 / image.scale)


# ---- files -------------------------------------------------------------------------------------------------------


def read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"{path} could not be read: {(error.strerror or str(error)).lower()}.") from error


def write(folder: str, files: dict[str, bytes]) -> None:
    try:
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (place / name).write_bytes(data)
    except OSError as error:
        raise ValueError(f"{folder} could not be written to: {(error.strerror or str(error)).lower()}.") from error
    print(f"written    {folder.rstrip('/')}/: {', '.join(files)}", file=sys.stderr)


def main(words: Sequence[str] | None = None) -> int:
    """0, or 2 after a sentence about what is wrong."""
    try:
        asked = parser().parse_args(words)
        asked.run(asked)
        sys.stdout.flush()
    except MissingData as error:
        complain(f"{error} (To download: {PROGRAM} datasets --download …)")
    except ValueError as error:
        complain(str(error))
    except MemoryError:
        complain("This problem does not fit into the memory of this computer; take fewer points.")
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        complain("Interrupted.")
        return 130
    else:
        return 0
    return 2


if __name__ == "__main__":
    sys.exit(main())
