"""Where a point comes back to along three views, against following every way by hand."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adgm.views.returns import returns
from adgm.views.tracks import both_ways
from features.explain.three_views import POINTS, three_views
from ui.learn import closing


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


@pytest.mark.parametrize("noise", closing.CLOSING.controls[0].options)
def test_the_three_views_of_learn_are_the_best_that_there_are_and_its_words_are_true(noise):
    now = three_views(noise)
    edges = [np.linalg.norm(view.points.xy[:, None] - view.points.xy, axis=2) for view in now.view_set.views]

    def cost(i, j, partner):
        return sum((edges[i][p, q] - edges[j][partner[p], partner[q]]) ** 2 for p in range(POINTS) for q in range(p))

    rng = np.random.default_rng(0)
    some = [np.arange(POINTS), *(rng.permutation(POINTS) for _ in range(40))]
    for couple, partner in now.alone.items():
        assert cost(*couple, partner) == pytest.approx(now.alone_costs[couple])
        assert all(cost(*couple, other) >= now.alone_costs[couple] - 1e-9 for other in some)
    for first, second in product(some[:12], repeat=2):  # tracks: A → B and A → C, and so B → C
        third = second[np.argsort(first)]
        assert cost(0, 1, first) + cost(0, 2, second) + cost(1, 2, third) >= now.cost - 1e-9
    assert now.cost >= now.alone_cost - 1e-9
    values = {"noise": noise, "shown": closing.ALONE}
    backs = [np.argsort(now.alone[0, 2])[now.alone[1, 2][now.alone[0, 1][p]]] == p for p in range(POINTS)]
    assert f"{sum(backs)} of {POINTS} ways A → B → C → A close" in closing.told(values)
    assert (closing.compared(values) == "more") == (now.cost > now.alone_cost * (1 + 1e-9))
    assert "{" not in closing.CLOSING.told(values)
