"""Problem files: what is written reads back to the same energies, and what is damaged gives one sentence."""

import json
import lzma
import re
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from adgm import ANY, METHODS, Dense, Formula, Problem, Sparse, solve
from adgm.problem import CONSTRAINTS
from features.__main__ import main
from features.datasets import DATASETS
from features.files import problem_files
from features.files.problem_files import (
    ProblemFile,
    ProblemFileError,
    add_companion,
    affinity,
    as_pair,
    companions,
    costs,
    dd,
    from_pair,
    graphs,
    normal_form,
    open_problem,
    qap,
    read_problem,
    write_problem,
    write_solution,
)
from features.models import MODELS
from features.points.images import Image
from tests.problems import GENERAL, grid_distances, npz

ROOT = Path(__file__).resolve().parent.parent

TINY = b"""c a problem of 2 and 3 nodes
p 2 3 4 2
a 0 0 0 -1.5
a 1 0 2 2
a 2 1 0 0
a 3 1 1 1e-3
e 0 3 -0.25
e 1 2 7
i0 0 10 20
i0 1 30 40
n1 0 2
"""


def matchings(problem: Problem, count: int = 8, seed: int = 0) -> list[np.ndarray]:
    """Random matchings among the candidates, over the n1 × n2 grid."""
    rng = np.random.default_rng(seed)
    allowed = np.ones(problem.shape, bool) if problem.candidates is None else problem.candidates
    found = []
    for _ in range(count):
        x = np.zeros(problem.shape)
        rows, cols = (rng.permutation(n)[: min(problem.shape)] for n in problem.shape)
        x[rows, cols] = rng.random(len(rows)) < 0.8
        found.append(x * allowed)
    return found


def energies(problem: Problem) -> list[float]:
    return [problem.energy(x) for x in matchings(problem)]


@st.composite
def problems(draw: st.DrawFn, order: int = 2) -> Problem:
    """Problems of every form: matrices, lists, formulas, with candidates and all constraints."""
    n1, n2 = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, scale = n1 * n2, 10.0 ** draw(st.integers(-8, 8))
    choices = draw(st.sets(st.sampled_from(["unary", "matrix", "list", "formula", "edges"]), min_size=1))
    potentials: list[Dense | Sparse | Formula] = []
    if "unary" in choices:
        potentials.append(Dense(scale * rng.normal(size=(n1, n2))))
    if "matrix" in choices and n > 1:
        potentials.append(Dense(scale * rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.5)))
    if "list" in choices or not potentials:
        symmetric = bool(rng.random() < 0.5) and n > 1
        index = rng.integers(n, size=(6, 2))
        index = index[index[:, 0] != index[:, 1]] if symmetric else index
        potentials.append(Sparse(index, scale * rng.normal(size=len(index)), symmetric))
    if "formula" in choices:
        left, right = rng.normal(size=(n1, n1)), rng.normal(size=(n2, n2))
        potentials.append(Formula(left, right, lambda a, b: (a * b)[..., 0], symmetric=False))
    if "edges" in choices and min(n1, n2) > 1:
        left, right = rng.normal(size=(n1, 1)), rng.normal(size=(n2, 1))
        sides = [np.array([[i, (i + 1) % size] for i in range(size)]) for size in (n1, n2)]
        where = draw(st.sampled_from(["either", "both"]))
        potentials.append(
            Formula(
                lambda i, j: left[i] + left[j],
                lambda i, j: right[i] + right[j],
                lambda a, b: scale * (a * b)[..., 0],
                left_edges=sides[0],
                right_edges=draw(st.sampled_from([None, sides[1]])),
                where=where,
            )
        )
    if order > 2:
        potentials.append(Sparse(rng.integers(n, size=(7, order)), rng.normal(size=7)))
        potentials.append(Sparse(rng.integers(n, size=(3, order)), rng.normal(size=3)))
    rows, cols = (draw(st.sampled_from(["at_most_one", "exactly_one"] if n1 == n2 else ["at_most_one"])) for _ in "12")
    mask = None if "exactly_one" in (rows, cols) or rng.random() < 0.5 else rng.random((n1, n2)) < 0.7
    return Problem((n1, n2), potentials, rows, cols, mask if mask is not None and mask.any() else None)


