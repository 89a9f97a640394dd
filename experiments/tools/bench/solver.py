"""Speed, measured: ratios of two ways to do the same work in one run, because machines are noisy.

Every benchmark is a function that returns readings; `BENCHES` names them. What needs a fresh process (memory, start-up)
runs in one.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from adgm import ADGM, EXACTLY_ONE, METHODS, Formula, Problem, Sparse, reference, solve
from adgm._kernels.cache import VARIABLE
from adgm.costs.tables import PairwiseColumns
from adgm.reference import Contract
from adgm.solver import ADGMState
from features.datasets import DATASETS
from features.models import MODELS
from features.plots import figures
from features.points.descriptors import shape_context_cost
from features.points.graphs import GRAPHS
from features.tables import Table

Reading = dict[str, Any]
Floats = NDArray[np.float64]


def best_of(times: int, work: Callable[[], object], clock: Callable[[], float] = perf_counter) -> float:
    """Seconds of the fastest of several runs."""
    seconds = []
    for _ in range(times):
        began = clock()
        work()
        seconds.append(clock() - began)
    return min(seconds)


def per_iteration(problem: Problem, method: ADGM, skip: int, count: int) -> tuple[float, int]:
    """(seconds per iteration after the first `skip`, how many were run)."""
    state = method.step(problem, method.init(problem), skip)
    ran = method.step(problem, state, count).iteration - state.iteration
    return best_of(5, lambda: method.step(problem, state, count)) / max(1, ran), ran


def reading(name: str, value: float, unit: str, target: str = "", note: str = "") -> Reading:
    return {"benchmark": name, "value": value, "unit": unit, "target": target, "note": note}


# ---- the solver against plain NumPy -------------------------------------------------------------------------


def reference_blocks(problem: Problem, method: ADGM, contract: Contract, iterations: int) -> Floats:
    """The blocks of `adgm.reference` after so many iterations."""
    state: ADGMState = method.init(problem)
    for _ in range(iterations):
        state = reference.step(problem, method, state, contract)
    return state.blocks


def pairwise() -> list[Reading]:
    """20 vs 30 points, fully connected, model B: a whole solve against the same iterations with dense matrices."""
    pair = DATASETS["random"].load(inliers=20, outliers=10, noise=3.0, seed=1, images=False)
    problem = MODELS["B"].build(pair)
    result = solve(problem)
    matrix = np.stack([problem.contract([np.zeros(problem.n), e], 0) for e in np.eye(problem.n)], axis=1)
    same, method = 40, ADGM(growth=1.0, tol=0.0)

    def contract(_: Problem, x: Floats, d: int) -> Floats:
        product: Floats = matrix @ x[1 - d]
        return product

    ours = method.step(problem, method.init(problem), same).blocks
    theirs = reference_blocks(problem, method, contract, same)
    difference = max(float(np.abs(a - b).max()) for a, b in zip(ours, theirs, strict=True))
    fast = best_of(15, lambda: solve(problem))
    slow = best_of(3, lambda: reference_blocks(problem, method, contract, result.iterations))
    fresh = best_of(5, lambda: solve(MODELS["B"].build(pair)))
    return [
        reading("pairwise 20 vs 30: NumPy / ours", slow / fast, "×", "≥ 10, aim 20", f"{result.iterations} iterations"),
        reading("pairwise 20 vs 30: difference of iterates", difference, "", "≈ 0", f"after {same} iterations"),
        reading("pairwise 20 vs 30: per iteration", 1e6 * fast / result.iterations, "µs"),
        reading("pairwise 20 vs 30: build and solve", 1e3 * fresh, "ms"),
    ]


def third_order() -> list[Reading]:
    """A tensor of about 1.7 million entries: an iteration against a NumPy pass over all entries."""
    pair = DATASETS["random"].load(inliers=20, outliers=10, noise=10.0, seed=1, images=False)
    began = perf_counter()
    problem = MODELS["third"].build(pair)
    built = perf_counter() - began
    same = 10
    method = ADGM(growth=1.0, tol=0.0, max_iter=100_000)
    state = method.step(problem, method.init(problem), same)
    theirs = reference_blocks(problem, method, reference.contract, same)
    difference = max(float(np.abs(a - b).max()) for a, b in zip(state.blocks, theirs, strict=True))
    slow = best_of(2, lambda: reference_blocks(problem, method, reference.contract, 3)) / 3
    fast, ran = per_iteration(problem, method, 1, 100)
    default = METHODS["adgm"].make()
    whole = best_of(5, lambda: solve(problem, default))
    begun = best_of(5, lambda: default.init(problem))
    return [
        reading(
            "third order 20 vs 30: NumPy / ours, per iteration",
            slow / fast,
            "×",
            "≥ 30",
            f"{sum(len(e.costs) for e in problem.tensors):,} entries",
        ),
        reading("third order 20 vs 30: difference of iterates", difference, "", "≈ 0", f"after {same} iterations"),
        reading("third order 20 vs 30: per iteration", 1e6 * fast, "µs", "", f"iterations 2 to {ran + 1}"),
        reading("third order 20 vs 30: build the tensor", built, "s", "< 1.5"),
        reading(
            "third order 20 vs 30: start with ρ0 = auto, of a warm run",
            100 * begun / whole,
            "%",
            "< 10",
            f"{whole:.4f} s",
        ),
    ]


def models() -> list[Reading]:
    """Building problems: pixels to potentials, the solver's tables included where the note says so."""
    sets = {"random": {"inliers": 20, "outliers": 10, "noise": 3.0, "seed": 1}}
    if DATASETS["house"].available():
        sets["house"] = {"left": 0, "right": 50, "points": 20}
    rows = []
    for name, params in sets.items():
        pair = DATASETS[name].load(images=False, **params)
        for key, target in (("A", ""), ("B", "< 20 ms"), ("C", ""), ("third", "< 1500 ms")):
            seconds = best_of(3, lambda: MODELS[key].build(pair))  # noqa: B023
            tables = best_of(3, lambda: MODELS[key].build(pair).runtime) - seconds  # noqa: B023
            note = f"and {1e3 * tables:.3g} ms for the solver's tables"
            rows.append(reading(f"build model {key}, {name} 20 vs 30", 1e3 * seconds, "ms", target, note))
        picture = best_of(3, lambda: figures.save(figures.matches(pair, graph="delaunay")))  # noqa: B023
        rows.append(reading(f"draw {name} 20 vs 30 as PNG", 1e3 * picture, "ms", "< 500 ms"))
        points = best_of(20, lambda: DATASETS[name].load(images=False, **params))  # noqa: B023
        rows.append(reading(f"load {name}, points alone", 1e3 * points, "ms", "< 5 ms"))
    for n, target in ((30, "< 2 ms"), (100, "< 15 ms")):
        many = DATASETS["random"].load(images=False, inliers=n, outliers=0)
        seconds = best_of(20, lambda: shape_context_cost(many.left, many.right))  # noqa: B023
        rows.append(reading(f"shape context, {n} points", 1e3 * seconds, "ms", target))
    if DATASETS["cars"].available():
        pair = DATASETS["cars"].load(images=False, number=1, outliers=8)
        n1, n2 = pair.shape
        seconds = best_of(2, lambda: MODELS["third"].build(pair))
        rows.append(reading("build third order, cars 1 + 8 outliers", seconds, "s", "< 4", f"{n1} vs {n2} points"))
    return rows


