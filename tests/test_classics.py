"""Nearest neighbours with ratio test and RANSAC: on costs made by hand and on pictures whose motion is known."""

import cv2
import numpy as np
import pytest

from features.judge.classics import CLASSICS, GEOMETRIES, Ransac, nearest, ransac_matching
from features.judge.comparison import reference_row
from features.pairs import Pair, View
from features.points.images import from_array
from features.points.keypoints import Keypoints
from features.recipe import Recipe


@pytest.fixture(scope="module")
def moved_picture() -> Pair:
    """A textured picture, the same under a known homography, 60 points of the one and their images in the other."""
    rng = np.random.default_rng(0)
    texture = cv2.GaussianBlur(rng.integers(0, 256, (320, 400, 3), dtype=np.uint8), (0, 0), 2.5)
    texture = cv2.normalize(texture, None, 0, 255, cv2.NORM_MINMAX)
    motion = np.array([[1.02, 0.04, 8.0], [-0.03, 0.98, 12.0], [1e-5, 2e-5, 1.0]])
    moved = cv2.warpPerspective(texture, motion, (400, 320))
    xy = rng.uniform([60, 60], [340, 260], (60, 2))
    there = cv2.perspectiveTransform(xy[None], motion)[0]
    shuffle = rng.permutation(60)
    left = View(from_array(texture), Keypoints(xy))
    right = View(from_array(moved), Keypoints(there[shuffle]))
    return Pair(left, right, np.argsort(shuffle))


@pytest.mark.parametrize("geometry", [key for key in GEOMETRIES if key != "none"])
def test_the_true_motion_is_found(moved_picture, geometry):
    matching = ransac_matching(moved_picture, Ransac(geometry=geometry))
    found = matching >= 0
    assert found.sum() >= 40
    assert (matching[found] == moved_picture.truth[found]).mean() > 0.95
    np.testing.assert_array_equal(matching, ransac_matching(moved_picture, Ransac(geometry=geometry)))


def test_matches_that_break_the_geometry_go(moved_picture):
    xy = moved_picture.right.points.xy.copy()
    wrong = np.argsort(np.argsort(xy[:, 0]))[:8]
    strayed = xy.copy()
    strayed[wrong] += np.array([40.0, -35.0])
    pair = Pair(moved_picture.left, View(moved_picture.right.image, Keypoints(np.clip(strayed, 0, [399, 319]))))
    matching = ransac_matching(pair, Ransac(descriptor="shape_context", ratio=1.0))
    assert not set(matching[matching >= 0]) & set(wrong)


def test_nearest_neighbours_pass_the_ratio_test_or_do_not():
    costs = np.array([[1.0, 2.0, 9.0], [5.0, 6.0, 9.0], [4.0, 9.0, 3.9]])
    np.testing.assert_array_equal(nearest(costs, 0.8, mutual=False), [0, -1, -1])
    np.testing.assert_array_equal(nearest(costs, 1.0, mutual=True), [0, -1, 2])
    np.testing.assert_array_equal(nearest(costs, 1.0, mutual=False), [0, -1, 2])


@pytest.mark.parametrize("mutual", [True, False])
def test_no_point_has_two_partners(mutual):
    rng = np.random.default_rng(1)
    for shape in ((0, 3), (3, 0), (1, 1), (6, 4), (4, 9)):
        matching = nearest(rng.random(shape), 1.0, mutual)
        used = matching[matching >= 0]
        assert matching.shape == shape[:1] and len(set(used)) == len(used)


def test_too_few_matches_stay_as_they_are(moved_picture):
    few = moved_picture.take(left=np.arange(3))
    assert (ransac_matching(few) >= 0).sum() <= 3


@pytest.mark.parametrize(
    ("name", "value"), [("descriptor", "x"), ("geometry", "x"), ("ratio", 0.0), ("ratio", 1.5), ("threshold", -1.0)]
)
def test_bad_options_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        Ransac(**{name: value})


def test_points_without_a_picture_are_refused_in_a_sentence():
    view = View(None, Keypoints(np.random.default_rng(0).random((5, 2))))
    with pytest.raises(ValueError, match="without an image"):
        ransac_matching(Pair(view, view))


@pytest.mark.parametrize("key", [key for key, classic in CLASSICS.items() if isinstance(classic.options, Ransac)])
def test_every_classic_finds_the_motion_and_says_where_it_comes_from(moved_picture, key):
    classic = CLASSICS[key]
    assert classic.label and classic.cite
    matching = classic.matching(moved_picture)
    found = matching >= 0
    assert found.sum() >= 40 and (matching[found] == moved_picture.truth[found]).mean() > 0.9


def test_a_map_only_takes_away(moved_picture):
    for key in ("mutual", "ratio"):
        plain, checked = (CLASSICS[name].matching(moved_picture) for name in (key, f"{key}+magsac"))
        assert ((checked == plain) | (checked == -1)).all()


def test_a_classic_is_judged_by_all_that_it_matches(moved_picture):
    """Also by what the problem has no candidate for: it then has no score, but every wrong match counts."""
    recipe = Recipe("own", model="photo")
    row = reference_row(recipe, moved_picture, recipe.problem(moved_picture), "mutual")
    assert row.metrics.matched == len(row.pairs) == (CLASSICS["mutual"].matching(moved_picture) >= 0).sum()
    assert row.metrics.correct == moved_picture.correct(row.pairs).sum()
