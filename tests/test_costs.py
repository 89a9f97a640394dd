"""Costs of any size: what cannot be computed with is refused in a sentence, and units and constants change nothing."""

import re
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from adgm import ANY, AT_MOST_ONE, EXACTLY_ONE, METHODS, Dense, Formula, Problem, Sparse, solve
from adgm.bounds.bound import bound
from adgm.machine.numpy_fallback import plain
from problems import mixed

EXTREME = (1.7e308, -1.7e308, 1e-310, 5e-324)


def of_order(order: int, unit: float, shape=(3, 4), **options) -> Problem:
    """A problem that a method of this order takes, in any unit."""
    rng, n = np.random.default_rng(order), shape[0] * shape[1]
    parts = [Dense(unit * rng.uniform(-1, 1, shape))]
    if order == 2:
        parts.append(Dense(unit * rng.uniform(-1, 1, (n, n))))
    if order > 2:
        rows = np.array([rng.choice(n, order, replace=False) for _ in range(3 * n)])
        parts.append(Sparse(rows, unit * rng.uniform(-1, 1, len(rows)), symmetric=True))
    return Problem(shape, parts, **options)


def orders(key: str) -> list[int]:
    return [order for order in (1, 2, 3) if not METHODS[key].refusal(of_order(order, 1.0))]


@pytest.mark.parametrize("key", METHODS)
@pytest.mark.parametrize("cost", EXTREME)
def test_every_method_refuses_extreme_costs_in_a_sentence(key, cost):
    for order in orders(key):
        if key == "lap" and abs(cost) < 1:  # which builds no tables, and computes with these
            assert solve(of_order(order, cost), "lap").energy <= 0.0
            continue
        with pytest.raises(ValueError, match=r"divide all costs|multiply all costs"):
            solve(of_order(order, cost), METHODS[key].make())


@pytest.mark.parametrize("edges", [None, [[0, 1], [1, 2]]])
@pytest.mark.parametrize("cost", [np.nan, np.inf, -np.inf, -1.7e308, 1e200])
def test_costs_that_are_computed_are_refused_too(cost, edges):
    left, right = np.random.default_rng(0).random((2, 4, 4))
    formula = Formula(left, right, lambda a, b: cost + 0 * a[..., 0] * b[..., 0], left_edges=edges)
    problem = Problem((4, 4), [Dense(np.eye(4)), formula])
    for given in (solve, plain, lambda problem: solve(problem, "lap")):
        with pytest.raises(ValueError, match=f"Formula gives {re.escape(str(cost))}"):
            given(problem)


def test_costs_that_are_computed_and_too_small_are_refused():
    formula = Formula(*np.random.default_rng(0).random((2, 4, 4)), lambda a, b: 1e-200 + 0 * a[..., 0] * b[..., 0])
    for given in (solve, plain):
        with pytest.raises(ValueError, match="The largest cost is 1e-200, which is too small"):
            given(Problem((4, 4), [formula]))


def test_the_largest_cost_that_is_taken_is_the_one_that_is_told():
    most = Problem((1, 2), [Dense([[1e100, -1e100]]), Sparse([[0], [1]], [1e100, -1e100])])
    assert solve(most, "dd").energy == -2e100
    for make in (Dense, lambda costs: Sparse([[0], [1]], costs[0])):
        with pytest.raises(
            ValueError, match=r"costs must lie between -1e\+100 and 1e\+100, but the entry at .* is -?1e\+101"
        ):
            make([[1e101, 0.0]])
        with pytest.raises(ValueError, match="divide all costs by the same number"):
            make([[0.0, -1e101]])


def test_very_small_costs_beside_others_count_for_nothing():
    costs = np.random.default_rng(0).normal(size=(4, 4))
    tiny = np.where(np.eye(4) > 0, 5e-324, costs)
    assert solve(Problem((4, 4), [Dense(tiny)]), "dd").energy == solve(
        Problem((4, 4), [Dense(np.where(np.eye(4) > 0, 0.0, costs))]), "dd"
    ).energy  # fmt: skip


