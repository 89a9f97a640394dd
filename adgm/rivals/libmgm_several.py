"""What the joint "mgm" runs in a process of its own: pairs' costs come in as NPZ, tracks go out as a line of JSON.

It is started by its path and imports nothing of ours, so that it begins at once.
"""

import io
import json
import sys

import numpy as np


def main() -> None:
    import pylibmgm
    from pylibmgm import solver

    with np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False) as asked:
        graphs = [pylibmgm.Graph(k, size) for k, size in enumerate(asked["sizes"].tolist())]
        model = pylibmgm.MgmModel()
        for k, (i, j) in enumerate(asked["couples"].tolist()):
            nodes, single, sets, costs = (asked[f"{name}{k}"] for name in ("nodes", "single", "sets", "costs"))
            pair = pylibmgm.GmModel(graphs[i], graphs[j], len(nodes), len(costs))
            for (p, q), cost in zip(nodes.tolist(), single.tolist(), strict=True):
                pair.add_assignment(p, q, cost)
            for (a, b), cost in zip(sets.tolist(), costs.tolist(), strict=True):
                pair.add_edge(a, b, cost)
            model.add_model(pair)
    found = solver.solve_mgm(model)
    print(json.dumps([[[view, point] for view, point in track.items()] for track in found.cliques()]), flush=True)


if __name__ == "__main__":
    main()
