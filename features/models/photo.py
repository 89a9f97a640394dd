"""The model for photographs: looks, frames that predict where the neighbours go, and a price for leaving points out."""

import numpy as np
from numpy.typing import NDArray

from adgm import AT_MOST_ONE, Problem, Sparse
from features.models.base import Model, number
from features.pairs import Pair
from features.points.descriptors import appearance_cost
from features.points.local_maps import STRETCH, Candidates, agreement, neighbours, propose

Floats = NDArray[np.float64]

SURE = 0.15  # by how much of an edge's length the prediction of a local map may miss (of a frame: STRETCH)
WORTHLESS = 1.0  # no neighbours can pay for a candidate that costs more than this


def diagonal(pair: Pair) -> float:
    """Of the right image in pixels; of the box around its points if there is no image."""
    image, xy = pair.right.image, pair.right.points.xy
    return float(np.hypot(*(np.ptp(xy, axis=0) if image is None else image.size))) or 1.0


def unary(found: Candidates, difference: float, slack: float) -> Floats:
    """F¹: c/u + (d/2b)² − 1 where the neighbours expect the point, 2c/u − 1 where nobody does."""
    expected = found.looks / difference + (found.miss / (2 * slack)) ** 2
    return np.where(found.expected, expected, 2 * found.looks / difference) - 1


def terms(pair: Pair, *, candidates: int, difference: float, bend: float, around: int, weight: float) -> Problem:
    r"""The problem of matching two photographs, over candidates only.

    c is the distance of the two points' looks (RootSIFT, 0 to √2; others in its unit), d the distance in pixels between
    the right point and the place where the affine map of the left point's neighbourhood puts it, b = `bend` percent of
    the right picture's diagonal. Left out, a point costs nothing; so a match must be worth it: −1 is what it starts
    from. For two candidates i → s and j → t of neighbours i, j, each with a linear map A (its neighbourhood's, or that
    of its own size and angle), e = ½ (|y_t − y_s − A_i (x_j − x_i)| + |y_t − y_s − A_j (x_j − x_i)|), and

        F²_{ij} = −(w/4) · exp(−(e / (τ |y_t − y_s| + b))²),     τ = 0.15 for a neighbourhood's map, 0.35 for a frame.

    It follows any rotation, scale and slant that a neighbourhood shares, pictures that bend and things that move.
    """
    left, right = pair.left.points, pair.right.points
    slack = bend / 100 * diagonal(pair)
    looks = appearance_cost(pair.left, pair.right)
    found = propose(left, right, looks, count=candidates, difference=difference, slack=slack)
    cost = unary(found, difference, slack)
    kept = cost < WORTHLESS
    if not kept.any():  # a problem has at least one variable; this one is not worth taking
        kept[np.argmin(cost)] = True
    rows, cols, linear, cost = found.rows[kept], found.cols[kept], found.linear[kept], cost[kept]
    stretch = np.where(found.miss[kept] < 5 * slack, SURE, STRETCH)
    p, q, vote = agreement(left.xy, right.xy, rows, cols, linear, neighbours(left.xy, around), stretch, slack)
    variables = rows * len(right) + cols
    mask = np.zeros(pair.shape, bool)
    mask[rows, cols] = True
    edges = Sparse(np.stack([variables[p], variables[q]], 1), -weight / 4 * vote, symmetric=True)
    return Problem(pair.shape, [Sparse(variables[:, None], cost), edges], AT_MOST_ONE, AT_MOST_ONE, mask)


PHOTO = Model(
    label="Photographs",
    orders=(1, 2),
    formula=r"F^1_i = \frac{c}{u} + \left(\frac{d}{2b}\right)^2 - 1,\quad "
    r"F^2_{ij} = -\frac{w}{4}\exp\left(-\left(\frac{e}{\tau\,\ell + b}\right)^2\right),\quad "
    r"e = \frac{1}{2}\sum_{k\in\{i,j\}}\left|\overrightarrow{i_2j_2} - A_k\,\overrightarrow{i_1j_1}\right|,\ "
    r"\ell = \left|\overrightarrow{i_2j_2}\right|",
    sense="cost",
    use="Two photographs of the same thing, from other sides, turned, zoomed or in another light: hundreds of points.",
    terms=terms,
    parameters=(
        number("candidates", "k", 5, (1, 50), 1, "Points that look most alike, considered for each point, both ways"),
        number(
            *("difference", "u", 0.6, (0.05, 1.4), 0.05),
            "How different a point may look in the other photograph: higher means more matches, and more wrong ones",
        ),
        number(
            *("bend", "b", 0.3, (0.05, 5), 0.05),
            "How far, in percent of the picture's diagonal, a point may stray from where its neighbours go",
            unit="%",
        ),
        number("around", "m", 8, (1, 30), 1, "Neighbours of a point that must go along with it", label="Neighbours"),
        number("weight", "w", 1.0, (0, 10), 0.1, "How much a neighbour that agrees counts", label="Weight"),
    ),
    optional=True,
    complete=False,
    photographs=True,
)
