"""Pairs: every operation moves points and truth together; parameters and data sets refuse what they cannot do."""

import io
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from PIL import Image as Pillow
from scipy.optimize import linear_sum_assignment

from adgm import EXACTLY_ONE, Dense, Formula, Problem, Sparse
from adgm.costs.koopmans_beckmann import product
from features.datasets.base import Dataset
from features.digests import digest
from features.pairs import Pair, View, mapped, own_pair, read_pair, truth_by_label
from features.parameters import Parameter, seed_parameter
from features.points.images import from_array
from features.points.keypoints import Keypoints, detect

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
    pair = read_pair(png(3200, 100), png(80, 80), points=(spots, spots), truth=b"left,right\n0,2\n2,1\n", name="mine")
    assert_array_equal(pair.truth, [2, -1, 1])
    assert_array_equal(pair.left.points.xy, [(5, 10), (15, 20), (25, 30)])  # shrunk to 1600 pixels, points with it
    assert_array_equal(pair.right.points.xy, [(10, 20), (30, 40), (50, 60)])
    labelled = b"x,y,label\n1,1,tip\n2,2,tail\n"
    assert_array_equal(read_pair(png(9, 9), png(9, 9), points=(labelled, labelled)).truth, [0, 1])
    assert own_pair((None, None), (points((0, 0)), points((0, 0)))).truth is None
    with pytest.raises(ValueError, match="could not be read"):
        read_pair("nowhere.png", png(9, 9))


def test_every_source_of_an_image_gives_the_same_points(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 255, (120, 2000, 3), dtype=np.uint8)
    Pillow.fromarray(pixels).save(tmp_path / "a.png")
    path = tmp_path / "a.png"
    found = [read_pair(source, source, counts={"left": 9}) for source in (path, str(path), path.read_bytes(), pixels)]
    for pair in found:
        assert pair.shape == (9, 40) and pair.left.image.scale == 0.8
        assert_array_equal(pair.left.points.xy, detect(pair.left.image, "sift", 9).xy)  # as found: scaled not even once
        assert_array_equal(pair.left.points.xy, found[0].left.points.xy)
    assert found[0].name == "a.png and a.png"
    assert read_pair(path, path, detector=None).shape == (0, 0)


# ---- truth from a map --------------------------------------------------------------------------------------------


@st.composite
def mapped_pairs(draw):
    """Points scattered about the places where a homography sends others, some within the tolerance, some not."""
    rng = np.random.default_rng(draw(seeds))
    n1, n2 = draw(st.integers(0, 7)), draw(st.integers(0, 7))
    homography = np.eye(3) + rng.normal(0, 0.1, (3, 3)) * [[1, 1, 20], [1, 1, 20], [1e-3, 1e-3, 0]]
    left = rng.uniform(0, 30, (n1, 2))
    carried = mapped(homography, left)
    right = rng.uniform(0, 30, (n2, 2))
    for j in range(n2):
        if n1 and rng.random() < 0.7:
            right[j] = carried[rng.integers(n1)] + rng.normal(0, 2, 2)
    return Pair(View(None, Keypoints(left)), View(None, Keypoints(right)), None, "mapped", homography, 4.0)


def distances(pair: Pair) -> np.ndarray:
    """Of every left point under the map from every right point, one at a time."""
    found = np.empty(pair.shape)
    for i, (x, y) in enumerate(pair.left.points.xy):
        u, v, w = pair.homography @ (x, y, 1)
        for j, right in enumerate(pair.right.points.xy):
            found[i, j] = math.dist((u / w, v / w), right)
    return found


@properties
@given(mapped_pairs())
def test_by_a_map_right_is_within_the_tolerance(pair):
    near = distances(pair) <= pair.tolerance
    everything = np.argwhere(np.ones(pair.shape, bool))
    assert_array_equal(pair.correct(everything), near[tuple(everything.T)])
    assert_array_equal(pair.has_partner, near.any(axis=1))
    assert_array_equal(pair.outliers()[0], np.flatnonzero(~near.any(axis=1)))
    assert_array_equal(pair.outliers()[1], np.flatnonzero(~near.any(axis=0)))
    shuffled = pair.shuffled(1)
    assert_array_equal(shuffled.has_partner, pair.has_partner)


