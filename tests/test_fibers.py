"""Trees of sparse tensors: however a tensor of third order is given and stored, it is the same tensor."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from adgm import EXACTLY_ONE, Problem, Sparse, solve
from adgm.costs import links, tables
from adgm.costs.affinity import affinity
from oracles import contraction, energy

SHAPE = (3, 4)
ORDERINGS = [list(p) for p in permutations(range(3))]


def triples(rng: np.random.Generator, count: int, n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Triples of different variables, some of them more than once, and their costs."""
    return np.array([rng.permutation(n)[:3] for _ in range(count)]), rng.normal(size=count)


def copies(rng: np.random.Generator, index: np.ndarray, cost: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All six orderings of each, in random order."""
    shuffle = rng.permutation(6 * len(cost))
    return np.concatenate([index[:, p] for p in ORDERINGS])[shuffle], np.tile(cost, 6)[shuffle]


@pytest.mark.parametrize("zeros", [0.0, 0.8], ids=["full", "sparse"])
@pytest.mark.parametrize("full", [0, tables.FULL], ids=["nodes that are needed", "all nodes"])
@settings(deadline=None, derandomize=True, max_examples=15)
@given(st.integers(1, 40), st.integers(0, 2**31))
def test_symmetric_triples_are_einsum_however_they_are_given_and_stored(zeros, full, count, seed):
    rng = np.random.default_rng(seed)
    index, cost = triples(rng, count)
    blocks = [rng.normal(size=12) * (rng.random(12) >= zeros) for _ in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "FULL", full)
        once = Problem(SHAPE, [Sparse(index, cost, symmetric=True)])
        every = Problem(SHAPE, [Sparse(*copies(rng, index, cost))])
        assert [part.symmetric for part in every.runtime.parts] == [True]
        for slot in range(3):
            expected = contraction(once, blocks, slot)
            assert_allclose(once.contract(blocks, slot), expected, atol=1e-10)
            assert_allclose(every.contract(blocks, slot), expected, atol=1e-10)
        assert_allclose(once.energy(blocks[0]), energy(once, blocks[0]), atol=1e-10)


SPOILT = {
    "a cost": lambda index, cost: (index, np.append(cost[:-1], cost[-1] + 1e-12)),
    "a triple": lambda index, cost: (np.append(index[:-1], [[0, 1, 2]], axis=0), cost),
    "a copy": lambda index, cost: (np.append(index[:-1], index[:1], axis=0), cost),
    "a repeated variable": lambda index, cost: (np.append(index[:-1], [[5, 5, 6]], axis=0), cost),
    "a row too many": lambda index, cost: (np.append(index, index[:1], axis=0), np.append(cost, cost[0])),
    "another ordering": lambda index, cost: (index[:, [0, 0, 2]] * [1, 0, 1] + [0, 11, 0], cost),
}


@pytest.mark.parametrize("what", SPOILT)
def test_what_is_not_six_equal_copies_is_taken_as_it_is(what):
    rng = np.random.default_rng(3)
    index, cost = triples(rng, 20, 11)  # variable 11 is free
    problem = Problem(SHAPE, [Sparse(*SPOILT[what](*copies(rng, index, cost)))])
    assert [part.symmetric for part in problem.runtime.parts] == [False]
    blocks = list(rng.normal(size=(3, 12)))
    for slot in range(3):
        assert_allclose(problem.contract(blocks, slot), contraction(problem, blocks, slot), atol=1e-10)


def test_copies_are_found_by_several_threads(monkeypatch):
    monkeypatch.setattr(links, "WORKERS", 3)
    monkeypatch.setattr(tables, "WORTH_A_THREAD", 1)
    rng = np.random.default_rng(4)
    index, cost = triples(rng, 30)
    (part,) = Problem(SHAPE, [Sparse(*copies(rng, index, cost))]).runtime.parts
    assert part.symmetric and len(part.costs) == 30
    rows = np.sort(index, axis=1)
    assert_array_equal(part.indices[np.lexsort(part.indices.T)], rows[np.lexsort(rows.T)])


def test_all_copies_and_one_of_each_take_the_same_way():
    rng = np.random.default_rng(5)
    index, cost = triples(rng, 60)
    index = index[np.lexsort(np.sort(index, axis=1).T)]
    given = {"once": Sparse(index, cost, symmetric=True), "all": Sparse(*copies(rng, index, cost))}
    for method in ("adgm1", "adgm", "tm"):
        results = [solve(Problem(SHAPE, [p], EXACTLY_ONE), method) for p in given.values()]
        assert_allclose(results[0].energy, results[1].energy, rtol=1e-12)


def test_a_tensor_that_is_made_symmetric_may_repeat_variables():
    """The affinities of x · y · x, say: all six orderings of a row count, also those that are equal."""
    rng = np.random.default_rng(6)
    index, cost = rng.integers(12, size=(40, 3)), -rng.random(40)
    problem = Problem(SHAPE, [Sparse(index, cost)])
    x = rng.random(12)
    kept = affinity(problem)
    layout = problem.layout
    apart = [
        all(a == b or (layout.row[a] != layout.row[b] and layout.col[a] != layout.col[b]) for a in row for b in row)
        for row in index
    ]
    score = sum(-c * x[row].prod() for row, c, able in zip(index, cost, apart, strict=True) if able)
    assert_allclose(kept.tensor(3, [x, x]) @ x, score)


@pytest.mark.parametrize("dense", [(), (0,), (0, 1, 2)], ids=["sparse", "one dense block", "dense"])
@pytest.mark.parametrize("alike", [False, True])
def test_several_tensors_of_triples_are_contracted_with_dense_and_sparse_blocks(dense, alike):
    rng = np.random.default_rng(0)
    tensors = [Sparse(*triples(rng, count), symmetric=symmetric) for count, symmetric in ((30, 1), (20, 0), (25, 1))]
    problem = Problem(SHAPE, [*tensors, Sparse(rng.integers(12, size=(9, 2)), rng.normal(size=9))])
    blocks = rng.normal(size=(3, 12))
    blocks[[d for d in range(3) if d not in dense]] *= rng.random(12) < 0.3
    blocks = np.tile(blocks[0], (3, 1)) if alike else blocks
    for slot in range(3):
        for _ in range(2):  # the second time it is known
            assert_allclose(problem.contract(blocks, slot), contraction(problem, list(blocks), slot), atol=1e-12)
