"""The penalty that sets itself: the same problem in other clothes gets the same penalty."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from adgm import ADGM, ANY, AT_MOST_ONE, EXACTLY_ONE, METHODS, Dense, Formula, Problem, Sparse, solve
from adgm.penalty import AUTO, coupling_strength
from adgm.search.local_search import improve
from tests.oracles import tensors
from tests.problems import distances, mixed, planted, squared_difference, transposed

RULES = [(AT_MOST_ONE, AT_MOST_ONE), (EXACTLY_ONE, AT_MOST_ONE), (ANY, AT_MOST_ONE), (ANY, ANY)]
cases = given(st.sampled_from(RULES), st.integers(2, 4), st.integers(0, 10**6), st.booleans())


def dressed(rules, order: int, seed: int, masked: bool) -> Problem:
    mask = None
    if masked:
        mask = np.random.default_rng(seed).random((3, 4)) < 0.7
        mask[np.arange(3), np.arange(3)] = True
    return mixed(order=order, seed=seed, rows=rules[0], cols=rules[1], candidates=mask)


def scaled(problem: Problem, factor: float) -> Problem:
    def times(p):
        if isinstance(p, Dense):
            return Dense(factor * p.costs)
        if isinstance(p, Sparse):
            return Sparse(p.indices, factor * p.costs, p.symmetric)
        return Formula(p.left, p.right, lambda a, b: factor * p.cost(a, b), p.symmetric)

    return replace(problem, potentials=[times(p) for p in problem.potentials])


def relabelled(problem: Problem, rows: np.ndarray, cols: np.ndarray) -> Problem:
    """Node k of the new problem is node rows[k], cols[k] of the old one."""
    n2 = problem.shape[1]
    old = (rows[:, None] * n2 + cols).reshape(-1)  # new variable -> old one
    new = np.argsort(old)

    def moved(p):
        if isinstance(p, Dense):
            if p.costs.shape == problem.shape:
                return Dense(p.costs[np.ix_(rows, cols)])
            return Dense(p.costs[np.ix_(*[old] * p.costs.ndim)])
        if isinstance(p, Sparse):
            return Sparse(new[p.indices], p.costs, p.symmetric)
        return Formula(p.left[np.ix_(rows, rows)], p.right[np.ix_(cols, cols)], p.cost, p.symmetric)

    mask = None if problem.candidates is None else problem.candidates[np.ix_(rows, cols)]
    return replace(problem, potentials=[moved(p) for p in problem.potentials], candidates=mask)


@settings(max_examples=25, deadline=None, derandomize=True)
@cases
def test_the_unit_of_the_costs_does_not_matter(rules, order, seed, masked):
    problem = dressed(rules, order, seed, masked)
    assert_allclose(coupling_strength(scaled(problem, 1e-7)), coupling_strength(problem), rtol=1e-6)
    assert_allclose(coupling_strength(scaled(problem, 1e5)), coupling_strength(problem), rtol=1e-6)


@settings(max_examples=25, deadline=None, derandomize=True)
@cases
def test_which_graph_comes_first_does_not_matter(rules, order, seed, masked):
    problem = dressed(rules, order, seed, masked)
    assert_allclose(coupling_strength(transposed(problem)), coupling_strength(problem), rtol=1e-6)


@settings(max_examples=25, deadline=None, derandomize=True)
@cases
def test_numbering_does_not_matter(rules, order, seed, masked):
    problem = dressed(rules, order, seed, masked)
    rng = np.random.default_rng(seed)
    other = relabelled(problem, rng.permutation(3), rng.permutation(4))
    assert_allclose(coupling_strength(other), coupling_strength(problem), rtol=1e-6)


def test_a_sparse_and_a_dense_statement_of_the_same_costs_get_the_same_penalty():
    rng = np.random.default_rng(3)
    full = rng.normal(size=(12, 12))
    index = np.argwhere(np.ones((12, 12), bool))
    dense = Problem((3, 4), [Dense(full + full.T)])
    sparse = Problem((3, 4), [Sparse(index, (full + full.T)[tuple(index.T)])])
    assert_allclose(coupling_strength(sparse), coupling_strength(dense), rtol=1e-9)


def test_more_points_of_the_same_kind_change_the_strength_only_by_their_number():
    """It is the norm of a matrix over pairs of candidates, and those are n1 · n2."""
    strengths = []
    for nodes in (10, 20, 40):
        points = np.random.default_rng(0).uniform(0, 100, (nodes, 2))
        formula = Formula(distances(points), distances(points), lambda a, b: -np.exp(-squared_difference(a, b) / 400))
        strengths.append(coupling_strength(Problem((nodes, nodes), [formula])) / nodes**2)
    assert max(strengths) < 1.5 * min(strengths)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("shape", [(6, 8), (8, 6)])
def test_it_finds_planted_matchings(order, shape):
    sides = {"rows": EXACTLY_ONE} if shape[0] < shape[1] else {"cols": EXACTLY_ONE}
    problem, truth = planted(shape, order=order, **sides)
    result = solve(problem, METHODS["adgm"].make())
    assert result.status == "converged"
    np.testing.assert_array_equal(result.matching, truth)


@pytest.mark.parametrize("costs", [np.zeros((2, 3)), np.ones((2, 3))])
def test_problems_without_any_coupling_still_get_a_penalty(costs):
    problem = Problem((2, 3), [Dense(costs)])
    assert METHODS["adgm"].make().init(problem).rho > 0


def test_points_that_all_look_alike_still_get_a_penalty_of_their_own():
    """On a regular polygon no candidate differs from another at the uniform start."""
    angle = np.arange(5) * 2 * np.pi / 5
    polygon = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    formula = Formula(distances(polygon), distances(polygon), squared_difference)
    assert coupling_strength(Problem((5, 5), [formula], rows=EXACTLY_ONE, cols=EXACTLY_ONE)) > 0


def test_balancing_ends_once_the_penalty_grew():
    problem = mixed((5, 6), order=2, seed=0)
    method = ADGM(**{**AUTO, "warmup": 3, "patience": 2, "tol": 0.0, "improvement": 0.0, "max_iter": 60})
    rho = solve(problem, method, every=7).history["rho"]
    ratio = rho[1:] / rho[:-1]
    first = int(np.argmax(ratio > 1.9))
    assert ratio[first] == 2.0
    assert set(np.round(ratio[first:], 9)) <= {1.0, 2.0}
    assert (
        np.isclose(ratio[:first], AUTO["balance"])
        | np.isclose(ratio[:first], 1 / AUTO["balance"])
        | (ratio[:first] == 1.0)
    ).all()


def test_rounding_on_the_way_does_not_depend_on_how_often_one_looks():
    problem = mixed((5, 6), order=2, seed=0)
    often, once = (solve(problem, METHODS["adgm"].make(), every=every) for every in (7, 10_000))
    assert often.energy == once.energy and often.iterations == once.iterations
    assert often.energy <= solve(problem, ADGM(**{**AUTO, "round_every": 0})).energy


def test_the_papers_scheme_stays_the_default_of_the_record():
    problem, _ = planted(order=2)
    assert ADGM().init(problem).rho == problem.n / 1000
    assert set(solve(problem, ADGM(max_iter=300)).history["rho"]) == {problem.n / 1000}
    with pytest.raises(ValueError, match="rho0 must be a positive number or one of paper, auto"):
        ADGM(rho0="mine")


def test_polishing_leaves_nothing_that_one_change_improves():
    problem = mixed((5, 6), order=3, seed=4)
    bare, polished = (solve(problem, ADGM(**{**AUTO, "polish": polish})) for polish in (False, True))
    assert improve(problem, polished.assignment)[1] == 0.0
    assert polished.energy <= bare.energy
    np.testing.assert_array_equal(polished.history["residual"], bare.history["residual"])


@pytest.mark.parametrize("scale", [1.0, 1e-6])
def test_where_all_points_look_alike_the_strength_is_that_of_the_uniform_point_itself(scale):
    """Nothing stands out there: |M u| / |u| over the largest cost, for the matrix M written out and the uniform u."""
    angle = np.arange(5) * 2 * np.pi / 5
    polygon = distances(np.stack([np.cos(angle), np.sin(angle)], axis=1))
    formula = Formula(polygon, polygon, lambda a, b: scale * squared_difference(a, b))
    problem = Problem((5, 5), [formula], rows=EXACTLY_ONE, cols=EXACTLY_ONE)
    matrix, uniform = tensors(problem)[2], np.full(25, 1 / 5)
    expected = np.linalg.norm(matrix @ uniform) / np.linalg.norm(uniform) / np.abs(matrix).max()
    assert coupling_strength(problem) == pytest.approx(expected)
