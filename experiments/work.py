"""What a worker does: build a problem once, run its methods, and turn each into a row."""

import hashlib
import os
import platform
import socket
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from adgm import METHODS, Problem, Result, solve
from experiments.declared import Unit
from experiments.store import Record
from features.datasets import DATASETS
from features.datasets.photos import PAIRS, everything
from features.models import MODELS
from features.pairs import Pair
from features.score import Metrics, measure
from features.setup import Setup

EVERY = 20  # iterations between two looks at the clock
TIMING = ("seconds", "build_seconds", "machine")  # what differs between two runs of the same unit


@dataclass(frozen=True)
class Group:
    """Units of the same problem, in their order."""

    number: int
    units: tuple[Unit, ...]


def grouped(units: Sequence[Unit]) -> list[Group]:
    """Units with equal problems together, in the order of their first."""
    found: dict[str, list[Unit]] = {}
    for unit in units:
        found.setdefault(unit.problem, []).append(unit)
    return [Group(number, tuple(mine)) for number, mine in enumerate(found.values())]


def run_group(group: Group) -> Iterator[Record]:
    """A row per unit, as they are finished; what goes wrong is a row too."""
    began = perf_counter()
    try:
        pair, at, note = load(group.units[0].setup)
        problem = group.units[0].setup.problem(pair)
        _ = problem.scale  # part of building: it walks over all costs
    except Exception as error:
        for unit in group.units:
            yield failed(unit, reason_of(error, "build this problem"))
        return
    built = perf_counter() - began
    for unit in group.units:
        yield {**row(unit, pair, problem), "at": at, "note": note, "build_seconds": round(built, 6)}


def row(unit: Unit, pair: Pair, problem: Problem) -> Record:
    """What one method made of one problem."""
    setup = unit.setup
    if refusal := METHODS[setup.method].refusal(problem):
        return failed(unit, refusal, "refused")
    try:
        result = solve(problem, setup.method_object(), every=EVERY, time_limit=unit.time_limit)
        metrics = measure(pair, problem, result.assignment, MODELS[setup.model].sense)
    except Exception as error:
        return failed(unit, reason_of(error, "run this method"))
    return {
        **begun(unit, result.status),
        "shape": list(pair.shape),
        "matched": metrics.matched,
        "correct": metrics.correct,
        "possible": metrics.possible,
        "energy": finite(metrics.energy),
        "truth_energy": finite(metrics.truth_energy),
        **objectives(problem, metrics),
        "iterations": result.iterations,
        "seconds": round(result.seconds, 6),
        "machine": machine()["id"],
        **bounds(result),
    }


def begun(unit: Unit, status: str) -> Record:
    s = unit.setup
    options = {"options": s.method_options} if s.method_options else {}
    return {"kind": "row", "key": unit.key, "panel": unit.panel, "x": unit.x, "at": s.dataset_params,
            "method": s.method, **options, "status": status}  # fmt: skip


def failed(unit: Unit, reason: str, status: str = "failed") -> Record:
    """The row of a unit that has no result."""
    return {**begun(unit, status), "reason": reason, "machine": machine()["id"]}


def reason_of(error: BaseException, what: str) -> str:
    if isinstance(error, MemoryError):
        return f"There was not enough memory to {what}."
    return f"{type(error).__name__}: {error}"[:300]


def load(setup: Setup) -> tuple[Pair, dict[str, Any], str]:
    """The pair without images, the parameters that made it, and a word where they are not the ones asked for."""
    at, note = dict(setup.dataset_params), ""
    if setup.dataset in PAIRS:
        own = everything(setup.dataset, int(at.get("number", 1))).outliers()
        for name, has in (("left_outliers", len(own[0])), ("outliers", len(own[1]))):
            if int(at.get(name, 0)) > has:
                note = f"{has} of {at[name]} {name.replace('_', ' ')}: all that this pair has"
                at[name] = has
    return DATASETS[setup.dataset].load(images=False, **at), at, note


def objectives(problem: Problem, metrics: Metrics) -> Record:
    """The paper's objective, which is maximised, of the matching and of the truth.

    Similarities count as they are. Pairwise costs M become max(M) − M over the compatible pairs, which are all
    ordered pairs of matches. Unary costs beside them have no place in that rule: then there is no objective.
    """

    def objective(energy: float | None, matched: int) -> float | None:
        if energy is None:
            return None
        if metrics.sense == "similarity":
            return finite(0.0 - energy)
        return finite(problem.scale * matched * (matched - 1) - energy)

    if metrics.sense == "cost" and any(p.order(problem.shape) != 2 for p in problem.potentials):
        return {"objective": None, "truth_objective": None}
    true = (metrics.possible or 0) + metrics.added
    return {
        "objective": objective(metrics.energy, metrics.matched),
        "truth_objective": objective(metrics.truth_energy, true),
    }


def bounds(result: Result[Any]) -> Record:
    """What a method proves: no matching has less than `lower`, and whether that is what it found."""
    if not hasattr(result.state, "lower"):
        return {}
    return {"lower": finite(float(result.state.lower)), "proved": bool(result.state.proved)}


def finite(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


def comparable(record: Record) -> Record:
    """A row without what differs between two runs of the same unit."""
    return {name: value for name, value in record.items() if name not in TIMING}


# ---- the machine -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def machine() -> Record:
    """Which machine this is: a name that tells machines apart without telling theirs, and what matters for times."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cpu = cpu_model()
    name = hashlib.sha256(f"{socket.gethostname()} {cpu} {cores}".encode()).hexdigest()[:8]
    return {"kind": "machine", "id": name, "cpu": cpu, "cores": cores, "system": platform.system()}


def cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def peak_memory() -> int:
    """The most memory that this process has used, in bytes; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def limit_memory(nbytes: int) -> None:
    """Let allocations beyond this fail in this process, so that a large problem is a row with a reason."""
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (nbytes, resource.getrlimit(resource.RLIMIT_DATA)[1]))
