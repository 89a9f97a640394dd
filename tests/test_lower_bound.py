"""Lower bounds: never above the optimum of brute force, equal to it where the search may finish."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from adgm import ANY, AT_MOST_ONE, EXACTLY_ONE, METHODS, Dense, Formula, Problem, Sparse, iterate, solve
from adgm import _kernels as kernels
from adgm.bounds.all_pairs import Root, offsets, quick_bound, scratch
from adgm.bounds.bound import bound, refusal
from adgm.bounds.branch_and_bound import DD
from adgm.search.local_search import improve
from oracles import allowed
from oracles_bound import energy, gilmore_lawler, matchings, optimum

deterministic = partial(settings, deadline=None, derandomize=True)
ONE_TO_ONE = (EXACTLY_ONE, AT_MOST_ONE)


def difference(a, b):
    return np.abs(a - b).sum(axis=-1) - 1.0


def potentials(kinds, shape, rng):
    """One potential of each kind, with costs of both signs."""
    n1, n2 = shape
    n = n1 * n2
    for kind in kinds:
        if kind == "unary":
            yield Dense(rng.normal(size=shape))
        elif kind == "dense":
            yield Dense(rng.normal(size=(n, n)))
        elif kind == "sparse":
            rows = rng.integers(n, size=(2 * n, 2))
            yield Sparse(rows, rng.normal(size=len(rows)))
        elif kind == "symmetric":
            rows = np.array([r for r in rng.integers(n, size=(2 * n, 2)) if r[0] != r[1]], int).reshape(-1, 2)
            yield Sparse(rows, rng.normal(size=len(rows)), symmetric=True)
        else:
            left, right = rng.normal(size=(n1, n1, 2)), rng.normal(size=(n2, n2, 2))
            if kind == "formula":
                left, right = left + left.swapaxes(0, 1), right + right.swapaxes(0, 1)
            yield Formula(left, right, difference, symmetric=kind == "formula")


KINDS = ("unary", "dense", "sparse", "symmetric", "formula", "directed")


@st.composite
def problems(draw, largest=4):
    shape = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=2, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    mask = rng.random(shape) < 0.7 if draw(st.booleans()) else None
    given_potentials = list(potentials(kinds, shape, rng))
    try:
        return Problem(
            shape, given_potentials, draw(st.sampled_from(ONE_TO_ONE)), draw(st.sampled_from(ONE_TO_ONE)), mask
        )
    except ValueError:  # more nodes than partners, or too few candidates
        assume(False)


def square(n, seed=0, kinds=("unary", "formula")):
    return Problem((n, n), list(potentials(kinds, (n, n), np.random.default_rng(seed))), EXACTLY_ONE, EXACTLY_ONE)


def grid(columns, rows, seed=0):
    """Flows between the places of a grid: problems that keep a gap until they are split."""
    rng = np.random.default_rng(seed)
    n = columns * rows
    spots = np.stack(np.divmod(np.arange(n), columns), axis=1)
    distance = np.abs(spots[:, None] - spots).sum(axis=-1).astype(float)
    flow = np.triu(rng.integers(1, 7, (n, n)) * (rng.random((n, n)) < 0.6), 1).astype(float)
    product = Formula(flow + flow.T, distance, lambda a, b: a[..., 0] * b[..., 0])
    return Problem((n, n), [product], EXACTLY_ONE, EXACTLY_ONE)


# ---- the assignment kernel ---------------------------------------------------------------------------------


@deterministic(max_examples=150)
@given(st.integers(1, 9), st.integers(0, 6), st.integers(0, 10_000), st.booleans(), st.booleans())
def test_assignment_costs_what_scipys_costs_and_its_duals_prove_it(rows, more, seed, nobody, coarse):
    rng = np.random.default_rng(seed)
    width = rows + more
    cost = rng.integers(-3, 4, (rows, width)).astype(float) if coarse else rng.normal(size=(rows, width))
    cost[rng.random(cost.shape) < 0.2] = np.inf
    private = np.where(np.eye(rows, dtype=bool), 0.0, np.inf) if nobody else np.empty((rows, 0))
    try:
        reference = np.hstack([cost, private])
        expected = reference[linear_sum_assignment(reference)].sum()
    except ValueError:  # infeasible
        expected = np.inf
    full = np.hstack([cost, np.zeros((rows, 1))]) if nobody else cost
    row, col = (a.reshape(-1) for a in np.indices(full.shape))
    labels = kernels.Labels(offsets(row, rows), row, col, width)
    out = scratch(labels)
    total = kernels.assign(labels, full.reshape(-1), -1, out)
    assert total == pytest.approx(expected, abs=1e-9)
    if np.isfinite(expected):
        reduced = full - out.u[:, None] - out.v[: full.shape[1]]
        assert reduced.min() >= -1e-12
        assert out.v.max() <= 0
        assert out.v[width] == 0
        used = col[out.choice]
        assert full.reshape(-1)[out.choice].sum() == pytest.approx(expected, abs=1e-9)
        assert len(set(used[used < width])) == (used < width).sum()
        assert (out.v[:width][~np.isin(np.arange(width), used)] == 0).all()


def test_assignment_leaves_a_row_out():
    cost = np.random.default_rng(3).random((5, 5))
    row, col = (a.reshape(-1) for a in np.indices(cost.shape))
    labels = kernels.Labels(offsets(row, 5), row, col, 5)
    out = scratch(labels)
    rest = np.delete(cost, 2, axis=0)
    assert kernels.assign(labels, cost.reshape(-1), 2, out) == pytest.approx(rest[linear_sum_assignment(rest)].sum())
    assert out.choice[2] == -1


# ---- what the sweeps do to the costs -----------------------------------------------------------------------


def cost_of(node, root, pairs, problem):
    """What a node's moved costs say a matching costs."""
    number = problem.layout.grid()
    chosen = {int(np.flatnonzero(root.variable == number[i1, i2])[0]) for i1, i2 in pairs}
    for i in range(len(root.labels.start) - 1):
        labels = np.flatnonzero(root.labels.row == i)
        if not chosen & set(labels.tolist()):
            chosen.add(int(labels[-1]))  # nobody
    index = np.flatnonzero(np.isin(node.names, list(chosen)))
    single, pair, unused = node.costs
    used = node.labels.col[index]
    free = ~np.isin(np.arange(node.labels.width), used)
    off = ~np.eye(len(index), dtype=bool)
    total = node.base + single[index].sum() + pair[np.ix_(index, index)][off].sum()
    if unused.size:
        total -= unused[np.append(index, len(unused) - 1)][:, :-1][:, free].sum()
    return total


