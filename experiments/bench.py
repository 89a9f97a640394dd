"""Speed, measured: ratios of two ways to do the same work in one run, because machines are noisy.

Every benchmark is a function that returns rows; `BENCHES` names them. What needs a fresh process (memory, start-up)
runs in one.
"""

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from adgm import ADGM, EXACTLY_ONE, Problem, Sparse, iterate, solve
from experiments import bench_baselines
from features import figures
from features.datasets import DATASETS
from features.descriptors import shape_context_cost
from features.graphs import GRAPHS
from features.models import MODELS

Row = dict[str, Any]
Floats = NDArray[np.float64]


def best_of(times: int, work: Callable[[], object]) -> float:
    """Seconds of the fastest of several runs."""
    seconds = []
    for _ in range(times):
        began = perf_counter()
        work()
        seconds.append(perf_counter() - began)
    return min(seconds)


def per_iteration(problem: Problem, method: ADGM, skip: int, count: int) -> tuple[float, int]:
    """(seconds per iteration after the first `skip`, how many were run)."""
    state = method.step(problem, method.init(problem), skip)
    ran = method.step(problem, state, count).iteration - state.iteration
    return best_of(5, lambda: method.step(problem, state, count)) / max(1, ran), ran


def row(name: str, value: float, unit: str, target: str = "", note: str = "") -> Row:
    return {"benchmark": name, "value": value, "unit": unit, "target": target, "note": note}


# ---- the solver against plain NumPy -------------------------------------------------------------------------


def project_rows(points: Floats, exactly: bool) -> Floats:
    """Rows projected onto the simplex (or below it), by sorting, all at once."""
    n = points.shape[1]
    ordered = -np.sort(-points, axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, n + 1)
    last = n - 1 - np.argmax((ordered > excess)[:, ::-1], axis=1)
    onto: Floats = np.maximum(points - excess[np.arange(len(points)), last][:, None], 0)
    if exactly:
        return onto
    clipped = np.maximum(points, 0)
    return np.where(clipped.sum(axis=1, keepdims=True) <= 1, clipped, onto)


def numpy_adgm(problem: Problem, contract: Callable[[list[Floats], int], Floats], iterations: int) -> list[Floats]:
    """ADGM1's iterations at a fixed ρ, rows exactly one, written with whole NumPy arrays."""
    n1, n2 = problem.shape
    rho = problem.n / 1000
    n_blocks = max(2, problem.order)
    x = [np.full(problem.n, 1 / n2) for _ in range(n_blocks)]
    y = np.zeros((n_blocks, problem.n))
    for _ in range(iterations):
        for d in range(n_blocks):
            p = contract(x, d) / problem.scale
            if d == 0:
                point = (sum(x[1:]) - (y[1:].sum(axis=0) + p) / rho) / (n_blocks - 1)
                x[0] = project_rows(point.reshape(n1, n2).T, False).T.reshape(-1)
            else:
                x[d] = project_rows((x[0] + (y[d] - p) / rho).reshape(n1, n2), True).reshape(-1)
        for d in range(1, n_blocks):
            y[d] += rho * (x[0] - x[d])
        sum(float(((x[0] - b) ** 2).sum()) for b in x[1:])  # the residual's gap, which a real run needs too
    return x


