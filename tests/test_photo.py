"""The photograph model: its costs by hand, what it follows, what it refuses, and what it reaches on photographs."""

import cv2
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from adgm import METHODS, solve
from features.datasets import warp
from features.models import MODELS
from features.pairs import Pair, View, mapped
from features.points import local_maps, rootsift
from features.points.descriptors import CHANCE, USUAL, appearance_cost, in_unit
from features.points.images import from_array
from features.points.keypoints import Keypoints, detect
from features.points.slants import detect_sides


def looking(n, seed=0):
    """Looks that are all different."""
    rows = np.abs(np.random.default_rng(seed).normal(size=(n, 64)))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def under(matrix, n=80, seed=0, looks=0.0):
    """Points and the same points under an affine map, with frames that follow it and looks that differ as told."""
    rng = np.random.default_rng(seed)
    xy = rng.uniform(0, 400, (n, 2))
    angle, size = rng.uniform(-3, 3, n), rng.uniform(3, 9, n)
    turn, zoom = np.arctan2(matrix[1, 0], matrix[0, 0]), np.sqrt(np.linalg.det(matrix[:2, :2]))
    seen = looking(n) + looks * rng.normal(size=(n, 64)) / 8
    seen /= np.linalg.norm(seen, axis=1, keepdims=True)
    left = Keypoints(xy, angle, size, looks=looking(n))
    right = Keypoints(mapped(matrix, xy), angle + turn, size * zoom, looks=seen)
    return Pair(View(None, left), View(None, right), np.arange(n))


def similarity(turn, zoom):
    return np.array(
        [[zoom * np.cos(turn), -zoom * np.sin(turn), 50], [zoom * np.sin(turn), zoom * np.cos(turn), 20], [0, 0, 1]]
    )


def matched(pair, **parameters):
    return solve(MODELS["photo"].build(pair, **parameters), METHODS["adgm"].make()).pairs


@pytest.mark.parametrize(("turn", "zoom"), [(0.0, 1.0), (2.0, 1.0), (-1.0, 2.5), (3.0, 0.4)])
def test_rotation_and_scale_are_followed(turn, zoom):
    pair = under(similarity(turn, zoom), looks=0.3)
    found = matched(pair)
    assert len(found) >= 78 and pair.correct(found).all()


@pytest.mark.parametrize(("turn", "zoom"), [(0.0, 1.0), (2.0, 1.0), (-1.0, 2.5)])
def test_points_without_size_and_angle_are_followed(turn, zoom):
    """Their seeds are what looks alike by far; the looks may have any length and any unit."""
    pair = under(similarity(turn, zoom), looks=0.7)
    bare = bared(pair, centred(64))
    found = matched(bare)
    assert len(found) >= 75 and bare.correct(found).all()
    assert_array_equal(matched(bared(pair, lambda rows: centred(64)(rows)[:, :40])).shape, (len(found), 2))


def centred(width):
    """Looks of another kind: their parts have both signs, so that unrelated ones are √2 apart."""
    axes = np.linalg.qr(np.random.default_rng(5).normal(size=(width, width)))[0]
    return lambda rows: (rows - rows.mean(axis=1, keepdims=True)) @ axes


def bared(pair, change):
    """The pair with points that have places and other looks only."""

    def bare(view):
        rows = change(view.points.looks)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return View(view.image, Keypoints(view.points.xy, looks=rows, looks_by="another"))

    return Pair(bare(pair.left), bare(pair.right), pair.truth)


def test_looks_that_cannot_be_compared_do_not_count():
    """Edited on one side, learned points are described anew on both; nothing is compared across kinds."""
    image = warp.photograph()
    xy = np.random.default_rng(0).uniform(100, 400, (30, 2))
    plain, learned = Keypoints(xy), Keypoints(xy, looks=centred(64)(looking(30)), looks_by="another")
    expected = appearance_cost(View(image, plain), View(image, plain))
    assert_array_equal(appearance_cost(View(image, plain), View(image, learned)), expected)


def test_distances_of_any_looks_come_in_one_unit():
    rng = np.random.default_rng(0)
    looks = rng.uniform(0.5, 2.0, (200, 150)).astype(np.float32)
    found = in_unit(looks)
    assert np.quantile(found, CHANCE) == pytest.approx(USUAL, rel=0.02)
    assert_allclose(found / looks, found[0, 0] / looks[0, 0], rtol=1e-5)
    assert_array_equal(in_unit(np.zeros((3, 3), np.float32)), 0)  # all alike


