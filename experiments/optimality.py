"""How often is a matching the global optimum? ADGM against proofs by DD, as in the paper's Table 1 (model A)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from time import process_time
from typing import Any

import numpy as np

from adgm import ADGM, Problem, solve
from adgm.bound import bound
from features.datasets import DATASETS
from features.models import MODELS
from features.pairs import Pair

SEQUENCES = ("house", "hotel")


@dataclass(frozen=True)
class Row:
    """One pair of frames: what ADGM found, what is proved, and what both took in seconds of processor time."""

    dataset: str
    left: int
    right: int
    energy: float  # of ADGM's matching
    optimum: float  # the lowest energy known
    lower: float  # no matching has less
    proved: bool  # that `optimum` is the optimum
    reached: bool  # whether ADGM's matching has the lowest energy known
    accuracy: float  # of ADGM's matching
    best_accuracy: float  # of the best matching known
    sweeps: int
    nodes: int
    solve_seconds: float
    bound_seconds: float


def sample_frames(dataset: str, sample: int, seed: int) -> list[tuple[int, int]]:
    """Different pairs of frames, drawn from all of a sequence, in order."""
    frames = DATASETS[dataset].count
    assert frames is not None
    every = list(combinations(range(frames), 2))
    if not 1 <= sample <= len(every):
        raise ValueError(f"the sample is {sample} pairs; {dataset} has 1 to {len(every)}")
    drawn = np.random.default_rng(seed).choice(len(every), sample, replace=False)
    return [every[k] for k in sorted(drawn)]


def run(
    sample: int = 100,
    seed: int = 0,
    *,
    datasets: Sequence[str] = SEQUENCES,
    model: str = "A",
    time_limit: float = 20.0,
    watch: Callable[[Row], object] | None = None,
    **parameters: Any,
) -> list[Row]:
    """Rows for `sample` pairs of each sequence; `watch(row)` sees each as it comes and ends the run with True.

    The bound starts from ADGM's matching and has `time_limit` seconds per pair; `parameters` are the model's.
    """
    rows: list[Row] = []
    warm_up()
    for dataset in datasets:
        for left, right in sample_frames(dataset, sample, seed):
            pair = DATASETS[dataset].load(images=False, left=left, right=right, seed=seed)
            problem = MODELS[model].build(pair, **parameters)
            rows.append(prove(problem, pair, (dataset, left, right), time_limit))
            if watch is not None and watch(rows[-1]) is True:
                return rows
    return rows


def prove(problem: Problem, pair: Pair, name: tuple[str, int, int], time_limit: float) -> Row:
    began = process_time()
    result = solve(problem, ADGM())
    solved = process_time()
    found = bound(problem, result.assignment, effort=np.inf, time_limit=time_limit)
    ended = process_time()
    best = np.full(problem.shape[0], -1)
    best[problem.layout.row[found.best]] = problem.layout.col[found.best]
    return Row(
        *name,
        energy=result.energy,
        optimum=found.best_energy,
        lower=found.lower,
        proved=found.solved,
        reached=bool(result.energy - found.best_energy <= 1e-9 * abs(found.best_energy)),
        accuracy=pair.accuracy(result.matching),
        best_accuracy=pair.accuracy(best),
        sweeps=found.sweeps,
        nodes=found.nodes,
        solve_seconds=solved - began,
        bound_seconds=ended - solved,
    )


def warm_up() -> None:
    """Load the compiled code, so that the first pair is timed like the others."""
    from adgm import EXACTLY_ONE, Dense

    costs = np.random.default_rng(0).random((16, 16))
    problem = Problem((4, 4), [Dense(costs)], EXACTLY_ONE, EXACTLY_ONE)
    bound(problem, solve(problem).assignment)


def summary(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Per sequence: shares proved and reached in percent, wrong matches in percent, and seconds."""
    table = {}
    for dataset in dict.fromkeys(row.dataset for row in rows):
        mine = [row for row in rows if row.dataset == dataset]
        table[dataset] = {
            "pairs": len(mine),
            "proved %": 100 * float(np.mean([row.proved for row in mine])),
            "global optimum reached %": 100 * float(np.mean([row.proved and row.reached for row in mine])),
            "mismatches %": 100 * (1 - float(np.mean([row.accuracy for row in mine]))),
            "mismatches of the best known %": 100 * (1 - float(np.mean([row.best_accuracy for row in mine]))),
            "median bound seconds": float(np.median([row.bound_seconds for row in mine])),
            "longest bound seconds": max(row.bound_seconds for row in mine),
            "mean solve seconds": float(np.mean([row.solve_seconds for row in mine])),
        }
    return table
