"""What a method is: a frozen record of options with init, step and done, and the states it goes through."""

from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

import numpy as np

from adgm._kernels import FloatArray
from adgm.machine.short_repr import ShortRepr
from adgm.problem import Problem
from adgm.rounding import Assignment

Status = Literal["converged", "iteration limit", "time limit", "stopped"]


@dataclass(frozen=True, eq=False, kw_only=True)
class State(ShortRepr):
    """Where a method is; methods extend it with what they need to go on.

    Parameters
    ----------
    iteration : int
        Iterations so far.
    x : array (n,)
        The current relaxed assignment, from 0 to 1, over the problem's variables.
    energy : float
        Of the relaxed assignment, in the units of the costs.
    best, best_energy : bool array (n,) or None, float
        The best matching rounded so far, and its energy.
    converged : bool
        Whether the method is at its end.
    trace : dict of arrays
        A value per iteration since the state before, by name.

    Examples
    --------
    >>> import numpy as np
    >>> from adgm import ADGM, Dense, Problem
    >>> state = ADGM().init(Problem((2, 2), [Dense(np.eye(2))]))
    >>> state.iteration, state.x.tolist()
    (0, [0.5, 0.5, 0.5, 0.5])
    """

    iteration: int
    x: FloatArray  # the current relaxed assignment, over the problem's variables
    energy: float = np.inf  # of the relaxed assignment, in the units of the costs
    best: Assignment | None = None  # the best matching rounded so far
    best_energy: float = np.inf
    converged: bool = False
    trace: dict[str, FloatArray] = field(default_factory=dict)  # a value per iteration since the state before

    def note(self, problem: Problem, assignment: Assignment) -> str:
        """What people should know about a run that ends here with that matching, in sentences; empty: nothing."""
        return ""


S = TypeVar("S", bound=State)


class Method(Protocol[S]):
    """What `iterate` and `solve` ask of a solver; a frozen record of its options."""

    def init(self, problem: Problem) -> S: ...

    def step(self, problem: Problem, state: S, n: int = 1) -> S:
        """At most n iterations further."""
        ...

    def done(self, state: S) -> bool: ...
