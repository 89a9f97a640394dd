"""Plug-ins: a Python file of the user's adds models, methods, data sets and detectors, then offered everywhere.

    # my_models.py
    from features.models import MODELS, own_model

    def springs(left, right, stiffness=1.0):
        ...

    MODELS["springs"] = own_model(springs)

    python -m features --plugin my_models.py match --dataset house --model springs
    adgm-explorer --plugin my_models.py

What a file adds is shown with its name. A file that cannot be run adds nothing, and says why with its file and line.
A plug-in is a program: no public server loads one (`ADGM_PUBLIC`, see `features.limits`).
"""

import os
import re
import sys
import traceback
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from adgm import METHODS
from adgm.machine.deadline import TimeUp
from adgm.methods import Entry
from features.datasets import DATASETS, Dataset
from features.limits import is_public
from features.models import MODELS, Model
from features.points.keypoints import DETECTORS, Detector

PACKAGE = __name__.rpartition(".")[0]  # "features"; in an installed wheel "adgm_explorer.features"
FLAG, VARIABLE = "--plugin", "ADGM_PLUGINS"
KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]{0,39}")


class PluginError(ValueError):
    """Why a file added nothing, in a sentence with its name and, where one is to blame, its line."""


@dataclass(frozen=True)
class Kind:
    """What can be added."""

    word: str
    name: str  # of the registry
    registry: MutableMapping[str, Any]
    expected: type
    made_by: str


KINDS = (
    Kind("model", "MODELS", MODELS, Model, "own_model(…) or Model(…)"),
    Kind("method", "METHODS", METHODS, Entry, "Entry(label, make, orders, cite)"),
    Kind("data set", "DATASETS", DATASETS, Dataset, "pair_folder(folder) or Dataset(…)"),
    Kind("detector", "DETECTORS", DETECTORS, Detector, "onnx_detector(file) or Detector(…)"),
)
_loaded: dict[Path, tuple[tuple[str, str], ...]] = {}  # what each file added: (kind, key)


def load(path: str | Path) -> tuple[tuple[str, str], ...]:
    """Run a file once; what it added, as (kind, key). All or nothing: on an error the registries are as before."""
    if is_public(os.environ):
        raise PluginError("This is a public server (ADGM_PUBLIC): it loads no plug-ins, which are programs.")
    place = Path(path).resolve()
    if place in _loaded:
        return _loaded[place]
    before = [dict(kind.registry) for kind in KINDS]
    try:
        _run(place)
        _loaded[place] = tuple(
            (kind.word, key) for kind, old in zip(KINDS, before, strict=True) for key in _added(kind, old, place)
        )
    except BaseException:
        for kind, old in zip(KINDS, before, strict=True):
            kind.registry.clear()
            kind.registry.update(old)
        raise
    return _loaded[place]


def load_all() -> None:
    """Every file that the environment names; other processes of this program load the same."""
    for path in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        load(path)


def taken(words: Sequence[str]) -> list[str]:
    """Load the files that a command line names after --plugin, wherever that stands; the other words."""
    files, rest, waiting = [], [], False
    for word in words:
        if waiting:
            files.append(word)
            waiting = False
        elif word == FLAG:
            waiting = True
        elif word.startswith(f"{FLAG}="):
            files.append(word.partition("=")[2])
        else:
            rest.append(word)
    if waiting:
        raise PluginError(f"{FLAG} needs a file, as in {FLAG} my_models.py.")
    known = [*os.environ.get(VARIABLE, "").split(os.pathsep), *(str(Path(file).resolve()) for file in files)]
    os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys(filter(None, known)))
    load_all()
    return rest


def file_of(kind: str, key: str) -> str | None:
    """The file that added an entry; None for those that are always there."""
    return next((str(place) for place, added in _loaded.items() if (kind, key) in added), None)


