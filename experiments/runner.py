"""Run an experiment: units that are not in the store yet, in parallel, every finished one safe on the disk at once."""

import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import monotonic
from typing import TextIO

import numpy as np

from experiments.spec import Experiment, Unit
from experiments.store import Content, Record, Store, StoreError, read
from experiments.trials import Group, grouped, machine
from experiments.workers import GRACE, MEMORY, Tally, run_dask, run_here, run_local
from features.datasets import DATASETS
from features.models import MODELS

ROOT = Path(__file__).resolve().parents[1]
WITHOUT_RESULT = ("failed", "refused")
START_UP = 6.0  # seconds until a worker has imported everything
# Seconds for a unit nobody has timed yet, by order: building its problem, solving it.
GUESSES = {1: (0.02, 0.02), 2: (0.05, 0.1), 3: (1.5, 0.3), 4: (3.0, 1.0)}


@dataclass(frozen=True)
class RunProgress:
    """How far a run is."""

    done: int  # units in the store, those of earlier runs too
    total: int
    failed: int  # without a result, in this run
    seconds: float  # since this run's workers were asked
    remaining: float | None  # a guess, in seconds
    doing: str = ""  # what the workers are at

    @property
    def text(self) -> str:
        words = [f"{self.done:,} of {self.total:,} units"]
        if self.failed:
            words.append(f"{self.failed} without a result")
        if self.remaining is not None and self.done < self.total:
            words.append(f"about {duration(self.remaining)} left")
        if self.doing and self.done < self.total:
            words.append(self.doing)
        return ", ".join(words)


@dataclass(frozen=True)
class Workers:
    """Where the units are run: in this process, in so many others, or on a Dask cluster."""

    count: int = 0  # processes; 0: this one
    scheduler: str | None = None  # the address of a Dask scheduler
    memory: int = MEMORY
    grace: tuple[float, float] = GRACE


HERE = Workers()


@dataclass(frozen=True)
class RunOutcome:
    """What a run ended with."""

    progress: RunProgress
    new: int  # units of this run
    tally: Tally
    stopped: bool


def run(
    experiment: Experiment,
    path: Path,
    *,
    sample: int | None = None,
    skip: Callable[[Unit], bool] = lambda unit: False,
    workers: Workers = HERE,
    retry: bool = False,
    watch: Callable[[RunProgress], object] | None = None,
    command: str = "",
) -> RunOutcome:
    """Finish an experiment in the store at `path`; rows that are there already are skipped.

    `sample`: pairs per setting, all if None. `skip`: units that are not wanted. `retry` runs what has no result again.
    `watch` sees the progress after every batch of rows, and what the workers are doing before that; it ends the run by
    returning True. `command`: what was typed, for the record.
    """
    check_data(experiment)
    units = [unit for unit in experiment.units(sample) if not skip(unit)]
    with Store(path) as store:
        check_same(experiment, store)
        there = {key for key, row in store.content.rows.items() if not (retry and row["status"] in WITHOUT_RESULT)}
        groups = grouped([unit for unit in units if unit.key not in there])
        todo = sum(len(group.units) for group in groups)
        if groups:
            store.append([run_record(experiment, sample, workers, command), machine()])
        tally, clock = Tally(), Clock(len(units), todo)
        stopped = False
        source = rows_of(groups, workers, tally)
        try:
            for records in source:
                if records:
                    store.append(records)
                    clock.add(records)
                if watch is not None and watch(replace(clock.progress, doing=tally.doing)) is True:
                    stopped = clock.new < todo
                    break
        finally:
            source.close()
    return RunOutcome(clock.progress, clock.new, tally, stopped)


def finished(
    experiment: Experiment,
    path: Path,
    *,
    sample: int | None = None,
    known: Mapping[str, Record] | None = None,
    skip: Callable[[Unit], bool] = lambda unit: False,
    workers: Workers = HERE,
) -> list[Record]:
    """The rows of all units, in their order, from `known` ones and the store; what neither has is run first."""
    there = dict(known or {})

    def unwanted(unit: Unit) -> bool:
        return unit.key in there or skip(unit)

    units, stored = list(experiment.units(sample)), read(path).rows
    if any(unit.key not in stored and not unwanted(unit) for unit in units):
        with Terminal() as watch:
            run(experiment, path, sample=sample, skip=unwanted, workers=workers, watch=watch, command=command_line())
    there |= read(path).rows
    return [there[unit.key] for unit in units if unit.key in there]


def command_line() -> str:
    """What was typed to start this process."""
    return f"python -m experiments {shlex.join(sys.argv[1:])}".strip()


def rows_of(groups: Sequence[Group], workers: Workers, tally: Tally) -> Generator[list[Record], None, None]:
    """Rows from wherever they are computed."""
    if workers.scheduler is not None:
        yield from run_dask(groups, workers.scheduler, tally)
    elif workers.count > 0:
        yield from run_local(groups, workers.count, tally, memory=workers.memory, grace=workers.grace)
    else:
        yield from run_here(groups, tally)


