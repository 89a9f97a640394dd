"""A run as a moving picture.

The relaxed assignment begins with every point matched a little to every other one, and settles. `animation()` plays the
run in a notebook; its `save` writes the GIF.
"""

# %%
from features import match
from features.recipe import Recipe

found = match(Recipe("random", {"inliers": 14, "outliers": 4, "noise": 2.0}, model="B"))
found.animation(640)

# %%
# The same run as a matrix, at its end: a square for what was chosen.
from features.plots import figures

figures.assignment(found.result.x, found.pairs, found.pair.truth, title="the relaxed assignment")