# ---- there and back ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", GENERAL)
@settings(max_examples=60, deadline=None)
@given(problem=problems())
def test_written_files_read_back_to_the_same_energies_to_the_last_bit(format, problem):
    normal = normal_form(problem)
    data = write_problem(ProblemFile(normal), format)
    back = read_problem(data)
    assert energies(back.problem) == energies(normal)
    assert (back.problem.rows, back.problem.cols) == (problem.rows, problem.cols)
    assert write_problem(back, format) == data
    assert write_problem(ProblemFile(problem), format) == data  # whatever form the costs had
    np.testing.assert_allclose(energies(normal), energies(problem), rtol=1e-12, atol=1e-12 * problem.scale)


def test_a_formula_is_listed_the_same_whatever_is_looked_at_in_one_go(monkeypatch):
    pair = DATASETS["turntable"].load().limited(9, 11)
    file = from_pair(pair, MODELS["B"].build(pair))
    whole = write_problem(file, ".dd")
    monkeypatch.setattr(costs, "PIECE", 100)
    assert write_problem(file, ".dd") == whole


@settings(max_examples=30, deadline=None)
@given(problem=problems(order=3))
def test_npz_takes_higher_orders_and_dd_says_why_it_does_not(problem):
    back = read_problem(write_problem(ProblemFile(problem), ".npz")).problem
    np.testing.assert_allclose(energies(back), energies(problem), rtol=1e-12, atol=1e-12 * problem.scale)
    assert energies(read_problem(write_problem(ProblemFile(back), ".npz")).problem) == energies(back)
    with pytest.raises(ProblemFileError, match="order 3"):
        write_problem(ProblemFile(problem), ".dd")


@pytest.mark.parametrize("model", ["A", "B", "C", "combined", "photo"])
@pytest.mark.parametrize("format", GENERAL)
def test_what_is_on_the_page_keeps_its_energies_to_the_last_bit(model, format):
    pair = DATASETS["turntable"].load().limited(9, 11)
    problem = MODELS[model].build(pair)
    back = read_problem(write_problem(from_pair(pair, problem, MODELS[model].sense), format))
    assert energies(back.problem) == energies(problem)
    assert back.sense == MODELS[model].sense and back.name == pair.name
    assert_array_equal(back.left_points, pair.left.points.xy)
    drawn = as_pair(back)
    assert drawn.shape == pair.shape
    assert_array_equal(drawn.right.points.xy, pair.right.points.xy)
    if format == ".npz":
        assert_array_equal(drawn.left.image.rgb, pair.left.image.rgb)
        assert_array_equal(drawn.truth, pair.truth)


def test_a_third_order_model_passes_through_npz():
    pair = DATASETS["turntable"].load().limited(7, 8)
    problem = MODELS["third"].build(pair)
    back = read_problem(write_problem(from_pair(pair, problem), ".npz")).problem
    assert back.order == 3
    assert energies(back) == energies(problem)


@settings(max_examples=30, deadline=None)
@given(problem=problems())
def test_affinities_are_column_major_and_read_back(problem):
    normal = normal_form(problem)
    matrix = affinity(normal)
    for x in matchings(normal):
        columns = x.T.reshape(-1)  # vec(X)
        assert columns @ matrix @ columns == pytest.approx(-normal.energy(x), rel=1e-12, abs=1e-12 * problem.scale)
    data = problem_files.write_npz(ProblemFile(normal), "K")
    assert energies(read_problem(data).problem) == energies(normal)


def test_deep_matchers_arrays_mean_what_they_say():
    rng = np.random.default_rng(1)
    unary, left, right = rng.normal(size=(4, 5)), rng.integers(4, size=(6, 2)), rng.integers(5, size=(7, 2))
    quadratic = rng.normal(size=(6, 7))
    problem = read_problem(npz(unary=unary, quadratic=quadratic, edges_left=left, edges_right=right)).problem
    for x in matchings(problem):
        slow = (unary * x).sum()
        for e, (i, j) in enumerate(left):
            slow += sum(quadratic[e, f] * x[i, s] * x[j, t] for f, (s, t) in enumerate(right))
        assert problem.energy(x) == pytest.approx(slow, abs=1e-12)
    matrix = rng.random((20, 20))
    file = read_problem(npz(K=matrix, n1=4, n2=5))
    assert file.sense == "similarity"
    for x in matchings(file.problem):
        assert file.problem.energy(x) == pytest.approx(-x.T.reshape(-1) @ matrix @ x.T.reshape(-1), abs=1e-12)
    assert read_problem(npz(K=matrix, n1=4, n2=5, maximise=False)).problem.energy(x) == -file.problem.energy(x)
    assert read_problem(npz(K=np.ones((9, 9)))).problem.shape == (3, 3)
    forbidden = read_problem(npz(unary=np.array([[1.0, np.inf], [0.0, 2.0]]))).problem
    assert_array_equal(forbidden.candidates, [[True, False], [True, True]])


