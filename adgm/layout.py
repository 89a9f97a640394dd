"""Which pairs of nodes are variables, and how they form the rows and columns of an assignment."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from adgm._kernels import Groups, LongArray


class Layout:
    """The variables: number in the full n1 × n2 grid, row and column, and the groups that rows and columns form."""

    def __init__(self, shape: tuple[int, int], variables: LongArray | None = None) -> None:
        """`variables`: grid numbers i1 · n2 + i2 in ascending order; None: all of them."""
        size = shape[0] * shape[1]
        self.shape = shape
        self.variables: LongArray = np.arange(size) if variables is None else variables
        self.n = len(self.variables)
        self.full = self.n == size
        self.row, self.col = np.divmod(self.variables, shape[1])

    @staticmethod
    def of(shape: tuple[int, int], candidates: NDArray[np.bool_] | None) -> Layout:
        return Layout(shape, None if candidates is None else np.flatnonzero(candidates))

    @cached_property
    def _groups(self) -> tuple[Groups, Groups]:
        rows, cols = (
            Groups(
                np.concatenate([[0], np.cumsum(np.bincount(of, minlength=count))]).astype(np.int64),
                np.argsort(of, kind="stable").astype(np.uint32),
                0,
            )
            for of, count in zip((self.row, self.col), self.shape, strict=True)
        )
        return rows, cols

    def groups(self, axis: int, kind: int = 0) -> Groups:
        """The rows (axis 0) or the columns (axis 1) as index lists."""
        return self._groups[axis]._replace(kind=kind)

    def drawn(self, axis: int, edges: LongArray, rng: np.random.Generator) -> LongArray:
        """For each of these pairs of nodes of one side two variables of theirs at random, if both have any: (2, m)."""
        start, member, _ = self._groups[axis]
        low, high = start[edges.T], start[edges.T + 1]
        at = low + ((high - low) * rng.random(low.shape)).astype(np.int64)
        found: LongArray = member[at[:, (high > low).all(axis=0)]].astype(np.int64)
        return found

    def numbers(self, grid: LongArray) -> LongArray:
        """Grid numbers -> variables, −1 where there is none."""
        if self.full:
            return grid
        if not self.n:
            return np.full_like(grid, -1)
        if grid.size > self.shape[0] * self.shape[1] / 4:  # a look at the whole grid beats many searches
            return self.grid().reshape(-1)[grid]
        at = np.minimum(np.searchsorted(self.variables, grid), self.n - 1)
        found: LongArray = np.where(self.variables[at] == grid, at, -1)
        return found

    def grid(self) -> LongArray:
        """(n1, n2): the variable of a pair, −1 where there is none."""
        number = np.full(self.shape[0] * self.shape[1], -1)
        number[self.variables] = np.arange(self.n)
        return number.reshape(self.shape)
