"""Data sets: the real ones hold what is known of them, the built-in ones tell the truth."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from features.datasets import DATASETS, cells, oxford, photos, random_points, sequences, turntable, warp, willow
from features.pairs import mapped
from features.points.images import decode
from ui.choice.gallery import FIRST

BUILT_IN = [key for key, dataset in DATASETS.items() if dataset.builtin]
properties = settings(deadline=None, derandomize=True, max_examples=25)


def same(one, other):
    """Two loads gave the same pair."""
    assert one.name == other.name and one.shape == other.shape
    assert_array_equal(one.truth, other.truth)
    for a, b in ((one.left, other.left), (one.right, other.right)):
        assert_array_equal(a.points.xy, b.points.xy)
        assert (a.image is None) == (b.image is None)
        assert a.image is None or np.array_equal(a.image.rgb, b.image.rgb)


# All of them ---------------------------------------------------------------------------------------------------------


def test_the_registry_describes_itself():
    real = ["house", "hotel", "cars", "motorbikes", "oxford", "willow", "gmbench"]
    assert list(DATASETS) == ["turntable", "warp", "portrait", "random", "cells", *real]
    assert BUILT_IN == ["turntable", "warp", "portrait", "random", "cells"]
    for key, dataset in DATASETS.items():
        assert dataset.key == key and dataset.description.endswith(".") and len(dataset.description) < 120
        names = [parameter.name for parameter in dataset.parameters]
        assert len(set(names)) == len(names) and names[-1] == "seed"
        assert all(parameter.help.endswith(".") and parameter.label for parameter in dataset.parameters)


@pytest.mark.parametrize("key", BUILT_IN)
def test_built_in_sets_need_nothing_and_repeat_exactly(key):
    dataset = DATASETS[key]
    assert dataset.available()
    first = dataset.load(seed=5)
    for module in (turntable, warp, random_points):
        for name in ("picture", "positions", "warped", "detected", "load", "backdrop"):
            if hasattr(getattr(module, name, None), "cache_clear"):
                getattr(module, name).cache_clear()
    same(first, dataset.load(seed=5))
    assert first.left.image is not None and first.right.image is not None
    for view in (first.left, first.right):
        assert ((view.points.xy >= 0) & (view.points.xy <= np.array(view.image.size) - 1)).all()


@pytest.mark.parametrize("key", BUILT_IN)
def test_the_seed_shuffles_the_right_points(key):
    dataset = DATASETS[key]
    shuffled, ordered = dataset.load(images=False, seed=0), dataset.load(images=False, seed=-1)
    assert shuffled.left.image is None and shuffled.right.image is None
    assert not np.array_equal(shuffled.right.points.xy, ordered.right.points.xy)
    both = ordered.has_partner
    assert_array_equal(shuffled.has_partner, both)
    if ordered.truth is not None:
        assert_array_equal(*[pair.right.points.xy[pair.truth[both]] for pair in (shuffled, ordered)])


# Photographs ---------------------------------------------------------------------------------------------------------


def test_the_portrait_is_seen_by_the_camera_that_is_told():
    """What lies at a point of the portrait lies, carried by the map, in what the camera sees."""
    pair = DATASETS["portrait"].load(noise=0.0)
    there = mapped(pair.homography, pair.left.points.xy)
    inside = ((there > 20) & (there < np.array(pair.right.image.size) - 20)).all(axis=1)
    assert inside.sum() > 150
    blurred = [cv2.GaussianBlur(view.image.grey, (0, 0), 2) for view in (pair.left, pair.right)]
    sampled = [
        cv2.remap(grey, xy[inside].astype("f4")[:, None], None, cv2.INTER_LINEAR)[:, 0]
        for grey, xy in zip(blurred, (pair.left.points.xy, there), strict=True)
    ]
    assert np.corrcoef(*sampled)[0, 1] > 0.9
    assert 0.2 < pair.has_partner.mean() < 0.8  # many points have no partner, as in photographs that people bring


@pytest.mark.data
def test_oxford_knows_the_map_of_every_pair_that_is_there(data_dir):
    assert DATASETS["oxford"].available() and DATASETS["oxford"].count == 40
    for scene in oxford.scenes():
        for number in range(2, 7):
            assert np.isfinite(oxford.homography(scene, number)).all()
    pair = DATASETS["oxford"].load(scene="graf", number=2, points=200)
    assert pair.shape == (200, 200) and pair.truth is None and pair.tolerance == 4
    assert pair.left.points.looks is not None and 0.4 < pair.has_partner.mean() < 0.8


@pytest.mark.data
def test_willow_has_ten_landmarks_everywhere_and_its_faults_are_known(data_dir):
    many = {"Car": 40, "Duck": 50, "Face": 108, "Motorbike": 40, "Winebottle": 66}
    assert {kind: len(names) for kind, names in willow.names().items()} == many
    for kind in willow.classes():
        for name in willow.names()[kind]:
            assert len(willow.landmarks(name)) == 10
    exchanged, plain = (willow.landmarks(f"Car/Cars_{name}").xy for name in ("030a", "000a"))
    assert (exchanged[6] - exchanged[5])[1] > 0 and (plain[6] - plain[5])[1] > 0  # the seventh below the sixth
    with pytest.raises(ValueError, match="there are 40 of the class Car"):
        DATASETS["willow"].load(kind="Car", left=41)


# Cells ---------------------------------------------------------------------------------------------------------------


def test_cells_are_generated_sparse_and_planted():
    pair = DATASETS["cells"].load(images=False, nodes=40, left_outliers=4, outliers=6, candidates=7, neighbours=3)
    problem, (left, right) = pair.given, (pair.left.points.xy, pair.right.points.xy)
    assert "generated" in DATASETS["cells"].label and "Generated" in pair.name
    assert problem.shape == (44, 46) and (problem.candidates.sum(axis=1) == 7).all()
    inside = np.flatnonzero(pair.has_partner)
    assert len(inside) == 40 and problem.candidates[inside, pair.truth[inside]].all()
    shift = right[pair.truth[inside]] - left[inside]
    apart = np.linalg.norm(left[:, None] - left, axis=2)
    near = np.argsort(apart, axis=1)[:, 1:4]
    ties = {tuple(sorted((i, int(j)))) for i in range(44) for j in near[i]}
    both = [(a, b) for a in range(40) for b in range(a) if tuple(sorted((inside[a], inside[b]))) in ties]
    square = np.array([((shift[a] - shift[b]) ** 2).sum() for a, b in both])
    paid = (shift**2).sum(axis=1) / (shift**2).sum(axis=1).mean() - cells.REWARD
    matched = np.zeros(problem.shape)
    matched[inside, pair.truth[inside]] = 1
    assert problem.energy(matched) == pytest.approx(paid.sum() + np.minimum(square / square.mean(), cells.CAP).sum())
    assert len(problem.potentials[1].costs) <= 49 * len(ties)


# Turntable -----------------------------------------------------------------------------------------------------------


def on_screen(point, view):
    """The camera by spherical trigonometry: turn the world about z, tilt it about x, divide by the depth."""
    turn, tilt = np.radians(view - 45.0), np.radians(20.0)
    x, y, z = point - np.array([0.0, 0.0, 1.75])
    across, away = np.cos(turn) * x + np.sin(turn) * y, -np.sin(turn) * x + np.cos(turn) * y
    up, depth = np.cos(tilt) * z + np.sin(tilt) * away, 17.5 + np.cos(tilt) * away - np.sin(tilt) * z
    return 319.5 + 835.0 * across / depth, 239.5 - 835.0 * up / depth, depth


@pytest.mark.parametrize("view", [0, 17, 45, 90])
def test_landmarks_are_where_an_independent_camera_sees_them(view):
    _, marks = turntable.scene()
    expected = np.array([on_screen(mark.at, view)[:2] for mark in marks])
    assert_allclose(turntable.positions(view)[0], expected, atol=1e-9)


def test_there_are_enough_views_and_landmarks():
    assert DATASETS["turntable"].count == 91
    names = [mark.name for mark in turntable.scene()[1]]
    assert len(set(names)) == len(names) >= 60
    for view in range(0, 91, 15):
        xy, seen = turntable.positions(view)
        assert seen.sum() >= 30
        assert (xy > 0).all() and (xy < np.array(turntable.FRAME) - 1).all()


@pytest.mark.parametrize("view", [3, 30, 50, 88])
def test_a_landmark_is_hidden_exactly_if_the_drawn_surface_lies_before_it(view):
    """The exact test along the line of sight against the depth buffer of the drawing, which knows nothing of it."""
    _, marks = turntable.scene()
    depth = turntable.render(view)[1]
    xy, seen = turntable.positions(view)
    fine = np.rint(turntable.SMOOTH * (xy + 0.5) - 0.5).astype(int)
    for mark, (x, y), visible in zip(marks, fine, seen, strict=True):
        around = depth[y - 3 : y + 4, x - 3 : x + 4]
        own = on_screen(mark.at, view)[2]
        if visible:  # its own surface is in the drawing, here or (at an edge) beside
            assert abs(around - own).min() < 0.04, mark.name
        else:  # something nearer is in the drawing, here or beside
            assert (around < own - 0.004).any(), mark.name


def test_hidden_landmarks_have_no_partner():
    each = DATASETS["turntable"].load(images=False, left=0, right=90)
    names = [np.array(view.points.labels) for view in (each.left, each.right)]
    both = set(names[0]) & set(names[1])
    assert_array_equal(each.has_partner, [name in both for name in names[0]])
    assert_array_equal(names[1][each.truth[each.has_partner]], names[0][each.has_partner])
    assert any("left window" in name for name in names[0]) and not any("left window" in name for name in names[1])
    common = DATASETS["turntable"].load(images=False, left=0, right=90, landmarks=turntable.BOTH)
    assert common.shape == (len(both), len(both)) and common.has_partner.all()


def test_landmarks_of_neighbouring_views_lie_on_the_same_texture():
    """The picture moves as the landmarks do: patches around them look alike in views a degree apart."""
    pair = DATASETS["turntable"].load(left=40, right=41, landmarks=turntable.BOTH, seed=-1)
    grey = [cv2.cvtColor(view.image.rgb, cv2.COLOR_RGB2GRAY) for view in (pair.left, pair.right)]
    alike = []
    for p, q in zip(pair.left.points.xy, pair.right.points.xy, strict=True):
        patches = [cv2.getRectSubPix(image, (15, 15), spot.tolist()) for image, spot in zip(grey, (p, q), strict=True)]
        alike.append(np.corrcoef(patches[0].ravel(), patches[1].ravel())[0, 1])
    assert np.median(alike) > 0.95 and np.mean(np.array(alike) > 0.8) > 0.9


@pytest.mark.parametrize("path", sorted(turntable.DRAWN.glob("*.webp")), ids=lambda path: path.stem)
def test_a_view_that_was_drawn_before_is_what_would_be_drawn(path):
    drawn, now = decode(path.read_bytes()).rgb, turntable.render(int(path.stem))[0]
    assert np.abs(drawn.astype(int) - now).max() <= 2  # another OpenCV may round otherwise


def test_the_views_that_the_app_opens_with_were_drawn_before():
    first = FIRST.recipe.dataset_params
    assert {f"{first[side]}.webp" for side in ("left", "right")} <= {path.name for path in turntable.DRAWN.iterdir()}


def test_turntable_noise_moves_the_points_as_told():
    exact, moved = (DATASETS["turntable"].load(images=False, noise=noise, seed=-1) for noise in (0.0, 2.0))
    off = np.concatenate([moved.left.points.xy - exact.left.points.xy, moved.right.points.xy - exact.right.points.xy])
    assert 1.5 < off.std() < 2.5


# Warped photo --------------------------------------------------------------------------------------------------------


def forward(back, target, start, steps=60):
    """The inverse of a map at some points, by damped Newton steps with numerical derivatives."""
    spot = start.copy()
    for _ in range(steps):
        here = back(spot)
        slopes = np.stack([(back(spot + step) - back(spot - step)) / 0.2 for step in ((0.1, 0), (0, 0.1))], axis=-1)
        spot = spot + 0.7 * np.linalg.solve(slopes, (target - here)[..., None])[..., 0]
    return spot


@pytest.mark.parametrize("kind", warp.MAPS)
@pytest.mark.parametrize("seed", [0, 1])
def test_partners_of_the_warp_are_images_of_each_other(kind, seed):
    pair = DATASETS["warp"].load(images=False, map=kind, strength=0.8, seed=seed, tolerance=2.5, left_outliers=5)
    both, back = pair.has_partner, warp.back_map(kind, 0.8, seed)
    left, right = pair.left.points.xy, pair.right.points.xy
    assert both.sum() == 30 and pair.shape == (35, 35)
    gaps = np.linalg.norm(left[both] - back(right[pair.truth[both]]), axis=1)
    assert gaps.max() <= 2.5
    there = forward(back, left[both], right[pair.truth[both]])
    assert_allclose(back(there), left[both], atol=1e-4)
    others = np.linalg.norm(left[:, None] - back(right), axis=2)
    others[np.flatnonzero(both), pair.truth[both]] = np.inf
    assert others[~both].min() > 2.5, "an outlier has a point on the other side that might be its partner"


@pytest.mark.parametrize("kind", ["homography", "affine"])
def test_points_found_anew_in_a_warp_are_judged_by_its_map(kind):
    known = DATASETS["warp"].load(map=kind, strength=0.8)
    back = warp.back_map(kind, 0.8, 0)
    spots = np.random.default_rng(0).uniform(50, 450, (20, 2))
    assert_allclose(mapped(known.homography, back(spots)), spots, atol=1e-6)
    anew = known.detected("sift", {"left": 60, "right": 60})
    assert anew.truth is None and anew.judged
    for i, j in enumerate(anew.partners):
        assert j < 0 or np.hypot(*(back(anew.right.points.xy[[j]])[0] - anew.left.points.xy[i])) < 2 * anew.tolerance
    assert DATASETS["warp"].load(images=False, map="thin plate").homography is None


@pytest.mark.parametrize("kind", warp.MAPS)
@pytest.mark.parametrize("seed", range(4))
def test_warps_never_fold_and_the_picture_follows_them(kind, seed):
    back = warp.back_map(kind, 1.0, seed)
    w, h = warp.SIZE
    grid = np.stack(np.meshgrid(np.linspace(0, w - 1, 25), np.linspace(0, h - 1, 25)), axis=-1).reshape(-1, 2)
    right, down = (back(grid + np.array(step)) - back(grid) for step in ((1, 0), (0, 1)))
    assert (right[:, 0] * down[:, 1] - right[:, 1] * down[:, 0] > 0.1).all()
    source, copy = warp.photograph().rgb, warp.warped(kind, 1.0, 0.0, seed).rgb
    where = back(grid)
    inside = ((where > 12) & (where < np.array(warp.SIZE) - 13)).all(axis=1)
    smooth = [cv2.GaussianBlur(image, (0, 0), 4).astype(float) for image in (source, copy)]
    expected = cv2.remap(smooth[0], *where.T.astype(np.float32)[:, None], cv2.INTER_LINEAR)[0]
    found = cv2.remap(smooth[1], *grid.T.astype(np.float32)[:, None], cv2.INTER_LINEAR)[0]
    assert inside.sum() > 100 and np.median(abs(expected - found)[inside]) < 4


def test_a_warp_of_strength_zero_is_the_photograph():
    for kind in warp.MAPS:
        copy = warp.warped(kind, 0.0, 0.0, 3)
        assert abs(copy.rgb.astype(int) - warp.photograph().rgb).mean() < 0.5


# Random points -------------------------------------------------------------------------------------------------------


@properties
@given(
    st.integers(1, 40),
    st.integers(0, 20),
    st.integers(0, 20),
    st.floats(-180, 180),
    st.floats(0.5, 2),
    st.integers(0, 99),
)
def test_random_points_are_a_turned_and_scaled_copy(inliers, outliers, left_outliers, rotation, scale, seed):
    pair = DATASETS["random"].load(
        images=False,
        inliers=inliers,
        outliers=outliers,
        left_outliers=left_outliers,
        noise=0.0,
        rotation=rotation,
        scale=scale,
        seed=seed,
    )
    assert pair.shape == (inliers + left_outliers, inliers + outliers)
    assert pair.has_partner.sum() == inliers
    left, right = (
        points[:, 0] + 1j * points[:, 1]
        for points in (pair.left.points.xy[pair.has_partner], pair.right.points.xy[pair.truth[pair.has_partner]])
    )
    turn = scale * np.exp(1j * np.radians(rotation))  # a similarity is a product of complex numbers
    assert_allclose(right - right.mean(), turn * (left - left.mean()), atol=1e-9)
    side = random_points.frame(rotation, scale)[1]
    assert ((pair.right.points.xy >= 0) & (pair.right.points.xy <= side - 1)).all()


def test_random_deformation_has_the_size_that_was_asked_for():
    exact, moved = (
        DATASETS["random"].load(images=False, inliers=200, noise=noise, scale=2.0, seed=-1) for noise in (0, 7)
    )
    off = (moved.right.points.xy - exact.right.points.xy)[:200]
    assert off.std() == pytest.approx(2 * 7, rel=0.1)


# The real sets -------------------------------------------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.parametrize(
    ("key", "frames", "size", "known"),
    [
        (
            "house",
            111,
            (576, 384),
            {0: [(208.66129, 341.14516), (451.37097, 254.62903)], 110: [(78.016129, 366.1129), (354.98387, 369.01613)]},
        ),
        ("hotel", 101, (512, 480), {0: [(164, 82), (499, 359)]}),
    ],
)
def test_sequences_hold_what_is_known_of_them(data_dir, key, frames, size, known):
    dataset = DATASETS[key]
    assert dataset.available() and dataset.count == frames
    for frame in range(frames):
        pair = dataset.load(images=False, left=frame, right=0, seed=-1)
        assert pair.shape == (30, 30)
        assert_array_equal(pair.truth, np.arange(30))
        assert ((pair.left.points.xy >= 0) & (pair.left.points.xy <= size)).all()
        for row, spot in zip((0, 29), known.get(frame, []), strict=False):
            assert_allclose(pair.left.points.xy[row], spot)
    last = dataset.load(left=frames - 1, right=1)
    assert last.left.image.size == last.right.image.size == size
    with pytest.raises(ValueError, match=f"Left frame is {frames}; expected 0 to {frames - 1}"):
        dataset.load(left=frames)


@pytest.mark.data
def test_the_picture_of_house_moves_as_its_points_do(data_dir):
    """Points followed through the pictures end nearer to the labels of that frame than to those of frames beside it."""
    errors = []
    for frame in range(5, 95, 10):
        grey = [cv2.cvtColor(sequences.frame_image("house", f).rgb, cv2.COLOR_RGB2GRAY) for f in (frame, frame + 4)]
        start, end = (sequences.frame_points("house", f).xy.astype(np.float32) for f in (frame, frame + 4))
        flow, found, _ = cv2.calcOpticalFlowPyrLK(*grey, start, end.copy(), winSize=(15, 15), maxLevel=0)
        assert found.sum() > 20
        labels = [sequences.frame_points("house", frame + 4 + off).xy for off in (-2, 0, 2)]
        errors.append([np.median(np.linalg.norm(flow - xy, axis=1)[found.ravel() > 0]) for xy in labels])
    before, right, after = np.mean(errors, axis=0)
    assert right < 0.75 * min(before, after)


@pytest.mark.data
def test_the_first_points_of_house_meet_all_thirty(data_dir):
    pair = DATASETS["house"].load(images=False, left=3, right=40, points=10, seed=7)
    whole = DATASETS["house"].load(images=False, left=3, right=40, seed=-1)
    assert pair.shape == (10, 30) and pair.has_partner.all()
    assert_array_equal(pair.left.points.xy, whole.left.points.xy[:10])
    assert_array_equal(pair.right.points.xy[pair.truth], whole.right.points.xy[:10])


@pytest.mark.data
@pytest.mark.parametrize(
    ("key", "count", "first_pair"),
    [
        ("cars", 30, ((105, 49), 19, ((349, 400), (400, 278)), (153, 231), -0.320160825)),
        ("motorbikes", 20, ((127, 111), 46, ((400, 300), (400, 300)), (130, 193), 1.00440011)),
    ],
)
def test_photographs_hold_what_is_known_of_them(data_dir, key, count, first_pair):
    dataset = DATASETS[key]
    assert dataset.available() and dataset.count == count
    richest = np.zeros(2, int)
    for number in range(1, count + 1):
        pair = photos.everything(key, number)
        inliers = int(pair.has_partner.sum())
        assert_array_equal(pair.truth[:inliers], np.arange(inliers))
        assert (pair.truth[inliers:] == -1).all() and 15 <= inliers <= 52
        richest = np.maximum(richest, np.array(pair.shape) - inliers)
    assert tuple(richest) == photos.MOST_OUTLIERS[key]
    whole, shown = photos.everything(key, 1), dataset.load(number=1, seed=-1)
    shape, inliers, sizes, spot, normal = first_pair  # spot and normal of the first left point
    assert whole.shape == shape and shown.shape == (inliers, inliers)
    assert (shown.left.image.size, shown.right.image.size) == sizes
    assert_array_equal(shown.left.points.xy[0], spot)
    assert np.tan(shown.left.points.angle[0]) == pytest.approx(np.tan(normal + np.pi / 2))


@pytest.mark.data
@pytest.mark.parametrize("key", ["cars", "motorbikes"])
def test_contour_points_lie_on_contours_and_their_angle_along_them(data_dir, key):
    """Rows and columns the other way round, or the normal for the tangent, would put this near or below zero."""
    along, inside = [], []
    for number in range(1, DATASETS[key].count + 1):
        whole = photos.everything(key, number)
        for image, view in zip(photos.photographs(key, number), (whole.left, whole.right), strict=True):
            grey = cv2.GaussianBlur(cv2.cvtColor(image.rgb, cv2.COLOR_RGB2GRAY), (0, 0), 1.5)
            x, y = view.points.xy.astype(int).T
            inside.append(((view.points.xy >= 0) & (view.points.xy < image.size)).all())
            gx, gy = (cv2.Sobel(grey, cv2.CV_64F, *axis)[y, x] for axis in ((1, 0), (0, 1)))
            steep = np.hypot(gx, gy) > np.median(np.hypot(gx, gy))
            along.append(-np.cos(2 * (view.points.angle - np.arctan2(gy, gx)))[steep].mean())
    assert all(inside)
    assert np.mean(along) > 0.8


@pytest.mark.data
def test_outliers_of_photographs_are_seeded_and_limited(data_dir):
    cars = DATASETS["cars"]
    pair = cars.load(number=3, outliers=12, left_outliers=4, seed=1)
    assert pair.shape == (42 + 4, 42 + 12) and pair.has_partner.sum() == 42
    same(pair, cars.load(number=3, outliers=12, left_outliers=4, seed=1))
    other = cars.load(number=3, outliers=12, left_outliers=4, seed=2)
    assert not np.array_equal(np.sort(other.right.points.xy, axis=0), np.sort(pair.right.points.xy, axis=0))
    with pytest.raises(ValueError, match="Cars, pair 17 has 10 of its own"):
        cars.load(number=17, outliers=11)
