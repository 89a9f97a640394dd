"""Where a point comes back to along three views, against following every way by hand."""

from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adgm.views.returns import both_ways, returns


@st.composite
def matched_views(draw):
    """Sizes of some views, and a partial one-to-one matching of some pairs of them."""
    sizes = draw(st.lists(st.integers(0, 5), min_size=2, max_size=5))
    matchings = {}
    for i in range(len(sizes)):
        for j in range(i + 1, len(sizes)):
            if draw(st.booleans()):
                order = draw(st.permutations([*range(sizes[j]), *[-1] * sizes[i]]))
                matchings[i, j] = np.array(order[: sizes[i]], np.int64)
    return sizes, matchings


@given(matched_views())
def test_returns_count_the_ways_that_come_back_and_those_that_go_astray(given_views):
    sizes, matchings = given_views
    every = {pair: partner.tolist() for pair, partner in both_ways(sizes, matchings).items()}
    found = returns(sizes, matchings)
    for i, size in enumerate(sizes):
        for p in range(size):
            back = astray = 0
            for j, k in permutations([v for v in range(len(sizes)) if v != i], 2):
                if {(i, j), (j, k), (k, i)} <= every.keys():
                    q = every[i, j][p]
                    r = every[j, k][q] if q >= 0 else -1
                    end = every[k, i][r] if r >= 0 else -1
                    back, astray = back + (end == p), astray + (end >= 0 and end != p)
            assert found[i][p].tolist() == [back, astray]
