"""The documentation: every program and command in it runs, the site is built, and no link is dead."""

import re
import shlex
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

import features.__main__
from experiments import __main__ as experiments_main
from experiments import commands
from experiments.tools.documentation import SOURCES, links
from experiments.tools.documentation.build import MADE
from experiments.tools.documentation.kept import Kept, code
from experiments.tools.documentation.shown import Example, notebook
from features.datasets import DATASETS

FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
WITH_CODE = sorted(path.name for path in SOURCES.glob("*.md") if FENCED.search(path.read_text(encoding="utf-8")))
NEED_DATA = {"debugging.md"}
TESTED_ELSEWHERE = {"your-model.md"}  # with what it prints: test_your_model.py
MAINS = {"features": features.__main__.main, "experiments": experiments_main.main}


def blocks(name: str) -> list[tuple[str, str]]:
    """(language, text) of every block of a page, in their order."""
    return FENCED.findall((SOURCES / name).read_text(encoding="utf-8"))


def a_network(left: object, right: object) -> SimpleNamespace:
    """Stands for one of the reader's: affinities as a tensor that is on a device."""
    values = np.random.default_rng(0).random((42, 42))
    on_cpu = SimpleNamespace(numpy=lambda: values)
    return SimpleNamespace(device="cuda", detach=lambda: SimpleNamespace(cpu=lambda: on_cpu))


def zeros(*shape: int, device: str) -> np.ndarray:
    assert device == "cuda"
    return np.zeros(shape)


READERS = {"network": a_network, "torch": SimpleNamespace(zeros=zeros), "left": None, "right": None}


def test_programs_and_commands_are_marked_as_what_they_are():
    kinds = {kind for name in WITH_CODE for kind, _ in blocks(name)}
    assert {"python", "bash"} <= kinds <= {"python", "bash", "console", "text", "toml"}
    for name in WITH_CODE:
        text = (SOURCES / name).read_text(encoding="utf-8")
        assert text.count("```") % 2 == 0 and not re.search(r"^ {4}(python|adgm|pip)", text, re.M), name


def test_commands_that_are_only_shown_exist(capsys):
    shown = 0
    for name in WITH_CODE:
        for line in "".join(text for kind, text in blocks(name) if kind == "console").splitlines():
            program, *words = shlex.split(line, comments=True)
            if program != "adgm-explorer":
                continue
            parser = features.__main__.parser() if words[0] != "experiments" else commands.parser()
            parser.parse_args(words[words[0] == "experiments" :])
            shown += 1
    assert shown > 3, capsys.readouterr().err


def test_every_document_has_its_place_on_the_site():
    places = set(re.findall(r": ([\w/-]+)\.md$", (SOURCES / "mkdocs.yml").read_text(encoding="utf-8"), re.M))
    made = {"gallery/index", "results/index", "changelog", *(f"reference/{name}" for name in MADE)}
    written = {path.relative_to(SOURCES).with_suffix("").as_posix() for path in SOURCES.rglob("*.md")}
    notebooks = {path.stem for path in SOURCES.glob("*.ipynb")}
    assert places == written | notebooks | made


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in WITH_CODE if name not in TESTED_ELSEWHERE])
def test_the_programs_and_commands_of_a_page_run(name, tmp_path, monkeypatch, request, capsys):
    if name in NEED_DATA:
        monkeypatch.setenv("ADGM_DATA_DIR", str(request.getfixturevalue("data_dir").resolve()))  # seen from anywhere
    for side, view in zip(
        ("left", "right"), (lambda one: (one.left, one.right))(DATASETS["portrait"].load()), strict=True
    ):
        cv2.imwrite(str(tmp_path / f"{side}.jpg"), view.image.rgb[..., ::-1])
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = dict(READERS)
    for kind, text in blocks(name):
        if kind == "python":
            exec(compile(text, name, "exec"), namespace)
        elif kind == "bash":
            for line in text.replace("\\\n", " ").splitlines():
                python, flag, package, *words = shlex.split(line, comments=True)
                assert (python, flag) == ("python", "-m")
                assert MAINS[package](words) == 0, capsys.readouterr().err


def test_gallery_and_notebooks_become_markdown(tmp_path):
    script = '"""A title.\n\nAbout it."""\n\n# %%\n# Some *words*.\nx = 3\nprint("three")\n\n# %%\nx + 1\n'
    (tmp_path / "one.py").write_text(script)
    with pytest.raises(ValueError, match=r"one\.py shows no picture"):
        Example(tmp_path / "one.py").run(Kept())
    drawn = script + "\n# %%\nfrom matplotlib.figure import Figure\nFigure(figsize=(1, 1))\n"
    (tmp_path / "two.py").write_text(drawn)
    two = Example(tmp_path / "two.py").run(Kept())
    assert two.title == "A title" and "Some *words*." in two.text and "```text\nthree\n```" in two.text
    assert "```text\n4\n```" in two.text and "two-0.png" in two.text and two.files["two-0.png"] and two.thumbnail
    kept = Kept()
    said = {"output_type": "stream", "text": ["a ``` b\n"]}
    html = {"output_type": "execute_result", "data": {"text/html": ["<b>*_</b>"], "text/plain": ["no"]}}
    cells = [
        {"cell_type": "markdown", "source": ["# Head"]},
        {"cell_type": "code", "source": ["f()"], "outputs": [said, html]},
    ]
    text = notebook({"cells": cells}, kept)
    assert "# Head" in text and "````text\na ``` b\n````" in text and "<b>" not in text
    assert "<b>*_</b>" in kept.put(text)


@pytest.mark.long
def test_formulas_are_kept_out_of_code():
    pytest.importorskip("latex2mathml", reason="only the documentation needs it")
    kept = Kept()
    text = kept.formulas("A $x_1$ costs `$x_2$` and\n\n" + code("echo $HOME $PATH", "console") + "\n$$\\sum_i x_i$$\n")
    assert "`$x_2$`" in text and "$HOME $PATH" in text and "$x_1$" not in text and "$$" not in text
    drawn = kept.put(text)
    assert drawn.count("<math") == 2 and drawn.count('display="block"') == 1


def test_dead_links_are_found(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "index.html").write_text('<p id="there">')
    good = ["sub/", "sub/index.html#there", "#here", "https://example.org", "mailto:a@b", "a.txt"]
    bad = ["none.html", "sub/#nowhere", "#gone"]
    (tmp_path / "a.txt").write_text("a")
    listed = "".join(f'<a href="{one}">x</a>' for one in [*good, *bad])
    (tmp_path / "index.html").write_text(f'<i id="here"></i>{listed}<img src="https://example.org/x.png">')
    found = list(links.dead(tmp_path))
    assert [line.rpartition(" ")[2] for line in found] == [*bad, "https://example.org/x.png"]


def test_outside_a_clone_the_command_says_where_the_sources_are(monkeypatch, tmp_path):
    monkeypatch.setattr("experiments.tools.documentation.SOURCES", tmp_path / "none")
    options = commands.parser().parse_args(["docs"])
    with pytest.raises(ValueError, match="in a clone"):
        options.run(options)
