"""Problems from the arrays of a deep matcher and back: the same energies, or a sentence."""

import numpy as np
import pytest

from adgm import EXACTLY_ONE, Dense, Formula, Problem, Sparse
from oracles import matchings

RNG = np.random.default_rng(5)
EDGES = np.array([[0, 1], [1, 0], [1, 1], [0, 1]]), np.array([[0, 2], [2, 1], [1, 1]])


def test_an_affinity_matrix_is_maximised_column_by_column_and_comes_back():
    K = RNG.normal(size=(6, 6))
    problem = Problem.from_affinity(K, (2, 3))
    for _, x in matchings(problem):
        X = problem.matrix(problem.vector(x))
        assert problem.energy(x) == pytest.approx(-X.T.ravel() @ K @ X.T.ravel())
    np.testing.assert_array_equal(problem.to_affinity(), K)
    assert Problem.from_affinity(np.eye(9)).shape == (3, 3)


def test_costs_over_edges_are_paid_where_both_ends_are_matched_and_come_back():
    unary, quadratic = RNG.normal(size=(2, 3)), RNG.normal(size=(4, 3))
    unary[1, 0] = np.inf
    problem = Problem.from_costs(unary, quadratic, *EDGES)
    again = Problem.from_costs(*problem.to_costs())
    assert not problem.candidates[1, 0] and problem.candidates.sum() == 5
    for _, x in matchings(problem):
        X = problem.matrix(problem.vector(x))
        paid = sum(X[i, s] * unary[i, s] for i, s in np.argwhere(X))
        for e, (i, j) in enumerate(EDGES[0]):
            paid += sum(quadratic[e, f] * X[i, s] * X[j, t] for f, (s, t) in enumerate(EDGES[1]))
        assert problem.energy(x) == pytest.approx(paid) == again.energy(x)
    assert Problem.from_costs(np.ones((2, 2))).order == 1


def test_every_kind_of_potential_becomes_arrays():
    line = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    stretch = Formula(line, line**2, lambda a, b: np.abs(a - b)[..., 0])
    parts = [Dense(RNG.normal(size=(3, 3))), stretch, Sparse([[0, 4], [4, 8]], [1.0, 2.0], symmetric=True)]
    problem = Problem((3, 3), parts, rows=EXACTLY_ONE)
    ways = Problem.from_affinity(problem.to_affinity()), Problem.from_costs(*problem.to_costs())
    for _, x in matchings(problem):
        assert [way.energy(x) for way in ways] == [pytest.approx(problem.energy(x))] * 2


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Problem.from_affinity(np.eye(6)), "side is not a square number: pass shape"),
        (lambda: Problem.from_affinity(np.eye(6), (2, 4)), r"over 6 pairs, but shape \(2, 4\) has 8 pairs"),
        (lambda: Problem.from_affinity(np.ones((4, 2))), "must be a square matrix"),
        (lambda: Problem.from_affinity(np.full((4, 4), np.nan)), "must be finite"),
        (lambda: Problem.from_costs([1.0, 2]), r"unary must have shape \(n1, n2\)"),
        (lambda: Problem.from_costs([[1.0]], [[1.0]]), "belong together"),
        (lambda: Problem.from_costs(np.eye(2), np.eye(3), [[0, 1]], [[0, 1]]), r"quadratic must have shape \(1, 1\)"),
        (lambda: Problem.from_costs(np.eye(2), [[1.0]], [[0, 2]], [[0, 1]]), "edges_left must join nodes from 0 to 1"),
        (lambda: Problem.from_costs(np.eye(2), [[1.0]], [[0, 1]], [0, 1]), "edges_right must be integers of shape"),
        (lambda: Problem((3, 3), [Sparse([[0, 4, 8]], [1.0])]).to_costs(), "of order 3"),
    ],
)
def test_what_does_not_fit_is_said(make, said):
    with pytest.raises(ValueError, match=said):
        make()
