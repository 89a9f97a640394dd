"""The bound of large sparse problems, over the rows that share costs: held against brute force on tiny ones."""

from itertools import product

import numpy as np
import pytest

from adgm import AT_MOST_ONE, EXACTLY_ONE, METHODS, Dense, Formula, Problem, Sparse, solve
from adgm.bounds import tied_pairs as tied
from adgm.bounds.all_pairs import Node, bytes_needed
from adgm.bounds.bound import bound, searchable
from adgm.costs.pairs import PairCosts
from adgm.run import Run
from adgm.search.fusion import dual_start, fuse, grown
from features.datasets import DATASETS
from tests.oracles import allowed
from tests.oracles_bound import energy, matchings, optimum

SIDES = list(product((AT_MOST_ONE, EXACTLY_ONE), repeat=2))


@pytest.fixture(autouse=True)
def all_are_large(monkeypatch):
    monkeypatch.setattr(tied, "MOST_DENSE", 0)
    monkeypatch.setattr("adgm.search.fusion.LARGE", 0)


def sparse(seed, sides=(AT_MOST_ONE, AT_MOST_ONE)):
    """Few costs of either sign; rows without ties, pairs that exclude each other and diagonal entries among them."""
    rng = np.random.default_rng([seed, 7])
    n1, n2 = (4, 4) if sides == (EXACTLY_ONE, EXACTLY_ONE) else (3, 4) if sides[0] == EXACTLY_ONE else (4, 3)
    n = n1 * n2
    index = rng.integers(n, size=(int(rng.integers(1, 4 * n)), 2))
    potentials = [Sparse(index, rng.normal(size=len(index)))]
    if seed % 2:
        apart = index[index[:, 0] != index[:, 1]]
        potentials.append(Sparse(apart, rng.normal(size=len(apart)), symmetric=True))
    if seed % 3:
        potentials.append(Dense(rng.normal(size=(n1, n2)) * (rng.random((n1, n2)) < 0.7)))
    mask = None
    if seed % 4 == 3:
        mask = rng.random((n1, n2)) < 0.7
        mask[np.arange(min(n1, n2)), np.arange(min(n1, n2))] = True
    return Problem((n1, n2), potentials, *sides, candidates=mask)


def cells(nodes=30, **params):
    return DATASETS["cells"].load(images=False, nodes=nodes, left_outliers=3, outliers=3, candidates=6, **params).given


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("seed", range(30))
def test_the_bound_holds_and_splitting_meets_the_optimum(seed, sides):
    problem = sparse(seed, sides)
    best = optimum(problem)
    assert not tied.dense(problem)
    alone = bound(problem, sweeps=15, nodes=0)
    assert alone.lower <= best + 1e-9 and alone.best_energy >= best - 1e-9
    found = bound(problem, sweeps=4000)
    assert found.lower <= best + 1e-9 and found.solved
    assert found.best_energy == pytest.approx(best, abs=1e-6 * max(1.0, abs(best)))


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("seed", range(8))
def test_the_search_over_all_pairs_takes_over_what_is_proved(seed, sides, monkeypatch):
    monkeypatch.setattr(tied, "MOST_DENSE", 1 << 27)
    monkeypatch.setattr(tied, "WARM", 2)
    problem = sparse(seed, sides)
    best, root = optimum(problem), tied.TiedRoot(problem)
    node, beside = root.node(), best - root.offset
    for sweep in range(2):
        before, (node, _) = node.lower, node.swept(beside + 1.0, 0.7, (seed, sweep), False)
    assert isinstance(node, Node) and before <= node.lower <= beside + 1e-9
    found = bound(problem, sweeps=4000)
    assert found.solved and found.lower <= best + 1e-9
    assert found.best_energy == pytest.approx(best, abs=1e-6 * max(1.0, abs(best)))


