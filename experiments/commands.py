"""COMMANDS: what there is in `python -m experiments`; an entry is a command."""

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from adgm import METHODS
from experiments import runner, store, summary, toml_spec
from experiments.paper import EXPERIMENTS
from experiments.spec import Experiment
from experiments.store import SHIPPED, StoreError
from experiments.studies import STUDIES
from experiments.tools import bench, documentation, fuzz, load, mutants, notebooks, proofs
from experiments.workers import MEMORY
from features import plugins
from features.datasets import DATASETS

PROGRAM = "python -m experiments"
Options = Callable[[argparse.ArgumentParser], None]
Run = Callable[[argparse.Namespace], int]
ATTACHED = 0.5  # seconds between two lines for a page that reads them
FEW = 5  # pairs per setting if nothing is said
ABOUT_RUN = """\
Run an experiment, or go on with it: what is in the store already is skipped, so the same command again finishes what a
kill, a full disk or Ctrl-C has left. Every finished unit is on the disk at once.

  python -m experiments run synthetic --sample 3
  python -m experiments run table1 --methods adgm1,dd --sample 100
  python -m experiments run my-study.toml --full --workers 8
  python -m experiments run model-b --full --scheduler tcp://10.0.0.1:8786   (Dask, with this project on its workers)
"""


def find(name: str) -> Experiment:
    """A built-in experiment by its name, or one from a file: TOML as people write it, JSON as a store holds it."""
    if name.endswith(".toml"):
        return toml_spec.read(Path(name))
    if name.endswith(".json"):
        return Experiment.from_dict(json.loads(Path(name).read_text(encoding="utf-8")))
    if name not in EXPERIMENTS:
        raise ValueError(f"There is no experiment {name!r}; expected {', '.join(EXPERIMENTS)} or a .toml file.")
    return EXPERIMENTS[name]


def list_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--methods", action="store_true", help="list the methods instead")


def run_options(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = ABOUT_RUN
    add = parser.add_argument
    add("name", help="a built-in experiment (see list) or a .toml file (see example)")
    size = parser.add_mutually_exclusive_group()
    sample = f"pairs per setting: a fixed random subset, nested (default {FEW})"
    size.add_argument("--sample", type=int, default=FEW, metavar="N", help=sample)
    size.add_argument("--full", action="store_true", help="every pair of every setting")
    add("--methods", metavar="A,B", help="only these methods, or with + in front these more")
    workers = "worker processes on this machine (default: its cores; 0: in this process)"
    add("--workers", type=int, default=os.cpu_count() or 1, metavar="N", help=workers)
    add("--scheduler", metavar="tcp://…", help="run on the Dask cluster with this scheduler instead")
    add("--store", type=Path, metavar="FILE", help="where rows go (default runs/NAME.jsonl)")
    add("--retry", action="store_true", help="run units without a result again")
    memory = "most memory per worker (default %(default)g)"
    add("--memory", type=float, default=MEMORY / 2**30, metavar="GB", help=memory)
    add("--estimate", action="store_true", help="only say how many units there are and how long")
    add("--attached", action="store_true", help=argparse.SUPPRESS)  # ends with its parent's pipe


def report_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", help="a store, or the name of an experiment: runs/NAME.jsonl, else the shipped one")
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="default: beside the store")


def pack_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", type=Path)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: assets/results/NAME.jsonl.gz")


def run_list(options: argparse.Namespace) -> int:
    if options.methods:
        for key, entry in METHODS.items():
            print(f"{key:<12} {entry.label:<24} {entry.cite}")
        return 0
    for name, experiment in EXPERIMENTS.items():
        missing = experiment.missing()
        needs = f"   (download first: {', '.join(DATASETS[key].label for key in missing)})" if missing else ""
        print(f"{name:<20} {experiment.title}{needs}")
        few = f"{experiment.size(FEW):,} with --sample {FEW}"
        print(f"{'':<20} {len(experiment.methods)} methods, {experiment.size():,} units in full, {few}")
    return 0


def chosen_methods(experiment: Experiment, text: str | None) -> Experiment:
    if not text:
        return experiment
    names = tuple(name.strip() for name in text.removeprefix("+").split(",") if name.strip())
    more = tuple(name for name in names if name not in experiment.methods)
    return experiment.with_methods(experiment.methods + more if text.startswith("+") else names)


