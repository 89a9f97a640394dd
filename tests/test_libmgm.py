"""The optional rival pylibmgm: what it owes like any other method, how it is run; a stand-in where it is missing."""

import json
import subprocess
import sys

import numpy as np
import pytest

from adgm import EXACTLY_ONE, METHODS, Dense, Problem, Sparse, solve
from adgm.machine.deadline import TimeUp, deadline
from adgm.rivals import libmgm
from adgm.rivals.libmgm import LibMGM, installed
from tests.problems import planted

needs = pytest.mark.skipif(not installed(), reason="pylibmgm is not installed (pip install pylibmgm)")


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    """A program in its place that says these lines."""

    def say(*lines, then=""):
        told = "".join(f"print({line!r}, flush=True)\n" for line in lines)
        program = tmp_path / "program.py"
        program.write_text(f"import sys, time\nsys.stdin.buffer.read()\n{told}{then}\n", encoding="utf-8")
        monkeypatch.setattr(libmgm, "PROGRAM", program)

    return say


def small():
    return Problem((3, 3), [Dense(-np.eye(3)), Sparse([[0, 4], [4, 8]], [-1.0, 2.0], symmetric=True)])


def test_it_is_offered_where_it_is_installed_and_never_imported():
    assert ("libmgm" in METHODS) == installed()
    words = "import sys, adgm; assert 'pylibmgm' not in sys.modules"
    subprocess.run([sys.executable, "-c", words], check=True)


def test_the_best_that_it_tells_is_the_result(stand_in):
    stand_in(json.dumps([-1, 1, 2]), json.dumps([0, 1, -1]))
    result = solve(small(), LibMGM())
    assert result.status == "converged" and result.energy == -4.0
    np.testing.assert_array_equal(result.matching, [0, 1, -1])


def test_what_it_told_before_the_time_was_up_remains(stand_in, monkeypatch):
    stand_in(json.dumps([0, -1, -1]), then="time.sleep(600)")
    problem, method, lines = small(), LibMGM(), []
    with deadline(lambda: len(lines) > 0), pytest.raises(TimeUp):
        libmgm.ask(method._asked(problem), lines)
    assert lines == ["[0, -1, -1]"]

    def interrupted(arrays, lines):
        lines.append("[0, -1, -1]")
        raise TimeUp

    monkeypatch.setattr(libmgm, "ask", interrupted)
    state = method.step(problem, method.init(problem))
    assert state.best_energy == -1.0 and not state.converged


def test_a_side_that_has_to_be_matched_is_completed(stand_in):
    stand_in(json.dumps([-1, 1, -1]))
    problem = Problem((3, 3), small().potentials, rows=EXACTLY_ONE)
    assert (solve(problem, LibMGM()).matching >= 0).all()


def test_a_program_that_fails_is_told_in_its_own_words(stand_in):
    stand_in(then="raise ValueError('no such model')")
    with pytest.raises(RuntimeError, match="no such model"):
        solve(small(), LibMGM())


@needs
@pytest.mark.parametrize("seed", range(3))
def test_it_finds_planted_matchings(seed):
    problem, truth = planted((7, 7), 2, seed)
    np.testing.assert_array_equal(solve(problem, "libmgm").matching, truth)
