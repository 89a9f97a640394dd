"""python -m experiments proofs: what is proved of small random problems, held against every matching there is.

Orders 1 to 3, all constraints, costs of many sizes with large constants in them, searches cut anywhere. The other side
is slow and obvious: every matching, and its energy summed in extended precision. Problems are numbered: the same number
makes the same problem.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from adgm import ANY, AT_MOST_ONE, EXACTLY_ONE, Dense, Formula, Problem, Sparse, solve
from adgm.bounds.bound import bound, refusal
from adgm.explain.margins import margins
from adgm.problem import CONSTRAINTS
from adgm.search.portfolio import Portfolio

Exact = NDArray[np.longdouble]
Grid = NDArray[np.float64]
CASES, MOST = 2000, 700  # problems; matchings of one
EPS = float(np.finfo(float).eps)
SHARE = 1e-8  # of what costs differ by: what a proof may be off
STYLES = ("normal", "whole", "peaked", "forbidding")
CONSTANTS = ("none", "unary", "per row", "pairs")


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, and what is true of it."""

    number: int
    problem: Problem
    every: NDArray[np.bool_]  # the matchings, a line each, over the problem's variables
    energies: Exact
    weights: Exact  # the sum of the sizes of what each pays
    told: str

    def place(self, matching: NDArray[np.bool_]) -> int:
        """The number of a matching among all; an error if it is none."""
        (at,) = np.flatnonzero((self.every == matching).all(axis=1))
        return int(at)


@dataclass
class Tally:
    """How often something was claimed, and which claims were false."""

    claims: dict[str, int] = field(default_factory=dict)
    false: list[str] = field(default_factory=list)

    def claim(self, case: Case, what: str, true: bool) -> None:
        self.claims[what] = self.claims.get(what, 0) + 1
        if not true:
            self.false.append(f"{case.number} ({case.told}): {what}")


# ---- problems ----------------------------------------------------------------------------------------------------


def drawn(rng: np.random.Generator, style: str, size: int | tuple[int, ...]) -> Grid:
    """Costs of one size and both signs."""
    normal = rng.normal(size=size)
    if style == "whole":
        return np.round(2.0 * normal)
    if style == "peaked":
        return -np.exp(-10.0 * np.abs(normal))
    return normal + (1e4 * (rng.random(size) < 0.3) if style == "forbidding" else 0.0)


def higher(rng: np.random.Generator, style: str, shape: tuple[int, int], order: int) -> Dense | Sparse | Formula:
    """Costs of pairs or triples, in any notation."""
    n = shape[0] * shape[1]
    kind = int(rng.integers(4)) if order == 2 else 3 - int(rng.integers(2))
    if kind == 0:
        return Dense(drawn(rng, style, (n, n)))
    if kind == 1:
        left, right = (drawn(rng, style, (nodes, nodes)) for nodes in shape)
        return Formula(left, right, lambda a, b: a[..., 0] * b[..., 0], symmetric=False)
    rows = rng.integers(n, size=(int(rng.integers(1, 5 * n)), order))
    if kind == 2:
        rows = rows[[len(set(row)) == order for row in rows.tolist()]].reshape(-1, order)
    return Sparse(rows, drawn(rng, style, len(rows)), symmetric=kind == 2)


def random_problem(rng: np.random.Generator) -> tuple[Problem, str]:
    """Any problem of at most 4 × 4 nodes; a ValueError if its constraints cannot be met."""
    shape = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    common = rng.random() < 0.8  # one to one, which is bounded
    rows, cols = (CONSTRAINTS[i] for i in rng.integers(2 if common else 3, size=2))
    mask = rng.random(shape) < 0.8 if rng.random() < 0.3 else None
    order, style = int(rng.integers(1, 4)), STYLES[rng.integers(len(STYLES))]
    unit, constant = 10.0 ** rng.uniform(-9, 9), CONSTANTS[rng.integers(len(CONSTANTS))]
    extra = 10.0 ** rng.uniform(0, 9)
    unary, n = drawn(rng, style, shape), shape[0] * shape[1]
    unary += extra * {"unary": np.ones((1, 1)), "per row": rng.random((shape[0], 1))}.get(constant, np.zeros((1, 1)))
    parts: list[Dense | Sparse | Formula] = [Dense(unit * unary)]
    parts += [
        scaled(higher(rng, style, shape, d), unit) for d in range(2, order + 1) if d == order or rng.random() < 0.5
    ]
    if constant == "pairs" and order > 1:
        parts.append(Dense(unit * (extra + drawn(rng, style, (n, n)))))
    told = f"{shape[0]} × {shape[1]}, {rows}, {cols}, order {order}, {style}, × {unit:.1g}, {constant} + {extra:.1g}"
    return Problem(shape, parts, rows, cols, mask), told


