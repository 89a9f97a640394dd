"""A model written as a formula, pairs of points, and energies to compare problems by."""

import numpy as np

from adgm import Problem
from features.pairs import Pair, View
from features.points.keypoints import Keypoints

SPRINGS = """\
name        Springs on a graph   # a comment
points      w * shape_context
edges       similarity exp(-(d1 - d2)^2 / s2)          on delaunay of left
triangles   (area1 - area2)^2 / g                      sample 3 per point with 5 nearest by sa, sb, sc
price       u / 2
s2 = 100 in 1..1000 step 10; u = 0.5 in 0..2
"""


def pair_of(n1=8, n2=9, seed=0, **columns):
    rng = np.random.default_rng(seed)
    left = rng.uniform(0, 100, (n1, 2))
    right = np.concatenate([left + rng.normal(0, 3, left.shape), rng.uniform(0, 100, (n2 - n1, 2))])
    sides = (Keypoints(xy, **{name: rng.uniform(1, 3, len(xy)) for name in columns}) for xy in (left, right))
    return Pair(*(View(None, points) for points in sides), np.arange(n1)).shuffled(1)


def true_energies(problem: Problem, pair: Pair):
    x = np.zeros(pair.shape)
    x[np.arange(pair.shape[0]), pair.truth] = 1
    other = np.roll(x, 1, axis=1)
    return [problem.energies([one] * max(2, problem.order)) for one in (x, other, (x + 2 * other) / 3)]
