"""Terms: they add up to the energy, and each is what the matching pays for exactly these matches."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from adgm import ANY, solve
from adgm.explain.terms import paid_terms, shares
from oracles import energy
from problems import mixed, planted


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("rows", ["at_most_one", ANY])
def test_terms_and_shares_add_up_to_the_energy(order, rows):
    problem = mixed((4, 5), order, rows=rows)
    result = solve(problem)
    terms = paid_terms(problem, result.assignment)
    assert_allclose(sum(t.cost for t in terms), result.energy)
    assert_allclose(sum(shares(terms).values()), result.energy)
    matched = {tuple(p) for p in result.pairs.tolist()}
    assert all(set(t.matches) <= matched for t in terms)
    assert len({t.matches for t in terms}) == len(terms)


def test_leaving_a_match_out_saves_the_terms_it_is_in():
    problem, truth = planted((5, 6), 3)
    x = np.zeros((5, 6))
    x[np.arange(5), truth] = 1
    terms = paid_terms(problem, x)
    without = x.copy()
    without[2, truth[2]] = 0
    saved = sum(t.cost for t in terms if (2, truth[2]) in t.matches)
    assert_allclose(energy(problem, without.reshape(-1)), energy(problem, x.reshape(-1)) - saved)


def test_masked_problems_have_the_terms_of_their_candidates():
    mask = np.random.default_rng(1).random((4, 5)) < 0.7
    problem = mixed((4, 5), 3, candidates=mask)
    result = solve(problem)
    assert_allclose(sum(t.cost for t in paid_terms(problem, result.assignment)), result.energy)
