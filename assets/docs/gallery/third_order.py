"""Third order: turned and scaled.

Lengths and directions of edges change when a picture is turned and scaled; the angles of triangles do not. A model of
third order compares triangles.
"""

# %%
# Twelve points, turned by 70° and scaled by half, with four outliers. Model C compares edges:
from features import match
from features.recipe import Recipe

turned = {"inliers": 12, "outliers": 4, "rotation": 70.0, "scale": 1.5}
match(Recipe("random", turned, model="C"))

# %%
# The same points with triangles:
match(Recipe("random", turned, model="third"))
