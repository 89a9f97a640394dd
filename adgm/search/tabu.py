"""Tabu search over the matchings of pairwise problems: `_kernels.tabu`, a piece at a time."""

import numpy as np

from adgm._kernels import FloatArray, LongArray
from adgm._kernels.local_search import Neighbourhood
from adgm._kernels.tabu import Links, Memory, Progress, tabu_search
from adgm.machine.deadline import TimeUp, check_time
from adgm.rounding import Assignment

STEPS_AT_ONCE = 10_000_000  # between two looks at the clock, times the variables: some hundredths of a second
FEW_LINKS = 0.05  # of all pairs of variables: where fewer have costs, a step changes little
PATIENCE = 1  # steps per node in a row that find nothing better, which end a search there
GOLDEN = (5**0.5 - 1) / 2


def search(
    here: Neighbourhood, links: Links, on: Assignment, pairs: FloatArray, steps_per_node: int, tolerance: float
) -> float:
    """Leads to the best matching that so many steps per node of the smaller graph meet: the energy change. `pairs` is
    not kept up."""
    nodes = min(here.number.shape)
    lengths = tenure(nodes, steps_per_node)
    memory, progress = started(here.linear + pairs, on, len(lengths)), Progress(queued=len(on))
    patience = PATIENCE * nodes if len(links.start) else len(lengths)
    at_once = max(1, STEPS_AT_ONCE // len(on))
    while progress.step < len(lengths) and progress.step - progress.last < patience:
        try:
            check_time()
        except TimeUp:
            on[:] = memory.best
            raise TimeUp(on) from None
        progress = tabu_search(here, links, on, memory, progress, lengths, patience, tolerance, at_once)
    return float(progress.lowest)


def tenure(nodes: int, steps_per_node: int) -> LongArray:
    """For every step, after how many further ones what leaves then may come back."""
    spread = (GOLDEN * np.arange(steps_per_node * nodes)) % 1.0  # even, and needs no seed
    found: LongArray = (nodes * (1.0 + spread) / 2.0).astype(np.int64)
    return found


def links_of(matrix: FloatArray | None) -> Links:
    """The pairs of variables that have costs, of a symmetric matrix; none where most have, or there is no matrix."""
    if matrix is None or np.count_nonzero(matrix) > FEW_LINKS * matrix.size:
        return Links(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    owner, other = np.nonzero(matrix)
    owner, other = owner[owner != other], other[owner != other]
    count = np.bincount(owner, minlength=len(matrix))
    return Links(np.append(0, np.cumsum(count)), other, 2.0 * matrix[owner, other])


def started(cost: FloatArray, on: Assignment, steps: int) -> Memory:
    """A tabu search of so many steps before its first one."""
    n = len(on)
    return Memory(
        cost=cost,
        until=np.zeros(n, np.int64),
        best=on.copy(),
        lowest=np.full(n, np.inf),
        free=np.full(n, np.inf),
        waiting=np.ones(n, np.bool_),
        queue=np.arange(n),
        head=np.full(steps, -1),
        left=np.empty(4 * steps, np.int64),
        before=np.empty(4 * steps, np.int64),
    )
