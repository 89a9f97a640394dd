"""Alternating Direction Graph Matching: one update over two couplings, with the paper's penalty schedule."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from adgm import _kernels as kernels
from adgm._kernels import FloatArray, Groups
from adgm.problem import ANY, Problem
from adgm.projections import KIND
from adgm.rounding import ROUNDINGS, Assignment, best_rounding
from adgm.run import State
from adgm.search import polish

# The block that block d (0-based, d ≥ 1) is tied to: eqs. (equa1) and (equa2) of the paper.
COUPLINGS: dict[str, Callable[[int], int]] = {"star": lambda d: 0, "chain": lambda d: d - 1}
TRACED = ("gap", "change", "rho", "energy")


def uniform(problem: Problem, blocks: int, seed: int) -> FloatArray:
    return np.full((blocks, problem.n), 1.0 / max(problem.shape))


def zeros(problem: Problem, blocks: int, seed: int) -> FloatArray:
    return np.zeros((blocks, problem.n))


def random(problem: Problem, blocks: int, seed: int) -> FloatArray:
    """The same random point in every block, uniform around the uniform start."""
    draw = np.random.default_rng(seed).random(problem.n)
    return np.tile(draw * 2.0 / max(problem.shape), (blocks, 1))


def coupling_strength(problem: Problem, steps: int = 2) -> float:
    """How strongly a block's linear term answers when the other blocks move, for costs divided by their largest.

    The norm of that answer at the uniform point, over moves that keep all row and column sums, by power iteration
    from the linear term itself: nothing in it depends on numbering, on which graph comes first or on the costs' unit.
    """
    blocks = uniform(problem, max(2, problem.order), 0)
    rest = problem.contract(blocks, 0)
    move = _balanced(problem, rest)
    if np.abs(move).max() <= 1e-9 * np.abs(rest).max():  # all pairs look alike: no direction stands out
        answer = problem.contract(2.0 * blocks, 0) - rest
        return float(np.linalg.norm(answer) / np.linalg.norm(blocks[0]) / problem.scale)
    strength = 0.0
    for _ in range(steps):
        move *= blocks[0, 0] / np.abs(move).max()
        answer = _balanced(problem, problem.contract(blocks + move, 0) - rest)
        strength = float(np.linalg.norm(answer) / np.linalg.norm(move))
        if strength <= 1e-9 * problem.scale:
            return 0.0
        move = answer
    return strength / problem.scale


def _balanced(problem: Problem, values: FloatArray) -> FloatArray:
    """`values` with the means of rows and columns taken out where a side's sums are constrained, in both orders."""
    rows, cols = (problem.layout.row, problem.rows), (problem.layout.col, problem.cols)
    results = []
    for sides in ((rows, cols), (cols, rows)):
        rest = values
        for of, constraint in sides:
            if constraint != ANY:
                rest = rest - (np.bincount(of, rest) / np.maximum(np.bincount(of), 1))[of]
        results.append(rest)
    return (results[0] + results[1]) / 2.0


STIFFNESS = 1 / 16  # of what couples the blocks: measured on House and Cars pairs with odd numbers
# The first penalty by name. Where nothing couples the blocks (unary costs) any positive one does.
RULES: dict[str, Callable[[Problem], float]] = {
    "paper": lambda problem: problem.n / 1000,
    # Six digits: the last bits depend on the order of sums, and runs amplify them.
    "auto": lambda problem: float(f"{STIFFNESS * coupling_strength(problem):.6g}") or 1.0,
}
STARTS: dict[str, Callable[[Problem, int, int], FloatArray]] = {
    "uniform": uniform,
    "zeros": zeros,
    "random": random,
}


