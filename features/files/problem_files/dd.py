"""`.dd` files, the format of the graph matching benchmark gmbench (Haller et al., ECCV 2022), in and out.

    c a comment                      p V L A E        numbers of left and right nodes, of a and of e lines
    a id i s cost                    left i may be matched to right s; ids 0, 1, 2 … in order
    e id1 id2 cost                   what two of those cost together, each two once
    i0 i x y     i1 s x y            positions of left and right nodes (optional)
    n0 i j       n1 s l              neighbours in the left and the right graph (optional)

Costs are minimised, a pair without an `a` line is forbidden, and a node that stays unmatched costs nothing: both sides
take at most one partner. What the format has no line for (other constraints, a name, the sense) we write into a
comment `c adgm {…}`, which we read and others skip.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from reprlib import repr as brief
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adgm import AT_MOST_ONE, Dense, Problem, Sparse
from adgm.potentials import Potential
from adgm.problem import CONSTRAINTS
from features.files.problem_files.costs import cost_table, normal_form
from features.files.problem_files.record import Floats, Longs, ProblemFile, ProblemFileError, check_shape, refuse_size
from features.limits import LIMITS

FORM = {
    "p": "p V L A E",
    "a": "a id i s cost",
    "e": "e id1 id2 cost",
    "i0": "i0 i x y",
    "i1": "i1 s x y",
    "n0": "n0 i j",
    "n1": "n1 s l",
}
WORDS = {word: len(form.split()) for word, form in FORM.items()}
SPACE, NEWLINE = 32, 10
WIDTH = 8  # bytes of a number
MOST = dict.fromkeys(WORDS, LIMITS.nodes) | {"a": LIMITS.node_pairs, "e": LIMITS.pair_costs}  # lines of a kind
MOST |= dict.fromkeys(("n0", "n1"), LIMITS.pair_costs)
BLOCK = 1 << 21  # bytes of whole lines that are looked at together
NUMERIC = np.isin(np.arange(256), list(b"0123456789+-.eE \t\r\n"))
MARK = b"c adgm {"
LONGEST_MARK = 2000


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of one kind: where each stands, and its numbers, one row per line."""

    word: str
    number: Longs  # of the line in the file, from 1
    values: Floats

    def refuse(self, wrong: NDArray[np.bool_], what: str) -> None:
        """Complain about the first line where something is wrong; {0}, {1} … in `what` are its numbers."""
        if wrong.any():
            row = int(np.argmax(wrong))
            shown = [f"{value:.12g}" for value in self.values[row]]
            raise ProblemFileError(f"line {self.number[row]}: {what.format(*shown)}.")

    def whole(self, columns: Sequence[int], below: Sequence[int], what: Sequence[str]) -> Longs:
        """These columns as whole numbers from 0, each below its limit."""
        for column, limit, name in zip(columns, below, what, strict=True):
            value = self.values[:, column]
            fine = (value >= 0) & (value < limit) & (value == np.floor(value))
            most = f"a whole number from 0 to {limit - 1} is expected" if limit else "there is none to name"
            self.refuse(~fine, f"the {name} is {{{column}}}; {most}")
        return self.values[:, list(columns)].astype(np.int64)


def read_dd(data: bytes) -> ProblemFile:
    """The problem of a `.dd` text, without its companions."""
    refuse_size(len(data))
    lines, about = _parsed(data)
    if len(lines["p"].number) != 1:
        raise ProblemFileError(f"there are {len(lines['p'].number)} lines “p V L A E”; one is expected.")
    _check_counts(lines)
    sizes = lines["p"].values[0]
    shape = check_shape(sizes[:2])
    candidates, unary, variables = _assignments(lines["a"], shape)
    pairs = _pairs(lines["e"], variables, shape)
    rows, cols = (about.get(side, AT_MOST_ONE) for side in ("rows", "cols"))
    for rule in (rows, cols):
        if rule not in CONSTRAINTS:
            raise ProblemFileError(f"the constraint is {brief(rule)}; one of {', '.join(CONSTRAINTS)} is expected.")
    everything = None if candidates.all() else candidates
    potentials: list[Potential] = [Dense(unary), Sparse(pairs, lines["e"].values[:, 2] / 2, symmetric=True)]
    problem = normal_form(Problem(shape, potentials, rows, cols, everything))
    name, sense = about.get("name", "problem"), about.get("sense", "cost")
    if not isinstance(name, str) or not isinstance(sense, str):
        raise ProblemFileError(f"the name or sense is {brief([name, sense])}; text is expected.")
    return ProblemFile(
        problem,
        left_points=_points(lines["i0"], shape[0]),
        right_points=_points(lines["i1"], shape[1]),
        left_edges=_neighbours(lines["n0"], shape[0]),
        right_edges=_neighbours(lines["n1"], shape[1]),
        name=name,
        sense=sense,  # type: ignore[arg-type]  # checked at birth
    )


