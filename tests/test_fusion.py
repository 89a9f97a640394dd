"""Fusion moves: a merged matching is allowed, and no worse than either; the binary problem is solved as claimed."""

from itertools import product

import numpy as np
import pytest

from adgm import ANY, AT_MOST_ONE, EXACTLY_ONE, Dense, Formula, Problem, Sparse, solve
from adgm._kernels.fusion import OPEN, minimise_binary, roof_dual
from adgm.rounding import hungarian
from adgm.search.fusion import Fusion, construct, fuse, parts
from tests.oracles import allowed
from tests.problems import mixed, planted

RULES = [(AT_MOST_ONE, AT_MOST_ONE), (EXACTLY_ONE, AT_MOST_ONE), (ANY, AT_MOST_ONE), (EXACTLY_ONE, ANY), (ANY, ANY)]


def binary(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 9))
    pair = np.triu(rng.normal(size=(k, k)) * (rng.random((k, k)) < rng.random()), 1)
    return rng.normal(size=k), pair + pair.T


@pytest.mark.parametrize("seed", range(60))
def test_roof_duality_decides_as_some_minimum_does_and_the_rest_is_enumerated(seed):
    single, pair = binary(seed)
    cost = {y: single @ y + 0.5 * np.array(y) @ pair @ y for y in product((0, 1), repeat=len(single))}
    lowest = min(cost.values())
    value, found = minimise_binary(single, pair, 12)
    np.testing.assert_allclose([found, cost[tuple(value)]], lowest, atol=1e-9)
    decided = roof_dual(single, pair)
    agreeing = [c for y, c in cost.items() if all(d in (OPEN, v) for d, v in zip(decided, y, strict=True))]
    np.testing.assert_allclose(min(agreeing), lowest, atol=1e-9)
    value, found = minimise_binary(single, pair, 0)
    assert found <= 1e-12
    np.testing.assert_allclose(found, cost[tuple(value)], atol=1e-9)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_merged_matching_is_the_best_of_all_mixtures(rules, order):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        problem = mixed((4, 5), order, seed=seed, rows=rules[0], cols=rules[1])
        one, other = (hungarian(problem, rng.random(problem.n)) for _ in range(2))
        merged, change = fuse(problem, one, other)
        assert allowed(problem, problem.matrix(merged))
        np.testing.assert_allclose(problem.energy(merged), problem.energy(one) + change, atol=1e-9)
        assert problem.energy(merged) <= min(problem.energy(one), problem.energy(other)) + 1e-9
        some = np.flatnonzero(one != other)
        part = parts(problem, some)
        if part.max(initial=-1) < 6:
            np.testing.assert_allclose(problem.energy(merged), min(mixtures(problem, one, some, part)), atol=1e-9)


def mixtures(problem, one, some, part):
    """The energy of every choice of parts; each of them is allowed."""
    for chosen in product((False, True), repeat=int(part.max(initial=-1)) + 1):
        x = one.copy()
        x[some[np.array(chosen, bool)[part]]] ^= True
        assert allowed(problem, problem.matrix(x))
        yield problem.energy(x)


def test_many_parts_are_merged_no_worse_than_either():
    rng = np.random.default_rng(0)
    formula = Formula(rng.normal(size=(40, 40, 1)), rng.normal(size=(40, 40, 1)), squared, symmetric=False)
    for potentials in ([formula, Dense(rng.normal(size=(40, 40)))], [Dense(rng.normal(size=(40, 40))), triples(rng)]):
        problem = Problem((40, 40), potentials)
        one = np.eye(40, dtype=bool).ravel()
        other = np.eye(40, dtype=bool)[np.arange(40) ^ 1].ravel()  # twenty exchanges
        assert parts(problem, np.flatnonzero(one != other)).max() == 19
        merged, change = fuse(problem, one, other)
        assert allowed(problem, problem.matrix(merged))
        np.testing.assert_allclose(problem.energy(merged), problem.energy(one) + change, atol=1e-6)
        assert problem.energy(merged) <= min(problem.energy(one), problem.energy(other)) + 1e-9


def squared(a, b):
    return (a - b)[..., 0] ** 2


def triples(rng):
    nodes = np.array([rng.permutation(40)[:3] for _ in range(500)])
    return Sparse(nodes * 40 + (nodes ^ rng.integers(2, size=(500, 1))), rng.normal(size=500), symmetric=True)


@pytest.mark.parametrize("rules", RULES)
def test_constructions_obey_the_constraints(rules):
    mask = np.ones((4, 5), bool)
    mask[0, :4] = mask[3, 1:4] = False
    for candidates in (None, mask):
        problem = mixed((4, 5), 2, rows=rules[0], cols=rules[1], candidates=candidates)
        for seed in range(5):
            assert allowed(problem, problem.matrix(construct(problem, np.random.default_rng(seed))))


def test_it_finds_the_planted_matching_without_adgm_too_and_stops_by_itself():
    problem, truth = planted((8, 8), 2)
    result = solve(problem, Fusion(warmup=0, patience=10))
    np.testing.assert_array_equal(result.matching, truth)
    assert result.status == "converged" and result.state.stale == 10
    assert (np.diff(result.history["energy"]) <= 0).all()