def test_images_points_truth_and_optimum_travel_in_an_npz():
    rgb = np.random.default_rng(0).integers(255, size=(20, 30, 3), dtype=np.uint8)
    file = ProblemFile(
        Problem((2, 3), Dense(np.arange(6.0).reshape(2, 3))),
        left_points=[[1, 2], [3, 4]],
        right_points=np.array([[1.5, 2], [3, 4], [5, 6]]),
        left_edges=np.array([[0, 1]]),
        images=(Image(rgb), None),
        truth=np.array([2, -1]),
        optimum=-3.25,
        name="two and three",
        sense="similarity",
    )
    back = read_problem(write_problem(file, ".npz"))
    assert_array_equal(back.images[0].rgb, rgb)
    assert back.images[1] is None and back.right_edges is None
    assert_array_equal(back.left_edges, [[0, 1]])
    assert_array_equal(back.truth, [2, -1])
    assert (back.optimum, back.name, back.sense) == (-3.25, "two and three", "similarity")


# ---- .dd ---------------------------------------------------------------------------------------------------------


def test_a_dd_file_means_what_it_says(monkeypatch):
    file = read_problem(TINY, "folder/tiny.dd")
    problem = file.problem
    assert (problem.shape, problem.rows, problem.cols, file.name) == ((2, 3), "at_most_one", "at_most_one", "tiny")
    assert_array_equal(problem.candidates, [[True, False, True], [True, True, False]])
    x = np.zeros((2, 3))
    assert problem.energy(x) == 0
    x[0, 0] = x[1, 1] = 1
    assert problem.energy(x) == -1.5 + 1e-3 - 0.25
    x = np.zeros((2, 3))
    x[0, 2] = x[1, 0] = 1
    assert problem.energy(x) == 9
    assert_array_equal(file.left_points, [[10, 20], [30, 40]])
    assert file.right_points is None
    assert_array_equal(file.right_edges, [[0, 2]])
    monkeypatch.setattr(dd, "BLOCK", 1)
    assert read_problem(lzma.compress(TINY)).problem.energy(x) == 9
    assert read_problem(TINY.replace(b"\n", b"\r\n")).problem.energy(x) == 9


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"a 1 0 2 2", b"a 5 0 2 2", "line 4: the id is 5"),
        (b"a 1 0 2 2", b"a 1 0 3 2", "line 4: the right node is 3; a whole number from 0 to 2"),
        (b"a 1 0 2 2", b"a 1 0.5 2 2", "line 4: the left node is 0.5"),
        (b"a 1 0 2 2", b"a 1 0 0 2", "line 4: left 0 and right 0 have an earlier line"),
        (b"a 1 0 2 2", b"a 1 0 2", "line 4: 4 words, but a line “a” has 5"),
        (b"a 1 0 2 2", b"a 1 0 2 two", "line 4: 'two' is not a finite number"),
        (b"a 1 0 2 2", b"a 1 0 2 1-2", "line 4: '1-2' is not a finite number"),
        (b"a 1 0 2 2", b"a 1 0 2 nan", "line 4: 'nan' is not a finite number"),
        (b"a 1 0 2 2", b"a 1 0 2 1e999", "line 4: '1e999' is not a finite number"),
        (b"a 1 0 2 2", b"b 1 0 2 2", "line 4: begins with 'b'"),
        (b"e 0 3 -0.25", b"e 0 4 -0.25", "line 7: the second id is 4"),
        (b"e 0 3 -0.25", b"e 0 1 -0.25", "line 7: assignments 0 and 1 share their left node"),
        (b"e 0 3 -0.25", b"e 0 2 -0.25", "line 7: assignments 0 and 2 share their right node"),
        (b"e 1 2 7", b"e 3 0 7", "line 8: assignments 3 and 0 have an earlier line"),
        (b"p 2 3 4 2", b"p 2 3 5 2", "line 2 announces 5 lines “a id i s cost”, but there are 4"),
        (b"p 2 3 4 2", b"p 2 3 4 9", "line 2 announces 9 lines “e id1 id2 cost”, but there are 2"),
        (b"p 2 3 4 2", b"p 99999 99999 4 2", "at most 10000000 are accepted"),
        (b"p 2 3 4 2", b"p 1e18 3 4 2", "a whole number from 1 to 100000"),
        (b"p 2 3 4 2", b"c", "no line “p V L A E”"),
        (b"c a problem", b"p 1 1 1 1\nc", "2 lines “p V L A E”"),
        (b"i0 1 30 40", b"i0 0 30 40", "line 10: node 0 has an earlier position"),
        (b"n1 0 2", b"n1 0 3", "line 11: the second node is 3"),
        (b"c a problem", b'c adgm {"rows": "most"}\nc', "the constraint is 'most'"),
        (b"c a problem", b"c adgm {" + b"[" * 900 + b"\nc", "line 1: the comment “c adgm” is not"),
    ],
)
def test_errors_in_a_dd_file_name_their_line(old, new, said, monkeypatch):
    for block in (dd.BLOCK, 1):  # the second looks at one line after the other
        monkeypatch.setattr(dd, "BLOCK", block)
        with pytest.raises(ProblemFileError, match=re.escape(said)):
            read_problem(TINY.replace(old, new, 1))


