"""Large sparse problems, generated: 500 × 500 nodes, beside pylibmgm where it is installed, and their bounds."""

import os
import resource

from adgm import METHODS, Problem, solve
from adgm.bounds.bound import bound
from experiments.tools.bench.solver import Reading, in_process, reading
from features.datasets import DATASETS

LIMIT = 10.0  # seconds
SIZES = {"nodes": 450, "left_outliers": 50, "outliers": 50}
ASKED = ("adgm+", "fusion", "libmgm")


def generated(candidates: int, seed: int, **sizes: int) -> Problem:
    pair = DATASETS["cells"].load(images=False, candidates=candidates, seed=seed, **(sizes or SIZES))
    assert pair.given is not None
    return pair.given


def compared(candidates: int, seed: int) -> list[Reading]:
    """One problem: what each method reaches in time, and what a search for a bound says of the best."""
    problem = generated(candidates, seed)
    name = f"{problem.shape[0]} × {problem.shape[1]} × {candidates}, seed {seed}"
    found = {key: solve(problem, key, time_limit=LIMIT) for key in ASKED if key in METHODS}
    judged = bound(problem, min(found.values(), key=lambda one: one.energy).assignment, time_limit=LIMIT)
    rows = []
    for key, one in found.items():
        above = 100 * (one.energy - judged.best_energy) / abs(judged.best_energy)
        note = f"energy {one.energy:.3f}, {one.seconds:.1f} s, the best after {one.seconds_to_best:.1f} s"
        rows.append(reading(f"{name}: {METHODS[key].label}", above, "% above the best", "", note))
    note = f"lower bound {judged.lower:.3f}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    rows.append(reading(f"{name}: gap of the best", 100 * judged.gap, "%", "", note))
    return [*rows, reading(f"{name}: peak memory", peak, "GB", "< 2")]


def readings() -> list[Reading]:
    return [row for candidates in (20, 50) for row in in_process("compared", candidates, 0, module="sparse")]
