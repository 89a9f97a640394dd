"""Every method cold, the first solve of a process with the kernels on disk, and warm, the next ones, from arrays."""

import os
from time import perf_counter

import numpy as np

from adgm import METHODS, Problem
from adgm.methods import solve
from experiments.tools.bench.solver import Reading, best_of, in_process, reading
from features.files.problem_files import qap
from features.recipe import Recipe

LIMIT = 20.0  # seconds, for any of them


def problem_for(key: str) -> Problem:
    """A problem that the method takes: twelve random points, pairwise or of third order, or flows and distances."""
    if METHODS[key].products:
        return qap(*np.random.default_rng(0).random((2, 12, 12))).problem
    model = "A" if METHODS[key].needs_unary else "B" if 2 in METHODS[key].orders else "third"
    return Recipe("random", {"inliers": 12, "outliers": 0}, model).problem()


def first_and_next(key: str) -> list[Reading]:
    """One method's two readings; to be asked of a process that has solved nothing yet."""
    problems = [problem_for(key) for _ in range(4)]  # tables are built anew each time
    method = METHODS[key].make()
    began = perf_counter()
    solve(problems.pop(), method, time_limit=LIMIT)
    first = perf_counter() - began
    then = best_of(3, lambda: solve(problems.pop(), method, time_limit=LIMIT))
    note = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    label = METHODS[key].label
    return [reading(f"{label}: cold", 1e3 * first, "ms", "", note), reading(f"{label}: warm", 1e3 * then, "ms")]


def readings() -> list[Reading]:
    """All methods, each in a process of its own."""
    for key in METHODS:  # so that every kernel is on disk
        in_process("first_and_next", key, module="cold")
    return [row for key in METHODS for row in in_process("first_and_next", key, module="cold")]
