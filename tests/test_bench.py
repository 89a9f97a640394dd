"""Benchmarks: what is measured, not how long it takes."""

import argparse

import pytest
from numpy.testing import assert_allclose

from adgm import METHODS
from adgm._kernels.cache import VARIABLE
from adgm.problem import Dense, Problem, Sparse
from experiments.tools import bench
from experiments.tools.bench import BENCHES, arrays, cold, limits, solver, sparse, threads


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


def test_the_latest_method_is_named_for_every_problem_and_limit(monkeypatch):
    late = {"adgm1": 0.5, "adgm2": 0.0, "lap": 0.1}
    monkeypatch.setattr(limits, "METHODS", {key: METHODS[key] for key in late})
    monkeypatch.setattr(limits, "PROBLEMS", {"tiny": lambda: Problem((2, 2), [Dense([1.0, 0.0, 0.0, 1.0])])})
    monkeypatch.setattr(limits, "warmup", lambda: None)
    monkeypatch.setattr(limits, "late", lambda problem, method, limit: limit * late[method])
    rows = limits.readings((1.0, 2.0))
    assert [row["value"] for row in rows] == [0.5, 1.0] and "2 s" in rows[1]["benchmark"]
    assert rows[0]["note"] == "adgm1; 2 of 3 methods in time" and "limits" in BENCHES


def test_benchmarks_answer_to_their_former_names(monkeypatch, capsys):
    monkeypatch.setattr(bench, "BENCHES", {name: lambda name=name: [{"benchmark": name}] for name in BENCHES})
    for former, name in bench.FORMER.items():
        assert bench.run(argparse.Namespace(only=[former], ui=False, json=True, times=None)) == 0
        assert f'"benchmark": "{name}"' in capsys.readouterr().out


def test_one_thread_is_compared_with_two(monkeypatch):
    monkeypatch.setattr(threads, "PROBLEMS", {"tiny": lambda: Problem((2, 2), [Dense([1.0, 0.0, 0.0, 1.0])])})
    (row,) = threads.readings()
    assert row["benchmark"] == "ADGM+, tiny: one thread / two" and row["value"] > 0 and "threads" in BENCHES


def test_a_first_solve_is_measured_where_nothing_is_compiled(monkeypatch):
    started = []
    monkeypatch.setattr(solver.subprocess, "run", lambda words, env, **given: started.append((words[-1], env)))
    rows = solver.never_compiled()
    assert len(rows) == len(started) > 3 and all("never compiled" in row["benchmark"] for row in rows)
    assert len({env[VARIABLE] for _, env in started}) == len(started)
    for code, _ in started:
        compile(code, "first solve", "exec")
