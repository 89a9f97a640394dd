"""A proof that nothing is better.

ADGM+ looks for a bound while it searches: no matching costs less. Where the two meet, the matching is proved optimal.
"""

# %%
# Quadratic assignment: eight machines with a flow between every two of them, to be put on eight places.
import numpy as np

from adgm import EXACTLY_ONE, Formula, Problem, solve
from adgm.bounds.bound import bound
from features.plots import figures

rng = np.random.default_rng(2)
flow, way = (np.triu(rng.integers(0, 9, (8, 8)), 1).astype(float) for _ in range(2))
flow, way = flow + flow.T, way + way.T
costs = Formula(flow, way, lambda f, w: (f * w)[..., 0])
problem = Problem((8, 8), [costs], rows=EXACTLY_ONE, cols=EXACTLY_ONE)
for method in ("rrwm", "adgm1", "adgm", "adgm+"):
    print(f"{method:6}", solve(problem, method, time_limit=10).energy)

# %%
# `bound` asks about any matching: how far is it from the best there is?
result = solve(problem, "adgm+", time_limit=10)
print(bound(problem, result.assignment))
print(bound(problem, solve(problem, "adgm1").assignment))

# %%
# Which machine stands on which place.
figures.assignment(problem.matrix(result.assignment.astype(float)), result.pairs, title=f"energy {result.energy:g}")
