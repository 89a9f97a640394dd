"""Roundings: what costs may stay out, and what does not exist stays out."""

import numpy as np
import pytest

from adgm import AT_MOST_ONE, EXACTLY_ONE, Dense, Problem
from adgm.rounding import best_rounding, hungarian
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
