"""Two networkx graphs as a pair that brings its problem; networkx itself is not imported for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from adgm import AT_MOST_ONE, EXACTLY_ONE, Dense, Formula, Problem
from adgm.potentials import Potential
from features.files.problem_files.drawing import as_pair
from features.files.problem_files.record import ProblemFile, check_shape
from features.pairs import Pair, TruthSource, as_truth

WEIGHT, PLACE = "weight", "pos"  # what networkx calls an edge's weight and a node's position

Floats = NDArray[np.float64]


@runtime_checkable
class Graph(Protocol):
    """What a networkx graph, directed or not, can do, as far as it is needed here."""

    nodes: Any
    edges: Any
    adj: Any

    def is_directed(self) -> bool: ...


def graph_pair(left: Graph, right: Graph, truth: TruthSource = None, name: str | None = None) -> Pair:
    """Two networkx graphs as a pair with its problem: where they disagree about an edge, that costs.

    Nodes are numbered in the order of ``graph.nodes``. Matching i to s and j to t costs the squared difference of the
    weights of i → j and s → t, in both directions; an edge that is not there weighs 0, one without a weight 1. The
    smaller graph is matched completely. Positions (the attribute ``pos``, where all nodes have one) are only drawn.
    """
    a, b = weights(left), weights(right)
    shape = check_shape((len(a), len(b)))
    loops = (np.diag(a)[:, None] - np.diag(b)) ** 2
    edges = [np.argwhere(np.triu((w != 0) | (w.T != 0), 1)) for w in (a, b)]
    potentials: list[Potential] = [Dense(loops)] if loops.any() else []
    potentials.append(
        Formula(
            a,
            b,
            lambda one, other: ((one - other) ** 2)[..., 0],
            symmetric=bool((a == a.T).all() and (b == b.T).all()),
            left_edges=edges[0],
            right_edges=edges[1],
        )
    )
    rows, cols = (EXACTLY_ONE if size == min(shape) else AT_MOST_ONE for size in shape)
    problem = Problem(shape, potentials, rows, cols)
    known = as_truth(truth, shape)
    file = ProblemFile(
        problem,
        left_points=places(left),
        right_points=places(right),
        truth=None if known is None else np.asarray(known),
        name=name or "two graphs",
    )
    return replace(as_pair(file), given=problem)


def weights(graph: Graph) -> Floats:
    """The weights of a graph's edges, n × n; parallel edges add up, one without a weight counts 1."""
    number = {node: k for k, node in enumerate(graph.nodes)}
    found = np.zeros((len(number), len(number)))
    for one, other, weight in graph.edges(data=WEIGHT, default=1.0):
        try:
            found[number[one], number[other]] += float(weight)
        except (TypeError, ValueError) as error:
            raise ValueError(f"The edge {one!r} – {other!r} weighs {weight!r}; expected a number.") from error
    return found if graph.is_directed() else found + found.T - np.diag(np.diag(found))


def places(graph: Graph) -> Floats | None:
    """The positions of the nodes, n × 2; None unless every node has one."""
    told = [place for _, place in graph.nodes(data=PLACE)]
    if any(place is None or len(place) != 2 for place in told):
        return None
    return np.array(told, np.float64).reshape(-1, 2)
