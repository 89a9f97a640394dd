"""Verification: maps that are known are found again, the right kind is chosen, and strangers are called strangers."""

import math
from dataclasses import replace
from statistics import NormalDist

import cv2
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from adgm import METHODS, solve
from features.datasets import warp
from features.judge.verification import (
    FEWEST,
    KINDS,
    SHARE,
    Map,
    along,
    best_map,
    errors,
    false_alarms,
    fit,
    gric,
    missing,
    verify,
)
from features.models import MODELS
from features.pairs import Pair, View, mapped
from features.points.images import from_array
from features.points.keypoints import Keypoints
from features.points.slants import Slant, agreeing, detect_both

HOMOGRAPHY = np.array([[0.9, -0.2, 60], [0.25, 1.1, -20], [3e-4, 1e-4, 1]])
AFFINE = np.array([[0.9, -0.2, 60], [0.25, 1.1, -20], [0, 0, 1]])


def scattered(n=200, seed=0):
    return np.random.default_rng(seed).uniform(0, 600, (n, 2))


def planted(matrix, wrong=60, noise=0.5, seed=1):
    """Points under a map, the first so many of them sent anywhere."""
    rng = np.random.default_rng(seed)
    left = scattered()
    right = mapped(matrix, left) + rng.normal(0, noise, left.shape)
    right[:wrong] = rng.uniform(0, 600, (wrong, 2))
    looks = rng.normal(size=(len(left), 32))
    looks /= np.linalg.norm(looks, axis=1, keepdims=True)
    return Pair(View(None, Keypoints(left, looks=looks)), View(None, Keypoints(right, looks=looks)))


def two_cameras(n=200, seed=2, world=lambda rng, xyz: xyz):
    """Points seen by two cameras, by default at all depths: no map says where a point goes."""
    rng = np.random.default_rng(seed)
    world = world(rng, rng.uniform([-2, -2, 4], [2, 2, 12], (n, 3)))
    moved = world @ cv2.Rodrigues(np.array([0.02, 0.15, 0.05]))[0].T + [1.0, 0.1, 0.0]
    return [500 * points[:, :2] / points[:, 2:] + 300 for points in (world, moved)]


def wall(xyz, before):
    """All but some of the points moved onto a wall behind them all."""
    depth = np.where(before, xyz[:, 2] * 0.6, 13.0)
    return np.column_stack([xyz[:, :2] / xyz[:, 2:] * depth[:, None], depth])


def directions(rng, n):
    turn = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(turn), np.sin(turn)])


EVERYBODY = np.stack([np.arange(200)] * 2, 1)


@pytest.mark.parametrize(("kind", "matrix"), [("homography", HOMOGRAPHY), ("affine", AFFINE)])
def test_a_planted_map_is_found_and_named(kind, matrix):
    pair = planted(matrix)
    found = verify(pair, EVERYBODY)
    assert found.same and found.map.kind == kind
    assert found.verified[60:].mean() > 0.97 and found.verified[:60].sum() <= 2
    assert found.map.error < 1
    assert np.abs(mapped(found.map.matrix, scattered()) - mapped(matrix, scattered())).max() < 3
    assert f"{found.verified.sum()} of 200 matches obey" in found.verdict


def test_two_views_of_a_deep_scene_ask_for_a_fundamental_matrix():
    left, right = two_cameras()
    pair = Pair(View(None, Keypoints(left)), View(None, Keypoints(right)))
    found = verify(pair, EVERYBODY)
    assert found.map.kind == "fundamental" and found.verified.mean() > 0.95
    assert len(found.added) == 0
    assert verify(pair, EVERYBODY, kinds=("homography",)).verified.mean() < 0.5


def test_what_is_off_a_plane_and_moves_with_its_depth_is_not_rejected():
    """A wall that most points lie on, things before it, and matches that lead anywhere."""
    before, wrong = np.arange(200) < 50, np.arange(200) >= 170
    left, right = two_cameras(world=lambda rng, xyz: wall(xyz, before))
    rng = np.random.default_rng(6)
    right = right + rng.normal(0, 0.3, right.shape)
    right[wrong] += 60 * directions(rng, 30) * rng.uniform(0.2, 1, (30, 1))
    pair = Pair(View(None, Keypoints(left)), View(None, Keypoints(right)))
    found = verify(pair, EVERYBODY)
    assert found.map.kind in ("homography", "affine") and found.depth.kind == "fundamental"
    explained = np.array(found.explained)
    assert (explained[~before & ~wrong] == "plane").mean() > 0.97
    assert (explained[before] == "depth").mean() > 0.9
    assert (explained[wrong] == "neither").mean() > 0.7
    assert_array_equal(found.verified, explained != "neither")
    assert not len(found.added), "nobody knows the place of what is before the wall"
    assert_array_equal(found.matches, EVERYBODY[found.verified])
    plane, depth = found.map.inliers, found.depth.inliers
    assert f"{plane.sum()} of 200 matches obey a homography" in found.verdict
    assert f"and {(depth & ~plane).sum()} more an epipolar geometry: the scene has depth." in found.verdict
    only = verify(pair, EVERYBODY, kinds=("homography",))
    assert only.depth is None and set(only.explained) == {"plane", "neither"}