@deterministic(max_examples=60)
@given(problems(largest=3), st.integers(1, 6))
def test_sweeps_leave_every_matchings_cost_and_no_negative_term(problem, sweeps):
    root = Root(problem)
    node = root.node()
    for k in range(sweeps):
        node, chosen = node.swept(np.inf, 0.7, (0, k), probing=False)
        assert chosen is not None
    assert min(node.costs.single.min(), node.costs.pair.min()) >= 0
    assert node.costs.unused.max(initial=0.0) <= 0
    for pairs in matchings(problem):
        assert cost_of(node, root, pairs, problem) + root.offset == pytest.approx(energy(problem, pairs), abs=1e-9)


@deterministic(max_examples=40)
@given(problems(largest=4))
def test_what_a_sweep_suggests_is_a_matching_that_a_descent_improves(problem):
    root = Root(problem)
    _, chosen = root.node().swept(np.inf, 0.7, (0, 0), probing=False)
    suggested = root.matching(chosen)
    assert allowed(problem, problem.matrix(suggested))
    assignment, _ = improve(problem, suggested)
    found = problem.energy(assignment)
    here = {(int(problem.layout.row[v]), int(problem.layout.col[v])) for v in np.flatnonzero(assignment)}
    for pairs in matchings(problem):
        if len({i1 for i1, _ in here ^ set(pairs)}) <= 1:
            assert energy(problem, pairs) >= found - 1e-9


# ---- the bound ---------------------------------------------------------------------------------------------


@deterministic(max_examples=150)
@given(problems(), st.integers(0, 3))
def test_the_search_meets_the_optimum_of_brute_force(problem, seed):
    best = optimum(problem)
    for state in iterate(DD(seed=seed), problem):
        assert state.lower <= best + 1e-9
        assert state.best_energy >= best - 1e-9
    assert state.proved
    assert state.gap == 0.0
    assert state.best_energy == pytest.approx(best, abs=1e-9)
    assert state.lower == pytest.approx(best, rel=1e-5, abs=1e-5)


