"""Block Coordinate Ascent Graph Matching: Q. Nguyen, A. Gautier and M. Hein, A flexible tensor block coordinate ascent
scheme for hypergraph matching, CVPR 2015; Q. Nguyen, F. Tudisco, A. Gautier and M. Hein, An efficient multilinear
optimization framework for hypergraph matching, PAMI 2017."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Literal

import numpy as np

from adgm._kernels import FloatArray
from adgm.costs.affinity import Affinity, affinity
from adgm.options import check, option
from adgm.problem import Problem
from adgm.rivals.fixed_point import Point, assign, energy
from adgm.rivals.mpm import pool
from adgm.state import State

# Number of blocks for an order, and the blocks that move together.
VARIANTS: dict[str, tuple[int, tuple[tuple[int, ...], ...]]] = {
    "pairs": (4, ((0, 1), (2, 3))),
    "lifted": (4, ((0,), (1,), (2,), (3,))),
    "direct": (3, ((0,), (1,), (2,))),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class BCAGMState(State):
    """The blocks, the weight of their agreement, and the value of the multilinear form, which never decreases."""

    blocks: FloatArray
    alpha: float = 0.0
    objective: float = -np.inf
    residual: float = np.inf  # share of the blocks' pairs that are not in all blocks


@dataclass(frozen=True)
class BCAGM:
    """Ascent of a multilinear form that equals the score where all blocks agree, block by block.

    variant: "pairs" is BCAGM+MP: four blocks, two and two equal, each pair set by max-pooling on its quadratic form;
    "lifted" is BCAGM: four blocks, each set by a linear assignment; "direct" is BCAGM3: three blocks, the same.
    When the ascent ends with blocks that differ, a reward α for agreeing (constant where they do) grows until one of
    them, used for all, is at least as good. pooling: most iterations of the subroutine.
    """

    variant: Literal["pairs", "lifted", "direct"] = option(
        "pairs", "Variant", "pairs is BCAGM+MP, lifted is BCAGM, direct is BCAGM3 (third order only)."
    )
    max_iter: int = option(100, "Most iterations", "The run ends after that many iterations, converged or not.", low=1)
    tol: float = option(1e-12, "Tolerance ε", "The ascent ends when it gains no more than this share.", low=0)
    pooling: int = option(30, "Most iterations of max-pooling", "Of the subroutine that sets two blocks.", low=1)

    def __post_init__(self) -> None:
        check(self)

    def init(self, problem: Problem) -> BCAGMState:
        count = VARIANTS[self.variant][0]
        blocks = np.full((count, problem.n), 1.0 / max(problem.shape))
        s = affinity(problem)
        point = Point(blocks[0], s.parts(blocks[0]), blocks[0])
        return BCAGMState(iteration=0, x=blocks[0], energy=energy(problem, s, point, blocks[0].sum()), blocks=blocks)

    def done(self, state: BCAGMState) -> bool:
        return state.converged or state.iteration >= self.max_iter

    def step(self, problem: Problem, state: BCAGMState, n: int = 1) -> BCAGMState:
        s = affinity(problem)
        trace: dict[str, list[float]] = {"energy": [], "residual": [], "objective": []}
        while len(trace["energy"]) < n and not self.done(state):
            state = self._cycle(problem, s, state)
            for name, values in trace.items():
                values.append(float(getattr(state, name)))
        return replace(state, trace={name: np.array(values) for name, values in trace.items()})

    def _cycle(self, problem: Problem, s: Affinity, state: BCAGMState) -> BCAGMState:
        """Every block once, then what is to be done if that brought nothing."""
        blocks, alpha = state.blocks.copy(), state.alpha
        for group in VARIANTS[self.variant][1]:
            if len(group) == 1:
                gain = block_gradient(s, blocks, group[0]) + alpha * agreement_gradient(blocks, group[0])
                new = assign(problem, gain).astype(np.float64)
                if gain @ new > gain @ blocks[group[0]] * (1 + 1e-12) or state.iteration == 0:
                    blocks[group[0]] = new
            else:
                blocks[list(group)] = self._pooled(problem, s, blocks, group, alpha, state.iteration == 0)
        objective = value(s, blocks) + alpha * agreement(blocks)
        stuck = objective - state.objective <= self.tol * abs(objective)
        converged = bool(stuck and (blocks == blocks[0]).all())
        if stuck and not converged:
            total = float(blocks[0].sum())
            scores = [value(s, [b] * len(blocks)) + alpha * total for b in blocks]
            top = int(np.argmax(scores))
            if scores[top] >= objective * (1 - 1e-9):  # one block for all is at least as good
                blocks[:] = blocks[top]
                objective = scores[top]
            else:  # the least α that makes it so
                alpha += (objective - scores[top]) / (total - agreement(blocks))
                objective = value(s, blocks) + alpha * agreement(blocks)
        found = blocks.astype(bool)
        unequal = {block.tobytes(): block for block in found}  # most agree
        known = {name: problem.energy(block) for name, block in unequal.items()}
        energies = [known[block.tobytes()] for block in found]
        first = int(np.argmin(energies))
        better = energies[first] < state.best_energy
        return BCAGMState(
            iteration=state.iteration + 1,
            x=blocks[first],
            energy=energies[first],
            best=found[first] if better else state.best,
            best_energy=energies[first] if better else state.best_energy,
            converged=converged,
            blocks=blocks,
            alpha=alpha,
            objective=objective,
            residual=1.0 - float(found.all(axis=0).sum() / max(1, found[0].sum())),
        )

    def _pooled(
        self, problem: Problem, s: Affinity, blocks: FloatArray, group: Sequence[int], alpha: float, first: bool
    ) -> FloatArray:
        """The better of the pair's block and what max-pooling finds for its quadratic form Σ Q_ij u_i u_j + q · u."""
        old, other = blocks[group[0]], blocks[(group[0] + 2) % 4]
        quadratic, linear = quadratic_form(s, other)
        linear = linear + alpha * 4 / 6 * other
        lifted = quadratic + (linear[:, None] + linear) / (2.0 * old.sum())  # the same for blocks of that size
        pooled = pool(problem, s, lifted, lifted.diagonal(), self.pooling, 1e-6)
        new = assign(problem, pooled).astype(np.float64)
        if first:
            return new
        gains = [u @ product(quadratic, u) + linear @ u for u in (old, new)]
        return new if gains[1] > gains[0] * (1 + 1e-12) else old


