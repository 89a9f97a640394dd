"""The costs of pairs as one symmetric matrix: whatever kinds of potentials there are, it says what energies say."""

import numpy as np
import pytest

from adgm import Dense, Formula, Problem, Sparse
from adgm.costs.pairs import PairCosts
from problems import mixed

SHAPE = (3, 4)


def edges(**options) -> Formula:
    rng = np.random.default_rng(5)
    left, right = (rng.normal(size=(side, side)) for side in SHAPE)
    return Formula(left, right, lambda a, b: a[..., 0] * b[..., 0], symmetric=False, **options)


def problems() -> dict[str, Problem]:
    rng, mask = np.random.default_rng(4), np.ones(SHAPE, bool)
    mask[0, 1] = mask[2, 3] = False
    index, costs = rng.integers(12, size=(40, 2)), rng.normal(size=40)
    listed = [Sparse(index, costs), Dense(rng.normal(size=SHAPE)), edges(left_edges=[[0, 1], [1, 2]])]
    return {
        "every kind": mixed(SHAPE, 2, 1),
        "candidates": mixed(SHAPE, 2, 2, candidates=mask),
        "little memory": mixed(SHAPE, 2, 3, memory=200),
        "listed": Problem(SHAPE, listed, memory=2000),
        "no pairs": Problem(SHAPE, [Dense(rng.normal(size=SHAPE))]),
        "formula": Problem(SHAPE, [edges()]),
    }


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("name", problems())
def test_pairs_cost_what_energies_say(name, stored):
    problem, rng = problems()[name], np.random.default_rng(0)
    pairs, n = problem.derived(PairCosts), problem.n
    assert pairs is problem.derived(PairCosts)
    if stored:
        assert pairs.matrix.shape == (n, n)
    whole, some, others = pairs.rows(np.arange(n)), np.array([3, 0, n - 1]), np.array([1, 3])
    np.testing.assert_allclose(pairs.single, [problem.energy(x) for x in np.eye(n)], atol=1e-9)
    np.testing.assert_allclose(whole, whole.T, atol=1e-12)
    assert not whole.diagonal().any() and pairs.empty == (name == "no pairs")
    np.testing.assert_array_equal(pairs.rows(some), whole[some])
    np.testing.assert_array_equal(pairs.rows(some, others), whole[np.ix_(some, others)])
    np.testing.assert_array_equal(pairs.sparse.toarray(), whole)
    on = np.zeros(n, bool)
    on[[0, 5]] = True
    beside = [problem.energy(on | x) - problem.energy(on & ~x) for x in np.eye(n, dtype=bool)[some]]
    np.testing.assert_allclose(pairs.joining(on, some), beside, atol=1e-9)
    p, q, costs = pairs.entries()
    row, col = problem.layout.row, problem.layout.col
    apart = (np.subtract.outer(row, row) != 0) & (np.subtract.outer(col, col) != 0)
    listed = np.zeros((n, n))
    listed[p, q] = costs
    np.testing.assert_array_equal(listed, np.triu(np.where(apart, whole, 0.0)))
    for x in (rng.random(n), (rng.random(n) < 0.4).astype(float)):
        assert pairs.unary @ x + x @ pairs.matrix @ x == pytest.approx(problem.energy(x), abs=1e-9)