def pairwise() -> list[Row]:
    """20 vs 30 points, fully connected, model B: a whole solve against the same iterations with dense matrices."""
    pair = DATASETS["random"].load(inliers=20, outliers=10, noise=3.0, seed=1, images=False)
    problem = MODELS["B"].build(pair)
    result = solve(problem)
    matrix = np.stack([problem.contract([np.zeros(problem.n), e], 0) for e in np.eye(problem.n)], axis=1)
    same = 40
    ours = next(s for s in iterate(ADGM(growth=1.0, tol=0.0), problem) if s.iteration == same).blocks
    theirs = numpy_adgm(problem, lambda x, d: matrix @ x[1 - d], same)
    difference = max(float(np.abs(a - b).max()) for a, b in zip(ours, theirs, strict=True))
    fast = best_of(15, lambda: solve(problem))
    slow = best_of(3, lambda: numpy_adgm(problem, lambda x, d: matrix @ x[1 - d], result.iterations))
    fresh = best_of(5, lambda: solve(MODELS["B"].build(pair)))
    return [
        row("pairwise 20 vs 30: NumPy / ours", slow / fast, "×", "≥ 10, aim 20", f"{result.iterations} iterations"),
        row("pairwise 20 vs 30: difference of iterates", difference, "", "≈ 0", f"after {same} iterations"),
        row("pairwise 20 vs 30: per iteration", 1e6 * fast / result.iterations, "µs"),
        row("pairwise 20 vs 30: build and solve", 1e3 * fresh, "ms"),
    ]


def third_order() -> list[Row]:
    """A tensor of about 1.7 million entries: an iteration against a NumPy pass over all entries."""
    pair = DATASETS["random"].load(inliers=20, outliers=10, noise=10.0, seed=1, images=False)
    began = perf_counter()
    problem = MODELS["third"].build(pair)
    built = perf_counter() - began
    sparse = problem.potentials[0]
    assert isinstance(sparse, Sparse)
    modes = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    entries = np.concatenate([sparse.indices[:, m] for m in modes])
    costs = np.tile(sparse.costs, 6)

    def contract(x: list[Floats], d: int) -> Floats:
        a, b = (m for m in range(3) if m != d)
        weights = costs * x[a][entries[:, a]] * x[b][entries[:, b]]
        return np.bincount(entries[:, d], weights, minlength=problem.n).astype(np.float64)

    same = 10
    method = ADGM(growth=1.0, tol=0.0, max_iter=100_000)
    state = method.step(problem, method.init(problem), same)
    theirs = numpy_adgm(problem, contract, same)
    difference = max(float(np.abs(a - b).max()) for a, b in zip(state.blocks, theirs, strict=True))
    slow = best_of(2, lambda: numpy_adgm(problem, contract, 3)) / 3
    fast, ran = per_iteration(problem, method, 1, 100)
    return [
        row("third order 20 vs 30: NumPy / ours, per iteration", slow / fast, "×", "≥ 30", f"{len(costs):,} entries"),
        row("third order 20 vs 30: difference of iterates", difference, "", "≈ 0", f"after {same} iterations"),
        row("third order 20 vs 30: per iteration", 1e6 * fast, "µs", "", f"iterations 2 to {ran + 1}"),
        row("third order 20 vs 30: build the tensor", built, "s", "< 1.5"),
    ]


def models() -> list[Row]:
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
            rows.append(row(f"build model {key}, {name} 20 vs 30", 1e3 * seconds, "ms", target, note))
        picture = best_of(3, lambda: figures.save(figures.matches(pair, graph="delaunay")))  # noqa: B023
        rows.append(row(f"draw {name} 20 vs 30 as PNG", 1e3 * picture, "ms", "< 500 ms"))
        points = best_of(20, lambda: DATASETS[name].load(images=False, **params))  # noqa: B023
        rows.append(row(f"load {name}, points alone", 1e3 * points, "ms", "< 5 ms"))
    for n, target in ((30, "< 2 ms"), (100, "< 15 ms")):
        many = DATASETS["random"].load(images=False, inliers=n, outliers=0)
        seconds = best_of(20, lambda: shape_context_cost(many.left, many.right))  # noqa: B023
        rows.append(row(f"shape context, {n} points", 1e3 * seconds, "ms", target))
    if DATASETS["cars"].available():
        pair = DATASETS["cars"].load(images=False, number=1, outliers=8)
        n1, n2 = pair.shape
        seconds = best_of(2, lambda: MODELS["third"].build(pair))
        rows.append(row("build third order, cars 1 + 8 outliers", seconds, "s", "< 4", f"{n1} vs {n2} points"))
    return rows


