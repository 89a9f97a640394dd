"""Descriptors: shape context against a slow oracle, and what each of them promises to be blind to."""

from math import pi

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import oracles_features as oracle
from features.pairs import View
from features.points.descriptors import (
    DESCRIPTORS,
    centroid_directions,
    chi_squared,
    shape_context_cost,
    shape_contexts,
)
from features.points.images import from_array
from features.points.keypoints import Keypoints

OF_IMAGES = [key for key, descriptor in DESCRIPTORS.items() if descriptor.needs_image]


def keypoints(xy, angle=None, size=None):
    return Keypoints(xy=np.asarray(xy, dtype=float), angle=angle, size=size)


def some_points(n=15, seed=0):
    return np.random.default_rng(seed).uniform(0, 100, (n, 2))


def turned(xy, angle, about=(0.0, 0.0)):
    c, s = np.cos(angle), np.sin(angle)
    return (xy - about) @ np.array([[c, s], [-s, c]]) + about


def textured(seed=0, side=160):
    """Smooth random colours: every place looks different from every other."""
    noise = np.random.default_rng(seed).uniform(0, 255, (side, side, 3)).astype(np.float32)
    smooth = cv2.GaussianBlur(noise, (0, 0), 4)
    low, high = smooth.min(), smooth.max()
    return ((smooth - low) / (high - low) * 255).astype(np.uint8)


def view_of(array, xy, angle=None, size=None):
    return View(image=from_array(array), points=keypoints(xy, angle, size))


GRID = np.stack(np.meshgrid([40.0, 65.0, 90.0, 115.0], [45.0, 80.0, 110.0]), axis=-1).reshape(-1, 2)


@pytest.mark.parametrize("seed", range(4))
def test_shape_context_against_the_oracle(seed):
    points = some_points(seed=seed)
    reference = np.random.default_rng(seed + 50).uniform(-4, 4, len(points))
    for given_reference in (None, reference):
        expected = [
            oracle.shape_context(points.tolist(), i, 0.0 if given_reference is None else given_reference[i])
            for i in range(len(points))
        ]
        assert np.allclose(shape_contexts(points, given_reference), expected)


@settings(deadline=None, derandomize=True, max_examples=80)
@given(arrays(np.float64, st.tuples(st.integers(0, 8), st.just(2)), elements=st.floats(-1e6, 1e6).map(round)))
def test_histograms_sum_to_one_or_see_nobody(points):
    totals = shape_contexts(points).sum(axis=1)
    assert np.all(np.isclose(totals, 1) | (totals == 0))


def test_a_shape_context_by_hand():
    # Distances 1, 1 and √2: mean 1.138. From the origin both others are at 0.879 mean distances: fourth ring,
    # one to the right (sector 0), one below, y pointing down (sector 3).
    histograms = shape_contexts([[0, 0], [1, 0], [0, 1]])
    assert histograms[0, 3 * 12 + 0] == histograms[0, 3 * 12 + 3] == 0.5
    # From (1, 0) the origin is to the left (sector 6), (0, 1) at 135° (sector 4), 1.243 mean distances away:
    # the last ring.
    assert histograms[1, 3 * 12 + 6] == histograms[1, 4 * 12 + 4] == 0.5


def test_chi_squared_against_the_oracle_and_at_its_ends():
    left, right = shape_contexts(some_points(9, 1)), shape_contexts(some_points(7, 2))
    expected = [[oracle.chi_squared(a, b) for b in right.tolist()] for a in left.tolist()]
    assert np.allclose(chi_squared(left, right), expected)
    assert np.allclose(np.diag(chi_squared(left, left)), 0, atol=1e-12)
    assert chi_squared(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])) == 1
    # ½ ((1 − ½)² / (3/2) + (½)² / (1/2)) = ½ (1/6 + 1/2) = 1/3
    assert np.isclose(chi_squared(np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]])), 1 / 3)


def test_shape_context_ignores_place_and_scale():
    points = some_points()
    assert np.allclose(shape_contexts(points), shape_contexts(4 * points + [7, -3]))


@pytest.mark.parametrize("angle", [0.3, pi / 2, 2.5, -1.1])
def test_shape_context_ignores_rotation_where_it_says_so(angle):
    xy, own = some_points(), np.random.default_rng(9).uniform(-pi, pi, 15)
    left = View(image=None, points=keypoints(xy, own))
    right = View(image=None, points=keypoints(turned(xy, angle, (20, 30)), own + angle))
    for turning in ("centroid", "angle"):
        assert np.allclose(np.diag(shape_context_cost(left, right, turning=turning)), 0, atol=1e-9)
    assert np.diag(shape_context_cost(left, right)).mean() > 0.1