@pytest.mark.parametrize("seed", range(12))
def test_sweeps_leave_what_a_matching_costs_and_no_negative_term(seed):
    problem = sparse(seed, SIDES[seed % 4])
    root = tied.TiedRoot(problem)
    node, labels, ties = root.node(), root.labels, root.ties
    number = problem.layout.grid()
    limit = optimum(problem) + 1.0 - root.offset
    for sweep in range(8):
        node, chosen = node.swept(limit, 0.7, (seed, sweep), False)
        assert chosen is not None and node.lower <= limit
        single, held, table = node.costs
        assert single.min() >= 0 and table.min(initial=0.0) >= -1e-9
        for pairs in matchings(problem):
            label = {int(labels.row[p]): p for p in range(len(labels.row)) if root.variable[p] == -1}
            for i, s in pairs:
                p = int(np.flatnonzero(root.variable == number[i, s])[0])
                label[int(labels.row[p])] = p
            on = [label[row] for row in sorted(label)]
            total = node.base - node.prices + single[on].sum() + held[on].sum()
            for t, (i, j) in enumerate(zip(ties.left, ties.right, strict=True)):
                width = labels.start[j + 1] - labels.start[j]
                total += table[ties.start[t] + (on[i] - labels.start[i]) * width + on[j] - labels.start[j]]
            paid = energy(problem, pairs) - root.offset
            assert total == pytest.approx(paid, abs=1e-7) or (np.isinf(total) and paid >= limit - 1e-7)


def test_the_bound_grows_the_energy_falls_and_a_planted_problem_is_nearly_closed():
    seen = []
    found = bound(cells(), nodes=0, sweeps=120, watch=lambda state: seen.append((state.lower, state.best_energy)))
    lower, best = np.array(seen).T
    assert (np.diff(lower) >= 0).all() and (np.diff(best) <= 0).all()
    assert found.gap < 0.02 and found.lower <= found.best_energy


def test_equal_seeds_give_equal_runs():
    one, other = (bound(cells(), sweeps=30) for _ in range(2))
    assert (one.lower, one.best_energy, one.nodes) == (other.lower, other.best_energy, other.nodes)


def test_size_decides_the_form(monkeypatch):
    large = cells()
    monkeypatch.setattr(tied, "MOST_DENSE", bytes_needed(large))
    assert tied.TiedRoot(large).thick
    monkeypatch.setattr(tied, "MOST_DENSE", bytes_needed(large) - 1)
    assert not tied.TiedRoot(large).thick
    apart = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    formula = Formula(apart, apart, lambda a, b: (a - b)[..., 0] ** 2)
    assert tied.TiedRoot(Problem((5, 5), [formula])).thick  # which costs all pairs


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("seed", range(8))
def test_all_pairs_go_on_from_where_the_ties_have_led(seed, sides, monkeypatch):
    """What a matching costs stays what it was, no term is negative, and the search meets the optimum."""
    monkeypatch.setattr(tied, "MOST_DENSE", 1 << 27)
    monkeypatch.setattr(tied, "WARM", 2)
    problem = sparse(seed, sides)
    root, number = tied.TiedRoot(problem), problem.layout.grid()
    best, node = optimum(problem) - root.offset, root.node()
    for sweep in range(2):
        assert isinstance(node, tied.TiedNode)
        node, _ = node.swept(best + 1.0, 0.7, (seed, sweep), False)
    assert isinstance(node, Node)
    single, pair, unused = node.costs
    assert single.min() >= 0 and pair.min() >= 0 and unused.max(initial=0.0) <= 0
    place = {int(root.variable[name]): p for p, name in enumerate(node.names) if root.variable[name] >= 0}
    nobody = {int(node.labels.row[p]): p for p, name in enumerate(node.names) if root.variable[name] == -1}
    for pairs in matchings(problem):
        paid, used = energy(problem, pairs) - root.offset, [number[i, s] for i, s in pairs]
        if not all(v in place for v in used):  # ruled out
            assert paid >= best + 1.0 - 1e-7
            continue
        on = {**nobody, **{int(node.labels.row[place[v]]): place[v] for v in used}}
        if len(on) < node.rows:
            assert paid >= best + 1.0 - 1e-7
            continue
        chosen = list(on.values())
        both = pair[np.ix_(chosen, chosen)]
        total = node.base + single[chosen].sum() + both[~np.eye(len(chosen), dtype=bool)].sum()
        if unused.size:
            free = np.setdiff1d(np.arange(node.labels.width), node.labels.col[chosen])
            total -= unused[-1, free].sum()
        assert total == pytest.approx(paid, abs=1e-7) or (np.isinf(total) and paid >= best + 1.0 - 1e-7)
    found = bound(problem, sweeps=4000)
    assert found.solved and found.best_energy - root.offset == pytest.approx(best, abs=1e-6 * max(1.0, abs(best)))


