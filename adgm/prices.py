"""A price on every match where both sides may stay unmatched: why a run ends empty, and how it goes on from there.

Such a price is linear in x, rewards for agreeing pairs and triples are not: near x = 0 the price wins, so that x = 0 is
a strict local minimum of the relaxation. At the uniform start a match pays its whole price and collects 1/n^(D−1) of
its rewards: ADGM as published converges to the empty matching within a few iterations.

For 0/1 matchings x = x^D. So the price u⁺ = max(u, 0) may be written u⁺·x_1·x_2·…·x_D: no matching costs anything else,
and where all other costs are rewards, x = 0 is no local minimum any more if any matching is better than none. A run
that ends (nearly) empty starts again with the price `WITHIN` the product of the blocks; where that has led, it goes on
with the price as it is. The product makes blocks overshoot while ρ is below it, hence they are held together by more
than ρ alone; the multipliers follow ρ as ever. Where pairs cost something, and only triples save it, the empty matching
is such a trap as well, and what pairs cost is `raised` to the order of the rewards in the same way.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import factorial

import numpy as np

from adgm._kernels import FloatArray, Price
from adgm.potentials import Entries, Potential
from adgm.problem import AT_MOST_ONE, Problem, Sparse
from adgm.rounding import Assignment

# How a run has the price: as it is, within the product of the blocks, and as it is once more.
AS_GIVEN, WITHIN, AGAIN = range(3)
HELD = 1 / 2  # of the largest price: beside ρ. 0 takes three times as many iterations, 1 half as many, and finds less
MOST_LISTED = 1 << 20  # pairs of variables
NEARLY_EMPTY = 1 / 5  # of the matches that there could be
TRAPPED = (
    "Nothing is matched. Where matches cost a price, or pairs what only triples save, and both sides may stay "
    "unmatched, this algorithm as published may end here although other matchings are better: near zero costs outweigh "
    "all rewards. ADGM (self-tuning), "
    "ADGM+ and fusion moves go on from here."
)
FREE = Price(np.empty(0), 0.0)


def tempting(problem: Problem) -> bool:
    """Whether the empty matching is a local minimum of the relaxation because of a price, or because pairs cost
    something and only hyperedges of more variables save it."""
    optional = problem.rows == problem.cols == AT_MOST_ONE
    return optional and problem.order > 1 and (bool((problem.unary > 0.0).any()) or problem.derived(costly_pairs))


def costly_pairs(problem: Problem) -> bool:
    """Whether potentials of several variables, but fewer than the problem's order, have positive costs."""
    return any((entries.costs > 0.0).any() for _, entries in _between(problem))


def _between(problem: Problem) -> Iterator[tuple[int, Entries]]:
    """(its number, its entries) of every potential of several variables, but fewer than the problem's order; none of
    those that are too many to be listed."""
    for number, p in enumerate(problem.potentials):
        if 1 < p.order(problem.shape) < problem.order and (isinstance(p, Sparse) or problem.n**2 <= MOST_LISTED):
            yield number, p.entries(problem.layout)


def raised(problem: Problem) -> Problem:
    """The problem whose positive costs of pairs stand at its highest order, as those of tuples that repeat a variable:
    no matching costs anything else, and near zero they weigh no more than the rewards do."""
    potentials: list[Potential] = list(problem.potentials)
    for number, (index, costs, symmetric) in _between(problem):
        positive, k, order = costs > 0.0, index.shape[1], problem.order
        if not positive.any():
            continue
        grid = problem.layout.variables[index]
        potentials[number] = Sparse(grid[~positive], costs[~positive], symmetric)
        # Each of its variables in turn is repeated, and stands in each of the blocks once.
        longer = [np.column_stack([grid[positive], *[grid[positive][:, v]] * (order - k)]) for v in range(k)]
        rows = np.concatenate([np.roll(each, block, axis=1) for each in longer for block in range(order)])
        paid = costs[positive] * (factorial(k) if symmetric else 1) / (k * order)
        potentials.append(Sparse(rows, np.tile(paid, k * order)))
    return replace(problem, potentials=potentials) if len(potentials) > len(problem.potentials) else problem


def within(problem: Problem) -> Price:
    """The price as the iterations have it within the product of the blocks."""
    each = np.maximum(problem.unary, 0.0)
    return Price(each, HELD * float(each.max()) / problem.scale)


def lost(problem: Problem, matching: Assignment | FloatArray, energy: float | None = None) -> bool:
    """Whether a matching, relaxed or not, is (nearly) empty, or no better than the empty one; `energy`: if known."""
    if not (problem.energy(matching) if energy is None else energy) < 0.0:
        return True
    found = float(matching.sum())
    if found >= NEARLY_EMPTY * min(problem.shape):
        return False
    return found < NEARLY_EMPTY * min(len(np.unique(nodes)) for nodes in (problem.layout.row, problem.layout.col))
