"""Points without pictures.

Two sets of points are enough. Their Delaunay graphs are compared, and the smaller side is matched completely.
"""

# %%
# The right points are the left ones, turned, scaled, shuffled and moved a little; three more have no partner.
import numpy as np

from features import match

rng = np.random.default_rng(3)
left = rng.uniform(0, 100, (15, 2))
turn = np.array([[0.94, -0.34], [0.34, 0.94]])
order = rng.permutation(18)
right = np.concatenate([1.1 * left @ turn + rng.normal(0, 0.5, left.shape), rng.uniform(0, 100, (3, 2))])[order]
truth = [int(np.flatnonzero(order == i)[0]) for i in range(15)]

# %%
match(None, None, points=(left, right), truth=truth, name="fifteen points and eighteen")