@dataclass(frozen=True, eq=False, kw_only=True)
class ADGMState(State):
    """Blocks and duals after an iteration, and the schedule's memory."""

    blocks: FloatArray  # (max(2, D), n)
    duals: FloatArray  # (blocks − 1, n): dual e belongs to the tie of block e + 1
    rho: float
    gap: float = np.inf  # Σ ‖x_a − x_b‖² over the ties
    change: float = np.inf  # Σ t_d ‖x_d − previous x_d‖², t_d the number of ties of block d
    best_residual: float = np.inf
    at_rho: int = 0  # iterations at this ρ
    stalled: int = 0  # iterations after the warm-up, in a row, without improvement
    increases: int = 0

    @property
    def residual(self) -> float:
        """r^k of eq. (residual)."""
        return self.gap + self.change


@dataclass(frozen=True)
class ADGM:
    """Alternating Direction Graph Matching (Lê-Huu and Paragios, CVPR 2017); the defaults are the paper's.

    coupling: "star" is ADGM1, "chain" is ADGM2 (the same algorithm for pairwise problems).
    rho0: the first penalty ρ0, for costs divided by their largest absolute value; "paper" is n / 1000, "auto" is
    `STIFFNESS` times the strength with which the blocks pull at each other (`coupling_strength`).
    balance, imbalance: after every iteration ρ is multiplied by `balance` if the gap between blocks exceeds
    `imbalance` times their change, and divided by it in the opposite case (residual balancing), until ρ first grows
    because nothing improved; 1 keeps ρ as it is.
    growth: β, what ρ is multiplied by; 1 keeps it fixed. At most max_increases times.
    warmup, patience: T1 and T2. The first T1 iterations at a ρ only settle; ρ grows once more than T2 in a row after
    them brought no improvement, that is, no residual ≤ improvement · (the best so far).
    tol: ε, converged when the residual (a sum of squares over all entries) is at most this.
    start: "uniform" (all entries 1 / max(n1, n2)), "zeros" or "random" (with the seed).
    rounding: "hungarian" or "greedy", of the last block, whenever ρ grows and at the end; the best one counts.
    round_every: round every so many iterations, too; 0 does not.
    polish: improve every rounded matching by `adgm.search.polish`.
    """

    coupling: Literal["star", "chain"] = "star"
    rho0: float | Literal["paper", "auto"] = "paper"
    growth: float = 2.0
    warmup: int = 300
    patience: int = 50
    tol: float = 1e-6
    improvement: float = 0.9
    max_increases: int = 20
    balance: float = 1.0
    imbalance: float = 2.0
    max_iter: int = 10_000
    start: Literal["uniform", "zeros", "random"] = "uniform"
    seed: int = 0
    rounding: Literal["hungarian", "greedy"] = "hungarian"
    round_every: int = 0
    polish: bool = False

    def __post_init__(self) -> None:
        for name, choices in (("coupling", COUPLINGS), ("start", STARTS), ("rounding", ROUNDINGS)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, got {getattr(self, name)!r}")
        if self.rho0 not in RULES and not (isinstance(self.rho0, int | float) and 0 < self.rho0 < np.inf):
            raise ValueError(f"rho0 must be a positive number or one of {', '.join(RULES)}, got {self.rho0!r}")
        for name, low, high in (
            ("growth", 1.0, np.inf),
            ("warmup", 0, np.inf),
            ("patience", 0, np.inf),
            ("tol", 0.0, np.inf),
            ("improvement", 0.0, 1.0),
            ("max_increases", 0, np.inf),
            ("balance", 1.0, np.inf),
            ("imbalance", 1.0, np.inf),
            ("round_every", 0, np.inf),
            ("max_iter", 1, np.inf),
        ):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and low <= value <= high and np.isfinite(value)):
                raise ValueError(f"{name} must be a number from {low} to {high}, got {value!r}")

    def init(self, problem: Problem) -> ADGMState:
        n_blocks = max(2, problem.order)
        blocks = STARTS[self.start](problem, n_blocks, self.seed)
        rho = RULES[self.rho0](problem) if isinstance(self.rho0, str) else float(self.rho0)
        return ADGMState(
            iteration=0,
            x=blocks[-1],
            energy=sum(problem.energies(blocks)),
            blocks=blocks,
            duals=np.zeros((n_blocks - 1, problem.n)),
            rho=rho,
        )

    def done(self, state: ADGMState) -> bool:
        return state.converged or state.iteration >= self.max_iter

    def step(self, problem: Problem, state: ADGMState, n: int = 1) -> ADGMState:
        """n iterations further, fewer if it converges or meets max_iter."""
        n = min(n, self.max_iter - state.iteration)
        if state.converged or n <= 0:
            return state
        runtime = problem.runtime
        x, y = state.blocks.copy(), state.duals.copy()
        progress = np.array([state.rho, state.best_residual, state.at_rho, state.stalled, state.increases, 0.0, 0.0])
        schedule = (
            float(self.growth), float(self.warmup), float(self.patience), float(self.tol),
            float(self.improvement), float(self.max_increases), float(self.balance), float(self.imbalance),
        )  # fmt: skip
        parent = np.array([COUPLINGS[self.coupling](d) for d in range(1, len(x))], np.int64)
        groups = block_sets(problem)
        trace = np.empty((n, len(TRACED)))
        best, best_energy = state.best, state.best_energy
        given, use_given, block = np.empty(0), False, 0
        done, why = 0, kernels.RAN
        while done < n and why != kernels.CONVERGED:
            until = n
            if self.round_every:
                until = min(n, done + self.round_every - (state.iteration + done) % self.round_every)
            with runtime.guard():
                ran, why, block = kernels.admm(
                    runtime.tables, runtime.scale, *groups, parent, x, y, progress, schedule, runtime.tick(),
                    until - done, block, given, use_given, trace[done:],
                )  # fmt: skip
                use_given = why == kernels.MISSING
                if use_given:
                    runtime.tick()
                    given = runtime.product(block, x)
            done += ran
            due = self.round_every and why == kernels.RAN and (state.iteration + done) % self.round_every == 0
            if why == kernels.INCREASED or due:
                best, best_energy = self._better(problem, x[-1], best, best_energy)
        last = dict(zip(TRACED, trace[done - 1], strict=True))
        iteration = state.iteration + done
        converged = why == kernels.CONVERGED
        if converged or iteration >= self.max_iter:
            best, best_energy = self._better(problem, x[-1], best, best_energy)
        columns = dict(zip(TRACED, trace[:done].T.copy(), strict=True))
        return ADGMState(
            iteration=iteration,
            x=x[-1],
            energy=float(last["energy"]),
            best=best,
            best_energy=best_energy,
            converged=converged,
            trace={"residual": columns["gap"] + columns["change"], **columns},
            blocks=x,
            duals=y,
            rho=float(progress[0]),
            gap=float(last["gap"]),
            change=float(last["change"]),
            best_residual=float(progress[1]),
            at_rho=int(progress[2]),
            stalled=int(progress[3]),
            increases=int(progress[4]),
        )

    def _better(
        self, problem: Problem, x: FloatArray, best: Assignment | None, best_energy: float
    ) -> tuple[Assignment, float]:
        rounded, energy = best_rounding(problem, x, self.rounding)
        if self.polish and not (best is not None and np.array_equal(rounded, best)):
            rounded = polish(problem, rounded)[0]
            energy = problem.energy(rounded)
        return (rounded, energy) if best is None or energy < best_energy else (best, best_energy)


# A penalty that sets itself: the first one from the costs, then residual balancing with the paper's increases as a
# safeguard, earlier than the paper's because a balanced run settles sooner.
AUTO: dict[str, Any] = {
    "rho0": "auto", "balance": 1.05, "imbalance": 2.0, "warmup": 150, "patience": 30, "round_every": 10,
    "polish": True,
}  # fmt: skip


def block_sets(problem: Problem) -> tuple[Groups, Groups]:
    """The sets of block 1 and of the other blocks: the smaller side's constraint goes to the many."""
    rows = problem.layout.groups(0, KIND[problem.rows])
    cols = problem.layout.groups(1, KIND[problem.cols])
    return (cols, rows) if problem.shape[0] <= problem.shape[1] else (rows, cols)
