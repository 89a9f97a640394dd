"""The ledger of two matchings: every term that only one of them pays, and what that does to the energy.

The energy is a sum, so the question why one matching beats another has an exact answer. Each potential's costs are
looked up once for both matchings: what both pay is the same number and cancels exactly. All sums are `math.fsum`'s,
which rounds once, at the end. So the ledger's total and the difference of the two energies are the same floating-point
number, to its last digit; `Problem.energy`, which rounds at every addition, agrees but for that rounding.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum

import numpy as np
from numpy.typing import ArrayLike

from adgm.explain.terms import Matches, Term, paid_by_potential
from adgm.machine import cells
from adgm.problem import Problem

MOST_SHOWN = 10  # terms in a notebook
WORDS = {1: "points", 2: "edges", 3: "triangles", 4: "quadruples"}


@dataclass(frozen=True)
class Line:
    """What a potential asks for the same left nodes here (in the answer) and there (in the other matching)."""

    potential: int
    left: tuple[int, ...]
    here: Term | None
    there: Term | None

    @property
    def order(self) -> int:
        """How many matches it ties together."""
        return len(self.left)

    @property
    def costs(self) -> tuple[float, float]:
        """Here and there; a term that is not paid costs nothing."""
        return (self.here.cost if self.here else 0.0), (self.there.cost if self.there else 0.0)

    @property
    def favour(self) -> float:
        """How much it speaks for the answer: what it costs more there than here."""
        here, there = self.costs
        return there - here

    @property
    def matches(self) -> Matches:
        return tuple(
            dict.fromkeys([*(self.here.matches if self.here else ()), *(self.there.matches if self.there else ())])
        )


@dataclass(frozen=True)
class Part:
    """All lines of one potential together."""

    potential: int
    name: str
    lines: int
    favour: float
    share: float | None  # of the size of the total; None where the two energies are equal


@dataclass(frozen=True, eq=False)
class Ledger:
    """The terms that differ, those first that speak most for the answer."""

    lines: tuple[Line, ...]
    names: tuple[str, ...]  # of the potentials
    energies: tuple[float, float]  # of the answer and of the other matching, summed without error
    difference: float  # other − answer from all terms of both: positive where the model prefers the answer

    @cached_property
    def total(self) -> float:
        """The sum of the lines; the same number as the difference."""
        return summed(self.lines)

    @property
    def exact(self) -> bool:
        """Whether the ledger accounts for the difference, to the last digit."""
        return self.total == self.difference

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The totals per potential that has something to say, the largest first."""
        by: defaultdict[int, list[Line]] = defaultdict(list)
        for line in self.lines:
            by[line.potential].append(line)
        size = abs(self.total)
        found = [
            Part(k, self.names[k], len(lines), amount, amount / size if size else None)
            for k, lines in by.items()
            for amount in [summed(lines)]
        ]
        return tuple(sorted(found, key=lambda part: -abs(part.favour)))

    def about(self, left: int) -> "Ledger":
        """The lines in which a left node has a part; their total is not that of the whole any more."""
        lines = tuple(line for line in self.lines if left in line.left)
        return Ledger(lines, self.names, self.energies, summed(lines))

    def __repr__(self) -> str:
        return f"Ledger({len(self.lines)} terms differ, other − answer {self.total:+.7g})"

    def _repr_html_(self) -> str:
        """For notebooks: what every potential says, and the terms that say most."""
        parts = [(p.name, f"{p.favour:+.6g}", _percent(p.share), p.lines) for p in self.parts]
        parts.append(("sum", f"{self.total:+.6g}", "", len(self.lines)))
        first = sorted(self.lines, key=lambda line: -abs(line.favour))[:MOST_SHOWN]
        lines = [
            (self.names[one.potential], _matches(one.here), _matches(one.there), f"{one.favour:+.4g}") for one in first
        ]
        here, there = (f"{energy:.7g}" for energy in self.energies)
        return cells.card(
            f"{len(self.lines)} terms differ; energy {here} of the answer, {there} of the other matching",
            cells.words("What a term costs more in the other matching speaks for the answer (+)."),
            cells.table(("potential", "speaks for the answer", "", "terms"), parts, "lrrr", bold=[len(parts) - 1]),
            cells.words(f"The {len(lines)} that say most:"),
            cells.table(("potential", "in the answer", "in the other", "+/−"), lines, "lllr"),
        )

    def __str__(self) -> str:
        """A line per potential and what they add up to."""
        told = [
            f"{part.name:<14}{part.favour:+14.6g}{_percent(part.share):>9}   {part.lines} terms" for part in self.parts
        ]
        exactly = "the difference of the two energies, to the last digit" if self.exact else "not the whole difference"
        return "\n".join([*told, f"{'sum':<14}{self.total:+14.6g}           {exactly}"])


