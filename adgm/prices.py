"""A price on every match where both sides may stay unmatched: why a run ends empty, and how it goes on from there.

Such a price is linear in x, rewards for agreeing pairs and triples are not: near x = 0 the price wins, so that x = 0 is
a strict local minimum of the relaxation. At the uniform start a match pays its whole price and collects 1/n^(D−1) of
its rewards: ADGM as published converges to the empty matching within a few iterations.

For 0/1 matchings x = x^D. So the price u⁺ = max(u, 0) may be written u⁺·x_1·x_2·…·x_D: no matching costs anything else,
and where all other costs are rewards, x = 0 is no local minimum any more if any matching is better than none. A run
that ends (nearly) empty starts again with the price `WITHIN` the product of the blocks; where that has led, it goes on
with the price as it is. The product makes blocks overshoot while ρ is below it, hence they are held together by more
than ρ alone; the multipliers follow ρ as ever.
"""

import numpy as np

from adgm._kernels import FloatArray, Price
from adgm.problem import AT_MOST_ONE, Problem
from adgm.rounding import Assignment

# How a run has the price: as it is, within the product of the blocks, and as it is once more.
AS_GIVEN, WITHIN, AGAIN = range(3)
HELD = 1 / 2  # of the largest price: beside ρ. 0 takes three times as many iterations, 1 half as many, and finds less
NEARLY_EMPTY = 1 / 5  # of the matches that there could be
TRAPPED = (
    "Nothing is matched. Where matches cost a price and both sides may stay unmatched, this algorithm as published may "
    "end here although other matchings are better: near zero the price outweighs all rewards. ADGM (self-tuning), "
    "ADGM+ and fusion moves go on from here."
)
FREE = Price(np.empty(0), 0.0)


def tempting(problem: Problem) -> bool:
    """Whether the empty matching is a local minimum of the relaxation because of a price."""
    optional = problem.rows == problem.cols == AT_MOST_ONE
    return optional and problem.order > 1 and bool((problem.unary > 0.0).any())


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
