"""`.dd` files of several graphs: a block for every pair, in and out.

    c a comment       before the first block only: other readers trip over comments within
    gm i j            the pair of graphs that the following block is about, 0-based
    p V L A E         … and an ordinary block (see `dd`): V nodes of graph i, L of graph j
    a id p q cost
    e id1 id2 cost

A pair without a block costs nothing. Sizes of the graphs follow from their blocks, and must agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from adgm import Problem
from adgm.views import JointProblem
from features.files.problem_files.dd import LONGEST_MARK, MARK, read_dd, write_dd
from features.files.problem_files.record import ProblemFile, ProblemFileError, refuse_size
from features.files.problem_files.xz import unpacked
from features.limits import LIMITS

BEGIN = re.compile(rb"^gm[ \t]+(\d{1,6})[ \t]+(\d{1,6})[ \t\r]*$", re.M)
ANY_BEGIN = re.compile(rb"^gm\b", re.M)


def is_several(data: bytes) -> bool:
    """Whether a file is one of several graphs."""
    return ANY_BEGIN.search(data[:100_000]) is not None


def read_several(data: bytes) -> JointProblem:
    """The joint problem of a `.dd` text of several graphs, also packed by xz."""
    refuse_size(len(data))
    data = unpacked(data)
    problems: dict[tuple[int, int], Problem] = {}
    sizes: dict[int, int] = {}
    costs = 0
    for (i, j), block, line in _blocks(data):
        if not 0 <= i < j < LIMITS.views:
            most = LIMITS.views
            raise ProblemFileError(f"line {line}: “gm {i} {j}”; two numbers below {most} in order are expected.")
        if (i, j) in problems:
            raise ProblemFileError(f"line {line}: the pair {i} {j} has a block already.")
        try:
            problem = read_dd(block).problem
        except ProblemFileError as error:
            raise ProblemFileError(f"the block of pair {i} {j} (from line {line}): {error}") from error
        costs += block.count(b"\ne")
        if costs > LIMITS.pair_costs:
            raise ProblemFileError(f"there are more than {LIMITS.pair_costs} costs; that is the most accepted.")
        for graph, size in zip((i, j), problem.shape, strict=True):
            if sizes.setdefault(graph, size) != size:
                raise ProblemFileError(
                    f"line {line}: graph {graph} has {size} nodes here, and {sizes[graph]} in an earlier block."
                )
        problems[i, j] = problem
    lacking = sorted(set(range(max(sizes, default=-1) + 1)) - set(sizes))
    if lacking or not problems:
        what = f"graph {lacking[0]} is in no block" if lacking else "there is no line “gm i j”"
        raise ProblemFileError(f"{what}.")
    try:
        return JointProblem(tuple(sizes[k] for k in sorted(sizes)), problems)
    except ValueError as error:
        raise ProblemFileError(f"{error}.") from error


def write_several(problem: JointProblem, name: str = "problem") -> bytes:
    """The pairs' problems as one `.dd` text."""
    parts: list[bytes] = []
    for (i, j), pair in problem.problems.items():
        mark, _, block = write_dd(ProblemFile(pair, name=name)).partition(b"\n")
        parts += [mark + b"\n"] * (not parts) + [f"gm {i} {j}\n".encode(), block]
        refuse_size(sum(map(len, parts)))
    return b"".join(parts)


def _blocks(data: bytes) -> Iterator[tuple[tuple[int, int], bytes, int]]:
    """(pair, text, line) of every block."""
    found = [*BEGIN.finditer(data)]
    most = LIMITS.views * (LIMITS.views - 1) // 2
    if len(found) > most:
        raise ProblemFileError(f"there are {len(found)} pairs of graphs; at most {most} are accepted.")
    begun = len(ANY_BEGIN.findall(data))
    if begun != len(found):
        raise ProblemFileError("a line that begins with “gm” has no two whole numbers after it.")
    if not found:
        return
    before = data[: found[0].start()].splitlines()
    if any(row.strip() and not row.lstrip().startswith(b"c") for row in before):
        raise ProblemFileError("there are lines before the first “gm i j” that are no comments.")
    mark = b"\n".join(row for row in before if row.startswith(MARK))[:LONGEST_MARK]
    for one, after in zip(found, [*found[1:], None], strict=True):
        end = len(data) if after is None else after.start()
        yield (int(one[1]), int(one[2])), mark + data[one.end() : end], data.count(b"\n", 0, one.start()) + 1
