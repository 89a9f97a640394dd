"""On a computer that has compiled nothing, first runs on small problems interpret the kernels."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from adgm import EXACTLY_ONE, METHODS, Dense, Formula, Problem, Sparse, solve
from adgm._kernels import add_columns, add_triples, by_numpy, grow_triples, interpreted
from adgm._kernels.cache import VARIABLE
from adgm._kernels.interpreted import MOST, MOST_BESIDE, SECONDS, Interpreter
from adgm._kernels.local_search import repeats
from adgm._kernels.types import Columns

TESTS = Path(__file__).resolve().parent


def problems() -> list[Problem]:
    """Of every kind of costs that kernels treat in a way of their own."""
    rng = np.random.default_rng(0)
    left, right = rng.random((2, 6, 6))
    ring = np.array([[i, (i + 1) % 6] for i in range(6)])
    unary, price = Dense(rng.normal(size=(6, 6))), Dense(np.full((6, 6), 0.4))
    even, both = left + left.T, right + right.T

    def alike(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return -np.exp(-((a - b)[..., 0] ** 2))

    distances = Formula(even, both, alike)
    edges = Formula(even, both, alike, left_edges=ring, right_edges=ring)
    listed = rng.random((6, 6)) < 0.7
    np.fill_diagonal(listed, True)

    def tuples(order: int, n: int = 36) -> Sparse:
        rows = np.array([rng.permutation(n)[:order] for _ in range(150)])
        return Sparse(rows, -rng.random(150), symmetric=order != 4)

    candidates = {"candidates": listed}
    return [
        Problem((6, 6), [unary, distances], EXACTLY_ONE),
        Problem((6, 6), [price, distances]),
        Problem((6, 6), [unary, edges]),
        Problem((6, 6), [unary, Sparse(tuples(2).indices, -rng.random(150))]),
        Problem((6, 6), [Dense(rng.normal(size=(6, 6))), Formula(left, right, alike, symmetric=False)], **candidates),
        Problem((6, 6), [unary, tuples(3)]),
        Problem((6, 6), [price, tuples(3), distances]),
        Problem((6, 6), [unary, tuples(4)]),
    ]


def answers() -> list[list[float]]:
    """Of every problem and both couplings: the energy, the iterations and the matched pairs."""
    found = []
    for problem in problems():
        for method in (METHODS["adgm"].make(max_iter=300), METHODS["adgm2"].make(max_iter=300)):
            result = solve(problem, method)
            found.append([result.energy, result.iterations, *result.pairs.ravel().tolist()])
    return found


ALONE = """
import json, sys
from adgm._kernels import interpreted
interpreted.SECONDS = 1000.0
from numba.core import event
class Compiled(event.Listener):
    count = 0
    def on_start(self, found): self.count += 1
    def on_end(self, found): ...
