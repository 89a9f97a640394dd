"""From arrays to the answer: third-order tensors given as index rows and costs, once or in all six orderings.

Beside it stand the seconds of the authors' C++ program, per iteration as recorded on a busy machine of two cores, times
the iterations that the same tensor takes here. On that machine our former code took 0.31, 0.10, 0.43 and 0.13 ms per
iteration: `warm` divided by the iterations tells how much faster this machine is.
"""

import os
from itertools import permutations
from time import perf_counter

import numpy as np

from adgm import ADGM, METHODS, Problem, Sparse, solve
from experiments.tools.bench.solver import Reading, best_of, reading
from features.datasets import DATASETS
from features.models import MODELS

# Data set, what is loaded of it, and milliseconds per iteration of the authors' C++ program of ADGM1.
TENSORS: dict[str, tuple[str, dict[str, int], float]] = {
    "House 20 vs 30": ("house", {"left": 0, "right": 50, "points": 20}, 7.0),
    "House 10 vs 30": ("house", {"left": 0, "right": 80, "points": 10}, 0.62),
    "Cars 2 + 8 outliers": ("cars", {"number": 2, "outliers": 8}, 14.1),
    "Cars 1 + 8 outliers": ("cars", {"number": 1, "outliers": 8}, 7.5),
}
# The same of the rivals' tensors, and seconds that their authors' programs took for a whole run, on the same machine.
RIVALS: dict[str, tuple[str, dict[str, int]]] = {
    "House 10 vs 30": ("house", {"left": 0, "right": 80, "points": 10}),
    "House 20 vs 30": ("house", {"left": 0, "right": 50, "points": 20}),
    "House 30 vs 30": ("house", {"left": 0, "right": 50, "points": 30}),
    "Cars 2 + 8 outliers": ("cars", {"number": 2, "outliers": 8}),
}
THEIR_SECONDS: dict[str, tuple[float, ...]] = {
    "rrwhm": (0.47, 0.064, 0.129, 0.147),
    "bcagm3": (0.003, 0.018, 0.066, 0.035),
    "bcagm": (0.014, 0.089, 0.238, 0.204),
    "tm": (0.077, 0.67, 1.79, 1.03),
}
TIMES = 9


def written_out(potential: Sparse) -> Sparse:
    """The same tensor with all orderings of its rows, as the authors' programs take it."""
    orderings = [potential.indices[:, list(p)] for p in permutations(range(potential.indices.shape[1]))]
    return Sparse(np.ascontiguousarray(np.concatenate(orderings)), np.tile(potential.costs, len(orderings)))


def from_arrays(given: Sparse, like: Problem) -> Problem:
    """A problem that knows nothing yet but its arrays."""
    return Problem(like.shape, [Sparse(given.indices, given.costs, given.symmetric)], like.rows, like.cols)


def tensor_readings(name: str, built: Problem, theirs: float) -> list[Reading]:
    """One tensor, given both ways: the first time, the best time, and the best with its tables there."""
    (once,) = built.potentials
    assert isinstance(once, Sparse)
    rows = []
    for way, given in (("once", once), ("all copies", written_out(once))):
        began = perf_counter()
        result = solve(from_arrays(given, built), ADGM())
        first = perf_counter() - began
        best = best_of(TIMES, lambda: solve(from_arrays(given, built), ADGM()))  # noqa: B023
        problem = result.problem
        warm = best_of(TIMES, lambda: solve(problem, ADGM()))  # noqa: B023
        label, cpp = f"{name}, {way}", 1e-3 * theirs * result.iterations
        note = f"{result.iterations} iterations; first {1e3 * first:.3g} ms, load {os.getloadavg()[0]:.1f}"
        rows += [
            reading(f"{label}: C++ as recorded / ours, from arrays", cpp / best, "×", "≥ 10", note),
            reading(f"{label}: from arrays", 1e3 * best, "ms", "", f"{len(given.costs):,} rows"),
            reading(f"{label}: warm, tables built", 1e3 * warm, "ms"),
        ]
    return rows


def rival_readings(key: str, name: str, built: Problem, theirs: float) -> list[Reading]:
    """One rival on one tensor, each hyperedge given once: from arrays, and with its tables there."""
    (once,) = built.potentials
    assert isinstance(once, Sparse)
    problem = from_arrays(once, built)
    iterations = solve(problem, key).iterations
    cold = best_of(3, lambda: solve(from_arrays(once, built), key))
    warm = best_of(3, lambda: solve(problem, key))
    note = f"{1e3 * cold:.3g} ms; {theirs / warm:.3g} × warm; {iterations} iterations, load {os.getloadavg()[0]:.1f}"
    label = f"{METHODS[key].label}, {name}: its authors' program as recorded / ours, from arrays"
    return [reading(label, theirs / cold, "×", "≥ 1", note)]


def load(dataset: str, choice: dict[str, int]) -> Problem | None:
    """A tensor of third order; None where the data set is not there."""
    if not DATASETS[dataset].available():
        return None
    return MODELS["third"].build(DATASETS[dataset].load(images=False, **choice))


def readings() -> list[Reading]:
    """Every tensor whose data are there."""
    solve(Problem((2, 3), [written_out(Sparse([[0, 4, 5]], [-1.0]))]), ADGM(max_iter=2))  # kernels loaded
    rows = []
    for name, (dataset, choice, theirs) in TENSORS.items():
        if (built := load(dataset, choice)) is not None:
            rows += tensor_readings(name, built, theirs)
    for number, (name, (dataset, choice)) in enumerate(RIVALS.items()):
        if (built := load(dataset, choice)) is not None:
            for key, seconds in THEIR_SECONDS.items():
                rows += rival_readings(key, name, built, seconds[number])
    return rows
