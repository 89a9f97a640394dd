"""Pairs: every operation moves points and truth together; parameters and data sets refuse what they cannot do."""

import io
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from PIL import Image as Pillow

from features.images import from_array
from features.keypoints import Keypoints
from features.pairs import Dataset, Pair, Parameter, View, own_pair, read_pair, seed_parameter, truth_by_label

seeds = st.integers(0, 2**31 - 1)


@st.composite
def pairs(draw, least=0):
    """A pair with any mix of partners and outliers; every point carries its identity in its coordinates."""
    both, alone1, alone2 = draw(st.integers(least, 8)), draw(st.integers(0, 5)), draw(st.integers(0, 5))
    rng = np.random.default_rng(draw(seeds))
    n1, n2 = both + alone1, both + alone2
    order1, order2 = rng.permutation(n1), rng.permutation(n2)
    truth = np.full(n1, -1)
    truth[order1[:both]] = order2[:both]
    sides = [View(None, Keypoints(rng.uniform(0, 100, (n, 2)), angle=rng.uniform(-3, 3, n))) for n in (n1, n2)]
    return Pair(sides[0], sides[1], truth, "test pair")


def links(pair: Pair) -> set:
    """What the truth says, free of any numbering: the coordinates that belong together."""
    left, right = pair.left.points.xy, pair.right.points.xy
    return {(*left[i], *right[j]) for i, j in enumerate(pair.truth) if j >= 0}


def places(view: View) -> set:
    return {tuple(row) for row in np.column_stack([view.points.xy, view.points.angle])}


properties = settings(deadline=None, derandomize=True, max_examples=60)


@properties
@given(pairs(), seeds)
def test_shuffling_keeps_points_and_partners(pair, seed):
    shuffled = pair.shuffled(seed)
    assert links(shuffled) == links(pair)
    assert places(shuffled.right) == places(pair.right)
    assert_array_equal(shuffled.left.points.xy, pair.left.points.xy)
    assert_array_equal(shuffled.truth, pair.shuffled(seed).truth)
    assert pair.shuffled(None) is pair and pair.shuffled(-1) is pair


@properties
@given(pairs())
def test_swapping_twice_changes_nothing(pair):
    swapped = pair.swapped()
    assert {(c, d, a, b) for a, b, c, d in links(swapped)} == links(pair)
    assert swapped.shape == pair.shape[::-1]
    assert_array_equal(swapped.swapped().truth, pair.truth)
    assert swapped.swapped().left is pair.left


@properties
@given(pairs(), st.integers(1, 15), st.integers(1, 15))
def test_the_first_points_keep_their_partners_and_no_others(pair, n1, n2):
    first = pair.first(n1)
    assert first.shape == (min(n1, pair.shape[0]), pair.shape[1])
    assert_array_equal(first.truth, pair.truth[:n1])
    limited = pair.limited(n1, n2)
    assert limited.shape == (min(n1, pair.shape[0]), min(n2, pair.shape[1]))
    assert_array_equal(limited.truth, np.where(pair.truth[:n1] < n2, pair.truth[:n1], -1))


@properties
@given(pairs(), seeds, st.data())
def test_outliers_are_chosen_among_the_pairs_own(pair, seed, data):
    alone1, alone2 = pair.outliers()
    k, left = data.draw(st.integers(0, len(alone2))), data.draw(st.integers(0, len(alone1)))
    chosen = pair.with_outliers(k, seed, left=left)
    inliers = int(pair.has_partner.sum())
    assert links(chosen) == links(pair)
    assert chosen.shape == (inliers + left, inliers + k)
    assert places(chosen.right) <= places(pair.right) and places(chosen.left) <= places(pair.left)
    if k:
        fewer = pair.with_outliers(k - 1, seed, left=left)
        assert places(fewer.right) < places(chosen.right), "a sweep over k adds outliers, it does not redraw them"
    with pytest.raises(ValueError, match=f"has {len(alone2)} of its own"):
        pair.with_outliers(len(alone2) + 1, seed)


@properties
@given(pairs(least=1), st.integers(0, 9), seeds)
def test_clutter_adds_points_without_partners(pair, k, seed):
    more = pair.with_clutter(k, seed)
    assert links(more) == links(pair)
    assert more.shape == (pair.shape[0], pair.shape[1] + k)
    assert_array_equal(more.right.points.xy[: pair.shape[1]], pair.right.points.xy)
    low, high = pair.right.points.xy.min(axis=0), pair.right.points.xy.max(axis=0)
    assert ((more.right.points.xy >= low) & (more.right.points.xy <= high)).all()


def test_clutter_covers_the_image():
    image = from_array(np.zeros((50, 200, 3), np.uint8))
    pair = Pair(View(None, Keypoints(np.zeros((1, 2)))), View(image, Keypoints(np.zeros((1, 2)))), np.array([0]))
    spots = pair.with_clutter(500, 0).right.points.xy[1:]
    assert (spots >= 0).all() and (spots <= (199, 49)).all()
    assert np.ptp(spots[:, 0]) > 180 and np.ptp(spots[:, 1]) > 45


@properties
@given(pairs(), seeds)
def test_accuracy_of_the_truth_is_one_in_any_order(pair, seed):
    shuffled = pair.shuffled(seed)
    expected = 1.0 if pair.has_partner.any() else math.nan
    assert shuffled.accuracy(shuffled.truth) == pytest.approx(expected, nan_ok=True)
    nobody = np.full(pair.shape[0], -1)
    assert shuffled.accuracy(nobody) == pytest.approx(0.0 if pair.has_partner.any() else math.nan, nan_ok=True)


