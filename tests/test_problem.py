"""Problems: contractions and energies against einsum, and every way of getting one wrong."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from adgm import ANY, EXACTLY_ONE, Dense, Formula, Problem, Sparse, solve
from adgm.costs import tables
from adgm.layout import Layout
from oracles import brute_force, contraction, energy, tensors
from problems import distances, mixed, random_sparse, squared_difference, transposed

SIDES = np.random.default_rng(1).normal(size=(3, 3, 1)), np.random.default_rng(2).normal(size=(4, 4, 1))


def blocks_for(problem: Problem, seed: int, zeros: float = 0.5) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    n = problem.shape[0] * problem.shape[1]
    return [rng.normal(size=n) * (rng.random(n) > zeros) for _ in range(max(2, problem.order))]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("zeros", [0.0, 0.7, 1.0], ids=["full", "sparse", "zero"])
def test_contractions_of_every_kind_are_einsum(order, zeros):
    problem = mixed(order=order)
    blocks = blocks_for(problem, order, zeros)
    for slot in range(len(blocks)):
        assert_allclose(problem.contract(blocks, slot), contraction(problem, blocks, slot), atol=1e-10)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.integers(2, 4), st.booleans(), st.integers(0, 30), st.integers(0, 2**31))
def test_sparse_contractions_are_einsum(order, symmetric, rows, seed):
    rng = np.random.default_rng(seed)
    problem = Problem((2, 3), [random_sparse(rng, 6, order, rows, symmetric)] if rows else [Dense(np.zeros((6, 6)))])
    blocks = blocks_for(problem, seed)
    for slot in range(len(blocks)):
        assert_allclose(problem.contract(blocks, slot), contraction(problem, blocks, slot), atol=1e-10)


EDGES = {
    "left": {"left_edges": [[0, 1], [3, 1]]},
    "right": {"right_edges": [[2, 0], [4, 3], [1, 2]]},
    "either": {"left_edges": [[0, 1], [3, 1]], "right_edges": [[2, 0], [4, 3], [1, 2]]},
    "both": {"left_edges": [[0, 1], [3, 1]], "right_edges": [[2, 0], [4, 3], [1, 2]], "where": "both"},
    "nowhere": {"left_edges": np.empty((0, 2), int)},
}
STORES = {"matrix": (0.0, 1 << 30), "tree": (1.0, 1 << 30), "columns": (0.0, 160)}


def on_edges(where: str, symmetric: bool, *, functions: bool = False, **options) -> Problem:
    rng = np.random.default_rng(3)
    left, right = rng.random((4, 4, 2)), rng.random((5, 5, 2))
    if symmetric:
        left, right = left + left.swapaxes(0, 1), right + right.swapaxes(0, 1)
    sides = (lambda i, j: left[i, j], lambda i, j: right[i, j]) if functions else (left, right)
    cost = Formula(*sides, lambda a, b: np.cos(a[..., 0] + b[..., 1]) - a[..., 1], symmetric, **EDGES[where])
    return Problem((4, 5), [Dense(rng.normal(size=(4, 5))), cost], **options)


@pytest.mark.parametrize("masked", [False, True], ids=["all", "candidates"])
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize("where", EDGES)
def test_a_formula_on_edges_counts_there_and_nowhere_else(where, symmetric, store, masked, monkeypatch):
    share, memory = STORES[store]
    monkeypatch.setattr(tables, "DENSE_SHARE", share)
    mask = np.random.default_rng(5).random((4, 5)) < 0.7 if masked else np.ones((4, 5), bool)
    problem = on_edges(where, symmetric, memory=memory, candidates=mask if masked else None)
    if where != "nowhere":
        assert bool(problem.runtime.columns) == (store != "tree")
    for slot, zeros in ((0, 0.0), (1, 0.0), (0, 0.7), (1, 0.7)):
        blocks = [b * mask.reshape(-1) for b in blocks_for(problem, slot, zeros)]
        expected = contraction(problem, blocks, slot)[mask.reshape(-1)]
        assert_allclose(problem.contract(blocks, slot), expected, atol=1e-12)
    x = (np.random.default_rng(6).random(20) < 0.5) & mask.reshape(-1)
    assert_allclose(problem.energy(x), energy(problem, x), atol=1e-12)
    assert_allclose(problem.paid(problem.vector(x) > 0), energy(problem, x), atol=1e-12)
    entries = problem.potentials[1].entries(problem.layout)
    assert_allclose(np.abs(entries.costs).sum(), np.abs(tensors(problem)[2][np.ix_(*[mask.reshape(-1)] * 2)]).sum())


@pytest.mark.parametrize("method", ["adgm1", "adgm", "adgm+", "rrwm", "ipfp", "sm", "mpm", "dd"])
@pytest.mark.parametrize("where", ["either", "both"])
def test_every_store_of_a_formula_on_edges_gives_the_same_matching(where, method, monkeypatch):
    found = []
    for share, memory in STORES.values():
        monkeypatch.setattr(tables, "DENSE_SHARE", share)
        problem = on_edges(where, True, rows=EXACTLY_ONE, memory=max(memory, 1 << 16))
        found.append(solve(problem, method).energy)
    found.append(solve(transposed(problem), method).energy)
    if method in ("dd", "adgm+"):
        assert_allclose(found[0], brute_force(problem)[0])
    assert_allclose(found, found[0], atol=1e-9)


def test_attributes_may_be_functions():
    one, other = (on_edges("either", True, functions=functions) for functions in (False, True))
    blocks = blocks_for(one, 0)
    assert_allclose(one.contract(blocks, 0), other.contract(blocks, 0), atol=1e-12)
    with pytest.raises(ValueError, match="declared symmetric"):
        Problem((4, 5), [Formula(lambda i, j: (i - j)[..., None], np.ones((5, 5)), lambda a, b: (a * b)[..., 0])])


def test_what_does_not_count_is_never_evaluated():
    """The photographs' case: many nodes, few candidates, few edges; work and memory follow the pairs that count."""
    n, rng = 2000, np.random.default_rng(0)
    mask = np.zeros((n, n), bool)
    mask[np.arange(n)[:, None], rng.integers(n, size=(n, 10))] = True
    edges = np.stack([np.repeat(np.arange(n), 4), rng.integers(n, size=4 * n)], axis=1)
    edges = edges[edges[:, 0] != edges[:, 1]]
    seen = []

    def cost(a, b):
        seen.append(a.shape[0])
        return -np.exp(-np.abs(a - b)[..., 0])

    place = rng.random(n)
    sides = [lambda i, j: np.abs(place[i] - place[j])[..., None]] * 2
    unary = Sparse(np.flatnonzero(mask)[:, None], rng.random(mask.sum()) - 1.0)
    problem = Problem((n, n), [unary, Formula(*sides, cost, left_edges=edges)], candidates=mask)
    result = solve(problem, "adgm1", every=5, watch=lambda state: state.iteration >= 20)
    assert sum(seen) < 1.1 * 2 * len(edges) * 100 + 1000
    assert problem.runtime.nbytes < 40e6
    assert_allclose(result.energy, problem.paid(result.assignment))
    assert np.bincount(result.pairs[:, 0]).max() == np.bincount(result.pairs[:, 1]).max() == 1


