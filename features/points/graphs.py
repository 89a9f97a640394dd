"""Graphs over points: which pairs, triples and quadruples of points a model compares.

One record for every order: the rows of `Graph.edges` are pairs, triples or quadruples of nodes. `GRAPHS`
names the ways to draw them; `GRAPHS[key].build(xy, **options)` works for any number of points, also collinear
or coincident ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb

import numpy as np
import scipy  # whose parts are imported when they are first used
from numpy.typing import ArrayLike, NDArray

MOST_EDGES = 5_000_000  # beyond this a list of edges no longer fits beside the solver in a laptop's memory
FLAT = 1e-9  # points whose spread across a line is this small a part of their spread along it are collinear


@dataclass(frozen=True, eq=False)
class Graph:
    """`size` nodes and undirected edges (m, order): each row increasing, rows sorted, no row twice."""

    size: int
    edges: NDArray[np.int64]

    def __post_init__(self) -> None:
        edges = np.asarray(self.edges, dtype=np.int64)
        if edges.ndim != 2 or edges.shape[1] < 2:
            raise ValueError(f"edges have the shape (number of edges, order ≥ 2), not {edges.shape}")
        if edges.size and not (edges.min() >= 0 and edges.max() < self.size):
            raise ValueError(f"edges name nodes {edges.min()} to {edges.max()} of a graph with {self.size} nodes")
        edges = np.unique(np.sort(edges, axis=1), axis=0)
        if (edges[:, 1:] == edges[:, :-1]).any():
            raise ValueError("an edge uses the same node twice; the nodes of an edge must differ")
        edges.flags.writeable = False
        object.__setattr__(self, "edges", edges)

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def order(self) -> int:
        return int(self.edges.shape[1])

    def adjacency(self) -> NDArray[np.bool_]:
        """(size, size), symmetric: whether two nodes share an edge, of whatever order."""
        near = np.zeros((self.size, self.size), dtype=bool)
        for a, b in combinations(range(self.order), 2):
            near[self.edges[:, a], self.edges[:, b]] = near[self.edges[:, b], self.edges[:, a]] = True
        return near


def as_points(xy: ArrayLike) -> NDArray[np.float64]:
    """The points as finite (n, 2) numbers, or an error that says what they are instead."""
    points = np.asarray(xy, dtype=np.float64)
    if points.size == 0:
        return points.reshape(0, 2)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"points are rows of x and y, an array of shape (n, 2), not {points.shape}")
    if not np.isfinite(points).all():
        bad = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise ValueError(f"point {bad} is {tuple(points[bad].tolist())}; coordinates must be finite numbers")
    return points


def from_adjacency(near: NDArray[np.bool_]) -> Graph:
    return Graph(len(near), np.argwhere(np.triu(near, 1)))


# ---- pairs -------------------------------------------------------------------------------------------------


def complete(xy: ArrayLike) -> Graph:
    """Every two points."""
    return all_tuples(xy, order=2)


def delaunay(xy: ArrayLike) -> Graph:
    """The sides of Delaunay's triangles. Collinear points make a chain, which is what the triangulation tends
    to; points at the same place are joined to each other and share the neighbours of their place."""
    places, place_of = _places(as_points(xy))
    near = np.eye(len(places), dtype=bool)
    triangles, stray = _triangulate(places)
    if len(triangles):
        near |= Graph(len(places), triangles).adjacency()
    else:
        chain = np.lexsort(places.T[::-1])
        near[chain[1:], chain[:-1]] = near[chain[:-1], chain[1:]] = True
    near[stray[:, 0], stray[:, 1]] = near[stray[:, 1], stray[:, 0]] = True
    return from_adjacency(near[np.ix_(place_of, place_of)])


def nearest(xy: ArrayLike, k: int = 5) -> Graph:
    """Two points are joined when one is among the k nearest of the other."""
    points = as_points(xy)
    if k < 1:
        raise ValueError(f"k-nearest neighbours needs k of at least 1, not {k}")
    n = len(points)
    if k >= n - 1:
        return complete(points)
    _, found = scipy.spatial.cKDTree(points).query(points, k=k + 1)
    # A point is usually its own nearest; where coincident points hide it, the last of the list goes instead.
    own = found == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    return Graph(n, np.column_stack([np.repeat(np.arange(n), k), found[~own]]))


def radius(xy: ArrayLike, radius: float | None = None) -> Graph:
    """Points at most `radius` pixels apart; without a number, half the mean distance of two points."""
    points = as_points(xy)
    if len(points) < 2:
        return Graph(len(points), np.empty((0, 2), dtype=np.int64))
    distance = scipy.spatial.distance.squareform(scipy.spatial.distance.pdist(points))
    if radius is None:
        radius = distance.sum() / (len(points) * (len(points) - 1)) / 2
    if not radius >= 0:
        raise ValueError(f"a radius is a number of pixels, 0 or more, not {radius}")
    return from_adjacency(distance <= radius)


# ---- triples and quadruples --------------------------------------------------------------------------------


def delaunay_triangles(xy: ArrayLike) -> Graph:
    """Delaunay's triangles; none for collinear points. At each place the first point stands for its twins."""
    points = as_points(xy)
    places, place_of = _places(points)
    triangles, _ = _triangulate(places)
    first = np.full(len(places), len(points), dtype=np.int64)
    np.minimum.at(first, place_of, np.arange(len(points)))
    return Graph(len(points), first[triangles])