def test_clear_seeds_against_a_loop():
    looks = np.random.default_rng(2).uniform(size=(15, 12)).astype(np.float32)
    expected = []
    for i, s in np.ndindex(looks.shape):
        others = np.concatenate([np.delete(looks[i], s), np.delete(looks[:, s], i)])
        if looks[i, s] < 0.8 * others.min():
            expected.append((i, s))
    assert_array_equal(local_maps.clear(looks, 0.8), expected)
    assert len(expected) > 2
    assert local_maps.clear(looks[:1], 0.8).shape == (0, 2)


def test_a_slant_is_followed_by_the_map_of_the_neighbourhood():
    pair = under(np.array([[1.0, 0.3, 0], [0, 0.6, 0], [0, 0, 1]]))
    found = matched(pair)
    assert len(found) >= 75 and pair.correct(found).all()


def test_two_things_that_move_apart_are_both_followed():
    """No map of the whole picture is assumed: half of the points turn one way, half another."""
    first, second = under(similarity(0.6, 1.2), seed=1), under(similarity(-0.8, 0.8), seed=2)
    far = np.array([900.0, 0])
    sides = []
    for one, other in ((first.left.points, second.left.points), (first.right.points, second.right.points)):
        sides.append(
            Keypoints(
                np.concatenate([one.xy, other.xy + far]),
                np.concatenate([one.angle, other.angle]),
                np.concatenate([one.size, other.size]),
                looks=looking(160),
            )
        )
    pair = Pair(View(None, sides[0]), View(None, sides[1]), np.arange(160))
    found = matched(pair)
    assert len(found) >= 150 and pair.correct(found).all()


def test_points_that_the_other_photograph_lacks_stay_alone():
    pair = under(similarity(0.5, 1.5), looks=0.3).take(left=np.arange(60), right=np.arange(30, 80))
    found = matched(pair)
    assert pair.correct(found).all() and len(found) >= 25


def test_a_point_that_looks_different_is_found_where_its_neighbours_expect_it():
    pair = under(similarity(0.5, 1.5))
    looks = pair.right.points.looks.copy()
    looks[7] = 0.75 * looks[7] + 0.66 * looks[8]
    looks[7] /= np.linalg.norm(looks[7])
    right = Keypoints(pair.right.points.xy, pair.right.points.angle, pair.right.points.size, looks=looks)
    other = Pair(pair.left, View(None, right), pair.truth)
    strange = cdist(pair.left.points.looks[[7]], looks)[0]
    assert strange[7] > 0.3  # more than half the difference that is allowed: by itself it would stay alone
    assert [7, 7] in matched(other).tolist()


def test_the_costs_by_hand():
    """Two points, nobody to expect anything: 2c/u − 1 each, and −w/4 for either order if both predict each other."""
    looks = np.eye(4)[:2]
    left = Keypoints([[0, 0], [10, 0]], [0, 0], [4, 4], looks=looks)
    right = Keypoints([[5, 5], [5, 25]], [np.pi / 2] * 2, [8, 8], looks=looks)  # a quarter turn, twice as large
    problem = MODELS["photo"].build(Pair(View(None, left), View(None, right)), weight=1.0)
    assert problem.energy(np.eye(2)) == pytest.approx(-1 - 1 - 2 / 4)
    assert problem.energy(np.diag([1.0, 0])) == pytest.approx(-1)
    unturned = Keypoints(right.xy, [0, 0], [8, 8], looks=looks)  # the frames now predict (25, 5): an error of 20√2
    problem = MODELS["photo"].build(Pair(View(None, left), View(None, unturned)), weight=1.0)
    assert problem.energy(np.eye(2)) == pytest.approx(-2)


def test_agreement_against_a_loop():
    rng = np.random.default_rng(0)
    left, right = rng.uniform(0, 50, (6, 2)), rng.uniform(0, 50, (7, 2))
    rows, cols = np.nonzero(rng.uniform(size=(6, 7)) < 0.5)
    linear, stretch = rng.normal(size=(len(rows), 2, 2)), rng.uniform(0.1, 0.5, len(rows))
    edges = local_maps.neighbours(left, 3)
    expected = {}
    for i, j in edges.tolist():
        for p in np.flatnonzero(rows == i):
            for q in np.flatnonzero(rows == j):
                across = right[cols[q]] - right[cols[p]]
                misses = [np.linalg.norm(across - linear[k] @ (left[j] - left[i])) for k in (p, q)]
                ratio = np.mean(misses) / (max(stretch[p], stretch[q]) * np.linalg.norm(across) + 4)
                if ratio < 2 and cols[p] != cols[q]:
                    expected[int(p), int(q)] = np.exp(-(ratio**2))
    found = local_maps.agreement(left, right, rows, cols, linear, edges, stretch, 4.0)
    assert dict(
        zip(zip(*(f.tolist() for f in found[:2]), strict=True), found[2].tolist(), strict=True)
    ) == pytest.approx(expected)
    assert len(expected) > 20