def test_dense_sparse_and_formula_agree():
    formula = Problem((3, 4), [Formula(distances(SIDES[0][:, 0]), distances(SIDES[1][:, 0]), squared_difference)])
    matrix = tensors(formula)[2]
    dense = Problem((3, 4), [Dense(matrix)])
    index = np.argwhere(matrix)
    sparse = Problem((3, 4), [Sparse(index, matrix[tuple(index.T)])])
    upper = index[index[:, 0] < index[:, 1]]
    once = Problem((3, 4), [Sparse(upper, matrix[tuple(upper.T)], symmetric=True)])
    blocks = blocks_for(formula, 0)
    for slot in (0, 1):
        expected = formula.contract(blocks, slot)
        for other in (dense, sparse, once):
            assert_allclose(other.contract(blocks, slot), expected, atol=1e-12)
    assert formula.scale == dense.scale == sparse.scale == once.scale == np.abs(matrix).max()


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_energy_is_the_multilinear_form(order):
    problem = mixed(order=order)
    x = np.random.default_rng(order).random(12)
    assert_allclose(problem.energy(x), energy(problem, x))
    assert_allclose(problem.energy(x.reshape(3, 4)), energy(problem, x))


def test_variables_exist_only_for_candidates():
    mask = np.random.default_rng(3).random((3, 4)) < 0.6
    full, masked = mixed(order=4), mixed(order=4, candidates=mask)
    assert masked.n == mask.sum()
    blocks = [b * mask.reshape(-1) for b in blocks_for(full, 5)]
    for slot in range(4):
        expected = full.contract(blocks, slot).reshape(3, 4)[mask]
        assert_allclose(masked.contract(blocks, slot), expected, atol=1e-10)
    x = np.arange(mask.sum()) + 1.0
    assert_allclose(masked.vector(masked.matrix(x)), x)
    assert (masked.matrix(x)[~mask] == 0).all()