def write_dd(file: ProblemFile) -> bytes:
    """The problem as `.dd` text; read back, it is the same, and so is the energy of every matching."""
    problem = file.problem
    table = cost_table(problem)
    if len(table.pairs) > LIMITS.pair_costs:
        raise ProblemFileError(
            f"there are {len(table.pairs)} costs of two matches; at most {LIMITS.pair_costs} are accepted."
        )
    about: dict[str, Any] = {"name": file.name, "sense": file.sense, "rows": problem.rows, "cols": problem.cols}
    layout = problem.layout
    name = layout.numbers(table.pairs)
    parts = [f"c adgm {json.dumps(about)}\np {problem.shape[0]} {problem.shape[1]} {layout.n} {len(table.pairs)}\n"]
    costs = table.unary.reshape(-1)[layout.variables].tolist()
    nodes = zip(layout.row.tolist(), layout.col.tolist(), costs, strict=True)
    parts += [f"a {k} {i} {s} {cost!r}\n" for k, (i, s, cost) in enumerate(nodes)]
    parts += [f"e {a} {b} {cost!r}\n" for (a, b), cost in zip(name.tolist(), table.costs.tolist(), strict=True)]
    for side, points in enumerate((file.left_points, file.right_points)):
        places = [] if points is None else points.tolist()
        parts += [f"i{side} {i} {x!r} {y!r}\n" for i, (x, y) in enumerate(places)]
    for side, edges in enumerate((file.left_edges, file.right_edges)):
        parts += [f"n{side} {i} {j}\n" for i, j in ([] if edges is None else edges.tolist())]
    data = "".join(parts).encode()
    refuse_size(len(data))
    return data


def other_constraints(problem: Problem) -> str:
    """What other readers of a `.dd` file will not know, in a sentence; empty if there is nothing."""
    if problem.rows == problem.cols == AT_MOST_ONE:
        return ""
    return (
        f"This problem has rows={problem.rows} and cols={problem.cols}; .dd files know at most one on both sides. "
        "We read the difference from a comment, other programs will not."
    )


# ---- lines -------------------------------------------------------------------------------------------------------


def _parsed(data: bytes) -> tuple[dict[str, Lines], dict[str, Any]]:
    """All lines by their keyword, in arrays; and what our own comment says."""
    kept: dict[str, tuple[bytearray, bytearray]] = {word: (bytearray(), bytearray()) for word in WORDS}  # grow in place
    about: dict[str, Any] = {}
    begin = before = 0
    while begin < len(data):
        end = data.find(b"\n", begin + BLOCK, begin + BLOCK + LIMITS.line_letters + 1) + 1
        end = end or min(len(data), begin + BLOCK + LIMITS.line_letters + 1)
        lines, ours = _block(data[begin:end], before)
        about = about or ours
        for word, some in lines.items():
            for grown, more in zip(kept[word], (some.number, some.values), strict=True):
                grown += np.ascontiguousarray(more).tobytes()
            if (most := MOST[word]) < len(kept[word][0]) // WIDTH:
                raise ProblemFileError(f"there are more than {most} lines “{FORM[word]}”; that is the most accepted.")
        before += data.count(b"\n", begin, end)
        begin, silent = end, before - sum(len(numbers) for numbers, _ in kept.values()) // WIDTH
        if silent > LIMITS.nodes:
            raise ProblemFileError(
                f"{silent} lines are empty or comments up to line {before}; at most {LIMITS.nodes} are accepted."
            )
    joined = {
        word: Lines(word, np.frombuffer(numbers, np.int64), np.frombuffer(values).reshape(-1, WORDS[word] - 1))
        for word, (numbers, values) in kept.items()
    }
    _check_order(joined)
    return joined, about