def test_nearest_both_ways_against_sorting():
    looks = np.random.default_rng(1).uniform(size=(9, 12)).astype(np.float32)
    near = local_maps.nearest_both_ways(looks, 4)
    assert_array_equal(near[0], np.argsort(looks, axis=1)[:, :4])
    assert_array_equal(near[1], np.argsort(looks.T, axis=1)[:, :4])
    rows, cols = local_maps.either_way(near, 2)
    expected = {(i, s) for i in range(9) for s in np.argsort(looks[i])[:2].tolist()}
    expected |= {(i, s) for s in range(12) for i in np.argsort(looks[:, s])[:2].tolist()}
    assert set(zip(rows.tolist(), cols.tolist(), strict=True)) == expected


def test_local_maps_leave_the_point_itself_out_and_ignore_outliers():
    matrix = similarity(0.7, 1.4)
    xy = np.random.default_rng(3).uniform(0, 300, (60, 2))
    right = mapped(matrix, xy)
    true = right.copy()
    right[::6] += 80
    expected = local_maps.local_maps(xy, np.stack([np.arange(60)] * 2, 1), right, 3.0)
    assert expected.agreed.mean() > 0.9
    assert_allclose(expected.place[expected.agreed], true[expected.agreed], atol=1.5)  # even of those that were moved
    assert_allclose(expected.linear[expected.agreed].mean(axis=0), matrix[:2, :2], atol=0.05)
    none = local_maps.local_maps(xy, np.empty((0, 2), np.int64), right, 3.0)
    assert not none.agreed.any()


def test_distances_of_looks_are_those_of_hellinger():
    rows = rootsift.rooted(np.random.default_rng(0).integers(0, 200, (5, 128)).astype(np.float32))
    assert_allclose(rootsift.distances(rows, rows), cdist(rows, rows), atol=1e-3)


@pytest.mark.parametrize("detector", ["sift", "orb", "corners"])
def test_a_photograph_and_its_warped_copy(detector):
    """Any detector will do: one without angles or with coarse ones finds less, and what it finds is right."""
    left, right = warp.photograph(), warp.warped("homography", 0.4, 2.0, 3)
    points = [detect(image, detector, 300) for image in (left, right)]
    homography = warp.forward_map("homography", 0.4, 3)
    pair = Pair(View(left, points[0]), View(right, points[1]), homography=homography)
    found = matched(pair)
    assert pair.correct(found).mean() > 0.85
    assert pair.correct(found).sum() > (100 if detector == "sift" else 25)


def test_a_photograph_turned_by_any_angle():
    left = warp.photograph()
    matrix = cv2.getRotationMatrix2D((256, 300), 140, 0.8)
    right = from_array(cv2.warpAffine(left.rgb, matrix, (512, 600)))
    points = [detect(image, "sift", 300) for image in (left, right)]
    pair = Pair(View(left, points[0]), View(right, points[1]), homography=np.vstack([matrix, [0, 0, 1]]))
    found = matched(pair)
    assert pair.correct(found).sum() > 120 and pair.correct(found).mean() > 0.95


def test_four_thousand_points_are_taken_by_a_model_of_few_candidates_only():
    assert MODELS["photo"].too_large((4000, 4000)) == ""
    assert "16,000,000 pairs of points; at most 4,000,000" in MODELS["B"].too_large((4000, 4000))
    assert "at most 16,000,000 are taken" in MODELS["photo"].too_large((4001, 4000))


def test_both_sides_are_looked_at_as_one_alone():
    images = warp.photograph(), warp.warped("homography", 0.4, 2.0, 3)
    found = detect_sides(images, "sift", {"left": 120, "right": 80})
    for points, image, count in zip(found, images, (120, 80), strict=True):
        alone = detect(image, "sift", count)
        assert_array_equal(points.xy, alone.xy)
        assert_array_equal(points.looks, alone.looks)