@pytest.mark.parametrize("columns", [1, 3, 5, 100], ids=lambda c: f"room for {c} columns")
@pytest.mark.parametrize("masked", [False, True])
def test_columns_within_a_memory_budget_change_nothing(columns, masked):
    mask = np.random.default_rng(4).random((5, 6)) < 0.7 if masked else None
    rng = np.random.default_rng(0)
    left, right = distances(rng.random((5, 2))), distances(rng.random((6, 2)))
    plenty = Problem((5, 6), [Formula(left, right, squared_difference)], candidates=mask)
    tight = Problem((5, 6), plenty.potentials, candidates=mask, memory=8 * plenty.n * columns)
    for seed in range(6):
        blocks = blocks_for(plenty, seed, zeros=0.8)
        assert_allclose(tight.contract(blocks, seed % 2), plenty.contract(blocks, seed % 2), atol=1e-12)
    assert tight.runtime.columns[0].table.data.nbytes <= max(1, columns) * 8 * plenty.n


def test_formula_columns_are_computed_only_when_touched():
    seen = []

    def cost(a, b):
        seen.append(np.broadcast_shapes(a.shape, b.shape))
        return squared_difference(a, b)

    rng = np.random.default_rng(0)
    problem = Problem(
        (6, 7), [Formula(distances(rng.random((6, 2))), distances(rng.random((7, 2))), cost, largest=1.0)]
    )
    x = np.zeros(42)
    x[[3, 30]] = 1.0
    seen.clear()
    problem.contract([x, x], 0)
    assert [shape[0] for shape in seen] == [2]
    problem.contract([x, x], 1)
    assert len(seen) == 1


@pytest.mark.parametrize("memory", [1, 8 * 90 * 20, 1 << 30])
def test_a_product_is_the_same_to_the_last_bit_whatever_is_stored(memory):
    """Else a second run of the same problem would end elsewhere: ADGM's iterates are chaotic."""
    rng = np.random.default_rng(4)
    sides = distances(rng.random((9, 2))), distances(rng.random((10, 2)))
    asked = [rng.random(90) * (rng.random(90) < share) for share in (0.1, 0.7, 1.0, 0.3, 1.0, 0.1)]
    whole = Problem((9, 10), [Formula(*sides, squared_difference)])
    whole.contract([np.ones(90)] * 2, 0)  # now every column is stored
    problem = Problem((9, 10), [Formula(*sides, squared_difference)], memory=memory)
    for x in asked:
        assert np.array_equal(problem.contract([x, x], 0), whole.contract([x, x], 0))


def test_transposed_problem_has_the_same_energies():
    for problem in (mixed(order=4), mixed(order=3, candidates=np.eye(3, 4, dtype=bool) | (np.arange(4) > 1))):
        x = np.random.default_rng(0).random((3, 4))
        if problem.candidates is not None:
            x *= problem.candidates
        assert_allclose(transposed(problem).energy(x.T), problem.energy(x))