def test_the_direction_to_the_centroid():
    assert np.allclose(centroid_directions([[0, 0], [2, 0], [1, 3]]), [pi / 4, 3 * pi / 4, -pi / 2])


@pytest.mark.parametrize("key", DESCRIPTORS)
@pytest.mark.parametrize(("n1", "n2"), [(12, 12), (5, 12), (12, 1), (1, 1), (0, 3)])
def test_costs_lie_between_zero_and_one(key, n1, n2):
    left, right = view_of(textured(1), GRID[:n1]), view_of(textured(2), GRID[:n2])
    cost = DESCRIPTORS[key].cost(left, right)
    assert cost.shape == (n1, n2)
    assert cost.dtype == np.float64
    assert ((cost >= 0) & (cost <= 1)).all()


@pytest.mark.parametrize("key", DESCRIPTORS)
def test_a_view_costs_nothing_against_itself_and_sides_swap(key):
    left, right = view_of(textured(1), GRID), view_of(textured(2), GRID[:7])
    cost = DESCRIPTORS[key].cost
    assert np.allclose(np.diag(cost(left, left)), 0, atol=1e-9)
    assert np.allclose(cost(left, right), cost(right, left).T)


@pytest.mark.parametrize("key", OF_IMAGES)
def test_points_are_recognised_in_the_turned_picture(key):
    array = textured(5)
    right_xy = np.column_stack([array.shape[0] - 1 - GRID[:, 1], GRID[:, 0]])  # a quarter turn, clockwise
    n = len(GRID)
    left = view_of(array, GRID, np.zeros(n), np.full(n, 8.0))
    right = view_of(np.rot90(array, -1).copy(), right_xy, np.full(n, pi / 2), np.full(n, 8.0))
    cost = DESCRIPTORS[key].cost(left, right)
    assert np.array_equal(cost.argmin(axis=1), np.arange(n))
    assert np.diag(cost).max() < np.median(cost) / 2


@pytest.mark.parametrize("key", OF_IMAGES)
def test_points_of_different_sizes_keep_their_order(key):
    size = np.where(np.arange(len(GRID)) % 2, 80.0, 10.0)
    mixed = view_of(textured(6), GRID, None, size)
    reordered = view_of(textured(6), GRID[::-1], None, size[::-1])
    assert np.allclose(np.diag(DESCRIPTORS[key].cost(mixed, reordered)[:, ::-1]), 0, atol=1e-9)


@pytest.mark.parametrize("key", OF_IMAGES)
def test_corner_points_and_blank_pictures_are_described(key):
    corners = np.array([[0.0, 0.0], [159.0, 0.0], [0.0, 159.0], [159.0, 159.0]])
    textured_view, blank = (
        view_of(textured(7), corners),
        view_of(np.full((160, 160, 3), 90, np.uint8), corners),
    )
    for left in (textured_view, blank):
        assert np.isfinite(DESCRIPTORS[key].cost(left, blank)).all()
    assert np.allclose(DESCRIPTORS[key].cost(blank, blank), 0, atol=1e-9)


def test_colour_by_hand():
    black, white = (view_of(np.full((40, 40, 3), value, np.uint8), [[20.0, 20.0]]) for value in (0, 255))
    red = view_of(np.full((40, 40, 3), [255, 0, 0], np.uint8), [[20.0, 20.0]])
    cost = DESCRIPTORS["colour"].cost
    assert np.isclose(cost(black, white).item(), 1)
    assert np.isclose(cost(black, red).item(), np.sqrt(1 / 3))


@pytest.mark.parametrize("key", OF_IMAGES)
def test_a_missing_image_or_a_point_outside_is_told(key):
    cost, fine = DESCRIPTORS[key].cost, view_of(textured(1), GRID)
    with pytest.raises(ValueError, match="without an image"):
        cost(fine, View(image=None, points=fine.points))
    with pytest.raises(ValueError, match=r"point 1 at \(300.0, 5.0\) lies outside its 160 × 160 image"):
        cost(view_of(textured(1), [[5.0, 5.0], [300.0, 5.0]]), fine)


def test_unknown_turning_and_missing_orientation_are_told():
    view = View(image=None, points=keypoints(some_points()))
    with pytest.raises(ValueError, match="not 'upright'"):
        shape_context_cost(view, view, turning="upright")
    with pytest.raises(ValueError, match="no orientation"):
        shape_context_cost(view, view, turning="angle")