@pytest.mark.parametrize("key", METHODS)
@pytest.mark.parametrize("power", [-300, -30, 30, 300])
def test_a_unit_changes_no_matching_and_multiplies_the_energy(key, power):
    """Powers of two, so that every number is the same but for its exponent."""
    for order in orders(key):
        before, after = (solve(of_order(order, unit), METHODS[key].make()) for unit in (1.0, 2.0**power))
        assert after.energy == pytest.approx(before.energy * 2.0**power, rel=1e-9)
        if key != "libmgm":
            np.testing.assert_array_equal(after.assignment, before.assignment)


@pytest.mark.parametrize("rules", [(EXACTLY_ONE, AT_MOST_ONE), (AT_MOST_ONE, AT_MOST_ONE)])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("power", [-30, 30])
def test_a_unit_multiplies_bounds_and_leaves_proofs(rules, order, power):
    options = dict(zip(("rows", "cols"), rules, strict=True))
    one, other = (bound(of_order(order, unit, **options), effort=1e5) for unit in (1.0, 2.0**power))
    assert (other.solved, other.sweeps, other.nodes) == (one.solved, one.sweeps, one.nodes)
    assert other.lower == one.lower * 2.0**power


def exactly(problem: Problem, assignment: np.ndarray) -> Fraction:
    """The energy of a matching of unary and dense pairwise costs, without rounding."""
    chosen = np.flatnonzero(assignment).tolist()
    tensors = [p.tensor(problem.shape) for p in problem.potentials]
    return sum(
        (sum((Fraction(float(c)) for c in t[np.ix_(*[chosen] * t.ndim)].flat), Fraction(0)) for t in tensors),
        Fraction(0),
    )


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("constant", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("what", ["unary", "rows", "pairs"])
def test_a_constant_that_every_matching_pays_changes_no_proof_and_no_matching(what, constant, listed):
    """With costs whose sums with the constant are exact; as a matrix and one by one."""

    def stated(unary: np.ndarray, pairs: np.ndarray) -> Problem:
        index = np.stack(np.nonzero(pairs), axis=1)
        second = Sparse(index, pairs[tuple(index.T)]) if listed else Dense(pairs)
        return Problem((5, 5), [Dense(unary), second], EXACTLY_ONE, EXACTLY_ONE)

    for seed, key in product(range(3), ("dd", "adgm+")):
        rng = np.random.default_rng(seed)
        unary, pairs = (np.round(1024 * rng.normal(size=size)) / 1024 for size in ((5, 5), (25, 25)))
        alone = Problem((5, 5), [Dense(unary), Dense(pairs)], EXACTLY_ONE, EXACTLY_ONE)
        moved = unary + {"unary": constant, "rows": constant * np.arange(5.0)[:, None]}.get(what, 0.0)
        problem = stated(moved, pairs + (constant if what == "pairs" else 0.0))
        before, after = solve(stated(unary, pairs), key), solve(problem, key)
        assert after.state.proved
        assert exactly(alone, after.assignment) <= exactly(alone, before.assignment)
        if key == "dd":
            assert after.energy - after.state.lower <= max(1e-7, 20 * np.finfo(float).eps * abs(after.energy))
            assert constant == 1e9 or after.state.nodes == before.state.nodes
            assert constant == 1e9 or abs(after.iterations - before.iterations) <= 2


@pytest.mark.parametrize("rules", [(EXACTLY_ONE, EXACTLY_ONE), (EXACTLY_ONE, ANY), (ANY, EXACTLY_ONE)])
def test_what_costs_differ_by_is_the_same_under_constants_and_follows_the_unit(rules):
    rng = np.random.default_rng(0)
    unary, pairs = rng.normal(size=(4, 4)), rng.normal(size=(16, 16))
    spread = Problem((4, 4), [Dense(unary), Dense(pairs)], *rules).spread
    assert 0.1 < spread < 2.0
    side = np.arange(4.0)[:, None] if rules[0] == EXACTLY_ONE else np.arange(4.0)
    moved = Problem((4, 4), [Dense(unary + 1e6 * side), Dense(pairs + 1e6)], *rules).spread
    assert moved == pytest.approx(spread, rel=1e-6)
    scaled = Problem((4, 4), [Dense(1e-7 * unary), Dense(1e-7 * pairs)], *rules).spread
    assert scaled == pytest.approx(1e-7 * spread)
    forbidding = Problem((4, 4), [Dense(unary), Dense(pairs + 1e9 * (rng.random((16, 16)) < 0.3))], *rules).spread
    assert forbidding < 3.0


def test_the_spread_is_that_of_the_potential_that_differs_least():
    left, right = np.random.default_rng(0).random((2, 4, 4))
    formula = Formula(left, right, lambda a, b: 1e-3 * a[..., 0] * b[..., 0], symmetric=False)
    edges = Formula(left, right, lambda a, b: 1e-6 * a[..., 0] * b[..., 0], symmetric=False, right_edges=[[0, 1]])
    few = Sparse([[0, 5], [0, 6]], [1e-9, 3e-9])
    unary = Dense(np.random.default_rng(1).normal(size=(4, 4)))
    for parts, size in (
        ([unary], 1.0),
        ([unary, formula], 1e-3),
        ([unary, formula, edges], 1e-6),
        ([unary, few], 1e-9),
    ):
        assert 0.1 * size < Problem((4, 4), parts).spread < 10 * size
    assert Problem((4, 4), [Dense(np.zeros((4, 4)))]).spread == 0.0
    assert Problem((2, 2), [Sparse([[0, 3]], [-7.0])]).spread == 7.0
    assert mixed((3, 4), 4).spread > 0.01


def test_candidates_are_those_that_were_given_whatever_becomes_of_the_array():
    mask = np.eye(3, dtype=bool)
    problem = Problem((3, 3), [Dense(-np.ones((3, 3)))], candidates=mask)
    mask[:] = True
    assert problem.n == 3 and problem.candidates.sum() == 3
    with pytest.raises(ValueError, match="read-only"):
        problem.candidates[0, 1] = True


@pytest.mark.parametrize("edges", [{}, {"left_edges": [[0, 1]]}, {"right_edges": [[1, 2], [0, 2]]}, "both"])
def test_what_costs_differ_by_is_told_from_pairs_that_count(edges):
    """A formula is not evaluated, even for a sample, where it does not live or no candidate is."""
    options = (
        {"left_edges": [[0, 1], [1, 2]], "right_edges": [[1, 2], [0, 2]], "where": "both"} if edges == "both" else edges
    )
    mask = np.ones((3, 3), bool)
    mask[0, 2] = mask[2, :] = False  # the last node has no candidate at all
    asked: list[tuple[int, ...]] = []

    def cost(a, b):
        ends = np.broadcast_arrays(a[..., 0], a[..., 1], b[..., 0], b[..., 1])
        asked.extend(zip(*(each.ravel().astype(int).tolist() for each in ends), strict=True))
        return 1e-6 * (a[..., 0] + 2 * a[..., 1] + b[..., 0] * b[..., 1])

    def nodes(i, j):
        return np.stack(np.broadcast_arrays(i, j), axis=-1).astype(float)

    problem = Problem((3, 3), [Formula(nodes, nodes, cost, symmetric=False, **options)], candidates=mask)
    asked.clear()
    assert 1e-7 < problem.spread < 1e-5 and asked
    links = None if not options else problem.potentials[0].links(problem.layout)
    for i1, j1, i2, j2 in set(asked):
        assert i1 != j1 and i2 != j2 and mask[i1, i2] and mask[j1, j2]
        if links is not None:
            there = problem.layout.grid()[i1, i2], problem.layout.grid()[j1, j2]
            assert there[0] in links.target[links.start[there[1]] : links.start[there[1] + 1]]