@pytest.mark.parametrize("edges", [None, np.array([[0, 1], [1, 2], [3, 2]])])
def test_the_problem_of_some_nodes_costs_what_they_cost_in_the_whole(edges):
    rng = np.random.default_rng(3)
    left, right = rng.random((5, 1)), rng.random((4, 4, 1))
    far = Formula(lambda i, j: left[i] - left[j], right, lambda a, b: (a * b)[..., 0], False, None, None, edges)
    symmetric = Sparse(np.array([[0, 7, 19], [3, 4, 9], [1, 6, 13]]), rng.random(3), symmetric=True)
    mask = rng.random((5, 4)) < 0.8
    dense = [Dense(rng.random((5, 4))), Dense(rng.random((20, 20)))]
    problem = Problem((5, 4), [*dense, far, symmetric], candidates=mask)
    rows, cols = np.array([4, 0, 2]), np.array([3, 1, 0, 2])
    some = problem.take(rows, cols)
    for _ in range(5):
        x, whole = rng.random((3, 4)) * mask[np.ix_(rows, cols)], np.zeros((5, 4))
        whole[np.ix_(rows, cols)] = x
        assert_allclose(some.energy(x), problem.energy(whole))


GOOD = Dense(np.zeros((2, 3)))
BAD_PROBLEMS = {
    "no potential": (lambda: Problem((2, 3), []), ValueError, "potentials is empty"),
    "not a potential": (lambda: Problem((2, 3), [np.zeros((2, 3))]), TypeError, "got ndarray"),
    "empty shape": (lambda: Problem((0, 3), [GOOD]), ValueError, r"two positive integers .* got \(0, 3\)"),
    "shape of three": (lambda: Problem((2, 3, 4), [GOOD]), ValueError, "two positive integers"),
    "fractional shape": (lambda: Problem((2.5, 3), [GOOD]), ValueError, "two positive integers"),
    "unknown rows": (lambda: Problem((2, 3), [GOOD], rows="two"), ValueError, "rows must be one of .* got 'two'"),
    "unknown cols": (lambda: Problem((2, 3), [GOOD], cols=1), ValueError, "cols must be one of"),
    "no memory": (lambda: Problem((2, 3), [GOOD], memory=0), ValueError, "memory must be a positive"),
    "dense NaN": (lambda: Dense([[0.0, np.nan]]), ValueError, r"Dense costs must be finite.*\(0, 1\) is nan"),
    "dense infinite": (lambda: Dense([[np.inf]]), ValueError, "is inf"),
    "dense text": (lambda: Dense("costs"), TypeError, "array of numbers"),
    "dense number": (lambda: Dense(3.0), ValueError, "a single number"),
    "dense shape": (lambda: Problem((2, 3), [Dense(np.zeros((3, 2)))]), ValueError, r"shape \(3, 2\).*\(2, 3\)"),
    "sparse index range": (
        lambda: Problem((2, 3), [Sparse([[0, 1], [2, 6]], [1.0, 1.0])]),
        ValueError,
        r"row 1 has an index out of range: \[2, 6\], variables are numbered 0 to 5",
    ),
    "sparse negative index": (lambda: Problem((2, 3), [Sparse([[-1]], [1.0])]), ValueError, "row 0 has an index"),
    "sparse float index": (lambda: Sparse([[0.5]], [1.0]), TypeError, "must be integers"),
    "sparse flat index": (lambda: Sparse([0, 1], [1.0, 1.0]), ValueError, r"shape \(m, D\)"),
    "sparse costs": (lambda: Sparse([[0, 1]], [1.0, 2.0]), ValueError, r"shape \(1,\), one per row, got \(2,\)"),
    "sparse NaN": (lambda: Sparse([[0]], [np.nan]), ValueError, "Sparse costs must be finite"),
    "sparse repeated": (lambda: Sparse([[0, 1], [2, 2]], [1.0, 1.0], True), ValueError, "row 1 uses a variable twice"),
    "formula shape": (lambda: Formula(np.zeros((2, 3)), np.zeros((3, 3)), max), ValueError, "Formula left"),
    "formula attributes": (
        lambda: Formula(np.zeros((2, 2, 1)), np.zeros((3, 3, 2)), max),
        ValueError,
        "equally many attributes, got 1 and 2",
    ),
    "formula NaN": (lambda: Formula(np.full((2, 2), np.nan), np.zeros((3, 3)), max), ValueError, "Formula left"),
    "formula cost": (lambda: Formula(np.zeros((2, 2)), np.zeros((3, 3)), 3), TypeError, "must be a function"),
    "formula result": (
        lambda: Formula(np.zeros((2, 2)), np.zeros((3, 3)), lambda a, b: np.zeros(7)),
        ValueError,
        r"must return shape \(256,\)",
    ),
    "formula largest": (
        lambda: Formula(np.zeros((2, 2)), np.zeros((3, 3)), squared_difference, largest=-1.0),
        ValueError,
        "largest must be a positive",
    ),
    "formula not symmetric": (
        lambda: Formula(np.arange(9.0).reshape(3, 3), np.zeros((3, 3)), squared_difference),
        ValueError,
        "pass symmetric=False",
    ),
    "formula infinite": (
        lambda: Problem((3, 3), [Formula(np.ones((3, 3)), np.ones((3, 3)), lambda a, b: 1 / (a - b)[..., 0])]).scale,
        ValueError,
        "costs must be finite",
    ),
    "formula nodes": (
        lambda: Problem((3, 3), [Formula(np.ones((2, 2)), np.ones((3, 3)), squared_difference)]),
        ValueError,
        "Formula left describes 2 nodes, but shape is",
    ),
    "mask shape": (
        lambda: Problem((2, 3), [GOOD], candidates=np.ones((3, 2), bool)),
        ValueError,
        r"bool array of shape \(2, 3\)",
    ),
    "mask numbers": (lambda: Problem((2, 3), [GOOD], candidates=np.ones((2, 3))), ValueError, "got float64"),
    "mask empty": (lambda: Problem((2, 3), [GOOD], candidates=np.zeros((2, 3), bool)), ValueError, "problem is empty"),
    "row without candidate": (
        lambda: Problem((2, 3), [GOOD], rows=EXACTLY_ONE, candidates=np.array([[1, 1, 1], [0, 0, 0]], bool)),
        ValueError,
        "node 1 of graph 1 has no candidate",
    ),
    "two rows, one candidate": (
        lambda: Problem((2, 3), [GOOD], rows=EXACTLY_ONE, candidates=np.array([[0, 1, 0], [0, 1, 0]], bool)),
        ValueError,
        "without a partner of its own",
    ),
    "more rows than columns": (
        lambda: Problem((3, 2), [Dense(np.zeros((3, 2)))], rows=EXACTLY_ONE),
        ValueError,
        "asks for 3 partners, but the other side has 2",
    ),
    "more columns than rows": (
        lambda: Problem((2, 3), [GOOD], cols=EXACTLY_ONE),
        ValueError,
        "cols='exactly_one' asks",
    ),
    "assignment shape": (lambda: Problem((2, 3), [GOOD]).energy(np.zeros(5)), ValueError, r"\(2, 3\) or \(6,\)"),
    "assignment NaN": (lambda: Problem((2, 3), [GOOD]).energy([np.nan] * 6), ValueError, "assignment must be finite"),
    "too few blocks": (lambda: Problem((2, 3), [GOOD]).contract([np.zeros(6)], 0), ValueError, "needs 2 blocks"),
    "slot": (lambda: Problem((2, 3), [GOOD]).contract([np.zeros(6)] * 2, 2), ValueError, "slot must be from 0 to 1"),
}


