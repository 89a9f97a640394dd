"""Fusion moves as their authors have them: pylibmgm, if the user has installed it (L. Hutschenreiter et al., Fusion
moves for graph matching, ICCV 2021). Its licence is the GPL: it is no requirement of ours and never imported here.

The library holds the interpreter while it computes and cannot be interrupted, so it runs in a process of its own
(`libmgm_process`), which can be ended.
"""

import io
import json
import subprocess
import sys
import threading
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import IO, Any

import numpy as np

from adgm._kernels import FloatArray, LongArray
from adgm.costs.pairs import PairCosts
from adgm.machine.computing import clocks
from adgm.machine.deadline import TimeUp, check_time
from adgm.options import check, option
from adgm.problem import EXACTLY_ONE, Problem
from adgm.rounding import Assignment, hungarian
from adgm.state import State

NAME = "pylibmgm"
PROGRAM = Path(__file__).with_name("libmgm_process.py")
TICK = 0.01  # seconds between two looks at the clock


def installed() -> bool:
    return find_spec(NAME) is not None


@dataclass(frozen=True)
class LibMGM:
    """The library's solver for two graphs. An iteration is a run of it, with all that follows from it.

    A run tells what it has after its first batch, too: that remains when the time is up.
    """

    runs: int = option(1, "Runs", "Each with a seed of its own.", low=1)
    batches: int = option(100, "Most batches", "Of a run; the library ends it earlier when little changes.", low=1)
    generations: int = option(10, "Greedy generations", "Per step of a run.", low=1)
    seed: int = option(0, "Seed", "Given to the library; its runs may differ all the same.", low=0)

    def __post_init__(self) -> None:
        check(self)

    def init(self, problem: Problem) -> State:
        return State(iteration=0, x=np.zeros(problem.n))

    def done(self, state: State) -> bool:
        return state.iteration >= self.runs

    def step(self, problem: Problem, state: State, n: int = 1) -> State:
        asked, energies = self._asked(problem), []
        for run in range(state.iteration, min(state.iteration + n, self.runs)):
            ended = True
            lines: list[str] = []
            try:
                ask({**asked, "settings": np.array([self.batches, self.generations, self.seed + run])}, lines)
            except TimeUp:
                if not lines:
                    raise
                ended = False
            for line in lines:
                found = matching(problem, np.array(json.loads(line), np.int64))
                if (energy := problem.energy(found)) < state.best_energy:
                    state = replace(state, x=found.astype(float), energy=energy, best=found, best_energy=energy)
            energies.append(state.best_energy)
            state = replace(state, iteration=run + 1, converged=ended and run + 1 == self.runs)
            if not ended:
                break
        return replace(state, trace={"energy": np.array(energies)}) if energies else state

    @staticmethod
    def _asked(problem: Problem) -> dict[str, Any]:
        """The problem as flat arrays. The library leaves unmatched what does not pay; where a side has to be matched,
        every match earns more than costs can take away."""
        layout = problem.layout
        pairs = problem.derived(PairCosts)
        single, (p, q, costs) = pairs.single, pairs.entries()
        if EXACTLY_ONE in (problem.rows, problem.cols):
            largest = max(np.abs(single).max(initial=0.0), np.abs(costs).max(initial=0.0))
            single = single - 2.0 * largest * min(problem.shape)
        nodes = np.stack([layout.row, layout.col], axis=1)
        return {"shape": np.array(problem.shape), "nodes": nodes, "single": single, "p": p, "q": q, "costs": costs}


def ask(arrays: dict[str, Any], lines: list[str], program: Path | None = None) -> None:
    """A run in a process of its own; every matching that it tells is appended to `lines`."""
    content = io.BytesIO()
    np.savez(content, **arrays)
    words = [sys.executable, "-P", str(program or PROGRAM)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            complaints: list[str] = []
            threads = [
                threading.Thread(target=_fill, args=(process.stdin, content.getvalue()), daemon=True),
                threading.Thread(target=_drain, args=(process.stdout, lines), daemon=True),
                threading.Thread(target=_drain, args=(process.stderr, complaints), daemon=True),
            ]
            for thread in threads:
                thread.start()
            looked = perf_counter()
            while any(thread.is_alive() for thread in threads):
                before, looked = looked, perf_counter()
                for clock in clocks():  # the other process computes all the while
                    clock.add(looked - before)
                check_time()
                threads[1].join(TICK)
        finally:
            process.kill()
            process.wait()
            for thread in threads:
                thread.join()
    if not lines:
        raise RuntimeError(f"{NAME} ended without a matching: {' '.join(complaints[-1:]) or 'it said nothing'}")


def _fill(pipe: IO[bytes], content: bytes) -> None:
    try:
        with pipe:
            pipe.write(content)
    except BrokenPipeError:  # the process has ended; what it said tells why
        pass


def _drain(pipe: IO[bytes], lines: list[str]) -> None:
    for line in pipe:
        if text := line.decode(errors="replace").strip():
            lines.append(text)


def matching(problem: Problem, partner: LongArray) -> Assignment:
    """The partners of the left nodes (−1: none) as an assignment; a side that has to be matched is completed."""
    rows = np.flatnonzero(partner >= 0)
    numbers = problem.layout.numbers(rows * problem.shape[1] + partner[rows])
    found = np.zeros(problem.n, bool)
    found[numbers[numbers >= 0]] = True
    chosen: FloatArray = found.astype(float)
    return hungarian(problem, chosen) if EXACTLY_ONE in (problem.rows, problem.cols) else found
