"""A canvas' points as the user has left them: told apart by their numbers, and checked where a browser sends them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
Numbers = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Edits:
    """The points as the user has left them; `revision` counts the edits since the page's own `start`."""

    left: Points
    right: Points
    start: str
    revision: int = 0
    origin: tuple[Numbers, Numbers] = ((), ())  # which of the page's own points each one was, −1 for a new one
    counts: tuple[int, int] = (0, 0)  # of the page's own points
    partners: tuple[tuple[int, int], ...] | None = None  # who truly belongs together; None: nobody has said

    @property
    def changed(self) -> bool:
        return self.revision > 0

    @property
    def in_order(self) -> bool:
        """Whether the points are the page's own ones in their order, though some may have been moved."""
        return self.origin == numbered(self.counts)

    @property
    def truth(self) -> NDArray[np.int64] | None:
        """The right partner of each left point, −1 for none."""
        if self.partners is None:
            return None
        found = np.full(len(self.left), -1)
        for i, j in self.partners:
            found[i] = j
        return found


def numbered(counts: tuple[int, int]) -> tuple[Numbers, Numbers]:
    return tuple(range(counts[0])), tuple(range(counts[1]))


def as_origin(rows: Any, count: int) -> Numbers:
    """Which of `count` points each row [x, y, number] was, each of them once; a row [x, y] is a new point."""
    numbers = tuple(row[2] if len(row) > 2 else -1 for row in rows)
    known = [k for k in numbers if k != -1]
    right = all(type(k) is int and 0 <= k < count for k in known) and max(map(len, rows), default=2) <= 3
    if not right or len(set(known)) < len(known):
        raise ValueError(f"points must have numbers below {count}, each of them once")
    return numbers


def as_partners(values: Any, n1: int, n2: int) -> tuple[tuple[int, int], ...]:
    """Pairs of existing points, nobody twice."""
    pairs = tuple((i, j) for i, j in values)
    for side, count in ((0, n1), (1, n2)):
        numbers = [pair[side] for pair in pairs]
        if not all(type(k) is int and 0 <= k < count for k in numbers) or len(set(numbers)) < len(numbers):
            raise ValueError(f"partners must be pairs of numbers below {n1} and {n2}, each of them once")
    return pairs
