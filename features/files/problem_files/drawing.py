"""A problem as two graphs to look at: positions as given, or laid out from the costs, the same every time."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from adgm import Formula, Problem
from adgm.costs.koopmans_beckmann import factors
from features.files.problem_files.record import Floats, Longs, ProblemFile
from features.pairs import Pair, own_pair
from features.points.keypoints import Keypoints

SIZE = 600.0  # pixels: the side of the square that a layout fills
MARGIN = 30.0
MOST_SPECTRAL = 1500  # nodes: beyond this the eigenvectors take longer than anybody looks
MOST_SPRINGS = 400
STEPS = 120
EDGES_PER_NODE = 3  # strongest ones drawn where nearly everybody is tied to everybody


def as_pair(file: ProblemFile) -> Pair:
    """The problem as a pair that brings it along: images and points as given; sides without points are laid out."""
    images, points = list(file.images), [file.left_points, file.right_points]
    if any(xy is None for xy in points):
        for side, weight in enumerate(side_weights(file.problem)):
            if points[side] is None:
                images[side], points[side] = None, layout(weight)
    left, right = (Keypoints(xy) for xy in points if xy is not None)
    pair = own_pair((images[0], images[1]), (left, right), truth=file.truth, name=file.name)
    return replace(pair, given=file.problem)


def graphs(file: ProblemFile) -> tuple[Longs, Longs]:
    """The edges to draw on either side: the neighbours as given, else what the costs tie most strongly."""
    given = file.left_edges, file.right_edges
    if given[0] is not None and given[1] is not None:
        return given[0], given[1]
    weights = side_weights(file.problem)
    left, right = (strongest(weight) if edges is None else edges for edges, weight in zip(given, weights, strict=True))
    return left, right


def side_weights(problem: Problem) -> tuple[Floats, Floats]:
    """How strongly every two nodes of a side are tied: the sum of the absolute costs that both have a part in."""
    n1, n2 = problem.shape
    left, right = np.zeros((n1, n1)), np.zeros((n2, n2))
    row, col = problem.layout.row, problem.layout.col
    for potential in problem.potentials:
        if (known := factors(potential)) is not None:
            left += np.abs(known[0])
            right += np.abs(known[1])
        elif not isinstance(potential, Formula) or potential.on_edges:  # else it ties all to all
            index, cost, _ = potential.entries(problem.layout)
            for one, other in combinations(index.T, 2):
                np.add.at(left, (row[one], row[other]), np.abs(cost))
                np.add.at(right, (col[one], col[other]), np.abs(cost))
    for weight in (left, right):
        weight += weight.T.copy()
        np.fill_diagonal(weight, 0.0)
    return left, right


def strongest(weight: Floats) -> Longs:
    """The edges of a side, (m, 2), the smaller node first: all if they are few, else the strongest."""
    i, j = np.nonzero(np.triu(weight, 1))
    most = EDGES_PER_NODE * len(weight)
    order = np.argsort(-weight[i, j], kind="stable")[: len(i) if len(i) <= 2 * most else most]
    return np.stack([i, j], axis=1)[np.sort(order)].astype(np.int64)


def layout(weight: Floats) -> Floats:
    """Places for the nodes of a weighted graph: tied ones near each other, all within a square.

    The eigenvectors of the smallest eigenvalues of the normalised Laplacian begin (a circle where there are none);
    springs along the edges and a mutual repulsion (Fruchterman and Reingold, 1991) spread what they heap up.
    """
    n = len(weight)
    turn = 2 * np.pi * np.arange(n) / n
    places = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    if weight.any() and 4 <= n <= MOST_SPECTRAL:
        places = 0.1 * places + _unit(_spectral(weight))
    if weight.any() and n <= MOST_SPRINGS:
        places = _springs(places, weight / weight.max())
    return MARGIN + (SIZE - 2 * MARGIN) * _unit(places)


def _spectral(weight: Floats) -> Floats:
    degree = np.maximum(weight.sum(axis=1), 1e-9 * weight.max())
    scaled = weight / np.sqrt(np.outer(degree, degree))
    _, vectors = np.linalg.eigh(np.eye(len(weight)) - scaled)
    chosen = vectors[:, 1:3] / np.sqrt(degree)[:, None]
    peak = np.argmax(np.abs(np.round(chosen, 9)), axis=0)  # a sign of their own eigenvectors do not have
    directed: Floats = chosen * np.sign(chosen[peak, (0, 1)])
    return directed


def _springs(places: Floats, weight: Floats) -> Floats:
    n = len(places)
    ideal = 1 / np.sqrt(n)
    pull = np.sqrt(weight)
    pull *= min(1.0, 4 * n / max(pull.sum(), 1e-12))  # or where all are tied, all would fall on one spot
    for heat in np.linspace(0.1, 0.002, STEPS):
        difference = places[:, None] - places[None]
        distance = np.maximum(np.hypot(difference[..., 0], difference[..., 1]), 1e-6)
        force = ideal**2 / distance**2 - pull * distance / ideal
        step = np.einsum("ij,ijk->ik", force, difference)
        length = np.maximum(np.hypot(step[:, 0], step[:, 1]), 1e-12)
        places = places + step / length[:, None] * np.minimum(length, heat)[:, None]
    return places


def _unit(places: Floats) -> Floats:
    """Moved and scaled, the same along both axes, into the unit square."""
    low, high = places.min(axis=0), places.max(axis=0)
    span = float((high - low).max()) or 1.0
    unit: Floats = (places - (low + high) / 2) / span + 0.5
    return unit
