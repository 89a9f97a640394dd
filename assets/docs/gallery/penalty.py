"""The penalty ρ.

ADGM pulls copies of the matching together with a penalty ρ. A small one explores, a large one settles at once.
"""

# %%
# A problem of ten points among fifteen.
from adgm import ADGM, solve
from features.plots import figures
from features.recipe import Recipe

recipe = Recipe("random", {"inliers": 10, "outliers": 5, "noise": 6.0}, model="B")
problem = recipe.problem(recipe.pair())

# %%
# The published rule begins small and doubles ρ whenever the residual stops improving (triangles):
result = solve(problem, ADGM(rho0="paper"))
figures.curves(result.history, sense="similarity", best=result.energy, title="ρ₀ = n/1000, as in the paper")

# %%
# The self-tuning rule takes ρ from the costs:
tuned = solve(problem, "adgm")
figures.curves(tuned.history, sense="similarity", best=tuned.energy, title="ρ from the costs")

# %%
print(f"published: {result.iterations} iterations, score {-result.energy:.4f}")
print(f"self-tuning: {tuned.iterations} iterations, score {-tuned.energy:.4f}")
