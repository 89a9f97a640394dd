"""The parts of a search for a bound, each against every matching: branches, probes, what is left out, searches cut."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from adgm import AT_MOST_ONE, EXACTLY_ONE, Dense, Problem, Sparse
from adgm import _kernels as kernels
from adgm.bounds import tied_pairs as tied
from adgm.bounds.all_pairs import Root, offsets, scratch
from adgm.bounds.bound import bound
from adgm.bounds.branch_and_bound import DD
from adgm.explain.margins import margins, without
from oracles import matchings
from problems import grid_distances, mixed

SIDES = list(product((AT_MOST_ONE, EXACTLY_ONE), repeat=2))


def small(seed: int) -> Problem:
    rows, cols = SIDES[seed % 4]
    shape = (3, 3) if rows == cols == EXACTLY_ONE else (4, 3) if cols == EXACTLY_ONE else (3, 4)
    return mixed(shape, 2, seed, rows=rows, cols=cols)


def cheapest_with(problem, root, every, label) -> float:
    """Beside what every matching pays, the cheapest matching that takes this label of the root."""
    v, row = int(root.variable[label]), int(root.labels.row[label])
    if v >= 0:
        taken = [energy for energy, matrix in every if matrix[problem.layout.row[v], problem.layout.col[v]]]
    else:  # nobody
        axis = 0 if problem.shape[1] < problem.shape[0] else 1
        taken = [energy for energy, matrix in every if not matrix.any(axis=axis)[row]]
    return min(taken, default=np.inf) - root.offset


@pytest.mark.parametrize("kind", [Root, tied.TiedRoot])
@pytest.mark.parametrize("seed", range(12))
def test_a_branch_costs_no_more_than_the_cheapest_matching_with_its_label(kind, seed, monkeypatch):
    monkeypatch.setattr(tied, "MOST_DENSE", 0 if kind is tied.TiedRoot else 1 << 27)
    problem = small(seed)
    root, every = kind(problem), list(matchings(problem))
    best = min(energy for energy, _ in every) - root.offset
    monkeypatch.setattr(tied, "WARM", 10**6)
    node = root.node()
    for sweep in range(6):
        node, _ = node.swept(best + 3.0, 0.7, (seed, sweep), probing=False)
        branches = node.branches(best + 3.0)
        names = [branch.names[branch.pending] if kind is Root else branch.pending for branch in branches]
        assert len({int(root.labels.row[name]) for name in names}) == 1 and len(set(names)) == len(names)
        for name, branch in zip(names, branches, strict=True):
            true = cheapest_with(problem, root, every, name)
            assert branch.lower <= true + 1e-9
            assert branch.lower >= node.lower
            inside = branch.opened(best + 3.0)
            assert inside.lower <= true + 1e-9 or true >= best + 3.0 - 1e-9
            for more in range(3):
                if inside.lower < best + 3.0:
                    inside, _ = inside.swept(best + 3.0, 0.7, (seed, more), probing=more == 2)
                    assert inside.lower <= true + 1e-9 or true >= best + 3.0 - 1e-9
        for name in range(len(root.variable)):  # what is in no branch is in a branch of another label
            if int(root.labels.row[name]) == int(root.labels.row[names[0]]) and name not in names:
                assert cheapest_with(problem, root, every, name) >= best + 3.0 - 1e-9


def test_a_branch_begins_with_fresh_counts():
    problem = small(1)
    node = tied.TiedRoot(problem).node()
    for sweep in range(3):
        node, _ = node.swept(100.0, 0.7, (0, sweep), probing=False)
    for branch in replace(node, stale=7, stride=0.5).branches(100.0):
        assert (branch.gains, branch.stride, branch.stale) == ((), tied.STRIDE, 0)


def value(labels, costs, base, chosen) -> float:
    """What a choice of labels costs, as `_kernels.dual_ascent` writes it down."""
    single, pair, unused = costs
    free = ~np.isin(np.arange(labels.width), labels.col[chosen])
    off = ~np.eye(len(chosen), dtype=bool)
    held = unused[np.append(chosen, len(unused) - 1)][:, :-1][:, free].sum()
    return base + single[chosen].sum() + pair[np.ix_(chosen, chosen)][off].sum() - held


@pytest.mark.parametrize("seed", range(10))
def test_a_probe_rules_out_what_reaches_the_limit_and_nothing_else(seed):
    """With two rows a probed label's subproblem is all there is, so that its bound is the truth where no label but the
    probed one has costs of unused columns of its own."""
    rng = np.random.default_rng(seed)
    rows, width = 2, 4
    row, col = (a.reshape(-1) for a in np.indices((rows, width)))
    labels = kernels.Labels(offsets(row, rows), row, col, width)
    n, p = len(row), int(rng.integers(rows * width))
    single, pair, unused = rng.random(n), rng.random((n, n)), np.zeros((n + 1, width + 1))
    pair[(row[:, None] == row) | (col[:, None] == col)] = np.inf
    unused[[p, n], :width] = -rng.random((2, width))
    choices = [np.array([a, b]) for a, b in product(range(width), range(width, n)) if col[a] != col[b]]
    costs = {tuple(c): value(labels, (single, pair, unused), 0.5, c) for c in choices}
    true = min(cost for choice, cost in costs.items() if p in choice)
    for limit in (true - 1e-6, true + 1e-6, true + 0.5):
        after = kernels.Costs(single.copy(), pair.copy(), unused.copy())
        kernels.probe(labels, after, 0.5, limit, np.array([p]), np.empty(n), scratch(labels))
        assert np.isinf(after.single[p]) == (true >= limit)
        if limit > true:
            for q in np.flatnonzero(row != row[p]):
                choice = (min(p, q), max(p, q))
                assert np.isinf(after.pair[p, q]) == np.isinf(after.pair[q, p])
                assert np.isinf(after.pair[p, q]) == (costs.get(choice, np.inf) >= limit)


def test_what_a_matching_without_a_label_costs_counts_what_rounding_can_add():
    """Without the allowance the bound is above the truth now and then."""
    above = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        costs = np.triu(1e9 * rng.random((9, 9)), 1)
        problem = Problem((3, 3), [Dense(costs + costs.T)], EXACTLY_ONE, EXACTLY_ONE)
        root = Root(problem)
        node = root.node()
        for sweep in range(20):
            node, _ = node.swept(np.inf, 0.7, (seed, sweep), probing=False)
        chosen = [np.flatnonzero(matrix).tolist() for _, matrix in matchings(problem)]
        exact = [(sum((Fraction(costs[a, b]) for a in x for b in x), Fraction(0)) * 2, x) for x in chosen]
        for p, v in enumerate(root.variable):
            true = min(energy for energy, x in exact if v not in x)
            found, bare = (
                Fraction(without(each, p)) + Fraction(root.offset)
                for each in (node, replace(node, error=0.0, largest=0.0))
            )
            assert found <= true and bare - found < 1.0
            above += bare > true
    assert above > 0


def flows(seed: int) -> Problem:
    """A problem that keeps a gap until it is split: flows between the places of a grid."""
    rng = np.random.default_rng(seed)
    flow = np.triu(rng.integers(1, 7, (6, 6)) * (rng.random((6, 6)) < 0.6), 1).astype(float)
    pairs = np.kron(flow + flow.T, grid_distances(2, 3))
    return Problem((6, 6), [Dense(pairs)], EXACTLY_ONE, EXACTLY_ONE)


def test_margins_are_never_wrong_wherever_the_search_is_cut():
    problem = flows(0)
    every = list(matchings(problem))
    best, matrix = min(every, key=lambda found: found[0])
    true = {
        (i, j): min(energy for energy, other in every if not other[i, j]) - best
        for i, j in np.argwhere(matrix).tolist()
    }
    sure = []
    for effort in (3e3, 1e5, 3e6):
        found = margins(problem, matrix, effort=effort)
        for m in found:
            assert m.at_least <= true[m.match] + 1e-9 and m.margin >= true[m.match] - 1e-9
            assert not m.certified or m.margin == pytest.approx(true[m.match])
            assert not m.sure or true[m.match] > 0
        sure.append(sum(m.certified for m in found))
    assert sure[0] == 0 and sure[-1] == 6 and sure == sorted(sure)


@pytest.mark.parametrize("far", [False, True])
def test_the_bound_is_not_above_that_of_any_open_node_whichever_is_being_swept(far):
    problem, method = flows(0), DD()
    start = method.init(problem)
    node, _ = start.root.node().swept(np.inf, 0.7, (0, 0), probing=False)
    first, *others = node.branches(100.0)
    waiting = tuple(replace(other, lower=-50.0 if far else other.lower) for other in others)
    state = replace(start, current=first.opened(np.inf), waiting=waiting, best_energy=1e6)
    after = method.step(problem, state, 1)
    assert after.current is not None and len(after.waiting) == len(waiting)
    open_ends = [each.lower for each in (*after.waiting, after.current) if each is not None]
    assert after.lower == pytest.approx(min(open_ends) + start.root.offset)
    assert not far or after.lower == pytest.approx(start.root.offset - 50.0)


def test_a_bound_is_never_above_the_optimum_at_any_moment_under_any_effort():
    problem = flows(0)
    best, lowers = min(energy for energy, _ in matchings(problem)), []
    for effort in (3e3, 1e5, 3e6):
        found = bound(problem, effort=effort, watch=lambda state: lowers.append(state.lower))
        assert found.lower <= best <= found.best_energy and (not found.solved or found.best_energy == best)
    assert found.solved and max(lowers) <= best


@pytest.mark.parametrize("kind", [Root, tied.TiedRoot])
@pytest.mark.parametrize("listed", [False, True])
def test_what_every_matching_pays_is_taken_off_before_anything_is_rounded(kind, listed):
    rng = np.random.default_rng(0)
    unary, pairs = (np.round(64 * rng.normal(size=size)) / 64 for size in ((4, 4), (16, 16)))

    def root(far: float, wide: float):
        index = np.argwhere(np.ones((16, 16)))
        costs = (pairs + wide).reshape(-1)
        second = Sparse(index, costs) if listed else Dense(pairs + wide)
        return kind(Problem((4, 4), [Dense(unary + far * np.arange(4.0)[:, None]), second], EXACTLY_ONE, EXACTLY_ONE))

    near, moved = root(0.0, 0.0), root(2.0**30, 2.0**28)
    name = "pair" if kind is Root else "table"
    np.testing.assert_array_equal(getattr(near, name), getattr(moved, name))
    np.testing.assert_array_equal(near.single, moved.single)
    assert near.single.min() == getattr(near, name).min() == 0.0
    paid = 6 * 2.0**30 + 16 * 2.0**28
    assert 0 <= near.offset + paid - moved.offset <= 1e-4  # rounded down


def test_the_last_choices_of_a_node_are_told_and_none_before():
    rng = np.random.default_rng(0)
    only = Problem((3, 3), [Dense(rng.random((9, 9)))], EXACTLY_ONE, EXACTLY_ONE, np.eye(3, dtype=bool))
    one_row = Problem((1, 3), [Dense(rng.random((1, 3)))], EXACTLY_ONE)
    several = Problem((3, 3), [Dense(rng.random((9, 9)))], EXACTLY_ONE, EXACTLY_ONE)
    (end,) = tied.TiedRoot(only).node().ends()
    assert end.tolist() == [0, 1, 2]
    for kind in (Root, tied.TiedRoot):
        assert [end.tolist() for end in kind(one_row).node().ends()] == [[0], [1], [2]]
        assert kind(several).node().ends() is None


def test_what_every_matching_pays_moves_no_margin_however_far_the_search_comes():
    plain, partner = flows(0), [5, 3, 1, 2, 0, 4]
    other = replace(plain, potentials=[*plain.potentials, Dense(np.full(plain.shape, 5.0))])
    for effort, near in ((3e3, 4.0), (1e4, 4.0), (3e5, 1e-6)):  # how near to what is found the proof comes that far
        here, there = (margins(problem, np.eye(6)[partner], [(0, 5)], effort=effort)[0] for problem in (plain, other))
        assert here.certified == there.certified == (near < 1) and here.at_least > here.margin - near
        assert there.at_least == pytest.approx(here.at_least, abs=1e-6)
        assert there.margin == pytest.approx(here.margin, abs=1e-6)


@pytest.mark.parametrize("root", [Root, tied.TiedRoot])
def test_what_rounding_may_have_added_is_taken_off_every_bound(root):
    node = replace(root(small(3)).node(), error=0.5)
    after, _ = node.swept(np.inf, 0.7, (0, 0), False)
    assert after.error >= 0.5 and np.isfinite(after.base)
    assert after.lower == after.base - after.error
    for one in after.branches(1e9):
        assert one.lower == max(after.lower, after.base + after.costs.single[one.pending] - after.error)
