"""Benchmarks: what is measured, not how long it takes."""

import pytest
from numpy.testing import assert_allclose

from adgm import METHODS
from adgm.problem import Problem, Sparse
from experiments.bench import BENCHES, arrays, cold, sparse


@pytest.mark.parametrize("key", METHODS)
def test_there_is_a_problem_for_every_method(key):
    assert METHODS[key].refusal(cold.problem_for(key)) == ""


def test_a_method_is_read_cold_and_warm():
    first, then = cold.first_and_next("lap")
    assert first["benchmark"] == "Linear assignment: cold" and then["benchmark"] == "Linear assignment: warm"
    assert first["unit"] == then["unit"] == "ms" and "load" in first["note"]
    assert "cold" in BENCHES


def test_large_sparse_problems_are_judged_by_their_bound(monkeypatch):
    monkeypatch.setattr(sparse, "SIZES", {"nodes": 12, "left_outliers": 1, "outliers": 2})
    rows = sparse.compared(4, 0)
    assert [row["benchmark"].split(": ")[0] for row in rows] == ["13 × 14 × 4, seed 0"] * len(rows)
    assert all(row["value"] >= 0 for row in rows) and rows[-2]["unit"] == "%"
    assert "sparse" in BENCHES


def test_tensors_are_timed_as_given_once_and_with_all_copies():
    built = Problem((2, 3), [Sparse([[0, 4, 2], [1, 5, 3]], [-1.0, -2.0], symmetric=True)])
    every = arrays.written_out(built.potentials[0])
    assert len(every.costs) == 12 and not every.symmetric
    assert_allclose(arrays.from_arrays(every, built).energy([1, 0, 1, 0, 1, 0]), built.energy([1, 0, 1, 0, 1, 0]))
    rows = arrays.tensor_readings("two triples", built, 1.0) + arrays.rival_readings("tm", "two triples", built, 1.0)
    assert len(rows) == 7 and len({row["benchmark"] for row in rows}) == 7
    assert all(row["value"] > 0 for row in rows) and "arrays" in BENCHES