def all_tuples(xy: ArrayLike, order: int = 3) -> Graph:
    """Every `order` different points."""
    n = len(as_points(xy))
    count = comb(n, order)
    if count > MOST_EDGES:
        raise ValueError(
            f"{n} points have {count:,} different tuples of order {order}, more than the "
            f"{MOST_EDGES:,} we can hold; use fewer points or random tuples"
        )
    flat = np.fromiter((i for t in combinations(range(n), order) for i in t), dtype=np.int64, count=count * order)
    return Graph(n, flat.reshape(count, order))


def random_tuples(xy: ArrayLike, count: int | None = None, seed: int = 0, order: int = 3) -> Graph:
    """`count` draws of `order` different points (default: as many as the square of the number of points);
    equal draws are kept once, so that fewer may come back."""
    points = as_points(xy)
    drawn = draw_tuples(len(points), order, len(points) ** 2 if count is None else count, seed)
    return Graph(len(points), drawn)


def draw_tuples(n: int, order: int, count: int, seed: int) -> NDArray[np.int64]:
    """(count, order) random tuples of different nodes out of n, each row increasing; rows may repeat.

    Too few nodes for a tuple give none.
    """
    if count < 0:
        raise ValueError(f"the number of random tuples is 0 or more, not {count}")
    if n < order:
        return np.empty((0, order), dtype=np.int64)
    rng = np.random.default_rng(seed)
    drawn = np.empty((count, 0), dtype=np.int64)
    for taken in range(order):
        new = rng.integers(n - taken, size=count)  # a rank among the nodes not yet taken …
        for used in drawn.T:  # … whose number grows by one for every taken node below it
            new += new >= used
        drawn = np.sort(np.column_stack([drawn, new]), axis=1)
    return drawn


# ---- the registry ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GraphKind:
    """A way to draw a graph over points: `build(xy, **options) -> Graph` of this order."""

    label: str
    order: int
    build: Callable[..., Graph]
    note: str


GRAPHS: dict[str, GraphKind] = {
    "complete": GraphKind("Complete", 2, complete, "every pair of points"),
    "delaunay": GraphKind("Delaunay", 2, delaunay, "neighbours only: sparse, planar, robust to scale"),
    "nearest": GraphKind("k nearest", 2, nearest, "each point with its k nearest ones"),
    "radius": GraphKind("Radius", 2, radius, "points closer than a distance in pixels"),
    "delaunay_triangles": GraphKind("Delaunay triangles", 3, delaunay_triangles, "about two per point"),
    "random_triangles": GraphKind("Random triples", 3, random_tuples, "a seeded sample"),
    "all_triangles": GraphKind("All triples", 3, all_tuples, "every one; up to some 50 points"),
    "random_quadruples": GraphKind("Random quadruples", 4, partial(random_tuples, order=4), "a seeded sample"),
    "all_quadruples": GraphKind("All quadruples", 4, partial(all_tuples, order=4), "every one; up to some 20"),
}


# ---- degenerate input --------------------------------------------------------------------------------------


def _places(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The different places of the points, and the place of every point."""
    places, place_of = np.unique(points, axis=0, return_inverse=True)
    return places, place_of.reshape(-1)


def _triangulate(places: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Delaunay's triangles of different points; (point, nearest vertex) of the points that rounding left out.

    No triangles when the points lie on one line, up to rounding.
    """
    none = np.empty((0, 3), dtype=np.int64), np.empty((0, 2), dtype=np.int64)
    if len(places) < 3:
        return none
    centred = places - places.mean(axis=0)
    along, across = np.linalg.svd(centred, compute_uv=False)
    if across <= FLAT * along:
        return none
    # Unit scale and zero mean: Qhull's tolerances are absolute.
    mesh = scipy.spatial.Delaunay(centred / np.abs(centred).max())
    return mesh.simplices.astype(np.int64), mesh.coplanar[:, [0, 2]].astype(np.int64)
