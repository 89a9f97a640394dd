"""Mutants: one change each, none of words; a copy of the tree is broken and mended."""

import ast
import os
from pathlib import Path
from textwrap import dedent

import pytest

from experiments.__main__ import main
from experiments.tools import mutate, reach
from experiments.tools.mutants import TUNING, Mutant, assigned, mutants, text_of
from experiments.tools.mutate import GUARDS, ROOT, UNGUARDED, sampled

TEXT = '''max_of = max
def share(a, b, most=3):
    """Of what there is."""
    total = max_of(a, b)
    if total > most and not b:
        raise ValueError(f"{total} is more than {most + 1}")
    return a / b
'''


def test_every_place_is_changed_once_and_words_are_left_alone():
    found = mutants("share.py", TEXT)
    assert {(one.line, one.before, one.after) for one in found} == {
        (4, "total = max_of(a, b)", "pass"),
        (4, "max_of(a, b)", "max_of(b, a)"),
        (5, "if total > most and (not b):", "if False:"),
        (5, "total > most and (not b)", "total > most or not b"),
        (5, "total > most", "total <= most"),
        (5, "not b", "b"),
        (7, "a / b", "a * b"),
    }
    whole = ast.unparse(ast.parse(TEXT)).splitlines()
    for one in found:
        after = text_of(one, TEXT).splitlines()
        assert len(after) == len(whole) and sum(a != b for a, b in zip(whole, after, strict=True)) == 1


def test_a_mutant_knows_the_lines_that_run_with_it():
    text = "MOST = f(1)\n\ndef g(a):\n    if (a\n            > 1):\n        return a * 2\n    return f(a,\n        4)\n"
    lines = {(one.before, one.lines) for one in mutants("share.py", text)}
    assert lines == {
        ("MOST = f(1)", ()),
        ("1", ()),
        ("if a > 1:", (4, 5)),
        ("a > 1", (4, 5)),
        ("1", (4, 5)),
        ("a * 2", (6,)),
        ("2", (6,)),
        ("f(a, 4)", (7, 8)),
        ("4", (7, 8)),
    }


def test_constants_that_only_tune_and_what_only_types_are_left_alone(monkeypatch):
    text = "MOST = 3\nLEAST: int = 4\nT = TypeVar('T', bound=int)\nx = cast(f(1, 2), y)\n"
    assert [one.line for one in mutants("share.py", text)] == [1, 2, 4]
    monkeypatch.setitem(TUNING, "a reason", {"share.py": "MOST", "other.py": "LEAST"})
    assert [one.line for one in mutants("share.py", text)] == [2, 4]


def test_every_constant_that_only_tunes_is_there():
    for modules in TUNING.values():
        for path, names in modules.items():
            assert set(names.split()) <= {assigned(one) for one in ast.parse((ROOT / path).read_text()).body}, path


def test_every_module_of_the_solver_has_guards_that_are_there():
    for path, names in GUARDS.items():
        assert (ROOT / path).is_file()
        assert all((ROOT / "tests" / f"test_{name}.py").is_file() for name in names.split())
    solver = {path.relative_to(ROOT).as_posix() for path in (ROOT / "adgm").rglob("*.py")}
    assert {path for path in solver - set(GUARDS) if not path.endswith("__init__.py")} == {
        path for path in solver if path.startswith(UNGUARDED) and not path.endswith("__init__.py")
    }


def test_equal_seeds_give_equal_samples():
    some = ["adgm/costs/numbers.py", "adgm/machine/deadline.py"]
    assert sampled(some, 5, 1) == sampled(some, 5, 1) != sampled(some, 5, 2)


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with one module and two tests, one of which runs a line of it and looks at what comes of it."""
    tests = """
        from share import share

        def test_division():
            assert share(6, 3) == 2

        def test_nothing():
            pass
    """
    for name, text in {"tree/share.py": TEXT, "tree/tests/test_share.py": dedent(tests)}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(mutate, "ROOT", tmp_path / "tree")
    monkeypatch.setattr(mutate, "PARTS", ("share.py", "tests"))
    monkeypatch.setattr(mutate, "GUARDS", {"share.py": "share"})
    monkeypatch.setattr(mutate, "load", lambda: None)
    monkeypatch.setattr(reach, "user_cache_dir", lambda name: str(tmp_path / "cache"))
    return tmp_path / "tree"


def test_it_is_known_which_test_runs_which_line(tiny):
    found = reach.traced(tiny, "tests/test_share.py", ["share.py"])
    division, nothing = (f"tests/test_share.py::test_{name}" for name in ("division", "nothing"))
    assert {test: lines for test, (_, lines) in found.items()} == {
        reach.IMPORTED: {"share.py": [1, 2]},
        division: {"share.py": [4, 5, 7]},
        nothing: {},
    }
    trial = mutate.Trial(tiny)
    assert [test for _, test in trial.tests(Mutant("share.py", 0, 7, "", "", (7,)))] == [division]
    assert trial.tests(Mutant("share.py", 0, 6, "", "", (6,))) == []
    assert len(trial.tests(Mutant("share.py", 0, 1, "", ""))) == 2


@pytest.mark.long
def test_a_mutant_survives_what_does_not_look_and_the_module_is_mended(tiny):
    trial = mutate.Trial(tiny)
    every = {one.after: one for one in mutants("share.py", TEXT)}
    assert not trial.survives(every["a * b"]) and trial.survives(every["max_of(b, a)"])
    assert (tiny / "share.py").read_text(encoding="utf-8") == TEXT


def test_work_in_a_process_of_its_own_ends_with_its_code_or_with_none():
    assert reach.forked(lambda: 3, 10) == 3
    assert reach.forked(lambda: os.kill(os.getpid(), 9), 10) is None
    assert reach.forked(lambda: 1 // 0, 10) not in (0, None)


@pytest.mark.parametrize(("passes", "told"), [(True, "7 mutants, 7 survived (100%)"), (False, "7 mutants, 0 survived")])
def test_the_command_counts_survivors_and_shows_the_change(tiny, monkeypatch, capsys, passes, told):
    monkeypatch.setattr(mutate, "traced", lambda *asked: {})
    monkeypatch.setattr(mutate, "passes", lambda *asked: passes)
    assert main(["mutate"]) == 0
    said = capsys.readouterr().out
    assert told in said
    assert (
        "share.py:7 (no test runs this line)\n    a / b  →  a * b\n    -    return a / b\n    +    return a * b" in said
    ) == passes
    assert main(["mutate", "--only", "nothing"]) == 2


def test_the_command_refuses_tests_that_fail_as_they_are(tiny, monkeypatch, capsys):
    monkeypatch.setattr(mutate, "traced", lambda *asked: None)
    assert main(["mutate"]) == 2
    assert "fail as it is" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("before", "after"),
    [("a < 1", "a <= 1"), ("len(a) >= b", "len(a) > b"), ("p.order > d", "p.order >= d"), ("a < 0.5", "a >= 0.5")],
)
def test_a_boundary_moves_where_whole_numbers_are_compared_and_turns_round_elsewhere(before, after):
    assert after in [one.after for one in mutants("share.py", f"x = {before}\n")]


def test_what_cannot_matter_is_no_mutant():
    changes = [one.before for one in mutants("share.py", "x = f(zip(a, b.reshape(-1, n), strict=True))\n")]
    whole = "zip(a, b.reshape(-1, n), strict=True)"
    assert changes == [f"x = f({whole})", whole, "b.reshape(-1, n)"]
