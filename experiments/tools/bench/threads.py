"""ADGM+ on two threads beside one: whole runs by the clock on the wall, in turns. A busy machine hides the gain."""

import os
from collections.abc import Callable
from functools import partial

from adgm import METHODS, Problem, solve
from experiments.tools.bench.assignment import nugent
from experiments.tools.bench.baselines import alternate
from experiments.tools.bench.solver import Reading, reading
from features.datasets import DATASETS
from features.files.problem_files.qaplib import qap
from features.models import MODELS

LIMIT = 20.0  # seconds of computing
ROUNDS = 3


def points(model: str, inliers: int) -> Problem:
    return MODELS[model].build(DATASETS["random"].load(images=False, inliers=inliers, outliers=10, noise=8.0, seed=1))


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "model B, 20 vs 30": lambda: points("B", 20),
    "third order, 10 vs 20": lambda: points("third", 10),
    "quadratic assignment, 20": lambda: qap(*nugent(20, 1)).problem,
}


def readings() -> list[Reading]:
    rows = []
    for name, build in PROBLEMS.items():
        problem = build()
        works: dict[str, Callable[[], object]] = {
            str(count): partial(solve, problem, METHODS["adgm+"].make(threads=count), time_limit=LIMIT)
            for count in (1, 2)
        }
        seconds = alternate(works, ROUNDS)
        note = f"{seconds['2']:.2f} s on two, load {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores"
        rows.append(reading(f"ADGM+, {name}: one thread / two", seconds["1"] / seconds["2"], "×", "≥ 1.6", note))
    return rows
