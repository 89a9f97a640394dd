"""The measuring of the first screen: the largest empty rectangle against the plain definition."""

import numpy as np
import pytest

from experiments.tools.bench.screen import empty_share, largest_rectangle


def largest_by_trying(free: np.ndarray) -> int:
    """Every rectangle, one after another."""
    rows, columns = free.shape
    spans = [(a, b) for a in range(rows) for b in range(a + 1, rows + 1)]
    across = [(a, b) for a in range(columns) for b in range(a + 1, columns + 1)]
    sizes = [(b - a) * (d - c) for a, b in spans for c, d in across if free[a:b, c:d].all()]
    return max(sizes, default=0)


@pytest.mark.parametrize("seed", range(12))
def test_the_largest_rectangle_is_the_one_that_trying_all_finds(seed):
    rng = np.random.default_rng(seed)
    free = rng.random(rng.integers(1, 8, 2)) < 0.7
    assert largest_rectangle(free) == largest_by_trying(free)


def test_an_empty_page_is_all_empty_and_a_tinted_part_counts_as_full():
    page = np.full((80, 120, 3), 255, np.uint8)
    assert empty_share(page) == 1.0
    page[:, 40:60] = 200  # a tinted column: the part at its right is the larger one left
    assert empty_share(page) == pytest.approx(0.5)
