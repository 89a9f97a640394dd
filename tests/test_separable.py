"""Products with smooth formulas that build no columns: against the columns, and where there are none."""

from contextlib import contextmanager

import numpy as np
import pytest
from numpy.testing import assert_allclose

from adgm import ADGM, EXACTLY_ONE, Formula, Problem, solve
from adgm.costs import separable, tables
from adgm.costs.separable import separated
from tests.problems import distances

SHAPE = (9, 11)


def bent(a, b):
    """Smooth, and another one when its arguments change places."""
    return -np.exp(-((a - 1.3 * b)[..., 0] ** 2) / 2.0)


def sides(seed=0, directed=False):
    rng = np.random.default_rng(seed)
    found = [distances(rng.random((n, 2))) for n in SHAPE]
    return [d + np.triu(rng.random(d.shape), 1) for d in found] if directed else found


def formula(directed=False, cost=bent):
    return Formula(*sides(directed=directed), cost, symmetric=not directed)


def with_sums(potentials, monkeypatch):
    """A problem with room for some columns only."""
    monkeypatch.setattr(separable, "FEWEST", 0)
    monkeypatch.setattr(tables, "ROOTS", 1)
    return Problem(SHAPE, potentials, rows=EXACTLY_ONE, memory=78_000 if potentials[0].symmetric else 156_000)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("share", [0.02, 0.3, 1.0])
def test_a_sum_gives_the_products_that_columns_give(directed, share, monkeypatch):
    rng = np.random.default_rng(1)
    both = [formula(directed), Formula(*sides(2), lambda a, b: (a * b)[..., 0])]
    summed, plain = with_sums(both, monkeypatch), Problem(SHAPE, both, rows=EXACTLY_ONE)
    x = rng.random((2, plain.n)) * (rng.random((2, plain.n)) < share)
    for slot in (0, 1):
        assert len(summed.runtime.columns[slot].sums) == 2
        assert_allclose(summed.contract(x, slot), plain.contract(x, slot), rtol=0, atol=1e-9 * plain.n)


def test_iterates_are_those_of_the_columns(monkeypatch):
    summed, plain = with_sums([formula()], monkeypatch), Problem(SHAPE, [formula()], rows=EXACTLY_ONE)
    method = ADGM(rho0=0.5, growth=1.0, tol=0.0)
    one, other = (method.step(p, method.init(p), 30) for p in (summed, plain))
    assert_allclose(one.blocks, other.blocks, atol=1e-7)
    assert np.count_nonzero(one.blocks) and summed.scale == pytest.approx(plain.scale, rel=0.02)
    found = solve(summed, method, time_limit=5)
    assert found.energy == pytest.approx(plain.energy(found.assignment))


def test_sums_are_used_only_where_columns_do_not_fit():
    assert Problem(SHAPE, [formula()]).runtime.columns[0].sums == ()
    assert Problem(SHAPE, [formula()], memory=78_000).runtime.columns[0].sums == ()  # a small one


@pytest.mark.parametrize(
    "cost",
    [
        lambda a, b: np.abs(a - b)[..., 0],  # a fold
        lambda a, b: -(np.abs(a - b)[..., 0] < 0.1).astype(float),  # a step
        lambda a, b: np.sin(500.0 * a[..., 0] * b[..., 0]),  # too many waves
        lambda a, b: 1.0 / (a - b)[..., 0],
        lambda a, b: np.full(np.broadcast_shapes(a.shape, b.shape)[:-1], np.nan),
        lambda a, b: np.vectorize({0.0: 1.0}.__getitem__)(a - b)[..., 0],  # only of what it knows
    ],
)
def test_what_is_not_smooth_keeps_its_columns(cost):
    given = object.__new__(Formula)  # some of these cannot be computed for the edges either
    given.__dict__.update(vars(formula()) | {"cost": cost})
    assert separated(given, SHAPE, np.inf) is None


def test_edges_of_several_numbers_and_little_memory_keep_their_columns():
    several = [np.repeat(d[..., None], 2, axis=2) for d in sides()]
    assert separated(Formula(*several, bent), SHAPE, np.inf) is None
    assert separated(formula(), SHAPE, np.inf) is not None and separated(formula(), SHAPE, 1000) is None


def test_all_edges_of_one_length_are_a_sum_too():
    same = [1.0 - np.eye(n) for n in SHAPE]
    found = separated(Formula(*same, bent), SHAPE, np.inf)
    assert found is not None
    assert_allclose(found.product(np.ones(SHAPE), False), 8 * 10 * bent(np.ones(1), np.ones(1)), rtol=1e-9)


def test_sums_are_made_piece_by_piece_and_all_threads_of_numpy_count(monkeypatch):
    """Between two pieces a run looks at its limit."""
    under_way, pieces = [], []

    @contextmanager
    def helped():
        under_way.append(True)
        yield
        under_way.pop()

    def chebvander(values, degree):
        found = np.polynomial.chebyshev.chebvander(values, degree)
        if values.ndim == 2:
            assert under_way
            pieces.append(found.size)
        return found

    monkeypatch.setattr(separable, "helped", helped)
    monkeypatch.setattr(separable, "chebvander", chebvander)
    monkeypatch.setattr(separable, "CHUNK", 900)
    looks = []
    monkeypatch.setattr(separable, "check_time", lambda: looks.append(len(pieces)))
    assert separated(formula(), SHAPE, 1e9) is not None
    assert len(pieces) > len(SHAPE) and max(pieces) <= 900
    assert looks == list(range(len(pieces)))
