"""What explanations cost beside solving once: the margins of all matches, in single solves of the same problem."""

from time import process_time

import numpy as np

from adgm import solve
from adgm.explain.margins import margins
from experiments.tools.bench.solver import Reading, best_of, reading
from features.datasets import DATASETS
from features.models import MODELS

PAIRS = ({"left": 0, "right": 50, "points": 30}, {"left": 0, "right": 90, "points": 30})
PROOF = 1e7  # pair costs visited


def all_margins() -> list[Reading]:
    """House 30 v 30 (random points where House is missing), model B; both sides have their tables built.

    Processor time, since one side is much shorter than the other.
    """
    house = DATASETS["house"].available()
    rows = []
    for number, params in enumerate(PAIRS):
        given = params if house else {"inliers": 30, "outliers": 0, "noise": 5.0, "seed": number}
        pair = DATASETS["house" if house else "random"].load(images=False, **given)
        problem = MODELS["B"].build(pair)
        answer = solve(problem, "adgm").assignment
        margins(problem, answer, effort=0)  # compiles, and builds the tables
        once = best_of(9, lambda: solve(problem, "adgm"), process_time)  # noqa: B023
        search = best_of(5, lambda: margins(problem, answer, effort=0), process_time)  # noqa: B023
        careful = best_of(2, lambda: solve(problem, "adgm+"), process_time)  # noqa: B023
        proved = margins(problem, answer, effort=PROOF)
        proving = best_of(1, lambda: margins(problem, answer, effort=PROOF), process_time)  # noqa: B023
        certified = sum(m.certified for m in proved)
        better = int(np.sum([m.margin < -m.slack for m in proved]))
        name = f"{pair.name}: margins of {len(proved)} matches"
        note = f"{better} of the matches are not in the best matching" if better else ""
        rows += [
            reading(f"{name} / a solve (adgm)", search / once, "×", "< 30", note),
            reading(
                f"{name}, proved / a solve (adgm+)",
                proving / careful,
                "×",
                "< 30",
                f"{certified} certified, {sum(m.sure for m in proved)} sure",
            ),
        ]
    return rows
