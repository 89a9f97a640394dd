"""The local search: exact bookkeeping, never worse, no improving neighbour left, whatever the potentials."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adgm import ANY, AT_MOST_ONE, EXACTLY_ONE, Dense, Formula, Problem, Sparse
from adgm.rounding import hungarian
from adgm.search import tabu
from adgm.search.local_search import (
    Surroundings,
    apart,
    improve,
    iterated_local_search,
    mutual_costs,
    polish,
    random_restart,
)
from tests import oracles
from tests.problems import mixed, planted, random_sparse

SIDES = list(product((AT_MOST_ONE, EXACTLY_ONE, ANY), repeat=2))
FEASIBLE = [(r, c) for r, c in SIDES if not (c == EXACTLY_ONE and r != ANY)]  # for 3 rows and 4 columns


def one_kind(kind: str, order: int, seed: int, **options) -> Problem:
    """A single potential of that kind and order over 3 × 4 nodes."""
    rng = np.random.default_rng(seed)
    n = 12
    if kind == "Formula":
        left, right = rng.normal(size=(3, 3, 1)), rng.normal(size=(4, 4, 1))
        return Problem(
            (3, 4), [Formula(left, right, lambda a, b: np.sin(3 * a * b)[..., 0], symmetric=False)], **options
        )
    if kind == "Dense":
        return Problem(
            (3, 4), [Dense(rng.normal(size=(n,) * order) if order > 1 else rng.normal(size=(3, 4)))], **options
        )
    return Problem((3, 4), [random_sparse(rng, n, order, 40, kind == "symmetric")], **options)


def a_matching(problem: Problem, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return hungarian(problem, rng.random(problem.n), 0.3)


def a_mask(seed: int, shape: tuple[int, int] = (3, 4)) -> np.ndarray:
    mask = np.random.default_rng(seed).random(shape) < 0.6
    mask[np.arange(shape[0]), np.arange(shape[0])] = True
    mask[0, 3] = True
    return mask


def moves(problem: Problem, on: np.ndarray):
    """(removed, added) for every swap, move, insertion, removal and replacement that keeps the constraints."""
    inside, outside = np.flatnonzero(on), np.flatnonzero(~on)
    for out in range(3):
        for removed in combinations(inside, out):
            for come in range(3):
                for added in combinations(outside, come):
                    new = on.copy()
                    new[list(removed)] = False
                    new[list(added)] = True
                    if out + come and oracles.allowed(problem, problem.matrix(new)):
                        yield removed, added


def change(problem: Problem, on: np.ndarray, removed, added) -> float:
    """The energy change when variables leave and join."""
    after = on.copy()
    after[list(removed)] = False
    after[list(added)] = True
    return problem.energy(after) - problem.energy(on)


@pytest.mark.parametrize(
    ("kind", "order"),
    [("Formula", 2), *product(("Dense",), (1, 2, 3)), *product(("Sparse", "symmetric"), (1, 2, 3, 4, 5))],
)
def test_gains_are_energy_differences_for_every_kind_and_order(kind, order):
    for seed in range(5):
        problem = one_kind(kind, order, order, rows=AT_MOST_ONE, cols=AT_MOST_ONE)
        on = a_matching(problem, seed)
        end, gain = improve(problem, on)
        np.testing.assert_allclose(gain, problem.energy(end) - problem.energy(on), atol=1e-9)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from(FEASIBLE), st.integers(1, 4), st.integers(0, 10**6), st.booleans(), st.sampled_from([1, 1 << 30])
)
def test_the_search_never_worsens_keeps_the_constraints_and_leaves_no_better_neighbour(
    sides, order, seed, masked, memory
):
    mask = a_mask(seed) if masked else None
    problem = mixed(order=order, seed=seed, rows=sides[0], cols=sides[1], candidates=mask, memory=memory)
    start = a_matching(problem, seed)
    kept = start.copy()
    end, gain = improve(problem, start)
    assert np.array_equal(start, kept)
    assert oracles.allowed(problem, problem.matrix(end))
    assert gain <= 0
    np.testing.assert_allclose(problem.energy(end) - problem.energy(start), gain, atol=1e-8)
    again, nothing = improve(problem, end)
    assert nothing == 0 and np.array_equal(again, end)
    for removed, added in moves(problem, end):
        swap = len(removed) == 2 and len(added) == 2 and shares_lines(problem, removed, added)
        if swap or (len(added) <= 1 and len(removed) <= 1 and touching(problem, removed, added)):
            assert change(problem, end, removed, added) > -1e-7


def shares_lines(problem: Problem, removed, added) -> bool:
    """Whether the pairs added use the nodes of the pairs removed."""
    row, col = problem.layout.row, problem.layout.col
    same = [sorted(line[list(v)]) for line in (row, col) for v in (removed, added)]
    return ANY not in (problem.rows, problem.cols) and same[0] == same[1] and same[2] == same[3]


def touching(problem: Problem, removed, added) -> bool:
    """Whether a pair takes the place of one in its own (limited) row or column, or comes or goes alone."""
    if not (removed and added):
        return True
    row, col = problem.layout.row, problem.layout.col
    (a,), (b,) = removed, added
    return (problem.rows != ANY and row[a] == row[b]) or (problem.cols != ANY and col[a] == col[b])


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_search_finds_a_planted_matching_from_most_random_starts(order):
    problem, truth = planted(order=order, rows=EXACTLY_ONE)
    best = problem.matrix(np.zeros(problem.n))
    best[np.arange(len(truth)), truth] = 1.0
    found = [problem.energy(improve(problem, a_matching(problem, seed))[0]) for seed in range(20)]
    assert np.sum(np.isclose(found, problem.energy(best))) >= 8


def test_the_number_of_changes_can_be_limited():
    problem, _ = planted(order=2, rows=EXACTLY_ONE)
    start = a_matching(problem, 1)
    once, _ = improve(problem, start, most_changes=1)
    assert 0 < np.sum(once != start) <= 4
    assert np.array_equal(improve(problem, start, most_changes=0)[0], start)


def test_a_tuple_that_repeats_a_variable_counts_as_the_set_it_is():
    problem = Problem((1, 2), [Sparse([[0, 0, 0], [1, 1, 0]], [-2.0, -1.0])], rows=ANY, cols=ANY)
    assert change(problem, np.zeros(2, bool), [], [0]) == -2.0
    assert change(problem, np.zeros(2, bool), [], [0, 1]) == -3.0
    assert np.array_equal(improve(problem, np.zeros(2, bool))[0], [True, True])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from(FEASIBLE), st.integers(1, 4), st.integers(0, 10**6), st.booleans())
def test_perturbations_add_up_to_the_change_of_energy_and_keep_the_best(sides, order, seed, masked):
    rows, cols = sides
    problem = mixed((3, 4), order=order, seed=seed, rows=rows, cols=cols, candidates=a_mask(seed) if masked else None)
    check_perturbations(problem, a_matching(problem, seed), seed)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from([s for s in FEASIBLE if ANY not in s]), st.integers(2, 4), st.integers(0, 10**6))
def test_perturbations_add_up_where_no_cost_joins_variables_of_one_line(sides, order, seed):
    """The problems that models make, where looks use what is known about every variable."""
    rows, cols = sides
    rng = np.random.default_rng(seed)
    left = np.array([rng.permutation(5)[:order] for _ in range(60)])
    right = np.array([rng.permutation(6)[:order] for _ in range(60)])
    potentials = [Sparse(left * 6 + right, rng.normal(size=60), symmetric=True), Dense(rng.normal(size=(5, 6)))]
    if order == 2:
        a, b = rng.normal(size=(5, 5, 1)), rng.normal(size=(6, 6, 1))
        potentials.append(Formula(a, b, lambda p, q: np.sin(3 * p * q)[..., 0], symmetric=False))
    problem = Problem((5, 6), potentials, rows=rows, cols=cols)
    assert apart(problem, [], problem.runtime.columns)
    check_perturbations(problem, a_matching(problem, seed), seed)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from([s for s in FEASIBLE if ANY not in s]), st.integers(0, 10**6), st.booleans())
def test_looking_ahead_changes_no_descent(sides, seed, signed):
    rng = np.random.default_rng(seed)
    left, right = (np.array([rng.permutation(n)[:3] for _ in range(80)]) for n in (5, 6))
    costs = rng.normal(size=80) if signed else -rng.random(80)
    potentials = [Sparse(left * 6 + right, costs, symmetric=True), Dense(0.1 * rng.normal(size=(5, 6)))]
    mask = rng.random((5, 6)) < 0.8
    mask[np.arange(5), np.arange(5)] = True
    candidates = mask if seed % 2 else None
    problem = Problem((5, 6), potentials, rows=sides[0], cols=sides[1], candidates=candidates)
    ahead, plain = Surroundings(problem), Surroundings(problem)
    ahead.look_ahead()
    assert ahead.neighbourhood.least.size
    for number in range(8):
        on = a_matching(problem, number)
        ends = [each.perturbed(on.copy(), np.random.default_rng(number)) for each in (ahead, plain)]
        np.testing.assert_array_equal(*ends)
        np.testing.assert_array_equal(ahead.improve(on, 1000)[0], plain.improve(on, 1000)[0])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from([s for s in FEASIBLE if ANY not in s]), st.integers(0, 10**6), st.booleans(), st.booleans())
def test_a_pairwise_tabu_search_finds_the_optimum_of_a_small_problem(sides, seed, masked, turned):
    rng = np.random.default_rng(seed)
    a, b, unary = rng.normal(size=(3, 3, 1)), rng.normal(size=(4, 4, 1)), rng.normal(size=(3, 4))
    mask = a_mask(seed) if masked else None
    if turned:
        a, b, unary, mask, sides = b, a, unary.T, None if mask is None else mask.T, sides[::-1]
    formula = Formula(a, b, lambda p, q: np.sin(3 * p * q)[..., 0], symmetric=False)
    problem = Problem(unary.shape, [Dense(unary), formula], rows=sides[0], cols=sides[1], candidates=mask)
    assert Surroundings(problem).has_tabu_search
    start = a_matching(problem, seed)
    settled, polished = improve(problem, start), polish(problem, start)
    assert oracles.allowed(problem, problem.matrix(polished[0]))
    assert polished[1] <= settled[1] + 1e-9 and improve(problem, polished[0])[1] == 0.0
    assert problem.energy(start) + polished[1] == pytest.approx(problem.energy(polished[0]), abs=1e-8)
    check_perturbations(problem, start, seed)
    found, _ = iterated_local_search(problem, start, 20, seed)
    assert problem.energy(found) == pytest.approx(oracles.brute_force(problem)[0])


@pytest.mark.parametrize("few_links", [1.0, -1.0], ids=["linked", "columns"])
@settings(max_examples=25, deadline=None, derandomize=True)
@given(sides=st.sampled_from([s for s in FEASIBLE if ANY not in s]), seed=st.integers(0, 10**6), masked=st.booleans())
def test_a_tabu_search_takes_the_steps_that_the_slow_rule_takes(few_links, sides, seed, masked):
    rng = np.random.default_rng(seed)
    mask = a_mask(seed, (4, 5)) if masked else np.ones((4, 5), bool)
    nodes = np.argwhere(mask)
    a, b = nodes[rng.integers(len(nodes), size=(2, 12))]
    apart = (a != b).all(axis=1)
    pairs = np.stack([a[apart] @ [5, 1], b[apart] @ [5, 1]], axis=1)
    costs = rng.integers(-8, 9, len(pairs) + 20) / 4  # sums are exact: what is equal stays equal
    problem = Problem(
        (4, 5), [Dense(costs[:20].reshape(4, 5)), Sparse(pairs, costs[20:], symmetric=True)], *sides, candidates=mask
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tabu, "FEW_LINKS", few_links)
        surroundings = Surroundings(problem)
    assert bool(len(surroundings.links.start)) == (few_links > 0)
    on, lengths = a_matching(problem, seed), tabu.tenure(4, 8) + 4  # so long that what is tabu would pay
    slow = list(oracles.tabu_search(problem, on, lengths.tolist(), surroundings.tolerance))
    here, links, tolerance = surroundings.neighbourhood, surroundings.links, surroundings.tolerance
    memory, at = tabu.started(here.linear + surroundings.pairs(on), on, len(lengths)), tabu.Progress(queued=len(on))
    energies = [problem.energy(on)]
    for k, (there, lowest) in enumerate(slow):
        end = k + 1 == len(slow)
        at = tabu.tabu_search(here, links, on, memory, at, lengths, 100, tolerance, 1)
        energies.append(problem.energy(there))
        assert at.step == k + 1 and at.lowest == lowest and at.total == energies[-1] - energies[0]
        np.testing.assert_array_equal(on, memory.best if end else there)
    assert problem.energy(on) == min(energies)


def test_restarts_bring_the_best_of_more_starts_and_the_same_ones_with_the_same_seed():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(12, 12, 1)), rng.normal(size=(14, 14, 1))
    formula = Formula(a, b, lambda p, q: np.sin(3 * p * q)[..., 0], symmetric=False)
    problem = Problem((12, 14), [formula], rows=EXACTLY_ONE)
    found = np.array(
        [[problem.energy(random_restart(problem, starts, seed)) for starts in (1, 4)] for seed in range(10)]
    )
    assert (found[:, 1] <= found[:, 0]).all() and (found[:, 1] < found[:, 0]).any()
    assert np.array_equal(random_restart(problem, 4, 3), random_restart(problem, 4, 3))


def test_polishing_the_same_matching_again_gives_the_same_answer():
    problem, _ = planted(order=2, rows=EXACTLY_ONE)
    first, gained = polish(problem, a_matching(problem, 1))
    kept = first.copy()
    first[:] = False  # the answer is the caller's own
    again, same = polish(problem, a_matching(problem, 1))
    assert np.array_equal(again, kept) and same == gained
    polish(problem, a_matching(problem, 2))
    assert np.array_equal(polish(problem, a_matching(problem, 1))[0], kept)


def test_matchings_that_settle_at_the_same_one_are_searched_once(monkeypatch):
    problem, _ = planted(order=2, rows=EXACTLY_ONE)
    surroundings, searched = Surroundings(problem), []
    search = surroundings.tabu_search
    monkeypatch.setattr(
        surroundings, "tabu_search", lambda on, *rest: (searched.append(on.tobytes()), search(on, *rest))[1]
    )
    ends = [(surroundings.polish(start), start) for start in (a_matching(problem, seed) for seed in range(20))]
    assert len(set(searched)) == len(searched) < 20
    for (end, gained), start in ends:
        assert problem.energy(start) + gained == pytest.approx(problem.energy(end), abs=1e-9)


def test_a_search_of_linked_pairs_ends_where_it_finds_nothing_any_more(monkeypatch):
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 900, (2, 200))
    keep = (a // 30 != b // 30) & (a % 30 != b % 30)
    pairs = Sparse(np.stack([a, b], 1)[keep], -rng.random(keep.sum()), symmetric=True)
    surroundings = Surroundings(Problem((30, 30), [Dense(rng.random((30, 30))), pairs]))
    steps, kernel = [], tabu.tabu_search
    monkeypatch.setattr(tabu, "STEPS_AT_ONCE", 900)
    monkeypatch.setattr(tabu, "tabu_search", lambda *args: (found := kernel(*args), steps.append(found))[0])
    on, _ = surroundings.improve(np.zeros(900, bool), 1000)
    surroundings.tabu_search(on, surroundings.pairs(on), 10)
    assert len(surroundings.links.start) and len(steps) < 300
    assert steps[-1].step - steps[-1].last == 30 * tabu.PATIENCE


def check_perturbations(problem: Problem, start: np.ndarray, seed: int) -> None:
    settled, gained = improve(problem, start)
    found, change = iterated_local_search(problem, start, 8, seed)
    assert oracles.allowed(problem, problem.matrix(found))
    assert problem.energy(start) + change == pytest.approx(problem.energy(found), abs=1e-8 * problem.scale)
    assert problem.energy(start) + gained == pytest.approx(problem.energy(settled), abs=1e-8 * problem.scale)
    assert problem.energy(found) <= problem.energy(settled) + 1e-8 * problem.scale
    assert improve(problem, found)[1] == 0.0


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_store_of_a_few_columns_is_enough_and_changes_nothing(symmetric, monkeypatch):
    """Only so many columns are ever asked for: a look that misses one finds it at the next."""
    fetched = []
    fetch = Surroundings.fetch
    monkeypatch.setattr(Surroundings, "fetch", lambda *args: fetched.append(1) or fetch(*args))
    for seed in range(12):
        rng = np.random.default_rng(seed)
        a, b = (0.5 * (m + m.T) if symmetric else m for m in (rng.normal(size=(7, 7)), rng.normal(size=(6, 6))))
        formula = Formula(a, b, lambda p, q: np.sin(3 * p * q)[..., 0], symmetric=symmetric)
        unary, start = Dense(rng.normal(size=(7, 6))), rng.random(42)
        ends = []
        for memory in (1, 3000, 1 << 30):
            problem = Problem((7, 6), [formula, unary], memory=memory)
            fetched.clear()
            ends.append(improve(problem, hungarian(problem, start))[0])
            assert len(fetched) < 5000
        np.testing.assert_array_equal(ends[0], ends[2])
        np.testing.assert_array_equal(ends[1], ends[2])


def test_a_tabu_search_climbs_out_of_a_valley_because_the_way_back_is_barred():
    """From everybody matched straight every change of two pairs costs, the whole cycle saves: without a list that
    forbids it would go back after the first change, for ever."""
    rng = np.random.default_rng(0)
    n, best = 6, np.roll(np.arange(6), 1)
    unary = 3.0 + rng.random((n, n))
    unary[np.arange(n), np.arange(n)] = 0.0
    unary[np.arange(n), best] = 2.9
    pairs = np.zeros((n * n, n * n))
    chosen = np.arange(n) * n + best
    pairs[np.ix_(chosen, chosen)] = -1.0
    np.fill_diagonal(pairs, 0.0)
    problem = Problem((n, n), [Dense(unary), Dense(pairs)], rows=EXACTLY_ONE, cols=EXACTLY_ONE)
    straight = np.eye(n, dtype=bool).reshape(-1)
    assert improve(problem, straight)[1] == 0.0
    surroundings, on = Surroundings(problem), straight.copy()
    change = surroundings.tabu_search(on, surroundings.pairs(on), 10)
    assert np.flatnonzero(on).tolist() == chosen.tolist()
    assert change == pytest.approx(problem.energy(on) - problem.energy(straight)) and change < 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["Dense", "symmetric", "listed", "Formula"])
def test_what_variables_cost_alone_beside_others_and_together_are_differences_of_energies(kind, seed):
    problem = one_kind(kind, 2, seed)
    rng = np.random.default_rng(seed)
    on = rng.random(12) < 0.2
    some = np.flatnonzero(~on)[:5]
    steps = np.eye(12)[some]
    here, alone = problem.energy(on), np.array([problem.energy(on + one) for one in steps])
    both = np.array([[problem.energy(on + one + other) for one in steps] for other in steps])
    found = mutual_costs(problem, on, some)
    assert found is not None
    np.testing.assert_allclose(found[0], alone - here, atol=1e-9)
    together = both - alone[:, None] - alone + here
    off = ~np.eye(len(some), dtype=bool)
    np.testing.assert_allclose(found[1][off], together[off], atol=1e-9)


def test_hyperedges_have_no_mutual_costs():
    assert mutual_costs(mixed((3, 4), 3), np.zeros(12, bool), np.arange(3)) is None
