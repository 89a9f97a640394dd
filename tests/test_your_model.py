"""The tutorial "Your model in fifteen minutes" does what it says."""

import re
import shlex
from pathlib import Path

import pytest

from features import plugins
from features.__main__ import main
from features.formulas.text import model_text

PAGE = (Path(__file__).resolve().parents[1] / "assets" / "docs" / "your-model.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.S)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the tutorial's files are; what its plug-in adds goes again."""
    kept = [dict(kind.registry) for kind in plugins.KINDS]
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setenv(plugins.VARIABLE, "")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for kind, before in zip(plugins.KINDS, kept, strict=True):
        kind.registry.clear()
        kind.registry.update(before)


def test_its_programs_and_commands_run(folder, capsys):
    namespace: dict[str, object] = {}
    *programs, plugin = blocks("python")
    for program in programs:
        exec(program, namespace)
    out = capsys.readouterr().out
    assert "Line 1, column 8: d has a value on either side; write d1 or d2." in out
    assert "edges: turn" in out and "costs more than a right one" in out
    (folder / "my_models.py").write_text(plugin)
    (toml,) = blocks("toml")
    (folder / "my.toml").write_text(toml)
    for line in "".join(blocks("bash")).splitlines():
        words = shlex.split(line)
        assert words[:3] == ["python", "-m", "features"]
        assert main(words[3:]) == 0, capsys.readouterr().err
    assert "Springs (my_models)" in capsys.readouterr().out


def test_its_formulas_are_models_and_its_file_is_the_first_of_them():
    from features.formulas import toml_file

    first, *others = blocks("text")
    assert model_text(toml_file.read(blocks("toml")[0].encode())) == model_text(first)
    assert model_text(first).title in PAGE and all(model_text(text).terms for text in others)