# ---- scale --------------------------------------------------------------------------------------------------


def large_formula(n: int) -> list[Reading]:
    """n vs n points, fully connected by formula, in this process."""
    problem = MODELS["B"].build(DATASETS["random"].load(inliers=n, outliers=0, noise=1.0, seed=0, images=False))
    result = solve(problem, ADGM(rho0=problem.n / 100), every=1)
    late = np.diff(result.history["seconds"][20:])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    name = f"{n} vs {n} by formula"
    note = f"{result.status}, {result.iterations} iterations; the matrix would take {problem.n**2 * 8 / 1e9:.1f} GB"
    return [
        reading(f"{name}: peak memory", peak, "GB", "< 2", note),
        reading(f"{name}: time", result.seconds, "s"),
        reading(
            f"iteration at {n} vs {n}", 1e6 * float(np.median(late)), "µs", "", f"n = {problem.n:,} variables, after 20"
        ),
    ]


def on_edges(n: int) -> list[Reading]:
    """Model A, n vs n points: only Delaunay edges count, and only they are stored and walked; in this process."""
    pair = DATASETS["random"].load(inliers=n, outliers=0, noise=2.0, seed=1, images=False)
    began = process_time()
    problem = MODELS["A"].build(pair)
    method = ADGM(growth=1.0, tol=0.0)
    start = method.init(problem)
    built = process_time() - began
    formula = next(p for p in problem.potentials if isinstance(p, Formula))
    every = replace(formula, left_edges=None, right_edges=None, largest=problem.scale)
    columns = PairwiseColumns(problem.layout, [every], None, False, 1)
    some = np.arange(0, problem.n, max(1, problem.n // 100))
    began = process_time()
    for j in some:
        columns.compute(some[:1] * 0 + j)
    all_pairs = 2 * (process_time() - began) * problem.n / len(some)  # two blocks, all columns
    began = process_time()
    state = method.step(problem, start, 2)
    first = (process_time() - began) / 2
    later, _ = per_iteration(problem, method, state.iteration, 50)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    name = f"model A, {n} vs {n}, Delaunay"
    return [
        reading(
            f"{name}: all pairs computed / first iterations",
            all_pairs / first,
            "×",
            "≥ 100",
            "if no column is kept; processor time",
        ),
        reading(f"{name}: per iteration, after 2", 1e3 * later, "ms", "", f"the first two: {1e3 * first:.3g} ms"),
        reading(f"{name}: build, tables and start", built, "s", "", "processor time"),
        reading(f"{name}: peak memory", peak, "GB", "< 1"),
    ]


def delaunay_candidates(n: int = 1000, candidates: int = 20) -> list[Reading]:
    """n vs n points, Delaunay edges, a few candidates per point by position."""
    rng = np.random.default_rng(0)
    left = rng.uniform(0, 1000, (n, 2))
    shuffle = rng.permutation(n)
    right = (left + rng.normal(0, 2, left.shape))[shuffle]
    truth = np.argsort(shuffle)
    near = cKDTree(right).query(left, candidates)[1]
    mask = np.zeros((n, n), bool)
    mask[np.arange(n)[:, None], near] = True
    edges = GRAPHS["delaunay"].build(left).edges
    partner = GRAPHS["delaunay"].build(right).adjacency()
    a, b = (near[edges[:, side]] for side in (0, 1))  # candidates of both ends of every edge
    both = partner[a[:, :, None], b[:, None, :]]
    e, p, q = np.nonzero(both)
    i, j = edges[e, 0], edges[e, 1]
    i2, j2 = a[e, p], b[e, q]
    change = np.linalg.norm((left[i] - left[j]) - (right[i2] - right[j2]), axis=1)
    index = np.stack([i * n + i2, j * n + j2], axis=1)
    similarity = Sparse(index, -np.exp(-((change / 10) ** 2)), symmetric=True)
    problem = Problem((n, n), [similarity], EXACTLY_ONE, candidates=mask)
    began = perf_counter()
    result = solve(problem, ADGM(rho0=1.0), time_limit=120)
    note = f"{result.status}, {result.iterations} iterations, {(result.matching == truth).mean():.1%} right"
    return [reading(f"{n} vs {n}, Delaunay, {candidates} candidates", perf_counter() - began, "s", "< 60", note)]


def growth() -> list[Reading]:
    """Cost of an iteration as the number of points grows, once the iterates are sparse."""
    rows = []
    for n in (25, 50, 100):
        problem = MODELS["B"].build(DATASETS["random"].load(inliers=n, outliers=0, noise=5.0, seed=0, images=False))
        method = ADGM(rho0=problem.n / 100, growth=1.0, tol=0.0)
        seconds, ran = per_iteration(problem, method, 10, 40)
        note = f"n = {problem.n:,} variables, iterations 11 to {10 + ran}"
        rows.append(reading(f"iteration at {n} vs {n}", 1e6 * seconds, "µs", "", note))
    return rows


# ---- start-up -----------------------------------------------------------------------------------------------

START = """
import time, json
began = time.perf_counter()
import adgm
imported = time.perf_counter() - began
import numpy as np
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, e): compiled.append(str(e.data["dispatcher"]))
    def on_end(self, e): ...
event.register("numba:compile", Listener())
p = adgm.Problem((4, 5), [adgm.Dense(np.eye(20)), adgm.Sparse([[0, 6, 12]], [-1.0], True)])
began = time.perf_counter()
adgm.solve(p)
print(json.dumps([imported, time.perf_counter() - began, len(compiled)]))
"""


def start_up() -> list[Reading]:
    """Import and first solve in a fresh process, the compiled kernels already on disk."""
    runs = []
    for _ in range(3):
        out = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True).stdout
        runs.append(json.loads(out))
    imported, first, compiled = np.min(runs[1:], axis=0)
    return [
        reading("import adgm", imported, "s", "< 0.5"),
        reading("first solve of a process, kernels on disk", first, "s"),
        reading("functions compiled by a second process", compiled, "", "0"),
    ]


NEVER_COMPILED = """
from adgm import solve
from features.recipe import Recipe
recipe = Recipe({!r}, {!r}, {!r})
solve(recipe.problem(recipe.pair()), "adgm")
"""


def never_compiled() -> list[Reading]:
    """From the start of a process to the end of its first solve, where no kernel has ever been compiled."""
    points = {"inliers": 20, "outliers": 10, "noise": 5.0}
    firsts = {f"model {key}, 20 vs 30": ("random", points, key) for key in ("A", "B", "C", "third")}
    rows = []
    for name, words in (firsts | {"photographs": ("portrait", {}, "photo")}).items():
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
        with TemporaryDirectory() as folder:
            command = [sys.executable, "-c", NEVER_COMPILED.format(*words)]
            subprocess.run(command, capture_output=True, check=True, env={**os.environ, VARIABLE: folder})
        wall, after = perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        note = f"processor time; {wall:.1f} s on the wall, load {os.getloadavg()[0]:.0f}"
        rows.append(reading(f"never compiled: to the first solve's end, {name}", seconds, "s", "≤ 8", note))
    return rows


def in_process(name: str, *args: object, module: str = "solver") -> list[Reading]:
    """Another benchmark's rows, from a process of its own, so that its peak memory is its own."""
    code = (
        "import json; from adgm._kernels.interpreted import INTERPRETER; INTERPRETER.never(); "
        f"from experiments.tools.bench import {module}; print(json.dumps({module}.{name}{args!r}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    rows: list[Reading] = json.loads(out.splitlines()[-1])
    return rows


def table(rows: list[Reading]) -> str:
    """The rows as a Markdown table."""
    lines = ((r["benchmark"], f"{r['value']:.3g} {r['unit']}".strip(), r["target"], r["note"]) for r in rows)
    return Table(("benchmark", "value", "target", "note"), tuple(lines), align="lrll").markdown()
