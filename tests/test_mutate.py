"""Mutants: one change each, none of words; a copy of the tree is broken and mended."""

import ast
from pathlib import Path

import pytest

from experiments.__main__ import main
from experiments.tools import mutate
from experiments.tools.mutate import GUARDS, ROOT, Mutant, mutants, sampled

TEXT = '''
def share(a, b, most=3):
    """Of what there is."""
    total = sum(a, b)
    if total > most and not b:
        raise ValueError(f"{total} is more than {most + 1}")
    return a / b
'''


def test_every_place_is_changed_once_and_words_are_left_alone():
    found = mutants("share.py", TEXT)
    assert {(one.line, one.before, one.after) for one in found} == {
        (4, "total = sum(a, b)", "pass"),
        (4, "sum(a, b)", "sum(b, a)"),
        (5, "if total > most and (not b):", "if False:"),
        (5, "total > most and (not b)", "total > most or not b"),
        (5, "total > most", "total >= most"),
        (5, "not b", "b"),
        (7, "a / b", "a * b"),
    }
    whole = ast.unparse(ast.parse(TEXT)).splitlines()
    for one in found:
        after = ast.unparse(ast.parse(one.text)).splitlines()
        assert len(after) == len(whole) and sum(a != b for a, b in zip(whole, after, strict=True)) == 1


def test_guards_are_there_and_equal_seeds_give_equal_samples():
    for path, names in GUARDS.items():
        assert (ROOT / path).is_file()
        assert all((ROOT / "tests" / f"test_{name}.py").is_file() for name in names.split())
    some = ["adgm/costs/numbers.py", "adgm/machine/deadline.py"]
    assert sampled(some, 5, 1) == sampled(some, 5, 1) != sampled(some, 5, 2)


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with one module and one test file."""
    for name, text in {"share.py": TEXT, "tests/test_share.py": "from share import share\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    monkeypatch.setattr(mutate, "PARTS", ("share.py", "tests"))
    monkeypatch.setattr(mutate, "GUARDS", {"share.py": "share"})
    return tmp_path


def test_a_mutant_survives_what_does_not_look_and_the_module_is_mended(tiny, monkeypatch):
    asked: list[str] = []

    def tested(command: list[str], cwd: Path, **options: object) -> object:
        asked.append((cwd / "share.py").read_text(encoding="utf-8"))
        return type("Done", (), {"returncode": int("a * b" in asked[-1])})

    monkeypatch.setattr(mutate.subprocess, "run", tested)
    one = Mutant("share.py", 7, "a / b", "a * b", TEXT.replace("a / b", "a * b"))
    assert not mutate.survives(one, tiny)
    assert mutate.survives(Mutant("share.py", 4, "", "", TEXT.replace("sum(a, b)", "sum(b, a)")), tiny)
    assert ["a * b" in text for text in asked] == [True, False]
    assert (tiny / "share.py").read_text(encoding="utf-8") == TEXT


@pytest.mark.parametrize(("passes", "told"), [(True, "7 mutants, 7 survived"), (False, "fail as it is")])
def test_the_command_counts_survivors_and_first_runs_the_tests_as_they_are(tiny, monkeypatch, capsys, passes, told):
    monkeypatch.setattr(mutate, "survives", lambda mutant, copy: passes)
    assert main(["mutate"]) == (0 if passes else 2)
    said = capsys.readouterr()
    assert told in said.out + said.err
    assert main(["mutate", "--only", "nothing"]) == 2
