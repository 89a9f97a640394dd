"""Graphs over points: against slow oracles, and on the awkward point sets that users bring."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from features.points.graphs import GRAPHS, Graph, all_tuples, draw_tuples, random_tuples
from oracles_features import delaunay_edges, nearest_edges

AWKWARD = {
    "no point": np.empty((0, 2)),
    "one point": np.array([[3.0, 4.0]]),
    "two points": np.array([[0.0, 0.0], [1.0, 2.0]]),
    "three points": np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
    "a line": np.array([[0.1 * t, 0.3 * t] for t in (3, 1, 4, 0, 7)]),
    "a vertical line": np.array([[5.0, t] for t in (3, 1, 4, 0, 7)]),
    "twins": np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [3.0, 3.0]]),
    "one place": np.full((6, 2), 2.5),
    "two places": np.repeat([[0.0, 0.0], [1.0, 1.0]], 3, axis=0),
    "a grid": np.stack(np.meshgrid(range(4), range(4)), axis=-1).reshape(-1, 2).astype(float),
    "far away": np.random.default_rng(1).random((8, 2)) + 1e7,
}


def edge_set(graph):
    return set(map(tuple, graph.edges.tolist()))


def some_points(n=12, seed=0):
    return np.random.default_rng(seed).uniform(0, 100, (n, 2))


def connected(adjacency):
    reached = np.linalg.matrix_power(adjacency.astype(float) + np.eye(len(adjacency)), max(len(adjacency), 1))
    return bool((reached > 0).all())


@pytest.mark.parametrize("points", AWKWARD.values(), ids=AWKWARD.keys())
@pytest.mark.parametrize("kind", GRAPHS)
def test_every_graph_of_every_awkward_point_set_is_sound(kind, points):
    graph = GRAPHS[kind].build(points)
    assert graph.size == len(points)
    assert graph.order == GRAPHS[kind].order
    assert (np.diff(graph.edges, axis=1) > 0).all()
    assert len(edge_set(graph)) == len(graph) <= comb(len(points), graph.order)


@pytest.mark.parametrize("points", AWKWARD.values(), ids=AWKWARD.keys())
def test_a_delaunay_graph_is_connected(points):
    assert connected(GRAPHS["delaunay"].build(points).adjacency())


@settings(deadline=None, derandomize=True, max_examples=60)
@given(arrays(np.float64, st.tuples(st.integers(0, 9), st.just(2)), elements=st.integers(0, 3).map(float)))
def test_crowded_grids_never_break_a_graph(points):
    for kind in GRAPHS.values():
        assert kind.build(points).order == kind.order
    assert connected(GRAPHS["delaunay"].build(points).adjacency())


@pytest.mark.parametrize("seed", range(5))
def test_delaunay_is_the_empty_circle_property(seed):
    points = some_points(seed=seed)
    expected = delaunay_edges(points.tolist())
    assert edge_set(GRAPHS["delaunay"].build(points)) == expected
    assert edge_set(GRAPHS["delaunay"].build(points * 1e-6 + 1e3)) == expected
    triangles = GRAPHS["delaunay_triangles"].build(points)
    assert np.array_equal(triangles.adjacency(), GRAPHS["delaunay"].build(points).adjacency())


def test_collinear_points_make_a_chain_and_no_triangle():
    points = AWKWARD["a line"]  # in the order 0, 1, 3, 4, 7 along the line: points 3, 1, 0, 2, 4
    assert edge_set(GRAPHS["delaunay"].build(points)) == {(1, 3), (0, 1), (0, 2), (2, 4)}
    assert len(GRAPHS["delaunay_triangles"].build(points)) == 0


def test_twins_are_joined_and_share_their_neighbours():
    near = GRAPHS["delaunay"].build(AWKWARD["twins"]).adjacency()
    assert near[1, 3]
    others = [0, 2, 4]
    assert np.array_equal(near[1, others], near[3, others])
    assert 3 not in GRAPHS["delaunay_triangles"].build(AWKWARD["twins"]).edges


@pytest.mark.parametrize("k", [1, 2, 5, 11, 40])
def test_nearest_neighbours_against_sorting(k):
    points = some_points()
    assert edge_set(GRAPHS["nearest"].build(points, k=k)) == nearest_edges(points.tolist(), k)


def test_radius_is_a_closed_ball_and_defaults_to_half_the_mean_distance():
    points = np.array([[0.0, 0.0], [3.0, 4.0], [10.0, 0.0]])
    assert edge_set(GRAPHS["radius"].build(points, radius=5)) == {(0, 1)}
    assert edge_set(GRAPHS["radius"].build(points, radius=10)) == {(0, 1), (0, 2), (1, 2)}
    assert edge_set(GRAPHS["radius"].build(points)) == set()  # distances 5, 10, 8.06: half their mean is 3.8


def test_all_tuples_are_all():
    points = some_points(7)
    for key, order in (("complete", 2), ("all_triangles", 3), ("all_quadruples", 4)):
        graph = GRAPHS[key].build(points)
        assert len(graph) == comb(7, order)
        assert graph.adjacency().sum() == 7 * 6


def test_random_tuples_follow_the_seed_and_cover_everything_evenly():
    drawn = draw_tuples(6, 3, 20_000, seed=3)
    assert np.array_equal(drawn, draw_tuples(6, 3, 20_000, seed=3))
    assert not np.array_equal(drawn, draw_tuples(6, 3, 20_000, seed=4))
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == comb(6, 3)
    assert np.abs(counts / 1000 - 1).max() < 0.15  # 1000 ± 4.9 standard deviations
    assert len(random_tuples(some_points(6), count=5, seed=0)) <= 5
    assert random_tuples(some_points(6), order=4).order == 4


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GRAPHS["nearest"].build(some_points(), k=0), "k of at least 1, not 0"),
        (lambda: GRAPHS["radius"].build(some_points(), radius=-2), "not -2"),
        (lambda: GRAPHS["radius"].build(some_points(), radius=float("nan")), "not nan"),
        (lambda: GRAPHS["delaunay"].build([[0, 0], [1, np.nan]]), "point 1"),
        (lambda: GRAPHS["complete"].build([1, 2, 3]), "shape"),
        (lambda: all_tuples(some_points(200), order=4), "64,684,950"),
        (lambda: random_tuples(some_points(), count=-1), "not -1"),
        (lambda: Graph(3, np.array([[0, 3]])), "3 nodes"),
        (lambda: Graph(3, np.array([[1, 1]])), "same node twice"),
        (lambda: Graph(3, np.array([1, 2])), "shape"),
    ],
)
def test_errors_name_the_value(make, words):
    with pytest.raises(ValueError, match=words):
        make()