@properties
@given(mapped_pairs())
def test_the_true_matching_of_a_map_is_the_largest_and_of_those_the_closest(pair):
    gaps = distances(pair)
    cost = np.where(gaps <= pair.tolerance, gaps - 1e6, 0.0)  # dense, slow and obvious
    rows, cols = linear_sum_assignment(cost)
    chosen = [(i, j) for i, j in zip(rows, cols, strict=True) if cost[i, j] < 0]
    found = [(i, j) for i, j in enumerate(pair.partners) if j >= 0]
    assert len(found) == len(chosen) and pair.correct(found).all()
    assert sum(gaps[i, j] for i, j in found) == pytest.approx(sum(gaps[i, j] for i, j in chosen))


def test_numbered_truth_comes_before_the_map_and_detection_leaves_the_map():
    image = from_array(np.random.default_rng(0).integers(0, 255, (80, 80, 3), dtype=np.uint8))
    view = View(image, points((10, 10), (40, 40)))
    pair = Pair(view, view, [1, 0], "both", np.eye(3))
    assert pair.correct([[0, 1], [1, 1]]).tolist() == [True, False]
    found = pair.detected("sift", {"left": 5, "right": 5})
    assert found.truth is None and found.correct([[i, i] for i in range(5)]).all()
    assert_array_equal(found.partners, np.arange(5))
    with pytest.raises(ValueError, match="no image"):
        Pair(View(None, points((0, 0))), view).detected("sift")


@pytest.mark.parametrize("wrong", [np.eye(2), np.zeros((3, 3)), np.full((3, 3), np.nan)])
def test_what_is_no_homography_is_refused(wrong):
    view = View(None, points((0, 0)))
    with pytest.raises(ValueError, match="not a homography"):
        Pair(view, view, None, "pair", wrong)
    with pytest.raises(ValueError, match="tolerance"):
        Pair(view, view, None, "pair", np.eye(3), 0.0)


@pytest.mark.parametrize(
    ("parameter", "good", "bad"),
    [
        (Parameter("n", "Points", "int", 3, "", 1, 9), {1: 1, np.int32(9): 9}, [0, 10, 1.5, "x", None, 10**400]),
        (Parameter("s", "Noise", "float", 0, "", 0, 1), {0.5: 0.5, 1: 1.0}, [-0.1, 1.1, math.nan, "x", None, 10**400]),
        (Parameter("k", "Kind", "choice", "a", "", choices=("a", "b")), {"b": "b"}, ["c", 1, "c" * 10**6]),
    ],
)
def test_parameters_take_what_they_declare(parameter, good, bad):
    for value, expected in good.items():
        assert parameter.check(value) == expected
    for value in bad:
        with pytest.raises(ValueError, match=parameter.label) as caught:
            parameter.check(value)
        assert len(str(caught.value)) <= 500


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
    with pytest.raises(ValueError, match="Size is 10; expected 0 to 9"):
        dataset.load(size=10)


PICTURE = from_array(np.full((4, 5, 3), 9, np.uint8))
FLOWS, PATH = np.arange(4.0).reshape(2, 2), np.array([[0, 1]])


def twofold(a, b):
    return 2 * a[..., 0] * b[..., 0]


def formula(left=FLOWS, right=FLOWS, cost=product, symmetric=False, **options) -> Problem:
    return Problem((2, 2), [Formula(left, right, cost, symmetric, **options)])


GIVEN: list[Problem | None] = [  # no two of these are the same problem
    None,
    Problem((2, 2), [Dense([[1.0, 2], [3, 4]])]),
    Problem((2, 2), [Dense([[1.0, 2], [3, 5]])]),
    Problem((2, 2), [Dense(np.zeros((4, 4)))]),
    Problem((2, 2), [Dense([[1.0, 2], [3, 4]])], rows=EXACTLY_ONE),
    Problem((2, 2), [Dense([[1.0, 2], [3, 4]])], cols=EXACTLY_ONE),
    Problem((2, 2), [Dense([[1.0, 2], [3, 4]])], candidates=np.array([[True, True], [True, False]])),
    Problem((2, 2), [Dense([[1.0, 2], [3, 4]])], candidates=np.array([[True, True], [False, True]])),
    Problem((2, 2), [Sparse([[0, 3]], [1.0])]),
    Problem((2, 2), [Sparse([[1, 2]], [1.0])]),
    Problem((2, 2), [Sparse([[0, 3]], [1.0], symmetric=True)]),
    Problem((2, 2), [Sparse([[0, 3]], [1.0]), Sparse([[1, 2]], [1.0])]),
    Problem((2, 2), [Sparse([[0, 3], [1, 2]], [1.0, 1.0])]),
    formula(),
    formula(left=FLOWS.T),
    formula(right=FLOWS.T),
    formula(cost=twofold),
    formula(left_edges=PATH),
    formula(right_edges=PATH),
    formula(left_edges=PATH, right_edges=PATH),
    formula(left_edges=PATH, right_edges=PATH, where="both"),
    formula(left=lambda i, j: FLOWS[i, j][..., None]),
    formula(left=lambda i, j: FLOWS.T[i, j][..., None]),
]


