"""What a problem file holds: the problem, and what is known about it besides its costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adgm import Problem
from features.files.point_files import FileError
from features.limits import LIMITS
from features.models.base import Sense
from features.pairs import SIDES, Pair, View
from features.points.images import Image
from features.points.keypoints import Keypoints

LONGEST_NAME = 200

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]


class ProblemFileError(FileError):
    """A problem file that cannot be read or written, and where it goes wrong, in a sentence for its owner."""


@dataclass(frozen=True, eq=False)
class ProblemFile:
    """A matching problem as it is read from a file or written to one; everything but the problem may be unknown.

    Points are (n, 2), in the original pixels of their image where there is one. Edges (m, 2) are the neighbours in
    each graph, for drawing. `truth[i1]` is the right node that is the same as the left node i1, −1 if there is none.
    `optimum` is the least energy of a matching. `sense` says which number people read: the cost or, negated, a
    similarity (see `features.judge.metrics.score`).
    """

    problem: Problem
    left_points: Floats | None = None
    right_points: Floats | None = None
    left_edges: Longs | None = None
    right_edges: Longs | None = None
    images: tuple[Image | None, Image | None] = field(default=(None, None))
    truth: Longs | None = None
    optimum: float | None = None
    name: str = "problem"
    sense: Sense = "cost"

    def __post_init__(self) -> None:
        name = "".join(letter if letter.isprintable() else " " for letter in self.name).strip()
        object.__setattr__(self, "name", name[:LONGEST_NAME] or "problem")
        if self.sense not in ("cost", "similarity"):
            raise ProblemFileError(f"the sense is {self.sense!r}; it must be cost or similarity.")
        if self.optimum is not None and not np.isfinite(self.optimum):
            raise ProblemFileError(f"the optimum is {self.optimum}; it must be a finite number.")
        for side, size in zip(SIDES, self.problem.shape, strict=True):
            points, edges = getattr(self, f"{side}_points"), getattr(self, f"{side}_edges")
            if points is not None:
                object.__setattr__(self, f"{side}_points", _points(points, side, size))
            if edges is not None:
                object.__setattr__(self, f"{side}_edges", _edges(edges, side, size))
        if self.truth is not None:
            views = [View(None, Keypoints(np.zeros((size, 2)))) for size in self.problem.shape]
            object.__setattr__(self, "truth", Pair(views[0], views[1], self.truth, self.name).truth)


def from_pair(pair: Pair, problem: Problem, sense: Sense = "cost", optimum: float | None = None) -> ProblemFile:
    """What is on the page, ready to be written: points in the pixels of the working images, which come along."""
    images = [None if view.image is None else Image(view.image.rgb) for view in (pair.left, pair.right)]
    return ProblemFile(
        problem,
        left_points=pair.left.points.xy,
        right_points=pair.right.points.xy,
        images=(images[0], images[1]),
        truth=pair.truth,
        optimum=optimum,
        name=pair.name,
        sense=sense,
    )


def check_shape(sizes: Sequence[float]) -> tuple[int, int]:
    """The numbers of nodes, if a problem of that size can be held; before any memory is taken for it."""
    for side, size in zip(SIDES, sizes, strict=True):
        if not (1 <= size <= LIMITS.nodes and size == int(size)):
            raise ProblemFileError(
                f"there are {size:g} {side} nodes; a whole number from 1 to {LIMITS.nodes} is accepted."
            )
    n1, n2 = (int(size) for size in sizes)
    if n1 * n2 > LIMITS.node_pairs:
        raise ProblemFileError(f"{n1} × {n2} nodes make {n1 * n2} pairs; at most {LIMITS.node_pairs} are accepted.")
    return n1, n2


def refuse_size(size: int, most: int = LIMITS.problem_bytes) -> None:
    if size > most:
        raise ProblemFileError(f"the file has {size / 1e6:.0f} MB; at most {most / 1e6:.0f} MB are accepted.")


def _points(points: ArrayLike, side: str, size: int) -> Floats:
    xy = _numbers(points, f"the {side} points", "fiu").astype(np.float64)
    if xy.shape != (size, 2):
        raise ProblemFileError(f"the {side} points have shape {xy.shape}; {size} nodes need ({size}, 2).")
    if not np.isfinite(xy).all():
        raise ProblemFileError(f"{side} point {int(np.argmin(np.isfinite(xy).all(axis=1)))} is not at a finite place.")
    return xy


def _edges(edges: ArrayLike, side: str, size: int) -> Longs:
    pairs = _numbers(edges, f"the {side} edges", "iu").reshape(-1, 2) if np.size(edges) else np.empty((0, 2))
    if pairs.size and not (pairs.min() >= 0 and pairs.max() < size):
        raise ProblemFileError(f"the {side} edges name nodes {pairs.min()} to {pairs.max()}; there are {size}, from 0.")
    return pairs.astype(np.int64)


def _numbers(values: ArrayLike, what: str, kinds: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind not in kinds or array.ndim != 2 or array.shape[1] != 2:
        raise ProblemFileError(f"{what} are {array.dtype} of shape {array.shape}; rows of two numbers are expected.")
    return array