@deterministic(max_examples=60)
@given(problems(), st.data())
def test_the_bound_judges_any_matching(problem, data):
    every = list(matchings(problem))
    pairs = every[data.draw(st.integers(0, len(every) - 1))]
    x = np.zeros(problem.shape)
    x[tuple(np.array(pairs, int).reshape(-1, 2).T)] = 1
    found, best = bound(problem, x), optimum(problem)
    assert found.solved
    assert found.energy == pytest.approx(energy(problem, pairs), abs=1e-9)
    assert found.lower <= best + 1e-9
    assert found.best_energy == pytest.approx(best, abs=1e-9)
    assert found.proved == (found.energy <= best + 1e-5 * max(1.0, abs(best)))
    assert str(found) == "proved optimal" if found.proved else str(found).startswith("gap ")


@pytest.mark.parametrize("rows", ONE_TO_ONE)
@pytest.mark.parametrize("cols", ONE_TO_ONE)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_under_every_constraint_with_branching(kind, rows, cols):
    shape = {(EXACTLY_ONE, AT_MOST_ONE): (4, 5), (AT_MOST_ONE, EXACTLY_ONE): (5, 4)}.get((rows, cols), (5, 5))
    rng = np.random.default_rng(5)
    mask = rng.random(shape) < 0.8
    mask[np.arange(4), np.arange(4)] = True
    mask[-1, -1] = True
    problem = Problem(shape, list(potentials([kind], shape, rng)), rows, cols, mask)
    result = solve(problem, METHODS["dd"].make(), every=1)
    assert result.status == "converged"
    assert result.energy == pytest.approx(optimum(problem), abs=1e-9)
    assert result.energy == pytest.approx(problem.energy(result.assignment))


def test_a_few_sweeps_beat_gilmore_and_lawler():
    for seed in range(20):
        problem = square(6, seed, ("unary", "dense"))
        root = Root(problem)
        classical = gilmore_lawler(problem, root.single, root.pair) + root.offset
        assert quick_bound(problem)[0] == pytest.approx(classical)
        assert bound(problem, sweeps=3, nodes=0).lower > classical


@deterministic(max_examples=80)
@given(problems())
def test_problems_too_large_for_memory_get_a_weaker_bound(problem):
    small = replace(problem, memory=1)
    best = optimum(problem)
    found = bound(small)
    assert found.lower <= best + 1e-9
    assert found.energy >= best - 1e-9
    assert found.energy == pytest.approx(problem.energy(found.best), abs=1e-9)
    judged = bound(small, found.best)
    assert (judged.lower, judged.gap) == (found.lower, found.gap)


def test_the_bound_grows_and_the_energy_falls():
    history = solve(grid(3, 3), DD(max_iter=400), every=7).history
    assert set(history) == {"seconds", "bound", "energy"}
    assert len(history["bound"]) == len(history["seconds"]) > 10
    assert (np.diff(history["bound"]) >= 0).all()
    assert (np.diff(history["energy"]) <= 0).all()
    assert (history["bound"] <= history["energy"]).all()


def test_a_search_that_may_not_split_says_how_far_it_came():
    problem = grid(3, 2)
    found = bound(problem, nodes=0)
    assert not found.proved
    assert found.nodes == 1
    assert found.lower < optimum(problem) <= found.energy == pytest.approx(found.lower / (1 - found.gap))
    assert str(found).startswith("gap ")


@pytest.mark.parametrize("seed", range(3))
def test_splitting_closes_the_gap(seed):
    problem = grid(3, 2, seed)
    found = bound(problem)
    assert found.nodes > 1
    assert found.proved
    assert found.energy == pytest.approx(optimum(problem))


def test_equal_seeds_give_equal_runs_however_they_are_cut():
    problem = grid(3, 3, 4)
    runs = [solve(problem, DD(max_iter=60, seed=3), every=every) for every in (1, 1, 13)]
    for run in runs[1:]:
        assert np.array_equal(run.history["bound"], runs[0].history["bound"])
        assert np.array_equal(run.assignment, runs[0].assignment)
        assert run.state.nodes == runs[0].state.nodes