def test_other_readers_are_told_apart_from_ours():
    square = Problem((2, 2), Dense(np.eye(2)), "exactly_one", "exactly_one")
    assert "at most one on both sides" in dd.other_constraints(square)
    assert not dd.other_constraints(read_problem(TINY).problem)
    for rule in CONSTRAINTS[:2]:
        back = read_problem(write_problem(ProblemFile(Problem((2, 2), Dense(np.eye(2)), rule, rule)), ".dd"))
        assert back.problem.rows == back.problem.cols == rule


def test_costs_that_a_file_has_no_room_for_are_refused():
    problem = Problem((1, 2), Sparse([[0, 1]], [1.0]), rows=ANY)
    with pytest.raises(ProblemFileError, match="several partners"):
        write_problem(ProblemFile(problem), ".dd")


# ---- QAPLIB ------------------------------------------------------------------------------------------------------


def slow_cost(a: np.ndarray, b: np.ndarray, p: tuple[int, ...]) -> float:
    return sum(a[i, j] * b[p[i], p[j]] for i in range(len(p)) for j in range(len(p)))


@pytest.mark.parametrize("symmetric", [True, False])
def test_qaplib_files_cost_what_the_sum_says(symmetric):
    rng = np.random.default_rng(2)
    a, b = rng.integers(10, size=(6, 6)).astype(float), grid_distances(2, 3)
    a = a + a.T if symmetric else a
    text = "6\n" + "\n".join(" ".join(str(int(v)) for v in row) for row in (*a, *b))
    file = read_problem(text.encode(), "nug6.dat")
    costs = {p: slow_cost(a, b, p) for p in permutations(range(6))}
    for p in list(costs)[::50]:
        assert file.problem.energy(np.eye(6)[list(p)]) == costs[p]
    best = solve(file.problem, METHODS["adgm+"].make())
    assert best.energy == min(costs.values())
    again = read_problem(write_problem(file, ".dat"))
    assert again.problem.energy(np.eye(6)) == slow_cost(a, b, tuple(range(6)))
    assert write_problem(again, ".dat") == write_problem(file, ".dat")
    for format in GENERAL:
        back = read_problem(write_problem(file, format)).problem
        assert [back.energy(np.eye(6)[list(p)]) for p in list(costs)[:9]] == list(costs.values())[:9]
    solution = write_solution(best.matching, best.energy)
    known = add_companion(file, solution)
    assert_array_equal(known.truth, best.matching)
    assert known.optimum == best.energy
    inverse = add_companion(file, write_solution(np.argsort(best.matching), best.energy))
    assert file.problem.energy(np.eye(6)[inverse.truth]) == best.energy


def test_other_problems_are_no_qaplib_files():
    with pytest.raises(ProblemFileError, match="QAPLIB"):
        write_problem(read_problem(TINY), ".dat")


# ---- companions --------------------------------------------------------------------------------------------------


