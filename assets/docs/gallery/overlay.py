"""Seen from another side.

Two views of a small rendered scene, 40° apart. Model B compares distances, model C also directions: here distances are
enough.
"""

# %%
from features import match
from features.recipe import Recipe

views = {"right": 40, "points": 25}
found = match(Recipe("turntable", views, model="B"))
found

# %%
# Thicker lines earn more of the score; the graph is the one that the model sees.
from features.plots import figures

figures.matches(found.pair, found.pairs, graph="delaunay", strength=found.strengths)
