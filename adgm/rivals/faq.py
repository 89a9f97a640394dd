"""Fast approximate quadratic assignment: J. T. Vogelstein et al., Fast approximate quadratic programming for graph
matching, PLOS ONE 2015. The program is SciPy's."""

from dataclasses import dataclass

import numpy as np

from adgm.costs.koopmans_beckmann import matrices
from adgm.machine.deadline import check_time
from adgm.options import check, option
from adgm.problem import Problem
from adgm.state import State


@dataclass(frozen=True)
class FAQ:
    """Frank–Wolfe over doubly stochastic matrices, for problems Σ A[i, j] · B[p(i), p(j)] only: its gradient is a few
    products of n × n matrices, where n² × n² costs would have to be visited.

    An iteration here is a start with all that follows from it: the first from the barycentre, others from near it.
    """

    starts: int = option(1, "Starts", "The first from the barycentre, others from random points near it.", low=1)
    max_iter: int = option(30, "Most iterations of a start", "Of SciPy's Frank–Wolfe.", low=1)
    tol: float = option(0.03, "Tolerance ε", "A start ends when its matrix moves by less.", above=0)
    seed: int = option(0, "Seed", "The same seed gives the same random starts.", low=0)

    def __post_init__(self) -> None:
        check(self)

    def init(self, problem: Problem) -> State:
        return State(iteration=0, x=np.full(problem.n, 1.0 / max(problem.shape)))

    def done(self, state: State) -> bool:
        return state.iteration >= self.starts

    def step(self, problem: Problem, state: State, n: int = 1) -> State:
        from scipy.optimize import quadratic_assignment

        found = matrices(problem)
        if found is None:
            raise ValueError("FAQ takes problems whose costs are products A[i, j] · B[s, t] only, as in QAPLIB's files")
        best, best_energy, energies = state.best, state.best_energy, []
        for start in range(state.iteration, min(state.iteration + n, self.starts)):
            check_time()
            settings = {"maxiter": self.max_iter, "tol": self.tol, "rng": np.random.default_rng([self.seed, start])}
            settings["P0"] = "randomized" if start else "barycenter"
            partner = quadratic_assignment(*found, method="faq", options=settings).col_ind
            matching = np.eye(len(partner), dtype=bool)[partner].reshape(-1)
            energies.append(problem.energy(matching))
            if energies[-1] < best_energy:
                best, best_energy = matching, energies[-1]
        if not energies or best is None:
            return state
        iteration = state.iteration + len(energies)
        return State(
            iteration=iteration,
            x=best.astype(np.float64),
            energy=best_energy,
            best=best,
            best_energy=best_energy,
            converged=iteration >= self.starts,
            trace={"energy": np.array(energies)},
        )