def test_a_digest_tells_pairs_apart_by_all_that_decides():
    def made(image=PICTURE, x=1.0, labels=None, angle=None, right=2.0, given=None, **known) -> Pair:
        left = Keypoints(np.array([[x, 2.0], [4.0, 5.0]]), angle=angle, labels=labels)
        return Pair(View(image, left), View(None, Keypoints(np.array([[right, 2.0], [3, 3]]))), given=given, **known)

    other, map = from_array(np.full((4, 5, 3), 8, np.uint8)), np.eye(3)
    others = [made(given=problem) for problem in GIVEN]
    others += [made(image=other), made(image=None), made(x=1.5), made(right=1.5), made(angle=[0.0, 1.0])]
    others += [made(labels=("a", "bc")), made(labels=("ab", "c")), made(truth=[0, 1]), made(truth=[1, 0])]
    others += [made(homography=map), made(homography=2 * map), made(homography=map, tolerance=5.0)]
    assert len({pair.digest for pair in others}) == len(others)
    assert [replace(pair).digest for pair in others] == [pair.digest for pair in others]
    again = Problem((2, 2), [Formula(FLOWS.copy(), FLOWS.copy(), product, False)])
    assert made(given=again).digest == made(given=formula()).digest
    lying = PICTURE, from_array(np.full((5, 4, 3), 9, np.uint8))
    assert lying[0].digest != lying[1].digest  # as many pixels, all the same, in another shape


def test_no_two_values_are_taken_for_one_another():
    class Unhashable:
        __hash__ = None  # type: ignore[assignment]

    for make in (lambda: lambda: 0, Unhashable):
        assert digest(make()) != digest(make())
    plain = [np.zeros((2, 3)), np.zeros((3, 2)), np.zeros((2, 3), np.int64), np.zeros((2, 3)).tolist(), "0", 0, None]
    plain += [["a", "bc"], ["ab", "c"], [["a"], "bc"], "abc", View(None, Keypoints(np.zeros((2, 2))))]
    assert len({digest(value) for value in plain}) == len(plain)
    same = twofold
    assert digest([same]) == digest([twofold]) != digest(same)


@pytest.mark.parametrize(("one", "other"), [(0, 1), (1, 2), (0, 2**31), (7, 7)])
def test_another_seed_chooses_other_outliers_and_another_order(one, other):
    """Of 40,000 choices and factorials of orders, two seeds meet the same only if they are equal."""
    xy = np.random.default_rng(0).uniform(0, 100, (22, 2))
    pair = Pair(View(None, Keypoints(xy[:4])), View(None, Keypoints(xy)), np.arange(4), "many outliers")
    makings = (
        lambda seed: set(map(tuple, pair.with_outliers(8, seed).right.points.xy.tolist())),
        lambda seed: pair.with_outliers(18, seed).right.points.xy.tolist(),
        lambda seed: pair.shuffled(seed).truth.tolist(),
        lambda seed: pair.shuffled(seed).right.points.xy.tolist(),
    )
    for make in makings:
        assert make(one) == make(one) and (make(one) == make(other)) == (one == other)


@pytest.mark.parametrize(("given", "looks"), [((), True), (("left",), False), (("right",), False)])
def test_photographs_are_looked_at_again_only_if_both_sides_are_detected(given, looks, monkeypatch):
    asked = []

    def found(pictures, detector, counts, slants):
        asked.append(slants)
        return points((1, 1), (2, 2)), points((3, 3), (4, 4))

    monkeypatch.setattr("features.pairs.reading.found_in", found)
    image = from_array(np.zeros((20, 20), np.uint8))
    sides = tuple(points((5, 5)) if side in given else None for side in ("left", "right"))
    pair = read_pair(image, image, points=sides, slants=True)
    assert asked == [looks]
    assert [len(pair.left.points), len(pair.right.points)] == [1 if side in given else 2 for side in ("left", "right")]
    read_pair(image, image, points=sides, slants=False)
    assert asked == [looks, False]
