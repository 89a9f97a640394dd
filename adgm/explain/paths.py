"""The way from one matching to another: exchanges (cycles and chains of moves), the cheapest first, and its energy.

Where two matchings differ, their pairs form cycles and chains: a left node that gets another partner displaces whoever
had that one, who displaces the next. Each of them can be exchanged on its own, and what is left still is a matching.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy  # whose parts are imported when they are first used
from numpy.typing import ArrayLike

from adgm.bounds.branch_and_bound import tolerance
from adgm.explain.terms import Match
from adgm.machine.deadline import check_time
from adgm.machine.short_repr import ShortRepr
from adgm.problem import ANY, EXACTLY_ONE, Problem
from adgm.rounding import Assignment

SAME = 1e-12  # energies that differ by less than this share of their size are equal but for rounding


def exchanges(problem: Problem, answer: ArrayLike, other: ArrayLike) -> list[Assignment]:
    """The pairs in which two matchings differ, in groups (over the variables) that can be exchanged one by one."""
    differ = (problem.vector(answer) > 0.5) != (problem.vector(other) > 0.5)
    pairs = np.flatnonzero(differ)
    if not len(pairs):
        return []
    ties = []
    for place, rule in ((problem.layout.row[pairs], problem.rows), (problem.layout.col[pairs], problem.cols)):
        if rule != ANY:  # a node that takes one partner ties all its pairs together
            order = np.argsort(place, kind="stable")
            same = place[order[1:]] == place[order[:-1]]
            ties.append(np.stack([order[:-1][same], order[1:][same]]))
    ends = np.concatenate(ties, axis=1) if ties else np.empty((2, 0), np.int64)
    graph = scipy.sparse.coo_array((np.ones(ends.shape[1]), tuple(ends)), shape=(len(pairs), len(pairs)))
    count, group = scipy.sparse.csgraph.connected_components(graph, directed=False)
    found = []
    for k in range(count):
        members = np.zeros(problem.n, bool)
        members[pairs[group == k]] = True
        found.append(members)
    return found


def exchange_of(problem: Problem, answer: ArrayLike, other: ArrayLike, match: Match) -> Assignment:
    """The matching after the one exchange that this match of either has a part in; the answer itself if it has none."""
    before: Assignment = problem.vector(answer) > 0.5
    at = np.flatnonzero((problem.layout.row == match[0]) & (problem.layout.col == match[1]))
    for members in exchanges(problem, answer, other):
        if members[at].any():
            return before ^ members
    return before


# ---- the way ---------------------------------------------------------------------------------------------------------

MOST_MOVES = 60  # left nodes that differ, up to which single moves are tried beside whole exchanges
MOST_ORDERED = 12  # exchanges all orders of which are tried, for the lowest barrier

Way = Literal["cheapest first", "lowest barrier"]
WAYS: tuple[Way, ...] = get_args(Way)


@dataclass(frozen=True, eq=False)
class Step(ShortRepr):
    """One exchange: the matches that go, those that come, and the matching that this makes."""

    gone: tuple[Match, ...]
    came: tuple[Match, ...]
    cost: float  # what it adds to the energy
    energy: float  # afterwards
    assignment: Assignment

    def __str__(self) -> str:
        return f"{named_matches(self.gone)} ⇒ {named_matches(self.came)}"


@dataclass(frozen=True, eq=False)
class Path(ShortRepr):
    """Exchanges that lead from one matching to another."""

    begin: float  # the energy of the first
    steps: tuple[Step, ...]
    same: float  # costs up to this are none

    @property
    def energies(self) -> tuple[float, ...]:
        return (self.begin, *(step.energy for step in self.steps))

    @property
    def first_dear(self) -> int | None:
        """The first exchange that costs something, by its number from 0."""
        return next((k for k, step in enumerate(self.steps) if step.cost > self.same), None)

    @property
    def better(self) -> bool | None:
        """Whether the matching at the end costs less than that at the beginning; None if they cost the same."""
        change = self.energies[-1] - self.begin
        return None if abs(change) <= self.same else change < 0.0

    @property
    def top(self) -> int:
        """Where the energy is highest: so many exchanges on the way, 0 if it never exceeds that of the beginning."""
        highest = int(np.argmax(self.energies))
        return highest if self.barrier > self.same else 0

    @property
    def barrier(self) -> float:
        """How far the energy rises above that of the beginning."""
        return max(self.energies) - self.begin

    def __str__(self) -> str:
        """A line per exchange."""
        marks = {self.first_dear: "the first that costs"}
        lines = [
            f"{k + 1:>3}  {step.cost:+12.6g}  {step.energy:14.6g}  {step}  {marks.get(k, '')}".rstrip()
            for k, step in enumerate(self.steps)
        ]
        over = f"after exchange {self.top}" if self.top else "none: it goes down all the way"
        return "\n".join([*lines, f"barrier {self.barrier:.6g} ({over})"])


def path(problem: Problem, answer: ArrayLike, other: ArrayLike, way: Way = "cheapest first") -> Path:
    """From one matching to another by exchanges, none of which changes a match that is the other's already.

    "cheapest first" takes the cheapest exchange each time: a whole cycle or chain, or (of a matching one to one that
    differs in at most 60 left nodes) a single node's move to its partner there, whoever it displaces taking what it
    leaves, or nothing. "lowest barrier" takes whole exchanges only, in the order that rises least of all orders.
    """
    if way not in WAYS:
        raise ValueError(f"a way must be one of {', '.join(WAYS)}, got {way!r}")
    now, goal = (problem.vector(x) > 0.5 for x in (answer, other))
    chosen = _ordered(problem, now, goal) if way == "lowest barrier" else _greedy(problem, now, goal)
    steps, begin = [], problem.energy(now)
    before = begin
    for after in chosen:
        energy = problem.energy(after)
        steps.append(Step(*_change(problem, now, after), energy - before, energy, after))
        now, before = after, energy
    most = max(abs(energy) for energy in (begin, *(step.energy for step in steps)))
    return Path(begin, tuple(steps), max(SAME * most, tolerance(most, problem.spread)))


def _change(problem: Problem, before: Assignment, after: Assignment) -> tuple[tuple[Match, ...], tuple[Match, ...]]:
    row, col = problem.layout.row, problem.layout.col
    gone, came = before & ~after, after & ~before
    return tuple(zip(row[gone].tolist(), col[gone].tolist(), strict=True)), tuple(
        zip(row[came].tolist(), col[came].tolist(), strict=True)
    )


def _greedy(problem: Problem, now: Assignment, goal: Assignment) -> Iterator[Assignment]:
    """Matchings on the way, the cheapest next one each time; of equal ones that with more of the goal."""
    while not np.array_equal(now, goal):
        check_time()
        reach = [now ^ members for members in exchanges(problem, now, goal)]
        if ANY not in (problem.rows, problem.cols) and (now ^ goal).sum() <= 2 * MOST_MOVES:
            reach += _moves(problem, now, goal)
        now = min(reach, key=lambda x: (problem.energy(x), int((x ^ goal).sum())))
        yield now


def _moves(problem: Problem, now: Assignment, goal: Assignment) -> Iterator[Assignment]:
    """One left node takes its partner of the goal; whoever had that takes what it left, or stays alone."""
    row, col = problem.layout.row, problem.layout.col
    grid = problem.layout.grid()
    for v in np.flatnonzero(goal & ~now):
        mine, theirs = np.flatnonzero(now & (row == row[v])), np.flatnonzero(now & (col == col[v]))
        after = now.copy()
        after[mine] = after[theirs] = False
        after[v] = True
        if len(mine) and len(theirs) and (free := grid[row[theirs[0]], col[mine[0]]]) >= 0:
            swapped = after.copy()
            swapped[free] = True
            yield swapped
        if obeys(problem, after):
            yield after


def _ordered(problem: Problem, now: Assignment, goal: Assignment) -> Iterator[Assignment]:
    """Whole exchanges in the order whose highest energy is least: the best over all subsets, built up one by one."""
    parts = exchanges(problem, now, goal)
    if len(parts) > MOST_ORDERED:
        raise ValueError(
            f"The matchings differ by {len(parts)} exchanges; the lowest barrier can be found for {MOST_ORDERED} or "
            "fewer: take the cheapest first."
        )
    rise, last = np.full(1 << len(parts), np.inf), np.zeros(1 << len(parts), np.int64)
    rise[0] = problem.energy(now)
    for done in range(1, 1 << len(parts)):
        check_time()
        energy = problem.energy(_after(now, parts, done))
        for k in range(len(parts)):
            if done >> k & 1 and max(energy, rise[done ^ 1 << k]) < rise[done]:
                rise[done], last[done] = max(energy, rise[done ^ 1 << k]), k
    order, done = [], (1 << len(parts)) - 1
    while done:
        order.append(done)
        done ^= 1 << int(last[done])
    yield from (_after(now, parts, done) for done in reversed(order))


def _after(now: Assignment, parts: list[Assignment], done: int) -> Assignment:
    """With the exchanges whose bits are set."""
    for k, members in enumerate(parts):
        if done >> k & 1:
            now = now ^ members
    return now


def obeys(problem: Problem, assignment: Assignment) -> bool:
    """Whether a matching has as many partners everywhere as the problem allows and demands."""
    layout = problem.layout
    for place, size, rule in zip((layout.row, layout.col), problem.shape, (problem.rows, problem.cols), strict=True):
        count = np.bincount(place[assignment], minlength=size)
        if (rule != ANY and count.max() > 1) or (rule == EXACTLY_ONE and count.min() < 1):
            return False
    return True


def named_matches(matches: tuple[Match, ...]) -> str:
    return ", ".join(f"{i} → {j}" for i, j in matches) or "nothing"
