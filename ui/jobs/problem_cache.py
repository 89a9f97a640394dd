"""Problem cache: the problems built last, up to a number of bytes."""

import threading
from collections.abc import Callable, Collection

import numpy as np

from adgm import Problem
from adgm.machine.deadline import waited_for
from features.limits import LIMITS
from ui.jobs.scheduler import POOL

TABLES = ("runtime", "tensors")  # computed lazily by a problem, so they can be dropped and computed again


def problem_bytes(problem: Problem) -> int:
    """Bytes that a problem takes: its potentials, and its tables if they exist."""
    arrays = [array for p in problem.potentials for array in list(vars(p).values())]  # a job may add some
    parts = [array.nbytes for array in arrays if isinstance(array, np.ndarray)]
    runtime = vars(problem).get("runtime")
    return sum(parts) + (0 if runtime is None else runtime.nbytes)


def in_use() -> list[Problem]:
    """The problems of all jobs that have not ended."""
    with POOL.freed:
        return [member.problem for member in POOL.members if getattr(member, "problem", None) is not None]


class ProblemCache:
    """Evicts the least recently used problem that no job needs. An evicted problem also loses its tables, which are
    computed again if somebody still uses it."""

    def __init__(self, most: int = LIMITS.cached_bytes, busy: Callable[[], Collection[Problem]] = in_use) -> None:
        self.most, self.busy = most, busy
        self._lock = threading.Lock()
        self._building: dict[str, threading.Lock] = {}
        self._kept: dict[str, Problem] = {}  # the least recently used first

    def get(self, key: str, build: Callable[[], Problem]) -> Problem:
        """The problem with this key. The first caller builds it; the others wait for it."""
        with self._lock:
            turn = self._building.setdefault(key, threading.Lock())
        with waited_for(turn):
            try:
                with self._lock:
                    found = self._kept.get(key)
                problem = build() if found is None else found
                with self._lock:
                    self._kept.pop(key, None)
                    self._kept[key] = problem  # at the end of the dict: most recently used
            finally:  # also if the build failed or was stopped
                with self._lock:
                    self._building.pop(key, None)
        self.trim()
        return problem

    def trim(self) -> None:
        """Evict until the rest fits; the most recently used problem stays."""
        busy = {id(problem) for problem in self.busy()}
        with self._lock:
            total = sum(map(problem_bytes, self._kept.values()))
            for key, problem in list(self._kept.items())[:-1]:
                if total <= self.most:
                    return
                if id(problem) not in busy:
                    total -= problem_bytes(self._kept.pop(key))
                    for name in TABLES:
                        vars(problem).pop(name, None)

    @property
    def keys(self) -> list[str]:
        with self._lock:
            return list(self._kept)


PROBLEM_CACHE = ProblemCache()
