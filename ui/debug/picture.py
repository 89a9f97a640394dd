"""The picture of the Debug page: the matches that matter strong, the others faint, the edges of a term over them."""

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from adgm.explain.terms import Match
from adgm.rounding import Assignment
from features.explain import Case
from features.judge.metrics import kinds, matched_pairs
from ui.match.live import MOST_EDGES
from ui.parts import canvas
from ui.parts.canvas import Kind, Line, Side

CANVAS = "debug pair"
FAINT = 0.0
HEIGHT = 460


def show(
    case: Case,
    here: Sequence[Match],
    there: Sequence[Match] = (),
    *,
    edges: tuple[Iterable[Match], Iterable[Match]] = ((), ()),
    texts: dict[Match, str] | None = None,
    values: dict[Match, float] | None = None,
    extra: Sequence[Match] = (),
) -> None:
    """The answer's matches `here` and what they would be `there` (dotted); all other matches of the answer are faint.

    `edges`: pairs of points to join, left and right. `values` and `texts` belong to the answer's matches; `extra` ones
    are drawn beside them, such as those of a matching on the way to the truth.
    """
    found = case.pairs
    named: list[Kind] = [*kinds(case.pair, found)] if case.pair.judged else ["score"] * len(found)
    lines = []
    for (i, j), kind in zip(found.tolist(), named, strict=True):
        told = (texts or {}).get((i, j), f"left {i} → right {j}")
        lines.append(Line(i, j, kind, (values or {}).get((i, j), 1.0 if (i, j) in here else FAINT), told))
    mine = {(i, j) for i, j in found.tolist()}
    lines += [Line(i, j, "rejected", 1.0, f"left {i} → right {j}, on the way") for i, j in extra if (i, j) not in mine]
    lines += [Line(i, j, "missed", 1.0, f"left {i} → right {j} instead") for i, j in there if (i, j) not in mine]
    views = zip((case.pair.left, case.pair.right), edges, ("Left", "Right"), strict=True)
    left, right = (Side(view.points.xy, view.image, joined(some), label) for view, some, label in views)
    canvas.show(CANVAS, left, right, lines, canvas.Display("confidence" if values else "weight", height=HEIGHT))


def waiting(case: Case, focus: Match | None) -> None:
    """The case itself, where a tool has nothing to show yet: all of its matches, or the one that is asked about."""
    show(case, [(i, j) for i, j in case.pairs.tolist()] if focus is None else [focus])


def joined(edges: Iterable[Match]) -> np.ndarray | None:
    found = [*edges][:MOST_EDGES]
    return np.array(found) if found else None


def sides(matches: Iterable[Match]) -> tuple[list[Match], list[Match]]:
    """The edges that a term ties together, left and right."""
    pairs = [*combinations(matches, 2)]
    left = [(a[0], b[0]) for a, b in pairs if a[0] != b[0]]
    right = [(a[1], b[1]) for a, b in pairs if a[1] != b[1]]
    return left, right


def differing(case: Case, other: Assignment) -> tuple[list[Match], list[Match]]:
    """The matches that only the answer has, and those that only another matching has."""
    mine, theirs = ({(i, j) for i, j in matched_pairs(case.problem, x).tolist()} for x in (case.answer, other))
    return sorted(mine - theirs), sorted(theirs - mine)
