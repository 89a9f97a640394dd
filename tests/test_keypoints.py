"""Keypoints are records that cannot go wrong later; detectors give strong points, well apart, always the same."""

import math
from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist

from features.points import rootsift
from features.points.images import decode, from_array
from features.points.keypoints import (
    CELLS,
    CLOSEST,
    DETECTORS,
    FULL,
    MARGIN,
    Keypoints,
    detect,
    spread,
    strongest,
    summary,
)
from features.points.learned import NETWORKS

INSTALLED = [
    name
    for name, one in DETECTORS.items()
    if not one.missing() and (name != "akaze" or hasattr(cv2, "AKAZE_create")) and name not in NETWORKS
]


@pytest.fixture(scope="module")
def photo():
    """A photograph of our own: a thousand shaded discs, a third of them crowded in one corner."""
    rng = np.random.default_rng(3)
    canvas = np.full((360, 480), 120, np.uint8)
    centres = rng.uniform(0, 1, (1000, 2)) * [480, 360]
    centres[::3] *= 0.25
    for x, y in centres:
        cv2.circle(canvas, (int(x), int(y)), int(rng.integers(2, 14)), int(rng.integers(0, 255)), -1)
    return from_array(cv2.GaussianBlur(canvas, (0, 0), 1.0))


@pytest.mark.parametrize("count", [1, 12, 40, 150])
@pytest.mark.parametrize("name", INSTALLED)
def test_a_wanted_number_is_met_inside_the_image(name, count, photo):
    points = detect(photo, name, count)
    assert len(points) == count
    assert (points.xy >= MARGIN).all()
    assert (points.xy <= np.array(photo.size) - 1 - MARGIN).all()


@pytest.mark.parametrize("light", [1.0, 0.2])
@pytest.mark.parametrize("count", [12, 150, 600])
def test_a_quick_look_finds_what_a_full_one_finds(monkeypatch, photo, light, count):
    picture = from_array((photo.rgb * light).astype(np.uint8))
    quick = detect(picture, "sift", count)
    monkeypatch.setitem(DETECTORS, "sift", replace(DETECTORS["sift"], quick=None))
    full = detect(picture, "sift", count)
    for column in ("xy", "angle", "size", "strength", "looks"):
        assert_array_equal(getattr(quick, column), getattr(full, column))


@pytest.mark.parametrize("name", INSTALLED)
def test_detection_is_deterministic(name, photo):
    first, second = detect(photo, name, 60), detect(photo, name, 60)
    for column in ("xy", "angle", "size", "strength"):
        one, other = getattr(first, column), getattr(second, column)
        assert (one is other is None) or (one == other).all()


