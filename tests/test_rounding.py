"""Roundings: what costs may stay out, and what does not exist stays out."""

from itertools import product

import numpy as np
import pytest

from adgm import ANY, AT_MOST_ONE, EXACTLY_ONE, Dense, Problem
from adgm.problem import CONSTRAINTS
from adgm.rounding import best_rounding, greedy, hungarian, sparse_matching
from oracles import allowed


@pytest.mark.parametrize("rounding", ["hungarian", "greedy"])
def test_a_doubtful_pair_is_left_out_where_it_costs_and_kept_where_it_pays(rounding):
    x = np.array([0.9, 0.0, 0.0, 0.4])
    for cost, kept in ((2.0, 1), (-2.0, 2)):
        unary = np.array([[-1.0, 0.0], [0.0, cost]])
        found, energy = best_rounding(Problem((2, 2), [Dense(unary)]), x, rounding)
        assert found.sum() == kept and found[0] and energy == min(-1.0, -1.0 + cost)
        for rules in ((EXACTLY_ONE, AT_MOST_ONE), (AT_MOST_ONE, EXACTLY_ONE), (EXACTLY_ONE, EXACTLY_ONE)):
            problem = Problem((2, 2), [Dense(unary)], *rules)
            assert best_rounding(problem, x, rounding)[0].tolist() == [True, False, False, True]


@pytest.mark.parametrize("rules", [(EXACTLY_ONE, AT_MOST_ONE), (AT_MOST_ONE, EXACTLY_ONE), (EXACTLY_ONE, EXACTLY_ONE)])
def test_a_pair_that_does_not_exist_is_worth_less_than_any_other(rules):
    mask = np.array([[True, True], [True, False]])
    problem = Problem((2, 2), [Dense(np.zeros((2, 2)))], *rules, candidates=mask)
    found = hungarian(problem, np.array([1.0, 0.0, 0.0]))  # the best pair would leave a node without a partner
    assert allowed(problem, problem.matrix(found)) and found.tolist() == [False, True, True]


SIDES = [(rows, cols) for rows in CONSTRAINTS for cols in CONSTRAINTS]


@pytest.mark.parametrize("rules", SIDES, ids=str)
@pytest.mark.parametrize("threshold", [0.0, 0.7])
def test_roundings_are_the_heaviest_matchings_and_the_greedy_ones(rules, threshold):
    """Of all matchings that the constraints allow, above the threshold where points may stay unmatched."""
    rng = np.random.default_rng(0)
    for shape in ((3, 3), (2, 3), (3, 2)):
        try:
            problem = Problem(shape, [Dense(np.zeros(shape))], *rules)
        except ValueError:  # more points than partners
            continue
        matchings = np.array(list(every_matching(problem)))
        for _ in range(4):
            x = rng.random(problem.n)
            weight = np.where(x > max(threshold, 0.5), x, x - 5.0) if ANY in rules else x
            best = matchings[np.argmax(matchings @ weight)]
            if EXACTLY_ONE not in rules and ANY not in rules:
                best = best & (x > threshold)
            assert hungarian(problem, x, threshold).tolist() == best.tolist()
            in_turn = taken_in_turn(problem, x, threshold)
            as_best = ANY in rules or not allowed(problem, problem.matrix(in_turn))
            assert greedy(problem, x, threshold).tolist() == (best if as_best else in_turn).tolist()


def every_matching(problem):
    for bits in product((False, True), repeat=problem.n):
        on = np.array(bits)
        if allowed(problem, problem.matrix(on)):
            yield on


def taken_in_turn(problem, x, threshold):
    on = np.zeros(problem.shape, bool)
    for i, j in sorted(np.ndindex(problem.shape), key=lambda at: -x[np.ravel_multi_index(at, problem.shape)]):
        on[i, j] = not on[i].any() and not on[:, j].any()
    return on.ravel() & ((x > threshold) | (EXACTLY_ONE in (problem.rows, problem.cols)))


@pytest.mark.parametrize("rules", [(AT_MOST_ONE, AT_MOST_ONE), (EXACTLY_ONE, AT_MOST_ONE)])
def test_a_matching_of_few_pairs_among_many_is_that_of_the_whole_matrix(rules):
    rng = np.random.default_rng(1)
    for _ in range(5):
        mask = rng.random((6, 8)) < 0.4
        mask[np.arange(6), rng.permutation(8)[:6]] = True
        problem = Problem((6, 8), [Dense(np.zeros((6, 8)))], *rules, candidates=mask)
        x = rng.random(problem.n)
        rows, cols = sparse_matching(problem, x)
        real = cols < 8
        found = np.zeros((6, 8), bool)
        found[rows[real], cols[real]] = True
        assert found[mask].tolist() == hungarian(problem, x).tolist() and found.sum() == found[mask].sum()