def points(*rows, labels=None) -> Keypoints:
    return Keypoints(np.array(rows, float).reshape(-1, 2), labels=labels)


def test_accuracy_by_hand():
    sides = [View(None, points(*[(i, i) for i in range(n)])) for n in (4, 5)]
    pair = Pair(sides[0], sides[1], np.array([2, -1, 0, 4]))
    assert pair.accuracy([2, 3, 1, 4]) == pytest.approx(2 / 3)  # the outlier's match does not count
    with pytest.raises(ValueError, match="unknown"):
        Pair(sides[0], sides[1], None).accuracy([0, 1, 2, 3])
    with pytest.raises(ValueError, match="one entry per left point"):
        pair.accuracy([0, 1])


@pytest.mark.parametrize(
    ("truth", "complaint"),
    [
        ([0, 1], "one entry per left point"),
        ([0.5, 1, 2], "whole numbers"),
        ([0, 0, 1], "right point 0 more than once"),
        ([0, 1, 4], "sends left point 2 to 4"),
        ([0, -2, 1], "sends left point 1 to -2"),
    ],
)
def test_a_wrong_truth_is_refused_at_birth(truth, complaint):
    view = View(None, points((0, 0), (1, 0), (2, 0)))
    with pytest.raises(ValueError, match=complaint):
        Pair(view, view, truth)


def test_truth_cannot_be_changed_behind_the_pairs_back():
    given_truth = np.array([1, 0])
    view = View(None, points((0, 0), (1, 0)))
    pair = Pair(view, view, given_truth)
    given_truth[0] = 0
    assert_array_equal(pair.truth, [1, 0])
    with pytest.raises(ValueError, match="read-only"):
        pair.truth[0] = 0


def test_equal_labels_are_partners():
    left, right = points((0, 0), (1, 1), (2, 2), labels=("a", "b", "")), points((5, 5), (6, 6), labels=("b", ""))
    assert_array_equal(truth_by_label(left, right), [-1, 0, -1])
    with pytest.raises(ValueError, match="'a' names more than one right point"):
        truth_by_label(left, points((0, 0), (1, 1), labels=("a", "a")))


def test_bring_your_own_files():
    def png(w, h):
        buffer = io.BytesIO()
        Pillow.new("RGB", (w, h), "white").save(buffer, "PNG")
        return buffer.getvalue()

    spots = b"x,y\n10,20\n30,40\n50,60\n"
    pair = read_pair((png(3200, 100), png(80, 80)), (spots, spots), b"left,right\n0,2\n2,1\n", "mine")
    assert_array_equal(pair.truth, [2, -1, 1])
    assert_array_equal(pair.left.points.xy, [(5, 10), (15, 20), (25, 30)])  # shrunk to 1600 pixels, points with it
    assert_array_equal(pair.right.points.xy, [(10, 20), (30, 40), (50, 60)])
    labelled = b"x,y,label\n1,1,tip\n2,2,tail\n"
    assert_array_equal(read_pair((png(9, 9), png(9, 9)), (labelled, labelled)).truth, [0, 1])
    assert own_pair((None, None), (points((0, 0)), points((0, 0)))).truth is None


@pytest.mark.parametrize(
    ("parameter", "good", "bad"),
    [
        (Parameter("n", "Points", "int", 3, "", 1, 9), {1: 1, np.int32(9): 9}, [0, 10, 1.5, "x", None]),
        (Parameter("s", "Noise", "float", 0, "", 0, 1), {0.5: 0.5, 1: 1.0}, [-0.1, 1.1, math.nan, "x", None]),
        (Parameter("k", "Kind", "choice", "a", "", choices=("a", "b")), {"b": "b"}, ["c", 1]),
    ],
)
def test_parameters_take_what_they_declare(parameter, good, bad):
    for value, expected in good.items():
        assert parameter.check(value) == expected
    for value in bad:
        with pytest.raises(ValueError, match=parameter.label):
            parameter.check(value)


def test_a_default_outside_its_own_range_is_refused():
    with pytest.raises(ValueError, match="1 to 9"):
        Parameter("n", "Points", "int", 10, "", 1, 9)


def test_a_data_set_checks_fills_in_and_shuffles():
    seen = []

    def make(**values):
        seen.append(values)
        view = View(None, points(*[(i, 0) for i in range(6)]))
        return Pair(view, view, np.arange(6))

    size = Parameter("size", "Size", "int", 4, "", 0, 9)
    dataset = Dataset("key", "Label", "One sentence.", True, (size, seed_parameter()), make)
    shuffled = dataset.load(images=False, seed=3)
    assert_array_equal(shuffled.right.points.xy[shuffled.truth, 0], np.arange(6))
    assert not np.array_equal(shuffled.truth, np.arange(6))
    assert_array_equal(dataset.load(seed=-1).truth, np.arange(6))
    assert_array_equal(dataset.load(seed=None).truth, np.arange(6))
    assert seen[0] == {"images": False, "size": 4, "seed": 3}
    assert seen[1] == {"images": True, "size": 4, "seed": 0}, "without a shuffle, what is random is that of seed 0"
    with pytest.raises(ValueError, match="no parameter 'colour'; it has size, seed"):
        dataset.load(colour=1)
    with pytest.raises(ValueError, match="Size is 10; 0 to 9 is right"):
        dataset.load(size=10)
