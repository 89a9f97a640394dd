"""The house rules that a machine can hold: who may import whom, and that the README tells the truth."""

import ast
import re
from pathlib import Path

import cv2
import pytest

from features.datasets import DATASETS

ROOT = Path(__file__).resolve().parent.parent
MAY_IMPORT = {
    "adgm": set(),
    "features": {"adgm"},
    "experiments": {"features", "adgm"},
    "ui": {"experiments", "features", "adgm"},
}
FILES = sorted(p for room in MAY_IMPORT for p in (ROOT / room).rglob("*.py"))


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path):
    room = path.relative_to(ROOT).parts[0]
    names = imported(path)
    assert not (names & MAY_IMPORT.keys()) - MAY_IMPORT[room] - {room}
    assert room == "ui" or "streamlit" not in names
    assert room != "adgm" or not names & {"cv2", "matplotlib", "PIL"}
    assert "_kernels" in path.parts or "numba" not in names


def test_the_readmes_python_example_runs():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", readme, re.S)
    assert examples
    namespace: dict[str, object] = {}
    exec(examples[0], namespace)  # the front door, as printed
    assert namespace["result"].status == "converged"
    assert (namespace["result"].matching == namespace["truth"]).all()


def test_the_readmes_photographs_match(tmp_path, monkeypatch):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    example = next(text for text in re.findall(r"```python\n(.*?)```", readme, re.S) if "match(" in text)
    pair = DATASETS["portrait"].load(points=50)
    for name, view in (("left", pair.left), ("right", pair.right)):
        cv2.imwrite(str(tmp_path / f"{name}.jpg"), view.image.rgb[..., ::-1])
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    exec(example, namespace)
    assert namespace["found"].verification.same and len(namespace["found"].pairs) > 50


def test_the_readmes_pictures_exist():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", readme)
    assert pictures
    assert all((ROOT / picture).is_file() for picture in pictures)


def test_the_way_of_the_data_names_what_there_is_and_no_file_twice():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    way = text[text.index("## The way of the data") : text.index("## Glossary")]
    for table in way.split("From ")[1:]:
        stations = re.findall(r"^\| `([^:`]+):(\w+)` \|", table, re.M)
        assert 10 <= len(stations) <= 15
        for file, name in stations:
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        assert len({file for file, _ in stations}) == len(stations)
