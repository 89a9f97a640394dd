"""The command `views`: match several images, or views of a data set, so that their matches close."""

import argparse
import io
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from adgm.views import JOINTS, PLANS, JointProblem, JointState, solve_jointly
from adgm.views.tracks import Couple, table
from features.cli.arguments import named_model
from features.cli.base import PROGRAM, complain, listed, several, write
from features.files.problem_files.several import read_several, write_several
from features.limits import LIMITS
from features.pairs import file_bytes
from features.parameters import parse_assignments, worded
from features.recipe import METHOD, MODEL, OWN, Recipe
from features.tables import csv_lines
from features.views import VIEW_SETS, Step, Views, ViewSet, ViewsRecipe, ViewsRun
from features.views.exports import everything
from features.views.matching import view_set_of
from features.views.reading import VIDEOS, video_frames, views_in_folder, views_in_zip
from features.views.run import suited

ABOUT = """\
Match three to sixteen views of a thing, so that the matches of all pairs agree: A to B to C leads back to A.

Every pair is matched by itself; then tracks are made of them. With -o the tracks (CSV, JSON, NPZ), the matches of all
pairs, COLMAP's database and text import, and hloc's files (with h5py) are written to a folder.
"""
EXAMPLES = f"""\
examples:
  {PROGRAM} views *.jpg -o out/
      photographs, in the order of their names: points are detected once in each
  {PROGRAM} views photos.zip --count 8 --points 300 -o out/
      eight images of a ZIP file (or a folder, or frames of a video)
  {PROGRAM} views --dataset turntable --views 8 --set drop=0.3
      views of a data set; without a KEY after --dataset, what there is
  {PROGRAM} views several.dd --joint spectral -o out/
      a problem of several graphs from a file
"""


def add(commands: Any) -> None:
    usage = f"{PROGRAM} views [IMAGE …] [options]\n       {PROGRAM} views --dataset KEY [options]"
    command = commands.add_parser("views", description=ABOUT, epilog=EXAMPLES, usage=usage)
    source = command.add_argument_group("the views")
    source.add_argument("files", nargs="*", metavar="IMAGE", help="images; or one folder, ZIP file, video or .dd file")
    source.add_argument("--dataset", nargs="?", const="", metavar="KEY", help=f"or one of {', '.join(VIEW_SETS)}")
    source.add_argument("--views", "--count", type=int, metavar="N", help="how many views, spread over what there is")
    several(source, "--set", "NAME=VALUE", "a parameter of the data set, such as drop=0.3; may be repeated")
    pair = command.add_argument_group("how a pair is matched")
    pair.add_argument("--points", type=int, metavar="N", help="how many points to detect in each image")
    pair.add_argument("--detector", metavar="KEY", help="how they are detected (sift)")
    pair.add_argument("--model", metavar="KEY", help="what a matching costs; what suits the views, if none is named")
    pair.add_argument("--formula", metavar="TEXT", help="or a formula of your own")
    pair.add_argument("--model-file", metavar="FILE", help="or a formula from a file")
    several(pair, "--param", "NAME=VALUE", "a parameter of the model; may be repeated")
    pair.add_argument("--method", metavar="KEY", help="a method (fusion): see 'methods'")
    several(pair, "--option", "NAME=VALUE", "an option of the method; may be repeated")
    joint = command.add_argument_group("how they come together")
    joint.add_argument("--plan", choices=list(PLANS), default="all", help="which pairs are compared (all)")
    joint.add_argument("--neighbours", type=int, default=2, metavar="K", help="of --plan neighbours (2)")
    joint.add_argument("--joint", choices=list(JOINTS), default="tracks", help="what makes tracks of them (tracks)")
    joint.add_argument("--time-limit", type=float, metavar="SECONDS", help="computing time, then the best so far")
    out = command.add_argument_group("what comes out")
    out.add_argument("-o", "--output", metavar="DIR", help="write tracks and matches to this folder")
    out.add_argument("--quiet", action="store_true", help="no progress on stderr")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    if bool(args.files) == (args.dataset is not None):
        raise ValueError("One source of views is needed: images, a folder, a ZIP file, a video, or --dataset KEY.")
    if args.dataset == "":
        print("\n".join(f"  {key:<12}{one.label}: {one.description}" for key, one in VIEW_SETS.items()))
        return
    if args.set and args.dataset is None:
        raise ValueError("--set chooses parameters of a data set; there is no --dataset.")
    if len(args.files) == 1 and args.files[0].lower().endswith((".dd", ".dd.xz")):
        _solve_file(args)
        return
    view_set, dataset, params = _views(args)
    recipe = ViewsRecipe(dataset, params, _how(args, view_set), args.plan, args.neighbours, args.joint)
    work = ViewsRun(view_set, recipe, time_limit=args.time_limit)
    found = work.finish(None if args.quiet else _Told())
    print(summary(found))
    if args.output is not None:
        files = everything(found)
        files["problem.dd"] = _problem_file(found.problem)
        write(args.output, {name: data for name, data in files.items() if data})


