"""BENCHES: speed, measured. An entry is a benchmark of `python -m experiments bench`."""

import argparse
import json
import sys
from collections.abc import Callable

from adgm._kernels.interpreted import INTERPRETER
from experiments.tools.bench import (
    arrays,
    assignment,
    baselines,
    cold,
    explain,
    formulas,
    limits,
    solver,
    sparse,
    threads,
)
from experiments.tools.bench.solver import Reading


def app() -> list[Reading]:
    """The app in a browser."""
    from experiments.tools.bench.ui import ui  # needs playwright

    return ui()


def first_minute(times: int | None = None) -> list[Reading]:
    """The first minute of the app, in a browser, with and without compiled kernels."""
    from experiments.tools.bench import ui  # needs playwright

    return ui.first_minute(times or ui.STARTS)


def newcomer() -> list[Reading]:
    """The five tasks of a new visitor, in clicks and seconds."""
    from experiments.tools.bench.tasks import tasks  # needs playwright

    return tasks()


def first_screen() -> list[Reading]:
    """What the first screen shows in three windows, before, during and after a run."""
    from experiments.tools.bench.screen import screen  # needs playwright

    return screen()


BENCHES: dict[str, Callable[[], list[Reading]]] = {
    "pairwise": solver.pairwise,
    "third": solver.third_order,
    "arrays": arrays.readings,
    "models": solver.models,
    "formulas": formulas.readings,
    "rivals": baselines.readings,
    "growth": solver.growth,
    "delaunay": solver.delaunay_candidates,
    "edges": lambda: solver.in_process("on_edges", 150),
    "formula": lambda: solver.in_process("large_formula", 200) + solver.in_process("whole_run", module="limits"),
    "sparse": sparse.readings,
    "photos": lambda: solver.in_process("readings", module="photos"),
    "limits": limits.readings,
    "assignment": assignment.readings,
    "threads": threads.readings,
    "margins": explain.all_margins,
    "start": lambda: solver.start_up() + solver.never_compiled(),
    "cold": cold.readings,
    "ui": app,
    "first": first_minute,
    "tasks": newcomer,
    "screen": first_screen,
}
FORMER = {"errands": "tasks"}  # the name in earlier versions
IN_A_BROWSER = ("ui", "first", "tasks", "screen")
LONG = ("limits", "assignment")  # a quarter of an hour each
USUAL = [name for name in BENCHES if name not in (*IN_A_BROWSER, *LONG)]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "only",
        nargs="*",
        help=f"some of {', '.join(BENCHES)}; all but {', '.join((*IN_A_BROWSER, *LONG))} if none is named",
    )
    parser.add_argument("--ui", action="store_true", help="measure the app in a real browser instead")
    parser.add_argument("--times", type=int, help="how many starts of the app `first` takes the median of (10)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(options: argparse.Namespace) -> int:
    only = [FORMER.get(name, name) for name in options.only]
    if unknown := sorted(set(only) - set(BENCHES)):
        raise ValueError(f"There is no benchmark {', '.join(unknown)}; there are {', '.join(BENCHES)}.")
    INTERPRETER.never()  # what a benchmark measures is compiled
    readings = []
    for name in ["ui", "first"] if options.ui else only or USUAL:
        print(f"… {name}", file=sys.stderr, flush=True)
        readings += first_minute(options.times) if name == "first" else BENCHES[name]()
    print(json.dumps(readings, indent=1) if options.json else solver.table(readings))
    return 0