def test_a_match_obeys_lines_within_the_bound_of_one_dimension():
    left, right = two_cameras()
    right = right + np.random.default_rng(3).normal(0, 1.5, right.shape)
    found = fit("fundamental", left, right, 2.0)
    distance = math.sqrt(2) * errors("fundamental", found.matrix, left, right)
    one = NormalDist().inv_cdf(0.975) ** 2  # the 95 % point of χ² with one degree of freedom, and with two
    bound = 2.0 * math.sqrt(one / (-2.0 * math.log(0.05)))
    clear = np.abs(distance - bound) > 0.01
    assert_array_equal(found.inliers[clear], distance[clear] < bound)
    assert 0.2 < found.inliers.mean() < 0.95


@pytest.mark.parametrize("far", [5.0, 12.0, 60.0])
@pytest.mark.parametrize("seed", range(3))
def test_near_and_far_misses_of_a_plane_are_not_taken_for_depth(far, seed):
    rng = np.random.default_rng(seed)
    left = scattered(seed=seed)
    right = mapped(HOMOGRAPHY, left) + rng.normal(0, 0.4, left.shape)
    right[:50] += directions(rng, 50) * rng.uniform(3.5, far, (50, 1))
    found = verify(Pair(View(None, Keypoints(left)), View(None, Keypoints(right))), EVERYBODY, complete=False)
    assert found.map.kind == "homography" and found.depth is None
    assert found.verified[50:].mean() > 0.97 and found.verified[:50].mean() < 0.1


def test_how_many_move_along_the_lines_by_chance():
    """The expectation against a count of random directions; and none where it may be chance."""
    rng = np.random.default_rng(1)
    left = scattered(4000)
    identity = Map("affine", np.eye(3), np.zeros(4000, bool), 0.0, 0.0)
    level = Map("fundamental", np.array([[0, 0, 0], [0, 0, -1.0], [0, 1, 0]]), np.zeros(4000, bool), 0.0, 0.0)
    missed = directions(rng, 4000) * rng.uniform(2, 30, (4000, 1))
    assert along(identity, level, left, left + missed, 3.0) == 0.0
    close = np.abs(missed[:, 1]) < 1.5
    chance = (2 / np.pi * np.arcsin(np.minimum(1, 1.5 / np.hypot(*missed.T)))).sum()
    assert abs(close.sum() - chance) < 3 * np.sqrt(chance)
    sideways = np.where(np.arange(4000)[:, None] < 400, [10.0, 0.5], missed)
    more = (np.abs(sideways[:, 1]) < 1.5).sum() - (
        2 / np.pi * np.arcsin(np.minimum(1, 1.5 / np.hypot(*sideways.T)))
    ).sum()
    assert along(identity, level, left, left + sideways, 3.0) == pytest.approx(more) and more > 300
    some = np.where(np.arange(4000)[:, None] < 80, [10.0, 0.5], missed)  # too few to be sure
    assert along(identity, level, left, left + some, 3.0) == 0.0
    on_plane = replace(identity, inliers=np.ones(4000, bool))
    assert along(on_plane, level, left, left + sideways, 3.0) == 0.0


@pytest.mark.parametrize(("close", "counts"), [(33, False), (34, True)])
def test_along_lines_counts_from_eight_standard_deviations_on(close, counts):
    """100 matches 10 px off the plane, each within 1.5 px of its line by chance with p = 2/π arcsin 0.15."""
    p = 2 / np.pi * np.arcsin(0.15)
    assert (close - 100 * p > 8 * np.sqrt(100 * p * (1 - p))) == counts
    left = scattered(100)
    identity = Map("affine", np.eye(3), np.zeros(100, bool), 0.0, 0.0)
    level = Map("fundamental", np.array([[0, 0, 0], [0, 0, -1.0], [0, 1, 0]]), np.zeros(100, bool), 0.0, 0.0)
    gaps = np.where(np.arange(100)[:, None] < close, [10.0, 0.0], [0.0, 10.0])
    assert along(identity, level, left, left + gaps, 3.0) == pytest.approx((close - 100 * p) * counts)


