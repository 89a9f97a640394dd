"""The bound for third order: never above what brute force finds, and what it rests on."""

import numpy as np
import pytest

from adgm import AT_MOST_ONE, EXACTLY_ONE, Dense, Problem, Sparse, solve
from adgm.bounds.bound import bound
from adgm.bounds.pair_minorant import Shares
from tests.oracles import brute_force
from tests.problems import planted


def random_problem(seed: int) -> Problem:
    """Up to 4 × 4 nodes, hyperedges of both signs in any notation, now and then unary and pairwise costs and a mask."""
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    n = shape[0] * shape[1]
    rows = rng.integers(n, size=(int(rng.integers(1, 6 * n)), 3))
    costs = rng.normal(size=len(rows)) - 0.5
    apart = np.array([len(set(row)) == 3 for row in rows.tolist()])
    potentials = [Sparse(rows[apart], costs[apart], symmetric=True) if seed % 2 else Sparse(rows, costs)]
    if rng.random() < 0.5:
        potentials.append(Dense(rng.normal(size=shape)))
    if rng.random() < 0.5:
        potentials.append(Dense(rng.normal(size=(n, n))))
    exactly = EXACTLY_ONE if shape[0] <= shape[1] and rng.random() < 0.5 else AT_MOST_ONE
    mask = rng.random(shape) < 0.8 if exactly == AT_MOST_ONE and rng.random() < 0.5 else np.ones(shape, bool)
    mask[0, 0] = True
    return Problem(shape, potentials, exactly, AT_MOST_ONE, candidates=mask)


@pytest.mark.parametrize("seed", range(40))
def test_the_bound_is_valid_and_says_what_it_proves(seed):
    problem = random_problem(seed)
    optimum = brute_force(problem)[0]
    found = bound(problem)
    scale = max(1.0, abs(optimum))
    assert found.lower <= optimum + 2e-6 * scale
    assert found.best_energy >= optimum - 1e-9 * scale
    assert found.best_energy == pytest.approx(problem.energy(found.best))
    assert not found.solved or found.best_energy == pytest.approx(optimum, abs=3e-6 * scale)


@pytest.mark.parametrize("seed", range(6))
def test_the_minorant_never_costs_more_however_shares_were_moved(seed):
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    shares = Shares(problem)
    whole = shares.share.sum(axis=0)
    some = [solve(problem, "fusion").assignment, np.zeros(problem.n, bool)]
    for _ in range(4):
        low = shares.minorant()
        for _ in range(20):
            at = rng.permutation(problem.n)[: rng.integers(1, problem.n + 1)]
            x = np.zeros(problem.n, bool)
            for i in at:  # a matching, grown in random order
                clash = (problem.layout.row == problem.layout.row[i]) | (problem.layout.col == problem.layout.col[i])
                x[i] = not x[clash].any()
            assert low.energy(x) <= problem.energy(x) + 1e-9
        shares.pass_on(1)
        shares.ascend(some, problem.energy(some[0]), 5)
    np.testing.assert_allclose(shares.share.sum(axis=0), whole, atol=1e-9)


def test_a_planted_matching_is_proved():
    problem, truth = planted((6, 6), 3)
    result = solve(problem, "adgm")
    np.testing.assert_array_equal(result.matching, truth)
    assert bound(problem, result.assignment).proved
    assert bound(problem).solved


def test_a_limit_leaves_a_bound_or_none_and_a_watcher_may_stop_it():
    problem = random_problem(3)
    assert bound(problem, time_limit=1e-9).lower == -np.inf
    told = []
    found = bound(problem, watch=told.append)
    lowers = [state.lower for state in told]
    assert lowers == sorted(lowers) and lowers[-1] <= found.lower
    assert all(state.best_energy == pytest.approx(problem.energy(state.best)) for state in told)
    stopped = bound(problem, watch=lambda state: True)
    assert stopped.lower <= brute_force(problem)[0] + 1e-9 and stopped.best is not None
