"""A problem without compiled code: for runs that begin before the compiler is done, on `adgm.reference`."""

from copy import copy

import numpy as np
import scipy  # whose parts are imported when they are first used

from adgm._kernels import FloatArray
from adgm.costs.numbers import largest_of
from adgm.problem import Problem


class PlainTables:
    """A problem's potentials without compiled code: what `Problem.energies`, `contract` and `scale` ask for."""

    def __init__(self, problem: Problem) -> None:
        self.tensors, self.n = problem.tensors, problem.n
        largest = [getattr(p, "largest", None) for p in problem.potentials]
        told = zip(largest, self.tensors, strict=True)
        self.scale = largest_of(np.abs(e.costs).max(initial=0.0) if own is None else own for own, e in told)
        # Pairwise costs as sparse matrices, whose products SciPy has compiled long ago: ten times as fast as sums here.
        pairs = [(index.T, costs) for index, costs, _ in self.tensors if index.shape[1] == 2]
        size = (self.n, self.n)
        self.matrices = [scipy.sparse.csr_array((costs, tuple(ends)), shape=size) for ends, costs in pairs]

    @property
    def nbytes(self) -> int:
        """Bytes held by the tables."""
        parts = [part for entries in self.tensors for part in entries]
        parts += [part for one in self.matrices for part in (one.data, one.indices, one.indptr)]
        return sum(np.asarray(part).nbytes for part in parts)

    def closed(self, x: FloatArray, d: int) -> FloatArray:
        """The part of (21) from the slot's own order."""
        return self.contract(x, d)[1]

    def contract(self, x: FloatArray, slot: int) -> tuple[FloatArray, FloatArray]:
        """The parts of (21) from orders above the slot's own, and from its own."""
        parts = np.zeros((2, self.n))
        for index, cost, _ in self.tensors:
            order = index.shape[1]
            if order != 2 and slot < order:
                others = [x[i][index[:, i]] for i in range(order) if i != slot]
                parts[int(order == slot + 1)] += np.bincount(index[:, slot], np.prod([cost, *others], axis=0), self.n)
        for matrix in self.matrices:
            if slot < 2:
                parts[slot] += matrix @ x[1] if slot == 0 else matrix.T @ x[0]
        return parts[0], parts[1]


def plain(problem: Problem) -> Problem:
    """The same problem, computed in NumPy until it is `compiled`."""
    other = copy(problem)
    vars(other)["runtime"] = PlainTables(problem)
    return other


def compiled(problem: Problem) -> None:
    """Let a plain problem be computed by compiled code from now on."""
    if isinstance(problem.runtime, PlainTables):
        del vars(problem)["runtime"]
