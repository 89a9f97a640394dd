"""What lies beside a problem: its optimum (`.opt`), the truth (`.gt`) or a solution (`.sln`), told by their content."""

from __future__ import annotations

import json
from dataclasses import replace
from reprlib import repr as brief
from typing import Any

import numpy as np

from features.files.problem_files.qaplib import read_solution, words
from features.files.problem_files.record import Longs, ProblemFile, ProblemFileError, refuse_size
from features.limits import LIMITS

SUFFIXES = (".opt", ".gt", ".sln")


def with_companion(file: ProblemFile, data: bytes) -> ProblemFile:
    """The problem with what a companion says: one number is the optimum, a JSON list the truth, more a solution."""
    refuse_size(len(data), 100 * LIMITS.nodes)
    if data.lstrip()[:1] == b"[":
        return replace(file, truth=read_truth(data, file.problem.shape))
    numbers = words(data, 1)
    if len(numbers) == 1:
        return replace(file, optimum=float(numbers[0]))
    if not len(numbers):
        raise ProblemFileError("the file is empty; an optimum, a truth or a solution is expected.")
    partner, value = read_solution(data, file)
    return replace(file, truth=partner, optimum=value)


def read_truth(data: bytes, shape: tuple[int, int]) -> Longs:
    """truth[left] = right from a `.gt` list such as [[3], null, [1, 4]].

    Where several right nodes are true, the first counts that no left node before has taken.
    """
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        where = f"line {error.lineno}: " if isinstance(error, json.JSONDecodeError) else ""
        raise ProblemFileError(f"{where}the truth is not valid JSON, such as [[3], null, [1, 4]].") from None
    if not isinstance(content, list) or len(content) != shape[0]:
        has = len(content) if isinstance(content, list) else "no"
        raise ProblemFileError(f"the truth has {has} entries; {shape[0]} left nodes need one each.")
    truth, taken = np.full(shape[0], -1, np.int64), set()
    for i, entry in enumerate(content):
        partners = _partners(entry, i, shape[1])
        truth[i] = next((s for s in partners if s not in taken), -1)
        if partners and truth[i] < 0:
            raise ProblemFileError(f"entry {i + 1} of the truth: all of {brief(partners)} have a partner already.")
        taken |= {int(truth[i])} - {-1}
    return truth


def write_truth(truth: Longs) -> bytes:
    return (json.dumps([None if s < 0 else [s] for s in truth.tolist()]) + "\n").encode()


def write_optimum(optimum: float) -> bytes:
    return f"{optimum!r}\n".encode()


def companions(file: ProblemFile) -> dict[str, bytes]:
    """What is known about a problem and has no place in a `.dd` file, by its ending."""
    found = {}
    if file.optimum is not None:
        found[".opt"] = write_optimum(file.optimum)
    if file.truth is not None:
        found[".gt"] = write_truth(file.truth)
    return found


def _partners(entry: Any, i: int, n2: int) -> list[int]:
    partners = [] if entry is None else entry if isinstance(entry, list) else [entry]
    for s in partners:
        if not isinstance(s, int) or isinstance(s, bool) or not 0 <= s < n2:
            raise ProblemFileError(
                f"entry {i + 1} of the truth names {brief(s)}; right nodes are whole numbers from 0 to {n2 - 1}."
            )
    return partners
