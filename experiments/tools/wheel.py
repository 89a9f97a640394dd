"""Build hook of the wheel: every room but the solver lives under `adgm_explorer`, and is named so.

The repository keeps its rooms at the top level. An installed wheel adds two names, `adgm` and `adgm_explorer`, so that
a folder of the user's called `features` or `ui` is in nobody's way. Imports are found by their places in the syntax
tree; in strings, lines of programs and commands (`from features import match`, `python -m features`) are renamed, too,
so that what the installed app writes down runs where it is installed.
"""

import ast
import re
import shutil
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "adgm_explorer"
ROOMS = ("experiments", "features", "ui")
# The script is in a folder of its own: Streamlit puts that on the path, and no room shall be found there.
PLACES = {
    "app.py": "frame/app.py",
    ".streamlit/config.toml": "frame/config.toml",
    "features/__init__.py": "__init__.py",
}
PLACES |= {"ui/shell/command.py": "__main__.py"} | {place: place for place in ("assets/penalty.png", "assets/results")}
BUILT = {"out/docs": "site"}  # the documentation, if it has been built: the app serves it
ONLY_HERE = ("wheel.py", "clone_names.py")
ROOM = "|".join(ROOMS)
STATEMENT = re.compile(rf"\b(from|import) (?=({ROOM})(\.[\w.]+)? (import|as) )")  # in a string
MODULE = re.compile(rf"\bpython -m (?=({ROOM})\.\w)")
COMMAND = re.compile(r"\bpython -m (features|experiments)\b")
COMMANDS = {"features": "adgm-explorer", "experiments": "adgm-explorer experiments"}


def renamed(source: str, name: str = "program") -> str:
    """The program with every room under its installed name."""
    data = source.encode()
    starts = [0, *accumulate(len(line) for line in data.splitlines(keepends=True))]
    found = []
    for node in _named(ast.parse(source), name):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        found.append((begin, end, _told(node, data[begin:end].decode()).encode()))
    for begin, end, text in sorted(found, reverse=True):
        data = data[:begin] + text + data[end:]
    return data.decode()


def _named(tree: ast.Module, name: str) -> Iterator[Any]:
    """Every import of a room, and every string, whole."""
    whole = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inner = {id(part) for node in whole for part in ast.walk(node) if part is not node}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and _room(node.module or ""):
            yield node
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if _room(alias.name) and alias.asname is None:
                    raise ValueError(f"{name}, line {node.lineno}: import {alias.name} needs a name: import … as …")
                if _room(alias.name):
                    yield alias
        elif id(node) not in inner and _is_text(node):
            yield node


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _told(node: Any, text: str) -> str:
    """What is written in the place of an import or a string."""
    if isinstance(node, ast.ImportFrom):
        return text.replace(f"from {node.module}", f"from {PACKAGE}.{node.module}", 1)
    return f"{PACKAGE}.{text}" if isinstance(node, ast.alias) else in_text(text)


def in_text(text: str) -> str:
    """A text with the installed names in the programs and commands that it holds."""
    text = STATEMENT.sub(rf"\1 {PACKAGE}.", text)
    text = MODULE.sub(f"python -m {PACKAGE}.", text)
    return COMMAND.sub(lambda found: COMMANDS[found[1]], text)


def _room(module: str) -> bool:
    return module.partition(".")[0] in ROOMS


def arrange(root: Path, folder: Path) -> None:
    """Write the package `adgm_explorer` of a repository into a folder."""
    for room in ROOMS:
        shutil.copytree(root / room, folder / room, ignore=shutil.ignore_patterns("__pycache__", *ONLY_HERE))
    built = {source: place for source, place in BUILT.items() if (root / source).is_dir()}
    for source, place in {**PLACES, **built}.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (root / source).is_dir() else shutil.copyfile
        copy(root / source, folder / place)
    for path in folder.rglob("*.py"):
        path.write_text(renamed(path.read_text(encoding="utf-8"), str(path.relative_to(folder))), encoding="utf-8")


class InstalledNames(BuildHookInterface[Any]):
    """Adds `adgm_explorer` to the wheel; an editable one has a package that names the rooms of the repository."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._kept = TemporaryDirectory()
        folder, root = Path(self._kept.name), Path(self.root)
        if version == "editable":
            shutil.copyfile(Path(__file__).with_name("clone_names.py"), folder / "__init__.py")
            build_data["force_include_editable"][str(folder)] = PACKAGE
        else:
            arrange(root, folder)
            build_data["force_include"][str(folder)] = PACKAGE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self._kept.cleanup()
