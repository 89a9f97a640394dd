"""A run that need not wait for the compiler: ADGM in plain NumPy until the compiled code is there."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from adgm import Problem, reference
from adgm._kernels import FloatArray
from adgm.machine.numpy_fallback import compiled
from adgm.solver import ADGM, TRACED, ADGMState

LARGEST = 1500  # variables: NumPy walks over all pairs of them, some thousandths of a second for as many
LARGEST_SPARSE = 400_000  # cells of a matrix with few candidates, as of photographs: only its rows are sorted


def possible(method: Any, order: int, shape: tuple[int, int], *, sparse: bool = False) -> bool:
    """Whether NumPy is quick enough; `sparse` problems have few candidates, and costs for few pairs of them."""
    most = LARGEST_SPARSE if sparse else LARGEST
    return isinstance(method, ADGM) and order <= 2 and shape[0] * shape[1] <= most


@dataclass(frozen=True, eq=False, kw_only=True)
class Borrowed(ADGMState):
    """A state with the iterates that are still to be rounded as the method would have done it."""

    due: tuple[FloatArray, ...] = ()


@dataclass(frozen=True, eq=False)
class Meanwhile:
    """A method whose iterations are the reference's until `ready`, then compiled: the same ones either way.

    What it would have rounded (and polished) on the way is done when that code is there: until then a run whose
    iterations are over `lacks` it. Its problem is `adgm.machine.numpy_fallback.plain`.
    """

    method: ADGM
    ready: Callable[[], bool]  # the compiled code

    def __getattr__(self, name: str) -> Any:
        return getattr(self.method, name)  # its options are the method's

    def init(self, problem: Problem) -> Borrowed:
        return Borrowed(**_values(self.method.init(problem)))

    def done(self, state: Borrowed) -> bool:
        return self.method.done(state) and not state.due

    def lacks(self, state: Borrowed | None) -> bool:
        """Whether there is nothing to do until the compiled code is there."""
        return state is not None and self.method.done(state) and bool(state.due) and not self.ready()

    def step(self, problem: Problem, state: Borrowed, n: int = 1) -> Borrowed:
        """At most n iterations further."""
        if self.ready():
            state = self._settled(problem, state)
            return replace(state, **_values(self.method.step(problem, state, n)))
        return self._borrow(problem, state, n)

    def _borrow(self, problem: Problem, state: Borrowed, n: int) -> Borrowed:
        """The same by the reference."""
        rows: list[tuple[float, ...]] = []
        due, every = list(state.due), self.method.round_every
        while len(rows) < n and not self.method.done(state):
            made = reference.step(problem, self.method, state, Problem.contract)
            energy = sum(problem.energies(made.blocks))
            rows.append((made.gap, made.change, state.rho, energy))  # the ρ of this iteration
            grown, often = made.increases > state.increases, every and made.iteration % every == 0
            turned = made.stage != state.stage
            state = replace(state, **_values(made) | {"energy": energy})
            if grown or often or turned or self.method.done(state):
                due.append(made.x)
        columns = dict(zip(TRACED, np.array(rows).T.copy(), strict=True)) if rows else {}
        trace = {"residual": columns["gap"] + columns["change"], **columns} if rows else {}
        return replace(state, trace=trace, due=tuple(due))

    def _settled(self, problem: Problem, state: Borrowed) -> Borrowed:
        """Nothing is due any more, and the problem is computed by compiled code."""
        compiled(problem)
        best, energy = state.best, state.best_energy
        for x in state.due:
            best, energy = self.method.better(problem, x, best, energy)
        return replace(state, best=best, best_energy=energy, due=())


def _values(state: ADGMState) -> dict[str, Any]:
    """What an `ADGMState` holds, without what a subclass adds."""
    return {one.name: getattr(state, one.name) for one in fields(ADGMState)}