listener = Compiled()
event.register("numba:compile", listener)
from test_interpreted import answers
print(json.dumps([listener.count, answers(), listener.count]))
"""


def test_a_first_run_compiles_nothing_and_finds_the_same(tmp_path):
    path = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    settings = {**os.environ, VARIABLE: str(tmp_path), "PYTHONPATH": path}
    ran = subprocess.run([sys.executable, "-c", ALONE], env=settings, capture_output=True, text=True, check=True)
    before, found, after = json.loads(ran.stdout)
    assert before == after == 0
    assert interpreted.SAID in ran.stderr and ran.stderr.count("\n") == 1
    for here, there in zip(answers(), found, strict=True):
        assert_allclose(here, there, rtol=1e-9, atol=1e-9)
    (said,) = tmp_path.glob("*/interpreted")
    assert said.stat().st_size > 0  # what other processes know of it


@pytest.mark.parametrize("alike", [True, False])
def test_kernels_in_numpy_are_those_kernels(alike):
    rng = np.random.default_rng(1)
    index, cost = rng.integers(0, 9, (200, 3)), rng.normal(size=200)
    a = rng.random(9)
    b = a.copy() if alike else rng.random(9)
    mine, theirs = rng.random((1, 9)).repeat(2, axis=0)
    add_triples(index, cost, a, b, mine)
    by_numpy.add_triples(index, cost, a, b, theirs)
    assert_allclose(mine, theirs)
    for bases in ((0, 0), (5, 7)):
        grown = grow_triples(index, cost, 9, *bases), by_numpy.grow_triples(index, cost, 9, *bases)
        for one, other in zip(*grown, strict=True):
            assert_array_equal(one, other)
    for lines in (index, index[[len(set(row)) == 3 for row in index.tolist()]]):
        assert repeats(lines) == by_numpy.repeats(lines)
    slot = np.array([2, -1, 0, 1, -1], np.int32)
    x, support = rng.random(5), np.array([0, 2, 3, 1], np.uint32)
    for count, found in ((3, True), (4, False)):
        tables = [Columns(slot, rng.random((1, 3, 5)).repeat(2, axis=0)[k], np.zeros(3, np.int64)) for k in range(2)]
        tables[1] = tables[1]._replace(data=tables[0].data.copy())
        mine, theirs = np.ones(5), np.ones(5)
        assert add_columns(tables[0], 4, x, support, count, mine) is found
        assert by_numpy.add_columns(tables[1], 4, x, support, count, theirs) is found
        assert_allclose(mine, theirs)
        assert_array_equal(tables[0].used, tables[1].used)


def kernel(name: str, folder: Path) -> SimpleNamespace:
    """One that nothing has compiled; its index would be in that folder."""
    files = SimpleNamespace(_index_path=str(folder / name))
    there = SimpleNamespace(_cache_file=files)
    return SimpleNamespace(py_func=SimpleNamespace(__name__=name), overloads={}, _cache=there)


def test_what_is_compiled_large_or_not_asked_for_is_not_interpreted(tmp_path):
    ask, some = Interpreter(), (np.zeros(5),)
    one = kernel("walk", tmp_path)
    assert not ask.takes(one, some)
    with ask.first_answers(True):
        assert ask.takes(one, some)
        assert not ask.takes(one, (np.zeros(MOST + 1),))
        assert ask.takes(kernel("descend", tmp_path), ((np.zeros(MOST + 1),), np.zeros(MOST_BESIDE)))
        assert not ask.takes(kernel("descend", tmp_path), ((), np.zeros(MOST_BESIDE + 1)))
        assert ask.takes(kernel("add_triples", tmp_path), (np.zeros(MOST + 1),))
        one.overloads["signature"] = None
        assert not ask.takes(one, some)
        Path(tmp_path / "scan").touch()  # another process has compiled it
        assert not ask.takes(kernel("scan", tmp_path), some)
    with ask.first_answers(False):
        assert not ask.takes(kernel("walk", tmp_path), some)
    ask.never()
    with ask.first_answers(True):
        assert not ask.takes(kernel("walk", tmp_path), some)


def test_its_seconds_are_shared_by_all_processes_of_a_computer(tmp_path):
    file, one, some = tmp_path / "interpreted", kernel("walk", tmp_path), (np.zeros(5),)
    for spent in (0.6 * SECONDS, 0.6 * SECONDS):
        ask = Interpreter()
        ask.file = file
        with ask.first_answers(True):
            assert ask.takes(one, some)
            ask.spent += spent
        assert not ask.takes(one, some)
    assert file.stat().st_size == pytest.approx(1.2 * SECONDS * 100)
    last = Interpreter()
    last.file = file
    with last.first_answers(True):
        assert not last.takes(one, some)


def test_a_run_with_a_limit_compiles_since_its_seconds_are_those_of_compiled_code(monkeypatch):
    asked = []
    monkeypatch.setattr(interpreted.INTERPRETER, "allowed", True)
    watch = lambda state: asked.append(interpreted.INTERPRETER.asked.get())  # noqa: E731
    problem = Problem((2, 2), [Dense(np.eye(2))])
    for method, limit in (("adgm", None), ("adgm", 10.0), ("lap", None)):
        asked.clear()
        solve(problem, method, watch=watch, time_limit=limit)
        assert set(asked) == {method == "adgm" and limit is None}
