"""The search over permutations for costs Σ A[i, j] · B[p(i), p(j)]: exact at every step, and a part of ADGM+."""

from itertools import permutations

import numpy as np
import pytest

from adgm import EXACTLY_ONE, Dense, Problem, solve
from adgm._kernels.permutations import Steps, wander
from adgm.machine.deadline import TimeUp, deadline
from adgm.search import permutations as search
from adgm.search.permutations import MOST, Breeding, Found, Product, bred, breed, can_breed, child, wandered
from adgm.search.portfolio import Portfolio
from features.files.problem_files.qaplib import qap

SHORT = {"most_lanes": 6, "kicks": 1, "scouts": 1, "rounds": 1, "effort": 0, "max_iter": 40, "trial": 20, "stride": 20}


def drawn(n, seed, turned="neither"):
    """Two matrices; `turned`: which of them are symmetric, by Taillard's first rule or with a diagonal."""
    a, b = np.random.default_rng(seed).integers(0, 100, (2, n, n)).astype(float)
    if turned in ("a", "both"):
        a = a + a.T
    return (a, b + b.T) if turned in ("b", "both") else (a, b)


def cost(a, b, partner):
    """By the definition."""
    return sum(a[i, j] * b[partner[i], partner[j]] for i in range(len(a)) for j in range(len(a)))


@pytest.mark.parametrize("turned", ["neither", "a", "b", "both"])
@pytest.mark.parametrize("wait", [np.inf, 20.0])
def test_after_any_number_of_steps_costs_and_changes_are_those_of_the_permutation(turned, wait):
    a, b = drawn(7, 1, turned)
    product, rng = Product(a, b), np.random.default_rng(2)
    start = rng.permutation(7)
    walk, begun = product.walk(start), product.cost(start)
    assert begun == pytest.approx(cost(a, b, start))
    at = Steps(0, begun, begun)
    lowest = begun
    for _ in range(60):
        at = wander(walk, at, rng.integers(6, 8, (1, 2)), wait, product.tolerance, product.symmetric)
        now = cost(a, b, walk.partner)
        lowest = min(lowest, now)
        assert at.cost == pytest.approx(now) and at.lowest == pytest.approx(lowest)
        assert cost(a, b, walk.best) == pytest.approx(lowest)
        assert sorted(walk.partner) == list(range(7))
        for u in range(7):
            for v in range(u):
                other = walk.partner.copy()
                other[[u, v]] = other[[v, u]]
                assert walk.change[v, u] == pytest.approx(cost(a, b, other) - now, abs=1e-6)


def test_a_step_takes_the_best_exchange_that_is_not_barred_and_bars_the_way_back():
    a, b = drawn(6, 3, "both")
    product = Product(a, b)
    walk = product.walk(np.arange(6))
    at = Steps(0, product.cost(walk.partner), product.cost(walk.partner))
    left = {}
    for step in range(1, 40):
        before, change = walk.partner.copy(), walk.change.copy()
        at = wander(walk, at, np.array([[4, 5]]), np.inf, product.tolerance, True)
        u, v = np.flatnonzero(before != walk.partner)
        allowed = {
            (i, j): change[i, j]
            for i in range(6)
            for j in range(i + 1, 6)
            if min(left.get((i, before[j]), 0), left.get((j, before[i]), 0)) < step
        }
        aspired = at.cost == at.lowest and (u, v) not in allowed
        assert aspired or change[u, v] == min(allowed.values())
        left[u, before[u]], left[v, before[v]] = step + 4, step + 5


def test_what_was_long_free_to_change_places_has_its_turn():
    """Where one node costs so much that it never moves by itself."""
    a, b = np.ones((2, 6, 6)) - np.eye(6)
    b[0] = b[:, 0] = 1e6
    a[0] = a[:, 0] = 0.0

    def moves(wait):
        product = Product(a, b)
        walk, begun = product.walk(np.arange(6)), product.cost(np.arange(6))
        at, places = Steps(0, begun, begun), set()
        for _ in range(100):
            at = wander(walk, at, np.array([[4, 4]]), wait, product.tolerance, True)
            places.add(walk.partner[0])
        return len(places)

    assert moves(np.inf) == 1 and moves(20.0) == 6


@pytest.mark.parametrize("turned", ["neither", "both"])
def test_it_finds_the_optimum_of_small_problems_and_ends(turned):
    for n in (3, 4, 6):
        a, b = drawn(n, n, turned)
        found = bred_to_its_end(Product(a, b), seed=0)
        assert found.best.cost == pytest.approx(min(cost(a, b, p) for p in permutations(range(n))))
        assert found.steps <= (MOST + 50) * n**2


def bred_to_its_end(product, seed):
    breeding = Breeding(Found(np.inf, np.arange(len(product.a))))
    while not breeding.over:
        assert list(breeding.population) == sorted(breeding.population, key=lambda one: one.cost)
        breeding = bred(product, breeding, seed)
    return breeding


def test_the_same_seed_gives_the_same_search():
    product = Product(*drawn(9, 5, "both"))
    one, same, other = (bred_to_its_end(product, seed) for seed in (1, 1, 2))
    assert (one.steps, one.searches, one.best.cost) == (same.steps, same.searches, same.best.cost)
    np.testing.assert_array_equal(one.best.partner, same.best.partner)
    assert one.steps != other.steps


def test_a_child_keeps_what_its_parents_agree_on():
    rng = np.random.default_rng(6)
    for _ in range(20):
        first = rng.permutation(12)
        second = first.copy()
        second[:5] = second[rng.permutation(5)]
        born = child(first, second, rng)
        assert sorted(born) == list(range(12))
        np.testing.assert_array_equal(born[5:], first[5:])


def test_time_that_is_up_ends_a_tabu_search_with_what_it_has_and_a_piece_before_it_begins():
    product = Product(*drawn(9, 7))
    with deadline(lambda: True):
        found = wandered(product, np.arange(9), 60_000, np.inf, np.random.default_rng(0))
        assert found.cost == pytest.approx(product.cost(found.partner))
        assert found.cost <= product.cost(np.arange(9))
        with pytest.raises(TimeUp):
            breed(qap(*drawn(9, 7)).problem, None, np.eye(9).ravel() > 0, 0)


def test_adgm_plus_is_at_least_as_good_as_the_search_over_permutations(monkeypatch):
    a, b = drawn(7, 8, "both")
    problem, product = qap(a, b).problem, Product(a, b)
    result = solve(problem, Portfolio(**SHORT))
    assert result.state.breeding.over
    assert result.energy <= bred_to_its_end(product, 0).best.cost + product.tolerance
    assert result.energy == pytest.approx(cost(a, b, result.matching))
    pieces = []
    monkeypatch.setattr(search, "PIECE", 40_000)
    again = solve(problem, Portfolio(**SHORT), watch=lambda state: pieces.append(state.breeding), every=7)
    assert again.energy == result.energy and len({id(each) for each in pieces}) > 3


def test_it_is_for_products_of_two_matrices_over_permutations_only():
    a, b = drawn(5, 9, "both")
    problem = qap(a, b).problem
    assert can_breed(problem)
    others = [
        Problem((5, 5), [*problem.potentials, Dense(np.arange(25.0))], EXACTLY_ONE, EXACTLY_ONE),
        Problem((5, 5), problem.potentials),
        Problem((5, 5), [Dense(np.kron(a, b) + np.eye(25))], EXACTLY_ONE, EXACTLY_ONE),
    ]
    for other in others:
        assert not can_breed(other)
    assert solve(others[0], Portfolio(**SHORT)).state.breeding is None
