"""What a worker does: build a problem once, run its methods, and turn each into a row."""

import hashlib
import os
import platform
import socket
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from adgm import METHODS, Problem, Result, Run, State
from adgm.costs.affinity import affinity
from adgm.rounding import Assignment, best_rounding, hungarian
from adgm.search.local_search import polish
from experiments.spec import Unit
from experiments.store import Record
from features.datasets import DATASETS
from features.datasets.photos import PAIRS, everything
from features.judge.comparison import reference_row
from features.judge.metrics import Metrics, matched_pairs, measure, measure_matches, objectives
from features.judge.verification import verify
from features.models import MODELS
from features.pairs import Pair
from features.recipe import Recipe

EVERY = 20  # iterations between two looks at the clock
TIMING = ("seconds", "seconds_to_best", "build_seconds", "machine")  # what differs between two runs of the same unit


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
        share_tables(problem, group.units)
    except Exception as error:
        for unit in group.units:
            yield failed(unit, reason_of(error, "build this problem"))
        return
    built = perf_counter() - began
    for unit in group.units:
        yield {**row(unit, pair, problem), "at": at, "note": note, "build_seconds": round(built, 6)}


def share_tables(problem: Problem, units: Sequence[Unit]) -> None:
    """What several methods look at is part of building, and nobody's time: the walk over all costs, the affinities."""
    _ = problem.scale
    named = {unit.variant.method for unit in units if not unit.variant.classic}
    rivals = [METHODS[key] for key in named if not key.startswith("adgm")]
    if any(not entry.refusal(problem) for entry in rivals):
        affinity(problem)


def row(unit: Unit, pair: Pair, problem: Problem) -> Record:
    """What one method made of one problem."""
    setup, variant = unit.setup, unit.variant
    if not variant.classic and (refusal := METHODS[setup.method].refusal(problem)):
        return failed(unit, refusal, "refused")
    try:
        told, metrics = classic(unit, pair, problem) if variant.classic else solved(unit, pair, problem)
    except Exception as error:
        return failed(unit, reason_of(error, "run this method"))
    value, truth_value = objectives(problem, metrics)
    return {
        **begun(unit, told.pop("status")),
        "shape": list(pair.shape),
        "matched": metrics.matched,
        "correct": metrics.correct,
        "possible": metrics.possible,
        "energy": finite(metrics.energy),
        "truth_energy": finite(metrics.truth_energy),
        "objective": finite(value),
        "truth_objective": finite(truth_value),
        "machine": machine()["id"],
        **told,
    }


def solved(unit: Unit, pair: Pair, problem: Problem) -> tuple[Record, Metrics]:
    """A method of ours: what it says of itself, and what its matching is worth."""
    variant, sense = unit.variant, MODELS[unit.setup.model].sense
    method: Any = unit.setup.method_object()
    if variant.thousandths_of_n:
        scaled = {name: value * problem.n / 1000 for name, value in variant.thousandths_of_n.items()}
        method = replace(method, **scaled)
    result, by = watched(problem, method, unit)
    found, seconds = searched(problem, result.assignment, variant.searches), result.seconds
    if variant.verified:
        began = perf_counter()
        neighbours = MODELS[unit.setup.model].photographs
        checked = verify(pair, matched_pairs(problem, found), neighbours=neighbours)
        seconds += perf_counter() - began
        metrics = measure_matches(pair, problem, checked.matches if checked.same else checked.matches[:0], sense)
    else:
        metrics = measure(pair, problem, found, sense)
    told = {"status": result.status, "iterations": result.iterations, "seconds": round(seconds, 6)}
    told |= {"seconds_to_best": round(result.seconds_to_best, 6), **said(result)}
    return {**told, **({"by": by} if by else {})}, metrics


def classic(unit: Unit, pair: Pair, problem: Problem) -> tuple[Record, Metrics]:
    """What people use instead, on the same points, measured by the same model."""
    row = reference_row(unit.setup, pair, problem, unit.variant.method)
    if row.result is None or row.metrics is None:
        raise ValueError(row.refusal)
    return {"status": row.result.status, "iterations": 1, "seconds": round(row.result.seconds, 6)}, row.metrics


