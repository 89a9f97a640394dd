"""Models of order 3 and 4: a feature per tuple of points, and for sampled tuples of the left view the most
similar ones of the right view (the sampling of Duchenne et al. 2011, as the paper's experiments use it).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from math import factorial, perm

import numpy as np
import scipy  # whose parts are imported when they are first used
from numpy.typing import ArrayLike, NDArray

from adgm import Sparse
from features.models.base import Model, Potential, choice, number
from features.pairs import Pair
from features.parameters import Parameter
from features.points.graphs import all_tuples, as_points, draw_tuples
from features.points.keypoints import Keypoints

Floats = NDArray[np.float64]
Tuples = NDArray[np.int64]
Feature = Callable[[Floats, Tuples], Floats]

MOST_RIGHT = 1_500_000  # ordered tuples of the right view that a search tree holds; beyond it, a seeded sample
ROUNDING = 1e-20  # squared distances below this are no differences
MOST_ENTRIES = 6_000_000  # tensor entries, all orderings counted: what a solver walks through without long waits
LIMIT = f"Fewer where the tensor would exceed {MOST_ENTRIES / 1e6:g} million entries"


# ---- features ----------------------------------------------------------------------------------------------


def angle_sines(points: Floats, triples: Tuples) -> Floats:
    """(m, 3): the sines of the angles of triangles, negative if the corners run the other way round.

    Blind to position, rotation and scale. Where two corners coincide there is no angle: 0.
    """
    corners = points[triples]
    sides = np.roll(corners, -1, axis=1) - corners
    length = np.hypot(sides[..., 0], sides[..., 1])[..., None]
    sides /= np.where(length > 0, length, 1)
    before = np.roll(sides, 1, axis=1)
    sines: Floats = before[..., 0] * sides[..., 1] - before[..., 1] * sides[..., 0]
    return sines


def area_ratios(points: Floats, quadruples: Tuples) -> Floats:
    """(m, 4): the signed areas of the four triangles of each quadruple, divided by the root of their summed
    squares.

    Entry c belongs to the triangle without corner c, with alternating signs: these are the weights λ with Σ λ
    = 0 and Σ λ p = 0. An affine map multiplies every area by its determinant, so that the ratios stay. Four
    points on a line have no areas: 0.
    """
    corners = points[quadruples]
    areas = np.stack([_doubled_area(np.delete(corners, c, axis=1)) * (-1) ** c for c in range(4)], axis=1)
    size = np.sqrt((areas**2).sum(axis=1, keepdims=True))
    # Rounding leaves tiny areas on a line; compare with what coordinates of this size can resolve.
    extent = np.ptp(corners, axis=1).max(axis=1, initial=0)[:, None]
    return np.where(size > 1e-12 * extent**2, areas / np.where(size > 0, size, 1), 0.0)


def _doubled_area(corners: Floats) -> Floats:
    (ax, ay), (bx, by) = (corners[:, 1] - corners[:, 0]).T, (corners[:, 2] - corners[:, 0]).T
    area: Floats = ax * by - ay * bx
    return area


# ---- tuples that go together -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Similar:
    """Tuples of the left view, tuples of the right view, and the similarity exp(−‖f − f'‖² / γ) of each
    two."""

    left: Tuples  # (m, D)
    right: Tuples  # (m, D)
    similarity: Floats  # (m,)

    def variables(self, n2: int) -> Tuples:
        """(m, D): the variable i1 · n2 + i2 of each point and its partner."""
        return self.left * n2 + self.right


@dataclass(frozen=True, eq=False)
class Near:
    """Left tuples, for each of them nearest right tuples, and the squared distance of their features."""

    left: Tuples  # (m, D)
    right: Tuples  # (m, D)
    squared: Floats  # (m,)
    mean: float  # of the squared distances, over left tuples as they are drawn

    def variables(self, n2: int) -> Tuples:
        """(m, D): the variable i1 · n2 + i2 of each point and its partner."""
        return self.left * n2 + self.right


def nearest_tuples(
    left: ArrayLike, right: ArrayLike, feature: Feature, tuples: Tuples, neighbours: int, seed: int
) -> Near:
    """For each left tuple its nearest neighbours, in features, among all ordered tuples of the right points.

    The mean counts repetitions in `tuples`; every tuple is kept once. No tuple uses a point twice, so that no two
    results are orderings of each other.
    """
    points1, points2 = as_points(left), as_points(right)
    order = tuples.shape[1]
    kept, times = np.unique(tuples, axis=0, return_counts=True)
    others = ordered_tuples(len(points2), order, seed)
    if len(kept) == 0 or len(others) == 0:
        raise ValueError(
            f"{len(points1)} left and {len(points2)} right points; a model of order {order} needs {order} on each side"
        )
    k = min(neighbours, len(others))
    tree = scipy.spatial.cKDTree(feature(points2, others))
    distance, nearest = tree.query(feature(points1, kept), k=k, workers=2)
    squared = distance.reshape(len(kept), k) ** 2
    mean = (squared.mean(axis=1) @ times) / times.sum()
    return Near(np.repeat(kept, k, axis=0), others[nearest.ravel()], squared.ravel(), max(float(mean), ROUNDING))


def similar_tuples(
    left: ArrayLike, right: ArrayLike, feature: Feature, tuples: Tuples, neighbours: int, seed: int
) -> Similar:
    """The similarity of each left tuple to its nearest neighbours; γ is the mean of the squared distances."""
    near = nearest_tuples(left, right, feature, tuples, neighbours, seed)
    return Similar(near.left, near.right, np.exp(-near.squared / near.mean))


def affordable(drawn: Tuples) -> int:
    """How many right tuples for each left one make a tensor that can be held."""
    return MOST_ENTRIES // (factorial(drawn.shape[1]) * max(len(np.unique(drawn, axis=0)), 1))


def ordered_tuples(n: int, order: int, seed: int) -> Tuples:
    """All tuples of different nodes in every order, or a seeded sample of MOST_RIGHT where there are more."""
    if perm(n, order) <= MOST_RIGHT:
        increasing = all_tuples(np.zeros((n, 2)), order).edges
        return np.concatenate([increasing[:, list(p)] for p in permutations(range(order))])
    drawn = draw_tuples(n, order, MOST_RIGHT, seed + 1)  # a stream of its own beside the left tuples
    number = np.random.default_rng(seed + 2).permuted(drawn, axis=1) @ n ** np.arange(order)[::-1]
    return np.stack(np.unravel_index(np.unique(number), (n,) * order), axis=1)


def sampled_terms(
    pair: Pair, *, feature: Feature, order: int, sampling: str, seed: int, tuples: int, neighbours: int
) -> list[Potential]:
    """−similarity of the tuples that go together, each stored once for all its orderings."""
    left, right = pair.left.points.xy, pair.right.points.xy
    n1, n2 = pair.shape
    if sampling == "all":
        drawn = all_tuples(left, order).edges
        neighbours = perm(n2, order)
    else:
        drawn = draw_tuples(n1, order, tuples or n1 * n2, seed)
        neighbours = neighbours or len(drawn)
    most = affordable(drawn)
    if sampling == "all" and neighbours > most:
        entries = neighbours * len(drawn) * factorial(order)
        raise ValueError(
            f"the full tensor of order {order} of {n1} and {n2} points has {entries:,} entries, more than the "
            f"{MOST_ENTRIES:,} we can hold; use random sampling or fewer points"
        )
    found = similar_tuples(left, right, feature, drawn, max(1, min(neighbours, most)), seed)
    return [Sparse(found.variables(n2), -found.similarity, symmetric=True)]


def sampled_tuples(
    left: Keypoints,
    right: Keypoints,
    feature: Feature,
    cost: Callable[[Floats, Floats], Floats],
    *,
    order: int = 3,
    per_point: int = 20,
    nearest: int = 300,
    seed: int = 0,
) -> Sparse:
    """A potential of order 3 or 4 from attributes of tuples and a sampling rule, for models of one's own.

    `feature(xy, tuples)` gives (m, k) attributes of (m, D) tuples of nodes. Random tuples of the left points, so many
    per point, are compared with the right tuples whose attributes are nearest: `cost(a, b)` takes the attributes of
    both, (m, k) each, and returns (m,). Every tuple counts in all its orderings, and what is not compared costs 0.
    """
    drawn = draw_tuples(len(left), order, per_point * len(left), seed)
    near = nearest_tuples(left.xy, right.xy, feature, drawn, max(1, min(nearest, affordable(drawn))), seed)
    costs = cost(feature(left.xy, near.left), feature(right.xy, near.right))
    return Sparse(near.variables(len(right)), costs, symmetric=True)


def sampling_parameters(tuples: str, neighbours: int, help: str) -> tuple[Parameter, ...]:
    """What the models of this file let their users choose."""
    return (
        choice("sampling", "random", ("random", "all"), f"Random {tuples}, or the full tensor for small sets"),
        number("tuples", "T", 0, (0, 100_000), 100, f"Random {tuples} of the left points; 0: n1 · n2", label="Samples"),
        number("neighbours", "K", neighbours, (0, 100_000), 100, help),
        number("seed", "", 0, (0, 2**31 - 1), 1, "Another seed, another sample"),
    )


THIRD = Model(
    label="Third order",
    orders=(3,),
    formula=r"F^3_{ijk} = -\exp\left(-\frac{\|f_{i_1j_1k_1} - f_{i_2j_2k_2}\|^2}{\gamma}\right),\quad "
    r"f = (\sin\theta_i, \sin\theta_j, \sin\theta_k),\quad \gamma = \text{mean of all } \|f - f'\|^2",
    sense="similarity",
    use="Any position, rotation and scale: compares the angles of triangles.",
    terms=partial(sampled_terms, feature=angle_sines, order=3),
    parameters=sampling_parameters(
        "triples", 0, f"Most similar right triples kept for each left one; 0: as many as samples. {LIMIT}"
    ),
)

AFFINE = Model(
    label="Affine, fourth order",
    orders=(4,),
    formula=r"F^4_{ijkl} = -\exp\left(-\frac{\|\lambda_{i_1j_1k_1l_1} - \lambda_{i_2j_2k_2l_2}\|^2}{\gamma}\right),"
    r"\quad \lambda \propto \left([jkl], -[ikl], [ijl], -[ijk]\right),\ \|\lambda\| = 1,\ "
    r"[ijk] = \text{signed area}",
    sense="similarity",
    use="A plane seen at a slant, stretched or sheared: area ratios survive any affine map, angles do not.",
    terms=partial(sampled_terms, feature=area_ratios, order=4),
    parameters=sampling_parameters(
        "quadruples", 100, f"Most similar right quadruples kept for each left one; 0: as many as samples. {LIMIT}"
    ),
)