def test_companions_are_told_by_their_content(tmp_path):
    file = read_problem(TINY)
    assert add_companion(file, b" -1.75\n").optimum == -1.75
    assert_array_equal(add_companion(file, b"[[2], null]").truth, [2, -1])
    assert_array_equal(add_companion(file, b"[[2, 1], [2, 0]]").truth, [2, 0])
    for wrong, said in (
        (b"[[3], null]", "whole numbers from 0 to 2"),
        (b"[[1]]", "has 1 entries; 2 left nodes"),
        (b"[[1], [1]]", "have a partner already"),
        (b"[[1], ", "line 1: the truth is not valid JSON"),
        (b"minus one", "line 1: 'minus' is not a finite number"),
        (b"2 5 1 1", "not a permutation"),
        (b"", "empty"),
    ):
        with pytest.raises(ProblemFileError, match=said):
            add_companion(file, wrong)
    (tmp_path / "tiny.dd.xz").write_bytes(lzma.compress(TINY))
    (tmp_path / "tiny.opt").write_bytes(b"-1.75")
    (tmp_path / "tiny.gt").write_bytes(b"[[0], [1]]")
    opened = open_problem(tmp_path / "tiny.dd.xz")
    assert opened.optimum == -1.75
    assert_array_equal(opened.truth, [0, 1])
    assert companions(opened) == {".opt": b"-1.75\n", ".gt": b"[[0], [1]]\n"}


# ---- drawing -----------------------------------------------------------------------------------------------------


def test_a_problem_without_points_is_laid_out_the_same_every_time():
    file = qap(grid_distances(3, 4) == 1, grid_distances(3, 4))
    pair = as_pair(file)
    assert pair.shape == (12, 12)
    assert_array_equal(pair.left.points.xy, as_pair(file).left.points.xy)
    for view in (pair.left, pair.right):
        assert view.image is None
        assert view.points.xy.min() >= 0 and view.points.xy.max() <= 600
        assert len(np.unique(view.points.xy.round(3), axis=0)) == 12
    edges = graphs(file)[0]
    assert_array_equal(edges, np.argwhere(np.triu(grid_distances(3, 4) == 1)))
    xy = pair.left.points.xy
    lengths = np.linalg.norm(xy[:, None] - xy[None], axis=2)
    tied = grid_distances(3, 4) == 1
    assert lengths[tied].mean() < 0.6 * lengths[~tied & ~np.eye(12, dtype=bool)].mean()


@settings(max_examples=25, deadline=None)
@given(problem=problems())
def test_every_problem_can_be_drawn(problem):
    pair = as_pair(ProblemFile(normal_form(problem)))
    assert pair.shape == problem.shape
    assert np.isfinite(pair.left.points.xy).all() and np.isfinite(pair.right.points.xy).all()


# ---- the command line --------------------------------------------------------------------------------------------


def test_the_command_line_solves_and_converts(tmp_path, capsys):
    source, target = tmp_path / "tiny.dd", tmp_path / "tiny.npz"
    source.write_bytes(TINY)
    assert main(["convert", str(source), str(target)]) == 0
    assert main(["convert", str(target), str(tmp_path / "again.dd.xz")]) == 0
    capsys.readouterr()
    for path in (source, target, tmp_path / "again.dd.xz"):
        arguments = ["--method", "adgm+", "--time-limit", "10", "--json", "-o", str(tmp_path / "best.gt")]
        assert main(["solve", str(path), *arguments]) == 0
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        told = {"iteration", "time", "value", "bound", "assignment"}
        assert all(line.keys() == told for line in lines[:-1])
        assert lines[-1].keys() == told | {"status", "seconds", "seconds_to_best"}
        values = [line["value"] for line in lines]
        assert values == sorted(values, reverse=True)
        assert lines[-1]["value"] == -1.5 + 1e-3 - 0.25 and lines[-1]["assignment"] == [0, 1]
        assert 0.0 < lines[-1]["value"] - lines[-1]["bound"] < 1e-6
        assert (tmp_path / "best.gt").read_bytes() == b"[[0], [1]]\n"
    assert main(["solve", str(source), "--method", "adgm1", "--bound", "5"]) == 0
    assert "bound      proved optimal: no assignment is better by more than " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["solve", "no-such-file.dd"], "could not be read"),
        (["solve", "{tiny}", "--method", "magic"], "no method 'magic'"),
        (["solve", "{tiny}", "--option", "spell=1"], "does not take these options"),
        (["solve", "{tiny}", "-o", "{tiny}.sln", "--time-limit", "1"], "could not|permutation"),
        (["convert", "{tiny}", "out.txt"], "ends in no format"),
        (["convert", "gmbench:cat-1", "out.dd"], "no instance cat-1"),
    ],
)
def test_the_command_line_complains_in_a_sentence(tmp_path, capsys, words, said):
    path = tmp_path / "tiny.dd"
    path.write_bytes(TINY)
    if "-o" in words:
        path.write_bytes(TINY.replace(b"e 0 3 -0.25", b"e 0 3 9"))  # leaves a node alone
    assert main([word.replace("{tiny}", str(path)) for word in words]) == 2
    assert re.search(said, capsys.readouterr().err)