def _run(place: Path) -> None:
    """The file as a module of its own."""
    try:
        code = compile(place.read_bytes(), str(place), "exec")
    except OSError as error:
        raise PluginError(f"{place.name} could not be read: {(error.strerror or str(error)).lower()}.") from error
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise PluginError(f"{_at(place, line)}: {getattr(error, 'msg', error)}.") from error
    name = f"adgm_plugin_{re.sub(r'[^A-Za-z0-9_]', '_', place.stem)}"
    module = ModuleType(name)
    module.__file__ = str(place)
    sys.modules[name] = module  # as dataclasses ask for it
    try:
        exec(code, vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise PluginError(_told(place, error)) from error


def _told(place: Path, error: BaseException) -> str:
    """What went wrong, with the last line of the file that was on the way."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename == str(place)]
    words = str(error).strip().rstrip(".") or "no reason given"
    if isinstance(error, ModuleNotFoundError) and error.name == "features" != PACKAGE:
        words += f"; installed, it is {PACKAGE}"
    return f"{_at(place, frames[-1].lineno if frames else None)}: {type(error).__name__}: {words[:300]}."


def _at(place: Path, line: int | None) -> str:
    return place.name if line is None else f"{place.name}, line {line}"


def _added(kind: Kind, old: dict[str, Any], place: Path) -> list[str]:
    """The keys that are new, with the file's name in their labels."""
    for key, entry in old.items():
        if kind.registry.get(key) is not entry:
            where = f"{_where(place, key)}: {kind.name}[{key!r}]"
            raise PluginError(f"{where} is there already, and may not be changed; take another key.")
    added = [key for key in kind.registry if key not in old]
    for key in added:
        kind.registry[key] = _labelled(kind, key, place)
    return added


def _labelled(kind: Kind, key: str, place: Path) -> Any:
    """A new entry, checked, as it is shown."""
    where = f"{_where(place, key)}: {kind.name}[{key!r}]"
    entry: Any = kind.registry[key]
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise PluginError(f"{where} has a key that no link can carry; expected letters, digits, _, + and -.")
    if not isinstance(entry, kind.expected):
        raise PluginError(f"{where} is a {type(entry).__name__}; expected {kind.made_by}.")
    assert isinstance(entry, Model | Dataset | Entry | Detector)
    label = f"{entry.label} ({place.stem})"
    if isinstance(entry, Model):
        return replace(entry, label=label, terms=partial(_guarded, place, entry.terms))
    if isinstance(entry, Detector):
        return replace(entry, label=label, detect=partial(_guarded, place, entry.detect), quick=None)
    if isinstance(entry, Dataset):
        if entry.key != key:
            raise PluginError(f"{where} is a data set whose own key is {entry.key!r}; use the same.")
        return replace(entry, label=label, make=partial(_guarded, place, entry.make))
    _try(entry, where)
    return replace(entry, label=label)


def _where(place: Path, key: str) -> str:
    """The file, and the first line that names a key."""
    lines = place.read_text(encoding="utf-8", errors="replace").splitlines()
    line = next((k for k, text in enumerate(lines, 1) if f'"{key}"' in text or f"'{key}'" in text), None)
    return _at(place, line)


def _guarded(place: Path, work: Callable[..., Any], *args: Any, **values: Any) -> Any:
    """What the file's own function returns; its errors become sentences with their line."""
    try:
        return work(*args, **values)
    except (ValueError, TimeUp, MemoryError):
        raise
    except Exception as error:
        raise PluginError(_told(place, error)) from error


def _try(entry: Entry, where: str) -> None:
    """A method that can be made, and has what a method has."""
    try:
        made = entry.make()
    except Exception as error:
        raise PluginError(f"{where} cannot be made without options: {type(error).__name__}: {error}.") from error
    for name in ("init", "step", "done"):
        if not callable(getattr(made, name, None)):
            raise PluginError(f"{where} makes a {type(made).__name__} without {name}(); see adgm.state.Method.")