@pytest.mark.parametrize("name", INSTALLED)
def test_points_are_spread_not_clustered_where_that_is_asked_for(name, photo):
    points = detect(photo, name, 40, even=True)
    even = np.sqrt(np.prod(photo.size) / 40)  # the spacing of a square grid of 40 points
    assert pdist(points.xy).min() > 0.5 * even
    cells = {tuple(cell) for cell in (points.xy // (np.array(photo.size) / 3)).astype(int)}
    assert len(cells) == 9  # every ninth of the image has some


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.integers(0, 400), st.integers(1, 200), st.integers(0, 10_000))
def test_the_strongest_come_first_and_no_cell_takes_more_than_its_share(n, count, seed):
    xy = np.random.default_rng(seed).beta(0.5, 2, (n, 2)) * [480, 360]
    kept = strongest(Keypoints(xy), count, (480, 360))
    assert len(kept) == min(n, count) and (np.diff(kept) > 0).all()
    share = math.ceil(FULL * count / CELLS**2)
    cells = (xy / [480, 360] * CELLS).astype(int) @ [CELLS, 1]
    crowd = np.bincount(cells[kept], minlength=CELLS**2)
    if np.minimum(np.bincount(cells, minlength=1), share).sum() >= count:
        assert crowd.max(initial=0) <= share
        before = np.setdiff1d(np.arange(kept.max(initial=0)), kept)  # passed over, though stronger
        assert (crowd[cells[before]] == share).all()


def test_sift_points_bring_their_looks_which_can_be_taken_again(photo):
    points = detect(photo, "sift", 80)
    assert_allclose(np.linalg.norm(points.looks, axis=1), 1, atol=1e-5)
    again = rootsift.at(photo.grey, points.xy, points.size, points.angle)
    # The size tells where on the pyramid a point was found; without small points the pyramid starts a level higher.
    assert np.linalg.norm(again - points.looks, axis=1).max() < 0.15


def test_the_strongest_points_are_found_again_where_the_image_is_turned_and_zoomed(photo):
    """Far more often than points that are spread evenly, with the angle and the size that they must have."""
    turn, zoom = 0.5, 1.3
    matrix = cv2.getRotationMatrix2D((240, 180), -np.degrees(turn), zoom)
    other = from_array(cv2.warpAffine(photo.grey, matrix, (480, 360)))
    repeated = {}
    for even in (False, True):
        left, right = (detect(image, "sift", 150, even=even) for image in (photo, other))
        place = left.xy @ matrix[:, :2].T + matrix[:, 2]
        inside = ((place > 8) & (place < np.array([472, 352]))).all(axis=1)
        gap = cdist(place, right.xy)
        repeated[even] = (gap.min(axis=1)[inside] < 2).mean()
        if not even:
            near = np.flatnonzero(inside & (gap.min(axis=1) < 1))
            frames = right.axes[gap[near].argmin(axis=1)] @ np.linalg.inv(left.axes[near])
            assert np.median(np.hypot(frames[:, 0, 0], frames[:, 1, 0])) == pytest.approx(zoom, rel=0.1)
            assert np.median(np.arctan2(frames[:, 1, 0], frames[:, 0, 0])) == pytest.approx(turn, abs=0.1)
    assert repeated[False] > 1.3 * repeated[True]


@pytest.mark.parametrize("name", INSTALLED)
def test_a_blank_image_has_no_points_and_we_say_so(name):
    points = detect(from_array(np.full((200, 300), 90, np.uint8)), name, 25)
    assert len(points) == 0
    assert "found 0 of the 25" in summary(points, name, 25)


@pytest.mark.parametrize("shape", [(1, 1), (1, 500), (15, 15), (16, 16), (33, 20), (16, 700)])
@pytest.mark.parametrize("name", INSTALLED)
def test_tiny_and_thin_images_do_no_harm(name, shape):
    noise = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    assert len(detect(from_array(noise), name, 10)) <= 10


def test_akaze_is_there_or_says_what_to_install(photo):
    if "akaze" in INSTALLED:
        assert len(detect(photo, "akaze", 5)) == 5
    else:
        with pytest.raises(ValueError, match=r"AKAZE is not part of .* below version 5"):
            detect(photo, "akaze", 5)


def test_wrong_wishes_are_refused(photo):
    with pytest.raises(ValueError, match=r"'surf'.*sift, orb"):
        detect(photo, "surf", 5)
    with pytest.raises(ValueError, match="between 1 and"):
        detect(photo, "orb", 0)


def test_corners_of_a_chessboard_are_found_where_they_are():
    board = np.kron(np.indices((6, 8)).sum(0) % 2, np.ones((40, 40))) * 200 + 20
    points = detect(from_array(board.astype(np.uint8)), "corners", 35)
    inner = np.stack(np.meshgrid(np.arange(40, 320, 40), np.arange(40, 240, 40)), -1).reshape(-1, 2) - 0.5
    assert len(points) == len(inner) == 35
    assert cdist(inner, points.xy).min(axis=1).max() < 2


def test_contour_points_lie_evenly_on_a_circle_along_its_tangent():
    canvas = np.full((300, 300), 30, np.uint8)
    cv2.circle(canvas, (150, 150), 100, 220, -1)
    points = detect(from_array(canvas), "contours", 24)
    arm = points.xy - 150
    assert_allclose(np.hypot(*arm.T), 100, atol=2)
    gaps = np.diff(np.sort(np.arctan2(arm[:, 1], arm[:, 0])))
    assert gaps.max() < 2 * gaps.min()
    tangent = np.stack([np.cos(points.angle), np.sin(points.angle)], 1)
    assert np.abs((tangent * arm).sum(axis=1)).max() < 0.1 * 100
    turn = arm[:, 0] * tangent[:, 1] - arm[:, 1] * tangent[:, 0]
    assert (turn > 0).all()  # clockwise as seen on the screen: the bright inside is on the right


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.integers(0, 300), st.integers(1, 60), st.integers(0, 10_000))
def test_spread_keeps_the_best_point_and_a_maximal_set(n, count, seed):
    xy = np.random.default_rng(seed).uniform(0, 200, (n, 2))
    kept = spread(xy, count)
    assert len(kept) <= min(n, count)
    assert (np.diff(kept) > 0).all()  # in order of preference
    if n:
        assert kept[0] == 0
    if len(kept) > 1:
        assert pdist(xy[kept]).min() > CLOSEST
    if 0 < len(kept) < count:  # then no other point had room
        assert cdist(xy, xy[kept]).min(axis=1).max() <= CLOSEST


