"""Exchanges: each leaves a matching, together they lead from one matching to the other, and the order is the best."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from adgm import ANY, AT_MOST_ONE, EXACTLY_ONE, Dense, Problem
from adgm.explain.paths import WAYS, exchange_of, exchanges, path
from oracles import allowed, matchings
from problems import mixed

SIDES = (
    (EXACTLY_ONE, EXACTLY_ONE),
    (EXACTLY_ONE, AT_MOST_ONE),
    (AT_MOST_ONE, AT_MOST_ONE),
    (ANY, AT_MOST_ONE),
    (ANY, ANY),
)


@st.composite
def journeys(draw):
    """A problem, all its matchings by energy, and two of them."""
    rows, cols = draw(st.sampled_from(SIDES))
    shape = (3, 3) if cols == EXACTLY_ONE else (2, 3) if rows == ANY else (3, 4)
    seed = draw(st.integers(0, 10**6))
    problem = mixed(shape, draw(st.integers(1, 4)), seed, rows=rows, cols=cols)
    every = {matrix.tobytes(): energy for energy, matrix in matchings(problem)}
    some = np.random.default_rng(seed).integers(len(every), size=2)
    answer, other = (np.frombuffer(list(every)[k], bool).reshape(shape) for k in some)
    return problem, every, answer, other


def after(problem, answer, members):
    return problem.matrix(problem.vector(answer) > 0.5).astype(bool) ^ problem.matrix(members).astype(bool)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(journeys(), st.sampled_from(WAYS))
def test_a_path_has_the_energies_of_its_matchings_and_never_leaves_what_is_right(journey, way):
    problem, every, answer, other = journey
    found = path(problem, answer, other, way)
    stations = [answer, *(problem.matrix(step.assignment).astype(bool) for step in found.steps)]
    assert np.array_equal(stations[-1], other)
    assert_allclose(found.energies, [every[one.tobytes()] for one in stations], rtol=1e-9, atol=1e-9)
    assert_allclose([step.cost for step in found.steps], np.diff(found.energies), atol=1e-9)
    assert_allclose(found.barrier, max(found.energies) - found.energies[0])
    for before, then in pairwise(stations):
        assert ((before == other) <= (then == other)).all() or way == WAYS[0]
        assert (then & other).sum() >= (before & other).sum()
        assert not (before & other & ~then).any()
    dear = [k for k, step in enumerate(found.steps) if step.cost > found.same]
    assert found.first_dear == (dear[0] if dear else None)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(journeys())
def test_exchanges_are_the_smallest_changes_that_keep_to_both_matchings(journey):
    problem, every, answer, other = journey
    parts = exchanges(problem, answer, other)
    total = np.zeros(problem.n, bool)
    for members in parts:
        assert not (total & members).any()
        total |= members
        assert allowed(problem, after(problem, answer, members).astype(int))
        for v in np.flatnonzero(members):  # the exchange of any of its matches is this one
            match = int(problem.layout.row[v]), int(problem.layout.col[v])
            same = problem.matrix(exchange_of(problem, answer, other, match)).astype(bool)
            assert np.array_equal(same, after(problem, answer, members))
    assert np.array_equal(after(problem, answer, total), other)
    if parts:  # the cheapest step of all is not dearer than the cheapest whole exchange
        cheapest = min(every[after(problem, answer, members).tobytes()] for members in parts)
        assert path(problem, answer, other).energies[1] <= cheapest + 1e-9


@settings(deadline=None, derandomize=True, max_examples=30)
@given(journeys())
def test_no_order_of_exchanges_has_a_lower_barrier(journey):
    problem, every, answer, other = journey
    parts = exchanges(problem, answer, other)

    def barrier(order):
        energies, now = [every[answer.tobytes()]], answer
        for members in order:
            now = after(problem, now, members)
            energies.append(every[now.tobytes()])
        return max(energies) - energies[0]

    if len(parts) <= 4:
        lowest = min(barrier(order) for order in permutations(parts))
        assert_allclose(path(problem, answer, other, "lowest barrier").barrier, lowest, atol=1e-9)


def test_a_single_move_is_taken_where_it_is_cheaper_than_its_cycle():
    costs = np.array([[5.0, 0.0, 9.0], [1.0, 5.0, 9.0], [9.0, 9.0, 5.0]])
    costs[1, 2], costs[2, 0] = 20.0, 20.0  # the cycle's other two moves are dear
    problem = Problem((3, 3), [Dense(costs)], EXACTLY_ONE, EXACTLY_ONE)
    found = path(problem, np.eye(3), np.eye(3)[[1, 2, 0]])
    assert found.steps[0].came == ((0, 1), (1, 0)) and found.steps[0].cost == -9.0
    assert found.first_dear == 1 and found.top == 2 and "first that costs" in str(found)


def test_an_unknown_way_is_refused():
    problem = mixed((2, 2), 1)
    with pytest.raises(ValueError, match="cheapest first"):
        path(problem, np.eye(2), np.eye(2), "quickest")


def test_too_many_exchanges_are_refused_where_all_orders_would_be_tried():
    nodes = np.arange(26)
    problem = Problem((26, 26), [Dense(np.zeros((26, 26)))])
    straight, swapped = np.eye(26, dtype=bool), np.eye(26, dtype=bool)[nodes ^ 1]
    assert len(exchanges(problem, straight, swapped)) == 13
    with pytest.raises(ValueError, match="differ by 13 exchanges"):
        path(problem, straight, swapped, "lowest barrier")
