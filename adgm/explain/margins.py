"""How sure is each match: how much dearer is the best matching without it, and how much of that is proved.

The problem is solved again with the match forbidden. Nothing is built for that: the search begins with the answer, in
the problem's own tables, and whatever it meets serves all matches that are not in it. The proof is one dual ascent
(see `adgm.bounds.branch_and_bound`) for all matches: the costs that it leaves at the labels say what the cheapest
matching without a match costs at least. What that leaves open is searched, each match from where the ascent ended.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from adgm import _kernels as kernels
from adgm.bounds.all_pairs import ROUNDING, Node, Root, bytes_needed, refusal, scratch
from adgm.bounds.bound import checked
from adgm.bounds.branch_and_bound import stalled, tolerance
from adgm.explain.terms import Match
from adgm.machine.deadline import check_time
from adgm.problem import EXACTLY_ONE, Problem
from adgm.rounding import Assignment, hungarian
from adgm.search.local_search import improve_without

EFFORT = 1e7  # pair costs that the proof may visit; some ten million a second
FEWEST_SWEEPS = 2  # what a proof takes at least; without that much effort none is tried
SWEEPS = 12  # most rounds of the ascent that serves all matches
TAKE = 0.7  # see `adgm.bounds.branch_and_bound.DD.take`


@dataclass(frozen=True, eq=False)
class Margin:
    """What it takes to do without a match.

    `margin`: the energy of the best matching found without it minus that of the answer; infinite if the constraints
    leave none, negative if there is a better one. `at_least`: proved, no matching without it has a lower one (−∞:
    nothing is proved). `rival`: that best matching.
    """

    match: Match
    margin: float
    at_least: float = -np.inf
    rival: Assignment | None = None
    slack: float = 0.0  # what counts as equal

    @property
    def certified(self) -> bool:
        """Whether the margin itself is proved: no matching without the match is cheaper than the one found."""
        return self.at_least >= self.margin - self.slack

    @property
    def sure(self) -> bool:
        """Whether it is proved that every best matching contains the match."""
        return self.at_least > self.slack

    def __str__(self) -> str:
        proved = (
            "certified" if self.certified else f"at least {self.at_least:.6g}" if np.isfinite(self.at_least) else ""
        )
        return f"{self.match[0]} → {self.match[1]}  {self.margin:+.6g}  {proved}".rstrip()


def margins(
    problem: Problem,
    answer: ArrayLike,
    matches: Iterable[Match] | None = None,
    *,
    rivals: Iterable[ArrayLike] = (),
    effort: float = EFFORT,
    steps: int = 1,
) -> tuple[Margin, ...]:
    """The margins of some matches of a matching, of all if none are named; see `refined`."""
    *_, last = refined(problem, answer, matches, rivals=rivals, effort=effort, steps=steps)
    return last


def refined(
    problem: Problem,
    answer: ArrayLike,
    matches: Iterable[Match] | None = None,
    *,
    rivals: Iterable[ArrayLike] = (),
    effort: float = EFFORT,
    steps: int = 1,
) -> Iterator[tuple[Margin, ...]]:
    """The margins as they become better known: after each match's search, after the ascent, after each proof.

    `rivals`: matchings that are known already, such as the truth. `effort`: pair costs that the proof may visit; too
    little for two sweeps over all of them, such as 0, proves nothing. `steps`: of the tabu search per node, for each
    match. Problems of order 3 and more, and those that match one to many, are searched and not proved.
    """
    chosen = checked(problem, answer)
    here = problem.energy(chosen)
    book = Book(problem, chosen, here, variables(problem, chosen, matches))
    for rival in rivals:
        book.meet(checked(problem, rival))
    yield book.margins()
    for v in book.asked:
        check_time()
        book.look(v, steps)
        yield book.margins()
    affordable = effort >= FEWEST_SWEEPS * problem.n**2 and bytes_needed(problem) <= problem.memory
    if affordable and not refusal(problem):
        yield from book.proved(effort)


def variables(problem: Problem, chosen: Assignment, matches: Iterable[Match] | None) -> list[int]:
    """The variables of these matches, all of which the matching must have."""
    if matches is None:
        return np.flatnonzero(chosen).tolist()
    grid, found = problem.layout.grid(), []
    for i, j in matches:
        v = int(grid[i, j]) if 0 <= i < problem.shape[0] and 0 <= j < problem.shape[1] else -1
        if v < 0 or not chosen[v]:
            raise ValueError(f"{i} → {j} is not a match of this matching, so there is nothing to do without")
        found.append(v)
    return found


class Book:
    """What is known about the matches that are asked about."""

    def __init__(self, problem: Problem, answer: Assignment, energy: float, asked: Sequence[int]) -> None:
        self.problem, self.answer, self.energy, self.asked = problem, answer, energy, asked
        self.possible = dict.fromkeys(asked, True)
        self.best: dict[int, tuple[float, Assignment | None]] = dict.fromkeys(asked, (np.inf, None))
        self.lower: dict[int, float] = dict.fromkeys(asked, -np.inf)
        self.slack = tolerance(energy, problem.spread)

    def look(self, v: int, steps: int) -> None:
        """Search for a good matching without v, near the answer or, where nothing near will do, near any."""
        found = improve_without(self.problem, self.answer, v, steps)
        if found[v]:
            start = some_without(self.problem, v)
            self.possible[v] = start is not None
            found = found if start is None else improve_without(self.problem, start, v, steps)
        self.meet(found)

    def meet(self, found: Assignment) -> None:
        """A matching serves every match that it does without."""
        energy = self.problem.energy(found)
        for v in self.asked:
            if not found[v] and energy < self.best[v][0]:
                self.best[v] = energy, found

    def margins(self) -> tuple[Margin, ...]:
        row, col = self.problem.layout.row, self.problem.layout.col
        return tuple(
            Margin(
                (int(row[v]), int(col[v])),
                self.best[v][0] - self.energy,
                min(self.lower[v], self.best[v][0]) - self.energy if self.possible[v] else np.inf,
                self.best[v][1],
                self.slack,
            )
            for v in self.asked
        )

    def target(self, v: int) -> float:
        """What a matching without v must cost less than to be of interest."""
        return self.best[v][0] - self.slack / 2

    def open(self, v: int) -> float:
        """How far the proof is from what was found."""
        return self.best[v][0] - self.lower[v] if self.possible[v] else 0.0

    def proved(self, effort: float) -> Iterator[tuple[Margin, ...]]:
        """One ascent for all, then a search for each that it leaves open, the nearest first."""
        root = Root(self.problem)
        label = {int(v): p for p, v in enumerate(root.variable) if v >= 0}
        node, visited = root.node(), 0.0
        for sweep in range(SWEEPS):
            check_time()
            node, suggested = node.swept(np.inf, TAKE, (0, sweep), probing=False)
            visited += float(len(node.names)) ** 2
            if suggested is not None:
                self.meet(root.matching(suggested))
            for v in self.asked:
                self.lower[v] = max(self.lower[v], without(node, label[v]) + root.offset)
            yield self.margins()
            if visited >= effort / 2 or all(self.open(v) <= self.slack for v in self.asked):
                break
        for v in sorted(self.asked, key=self.open):
            if self.open(v) > self.slack and visited < effort:
                visited += self.search(root, barred(node, label[v]), v, effort - visited)
                yield self.margins()

    def search(self, root: Root, start: Node, v: int, effort: float) -> float:
        """Branch and bound for the best matching without v, from where the ascent ended; what it took of the effort."""
        waiting, visited = [start], 0.0
        while waiting and visited < effort:
            check_time()
            limit = self.target(v) - root.offset
            at = int(np.argmin([node.lower for node in waiting]))
            node, ends = waiting.pop(at).opened(limit), None
            while node.lower < limit:
                node, suggested = node.swept(limit, TAKE, (1, len(node.gains)), probing=len(node.gains) % 4 == 3)
                visited += float(len(node.names)) ** 2
                if suggested is not None:
                    self.meet(improve_without(self.problem, root.matching(suggested), v))
                ends = None if suggested is None else node.ends()
                for end in ends or ():
                    self.meet(root.matching(end))
                limit = self.target(v) - root.offset
                if ends is not None or visited >= effort or stalled(node, limit):
                    break
            if node.lower < limit and ends is None:
                waiting += node.branches(limit) if visited < effort else [node]
        least = min([node.lower for node in waiting], default=np.inf)
        reached = self.target(v) if least >= self.target(v) - root.offset else least + root.offset
        self.lower[v] = max(self.lower[v], reached)
        return visited


def some_without(problem: Problem, v: int) -> Assignment | None:
    """Some matching without this variable; None if the constraints leave none."""
    mask = np.ones(problem.shape, bool) if problem.candidates is None else problem.candidates.copy()
    mask[problem.layout.row[v], problem.layout.col[v]] = False
    found = np.zeros(problem.n, bool)
    if not mask.any():
        return None if EXACTLY_ONE in (problem.rows, problem.cols) else found
    try:
        other = replace(problem, candidates=mask)
    except ValueError:
        return None
    found[np.arange(problem.n) != v] = hungarian(other, np.ones(other.n))
    return found


def without(node: Node, p: int) -> float:
    """What a matching without a label costs at least: the cheapest assignment of what the ascent leaves at the others,
    none of which is negative."""
    cost = node.costs.single.copy()
    cost[node.names == p] = np.inf
    total = float(kernels.assign(node.labels, cost, -1, scratch(node.labels)))
    return node.base + total - node.error - ROUNDING * (node.rows + 1) ** 2 * node.largest


def barred(node: Node, p: int) -> Node:
    """The subproblem without a label."""
    return replace(node.only(node.names != p), gains=())
