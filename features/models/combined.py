"""The combined model: a weighted sum of terms of order 1, 2 and 3, with a price for leaving points unmatched."""

from dataclasses import dataclass
from functools import partial
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adgm import Dense, Formula, Sparse
from features.models.base import Model, Potential, choice, number
from features.models.pairwise import LENGTH_AND_ANGLE, edge_vectors, linear_cost
from features.models.sampled import angle_sines, similar_tuples
from features.pairs import Pair
from features.points.descriptors import DESCRIPTORS
from features.points.graphs import GRAPHS

Floats = NDArray[np.float64]

EDGES = tuple(key for key, kind in GRAPHS.items() if kind.order == 2)
TRIANGLES = tuple(key for key, kind in GRAPHS.items() if kind.order == 3)


def neighbour_cost(a: Floats, b: Floats, *, eta: float, weight: float) -> Floats:
    """Model C's cost, weighted."""
    return weight * linear_cost(a, b, eta=eta)


@dataclass(frozen=True)
class Choice:
    """The parameters of the model; `COMBINED.parameters` says what they mean."""

    unmatched: float
    w1: float
    descriptor: str
    w2: float
    graph: str
    eta: float
    w3: float
    triangles: str
    neighbours: int
    seed: int


def terms(pair: Pair, **values: Any) -> list[Potential]:
    """Unary, pairwise and third-order terms, each divided by how often a matched point meets it.

    So a weight is what one point contributes, whatever the number of points, edges and triangles. Leaving n1 + n2 − 2m
    points unmatched costs u/2 each; up to a constant that is −u for each of the m matches, taken from the unary costs.
    """
    chosen = Choice(**values)
    unary = (
        chosen.w1 * DESCRIPTORS[chosen.descriptor].cost(pair.left, pair.right) if chosen.w1 else np.zeros(pair.shape)
    )
    potentials: list[Potential] = [Dense(unary - chosen.unmatched)]
    if chosen.w2:
        potentials.append(_edges(pair, chosen))
    if chosen.w3:
        potentials.append(_triangles(pair, chosen))
    return potentials


def _edges(pair: Pair, chosen: Choice) -> Formula:
    """Where either edge belongs to its graph (either: see model A)."""
    points = [view.points.xy for view in (pair.left, pair.right)]
    graphs = [GRAPHS[chosen.graph].build(xy) for xy in points]
    degree = min(2 * len(one) / one.size for one in graphs) or 1.0
    left, right = (edge_vectors(xy) for xy in points)
    cost = partial(neighbour_cost, eta=chosen.eta, weight=chosen.w2 / degree)
    return Formula(left, right, cost, left_edges=graphs[0].edges, right_edges=graphs[1].edges, where="either")


def _triangles(pair: Pair, chosen: Choice) -> Sparse:
    """Rewards, not costs: triples that are not among the neighbours count as not similar at all."""
    left, right = pair.left.points.xy, pair.right.points.xy
    options = {"seed": chosen.seed} if chosen.triangles == "random_triangles" else {}
    triples = GRAPHS[chosen.triangles].build(left, **options).edges
    found = similar_tuples(left, right, angle_sines, triples, chosen.neighbours, chosen.seed)
    per_point = chosen.w3 * len(left) / (factorial(3) * len(triples))
    return Sparse(found.variables(len(right)), -per_point * found.similarity, symmetric=True)


COMBINED = Model(
    label="Combined",
    orders=(1, 2, 3),
    weights={"w2": 2, "w3": 3},
    formula=r"F^1_i = w_1\,c(i_1, i_2) - u,\quad F^2_{ij} = \frac{w_2}{\bar d}\left(\eta\,\delta"
    r" + (1-\eta)\,\frac{1 - \cos\alpha}{2}\right),\quad "
    r"F^3_{ijk} = -\frac{w_3\,n_1}{6\,T}\exp\left(-\frac{\|f - f'\|^2}{\gamma}\right),\quad " + LENGTH_AND_ANGLE,
    sense="cost",
    use="Your own photographs, where points are missing on both sides: appearance, edges and triangles in one sum.",
    terms=terms,
    parameters=(
        number("unmatched", "u", 0.9, (0, 10), 0.05, "Price of a match not made: higher means more matches"),
        number("w1", "w_1", 1.0, (0, 10), 0.1, "Weight of the descriptors", label="Points"),
        choice("descriptor", "shape_context", tuple(DESCRIPTORS), "What is compared around the points"),
        number("w2", "w_2", 2.0, (0, 10), 0.1, "Weight of the edges", label="Edges"),
        choice("graph", "delaunay", EDGES, "Which edges count"),
        number("eta", r"\eta", 0.5, (0, 1), 0.05, "Length against direction: 1 looks at lengths only", paper=0.5),
        number("w3", "w_3", 0.0, (0, 10), 0.1, "Weight of the triangles; 0 leaves them out", label="Triangles"),
        choice("triangles", "delaunay_triangles", TRIANGLES, "Which left triangles count"),
        number("neighbours", "K", 300, (1, 10_000), 100, "Most similar right triples kept for each left one"),
        number("seed", "", 0, (0, 2**31 - 1), 1, "Another seed, another sample of random triples"),
    ),
    optional=True,
)