def test_spread_is_nearly_as_even_as_the_best_radius_of_a_fine_search():
    xy = np.random.default_rng(5).uniform(0, 100, (400, 2))

    def kept_at(radius):
        kept = []
        for p in xy:
            if all(np.hypot(*(p - q)) > radius for q in kept):
                kept.append(p)
        return len(kept)

    best = max(radius for radius in np.arange(5, 30, 2.0) if kept_at(radius) >= 20)
    assert pdist(xy[spread(xy, 20)]).min() > best


def test_keypoints_are_frozen_copies():
    xy = np.array([[1.0, 2.0], [3.0, 4.0]])
    points = Keypoints(xy, labels=["a", " b "])
    xy[:] = 0
    assert_array_equal(points.xy, [[1, 2], [3, 4]])
    assert points.labels == ("a", "b")
    with pytest.raises(ValueError, match="read-only"):
        points.xy[0] = 9


def test_take_and_scaled_carry_everything():
    points = Keypoints([[0, 1], [2, 3], [4, 5]], [0, 1, 2], [3, 4, 5], [6, 7, 8], ("a", "b", "c"))
    part = points.take([2, 0])
    assert_array_equal(part.xy, [[4, 5], [0, 1]])
    assert (part.angle.tolist(), part.size.tolist(), part.strength.tolist()) == ([2, 0], [5, 3], [8, 6])
    assert part.labels == ("c", "a")
    assert_array_equal(points.take([False, True, False]).xy, [[2, 3]])
    assert len(points.take([])) == 0
    framed = Keypoints([[0, 1], [2, 3]], looks=np.eye(2), shape=[np.eye(2), 2 * np.eye(2)])
    assert_array_equal(framed.take([1]).looks, [[0, 1]])
    assert_array_equal(framed.scaled(3).take([1]).axes, [6 * np.eye(2)])
    twice = points.scaled(2)
    assert_array_equal(twice.xy, points.xy * 2)
    assert_array_equal(twice.size, points.size * 2)
    assert_array_equal(twice.angle, points.angle)
    assert len(Keypoints([])) == 0


@pytest.mark.parametrize(
    ("given_columns", "words"),
    [
        ({"xy": [1, 2]}, "shape"),
        ({"xy": [[1, 2, 3]]}, "shape"),
        ({"xy": [[1, np.nan]]}, "keypoint 0 is nan"),
        ({"xy": [[1, 2], [np.inf, 0]]}, "keypoint 1 is inf"),
        ({"xy": [["a", "b"]]}, "numbers"),
        ({"xy": [[1, 2], [3]]}, "numbers"),
        ({"xy": [[1, 2]], "angle": [1, 2]}, "need 1 values of angle"),
        ({"xy": [[1, 2]], "strength": [np.nan]}, "strength"),
        ({"xy": [[1, 2]], "size": [-1]}, "negative"),
        ({"xy": [[1, 2]], "labels": ()}, "need 1 labels"),
        ({"xy": [[1, 2]], "looks": [[0, 1], [1, 0]]}, "as many finite rows"),
        ({"xy": [[1, 2]], "shape": [[[1, 0], [1, 0]]]}, "span an area"),
        ({"xy": [[1, 2]], "labels": ("two\nlines",)}, "printable"),
    ],
)
def test_wrong_keypoints_are_not_born(given_columns, words):
    with pytest.raises(ValueError, match=words):
        Keypoints(**given_columns)


@pytest.mark.parametrize("factor", [0, -1, np.nan, np.inf])
def test_scaling_needs_a_positive_factor(factor):
    with pytest.raises(ValueError, match="positive"):
        Keypoints([[1, 2]]).scaled(factor)


@pytest.mark.data
@pytest.mark.parametrize("name", INSTALLED)
def test_detectors_cover_the_real_house(name, data_dir):
    image = decode((data_dir / "house" / "images" / "house.seq0.png").read_bytes())
    points = detect(image, name, 30, even=True)
    assert len(points) == 30
    assert pdist(points.xy).min() > 30