def test_of_two_that_want_a_place_the_one_goes_first_whose_looks_and_squared_gap_are_less(monkeypatch):
    left = np.array([[0.0, 0.0], [1.8, 0.0]])  # gaps of 0.6 and of 0 thresholds
    looks = np.full((2, 21), 10.0)
    looks[:, 0] = 3.0, 6.0
    right = np.concatenate([[[1.8, 0.0]], 1000.0 + scattered(20)])
    monkeypatch.setattr("features.judge.verification.appearance_cost", lambda *views: looks)
    pair = Pair(View(None, Keypoints(left)), View(None, Keypoints(right)))
    common = np.quantile(looks, 0.1)
    assert 3 / common + 0.36 > 6 / common > 3 / common + 0.216 and looks[0, 0] < looks[1, 0] < common
    assert missing(pair, np.empty((0, 2), np.int64), np.eye(3), 3.0).tolist() == [[1, 0]]


def sampson(matrix, one, other):
    """Squared first-order distance of a match from x₂ᵀ F x₁ = 0, by numeric derivatives."""

    def value(x):
        return np.array([x[2], x[3], 1]) @ matrix @ np.array([x[0], x[1], 1])

    at = np.array([*one, *other])
    slope = [(value(at + step) - value(at - step)) / 2 for step in np.eye(4)]
    return value(at) ** 2 / np.dot(slope, slope)


def test_errors_are_the_written_out_ones():
    rng = np.random.default_rng(2)
    matrix, left, right = rng.normal(size=(3, 3)), scattered(20, 3), scattered(20, 4)
    expected = [math.sqrt(sampson(matrix, one, other)) for one, other in zip(left, right, strict=True)]
    assert np.allclose(errors("fundamental", matrix, left, right), expected, rtol=1e-6)
    for kind in ("homography", "affine"):
        expected = [math.dist(mapped(HOMOGRAPHY, one[None])[0], other) for one, other in zip(left, right, strict=True)]
        assert np.allclose(errors(kind, HOMOGRAPHY, left, right), expected)


@pytest.mark.parametrize(
    ("kind", "freedom", "dimension"), [("homography", 8, 2), ("affine", 6, 2), ("fundamental", 7, 3)]
)
def test_the_criterion_is_torrs(kind, freedom, dimension):
    error = np.array([0.0, 1.0, 2.5, 40.0])
    sigma = 4.0 / 2
    fit = sum(min(e**2 / sigma**2, 2 * (4 - dimension)) for e in error)
    expected = fit + 4 * dimension * math.log(4) + freedom * math.log(4 * 4)
    assert gric(kind, error, 4.0) == pytest.approx(expected)
    assert gric(kind, error[:0], 4.0) == pytest.approx(freedom * math.log(4))


def test_what_is_estimated_is_the_same_every_time():
    first, second = (verify(planted(HOMOGRAPHY), EVERYBODY) for _ in range(2))
    assert_array_equal(first.map.matrix, second.map.matrix)
    assert_array_equal(first.verified, second.verified)


def test_the_map_finds_the_matches_that_are_missing():
    pair = planted(HOMOGRAPHY)
    found = verify(pair, EVERYBODY[60:160])
    added = {tuple(one) for one in found.added.tolist()}
    assert added <= {(i, i) for i in range(60)} | {(i, i) for i in range(160, 200)}
    assert len([i for i, _ in added if i >= 160]) >= 38
    assert len(found.matches) == found.verified.sum() + len(added)
    assert len(verify(pair, EVERYBODY[60:160], complete=False).added) == 0


def test_what_the_map_finds_is_one_to_one_and_looks_alike():
    pair = planted(HOMOGRAPHY)
    strangers = Pair(
        pair.left, View(None, Keypoints(pair.right.points.xy, looks=np.roll(pair.right.points.looks, 7, 0)))
    )
    assert len(missing(strangers, np.empty((0, 2), np.int64), HOMOGRAPHY, 3.0)) < 30  # places fit, looks do not
    found = missing(pair, EVERYBODY[:5], HOMOGRAPHY, 3.0)
    assert len(np.unique(found[:, 0])) == len(np.unique(found[:, 1])) == len(found)
    assert not np.isin(found, np.arange(5)).any()
    left = pair.left.points
    crowd = Keypoints(np.concatenate([left.xy, left.xy + 0.2]), looks=np.concatenate([left.looks, left.looks]))
    found = missing(Pair(View(None, crowd), pair.right), EVERYBODY[:5], HOMOGRAPHY, 3.0)
    assert len(np.unique(found[:, 1])) == len(found) > 50, "two left points want every right one"