def rivals() -> list[Row]:
    """The pairwise rivals beside pygmtools, where the real data and pygmtools are there."""
    if not DATASETS["house"].available() or find_spec("pygmtools") is None:
        return []
    return [
        row(f"{r['method']}: {r['peer']} / ours", 1 / r["ratio"], "×", "≥ 1", f"{r['ours_ms']:.3g} ms ours")
        for r in bench_baselines.rows()
    ]


# ---- scale --------------------------------------------------------------------------------------------------


def large_formula(n: int) -> list[Row]:
    """n vs n points, fully connected by formula, in this process."""
    problem = MODELS["B"].build(DATASETS["random"].load(inliers=n, outliers=0, noise=1.0, seed=0, images=False))
    result = solve(problem, ADGM(rho0=problem.n / 100), every=1)
    late = np.diff(result.history["seconds"][20:])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    name = f"{n} vs {n} by formula"
    note = f"{result.status}, {result.iterations} iterations; the matrix would take {problem.n**2 * 8 / 1e9:.1f} GB"
    return [
        row(f"{name}: peak memory", peak, "GB", "< 2", note),
        row(f"{name}: time", result.seconds, "s"),
        row(
            f"iteration at {n} vs {n}", 1e6 * float(np.median(late)), "µs", "", f"n = {problem.n:,} variables, after 20"
        ),
    ]


def delaunay_candidates(n: int = 1000, candidates: int = 20) -> list[Row]:
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
    problem = Problem((n, n), [Sparse(index, -np.exp(-((change / 10) ** 2)), symmetric=True)], EXACTLY_ONE,
                      candidates=mask)  # fmt: skip
    began = perf_counter()
    result = solve(problem, ADGM(rho0=1.0), time_limit=120)
    note = f"{result.status}, {result.iterations} iterations, {(result.matching == truth).mean():.1%} right"
    return [row(f"{n} vs {n}, Delaunay, {candidates} candidates", perf_counter() - began, "s", "< 60", note)]


def growth() -> list[Row]:
    """Cost of an iteration as the number of points grows, once the iterates are sparse."""
    rows = []
    for n in (25, 50, 100):
        problem = MODELS["B"].build(DATASETS["random"].load(inliers=n, outliers=0, noise=5.0, seed=0, images=False))
        method = ADGM(rho0=problem.n / 100, growth=1.0, tol=0.0)
        seconds, ran = per_iteration(problem, method, 10, 40)
        note = f"n = {problem.n:,} variables, iterations 11 to {10 + ran}"
        rows.append(row(f"iteration at {n} vs {n}", 1e6 * seconds, "µs", "", note))
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


def start_up() -> list[Row]:
    """Import and first solve in a fresh process, the compiled kernels already on disk."""
    runs = []
    for _ in range(3):
        out = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True).stdout
        runs.append(json.loads(out))
    imported, first, compiled = np.min(runs[1:], axis=0)
    return [
        row("import adgm", imported, "s", "< 1"),
        row("first solve of a process, kernels on disk", first, "s"),
        row("functions compiled by a second process", compiled, "", "0"),
    ]


def in_process(name: str, *args: object) -> list[Row]:
    """Another benchmark's rows, from a process of its own, so that its peak memory is its own."""
    code = f"import json; from experiments import bench; print(json.dumps(bench.{name}{args!r}))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    rows: list[Row] = json.loads(out.splitlines()[-1])
    return rows


BENCHES: dict[str, Callable[[], list[Row]]] = {
    "pairwise": pairwise,
    "third": third_order,
    "models": models,
    "rivals": rivals,
    "growth": growth,
    "delaunay": delaunay_candidates,
    "formula": lambda: in_process("large_formula", 200),
    "start": start_up,
}


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    lines = ["| benchmark | value | target | note |", "|---|---:|---|---|"]
    for r in rows:
        value = f"{r['value']:.3g} {r['unit']}".strip()
        lines.append(f"| {r['benchmark']} | {value} | {r['target']} | {r['note']} |")
    return "\n".join(lines)
