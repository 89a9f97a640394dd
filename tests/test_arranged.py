"""Two images in another arrangement: what comes of doing it several times."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from features.datasets import DATASETS
from features.pairs import Pair, View
from features.pairs.arranged import arrangeable, swapped, turned
from features.points.images import from_array
from features.points.keypoints import Keypoints


@pytest.fixture
def pair() -> Pair:
    rng = np.random.default_rng(0)
    sides = [from_array(rng.integers(0, 256, shape, dtype=np.uint8)) for shape in ((20, 30, 3), (40, 10, 3))]
    return Pair(*(View(image, Keypoints(np.empty((0, 2)))) for image in sides))


@pytest.mark.parametrize("side", [0, 1])
def test_four_quarter_turns_are_none_and_one_puts_the_first_row_at_the_right(pair, side):
    once = turned(pair, side)
    before, after = ((one.left, one.right)[side].image for one in (pair, once))
    assert_array_equal(after.rgb[:, -1], before.rgb[0])
    assert after.original_size == before.original_size[::-1]
    assert (once.left, once.right)[1 - side] is (pair.left, pair.right)[1 - side]
    four = turned(turned(turned(once, side), side), side)
    assert four.digest == pair.digest


def test_two_swaps_are_none(pair):
    assert swapped(pair).left is pair.right
    assert swapped(swapped(pair)).digest == pair.digest


def test_points_and_truth_are_not_arranged(pair):
    assert arrangeable(pair)
    assert not arrangeable(DATASETS["turntable"].load(left=20, right=30))