def test_costs_of_all_pairs_make_the_same_ties_as_those_that_are_listed():
    problem = sparse(1, SIDES[3])
    number = np.arange(problem.n)
    whole = np.zeros((problem.n, problem.n))
    for p in problem.potentials:
        if p.order(problem.shape) == 2:
            index, cost, both = p.entries(problem.layout)
            np.add.at(whole, tuple(index.T), cost)
            np.add.at(whole, tuple(index.T[::-1]), cost if both else 0.0)
    alone = [p for p in problem.potentials if p.order(problem.shape) == 1]
    dense = Problem(problem.shape, [Dense(whole[np.ix_(number, number)]), *alone], problem.rows, problem.cols)
    one, other = tied.TiedRoot(problem), tied.TiedRoot(dense)
    np.testing.assert_array_equal(one.ties.left, other.ties.left)
    np.testing.assert_allclose(one.table, other.table)
    np.testing.assert_allclose(one.single, other.single)


def test_memory_is_counted_before_it_is_taken():
    problem = cells()
    root = tied.TiedRoot(problem)
    assert tied.tied_bytes(problem) >= root.table.nbytes
    less = Problem(problem.shape, problem.potentials, candidates=problem.candidates, memory=root.table.nbytes // 2)
    assert searchable(problem) and not searchable(less)
    with pytest.raises(ValueError, match="memory"):
        tied.TiedRoot(less)
    assert bound(less).sweeps == 1  # Gilmore and Lawler's bound needs none
    more = Problem(problem.shape, problem.potentials, candidates=problem.candidates, memory=bytes_needed(problem) - 1)
    assert searchable(more) and bound(more, sweeps=20, nodes=0).lower > bound(less).lower


def test_methods_begin_with_what_the_ascent_meets(monkeypatch):
    problem = cells(seed=2)
    start = dual_start(problem)
    reached = problem.energy(start)
    for key in ("adgm+", "fusion"):
        assert METHODS[key].make().init(problem).best_energy <= reached + 1e-9
    monkeypatch.setattr("adgm.search.fusion.LARGE", bytes_needed(problem))
    assert dual_start(problem) is None
    assert dual_start(sparse(3, SIDES[3])) is None


@pytest.mark.parametrize("sides", SIDES)
def test_matchings_grow_from_node_to_node_and_obey_the_constraints(sides):
    for seed in range(30):
        problem = sparse(seed, sides)
        found = grown(problem, np.random.default_rng(seed))
        assert allowed(problem, problem.matrix(found))
        if EXACTLY_ONE not in sides:
            np.testing.assert_array_equal(found, grown_slowly(problem, np.random.default_rng(seed)))


def grown_slowly(problem, rng):
    """By whole energies: the first node in order that shares a cost with what is there, else the first one."""
    row, col = problem.layout.row, problem.layout.col
    order, on = list(rng.permutation(problem.shape[0])), np.zeros(problem.n, bool)
    costs = PairCosts(problem).sparse.toarray() != 0
    while order:
        beside = {row[v] for v in np.flatnonzero(costs[on].any(axis=0))}
        i = next((i for i in order if i in beside), order[0])
        order.remove(i)
        tried = [on] + [on | (np.arange(problem.n) == v) for v in np.flatnonzero(row == i) if col[v] not in col[on]]
        on = min(tried, key=lambda x: round(problem.energy(x), 9))
    return on


def test_matchings_of_listed_costs_are_merged_as_those_of_stored_ones(monkeypatch):
    problem = cells(seed=1)
    rng = np.random.default_rng(0)
    draws = [solve(problem, METHODS["adgm"].make(max_iter=int(n))).assignment for n in (2, 400)]
    draws.append(draws[0] & (rng.random(problem.n) < 0.9))
    merged = [fuse(problem, a, b) for a in draws for b in draws]
    monkeypatch.setattr("adgm.search.local_search.WHOLE", 0)
    again = cells(seed=1)
    for (matching, change), (other, same) in zip(
        merged, (fuse(again, a, b) for a in draws for b in draws), strict=True
    ):
        assert change == pytest.approx(same, abs=1e-9)
        assert problem.energy(matching) == pytest.approx(problem.energy(other), abs=1e-9)


@pytest.mark.parametrize("key", ["adgm+", "fusion"])
def test_what_an_interrupted_ascent_has_met_is_not_lost(key):
    """Every look at the clock takes a hundredth of a second."""
    problem, now = cells(seed=2), 0.0
    begun = METHODS["dd"].make().init(problem).best_energy

    def clock():
        nonlocal now
        now += 0.01
        return now

    run = Run(problem, METHODS[key].make(), time_limit=0.2, clock=clock)
    result = run.finish()
    assert run.state is None and result.status == "time limit"
    assert result.energy <= begun and result.energy == pytest.approx(problem.energy(result.assignment))
