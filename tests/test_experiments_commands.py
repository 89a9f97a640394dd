"""Every command that the package or a README names exists, with the options it names."""

import argparse
import ast
import re
import shlex
import tomllib
from pathlib import Path

import pytest

import features.__main__
from experiments import commands
from experiments.studies import STUDIES
from experiments.tools.bench import BENCHES

ROOT = Path(__file__).resolve().parents[1]
PARSERS = {"features": features.__main__.parser, "experiments": commands.parser}
COMMAND = re.compile(r"python -m (features|experiments)((?: [^`\n]*)?)")
ENDS = re.compile(r"  | #|[,;:)]| \(|\.(?=\s|$)")  # where a command ends within a sentence or a listing
PLACEHOLDER = "1"


def texts(path: Path) -> list[str]:
    """All string literals of a module; what an f-string computes is a placeholder."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    known, inner = {"PROGRAM": f"python -m {path.relative_to(ROOT).parts[0]}"}, set()

    def part(node: ast.expr) -> str:
        inner.add(id(node))
        if isinstance(node, ast.Constant):
            return str(node.value)
        value = node.value if isinstance(node, ast.FormattedValue) else node
        return known.get(value.id, PLACEHOLDER) if isinstance(value, ast.Name) else PLACEHOLDER

    joined = ["".join(map(part, node.values)) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    plain = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner
    ]
    return joined + [re.sub(r"\{[^{}\s]*\}", PLACEHOLDER, text) for text in plain]


def named(text: str) -> list[tuple[str, list[str]]]:
    """(package, words) of every command in a text; one that stands alone, as a name, has no words."""
    found = []
    for package, rest in COMMAND.findall(text):
        words = shlex.split(ENDS.split(rest, maxsplit=1)[0].replace("'", "").replace("…", PLACEHOLDER))
        if words and not words[0].isupper() and words[0] != PLACEHOLDER:
            found.append((package, words))
    return found


MODULES = sorted(path for room in ("adgm", "features", "experiments", "ui") for path in (ROOT / room).rglob("*.py"))
DOCUMENTS = sorted((ROOT / "assets" / "docs").glob("*.md"))
SOURCES = [*MODULES, *DOCUMENTS, ROOT / "README.md", ROOT / "assets" / "results" / "README.md"]


@pytest.fixture(scope="module")
def every() -> dict[str, tuple[str, list[str]]]:
    """All commands that are named: where and how they are written, with package and words."""
    found = {}
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        text = text if path.suffix == ".py" else text.replace("\\\n", " ")  # a command goes on in the next line
        for part in (
            (texts(path) if path.suffix == ".py" else [text]) if "python -m" in text or "PROGRAM" in text else ()
        ):
            for package, words in named(part):
                found[f"{path.relative_to(ROOT)}: {' '.join([package, *words])}"] = package, words
    return found


def test_commands_are_found_in_messages_examples_and_readmes(every):
    written = "\n".join(every)
    for place in ("experiments/runner.py: features datasets --download", "features/__main__.py: features match"):
        assert place in written
    assert "experiments/toml_spec.py: experiments list --methods" in written
    assert "README.md: experiments bench" in written
    assert named("see `python -m features list`.") == [("features", ["list"])]


def test_every_command_that_is_named_exists(every, capsys):
    for place, (package, words) in every.items():
        if "--plugin" in words and "--detector" in words:  # one that the plug-in adds
            words = [*words[: words.index("--detector")], *words[words.index("--detector") + 2 :]]
        try:
            PARSERS[package]().parse_args(words)
        except SystemExit as end:
            assert end.code == 0, f"{place}: {capsys.readouterr().err}"


@pytest.mark.parametrize("words", [["list"], ["download", "house"], ["match", "--modle", "B"]])
def test_a_command_that_does_not_exist_would_be_noticed(words, capsys):
    with pytest.raises(SystemExit) as end:
        PARSERS["features"]().parse_args(words)
    assert end.value.code == 2


def test_the_installed_command_that_is_named_is_installed():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    said = {
        text
        for path in MODULES
        if "`adgm-explorer" in path.read_text(encoding="utf-8")
        for text in texts(path)
        if "`adgm-explorer" in text
    }
    assert said and "adgm-explorer" in scripts


def test_every_study_and_every_benchmark_is_a_line_of_a_registry(capsys):
    parser = commands.parser()
    (subparsers,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    assert list(subparsers.choices) == list(commands.COMMANDS)
    assert STUDIES.keys() <= commands.COMMANDS.keys()
    with pytest.raises(SystemExit):
        parser.parse_args(["bench", "--help"])
    told = capsys.readouterr().out
    assert all(name in told for name in BENCHES)