def test_a_state_can_be_continued_twice_with_the_same_outcome():
    problem = grid(3, 3, 4)
    method = DD(max_iter=200)
    early = method.step(problem, method.init(problem), 5)
    first, second = (method.step(problem, early, 40) for _ in range(2))
    assert first.lower == second.lower
    assert first.best_energy == second.best_energy


def test_it_stops_when_told_and_on_time():
    problem = grid(5, 3)
    stopped = solve(problem, DD(), every=1, watch=lambda state: state.iteration >= 4)
    assert (stopped.status, stopped.iterations) == ("stopped", 4)
    assert bound(problem, watch=lambda state: state.iteration >= 2).sweeps == 2
    assert bound(problem, time_limit=1e-9).sweeps <= 1
    late = solve(problem, DD(), every=1, time_limit=0.05)
    assert late.status == "time limit"
    assert np.isfinite(late.state.lower)


def test_effort_is_limited():
    result = solve(grid(4, 3), DD(effort=1e5), every=1)
    assert result.status == "iteration limit"
    assert 1e5 <= result.state.work < 1e5 + 144**2


@pytest.mark.data
def test_house_and_hotel_are_proved_and_reached(data_dir, tmp_path):
    from experiments import runner, store, summary
    from experiments.paper import EXPERIMENTS

    experiment = EXPERIMENTS["table1"].with_methods(("adgm1", "dd"))
    runner.run(experiment, tmp_path / "rows.jsonl", sample=3)
    rows = summary.enriched(store.read(tmp_path / "rows.jsonl"), experiment)
    assert len(rows) == 12 and all(row["optimum"] for row in rows)
    assert all(row["proved"] for row in rows if row["method"] == "dd")


def test_large_offsets_do_not_fool_it():
    """Costs of 1e9 beside costs of 1: rounding may loosen the bound, never carry it above the optimum."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        costs = rng.normal(size=(16, 16)) + 1e9 * (rng.random((16, 16)) < 0.3)
        problem = Problem((4, 4), [Dense(costs)], EXACTLY_ONE, EXACTLY_ONE)
        best = optimum(problem)
        assert bound(problem).lower <= best


def test_starting_with_adgm_takes_its_matching():
    problem = square(6, 3)
    state = DD(start="adgm").init(problem)
    assert state.best_energy == solve(problem).energy


# ---- refusals ----------------------------------------------------------------------------------------------


def test_it_refuses_what_it_cannot_bound():
    fourth = Problem((2, 2), [Sparse([[0, 1, 2, 3]], [1.0])])
    many = Problem((2, 2), [Dense(np.ones((2, 2)))], rows=ANY)
    third = Problem((2, 2), [Sparse([[0, 1, 2]], [1.0])], rows=ANY)
    for problem, why in ((fourth, "order 4"), (many, "one partner"), (third, "one partner")):
        assert why in refusal(problem)
        assert METHODS["dd"].refusal(problem)
        with pytest.raises(ValueError, match=why):
            bound(problem)
    with pytest.raises(ValueError, match="memory"):
        DD().init(Problem((9, 9), [Dense(np.ones((81, 81)))], memory=1000))


def test_it_refuses_what_is_no_matching():
    problem = square(3)
    for x, why in ((np.full((3, 3), 0.5), "0 or 1"), (np.ones((3, 3)), "3 partners"), (np.zeros((3, 3)), "0 partners")):
        with pytest.raises(ValueError, match=why):
            bound(problem, x)


@pytest.mark.parametrize(
    "options",
    [
        {"max_iter": 0},
        {"max_nodes": -1},
        {"take": 0.0},
        {"take": 1.5},
        {"probe_every": 0},
        {"start": "x"},
        {"effort": 0},
    ],
)
def test_bad_options_are_named(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        DD(**options)


@pytest.mark.parametrize("turned", [False, True])
def test_it_refuses_two_partners_where_one_is_allowed(turned):
    two = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    problem = Problem((3, 3), [Dense(np.ones((3, 3)))])
    with pytest.raises(ValueError, match=f"node 0 of graph {2 if turned else 1} 2 partners"):
        bound(problem, two.T if turned else two)