def value(s: Affinity, blocks: Sequence[FloatArray] | FloatArray) -> float:
    """The multilinear form: for each order d, the mean of S_d over all choices of d blocks."""
    total = 0.0
    for d in s.orders:
        choices = list(combinations(range(len(blocks)), d))
        total += sum(float(blocks[c[0]] @ s.tensor(d, [blocks[i] for i in c[1:]])) for c in choices) / len(choices)
    return total


def block_gradient(s: Affinity, blocks: FloatArray, b: int) -> FloatArray:
    """The form as a linear function of block b, up to a constant."""
    others = [i for i in range(len(blocks)) if i != b]
    gradient = np.zeros(blocks.shape[1])
    for d in s.orders:
        for rest in combinations(others, d - 1):
            gradient += s.tensor(d, [blocks[i] for i in rest]) / comb(len(blocks), d)
    return gradient


def quadratic_form(s: Affinity, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The form at (u, u, v, v) as u · Q u + q · u, up to a constant."""
    quadratic = s.opened(3, v) / 2
    linear = s.unary / 2 + product(quadratic, v)
    if s.pairs is not None:
        quadratic += dense(s, len(v)) / 6
        linear = linear + s.tensor(2, [v]) * 4 / 6
    if s.order >= 4:
        quadratic += s.opened(4, v)
    return quadratic, linear


def product(matrix: FloatArray, v: FloatArray) -> FloatArray:
    """A symmetric matrix times v: only the rows where v is not zero are read."""
    on = np.flatnonzero(v)
    found: FloatArray = v @ matrix if len(on) == len(v) else v[on] @ matrix[on]
    return found


def dense(s: Affinity, n: int) -> FloatArray:
    """The pairwise affinities as a dense matrix, whatever they are stored as."""
    if isinstance(s.pairs, np.ndarray):
        return s.pairs
    return np.zeros((n, n)) if s.pairs is None else np.asarray(s.pairs @ np.eye(n))


def agreement(blocks: FloatArray) -> float:
    """The mean of ⟨x_a, x_b⟩ over all pairs of blocks: the size of a matching where all agree."""
    pairs = list(combinations(blocks, 2))
    return sum(float(a @ b) for a, b in pairs) / len(pairs)


def agreement_gradient(blocks: FloatArray, b: int) -> FloatArray:
    others: FloatArray = blocks.sum(axis=0) - blocks[b]
    return others / comb(len(blocks), 2)
