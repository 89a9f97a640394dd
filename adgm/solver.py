"""Alternating Direction Graph Matching: one update over two couplings, with the paper's penalty schedule.

`escape` goes beyond the paper: a price on every match leads the published algorithm to the empty matching, and
`adgm.prices` away from it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

from adgm import _kernels as kernels
from adgm import prices
from adgm._kernels import FloatArray, Groups, Price
from adgm.options import check, option
from adgm.penalty import RULES, Progress, Schedule
from adgm.problem import Problem
from adgm.projections import KIND
from adgm.rounding import Assignment, best_rounding
from adgm.search.hyperedges import or_from_hyperedges
from adgm.search.local_search import polish
from adgm.state import State

# The block that block d (0-based, d ≥ 1) is tied to: (27) equa1 is ADGM1, (28) equa2 is ADGM2.
COUPLINGS: dict[str, Callable[[int], int]] = {"star": lambda d: 0, "chain": lambda d: d - 1}
TRACED = ("gap", "change", "rho", "energy")
NOTHING: FloatArray = np.empty(0)


def uniform(problem: Problem, blocks: int, seed: int) -> FloatArray:
    return np.full((blocks, problem.n), 1.0 / max(problem.shape))


def zeros(problem: Problem, blocks: int, seed: int) -> FloatArray:
    return np.zeros((blocks, problem.n))


def random(problem: Problem, blocks: int, seed: int) -> FloatArray:
    """The same random point in every block, uniform around the uniform start."""
    draw = np.random.default_rng(seed).random(problem.n)
    return np.tile(draw * 2.0 / max(problem.shape), (blocks, 1))


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
    stage: int = prices.AS_GIVEN

    @property
    def residual(self) -> float:
        """r^k of (12) residual."""
        return self.gap + self.change

    @property
    def progress(self) -> Progress:
        return Progress(float(self.rho), float(self.best_residual), self.at_rho, self.stalled, self.increases)

    def note(self, problem: Problem, assignment: Assignment) -> str:
        empty = self.converged and self.stage == prices.AS_GIVEN and not assignment.any()
        return prices.TRAPPED if empty and prices.tempting(problem) else ""


S = TypeVar("S", bound=ADGMState)
AFRESH = Progress(0.0, np.inf, 0, 0, 0)._asdict()


@dataclass(frozen=True)
class ADGM:
    """Alternating Direction Graph Matching (Lê-Huu and Paragios, CVPR 2017); the defaults are the paper's.

    Every option is one field: its range, its label and its help stand there, for pages and command lines to read.

    Parameters
    ----------
    coupling : "star" or "chain"
        ADGM1 or ADGM2.
    rho0, growth, warmup, patience, improvement, max_increases : numbers
        The penalty ρ (for costs divided by the largest one): its first value, or "paper" or "auto", and when it grows.
    balance, imbalance : float
        Whether ρ also follows the balance of gap and change; 1 does not.
    tol, max_iter : float, int
        When a run has converged (of the residual r), and the most iterations.
    start, seed : str, int
        Where the blocks begin: "uniform", "zeros" or "random".
    rounding, round_every, polish, escape
        How and when matchings are made of the relaxed assignment.

    Raises
    ------
    ValueError
        An option is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> from adgm import ADGM, Dense, Problem, solve
    >>> result = solve(Problem((2, 2), [Dense(-np.eye(2))]), ADGM(coupling="chain", growth=1.5))
    >>> result.matching.tolist()
    [0, 1]
    """

    coupling: Literal["star", "chain"] = option(
        "star", "Coupling", "star is ADGM1, chain is ADGM2; the same algorithm for pairwise problems."
    )
    rho0: float | Literal["paper", "auto"] = option(
        "paper",
        "First penalty ρ₀",
        "The penalty on disagreement between the blocks, for costs divided by the largest one. Small values explore, "
        "large values converge. paper is n/1000; auto is a share of the strength with which the blocks pull at each "
        "other.",
        above=0,
    )
    growth: float = option(
        2.0, "Growth of ρ, β", "ρ ← β·ρ whenever the residual stops improving. 1 keeps ρ fixed.", low=1
    )
    warmup: int = option(
        300, "Iterations to settle, T₁", "At every ρ, this many iterations pass before patience is counted.", low=0
    )
    patience: int = option(
        50,
        "Iterations without improvement, T₂",
        "After T₁, more than this many iterations in a row without improvement make ρ grow.",
        low=0,
    )
    tol: float = option(
        1e-6,
        "Tolerance ε of the residual",
        "Converged when r, the sum of squared gaps and changes of all blocks, is at most ε.",
        low=0,
    )
    improvement: float = option(
        0.9,
        "An improvement is r ≤ this × best r",
        "What counts as an improvement of the residual r.",
        low=0,
        high=1,
    )
    max_increases: int = option(20, "Most increases of ρ", "After that many increases ρ stays as it is.", low=0)
    balance: float = option(
        1.0,
        "Balancing: ρ changes by this factor",
        "After every iteration ρ is multiplied or divided by this, whichever brings the gap between the blocks and "
        "their change closer together, until ρ first grows because nothing improved. 1 keeps ρ as it is, as in the "
        "paper.",
        low=1,
    )
    imbalance: float = option(
        2.0,
        "Balancing: when gap and change differ by",
        "How many times larger one of the two must be for ρ to change.",
        low=1,
    )
    max_iter: int = option(
        10_000, "Most iterations", "The run ends after that many iterations, converged or not.", low=1
    )
    start: Literal["uniform", "zeros", "random"] = option(
        "uniform", "Start", "Where all blocks begin: 1/max(n₁, n₂) everywhere, zero, or random with the seed."
    )
    seed: int = option(0, "Seed", "The same seed gives the same run.", low=0)
    rounding: Literal["hungarian", "greedy"] = option(
        "hungarian",
        "Rounding",
        "How a matching is made from the relaxed assignment: of the last block, whenever ρ grows and at the end; the "
        "best one counts.",
    )
    round_every: int = option(
        0, "Iterations between two roundings", "Round every so many iterations, too; 0 does not.", low=0
    )
    polish: bool = option(False, "Polish", "Improve every rounded matching by a local search.")
    escape: bool = option(
        False,
        "Leave the empty matching",
        "Where matches cost a price and both sides may stay unmatched, a run may end empty although other matchings "
        "are better. It then starts again with the price within the product of all blocks, where it weighs no more "
        "than the rewards do, and goes on from there with the price as it is. No matching costs anything else.",
    )

    def __post_init__(self) -> None:
        check(self)

    @property
    def schedule(self) -> Schedule:
        """The options that the penalty follows."""
        values = (getattr(self, name) for name in Schedule._fields)
        kinds = Schedule.__annotations__.values()
        return Schedule(*(kind(value) for kind, value in zip(kinds, values, strict=True)))

    def init(self, problem: Problem) -> ADGMState:
        n_blocks = max(2, problem.order)
        blocks = STARTS[self.start](problem, n_blocks, self.seed)
        return ADGMState(
            iteration=0,
            x=blocks[-1],
            energy=float(problem.contract(blocks, 0) @ blocks[0]),  # every order has the first mode
            blocks=blocks,
            duals=np.zeros((n_blocks - 1, problem.n)),
            rho=self.first_penalty(problem),
        )

    def first_penalty(self, problem: Problem) -> float:
        return RULES[self.rho0](problem) if isinstance(self.rho0, str) else float(self.rho0)

    def price(self, problem: Problem, stage: int) -> Price:
        """What the iterations have within the product of the blocks."""
        return prices.within(problem) if stage == prices.WITHIN else prices.FREE

    def posed(self, problem: Problem, stage: int) -> Problem:
        """The problem as the iterations have it: what pairs cost may stand at the order of the rewards."""
        return problem.derived(prices.raised) if stage == prices.WITHIN else problem

    def onward(self, problem: Problem, state: S) -> S:
        """The state, or where the next stage of `adgm.prices` begins if this one has converged; x is still its end."""
        if not state.converged:
            return state
        if state.stage == prices.WITHIN:
            return replace(state, converged=False, stage=prices.AGAIN, **(AFRESH | {"rho": state.rho}))
        first = self.escape and state.stage == prices.AS_GIVEN
        if not (first and prices.tempting(problem) and prices.lost(problem, state.x)):
            return state
        start = STARTS[self.start if self.start == "random" else "uniform"]  # no run gets away from zeros
        return replace(
            state,
            converged=False,
            stage=prices.WITHIN,
            blocks=start(problem, len(state.blocks), self.seed),
            duals=np.zeros_like(state.duals),
            **(AFRESH | {"rho": self.first_penalty(problem)}),
        )

    def done(self, state: ADGMState) -> bool:
        return state.converged or state.iteration >= self.max_iter

    def step(self, problem: Problem, state: ADGMState, n: int = 1) -> ADGMState:
        """n iterations further, fewer if it converges or meets max_iter."""
        until = min(state.iteration + n, self.max_iter)
        traces: list[dict[str, FloatArray]] = []
        while state.iteration < until and not state.converged:
            state = self.onward(problem, self._iterated(problem, state, until - state.iteration))
            traces.append(state.trace)
        if len(traces) > 1:
            state = replace(state, trace={name: np.concatenate([t[name] for t in traces]) for name in traces[0]})
        return state

    def _iterated(self, problem: Problem, state: ADGMState, n: int) -> ADGMState:
        """n iterations further, fewer if they converge."""
        x, y = state.blocks.copy(), state.duals.copy()
        parent = np.array([COUPLINGS[self.coupling](d) for d in range(1, len(x))], np.int64)
        price, scale = self.price(problem, state.stage), problem.scale
        runtime = self.posed(problem, state.stage).runtime
        shared = runtime.tables, price, scale, *block_sets(problem), parent, x, y, self.schedule
        progress, pending = state.progress, kernels.Pending()
        given = NOTHING
        trace = np.empty((n, len(TRACED)))
        best, best_energy = state.best, state.best_energy
        done, why = 0, kernels.RAN
        while done < n and why != kernels.CONVERGED:
            until = n
            if self.round_every:
                until = min(n, done + self.round_every - (state.iteration + done) % self.round_every)
            with runtime.guard():
                ran, why, progress, pending = kernels.admm(
                    *shared, progress, pending, runtime.tick(), until - done, given, trace[done:]
                )
                given = NOTHING
                if why == kernels.MISSING:
                    runtime.tick()
                    given = runtime.product(pending.block, x)
            done += ran
            due = self.round_every and why == kernels.RAN and (state.iteration + done) % self.round_every == 0
            if why == kernels.INCREASED or due:
                best, best_energy = self.better(problem, x[-1], best, best_energy)
        iteration, converged = state.iteration + done, why == kernels.CONVERGED
        if converged or iteration >= self.max_iter:
            best, best_energy = self.better(problem, x[-1], best, best_energy)
        columns = dict(zip(TRACED, trace[:done].T.copy(), strict=True))
        return ADGMState(
            iteration=iteration,
            x=x[-1],
            best=best,
            best_energy=best_energy,
            converged=converged,
            trace={"residual": columns["gap"] + columns["change"], **columns},
            blocks=x,
            duals=y,
            gap=float(columns["gap"][-1]),
            change=float(columns["change"][-1]),
            energy=float(columns["energy"][-1]),
            stage=state.stage,
            **progress._asdict(),
        )

    def better(
        self, problem: Problem, x: FloatArray, best: Assignment | None, best_energy: float
    ) -> tuple[Assignment, float]:
        """What an iterate rounds to, polished if wanted, or the best so far if that is no worse."""
        rounded, energy = best_rounding(problem, x, self.rounding)
        if self.polish and not (best is not None and np.array_equal(rounded, best)):
            rounded = polish(problem, rounded)[0]
            energy = problem.energy(rounded)
            if self.escape and (other := or_from_hyperedges(problem, rounded, energy)) is not rounded:
                rounded, energy = other, problem.energy(other)
        return (rounded, energy) if best is None or energy < best_energy else (best, best_energy)


def block_sets(problem: Problem) -> tuple[Groups, Groups]:
    """(25) mr and (26) mc: the sets of block 1 and of the others; the smaller side's constraint goes to the many."""
    rows = problem.layout.groups(0, KIND[problem.rows])
    cols = problem.layout.groups(1, KIND[problem.cols])
    return (cols, rows) if problem.shape[0] <= problem.shape[1] else (rows, cols)