@pytest.mark.parametrize("count", [0, 1, 3, 8, 60])
def test_chance_is_not_taken_for_the_same_thing(count):
    rng = np.random.default_rng(4)
    pair = Pair(*(View(None, Keypoints(rng.uniform(0, 600, (600, 2)))) for _ in range(2)))
    some = np.stack([rng.permutation(600)[:count] for _ in range(2)], 1)
    for neighbours in (False, True):
        found = verify(pair, some, neighbours=neighbours)
        assert found.map is None and not found.verified.any()
        # where the model left out what disagrees with its neighbours, as many matches are no chance
        assert found.same == (neighbours and count == 60)
        if count == 60:
            told = "things moved or bent." if neighbours else "or these two show different things."
            assert "o single map explains the" in found.verdict and found.verdict.endswith(told)
        elif not count:
            assert found.verdict.endswith("no match was found.")


@pytest.mark.parametrize("count", [12, 30])
@pytest.mark.parametrize("model", ["A", "B", "C"])
def test_no_map_explains_what_a_model_makes_of_strangers(model, count):
    """A model that keeps lengths finds some that a map explains among any 30 points: fewer than chance would."""
    for seed in range(3):
        rng = np.random.default_rng([seed, count])
        pair = Pair(*(View(None, Keypoints(rng.uniform(0, 300, (count, 2)))) for _ in range(2)), None, "strangers")
        result = solve(MODELS[model].build(pair), METHODS["adgm"].make())
        found = verify(pair, result.pairs)
        assert found.map is None and found.depth is None and not found.same


@pytest.mark.parametrize("kind", KINDS)
def test_false_alarms_are_counted_as_written_out(kind):
    fewest, maps = {"homography": (4, 1), "affine": (3, 1), "fundamental": (7, 3)}[kind]
    room, t, n = np.array([300.0, 400.0]), 3.0, 20
    share = math.pi * t**2 / (300 * 400)
    if kind == "fundamental":  # twice the reach of a line, along the diagonal; see `LINE`
        share = 2 * math.sqrt(2) * math.sqrt(3.84 / 5.99 / 2) * t * 500 / (300 * 400)
    for k in range(fewest + 1, n + 1):
        expected = maps * (n - fewest) * math.comb(n, k) * math.comb(k, fewest) * share ** (k - fewest)
        assert false_alarms(a_map(kind, k, n), room, t) == pytest.approx(expected)
    assert false_alarms(a_map(kind, fewest, n), room, t) == false_alarms(a_map(kind, n, n), 0 * room, t) == math.inf


@pytest.mark.parametrize("xy", [np.zeros((20, 2)), np.outer(np.arange(20), [1.0, 2.0])], ids=["one place", "a line"])
def test_degenerate_points_do_no_harm(xy):
    pair = Pair(View(None, Keypoints(xy)), View(None, Keypoints(xy)))
    verify(pair, np.stack([np.arange(20)] * 2, 1), complete=False)
    assert all(fit(kind, xy[:2], xy[:2]) is None for kind in KINDS)
    assert best_map({}, 6) is None


def test_a_map_that_is_none_is_refused():
    with pytest.raises(ValueError, match="no map 'circle'; choose among homography, affine, fundamental"):
        verify(planted(AFFINE), EVERYBODY, kinds=("circle",))


# ---- a second look from a slant --------------------------------------------------------------------------------


def squeezed(image, factor=3.0):
    """The photograph from a slant: three times narrower, and turned."""
    seen, matrix = Slant(factor, 0.4).view(image.grey)
    return from_array(seen), np.vstack([matrix, [0, 0, 1]])


def test_a_slanted_view_tells_places_and_frames_in_pixels_of_the_image():
    image = warp.photograph()
    seen, matrix = Slant(2.0, 0.7).view(image.grey)
    points = Slant(2.0, 0.7).detect(image, 50)
    place = mapped(np.vstack([matrix, [0, 0, 1]]), points.xy)
    assert ((place >= 0) & (place <= np.array(seen.shape[::-1]))).all()
    axes = matrix[:, :2] @ points.axes  # in the view every frame is as wide as it is long
    assert np.allclose(np.linalg.norm(axes[:, :, 0], axis=1), np.linalg.norm(axes[:, :, 1], axis=1), rtol=1e-6)


