"""NumPy fallback: run ADGM in plain NumPy until its kernels are compiled, so that a run need not wait for them."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from adgm import Problem, reference
from adgm._kernels import FloatArray
from adgm.machine.numpy_fallback import compiled
from adgm.solver import ADGM, TRACED, ADGMState

LARGEST = 1500  # variables: NumPy visits all pairs of them, which takes some milliseconds for this many
LARGEST_SPARSE = 400_000  # cells of a matrix with few candidates, as for photographs: only its rows are sorted


def quick_enough(method: Any, order: int, shape: tuple[int, int], *, sparse: bool = False) -> bool:
    """Whether NumPy is fast enough; a `sparse` problem has few candidates, and costs for few pairs of them."""
    most = LARGEST_SPARSE if sparse else LARGEST
    return isinstance(method, ADGM) and order <= 2 and shape[0] * shape[1] <= most


@dataclass(frozen=True, eq=False, kw_only=True)
class FallbackState(ADGMState):
    """A state with the iterates that still have to be rounded by compiled code."""

    due: tuple[FloatArray, ...] = ()


@dataclass(frozen=True, eq=False)
class NumpyFallback:
    """A method that iterates with the NumPy reference until `ready`, then with the kernels; the iterates are equal.

    Rounding (and polishing) needs kernels, so it is postponed until they are ready: a run whose iterations are done
    before that waits, as `lacks_kernels` says. Its problem must be a NumPy one, see `adgm.machine.numpy_fallback`.
    """

    method: ADGM
    ready: Callable[[], bool]  # whether the kernels are compiled

    def __getattr__(self, name: str) -> Any:
        return getattr(self.method, name)  # its options are the method's

    def init(self, problem: Problem) -> FallbackState:
        return FallbackState(**_values(self.method.init(problem)))

    def done(self, state: FallbackState) -> bool:
        return self.method.done(state) and not state.due

    def lacks_kernels(self, state: FallbackState | None) -> bool:
        """Whether nothing can be done before the kernels are compiled."""
        return state is not None and self.method.done(state) and bool(state.due) and not self.ready()

    def step(self, problem: Problem, state: FallbackState, n: int = 1) -> FallbackState:
        """Do at most n iterations."""
        if self.ready():
            state = self._settled(problem, state)
            return replace(state, **_values(self.method.step(problem, state, n)))
        return self._by_reference(problem, state, n)

    def _by_reference(self, problem: Problem, state: FallbackState, n: int) -> FallbackState:
        """Do at most n iterations with the reference."""
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

    def _settled(self, problem: Problem, state: FallbackState) -> FallbackState:
        """Round what was postponed, and let the problem use compiled code from now on."""
        compiled(problem)
        best, energy = state.best, state.best_energy
        for x in state.due:
            best, energy = self.method.better(problem, x, best, energy)
        return replace(state, best=best, best_energy=energy, due=())


def _values(state: ADGMState) -> dict[str, Any]:
    """The fields of `ADGMState`, without those of a subclass."""
    return {one.name: getattr(state, one.name) for one in fields(ADGMState)}
