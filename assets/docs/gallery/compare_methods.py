"""The same problem by several methods.

One pair, one model, every method that takes it: who finds the lowest cost, and is that the truth?
"""

# %%
# The best in bold.
from features.judge.comparison import compare, grid_figure, table
from features.recipe import Recipe

recipe = Recipe("random", {"inliers": 18, "outliers": 10, "noise": 5.0}, model="B")
pair = recipe.pair()
rows = list(compare(recipe, pair, recipe.problem(pair), ["adgm", "adgm+", "adgm1", "rrwm", "ipfp", "sm"]))
table(rows)

# %%
# What they found, a picture for each.
grid_figure(pair, rows)