def test_where_nothing_agrees_one_image_is_seen_from_a_slant_and_then_matched():
    left = warp.photograph()
    right, homography = squeezed(left)
    heard = []
    found = detect_both(
        (left, right), "sift", {"left": 300, "right": 300}, told=lambda share, words: heard.append(share)
    )
    pair = Pair(View(left, found[0]), View(right, found[1]), homography=homography)
    assert heard and (found[0].shape is not None) != (found[1].shape is not None)
    result = solve(MODELS["photo"].build(pair), METHODS["adgm"].make())
    checked = verify(pair, result.pairs)
    assert checked.same and pair.correct(checked.matches).mean() > 0.9
    assert pair.correct(checked.matches).sum() >= 30


def test_a_second_look_is_not_taken_where_the_first_will_do_and_can_be_stopped():
    left = warp.photograph()
    heard = []
    detect_both((left, left), "sift", {"left": 200, "right": 200}, told=lambda share, words: heard.append(share))
    assert not heard
    noise = from_array(np.random.default_rng(0).integers(0, 255, (300, 300)).astype(np.uint8))
    detect_both(
        (left, noise), "sift", {"left": 100, "right": 100}, told=lambda share, words: heard.append(share) or True
    )
    assert heard == [0.0]


def test_strangers_do_not_agree():
    left = warp.photograph()
    blurred = cv2.GaussianBlur(np.random.default_rng(0).integers(0, 255, (400, 400)).astype(np.uint8), (0, 0), 2)
    other = from_array(cv2.equalizeHist(blurred))
    found = detect_both((left, other), "sift", {"left": 300, "right": 300}, told=lambda share, words: True)
    assert agreeing(*found, 500.0) < 10
    pair = Pair(View(left, found[0]), View(other, found[1]))
    result = solve(MODELS["photo"].build(pair), METHODS["adgm"].make())
    checked = verify(pair, result.pairs)
    assert not checked.same and "do not seem to show the same thing" in checked.verdict


def a_map(kind, inliers, total=100, gric=0.0):
    return Map(kind, np.eye(3), np.arange(total) < inliers, 1.0, gric)


@pytest.mark.parametrize(
    ("fits", "needed", "chosen"),
    [
        ({}, 5, None),
        ({"homography": 5}, 5, "homography"),
        ({"homography": 4}, 5, None),
        ({"homography": 20, "affine": 20}, 5, "affine"),  # the lower criterion
        ({"homography": 20, "fundamental": 40}, 5, "fundamental"),  # twice as many
        ({"homography": 20, "fundamental": 39}, 5, "homography"),
        ({"homography": 3, "fundamental": 10}, 5, "fundamental"),  # no plane
        ({"fundamental": 9}, 5, None),
    ],
)
def test_a_fundamental_matrix_stands_alone_where_it_explains_twice_as_many(fits, needed, chosen):
    maps = {kind: a_map(kind, count, gric=-1.0 if kind == "affine" else 0.0) for kind, count in fits.items()}
    best = best_map(maps | {"none": None}, needed)
    assert (None if best is None else best.kind) == chosen


@pytest.mark.parametrize(("matches", "agree"), [(8, 8), (6, 6), (30, 0), (4, 0), (0, 0)])
def test_the_verdict_counts_what_it_says(matches, agree):
    """Of 100 points a side a map needs 5 and one for every so many; strangers and things that bend are told apart."""
    pair = planted(HOMOGRAPHY, wrong=200 - agree, noise=0.0)
    chosen = np.concatenate([np.arange(200 - agree, 200), np.arange(matches - agree)])
    found = verify(pair, np.stack([chosen, chosen], axis=1), kinds=("homography",), complete=False)
    needed = FEWEST + 200 // SHARE
    if agree >= needed:
        assert found.verdict == f"{agree} of {matches} matches obey a homography, within 0.0 px on average."
        assert found.map is not None and found.same and found.verified.sum() == agree
    elif matches >= 3 * needed:
        agreeing = verify(pair, found.pairs, kinds=("homography",), neighbours=True)
        assert agreeing.same and agreeing.verdict.startswith(f"{matches} matches agree with their neighbours")
        assert not found.same and found.verdict.startswith(f"No single map explains the {matches} matches")
    else:
        told = verify(pair, found.pairs, kinds=("homography",), neighbours=True).verdict
        assert not found.same and told.startswith("These two do not seem to show the same thing")
        assert ("no match" in found.verdict) == (matches == 0)