@pytest.mark.parametrize(("build", "kind", "message"), BAD_PROBLEMS.values(), ids=BAD_PROBLEMS)
def test_bad_input_is_named(build, kind, message):
    with pytest.raises(kind, match=message):
        build()


def test_more_rows_than_columns_are_fine_if_columns_may_take_several():
    assert Problem((3, 2), [Dense(np.zeros((3, 2)))], rows=EXACTLY_ONE, cols=ANY).n == 6


def test_variables_have_the_same_numbers_one_by_one_and_all_at_once():
    mask = np.random.default_rng(0).random((6, 7)) < 0.4
    layout, every = Layout.of(mask.shape, mask), np.arange(mask.size)
    expected = np.where(mask.reshape(-1), np.cumsum(mask) - 1, -1)
    np.testing.assert_array_equal(layout.numbers(every), expected)  # a look at the grid
    np.testing.assert_array_equal([layout.numbers(every[k : k + 1])[0] for k in every], expected)  # searches


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("nonzeros", [1, 2, 5])
def test_contractions_with_few_nonzeros_among_many_are_einsum(order, symmetric, nonzeros):
    """Then each non-zero is looked up among the keys of a branch, where there are many of those."""
    rng = np.random.default_rng([order, symmetric, nonzeros])
    nodes = {2: (5, 8), 3: (5, 8), 4: (3, 4)}[order]
    n = nodes[0] * nodes[1]
    rows = np.stack([rng.permutation(n)[:order] for _ in range(400)])
    rows[:300, 0] = rng.integers(2, size=300)  # long branches
    rows = rows[[len(set(row)) == order for row in rows.tolist()]]
    problem = Problem(nodes, [Sparse(rows, rng.normal(size=len(rows)), symmetric)])
    for _ in range(3):
        blocks = []
        for _ in range(order):
            x = np.zeros(n)
            x[np.append(rng.integers(2), rng.integers(n, size=nonzeros))] = rng.normal(size=nonzeros + 1)
            blocks.append(x)
        for slot in range(order):
            assert_allclose(problem.contract(blocks, slot), contraction(problem, blocks, slot), atol=1e-12)


