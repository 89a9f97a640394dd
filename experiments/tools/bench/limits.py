"""How late runs end: seconds of computing beyond their limit, for every method on problems that are large for it."""

import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from time import process_time

import numpy as np

from adgm import EXACTLY_ONE, METHODS, Dense, Problem, solve, warmup
from experiments.tools.bench import photos
from experiments.tools.bench.solver import Reading, reading
from features.datasets import DATASETS
from features.models import MODELS
from features.pairs import Pair, View
from features.points.keypoints import Keypoints
from features.points.slants import SIDES, detect_both

LIMITS = (0.5, 2.0, 10.0)
TARGET = "at most 0.2 s"


def photographs() -> Problem:
    images = photos.pictures()
    found = detect_both(images, "sift", dict.fromkeys(SIDES, 2000))
    return MODELS["photo"].build(Pair(View(images[0], found[0]), View(images[1], found[1])))


def triples() -> Problem:
    """House where it is on this computer, else as many random points."""
    if DATASETS["house"].available():
        return MODELS["third"].build(DATASETS["house"].load(images=False, left=0, right=50, points=20))
    return MODELS["third"].build(DATASETS["random"].load(images=False, inliers=20, outliers=10, noise=5.0, seed=1))


def complete_graphs() -> Problem:
    """More points than the data set offers: 480, and as many moved a little."""
    rng = np.random.default_rng(1)
    points = 500.0 * rng.random((480, 2))
    moved = points + 3.0 * rng.standard_normal(points.shape)
    return MODELS["B"].build(Pair(View(None, Keypoints(points)), View(None, Keypoints(moved))))


def facilities() -> Problem:
    """A quadratic assignment problem by Taillard's first rule: 50 facilities, flows and distances drawn evenly."""
    rng = np.random.default_rng(1)
    flow, distance = (np.triu(rng.integers(0, 100, (50, 50)), 1).astype(float) for _ in range(2))
    costs = np.kron(flow + flow.T, distance + distance.T)
    return Problem((50, 50), [Dense(costs)], EXACTLY_ONE, EXACTLY_ONE)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "photographs, 2000 points": photographs,
    "third order, 20 vs 30": triples,
    "model B, 480 points": complete_graphs,
    "quadratic assignment, 50": facilities,
}


def late(problem: Problem, method: str, limit: float) -> float:
    """Seconds that this process computes beyond the limit; none where it ends in time, or needs more memory."""
    began = process_time()
    with suppress(ValueError):
        solve(problem, METHODS[method].make(), time_limit=limit)
    return max(0.0, process_time() - began - limit)


def whole_run() -> list[Reading]:
    """The default method on model B, 480 points, until it converges; in this process."""
    problem, began = complete_graphs(), process_time()
    result = solve(problem, METHODS["adgm"].make())
    seconds, peak = process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    right = float((result.matching == np.arange(480)).mean())
    note = f"{result.status}, {result.iterations} iterations, {right:.1%} right; {problem.n**2:.3g} pairs of variables"
    return [
        reading("model B, 480 points: a whole run, processor time", seconds, "s", "< 60", note),
        reading("model B, 480 points: peak memory", peak, "GB", "< 1"),
    ]


def readings(limits: tuple[float, ...] = LIMITS) -> list[Reading]:
    """The latest method for every problem and limit; what is compiled is compiled, and loaded, before."""
    warmup()
    rows = []
    for name, build in PROBLEMS.items():
        for limit in limits:
            found = {}
            for key, entry in METHODS.items():
                problem = build()  # its tables count, so none has been built
                if not entry.refusal(problem):
                    found[key] = late(problem, key, limit)
                    print(f"  {name}, {limit:g} s, {key}: {found[key]:.3f} s late", file=sys.stderr, flush=True)
            worst = max(found, key=lambda key: found[key])
            note = f"{worst}; {sum(value <= 0.2 for value in found.values())} of {len(found)} methods in time"
            rows.append(reading(f"limit of {limit:g} s, {name}: latest", found[worst], "s", TARGET, note))
    return rows
