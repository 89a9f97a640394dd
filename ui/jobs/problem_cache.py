"""Problems that were built, kept in case they are asked for again; as many as fit into a number of bytes."""

import threading
from collections.abc import Callable, Collection

import numpy as np

from adgm import Problem
from adgm.machine.deadline import waited_for
from features.limits import LIMITS
from ui.jobs.scheduler import POOL

TABLES = ("runtime", "tensors")  # what a problem computes when it is first needed, and could compute again


def held(problem: Problem) -> int:
    """Bytes of a problem: its potentials, and its tables if they are there."""
    arrays = [array for p in problem.potentials for array in list(vars(p).values())]  # a job may be adding some
    parts = [array.nbytes for array in arrays if isinstance(array, np.ndarray)]
    runtime = vars(problem).get("runtime")
    return sum(parts) + (0 if runtime is None else runtime.nbytes)


def in_use() -> list[Problem]:
    """The problems of all jobs that go on."""
    with POOL.freed:
        return [member.problem for member in POOL.members if getattr(member, "problem", None) is not None]


class Shelf:
    """The least recently used problem goes first, unless a job needs it; whoever still has it loses its tables only."""

    def __init__(self, most: int = LIMITS.cached_bytes, busy: Callable[[], Collection[Problem]] = in_use) -> None:
        self.most, self.busy = most, busy
        self._lock = threading.Lock()
        self._building: dict[str, threading.Lock] = {}
        self._kept: dict[str, Problem] = {}  # the least recently used first

    def get(self, key: str, build: Callable[[], Problem]) -> Problem:
        """The problem of this name, built by whoever asks first."""
        with self._lock:
            turn = self._building.setdefault(key, threading.Lock())
        with waited_for(turn):
            try:
                with self._lock:
                    found = self._kept.get(key)
                problem = build() if found is None else found
                with self._lock:
                    self._kept.pop(key, None)
                    self._kept[key] = problem  # at the end: the most recently used
            finally:  # also where the build was refused or stopped
                with self._lock:
                    self._building.pop(key, None)
        self.trim()
        return problem

    def trim(self) -> None:
        """Let go what does not fit; the latest stays."""
        busy = {id(problem) for problem in self.busy()}
        with self._lock:
            total = sum(map(held, self._kept.values()))
            for key, problem in list(self._kept.items())[:-1]:
                if total <= self.most:
                    return
                if id(problem) not in busy:
                    total -= held(self._kept.pop(key))
                    for name in TABLES:
                        vars(problem).pop(name, None)

    @property
    def keys(self) -> list[str]:
        with self._lock:
            return list(self._kept)


SHELF = Shelf()
