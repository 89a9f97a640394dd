"""Permutations of low cost for Koopmans–Beckmann problems: short tabu searches, and children of what they find.

U. Benlic and J.-K. Hao, Memetic search for the quadratic assignment problem, Expert Systems with Applications 2015; the
tabu search is Taillard's. What two good permutations agree on a child keeps, and a tabu search goes on from there.
"""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from adgm._kernels import FloatArray, LongArray
from adgm._kernels.permutations import Steps, Walk, wander, weigh_exchanges
from adgm.costs.koopmans_beckmann import matrices
from adgm.machine.deadline import TimeUp, check_time
from adgm.problem import Problem
from adgm.rounding import Assignment

FEWEST = 3  # nodes
AT_ONCE = 2_000_000  # steps between two looks at the clock, times the pairs of nodes: some milliseconds
PIECE = 10_000_000  # steps of a piece of the search, times the same
LONGEST = 150_000  # steps of a tabu search
IN_VAIN = 3  # tabu searches per permutation of a population which bring nothing, and end it
AGAIN = 3  # populations that must lead to the best permutation
MOST = 1000  # steps in all, times the square of the nodes
TENURE = 0.9, 1.1  # steps for which nobody goes back, times the nodes: at least, at most
ROUNDING = 1e-12  # of the size of all costs: smaller changes are none


class Kind(NamedTuple):
    """A population: how many there are, and what tabu search each comes from."""

    size: int
    steps: int
    power: int  # of the number of nodes, which the steps are multiplied by
    wait: float = np.inf  # steps after which every exchange has its turn, times the square of the nodes


KINDS = Kind(8, 20, 1), Kind(1, 50, 2, wait=2.0)  # in turn: many short searches with children, a long one that roams


@dataclass(frozen=True, eq=False)
class Product:
    """What a permutation costs: Σ A[i, j] · B[p(i), p(j)]."""

    a: FloatArray
    b: FloatArray
    symmetric: bool = field(init=False)
    tolerance: float = field(init=False)

    def __post_init__(self) -> None:
        a, b = np.ascontiguousarray(self.a), np.ascontiguousarray(self.b)
        if (a == a.T).all():  # then only the symmetric half of the other one counts
            b = (b + b.T) / 2.0
        elif (b == b.T).all():
            a = (a + a.T) / 2.0
        object.__setattr__(self, "a", a)
        object.__setattr__(self, "b", b)
        object.__setattr__(self, "symmetric", bool((a == a.T).all() and (b == b.T).all()))
        object.__setattr__(self, "tolerance", ROUNDING * float(np.abs(a).max() * np.abs(b).max()) * a.size)

    def cost(self, partner: LongArray) -> float:
        return float((self.a * self.b[np.ix_(partner, partner)]).sum())

    def walk(self, partner: LongArray) -> Walk:
        """A tabu search that begins there."""
        b = self.b[np.ix_(partner, partner)]
        turned = [np.ascontiguousarray(each.T) for each in (self.a, b)]
        barred = -np.arange(b.size, dtype=float).reshape(b.shape)  # not all exchanges wait for their turn equally long
        tables = barred, np.ascontiguousarray(barred.T), np.zeros(b.shape)
        walk = Walk(self.a, turned[0], b, turned[1], partner.copy(), partner.copy(), *tables)
        for node in range(len(b)):
            weigh_exchanges(walk, node, self.symmetric)
        return walk


class Found(NamedTuple):
    """A permutation and its cost."""

    cost: float
    partner: LongArray


@dataclass(frozen=True, eq=False)
class Breeding:
    """Where the search is: its present population, and the best of all."""

    best: Found
    population: tuple[Found, ...] = ()
    number: int = 0  # of the population
    searches: int = 0  # tabu searches so far
    steps: int = 0  # and their steps
    in_vain: int = 0  # searches since the population became better
    again: int = 0  # populations that led to the best
    over: bool = False

    def matching(self, problem: Problem) -> Assignment:
        """The best permutation as an assignment."""
        n = len(self.best.partner)
        return problem.vector(np.eye(n)[self.best.partner]) > 0.5