def scaled(potential: Dense | Sparse | Formula, unit: float) -> Dense | Sparse | Formula:
    if isinstance(potential, Dense):
        return Dense(unit * potential.costs)
    if isinstance(potential, Sparse):
        return Sparse(potential.indices, unit * potential.costs, potential.symmetric)
    return Formula(potential.left, potential.right, lambda a, b: unit * a[..., 0] * b[..., 0], symmetric=False)


# ---- what is true of them ----------------------------------------------------------------------------------------


def matchings(problem: Problem) -> NDArray[np.bool_]:
    """Every matching, over the problem's variables."""
    n1, n2 = problem.shape
    of_row = list(product((0, 1), repeat=n2)) if problem.rows == ANY else np.vstack([np.zeros(n2), np.eye(n2)])
    choices = np.indices((len(of_row),) * n1).reshape(n1, -1).T
    grids = np.asarray(of_row, bool)[choices]
    allowed = ~grids[:, ~(np.ones(problem.shape, bool) if problem.candidates is None else problem.candidates)].any(1)
    for rule, axis in ((problem.rows, 2), (problem.cols, 1)):
        partners = grids.sum(axis=axis)
        allowed &= {EXACTLY_ONE: partners == 1, AT_MOST_ONE: partners <= 1}.get(rule, partners >= 0).all(axis=1)
    return grids[allowed].reshape(-1, n1 * n2)[:, problem.layout.variables]


def tensors(problem: Problem) -> Iterator[Exact]:
    """Every potential written out in full."""
    n1, n2 = problem.shape
    n = n1 * n2
    for p in problem.potentials:
        if isinstance(p, Dense):
            yield p.tensor(problem.shape).astype(np.longdouble)
        elif isinstance(p, Sparse):
            full = np.zeros((n,) * p.indices.shape[1], np.longdouble)
            for places in permutations(range(full.ndim)) if p.symmetric else [range(full.ndim)]:
                np.add.at(full, tuple(p.indices[:, k] for k in places), p.costs)
            yield full
        else:
            i1, i2 = np.divmod(np.arange(n), n2)
            full = p.between(i1[:, None], i1, i2[:, None], i2).astype(np.longdouble)
            full[(i1[:, None] == i1) | (i2[:, None] == i2)] = 0.0
            yield full


def energies(problem: Problem, every: NDArray[np.bool_]) -> tuple[Exact, Exact]:
    """Of every matching, and the sums of the sizes of what they pay."""
    x = np.zeros((len(every), problem.shape[0] * problem.shape[1]), np.longdouble)
    x[:, problem.layout.variables] = every
    totals = np.zeros((2, len(x)), np.longdouble)
    for full in tensors(problem):
        for total, values in zip(totals, (full, np.abs(full)), strict=True):
            rest = x @ values.reshape(x.shape[1], -1)
            while rest.shape[1] > 1:
                rest = (rest.reshape(len(x), x.shape[1], -1) * x[:, :, None]).sum(axis=1)
            total += rest[:, 0]
    return totals[0], totals[1]


def case(number: int) -> Case:
    """The problem of this number, and what is true of it."""
    rng = np.random.default_rng([number, 28])
    while True:
        try:
            problem, told = random_problem(rng)
        except ValueError:  # more nodes than partners, too few candidates
            continue
        every = matchings(problem)
        if 1 <= len(every) <= MOST:
            return Case(number, problem, every, *energies(problem, every), told)