def _block(data: bytes, before: int) -> tuple[dict[str, Lines], dict[str, Any]]:
    """The same for a piece of the file, with so many lines before it: on the way it takes thirty times its size."""
    text = np.frombuffer(data + b"\n", np.uint8)
    ends = np.flatnonzero(text == NEWLINE)
    starts = np.concatenate([[0], ends[:-1] + 1])
    for line in np.flatnonzero(ends - starts > LIMITS.line_letters)[:1]:
        raise ProblemFileError(
            f"line {before + line + 1} has more than {LIMITS.line_letters} letters; that is the most accepted."
        )
    visible = text > SPACE
    word_at = np.flatnonzero(visible & ~np.concatenate([[False], visible[:-1]]))
    line_of = np.searchsorted(ends, word_at)
    words = np.bincount(line_of, minlength=len(ends))
    first = word_at[np.concatenate([[True], line_of[1:] != line_of[:-1]])] if len(word_at) else word_at
    filled = np.flatnonzero(words)
    number = before + filled + 1
    kind = _kinds(text, first, number)
    about: dict[str, Any] = {}
    ours = kind == 0
    for k, letter in enumerate(MARK):
        ours &= text[np.minimum(first + k, len(text) - 1)] == letter
    for at, line in zip(first[ours][:1], filled[ours][:1], strict=True):
        about = _mark(data[at + len(MARK) : ends[line]], before + line + 1)
    found = {}
    for code, (word, expected) in enumerate(WORDS.items(), 1):
        mine = filled[kind == code]
        for row in np.flatnonzero(words[mine] != expected)[:1]:
            raise ProblemFileError(
                f"line {before + mine[row] + 1}: {words[mine[row]]} words, but a line “{word}” has {expected}: "
                f"{FORM[word]}."
            )
        values = _numbers(text, starts[mine], ends[mine] + 1, first[kind == code], word, number[kind == code])
        found[word] = Lines(word, number[kind == code], values.reshape(len(mine), expected - 1))
    return found, about


def _kinds(text: NDArray[np.uint8], first: Longs, lines: Longs) -> NDArray[np.int8]:
    """For every line with content 0 for a comment, 1 + the place of its keyword in WORDS for another one."""
    kind = np.full(len(first), -1, np.int8)
    letter = text[first]
    ends = [text[np.minimum(first + k, len(text) - 1)] <= SPACE for k in (1, 2)]
    kind[letter == ord("c")] = 0
    for code, word in enumerate(WORDS, 1):
        mine = (letter == ord(word[0])) & ends[len(word) - 1]
        if len(word) == 2:
            mine &= text[np.minimum(first + 1, len(text) - 1)] == ord(word[1])
        kind[mine] = code
    for row in np.flatnonzero(kind < 0)[:1]:
        shown = text[first[row] : first[row] + 20].tobytes().split()[0].decode("ascii", "replace")
        raise ProblemFileError(
            f"line {lines[row]}: begins with {brief(shown)}; a line of a .dd file begins with c, {', '.join(WORDS)}."
        )
    return kind


def _numbers(text: NDArray[np.uint8], starts: Longs, ends: Longs, keywords: Longs, word: str, numbers: Longs) -> Floats:
    """All numbers of these lines in a row, or a complaint about the first word that is none."""
    if not len(starts):
        return np.empty(0)
    low, high = int(starts[0]), int(ends[-1])  # lines of a kind mostly stand together: look no farther
    own = text[low:high].copy()
    for k in range(len(word)):
        own[keywords - low + k] = SPACE
    change = np.zeros(len(own) + 1, np.int8)
    change[starts - low] += 1
    change[ends - low] -= 1
    content = own[np.cumsum(change[:-1], dtype=np.int8).view(bool)]
    expected = (WORDS[word] - 1) * len(starts)
    if NUMERIC[content].all():
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # that is how NumPy says it met something else
            try:
                values = np.fromstring(content.tobytes(), np.float64, sep=" ")
            except (DeprecationWarning, ValueError):
                values = np.empty(0)
        if len(values) == expected and np.isfinite(values).all():
            return values
    for at, end, number in zip(starts.tolist(), ends.tolist(), numbers.tolist(), strict=True):
        for item in own[at - low : end - low].tobytes().split():
            if not _is_number(item):
                shown = brief(item.decode("ascii", "replace"))
                raise ProblemFileError(f"line {number}: {shown} is not a finite number, as {FORM[word]} needs.")
    raise ProblemFileError(f"the numbers of the lines “{FORM[word]}” cannot be read.")


