"""The rivals beside pygmtools' numpy backend, in the same run: House, 20 points against 30, model B, 600 variables.

Both get the affinities ready-made and give a matching; the runs alternate, so that a busy machine slows both.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adgm import Problem, solve
from adgm.costs.affinity import Affinity, affinity
from adgm.rivals import IPFP, MPM, RRWM, SM
from adgm.run import Method
from experiments.tools.bench.solver import Reading, reading
from features.datasets import DATASETS
from features.models import MODELS

Floats = NDArray[np.float64]
ROUNDS = 60


def house_problem() -> Problem:
    """House frames 0 and 50, the first 20 points of the left one, model B."""
    pair = DATASETS["house"].load(images=False, left=0, right=50, points=20)
    return MODELS["B"].build(pair)


def alternate(works: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Seconds of the fastest run of each work, run in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()  # compiled, cached, warm
    for _ in range(rounds):
        for name, work in works.items():
            began = perf_counter()
            work()
            seconds[name].append(perf_counter() - began)
    return {name: min(values) for name, values in seconds.items()}


def peer_matrix(problem: Problem, s: Affinity) -> Floats:
    """The affinities in pygmtools' order of the variables, columns first."""
    n1, n2 = problem.shape
    matrix = np.asarray(s.pairs).reshape(n1, n2, n1, n2)
    return np.ascontiguousarray(matrix.transpose(1, 0, 3, 2).reshape(n1 * n2, n1 * n2))


def pooled_by_numpy(problem: Problem, matrix: Floats, iterations: int) -> Floats:
    """Max-pooling matching in plain NumPy: pygmtools has none to compare with."""
    v = np.full(problem.n, 1.0 / problem.n)
    for _ in range(iterations):
        v = ((matrix * v).reshape(problem.n, *problem.shape).max(axis=2) ** 2).sum(axis=1)
        v /= np.linalg.norm(v)
    return v


def readings() -> list[Reading]:
    """How many times faster ours are than the peer's, which is to be at least 1; nothing without data or peer."""
    if not DATASETS["house"].available() or find_spec("pygmtools") is None:
        return []
    pygmtools = import_module("pygmtools")
    pygmtools.set_backend("numpy")
    problem = house_problem()
    s = affinity(problem)
    n1, n2 = problem.shape
    matrix = peer_matrix(problem, s)
    ours = np.ascontiguousarray(np.asarray(s.pairs))
    pools = solve(problem, MPM()).iterations

    def spectral_ipfp() -> object:
        return pygmtools.ipfp(matrix, n1, n2, x0=pygmtools.sm(matrix, n1, n2)[None])

    contests: dict[str, tuple[Method[Any], str, Callable[[], object]]] = {
        "SM": (SM(), "pygmtools", lambda: pygmtools.hungarian(pygmtools.sm(matrix, n1, n2))),
        "IPFP from uniform": (IPFP(start="uniform"), "pygmtools", lambda: pygmtools.ipfp(matrix, n1, n2)),
        "IPFP from SM": (IPFP(), "pygmtools", spectral_ipfp),
        "RRWM": (RRWM(), "pygmtools", lambda: pygmtools.hungarian(pygmtools.rrwm(matrix, n1, n2))),
        "MPM": (MPM(), "plain NumPy", lambda: pooled_by_numpy(problem, ours, pools)),
    }
    found = []
    for name, (method, peer, work) in contests.items():
        with np.errstate(all="ignore"):  # the peer divides by zero where a step is flat
            times = alternate({"ours": partial(solve, problem, method), "peer": work})
        note = f"{1e3 * times['ours']:.3g} ms ours"
        found.append(reading(f"{name}: {peer} / ours", times["peer"] / times["ours"], "×", "≥ 1", note))
    return found