def bred(product: Product, breeding: Breeding, seed: int) -> Breeding:
    """A tabu search further: from a random permutation, or from the child of two of the population."""
    kind = KINDS[breeding.number % len(KINDS)]
    n, size, population = len(product.a), kind.size, breeding.population
    steps = min(LONGEST, kind.steps * n**kind.power)
    rng = np.random.default_rng([seed, breeding.searches])
    if len(population) < size:
        start = rng.permutation(n)
    else:
        first, second = rng.choice(size, 2, replace=False)
        start = child(population[first].partner, population[second].partner, rng)
    found = wandered(product, start, steps, kind.wait * n**2, rng)
    best = min(breeding.best, found, key=lambda one: one.cost)
    better = found.cost < breeding.best.cost - product.tolerance
    in_vain = breeding.in_vain + 1
    known = any(abs(found.cost - one.cost) <= product.tolerance for one in population)
    if len(population) < size:
        population, in_vain = (*population, found), 0
    elif not known and found.cost < population[-1].cost:
        population, in_vain = (*population[:-1], found), 0
    population = tuple(sorted(population, key=lambda one: one.cost))
    breeding = replace(
        breeding,
        best=best,
        population=population,
        searches=breeding.searches + 1,
        steps=breeding.steps + steps,
        in_vain=in_vain,
        again=0 if better else breeding.again,
    )
    alike = len(population) == size and population[-1].cost - population[0].cost <= product.tolerance
    return ended(product, breeding) if alike or in_vain >= IN_VAIN * size else breeding


def ended(product: Product, breeding: Breeding) -> Breeding:
    """The next population begins, or all is over."""
    again = breeding.again + (breeding.population[0].cost <= breeding.best.cost + product.tolerance)
    over = again >= AGAIN or breeding.steps >= MOST * len(product.a) ** 2
    return replace(breeding, population=(), number=breeding.number + 1, in_vain=0, again=again, over=over)


def wandered(product: Product, start: LongArray, steps: int, wait: float, rng: np.random.Generator) -> Found:
    """The best that a tabu search meets from there, in so many steps or until time is up."""
    n = len(start)
    walk, cost = product.walk(start), product.cost(start)
    at, at_once = Steps(0, cost, cost), max(1, AT_ONCE // n**2)
    tenure = rng.integers(int(TENURE[0] * n), int(TENURE[1] * n) + 1, (steps, 2))
    with suppress(TimeUp):
        for first in range(0, steps, at_once):
            at = wander(walk, at, tenure[first : first + at_once], wait, product.tolerance, product.symmetric)
            check_time()
    return Found(product.cost(walk.best), walk.best)


def child(first: LongArray, second: LongArray, rng: np.random.Generator) -> LongArray:
    """What two permutations agree on; elsewhere what one of them says, as long as it is free."""
    n = len(first)
    partner, free = np.where(first == second, first, -1), np.ones(n, bool)
    free[partner[partner >= 0]] = False
    for node in rng.permutation(n):
        if partner[node] < 0:
            choices = [one[node] for one in (first, second) if free[one[node]]]
            if choices:
                partner[node] = choices[rng.integers(len(choices))]
                free[partner[node]] = False
    partner[partner < 0] = rng.permutation(np.flatnonzero(free))
    return partner


def can_breed(problem: Problem) -> bool:
    """Whether costs are products of two matrices, over permutations."""
    return problem.n >= FEWEST**2 and matrices(problem) is not None


def breed(problem: Problem, breeding: Breeding | None, known: Assignment, seed: int) -> Breeding:
    """A piece of the search for a better matching than one that is known, of costs that are such products."""
    check_time()
    found = matrices(problem)
    assert found is not None
    product = Product(*found)
    if breeding is None:
        partner = problem.matrix(known).argmax(axis=1)
        breeding = Breeding(Found(product.cost(partner), partner))
    enough = breeding.steps + max(1, PIECE // problem.n)
    while breeding.steps < enough and not breeding.over:
        breeding = bred(product, breeding, seed)
    return breeding
