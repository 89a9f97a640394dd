"""Edges of graphs and what follows from them: lists of neighbours, and the pairs of variables that a formula ties."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from adgm._kernels import IndexArray, LongArray, Neighbours
from adgm.machine.deadline import carried

WORKERS = int(os.environ.get("ADGM_THREADS", 0)) or os.cpu_count() or 1  # threads that compute columns


class Links(NamedTuple):
    """Pairs of variables that a formula on edges ties together: those of j are target[start[j] … start[j + 1]]."""

    start: LongArray
    target: IndexArray

    def owners(self, low: int, high: int) -> LongArray:
        """The variables low … high, each as often as it has partners."""
        return np.repeat(np.arange(low, high), np.diff(self.start[low : high + 1]))


def places(nodes: LongArray, count: int) -> LongArray:
    """Where each of `count` nodes stands among some, −1 for those that are not there."""
    at = np.full(count, -1)
    at[nodes] = np.arange(len(nodes))
    return at


def neighbours(edges: LongArray | None, nodes: int) -> Neighbours:
    """Undirected edges as lists of neighbours; no edges: nobody has any."""
    both = np.empty((0, 2), np.int64) if edges is None else np.concatenate([edges, edges[:, ::-1]])
    both = both[np.lexsort(both.T[::-1])]
    start = np.concatenate([[0], np.cumsum(np.bincount(both[:, 0], minlength=nodes))]).astype(np.int64)
    return Neighbours(start, both[:, 1].astype(np.uint32))


def in_threads(work: Callable[..., object], items: Iterable[tuple[Any, ...]]) -> None:
    """work(*item) for all items on `WORKERS` threads; the first error ends it."""
    if WORKERS == 1:
        for item in items:
            work(*item)
        return
    with ThreadPoolExecutor(WORKERS) as pool:
        for done in [pool.submit(carried(work), *item) for item in items]:
            done.result()