def run_run(options: argparse.Namespace) -> int:
    experiment = chosen_methods(find(options.name), options.methods)
    sample = None if options.full else options.sample
    path = options.store or Path("runs") / f"{experiment.name}.jsonl"
    if options.workers < 0:
        raise ValueError(f"--workers is {options.workers}; expected 0 or more.")
    runner.check_data(experiment)
    if options.estimate:
        return print_estimate(experiment, sample, path, options.workers)
    signal.signal(signal.SIGTERM, interrupted)
    if options.attached:
        threading.Thread(target=end_with_parent, daemon=True).start()
    with runner.Terminal(every=ATTACHED if options.attached else 10.0) as terminal:
        outcome = runner.run(
            experiment,
            path,
            sample=sample,
            workers=runner.Workers(options.workers, options.scheduler, int(options.memory * 2**30)),
            retry=options.retry,
            watch=terminal,
            command=runner.command_line(),
        )
    print(f"{outcome.progress.text}: {runner.rate(outcome)}. Rows are in {path}.")
    for name, peak in sorted(outcome.tally.peak.items()):
        print(f"peak memory of {name}: {peak / 2**20:,.0f} MB")
    if outcome.tally.lost:
        print(f"{outcome.tally.lost} workers were lost and replaced.")
    content = store.read(path)
    for line in summary.verdicts(summary.enriched(content, experiment), experiment):
        print(line)
    return 0


def print_estimate(experiment: Experiment, sample: int | None, path: Path, workers: int) -> int:
    units, mine = list(experiment.units(sample)), store.read(path)
    known = {**store.read(SHIPPED / f"{experiment.name}.jsonl.gz").rows, **mine.rows}
    left = runner.left(units, mine)
    seconds = runner.estimate(experiment, left, known, workers)
    print(f"{len(units):,} units, {len(left):,} of them still to run: about {runner.duration(seconds)}.")
    return 0


def interrupted(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def end_with_parent() -> None:
    """Whoever started this holds the other end of its input; when that closes, nobody waits for the rows any more."""
    while os.read(0, 1):  # not sys.stdin, whose lock would be held when this process ends by itself
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def located(name: str) -> Path:
    """A store by its path, or by its experiment's name."""
    tried = [Path(name), Path("runs") / f"{name}.jsonl", SHIPPED / f"{name}.jsonl.gz"]
    for path in tried:
        if path.is_file():
            return path
    raise StoreError(f"There are no results {name!r}; run {name} first, or give the path of a store.")


def run_report(options: argparse.Namespace) -> int:
    from experiments import report  # matplotlib, which workers need not import

    path = located(options.store)
    content = store.read(path)
    if content.dropped:
        print(f"{content.dropped} lines that were not whole are left out.", file=sys.stderr)
    name = content.run["experiment"]["name"]
    beside = Path("runs") if path.is_relative_to(SHIPPED) else path.parent
    for file in report.write(content, options.output or beside / f"{name}-report"):
        print(file)
    return 0


def run_pack(options: argparse.Namespace) -> int:
    content = store.read(options.store)
    path = options.output or SHIPPED / f"{content.run['experiment']['name']}.jsonl.gz"
    store.pack(content, path)
    print(f"{path}: {len(content.rows):,} rows, {path.stat().st_size:,} bytes")
    return 0


def run_example(options: argparse.Namespace) -> int:
    print(toml_spec.EXAMPLE, end="")
    return 0


def run_results(options: argparse.Namespace) -> int:
    from experiments import results

    print(results.write())
    return 0


def run_mutate(options: argparse.Namespace) -> int:
    from experiments.tools import mutate  # pytest and Hypothesis, which an installed package does not bring

    return mutate.run(options)


COMMANDS: dict[str, tuple[str, Options | None, Run]] = {
    "list": ("the built-in experiments, how large they are, and what they need", list_options, run_list),
    "run": ("run an experiment, or finish it", run_options, run_run),
    "report": ("figures, tables and an HTML page from a store", report_options, run_report),
    "pack": ("a small compressed copy of a store, to ship", pack_options, run_pack),
    "results": ("write assets/results/README.md: every table, from the shipped rows", None, run_results),
    "example": ("print a TOML file to start an experiment of your own from", None, run_example),
    "bench": ("measure speed: ratios taken in one run", bench.add_options, bench.run),
    "load": ("many visitors at once on a server of its own, over WebSockets", load.add_options, load.run),
    "fuzz": (
        "damaged files of every kind: each must be refused in a sentence",
        fuzz.add_options,
        fuzz.run,
    ),
    "mutate": ("break one line at a time: does a test notice?", mutants.add_options, run_mutate),
    "proofs": ("random problems beside brute force: no proof may be false", proofs.add_options, proofs.run),
    "docs": ("build the documentation site of assets/docs", documentation.add_options, documentation.run),
    "notebooks": ("run the notebooks in assets/docs again, and keep what their cells say", None, notebooks.run),
    **{name: (about, study.add_options, study.run) for name, (study, about) in STUDIES.items()},
}


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog=PROGRAM, description="Measurements and the paper's experiments.")
    found.add_argument(plugins.FLAG, action="append", metavar="FILE", help="your own models, methods and data sets")
    commands = found.add_subparsers(required=True, metavar="command")
    for name, (about, add_options, run) in COMMANDS.items():
        command = commands.add_parser(name, help=about)
        if add_options is not None:
            add_options(command)
        command.set_defaults(run=run)
    return found
