"""Several views: energy, accuracy and time of what makes tracks, on the same costs.

Complete sets (Willow, ten landmarks in every photograph, models A and C) and partial ones (House, Hotel and the
turntable, a share of the points of every view dropped). The pairs are matched once for each set; what makes tracks of
them (`adgm.views.JOINTS`) is timed alone. pylibmgm takes part where it is installed.
"""

import argparse
import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from adgm.machine.computing import ProcessorTime
from adgm.views import JOINTS, JointProblem, JointState
from adgm.views.tracks import Couple, matching
from features.recipe import OWN, Recipe
from features.tables import Table, csv_lines
from features.views import VIEW_SETS, ViewSet, ViewsRecipe, ViewsRun
from features.views.run import suited

DROP = 0.3
COMPLETE = (("willow", "Car", "C"), ("willow", "Duck", "C"), ("willow", "Car", "A"), ("willow", "Duck", "A"))
PARTIAL = ("house", "hotel", "turntable")
FIELDS = ("set", "views", "draw", "joint", "energy", "accuracy", "precision", "seconds")
FILE = "views.csv"
Row = dict[str, str]
HEAD = """\
Mean total energy (less is better) · accuracy · precision · seconds of computing of what makes tracks, over the draws of
each set; the pairs' matching before it is not counted, and the pairs' energy asks for no agreement. The least energy of
a consistent one in bold. Lowest energy is not always highest accuracy.

Made by `python -m experiments views --views 4 --draws 3 -o assets/results`: {count} sets. pylibmgm runs in a process of
its own, whose seconds are not told.
"""


def sets(views: Iterable[int], draws: int) -> Iterator[tuple[str, int, int, ViewSet, Recipe]]:
    """(name, number of views, draw, views, how a pair is matched)."""
    for count in views:
        for draw in range(1, draws + 1):
            for key, kind, model in COMPLETE:
                if VIEW_SETS[key].available():
                    chosen = VIEW_SETS[key].load(images=False, kind=kind, count=count, draw=draw, seed=draw)
                    yield f"{key} {kind}, {model}", count, draw, chosen, Recipe(OWN, model=model, method="fusion")
            for key in PARTIAL:
                if VIEW_SETS[key].available():
                    chosen = VIEW_SETS[key].load(images=False, count=count, drop=DROP, seed=draw)
                    yield f"{key}, partial", count, draw, chosen, suited(chosen)


def measured(view_set: ViewSet, how: Recipe) -> Iterator[dict[str, Any]]:
    """Energy, accuracy, precision and seconds of everything that makes tracks of these views."""
    run = ViewsRun(view_set, ViewsRecipe(OWN, how=how, joint="pairs"))
    run.finish()
    problem = run.problem
    assert problem is not None
    alone = {couple: found.matching for couple, found in run.pairs.items()}
    for key, entry in JOINTS.items():
        if entry.refusal(problem):
            continue
        state, seconds = made(problem, key, alone)
        some = {c: matching(state.tracks, *c) for c in problem.couples} if entry.consistent else alone
        accuracy, precision = view_set.judge(some)
        yield {
            "joint": key,
            "energy": f"{state.energy:.6f}",
            "accuracy": f"{accuracy or 0.0:.4f}",
            "precision": f"{precision or 0.0:.4f}",
            "seconds": f"{seconds:.3f}",
        }


def made(problem: JointProblem, key: str, alone: dict[Couple, Any]) -> tuple[JointState, float]:
    """The tracks, and seconds of computing."""
    joint, clock = JOINTS[key].make(), ProcessorTime()
    with clock.working():
        state = joint.init(problem, alone)
        while not joint.done(state):
            state = joint.step(problem, state)
    return state, clock()


def read(data: str) -> list[Row]:
    return [*csv.DictReader(io.StringIO(data))]


def table(rows: list[Row]) -> Table:
    """A line for every set and number of views, a column for everything that makes tracks."""
    joints = [key for key in JOINTS if any(row["joint"] == key for row in rows)]
    groups = dict.fromkeys((row["set"], int(row["views"])) for row in rows)
    lines: list[tuple[str, ...]] = []
    bold: set[tuple[int, int]] = set()
    for name, views in groups:
        mine = [row for row in rows if (row["set"], int(row["views"])) == (name, views)]
        draws = {row["draw"] for row in mine}
        cells, energies = [f"{name}, {views} views ({len(draws)})"], {}
        for column, key in enumerate(joints, 1):
            some = [[float(row[field]) for field in FIELDS[4:]] for row in mine if row["joint"] == key]
            if not some:
                cells.append("")
                continue
            energy, accuracy, precision, seconds = np.mean(some, axis=0).tolist()
            told = "∞" if np.isinf(energy) else f"{energy:.1f}"
            time = "–" if key == "mgm" else f"{seconds:.2f}"  # another process: its wall clock tells nothing here
            cells.append(f"{told} · {accuracy:.2f} · {precision:.2f} · {time}")
            if JOINTS[key].consistent:
                energies[column] = energy
        least = min(energies.values(), default=0.0)
        bold |= {(len(lines), column) for column, energy in energies.items() if energy <= least + 1e-6 * abs(least)}
        lines.append(tuple(cells))
    header = ("set (draws)", *(JOINTS[key].label for key in joints))
    return Table(header, tuple(lines), frozenset(bold))


def text(rows: list[Row]) -> str:
    """Markdown: what was measured."""
    count = len({(row["set"], row["views"], row["draw"]) for row in rows})
    return f"{HEAD.format(count=count)}\n{table(rows).markdown()}"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--views", type=int, nargs="+", default=[4, 8, 16], metavar="N", help="how many (4 8 16)")
    parser.add_argument("--draws", type=int, default=5, metavar="N", help="sets of each kind and number of views (5)")
    parser.add_argument("-o", "--output", type=Path, default=Path("runs"), metavar="DIR", help="for the rows (runs)")


def run(options: Any) -> int:
    """Measure what is not yet in the file, set by set."""
    path = options.output / FILE
    rows = read(path.read_text("utf-8")) if path.is_file() else []
    known = {(row["set"], row["views"], row["draw"]) for row in rows}
    options.output.mkdir(parents=True, exist_ok=True)
    for name, views, draw, view_set, how in sets(options.views, options.draws):
        where = {"set": name, "views": str(views), "draw": str(draw)}
        if tuple(where.values()) in known:
            continue
        print(f"{name}, {views} views, draw {draw}", flush=True)
        rows += [where | row for row in measured(view_set, how)]
        path.write_text(csv_lines([FIELDS, *([row[field] for field in FIELDS] for row in rows)]), "utf-8")
    if not rows:
        raise ValueError("None of these sets of views is on this computer.")
    print(text(rows))
    return 0
