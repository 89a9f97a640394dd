"""What the affinity methods share: a vector that flows to a fixed point, and is rounded at the end."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from adgm import _kernels as kernels
from adgm._kernels import FloatArray, Groups
from adgm.costs.affinity import Affinity, affinity
from adgm.options import check, option
from adgm.problem import Problem
from adgm.rounding import ROUNDINGS, Assignment, best_rounding, hungarian
from adgm.state import State

TINY = 1e-9


class Point(NamedTuple):
    """Where a flow is: the method's own vector v, of its own length, and what it needs to go on."""

    v: FloatArray
    parts: list[FloatArray]  # the affinities' contractions with v
    before: FloatArray  # v an iteration ago
    memory: tuple[Any, ...] = ()  # whatever else the method keeps


@dataclass(frozen=True, eq=False, kw_only=True)
class FlowState(State):
    """x is the point's v, scaled to as many pairs as a full matching has."""

    point: Point


class Move(NamedTuple):
    """An iteration's outcome: the new vector, and a matching if one was met on the way."""

    v: FloatArray
    parts: list[FloatArray] | None = None  # if known already
    found: Assignment | None = None
    memory: tuple[Any, ...] = ()
    stay: bool = False  # nothing more will change


@dataclass(frozen=True)
class Flow(ABC):
    """Iterates v ← move(v) until ‖change of v‖ ≤ tol · ‖v‖, over one iteration or two (v may swing), or max_iter times.

    rounding: "hungarian" or "greedy", of the last v.
    """

    max_iter: int = option(300, "Most iterations", "The run ends after that many iterations, converged or not.", low=1)
    tol: float = option(1e-8, "Tolerance ε", "Converged when nothing moves by more than this share.", low=0)
    rounding: Literal["hungarian", "greedy"] = option(
        "hungarian", "Rounding", "How a matching is made from the relaxed assignment."
    )

    rounds: ClassVar[bool] = True  # whether the last v is rounded

    def __post_init__(self) -> None:
        check(self)

    def begin(self, problem: Problem, s: Affinity) -> FloatArray:
        """The first v: uniform, unless a method says otherwise."""
        return np.full(problem.n, 1.0 / problem.n)

    @abstractmethod
    def move(self, problem: Problem, s: Affinity, at: Point) -> Move:
        """One iteration."""

    def matched(self, problem: Problem, s: Affinity, at: Point) -> tuple[Assignment, float]:
        """The matching that the last v stands for and its energy: v rounded, unless a method says otherwise."""
        return rounded(problem, s, at.v, self.rounding)

    def init(self, problem: Problem) -> FlowState:
        s = affinity(problem)
        v = self.begin(problem, s)
        point = Point(v, s.parts(v), v)
        total = float(v.sum())
        x = v * full_size(problem, total)
        return FlowState(iteration=0, x=x, energy=energy(problem, s, point, total), point=point)

    def done(self, state: FlowState) -> bool:
        return state.converged or state.iteration >= self.max_iter

    def step(self, problem: Problem, state: FlowState, n: int = 1) -> FlowState:
        n = min(n, self.max_iter - state.iteration)
        if state.converged or n <= 0:
            return state
        s, at, stay = affinity(problem), state.point, False
        best, best_energy = state.best, state.best_energy
        energies: list[float] = []
        residuals: list[float] = []
        while len(energies) < n and not stay:
            v, parts, found, memory, stay = self.move(problem, s, at)
            residual, total = kernels.moved(v, at.v, at.before)
            stay = stay or residual <= self.tol
            at = Point(v, s.parts(v) if parts is None else parts, at.v, memory)
            energies.append(energy(problem, s, at, total))
            residuals.append(residual)
            if found is not None and (value := problem.energy(found)) < best_energy:
                best, best_energy = found, value
        iteration = state.iteration + len(energies)
        if self.rounds and (stay or iteration >= self.max_iter):
            found, value = self.matched(problem, s, at)
            if value < best_energy:
                best, best_energy = found, value
        return FlowState(
            iteration=iteration,
            x=at.v * full_size(problem, total),
            energy=energies[-1],
            best=best,
            best_energy=best_energy,
            converged=stay,
            trace={"energy": np.array(energies), "residual": np.array(residuals)},
            point=at,
        )


def full_size(problem: Problem, total: float) -> float:
    """What a vector of this total is to be multiplied by to have that of a full matching."""
    return min(problem.shape) / total if total > 0 else 1.0


def energy(problem: Problem, s: Affinity, at: Point, total: float) -> float:
    """The energy of v at full size, in the user's units."""
    scale = full_size(problem, total)
    if not s.exact:
        return problem.energy(at.v * scale)
    result = 0.0
    for e in reversed(s.energies(at.v, at.parts)):  # order d grows with the power d of the scale
        result = (result + e) * scale
    return result


def rounded(problem: Problem, s: Affinity, v: FloatArray, rounding: str) -> tuple[Assignment, float]:
    """The matching that v stands for and its energy. Pairs may only be left out where a cost is positive."""
    x = positive(v)
    if any(s.ceilings.values()):
        return best_rounding(problem, x, rounding)
    found = ROUNDINGS[rounding](problem, x)
    if not s.exact:
        return found, problem.energy(found)
    b = found.astype(np.float64)
    return found, sum(s.energies(b, s.parts(b)))


def gradient(parts: list[FloatArray]) -> FloatArray:
    """The gradient of the score, from the contractions at a point."""
    total = parts[0].copy()
    for d, part in enumerate(parts[1:], 2):
        total += d * part
    return total


def positive(x: FloatArray) -> FloatArray:
    """x on (0, 1] in the same proportions of differences, so that rounding leaves no pair out for its sign."""
    low, high = float(x.min()), float(x.max())
    if not high > low:
        return np.ones_like(x)
    return TINY + (x - min(low, 0.0)) * ((1.0 - TINY) / (high - min(low, 0.0)))


def assign(problem: Problem, gain: FloatArray) -> Assignment:
    """The full matching of the largest total gain."""
    low, high = float(gain.min()), float(gain.max())
    spread = high - low
    return hungarian(problem, TINY + (gain - low) * ((1.0 - TINY) / spread) if spread > 0 else np.ones_like(gain))


def smaller_side(problem: Problem) -> tuple[Groups, Groups]:
    """The groups of variables of each node, those of the smaller graph first."""
    rows, cols = (problem.layout.groups(axis, kernels.BOX) for axis in (0, 1))
    return (rows, cols) if problem.shape[0] <= problem.shape[1] else (cols, rows)


def balanced(problem: Problem, v: FloatArray, sweeps: int, tol: float, dummies: bool = True) -> FloatArray:
    """v scaled by Sinkhorn's iteration so that every node's entries sum to 1, those of the larger graph with
    the help of dummy nodes on the other side."""
    scaled = v.copy()
    extra = abs(problem.shape[0] - problem.shape[1]) if dummies else 0
    kernels.balance(scaled, *smaller_side(problem), extra, sweeps, tol)
    return scaled