def check_data(experiment: Experiment) -> None:
    if missing := experiment.missing():
        names = " and ".join(DATASETS[key].label for key in missing)
        raise ValueError(
            f"Not on this computer: {names}. Fetch with python -m features datasets --download {' '.join(missing)}, "
            "or set ADGM_DATA_DIR to a folder that has them."
        )


def check_same(experiment: Experiment, store: Store) -> None:
    """A store belongs to one experiment; its methods may grow."""
    if store.content.runs:
        other = store.content.run["experiment"]["name"]
        if other != experiment.name:
            raise StoreError(f"{store.path} holds rows of {other}, not of {experiment.name}; choose another file.")


class Clock:
    """Counts rows and guesses the time that is left."""

    def __init__(self, total: int, todo: int) -> None:
        self.total, self.todo = total, todo
        self.new = self.failed = 0
        self.began = monotonic()
        self.first: tuple[float, int] | None = None  # when the first rows came, and how many

    def add(self, records: Sequence[Record]) -> None:
        rows = [record for record in records if record["kind"] == "row"]
        self.new += len(rows)
        self.failed += sum(row["status"] in WITHOUT_RESULT for row in rows)
        if self.first is None:
            self.first = monotonic(), self.new

    @property
    def progress(self) -> RunProgress:
        now = monotonic()
        remaining = None
        if self.first is not None and self.new > self.first[1]:
            pace = (now - self.first[0]) / (self.new - self.first[1])
            remaining = pace * (self.todo - self.new)
        return RunProgress(self.total - self.todo + self.new, self.total, self.failed, now - self.began, remaining)


# ---- what made the rows ------------------------------------------------------------------------------------------


def run_record(experiment: Experiment, sample: int | None, workers: Workers, command: str) -> Record:
    return {
        "kind": "run",
        "experiment": experiment.to_dict(),
        "sample": sample,
        "workers": workers.count,
        "cluster": workers.scheduler is not None,
        "command": command,
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "machine": machine()["id"],
        **({"load": round(os.getloadavg()[0], 1)} if hasattr(os, "getloadavg") else {}),
    }


def versions() -> dict[str, str]:
    """The project's commit and the libraries that numbers may depend on."""
    found = {"project": commit(), "python": platform.python_version()}
    for package in ("numpy", "scipy", "numba", "opencv-python-headless", "matplotlib"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found


def commit() -> str:
    """The commit of this project, with a + if its code has changed since."""
    try:
        at = _git("rev-parse", "--short=10", "HEAD")
        return at + "+" * bool(_git("status", "--porcelain", "--", "adgm", "features", "experiments"))
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True, timeout=20)
    return done.stdout.strip()


# ---- time --------------------------------------------------------------------------------------------------------


def estimate(experiment: Experiment, units: Sequence[Unit], known: Mapping[str, Record], workers: int) -> float:
    """Seconds that these units will take, by rows of the same panels and methods, else of the methods, else a guess."""
    solving: dict[object, list[float]] = {}
    building: dict[str, list[float]] = {}
    for row in known.values():
        if "seconds" in row:
            for key in ((row["panel"], row["method"]), row["method"]):
                solving.setdefault(key, []).append(row["seconds"])
            building.setdefault(row["panel"], []).append(row["build_seconds"])
    means = {key: float(np.mean(values)) for key, values in solving.items()}
    builds = {panel: float(np.mean(values)) for panel, values in building.items()}
    total = 0.0
    for group in grouped(units):
        guess = GUESSES[max(MODELS[group.units[0].setup.model].orders)]
        total += builds.get(group.units[0].panel, guess[0])
        for unit in group.units:
            method = unit.variant.name
            total += means.get((unit.panel, method), means.get(method, guess[1]))
    return START_UP + total / max(1, min(workers, os.cpu_count() or 1)) if units else 0.0


def duration(seconds: float) -> str:
    """Seconds for people."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def rate(outcome: RunOutcome) -> str:
    """Units per second, in words."""
    seconds = max(outcome.progress.seconds, 1e-9)
    return f"{outcome.new} units in {duration(seconds)}, {outcome.new / seconds:.1f} a second"


class Terminal:
    """RunProgress for a terminal: one line that is overwritten, or a line every few seconds in a file."""

    def __init__(self, out: TextIO = sys.stderr, every: float = 10.0) -> None:
        self.out, self.live = out, out.isatty()
        self.every = 0.2 if self.live else every
        self.shown = -every

    def __call__(self, progress: RunProgress) -> None:
        now = monotonic()
        if now - self.shown >= self.every or progress.done == progress.total:
            self.shown = now
            bar = "█" * round(24 * progress.done / max(progress.total, 1))
            text = f"{bar:░<24} {progress.text}" if self.live else progress.text
            print(f"\r{text}\x1b[K" if self.live else text, end="" if self.live else "\n", file=self.out, flush=True)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *error: object) -> None:
        if self.live and self.shown > 0:
            print(file=self.out)


def left(units: Sequence[Unit], content: Content) -> list[Unit]:
    """The units that a store lacks."""
    return [unit for unit in units if unit.key not in content.rows]