def ledger(problem: Problem, answer: ArrayLike, other: ArrayLike, names: Sequence[str] | None = None) -> Ledger:
    """Every term that only one of two matchings pays; a term of the one stands beside that of the other for the same
    left nodes, where there is just one of each."""
    here, there = (problem.vector(x) > 0.5 for x in (answer, other))
    row, col = problem.layout.row, problem.layout.col
    one, two = (set(zip(row[x].tolist(), col[x].tolist(), strict=True)) for x in (here, there))
    lines: list[Line] = []
    sums: tuple[list[float], list[float]] = [], []
    for k, paid in enumerate(paid_by_potential(problem, (here | there).astype(float))):
        sides: tuple[dict[tuple[int, ...], list[Term]], ...] = defaultdict(list), defaultdict(list)
        for matches, cost in paid.items():
            holds = [chosen.issuperset(matches) for chosen in (one, two)]
            for side in np.flatnonzero(holds).tolist():
                sums[side].append(cost)
                if not all(holds):
                    sides[side][tuple(sorted({i for i, _ in matches}))].append(Term(matches, cost))
        lines += _paired(k, *sides)
    lines = [line for line in lines if any(line.costs)]
    lines.sort(key=lambda line: (-line.favour, line.potential, line.left))
    difference = fsum([*sums[1], *(-cost for cost in sums[0])])
    return Ledger(tuple(lines), tuple(names or named(problem)), (fsum(sums[0]), fsum(sums[1])), difference)


def _paired(
    potential: int, here: dict[tuple[int, ...], list[Term]], there: dict[tuple[int, ...], list[Term]]
) -> list[Line]:
    """Terms of the same left nodes on one line; where nodes have several partners, each on a line of its own."""
    lines = []
    for left in dict.fromkeys([*here, *there]):
        mine, theirs = here.get(left, []), there.get(left, [])
        if len(mine) == len(theirs) == 1:
            lines.append(Line(potential, left, mine[0], theirs[0]))
        else:
            lines += [Line(potential, left, term, None) for term in mine]
            lines += [Line(potential, left, None, term) for term in theirs]
    return lines


def summed(lines: Sequence[Line]) -> float:
    """What the lines speak for the answer, together: every cost added without error, rounded once."""
    return fsum(cost for line in lines for cost in (line.costs[1], -line.costs[0]))


def named(problem: Problem, words: dict[int, str] = WORDS) -> list[str]:
    """A name for every potential, after its order; numbered where several have the same."""
    orders = [p.order(problem.shape) for p in problem.potentials]
    plain = [words.get(order, f"order {order}") for order in orders]
    seen: defaultdict[str, int] = defaultdict(int)
    names = []
    for name in plain:
        seen[name] += 1
        names.append(name if plain.count(name) == 1 else f"{name} {seen[name]}")
    return names


def _matches(term: Term | None) -> str:
    return "–" if term is None else " ".join(f"{i}→{j}" for i, j in term.matches)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:+.0%}"
