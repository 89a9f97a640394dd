"""Cells: large sparse problems, generated, with the sizes and densities of the benchmark's worms and pairs.

Those sets match some 550 cell nuclei of a worm to an atlas or to another worm, with 20 to 50 candidates for each. These
are not those: points at random in a long body, and the same points bent smoothly and disturbed, beside others that only
one side has. A node's candidates are the nearest of the other side. A match costs what its own displacement says and
earns a fixed reward; two matches of neighbours cost what the difference of their displacements says:

    |q_s − p_i|² / b² − r        and        min(|(q_s − p_i) − (q_t − p_j)|² / σ², cap)

where b² and σ² are what these squares are in the mean for true matches, as an atlas knows. The planted matching is the
truth. It is not the optimum by construction: two that only one side has may fit each other by chance, and usually a few
do, so that another matching costs less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # whose parts are imported when they are first used
from numpy.typing import NDArray

from adgm import Dense, Problem, Sparse
from adgm.machine.deadline import check_time
from features.datasets.base import Dataset
from features.limits import LIMITS
from features.pairs import Pair, View
from features.parameters import Parameter, seed_parameter
from features.points.images import Image, from_array
from features.points.keypoints import Keypoints

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]

SIZE = (900, 300)  # pixels of the body
MARGIN = 60  # around it: what is bent stays inside
SHEET = (240, 243, 247)
DARTS = 12  # places tried for a point
WAVES = 3  # of the bend, each way
REWARD = 10.0  # for a match
CAP = 5.0  # of what two matches of neighbours cost


@dataclass(frozen=True)
class Body:
    """The parameters of the data set; `CELLS.parameters` says what they mean."""

    nodes: int
    left_outliers: int
    outliers: int
    candidates: int
    neighbours: int
    bend: float
    noise: float
    seed: int


def load(*, images: bool, **values: Any) -> Pair:
    """Those that both sides have first, then those of one side alone."""
    chosen = Body(**values)
    n1, n2, candidates = chosen.nodes + chosen.left_outliers, chosen.nodes + chosen.outliers, chosen.candidates
    refuse_too_many(n1, n2, min(chosen.neighbours, n1 - 1) * n1 * min(candidates, n2) ** 2)
    rng = np.random.default_rng([chosen.seed, 9])
    spacing = float(np.sqrt(SIZE[0] * SIZE[1] / n2))
    body = MARGIN + spread(n1 + chosen.outliers, rng)
    left, there = body[:n1], np.delete(body, np.s_[chosen.nodes : n1], axis=0)
    moved = there + spacing * (chosen.bend * waves(there, rng) + rng.normal(0, chosen.noise, there.shape))
    right = np.clip(moved, 0, np.array(SIZE) + 2 * MARGIN - 1)
    truth = np.concatenate([np.arange(chosen.nodes), np.full(chosen.left_outliers, -1)])
    problem = sparse_problem(left, right, truth, candidates, chosen.neighbours)
    picture = sheet() if images else None
    views = [View(picture, Keypoints(points)) for points in (left, right)]
    name = f"Generated cells, {len(left)} and {len(right)}, {candidates} candidates"
    return Pair(views[0], views[1], truth, name, given=problem)


def refuse_too_many(n1: int, n2: int, costs: int) -> None:
    """Before anything is generated: the largest of these problems take ten gigabytes to make."""
    if n1 * n2 > LIMITS.node_pairs or costs > LIMITS.pair_costs:
        raise ValueError(
            f"These {n1:,} and {n2:,} cells have up to {costs:,} costs of two candidates together; at most "
            f"{LIMITS.pair_costs:,}, and {LIMITS.node_pairs:,} pairs of cells, are accepted. Take fewer cells, "
            "candidates or neighbours."
        )


def spread(count: int, rng: np.random.Generator) -> Floats:
    """Points in the body that keep their distance: each the farthest from those before it among a few at random."""
    points = np.empty((count, 2))
    for k in range(count):
        check_time()
        tried = rng.uniform(0, SIZE, (DARTS, 2))
        apart = ((tried[:, None] - points[:k]) ** 2).sum(axis=2).min(axis=1, initial=np.inf)
        points[k] = tried[np.argmax(apart)]
    return points


def waves(points: Floats, rng: np.random.Generator) -> Floats:
    """A smooth displacement of about one, different along the body."""
    total = np.zeros_like(points)
    for _ in range(WAVES):
        direction, phase = rng.normal(0, np.pi / SIZE[0], 2), rng.uniform(0, 2 * np.pi)
        total += np.sin(points @ direction + phase)[:, None] * rng.normal(0, 1, 2)
    scaled: Floats = total / np.sqrt(WAVES)
    return scaled


def sparse_problem(left: Floats, right: Floats, truth: Longs, candidates: int, neighbours: int) -> Problem:
    """Costs of the candidates, and of every two candidates of neighbours; both sides take at most one."""
    n1, n2 = len(left), len(right)
    nearest = nearest_of(left, right, candidates)
    lost = (truth >= 0) & ~(nearest == truth[:, None]).any(axis=1)
    nearest[lost, -1] = truth[lost]  # the planted partner is always a candidate
    mask = np.zeros((n1, n2), bool)
    np.put_along_axis(mask, nearest, True, axis=1)
    ties = nearest_of(left, left, neighbours + 1)[:, 1:]
    pairs = np.stack([np.repeat(np.arange(n1), ties.shape[1]), ties.ravel()], axis=1)
    i, j = np.unique(np.sort(pairs, axis=1), axis=0).T
    shift = right[nearest] - left[:, None]  # of every candidate, (n1, candidates, 2)
    true = np.where(truth[:, None] >= 0, right[truth] - left, np.nan)
    unary = np.zeros((n1, n2))
    np.put_along_axis(unary, nearest, (shift**2).sum(axis=2) / usual(true) - REWARD, axis=1)
    check_time()
    apart = ((shift[i][:, :, None] - shift[j][:, None]) ** 2).sum(axis=3)
    costs = np.minimum(apart / usual(true[i] - true[j]), CAP)
    one, other = np.broadcast_arrays(nearest[i][:, :, None], nearest[j][:, None])
    index = np.stack([(i[:, None, None] * n2 + one).ravel(), (j[:, None, None] * n2 + other).ravel()], axis=1)
    together = (one != other).ravel()
    check_time()
    quadratic = Sparse(index[together], costs.ravel()[together] / 2, symmetric=True)
    return Problem((n1, n2), [Dense(unary), quadratic], candidates=mask)


def usual(shifts: Floats) -> float:
    """The mean square of those that are known."""
    square = (shifts[~np.isnan(shifts).any(axis=1)] ** 2).sum(axis=1)
    return max(float(square.mean()) if square.size else 0.0, 1.0)


def nearest_of(points: Floats, others: Floats, count: int) -> Longs:
    """(n, count): the nearest others of every point, the nearest first."""
    count = min(count, len(others))
    found: Longs = scipy.spatial.cKDTree(others).query(points, count)[1].reshape(len(points), count).astype(np.int64)
    return found


def sheet() -> Image:
    width, height = (side + 2 * MARGIN for side in SIZE)
    return from_array(np.full((height, width, 3), SHEET, np.uint8))


CELLS = Dataset(
    key="cells",
    label="Cells (generated)",
    description="Generated: cells in a body and their bent copy, few candidates each; large sparse problems.",
    builtin=True,
    parameters=(
        Parameter("nodes", "Cells", "int", 100, "Points that both sides have.", 2, 1000),
        Parameter("left_outliers", "Left outliers", "int", 5, "Points that only the left side has.", 0, 1000),
        Parameter("outliers", "Outliers", "int", 10, "Points that only the right side has.", 0, 1000),
        Parameter("candidates", "Candidates", "int", 10, "Of every left point: the nearest right ones.", 1, 60),
        Parameter("neighbours", "Neighbours", "int", 6, "Whose displacements are compared.", 1, 20),
        Parameter("bend", "Bend", "float", 1.0, "How far points move together, in their spacing.", 0, 3),
        Parameter("noise", "Noise", "float", 0.1, "How far each moves on its own, in their spacing.", 0, 1),
        seed_parameter("Another seed, other points in another order"),
    ),
    make=load,
)
