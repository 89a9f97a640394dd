"""How ADGM1 ends for each first penalty ρ₀, over a hundred random problems: measured once, shipped beside this file.

    python -m features.penalty_study     solves them anew and writes penalty_study.csv (three minutes)

The problems are the one of the Learn page's chapter on ρ and its siblings: the same data set with other seeds.
"""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adgm import METHODS, solve
from features.explain.lessons import PENALTY, RHOS, problem_of, run

Floats = NDArray[np.float64]
FILE = Path(__file__).with_name("penalty_study.csv")
SEEDS = 100
REACHED = 1e-5  # energies that differ by less are the same one: the file has six digits after the point
BAND = (0.1, 0.9)  # four of five problems lie between these quantiles


@dataclass(frozen=True, eq=False)
class Study:
    """A row per problem, a column per first penalty of `RHOS`."""

    best: Floats  # the energy that ADGM+ finds
    energies: Floats
    iterations: Floats

    @property
    def excess(self) -> Floats:
        """By how much an energy is above the best one, in percent of it."""
        return 100.0 * np.maximum(self.energies - self.best[:, None], 0.0) / np.abs(self.best[:, None])

    def reached(self, rho: float) -> int:
        """In how many problems this first penalty ends at the best energy."""
        return int((self.energies - self.best[:, None] <= REACHED)[:, RHOS.index(rho)].sum())

    def usual_iterations(self, rho: float) -> float:
        """Their median."""
        return float(np.median(self.iterations[:, RHOS.index(rho)]))

    def compared(self, one: float, other: float) -> tuple[int, int, int]:
        """In how many problems the one penalty ends lower than, as high as and higher than the other."""
        apart = self.energies[:, RHOS.index(one)] - self.energies[:, RHOS.index(other)]
        return int((apart < -REACHED).sum()), int((abs(apart) <= REACHED).sum()), int((apart > REACHED).sum())


def row(seed: int, rhos: tuple[float, ...] = RHOS) -> tuple[float, list[float], list[float]]:
    """Of one problem: the energy that ADGM+ finds, and for every penalty the final energy and the iterations."""
    problem = problem_of(replace(PENALTY, dataset_params={**PENALTY.dataset_params, "seed": seed}))
    runs = [run(problem, METHODS["adgm1"].make(rho0=rho)) for rho in rhos]
    best = solve(problem, METHODS["adgm+"].make()).energy
    return best, [one.energy for one in runs], [float(one.iterations) for one in runs]


def write(path: Path = FILE) -> None:
    rows = [["seed", "best", *(f"energy {rho:g}" for rho in RHOS), *(f"iterations {rho:g}" for rho in RHOS)]]
    for seed in range(SEEDS):
        best, energies, iterations = row(seed)
        rows.append([f"{seed}", *(f"{value:.6f}" for value in (best, *energies)), *(f"{n:.0f}" for n in iterations)])
    path.write_text("".join(f"{','.join(one)}\n" for one in rows), encoding="utf-8")


@cache
def study() -> Study:
    """The shipped one."""
    table = np.loadtxt(FILE, delimiter=",", skiprows=1)
    count = len(RHOS)
    return Study(table[:, 1], table[:, 2 : 2 + count], table[:, 2 + count :])


if __name__ == "__main__":
    write()