def test_a_column_in_use_is_never_evicted():
    sides = np.random.default_rng(0).random((2, 5, 5))
    problem = Problem(
        (5, 5), [Formula(*sides, squared_difference, symmetric=False, largest=1.0)], memory=2 * 8 * 25 * 3
    )
    columns = problem.runtime.columns[0]
    assert len(columns.owner) == 3
    for clock, asked, there in (
        (2, [0, 1], {0, 1}),
        (3, [1, 2], {0, 1, 2}),
        (4, [1, 3], {1, 2, 3}),  # the one longest unused goes
        (5, [4, 5, 1], {1, 4, 5}),
        (6, [1, 4, 5, 6], {1, 4, 5}),  # no room: all are needed right now
    ):
        columns.product(np.isin(np.arange(25), asked).astype(float), clock)
        assert set(np.flatnonzero(columns.table.slot >= 0)) == there
        for column in there:
            stored = columns.table.data[columns.table.slot[column]]
            np.testing.assert_array_equal(stored, columns.compute(np.array([column]))[0])


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_cost_on_an_edge_that_is_no_number_is_named(symmetric):
    left, right = distances(np.arange(4.0)[:, None]), distances(np.arange(5.0)[:, None])

    def cost(a, b):
        return np.where((a[..., 0] == 3.0) & (b[..., 0] == 2.0), np.nan, a[..., 0] + b[..., 0])

    formula = Formula(left, right, cost, symmetric, left_edges=[[0, 1], [0, 3]])
    with pytest.raises(
        ValueError, match=r"Formula gives nan for the edges (0→3|3→0) and (\d)→(\d); costs must be finite"
    ) as told:
        assert Problem((4, 5), [formula]).scale
    i, j = (int(text) for text in re.findall(r"and (\d)→(\d)", str(told.value))[0])
    assert abs(i - j) == 2


@pytest.mark.parametrize("tables", [False, True], ids=["of what it needs", "from tables"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_gradient_at_a_matching_is_that_of_finite_differences(order, tables):
    problem = mixed((2, 3), order)
    assert not tables or problem.runtime
    on = np.array([0, 1, 0, 0, 0, 1], bool)
    step = 1e-4
    slopes = [(problem.energy(on + step * e) - problem.energy(on - step * e)) / (2 * step) for e in np.eye(problem.n)]
    assert_allclose(problem.gradient(on), slopes, rtol=1e-6, atol=1e-6)
    assert problem.worth(on) == pytest.approx(problem.energy(on))


def test_costs_that_are_all_zero_have_the_unit_one():
    assert Problem((2, 2), [Dense(np.zeros((2, 2)))]).scale == 1.0


@pytest.mark.parametrize("workers", [1, 3])
def test_columns_of_a_formula_come_whole_and_in_order_from_any_number_of_threads(workers, monkeypatch):
    monkeypatch.setattr(tables.links, "WORKERS", workers)
    problem = Problem((3, 4), [Formula(*SIDES, lambda a, b: np.sin(3 * a * b)[..., 0], symmetric=False)])
    block = np.random.default_rng(0).normal(size=12)
    assert_allclose(problem.contract([block, block], 0), contraction(problem, [block, block], 0))