class _Told:
    """Tells on stderr what is being done, at most five times a second."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self, step: Step) -> None:
        if step.phase == "joint" or step.done == step.total or perf_counter() - self.at > 0.2:
            self.at = perf_counter()
            energy = "" if np.isnan(step.energy) else f", energy {step.energy:.6g}"
            print(f"{step.seconds:7.1f} s  {step.words}{energy}", file=sys.stderr, flush=True)


def _views(args: argparse.Namespace) -> tuple[ViewSet, str, dict[str, Any]]:
    if args.dataset is not None:
        one = VIEW_SETS[listed(args.dataset, VIEW_SETS, "set of views")]
        params = parse_assignments(args.set, "parameter of the views", worded(one.parameters))
        if args.views is not None:
            params["count"] = args.views
        return one.load(**params), args.dataset, params
    return _own(args.files, args.views), OWN, {}


def _own(files: list[str], count: int | None) -> ViewSet:
    """Images, a folder, a ZIP file or a video."""
    first = Path(files[0])
    if len(files) > 1:
        if len(files) > LIMITS.views and count is None:
            raise ValueError(
                f"{len(files)} images were given; at most {LIMITS.views} can be matched: choose --views N."
            )
        some = files if count is None else [files[round(k)] for k in np.linspace(0, len(files) - 1, count).tolist()]
        return view_set_of(some)
    if first.is_dir():
        return views_in_folder(first, count=count)
    if first.suffix.lower() == ".zip":
        return views_in_zip(file_bytes(first), first.name, count=count)
    if first.suffix.lower() in VIDEOS:
        return video_frames(first, count=count or 6)
    raise ValueError(f"{first} alone makes no views; give two images or more, a folder, a ZIP file or a video.")


def _how(args: argparse.Namespace, view_set: ViewSet) -> Recipe:
    """What suits the views, with what is named."""
    base = suited(view_set)
    words = {"--model": args.model, "--formula": args.formula, "--model-file": args.model_file}
    model = listed(named_model(words) or base.model, MODEL.registry, "model")
    method = listed(args.method or base.method, METHOD.registry, "method")
    points, params = base.points, dict(base.point_params)
    if base.points == OWN and (args.points or args.detector):
        raise ValueError("--points and --detector are about images; these views have points of their own.")
    if args.points:
        params = {"left": args.points, "right": args.points}
    return Recipe(
        OWN,
        {},
        model,
        MODEL.read(args.param, model),
        method,
        METHOD.read(args.option, method),
        args.detector or points,
        params,
    )


def summary(found: Views) -> str:
    """What was found, in lines."""
    lengths = found.lengths[found.lengths > 1]
    lines = [found.view_set.name, found.recipe.title]
    lines.append(
        f"tracks     {len(lengths)} of two points or more, {int((lengths == len(found.view_set)).sum())} through all"
    )
    lines.append(f"energy     {found.energy:.7g}; of the pairs alone {found.energy_alone:.7g}")
    for name, (accuracy, precision) in (("judged", found.judged), ("alone", found.judged_alone)):
        if accuracy is not None:
            told = "none" if precision is None else f"{100 * precision:.1f} %"
            lines.append(f"{name:<11}accuracy {100 * accuracy:.1f} %, precision {told}")
    errors = [
        np.nanmean(one) if not np.isnan(one).all() else 0.0 for one in (found.cycle_errors_alone, found.cycle_errors)
    ]
    lines.append(
        f"cycles     {100 * errors[0]:.1f} % of the ways over a third view contradict the pairs alone, "
        f"{100 * errors[1]:.1f} % now"
    )
    lines.append(f"run        {found.status} after {len(found.steps)} steps, {found.seconds:.2f} s of computing")
    return "\n".join([*lines, f"note       {found.note}"] if found.note else lines)


def _problem_file(problem: JointProblem) -> bytes:
    """The problem as a .dd file; empty where it is too large or of a higher order."""
    try:
        return write_several(problem)
    except ValueError as error:
        complain(f"problem.dd is not written: {error}")
        return b""


def _solve_file(args: argparse.Namespace) -> None:
    """A problem of several graphs from a file."""
    problem = read_several(file_bytes(args.files[0]))

    def told(what: JointState | Couple) -> None:
        if not args.quiet:
            words = (
                f"step {what.iteration}: energy {what.energy:.7g}" if isinstance(what, JointState) else f"pair {what}"
            )
            print(words, file=sys.stderr)

    state = solve_jointly(problem, args.joint, args.method or "fusion", told)
    found = table(state.tracks)
    print(f"{len(problem.sizes)} graphs of {', '.join(map(str, problem.sizes))} nodes, {len(problem.problems)} pairs")
    print(
        f"tracks     {int(((found >= 0).sum(axis=1) > 1).sum())} of two nodes or more\nenergy     {state.energy:.10g}"
    )
    if args.output is not None:
        rows = [(t, i, p) for t, points in enumerate(found.tolist()) for i, p in enumerate(points) if p >= 0]
        out = io.BytesIO()
        np.savez_compressed(out, tracks=found, energy=state.energy)
        write(
            args.output,
            {"tracks.csv": csv_lines([("track", "graph", "node"), *rows]).encode(), "tracks.npz": out.getvalue()},
        )
