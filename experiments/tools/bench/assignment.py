"""Quadratic assignment: what ADGM+ finds in five seconds of computing, beside the best of a much longer run.

QAPLIB's instances are not here; these are drawn by the rules of its authors: Nugent's (distances on a grid, few flows)
and both of Taillard's (Comparison of iterative searches for the quadratic assignment problem, Location Science 1995).
"""

from collections.abc import Callable

import numpy as np

from adgm import Problem, solve
from experiments.tools.bench.solver import Floats, Reading, reading
from features.files.problem_files.qaplib import qap

LIMIT, LONG_LIMIT = 5.0, 60.0
FLOWS, SHARES = (0, 1, 2, 3, 4, 5, 6, 10), (0.38, 0.14, 0.15, 0.08, 0.06, 0.14, 0.02, 0.03)  # of nug30
TARGET = "≤ 0.1"


def nugent(n: int, seed: int) -> tuple[Floats, Floats]:
    """Distances on a grid of five columns, and flows of the shares that his have."""
    y, x = np.divmod(np.arange(n), 5)
    flows = np.triu(np.random.default_rng(seed).choice(FLOWS, (n, n), p=SHARES), 1).astype(float)
    return (abs(y[:, None] - y) + abs(x[:, None] - x)).astype(float), flows + flows.T


def even(n: int, seed: int) -> tuple[Floats, Floats]:
    """Taillard's first rule: flows and distances drawn evenly."""
    a, b = (np.triu(each, 1) for each in np.random.default_rng(seed).integers(0, 100, (2, n, n)).astype(float))
    return a + a.T, b + b.T


def clustered(n: int, seed: int) -> tuple[Floats, Floats]:
    """Taillard's second rule: places in clusters, and flows, not symmetric, over many powers of ten."""
    rng = np.random.default_rng(seed)
    places: list[complex] = []
    while len(places) < n:
        centre = rng.uniform(0, 1000) * np.exp(2j * np.pi * rng.random())
        count = rng.integers(1, 6)
        places += list(centre + rng.uniform(0, 100, count) * np.exp(2j * np.pi * rng.random(count)))
    at = np.array(places[:n])
    flows = np.floor(10.0 ** rng.uniform(-10, 5, (n, n)))
    np.fill_diagonal(flows, 0.0)
    return np.floor(abs(at[:, None] - at)), flows


RULES: dict[str, Callable[[int, int], tuple[Floats, Floats]]] = {
    "nug": nugent,
    "tai…a": even,
    "tai…b": clustered,
}


def compared(problem: Problem, limit: float, long_limit: float) -> tuple[float, float]:
    """By how many percent the shorter run is above the best of both, and the seconds until it had its own."""
    short, long = (solve(problem, "adgm+", time_limit=each) for each in (limit, long_limit))
    best = min(short.energy, long.energy)
    return 100.0 * (short.energy - best) / (abs(best) or 1.0), short.seconds_to_best


def readings(
    sizes: tuple[int, ...] = (12, 20, 30, 40, 50), limit: float = LIMIT, long_limit: float = LONG_LIMIT
) -> list[Reading]:
    """The mean gap of every rule, and how many are as good as the long run's."""
    rows = []
    for name, rule in RULES.items():
        found = [compared(qap(*rule(n, n)).problem, limit, long_limit) for n in sizes]
        gaps = [gap for gap, _ in found]
        note = f"{sum(gap <= 0 for gap in gaps)} of {len(gaps)} as good as in {long_limit:g} s; the best after "
        note += ", ".join(f"{seconds:.2f}" for _, seconds in found) + " s"
        label = f"quadratic assignment by the rule of {name}, {sizes[0]} to {sizes[-1]}, ADGM+ in {limit:g} s: mean gap"
        rows.append(reading(label, float(np.mean(gaps)), "%", TARGET, note))
    return rows
