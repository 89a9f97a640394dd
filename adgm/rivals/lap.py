"""Linear assignment on the unary costs alone (H. W. Kuhn, The Hungarian method for the assignment problem, 1955):
everybody's reference point."""

from dataclasses import dataclass

import numpy as np

from adgm.problem import ANY, AT_MOST_ONE, Problem
from adgm.rounding import Assignment, hungarian
from adgm.state import State


@dataclass(frozen=True)
class LAP:
    """The optimum of the unary costs, whatever else the problem holds; exact for problems of order 1.

    Where points may stay unmatched, pairs of positive cost are left out, unless the whole energy likes them better in.
    """

    def init(self, problem: Problem) -> State:
        return State(iteration=0, x=np.full(problem.n, 1.0 / max(problem.shape)))

    def done(self, state: State) -> bool:
        return state.converged

    def step(self, problem: Problem, state: State, n: int = 1) -> State:
        if state.converged or n <= 0:
            return state
        unary = problem.unary
        gain = 0.5 - 0.5 * unary / (float(np.abs(unary).max()) or 1.0)  # on [0, 1], 0.5 where the cost is 0
        choices = [hungarian(problem, gain, 0.5 if ANY in (problem.rows, problem.cols) else -1.0)]
        if problem.rows == problem.cols == AT_MOST_ONE:
            choices.append(self._paying(problem, gain - 0.5))
        energies = [problem.worth(choice) for choice in choices]
        best = int(np.argmin(energies))
        return State(
            iteration=1,
            x=choices[best].astype(np.float64),
            energy=energies[best],
            best=choices[best],
            best_energy=energies[best],
            converged=True,
            trace={"energy": np.array([energies[best]]), "residual": np.zeros(1)},
        )

    @staticmethod
    def _paying(problem: Problem, gain: np.ndarray) -> Assignment:
        """The matching of largest total gain, of whatever size."""
        from scipy.optimize import linear_sum_assignment

        weight = problem.matrix(np.maximum(gain, 0.0))
        chosen = np.zeros(problem.shape, bool)
        chosen[linear_sum_assignment(weight, maximize=True)] = True
        kept: Assignment = chosen[problem.layout.row, problem.layout.col] & (gain > 0.0)
        return kept
