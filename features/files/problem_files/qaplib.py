"""QAPLIB files: n, then two n × n matrices A and B; minimise Σ A[i, j] · B[p(i), p(j)] over permutations p."""

from __future__ import annotations

import re
from reprlib import repr as brief

import numpy as np

from adgm import EXACTLY_ONE, Dense, Formula, Problem
from adgm.costs.koopmans_beckmann import factors, product
from features.files.problem_files.record import Floats, Longs, ProblemFile, ProblemFileError, refuse_size

MAX_SIZE = 300  # facilities: QAPLIB's largest have 256
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def qap(flows: Floats, distances: Floats, name: str = "problem") -> ProblemFile:
    """The quadratic assignment problem of two matrices; pairs that share a node are its unary costs."""
    symmetric = bool((flows == flows.T).all() and (distances == distances.T).all())
    potentials: list[Dense | Formula] = [Formula(flows, distances, product, symmetric)]
    unary = np.outer(np.diag(flows), np.diag(distances))
    if unary.any():
        potentials.append(Dense(unary))
    return ProblemFile(Problem((len(flows), len(distances)), potentials, EXACTLY_ONE, EXACTLY_ONE), name=name)


def matrices(problem: Problem) -> tuple[Floats, Floats]:
    """A and B of a problem that `qap` made."""
    for a, b in filter(None, map(factors, problem.potentials)):
        if _described(problem) == _described(qap(a, b).problem):
            return a, b
    raise ProblemFileError(
        "QAPLIB files hold problems Σ A[i, j] · B[p(i), p(j)] over permutations, and this one was not made as such; "
        "NPZ and .dd take it."
    )


def _described(problem: Problem) -> tuple[object, ...]:
    """All of a problem but its formula, comparable."""
    unary = [p.costs.tobytes() if isinstance(p, Dense) else type(p) for p in problem.potentials]
    return unary, problem.rows, problem.cols, problem.candidates is None


def read_qaplib(data: bytes) -> ProblemFile:
    """The problem of a `.dat` file: numbers parted by blanks and line breaks, wherever these are."""
    refuse_size(len(data), 50 * 2 * MAX_SIZE**2)
    n = read_size(data)
    expected = 1 + 2 * n * n
    numbers = words(data, expected)
    if len(numbers) != expected:
        raise ProblemFileError(
            f"there are {len(numbers)} numbers; n = {n} and two matrices of {n} × {n} make {expected}."
        )
    a, b = numbers[1:].reshape(2, n, n)
    with np.errstate(over="ignore"):
        if not np.isfinite(np.abs(a).max() * np.abs(b).max() * n * n):
            raise ProblemFileError("the numbers are so large that their products overflow.")
    return qap(a, b)


def write_qaplib(file: ProblemFile) -> bytes:
    """The two matrices of a problem that came from such a file."""
    a, b = matrices(file.problem)
    rows = [" ".join(_number(value) for value in row) for row in (*a.tolist(), [], *b.tolist())]
    return "\n".join([str(len(a)), "", *rows, ""]).encode()


def read_solution(data: bytes, file: ProblemFile) -> tuple[Longs, float]:
    """(partner of every left node, value) of a `.sln` file: n, value, then a permutation from 1.

    Some of QAPLIB's files hold the inverse permutation: the one that has the stated value is taken.
    """
    refuse_size(len(data), 100 * MAX_SIZE)
    n = file.problem.shape[0]
    numbers = words(data, n + 2)
    if len(numbers) != n + 2 or numbers[0] != n:
        raise ProblemFileError(f"a solution has {n + 2} numbers, n = {n}, the value and a permutation; not so here.")
    if not np.array_equal(np.sort(numbers[2:]), np.arange(1, n + 1)):
        raise ProblemFileError(f"the last {n} numbers are not a permutation of 1 to {n}.")
    partner = numbers[2:].astype(np.int64) - 1
    value = float(numbers[1])
    choices = [partner, np.argsort(partner)] if file.problem.shape == (n, n) else [partner]
    energies = [file.problem.energy(np.eye(n)[choice]) for choice in choices]
    errors = [abs(energy - value) for energy in energies]
    best = int(np.argmin(errors))
    if not errors[best] <= 1e-6 * max(1.0, abs(value)):
        raise ProblemFileError(
            f"the solution states {value:.12g}, but its permutation costs {energies[best]:.12g} here."
        )
    return choices[best], value


def write_solution(partner: Longs, value: float) -> bytes:
    """n and the value, then where everybody goes, from 1."""
    if (np.sort(partner) != np.arange(len(partner))).any():
        raise ProblemFileError("a .sln file holds a permutation, and this matching leaves nodes without partner.")
    return f"{len(partner)} {_number(value)}\n{' '.join(str(i + 1) for i in partner.tolist())}\n".encode()


def read_size(data: bytes) -> int:
    """n, the first number of the file, before any memory is taken."""
    size = words(data[:4000], 1)
    if not len(size) or not (size[0] == int(size[0]) and 1 <= size[0] <= MAX_SIZE):
        shown = f"{size[0]:g}" if len(size) else "missing"
        raise ProblemFileError(
            f"the first number, the size n, is {shown}; a whole number from 1 to {MAX_SIZE} is expected."
        )
    return int(size[0])


def words(data: bytes, most: int) -> Floats:
    """The numbers of a text in a row, or a complaint about the line of the first word that is none.

    One more than `most` is read at the most; commas count as blanks.
    """
    values: list[float] = []
    for number, line in enumerate(data.replace(b",", b" ").splitlines(), 1):
        for word in line.split():
            value = float(word) if NUMBER.fullmatch(word) else np.inf
            if not np.isfinite(value):
                shown = brief(word.decode("ascii", "replace"))
                raise ProblemFileError(f"line {number}: {shown} is not a finite number.")
            values.append(value)
            if len(values) > most:
                return np.array(values)
    return np.array(values)


def _number(value: float) -> str:
    """Whole numbers without a point, as QAPLIB writes them; others in full."""
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)