def watched(problem: Problem, method: Any, unit: Unit) -> tuple[Result[Any], dict[str, float | None]]:
    """The result, and for every mark the energy of the matching that the method would have given by then.

    A method looks at the clock between two steps, so it may end late; what it finds after a mark does not count there.
    Nor do passing matchings of a method that keeps none: the last one is what it gives.
    """
    run = Run(problem, method, time_limit=unit.time_limit)
    news: list[tuple[float, float]] = []  # seconds of computing, and the energy by then

    def watch(state: State) -> None:
        energy = best_rounding(problem, state.x)[1] if state.best is None else state.best_energy
        news.append((run.seconds, energy))

    result = run.finish(watch=watch if unit.marks else None, every=EVERY)
    news.append((run.seconds, result.energy))
    by = {mark: next((energy for at, energy in reversed(news) if at <= mark), None) for mark in unit.marks}
    return result, {f"{mark:g}": finite(energy) for mark, energy in by.items()}


def searched(problem: Problem, found: Assignment, searches: int, seed: int = 0) -> Assignment:
    """The best of so many local searches, the first from what was found, the others from random matchings."""
    rng = np.random.default_rng(seed)
    best, energy = found, problem.energy(found.astype(float))
    for number in range(searches):
        start = hungarian(problem, rng.random(problem.n)) if number else found
        end = polish(problem, start)[0]
        if (reached := problem.energy(end.astype(float))) < energy:
            best, energy = end, reached
    return best


def begun(unit: Unit, status: str) -> Record:
    s = unit.setup
    options = {"options": s.method_options} if s.method_options else {}
    place = {"kind": "row", "key": unit.key, "panel": unit.panel, "x": unit.x, "at": s.dataset_params}
    return {**place, "method": unit.variant.name, **options, "status": status}


def failed(unit: Unit, reason: str, status: str = "failed") -> Record:
    """The row of a unit that has no result."""
    return {**begun(unit, status), "reason": reason, "machine": machine()["id"]}


def reason_of(error: BaseException, what: str) -> str:
    if isinstance(error, MemoryError):
        return f"There was not enough memory to {what}."
    return f"{type(error).__name__}: {error}"[:300]


def load(setup: Recipe) -> tuple[Pair, dict[str, Any], str]:
    """The pair, the parameters that made it, and a word where they are not the ones asked for.

    It comes without its images, which take time to read, unless points are described by them.
    """
    at, note = dict(setup.dataset_params), ""
    if setup.dataset in PAIRS:
        own = everything(setup.dataset, int(at.get("number", 1))).outliers()
        for name, has in (("left_outliers", len(own[0])), ("outliers", len(own[1]))):
            if int(at.get(name, 0)) > has:
                note = f"{has} of {at[name]} {name.replace('_', ' ')}: all that this pair has"
                at[name] = has
    model = MODELS[setup.model]
    return DATASETS[setup.dataset].load(images=model.photographs or model.images, **at), at, note


def said(result: Result[Any]) -> Record:
    """What a method says beside its matching: a bound and whether it proves it, how many of its runs agree."""
    state = result.state
    proof = {"lower": finite(float(state.lower))} if hasattr(state, "lower") else {}
    proof |= {"proved": bool(state.proved)} if hasattr(state, "proved") else {}
    lanes = {"lanes": len(state.lanes), "agreeing": int(state.agreeing)} if hasattr(state, "lanes") else {}
    return proof | lanes


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
    if (peak := told_by_system("VmHWM")) is not None:  # `getrusage` tells at least what the parent had then
        return peak
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def reserved_memory() -> int:
    """What `limit_memory` counts: all that this process has asked for, used or not; where the system does not say,
    what it has used."""
    return told_by_system("VmData") or peak_memory()


def told_by_system(name: str) -> int | None:
    """Bytes of this process, as Linux tells them under this name."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")), None)


def limit_memory(nbytes: int) -> None:
    """Let allocations beyond this fail in this process, so that a large problem is a row with a reason."""
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (nbytes, resource.getrlimit(resource.RLIMIT_DATA)[1]))
