"""Margins against brute force: never below the truth, and where certified, the truth itself."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adgm import ANY, AT_MOST_ONE, EXACTLY_ONE, Dense, Problem, solve
from adgm.explain.margins import margins, refined
from oracles import matchings
from problems import mixed, planted

SIDES = ((EXACTLY_ONE, EXACTLY_ONE), (EXACTLY_ONE, AT_MOST_ONE), (AT_MOST_ONE, AT_MOST_ONE), (AT_MOST_ONE, EXACTLY_ONE))


def true_margins(problem, answer, every):
    """By looking at every matching."""
    here = problem.energy(answer)
    return {
        (i, j): min((energy for energy, matrix in every if not matrix[i, j]), default=np.inf) - here
        for i, j in np.argwhere(answer).tolist()
    }


def check(problem, answer, every=None, **options) -> list[bool]:
    """Whether each margin was certified; none of them may be wrong."""
    true = true_margins(problem, answer, list(matchings(problem)) if every is None else every)
    found = margins(problem, answer, **options)
    assert [m.match for m in found] == list(true)
    for m in found:
        slack = m.slack + 1e-9 * problem.scale
        assert m.margin >= true[m.match] - slack
        assert m.at_least <= true[m.match] + slack
        if m.certified and np.isfinite(m.margin):
            assert abs(m.margin - true[m.match]) <= 2 * slack
        if m.sure:
            assert true[m.match] > 0
        if m.rival is not None:
            assert not problem.matrix(m.rival)[m.match]
    return [m.certified for m in found]


def an_answer(every, rng) -> np.ndarray:
    """A matching to ask about: the best one, or any."""
    if rng.random() < 0.7:
        return min(every, key=lambda found: found[0])[1]
    return every[int(rng.integers(len(every)))][1]


@pytest.mark.parametrize("block", range(5))
def test_certified_margins_are_never_wrong(block):
    """500 problems, a hundred in each block, of all pairwise kinds and sides; nearly all can be certified."""
    certified = []
    for seed in range(100 * block, 100 * block + 100):
        rng = np.random.default_rng(seed)
        rows, cols = SIDES[seed % len(SIDES)]
        shape = (3, 3) if rows == cols == EXACTLY_ONE else (3, 4) if cols == AT_MOST_ONE else (4, 3)
        mask = rng.random(shape) < 0.8 if seed % 3 == 0 and rows == cols == AT_MOST_ONE else None
        problem = mixed(shape, 1 + seed % 2, seed, rows=rows, cols=cols, candidates=mask)
        every = list(matchings(problem))
        certified += check(problem, an_answer(every, rng), every, effort=1e6)
    assert np.mean(certified) > 0.95


@settings(deadline=None, derandomize=True, max_examples=25)
@given(st.integers(3, 4), st.sampled_from([*SIDES[:3], (ANY, AT_MOST_ONE), (ANY, ANY)]), st.integers(0, 10**6))
def test_what_no_bound_reaches_is_searched_and_not_certified(order, sides, seed):
    rows, cols = sides
    shape = (3, 3) if cols == EXACTLY_ONE else (2, 3)
    problem = mixed(shape, order, seed, rows=rows, cols=cols)
    every = list(matchings(problem))
    answer = an_answer(every, np.random.default_rng(seed))
    check(problem, answer, every)
    assert all(m.at_least == -np.inf for m in margins(problem, answer) if np.isfinite(m.margin))


def test_a_match_that_the_constraints_demand_has_no_rival():
    mask = np.array([[True, False], [True, True]])
    problem = Problem((2, 2), [Dense(np.ones((2, 2)))], EXACTLY_ONE, EXACTLY_ONE, mask)
    found = margins(problem, np.eye(2))
    assert all(m.margin == np.inf and m.certified and m.sure and m.rival is None for m in found)


def test_a_rival_is_found_where_no_small_change_leads_to_it():
    mask = np.eye(4, dtype=bool) | np.eye(4, dtype=bool)[[1, 2, 3, 0]]  # only the whole cycle can turn
    problem = Problem((4, 4), [Dense(np.arange(16.0).reshape(4, 4))], EXACTLY_ONE, EXACTLY_ONE, mask)
    assert check(problem, np.eye(4, dtype=bool)) == [True] * 4


def test_margins_become_better_known_step_by_step_and_only_some_can_be_asked_for():
    problem, truth = planted((6, 8), 2, rows=EXACTLY_ONE)
    answer = solve(problem, "adgm+").assignment
    steps = list(refined(problem, answer))
    for before, after in pairwise(steps):
        for one, two in zip(before, after, strict=True):
            assert two.margin <= one.margin and two.at_least >= one.at_least
    assert all(m.sure for m in steps[-1])
    match = (2, int(truth[2]))
    (only,) = margins(problem, answer, [match])
    assert only.match == match and str(only).startswith(f"2 → {truth[2]}")
    with pytest.raises(ValueError, match="is not a match"):
        margins(problem, answer, [(2, int(truth[3]))])


@pytest.mark.parametrize(("effort", "memory"), [(0.0, 1 << 30), (17.0, 1 << 30), (1e7, 300)])
def test_without_effort_or_memory_nothing_is_proved(effort, memory):
    problem = mixed((3, 3), 2, 0, rows=EXACTLY_ONE, cols=EXACTLY_ONE, memory=memory)
    answer = min(matchings(problem), key=lambda found: found[0])[1]
    assert all(m.at_least == -np.inf and np.isfinite(m.margin) for m in margins(problem, answer, effort=effort))
    enough = mixed((3, 3), 2, 0, rows=EXACTLY_ONE, cols=EXACTLY_ONE)
    assert all(np.isfinite(m.at_least) for m in margins(enough, answer, effort=2 * 81.0))