def _is_number(item: bytes) -> bool:
    try:
        return bool(np.isfinite(float(item))) and b"_" not in item
    except ValueError:
        return False


def _mark(rest: bytes, line: int) -> dict[str, Any]:
    """What our own comment says after its first brace."""
    try:
        content = json.loads(b"{" + rest) if len(rest) < LONGEST_MARK else None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise ProblemFileError(f"line {line}: the comment “c adgm” is not the short JSON object that we write.")
    return content


# ---- meaning -----------------------------------------------------------------------------------------------------


def _check_order(lines: dict[str, Lines]) -> None:
    """The sizes come before what they count."""
    if not len(lines["p"].number):
        raise ProblemFileError("there is no line “p V L A E” with the sizes.")
    for word in ("a", "e", "i0", "i1", "n0", "n1"):
        early = lines[word].number < lines["p"].number[0]
        lines[word].refuse(early, f"comes before the line “p V L A E” (line {lines['p'].number[0]})")


def _check_counts(lines: dict[str, Lines]) -> None:
    for column, word in ((2, "a"), (3, "e")):
        announced, there = lines["p"].values[0, column], len(lines[word].number)
        if announced != there:
            raise ProblemFileError(
                f"line {lines['p'].number[0]} announces {announced:g} lines “{FORM[word]}”, but there are {there}."
            )


def _assignments(lines: Lines, shape: tuple[int, int]) -> tuple[NDArray[np.bool_], Floats, Longs]:
    """Which pairs of nodes are candidates, their costs, and the grid numbers of the assignments."""
    count = len(lines.number)
    lines.refuse(lines.values[:, 0] != np.arange(count), "the id is {0}; ids are 0, 1, 2 … in order")
    i, s = lines.whole((1, 2), shape, ("left node", "right node")).T
    variables = i * shape[1] + s
    lines.refuse(_repeated(variables), "left {1} and right {2} have an earlier line already")
    candidates, unary = np.zeros(shape, bool), np.zeros(shape)
    candidates[i, s], unary[i, s] = True, lines.values[:, 3]
    return candidates, unary, variables


def _pairs(lines: Lines, variables: Longs, shape: tuple[int, int]) -> Longs:
    """The grid numbers of the two assignments of every `e` line."""
    ids = lines.whole((0, 1), (len(variables),) * 2, ("first id", "second id"))
    both = variables[ids] if len(ids) else np.empty((0, 2), np.int64)
    for nodes, side in zip(np.divmod(both, shape[1]), ("left", "right"), strict=True):
        lines.refuse(nodes[:, 0] == nodes[:, 1], f"assignments {{0}} and {{1}} share their {side} node")
    key = both.min(axis=1, initial=0) if not len(both) else both.min(axis=1) * (shape[0] * shape[1]) + both.max(axis=1)
    lines.refuse(_repeated(key), "assignments {0} and {1} have an earlier line already")
    return both


def _points(lines: Lines, size: int) -> Floats | None:
    """Positions, if every node has one: half a picture is none."""
    nodes = lines.whole((0,), (size,), ("node",))[:, 0]
    lines.refuse(_repeated(nodes), "node {0} has an earlier position already")
    if len(nodes) < size:
        return None
    places = np.empty((size, 2))
    places[nodes] = lines.values[:, 1:]
    return places


def _neighbours(lines: Lines, size: int) -> Longs | None:
    return lines.whole((0, 1), (size, size), ("first node", "second node")) if len(lines.number) else None


def _repeated(values: Longs) -> NDArray[np.bool_]:
    """Where a value stands that stood before."""
    again = np.ones(len(values), bool)
    again[np.unique(values, return_index=True)[1]] = False
    return again
