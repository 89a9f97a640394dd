"""Matching problems as files: `.dd` and `.dd.xz` (gmbench), QAPLIB `.dat`, NPZ; told by their content, in and out.

`read_problem(data, name)` takes the bytes of a stranger's file and gives a `ProblemFile` or raises a `ProblemFileError`
with one sentence. `write_problem(file, format)` gives bytes that read back to the same energies, bit for bit.
"""

from __future__ import annotations

import lzma
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from features.files.npz import MAGIC as ZIP
from features.files.problem_files.arrays import affinity, read_npz, write_npz
from features.files.problem_files.companions import SUFFIXES, companions, with_companion, write_truth
from features.files.problem_files.costs import normal_form
from features.files.problem_files.dd import other_constraints, read_dd, write_dd
from features.files.problem_files.drawing import as_pair, graphs
from features.files.problem_files.qaplib import qap, read_qaplib, write_qaplib, write_solution
from features.files.problem_files.record import ProblemFile, ProblemFileError, from_pair, refuse_size
from features.files.problem_files.xz import unpacked
from features.points.images import shown

__all__ = [
    "FORMATS",
    "ProblemFile",
    "ProblemFileError",
    "add_companion",
    "affinity",
    "as_pair",
    "companions",
    "format_of",
    "from_pair",
    "graphs",
    "normal_form",
    "open_problem",
    "other_constraints",
    "problems_in",
    "qap",
    "read_problem",
    "stem",
    "write_problem",
    "write_solution",
    "write_truth",
]

UTF8 = b"\xef\xbb\xbf"  # a mark that some editors put first
T = TypeVar("T")
LONGEST = 500  # letters of a complaint

FORMATS: dict[str, Callable[[ProblemFile], bytes]] = {
    ".dd": write_dd,
    ".dd.xz": lambda file: lzma.compress(write_dd(file), preset=0),
    ".npz": write_npz,
    ".dat": write_qaplib,
}


def read_problem(data: bytes, name: str = "problem") -> ProblemFile:
    """The problem in a file; its content tells the format, its name is a title."""
    return _told(name, lambda: _named(_read(data), name))


def add_companion(file: ProblemFile, data: bytes, name: str = "companion") -> ProblemFile:
    """The problem with the optimum, the truth or the solution that lies beside it."""
    return _told(name, lambda: with_companion(file, data))


def write_problem(file: ProblemFile, format: str) -> bytes:
    """The bytes of a file in one of `FORMATS`."""
    if format not in FORMATS:
        raise ProblemFileError(f"There is no problem format {format!r}; choose one of {', '.join(FORMATS)}.")
    return _told(f"{file.name}{format}", lambda: FORMATS[format](file))


def open_problem(path: str | Path) -> ProblemFile:
    """Read a matching problem from a file, with the companions that lie beside it.

    Parameters
    ----------
    path : path
        A `.dd`, `.dd.xz`, QAPLIB `.dat` or NPZ file; its content tells which. One that is too large is not even read.

    Returns
    -------
    ProblemFile
        The problem, and what is known about it besides its costs.

    Raises
    ------
    ProblemFileError
        What is wrong with the file, in a sentence that names the line.

    Examples
    --------
    >>> import numpy as np
    >>> from features.files.problem_files import open_problem
    >>> np.savez("mine.npz", unary=[[0.0, 2], [3, 0]], name="mine")
    >>> file = open_problem("mine.npz")
    >>> file.name, file.problem.shape, file.problem.order
    ('mine', (2, 2), 1)
    """
    path = Path(path)
    file = read_problem(_bytes(path), path.name)
    for suffix in SUFFIXES:
        beside = path.with_name(stem(path.name) + suffix)
        if beside.is_file():
            file = add_companion(file, _bytes(beside), beside.name)
    return file


def problems_in(folder: str | Path) -> list[Path]:
    """The problem files of a folder, in the order of their names."""
    return sorted(path for path in Path(folder).iterdir() if format_of(path.name) and path.is_file())


def format_of(name: str) -> str:
    """The format that a file's name asks for, empty if it asks for none."""
    return next((end for end in sorted(FORMATS, key=len, reverse=True) if name.lower().endswith(end)), "")


def stem(name: str) -> str:
    """A problem's name without its ending."""
    return name[: len(name) - len(format_of(name))]


def _bytes(path: Path) -> bytes:
    try:
        _told(path.name, lambda: refuse_size(path.stat().st_size))
        return path.read_bytes()
    except OSError as error:
        raise ProblemFileError(f"{path} could not be read: {(error.strerror or str(error)).lower()}.") from error


def _read(data: bytes) -> ProblemFile:
    refuse_size(len(data))
    data = unpacked(data)
    if data[:4] in ZIP:
        return read_npz(data)
    data = data.removeprefix(UTF8)
    begin = data[:4000].split(maxsplit=1)[:1]
    if not begin:
        raise ProblemFileError("the file is empty.")
    if begin[0][:1] in b"+-.0123456789":
        return read_qaplib(data)
    if begin[0][:1] == b"c" or (begin[0][:1].isalpha() and len(begin[0]) <= 2):
        return read_dd(data)
    raise ProblemFileError("this is neither a .dd or .dd.xz file, nor QAPLIB's, nor an NPZ file of a problem.")


def _named(file: ProblemFile, name: str) -> ProblemFile:
    """A problem that has no name of its own gets that of its file."""
    if file.name != "problem":
        return file
    return replace(file, name=stem(name.replace("\\", "/").rsplit("/", 1)[-1]))


def _told(name: str, work: Callable[[], T]) -> T:
    """What `work` gives; or, whatever it trips over in a file, one sentence that begins with the file's name."""
    try:
        return work()
    except (ValueError, TypeError, OverflowError) as error:
        title = shown(name)
        text = " ".join(str(error).split()).removeprefix(f"{title}: ")
        text = "".join(letter if letter.isprintable() else "?" for letter in f"{title}: {text}")
        text = text if len(text) < LONGEST else text[: LONGEST - 2] + "…"
        raise ProblemFileError(text if text.endswith((".", "…")) else f"{text}.") from error
