"""Costs that are products of two matrices' entries, and FAQ, which takes no others."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import quadratic_assignment

from adgm import AT_MOST_ONE, EXACTLY_ONE, METHODS, Dense, Formula, Problem, solve
from adgm.costs.koopmans_beckmann import matrices
from adgm.rivals import FAQ
from features.files.problem_files import qap, read_problem
from tests.problems import grid_distances, mixed


def instance(n: int, seed: int, diagonal: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Random flows, one way unlike the other, and distances on a grid, as in QAPLIB's nug instances."""
    flows = np.random.default_rng(seed).integers(0, 10, (n, n)).astype(float)
    distances = grid_distances(2, n)[:n, :n].astype(float) + (3.0 * np.eye(n) if diagonal else 0.0)
    return flows, distances


def dat(flows: np.ndarray, distances: np.ndarray) -> bytes:
    rows = [" ".join(f"{value:g}" for value in row) for row in (*flows, *distances)]
    return "\n".join([str(len(flows)), *rows]).encode()


@pytest.mark.parametrize("n", [1, 2, 5, 12, 20])
def test_faq_finds_what_scipy_finds_in_a_file(n):
    for seed in range(3):
        flows, distances = instance(n, seed, diagonal=bool(seed))
        problem = read_problem(dat(flows, distances), "made.dat").problem
        result = solve(problem, "faq")
        expected = quadratic_assignment(flows, distances, method="faq")
        assert result.energy == pytest.approx(expected.fun)
        assert_array_equal(result.matching, expected.col_ind)
        assert (result.status, result.iterations) == ("converged", 1)


def test_further_starts_never_lose_and_repeat_by_their_seed():
    problem = qap(*instance(12, 7)).problem
    once, many, again = (solve(problem, FAQ(starts=starts)) for starts in (1, 8, 8))
    assert many.energy <= once.energy and many.iterations == 8
    assert_array_equal(many.history["energy"], again.history["energy"])
    assert many.energy == many.history["energy"].min() == pytest.approx(problem.energy(many.assignment))


def test_the_matrices_of_a_problem_give_its_energies():
    flows, distances = instance(4, 0)
    bare = Problem((4, 4), qap(flows, distances).problem.potentials[:1], EXACTLY_ONE, EXACTLY_ONE)
    for problem in (qap(flows, distances).problem, bare):
        a, b = matrices(problem)
        for partner in map(list, permutations(range(4))):
            assert problem.energy(np.eye(4)[partner]) == pytest.approx((a * b[np.ix_(partner, partner)]).sum())


def test_other_problems_are_refused_in_a_sentence():
    flows, distances = instance(4, 0)
    potentials = qap(flows, distances).problem.potentials
    exactly = (EXACTLY_ONE, EXACTLY_ONE)
    others = [
        mixed((4, 4), 2),
        Problem((4, 4), potentials, AT_MOST_ONE, AT_MOST_ONE),
        Problem((4, 4), [*potentials, Dense(np.ones((4, 4)))], *exactly),
        Problem((4, 4), [*potentials, potentials[0]], *exactly),
        Problem((4, 4), potentials, *exactly, candidates=~np.eye(4, dtype=bool)),
        Problem((4, 4), [Formula(flows, distances, lambda a, b: (a - b)[..., 0], symmetric=False)], *exactly),
    ]
    for problem in others:
        refusal = METHODS["faq"].refusal(problem)
        assert "QAPLIB" in refusal and refusal.endswith(".")
        with pytest.raises(ValueError, match="QAPLIB"):
            solve(problem, FAQ())
    assert METHODS["faq"].refusal(qap(flows, distances).problem) == ""