# ---- what is claimed of them -------------------------------------------------------------------------------------


def judge(case: Case, tally: Tally) -> None:
    """Ask for bounds, proofs and margins, with more or less effort, and hold all against what is true."""
    rng, problem = np.random.default_rng([case.number, 29]), case.problem
    least = int(np.argmin(case.energies))
    slack = 4.0 * EPS * float(case.weights[least])  # what the energy, a sum of floating-point numbers, can be off
    found = solve(problem, Portfolio(max_iter=20, trial=10, stride=10, most_lanes=2, kicks=1, scouts=1, rounds=1))
    at = case.place(found.assignment)
    away = abs(found.energy - case.energies[at])
    tally.claim(case, "the energy is the sum", bool(away <= 16 * EPS * case.weights[at]))
    if found.state.proved:
        near = SHARE * problem.spread + 5 * slack
        tally.claim(case, "ADGM+ has proved its matching", bool(case.energies[at] <= case.energies[least] + near))
    if not refusal(problem):
        for effort in (1e8, 10.0 ** rng.uniform(0, 4)):
            judge_bound(case, tally, slack, int(rng.integers(len(case.every))), effort)
    asked = [at, int(rng.integers(len(case.every)))]
    for answer, effort in zip(asked, (1e6, 10.0 ** rng.uniform(0, 4)), strict=True):
        judge_margins(case, tally, answer, effort)


def judge_bound(case: Case, tally: Tally, slack: float, asked: int, effort: float) -> None:
    """A search for a bound of the matching `asked`, which may be cut."""
    problem, best = case.problem, case.energies.min()
    lowers: list[float] = []
    found = bound(problem, case.every[asked], effort=effort, watch=lambda state: lowers.append(state.lower))
    for lower in (*lowers, found.lower):
        tally.claim(case, "no matching costs less than the bound", bool(lower <= best + slack))
    if found.solved:
        near = SHARE * problem.spread + 5 * slack
        tally.claim(case, "the search has solved it", bool(case.energies[case.place(found.best)] <= best + near))
    if found.proved:
        near = SHARE * problem.spread + 5 * slack
        tally.claim(case, "the matching asked about is proved", bool(case.energies[asked] <= best + near))


def judge_margins(case: Case, tally: Tally, answer: int, effort: float) -> None:
    """The margins of a matching, in a search that may be cut."""
    problem = case.problem
    pairs = np.flatnonzero(case.every[answer])
    for v, margin in zip(pairs, margins(problem, case.every[answer], effort=effort), strict=True):
        energies = np.where(case.every[:, v], np.inf, case.energies)
        rival = int(np.argmin(energies))
        true = float(energies[rival] - case.energies[answer])
        near = 16.0 * EPS * float(max(case.weights[answer], case.weights[rival]))
        tally.claim(case, "a margin is not below the truth", bool(margin.margin >= true - near))
        tally.claim(case, "what a margin is at least holds", bool(margin.at_least <= true + near))
        if margin.certified:
            exact = margin.margin == true or abs(margin.margin - true) <= margin.slack + near
            tally.claim(case, "a margin is certified", bool(exact))
        if margin.sure:
            tally.claim(case, "a match is sure", true > 0.0)


def judged(first: int, count: int) -> Tally:
    """So many problems from this number on."""
    tally = Tally()
    for number in range(first, first + count):
        judge(case(number), tally)
    return tally


# ---- the command -------------------------------------------------------------------------------------------------


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cases", type=int, default=CASES, metavar="N", help="how many problems (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="the number of the first (default 0)")


def run(options: argparse.Namespace) -> int:
    if options.cases < 1:
        raise ValueError(f"--cases is {options.cases}; expected 1 or more.")
    tally = judged(options.seed, options.cases)
    for what, count in sorted(tally.claims.items()):
        print(f"{what:<40} {count:>8,}")
    print(f"{options.cases:,} problems, {sum(tally.claims.values()):,} claims, {len(tally.false):,} false.")
    for line in tally.false[:50]:
        print(line)
    return 1 if tally.false else 0
