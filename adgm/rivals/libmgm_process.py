"""What `libmgm` runs in a process of its own: a problem comes in as NPZ, matchings go out as lines of JSON.

It is started by its path and imports nothing of ours, so that it begins at once.
"""

import io
import json
import sys

import numpy as np


def main() -> None:
    import pylibmgm

    with np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False) as asked:
        (left, right), (batches, generations, seed) = asked["shape"].tolist(), asked["settings"].tolist()
        nodes, single = asked["nodes"].tolist(), asked["single"].tolist()
        pairs = zip(asked["p"].tolist(), asked["q"].tolist(), asked["costs"].tolist(), strict=True)
        count = len(asked["costs"])
    model = pylibmgm.GmModel(pylibmgm.Graph(0, left), pylibmgm.Graph(1, right), len(nodes), count)
    for (i, s), cost in zip(nodes, single, strict=True):
        model.add_assignment(i, s, cost)
    for p, q, cost in pairs:
        model.add_edge(p, q, cost)
    pylibmgm.QAPSolver.libmpopt_seed = seed
    for most in sorted({1, batches}):
        solver = pylibmgm.QAPSolver(model) if count else pylibmgm.LAPSolver(model)
        if count:
            solver.stopping_criteria.max_batches = most
            solver.run_settings.greedy_generations = generations
        print(json.dumps(solver.run().labeling()), flush=True)


if __name__ == "__main__":
    main()
