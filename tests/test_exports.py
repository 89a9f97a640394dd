"""Exports: what is written can be read back and says the same, in original pixels; hostile zips are refused."""

import csv
import io
import json
import zipfile
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.datasets import DATASETS
from features.files import exports
from features.files.exports import PairFileError, open_pair, save_pair
from features.files.point_files import read_points
from features.judge.metrics import measure
from features.judge.verification import Map, Verification
from features.matching import IMAGES, Matching, match
from features.models import MODELS
from features.pairs import SIDES, Pair, View, mapped, own_pair
from features.points.images import Image, from_array
from features.points.keypoints import Keypoints
from features.recipe import OWN, Recipe


@pytest.fixture(scope="module")
def setup() -> Recipe:
    return Recipe(OWN, {}, "B", {}, "adgm1", {"rho0": 0.1})


@pytest.fixture(scope="module")
def pair() -> Pair:
    """Images worked on at half and at a third of their size."""
    rng = np.random.default_rng(0)
    images = [from_array(rng.integers(0, 255, (60, 80, 3), dtype=np.uint8), max_side=side) for side in (40, 27)]
    left = rng.uniform(5, 55, (7, 2))
    right = np.concatenate([left + rng.normal(0, 0.3, left.shape), rng.uniform(5, 55, (2, 2))])
    labels = tuple("abcdefg"), (*"abcdefg", "", "")
    points = Keypoints(left, labels=labels[0]), Keypoints(right, labels=labels[1])
    return own_pair((images[0], images[1]), points, name='a "pair", ours').shuffled(5)


@pytest.fixture(scope="module")
def solved(pair, setup):
    problem = setup.problem(pair)
    return problem, setup.run(problem)


@pytest.fixture(scope="module")
def matches(pair, solved, setup):
    return Matching(setup, pair, *solved)


def test_a_problem_that_comes_with_a_pair_travels_with_it(pair):
    brought = replace(pair, given=MODELS["B"].build(pair))
    back = open_pair(save_pair(brought)).pair
    x = np.eye(*pair.shape)
    assert MODELS["given"].build(back).energy(x) == MODELS["given"].build(brought).energy(x)
    assert (back.given.rows, back.given.cols) == (brought.given.rows, brought.given.cols)


def test_csv_has_a_line_per_match_in_original_pixels(pair, solved, matches):
    _, result = solved
    rows = list(csv.DictReader(io.StringIO(exports.matches_csv(matches).decode())))
    assert [(int(row["left"]), int(row["right"])) for row in rows] == list(map(tuple, result.pairs.tolist()))
    assert pair.left.image.scale == 0.5
    for row in rows:
        i, j = int(row["left"]), int(row["right"])
        spot = [float(row["left_x"]), float(row["left_y"]), float(row["right_x"]), float(row["right_y"])]
        expected = [*pair.left.points.xy[i] / pair.left.image.scale, *pair.right.points.xy[j] / pair.right.image.scale]
        np.testing.assert_allclose(spot, expected)
        assert row["left_label"] == pair.left.points.labels[i]
        assert row["correct"] == ("yes" if pair.truth[i] == j else "no")
    assert sum(float(row["energy_share"]) for row in rows) == pytest.approx(result.energy)
    assert sum(row["correct"] == "yes" for row in rows) == measure(pair, *parts(solved), "similarity").correct


def parts(solved):
    problem, result = solved
    return problem, result.assignment


def test_labels_that_look_like_formulas_are_text_in_the_matches(pair, matches):
    labels = tuple(f"=HYPERLINK({i})" for i in range(len(pair.left.points)))
    named = replace(pair, left=View(pair.left.image, replace(pair.left.points, labels=labels)))
    for row in csv.DictReader(io.StringIO(exports.matches_csv(replace(matches, pair=named)).decode())):
        assert row["left_label"] == f"'{labels[int(row['left'])]}"
    assert open_pair(save_pair(named)).pair.left.points.labels == labels


def test_json_says_the_same_as_csv_and_knows_the_settings(pair, solved, matches, setup):
    metrics = measure(pair, *parts(solved), "similarity")
    content = json.loads(exports.matches_json(matches))
    rows = list(csv.DictReader(io.StringIO(exports.matches_csv(matches).decode())))
    assert [list(map(str, (m["left"], m["right"], m["left_x"]))) for m in content["matches"]] == [
        [row["left"], row["right"], row["left_x"]] for row in rows
    ]
    assert content["left"]["image_size"] == [80, 60] and content["pair"] == pair.name
    assert Recipe.from_dict(content["recipe"]) == setup
    assert content["metrics"]["accuracy"] == metrics.accuracy
    bare = replace(matches, pair=replace(pair, truth=None))
    assert "correct" not in exports.matches_csv(bare).decode().splitlines()[0]


def test_no_match_is_a_header(solved, matches):
    problem, result = solved
    none = replace(matches, result=replace(result, assignment=np.zeros(problem.n, bool)))
    assert exports.matches_csv(none).decode().splitlines() == [",".join(exports.match_columns(none))]


def test_a_checked_matching_tells_what_obeys_the_map_and_what_the_map_found():
    photo = DATASETS["warp"].load(map="affine", points=30)
    found = match(photo.detected("sift", {"left": 80, "right": 80}), recipe=replace(IMAGES, check="affine"))
    checked = found.verification
    rows = list(csv.DictReader(io.StringIO(exports.matches_csv(found).decode())))
    assert len(rows) == len(found.pairs) + len(checked.added)
    assert sum(row["verified"] == "1" for row in rows) == len(checked.matches) > 20
    told = json.loads(exports.map_json(found))
    assert told["map"] == "affine" and told["inliers"] == checked.map.inliers.sum() and told["error_px"] < 3
    scale = photo.left.image.scale, photo.right.image.scale
    left, right = (np.array([[float(row[f"{side}_x"]), float(row[f"{side}_y"])] for row in rows]) for side in SIDES)
    gap = np.hypot(*(mapped(np.array(told["matrix"]), left) - right).T)
    assert (gap[[row["verified"] == "1" for row in rows]] * scale[1] < 3.5).all()


@pytest.fixture(scope="module")
def planar(pair, matches) -> Matching:
    """Matches that were checked: the first three obey a map, the map finds one more."""
    matrix = np.array([[0.9, 0.1, 3.0], [-0.1, 0.8, 5.0], [1e-3, -2e-3, 1.0]])
    inliers = np.arange(len(matches.pairs)) < 3
    checked = Verification(matches.pairs, Map("homography", matrix, inliers, 1.2, 0.0), ADDED, True, "three")
    return with_check(matches, checked)


ADDED = np.array([[0, 8]])


def with_check(matches: Matching, checked: Verification, model: str = "B") -> Matching:
    found = replace(matches, recipe=replace(matches.recipe, check="homography", model=model))
    vars(found)["verification"] = checked
    return found


def test_a_map_is_told_in_original_pixels(pair, planar):
    told = json.loads(exports.map_json(planar))
    scales = pair.left.image.scale, pair.right.image.scale
    assert scales[0] != scales[1] and scales[1] != 1
    spots = np.random.default_rng(0).uniform(0, 60, (9, 2))
    expected = mapped(planar.verification.map.matrix, spots * scales[0]) / scales[1]
    np.testing.assert_allclose(mapped(np.array(told["matrix"]), spots), expected)
    assert told["matrix"][2][2] == 1 and told["error_px"] == pytest.approx(1.2 / scales[1])
    assert (told["map"], told["inliers"], told["added"], told["verdict"]) == ("homography", 3, 1, "three")
    assert "depth" not in told


def test_a_fundamental_matrix_is_told_in_original_pixels(pair, matches):
    matrix = np.random.default_rng(1).normal(size=(3, 3))
    lines = Map("fundamental", matrix, np.ones(len(matches.pairs), bool), 0.5, 0.0)
    alone = Verification(matches.pairs, lines, ADDED[:0], True, "lines")
    plane = Map("affine", np.eye(3), np.zeros(len(matches.pairs), bool), 1.0, 0.0)
    beside = replace(alone, map=plane, depth=lines)
    left, right = np.random.default_rng(0).uniform(0, 60, (2, 9, 2))
    left, right = (np.column_stack([xy, np.ones(9)]) for xy in (left, right))
    work = [np.diag([view.image.scale] * 2 + [1]) for view in (pair.left, pair.right)]
    expected = np.einsum("ni,ij,nj->n", right @ work[1], matrix, left @ work[0])
    for told in (exports.map_of(with_check(matches, alone)), exports.map_of(with_check(matches, beside))["depth"]):
        found = np.einsum("ni,ij,nj->n", right, np.array(told["matrix"]), left)
        np.testing.assert_allclose(found / found[0], expected / expected[0])
        assert told["map"] == "fundamental" and told["error_px"] == pytest.approx(0.5 / pair.right.image.scale)
    without = replace(lines, matrix=np.array([[0, 0, 0], [0, 0, -1.0], [0, 1, 0]]))  # the corner need not be 1
    assert np.isfinite(exports.map_of(with_check(matches, replace(alone, map=without)))["matrix"]).all()


def test_every_match_tells_whether_it_was_verified_and_how_sure_it_is(planar):
    rows = list(csv.DictReader(io.StringIO(exports.matches_csv(planar).decode())))
    count = len(planar.pairs)
    assert [row["verified"] for row in rows] == ["1"] * 3 + ["0"] * (count - 3) + ["1"]
    assert [row["explained_by"] for row in rows] == ["plane"] * 3 + ["neither"] * (count - 3) + ["plane"]
    assert (rows[-1]["left"], rows[-1]["right"]) == ("0", "8")
    assert (float(rows[-1]["relaxed"]), float(rows[-1]["energy_share"])) == (0, 0)
    assert [float(row["relaxed"]) for row in rows[:-1]] == planar.relaxed.tolist()
    assert "confidence" not in rows[0]
    sure = with_check(planar, planar.verification, "photo")
    vars(sure)["confidence"] = np.linspace(0.6, 0.9, count)
    told = [float(row["confidence"]) for row in csv.DictReader(io.StringIO(exports.matches_csv(sure).decode()))]
    assert told == [*np.linspace(0.6, 0.9, count).tolist(), 0.5]
    with np.load(io.BytesIO(exports.everything_npz(planar))) as arrays:
        assert arrays["verified"].tolist() == [True] * 3 + [False] * (count - 3)
        assert arrays["added"].tolist() == ADDED.tolist() and json.loads(str(arrays["map"])) == exports.map_of(planar)
    content = json.loads(exports.matches_json(planar))
    assert content["verification"] == exports.map_of(planar) and len(content["matches"]) == count + 1
    assert list(content["matches"][0]) == exports.match_columns(planar) == list(rows[0])


def test_without_a_map_nothing_is_verified_and_that_is_told(matches):
    checked = Verification(matches.pairs, None, ADDED[:0], False, "strangers")
    found = with_check(matches, checked)
    assert exports.map_of(found) == {"map": None, "verdict": "strangers"}
    assert {row["verified"] for row in exports.match_rows(found)} == {0}
    assert exports.map_of(matches) == {"map": None, "verdict": ""}


def test_keypoints_come_back_in_original_pixels(pair):
    back = read_points(exports.keypoints(pair.right))
    np.testing.assert_allclose(back.xy * pair.right.image.scale, pair.right.points.xy)
    assert back.labels == pair.right.points.labels


def test_history_has_a_line_per_iteration(solved):
    _, result = solved
    rows = list(csv.DictReader(io.StringIO(exports.history_csv(result.history).decode())))
    assert [int(row["iteration"]) for row in rows] == list(range(1, result.iterations + 1))
    np.testing.assert_array_equal([float(row["residual"]) for row in rows], result.history["residual"])
    assert exports.history_csv({}) == b"iteration\n"
    with pytest.raises(ValueError, match="rho has 1"):
        exports.history_csv({"rho": [1], "energy": [1, 2]})


def test_npz_holds_everything_without_pickle(pair, solved, setup, matches):
    _, result = solved
    metrics = measure(pair, *parts(solved), "similarity")
    data = exports.everything_npz(matches)
    assert data == exports.everything_npz(matches)
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        np.testing.assert_array_equal(file["pairs"], result.pairs)
        np.testing.assert_array_equal(file["relaxed"], result.x)
        np.testing.assert_array_equal(file["truth"], pair.truth)
        np.testing.assert_allclose(file["left_xy"], pair.left.points.xy / pair.left.image.scale)
        np.testing.assert_array_equal(file["history_rho"], result.history["rho"])
        assert Recipe.from_json(str(file["recipe"])) == setup
        assert json.loads(str(file["metrics"]))["score"] == metrics.score
        assert tuple(file["left_labels"]) == pair.left.points.labels


# ---- a pair as one file ------------------------------------------------------------------------------------------


def assert_same(a: Pair, b: Pair) -> None:
    assert a.name == b.name and a.shape == b.shape
    for one, other in ((a.left, b.left), (a.right, b.right)):
        np.testing.assert_array_equal(one.points.xy, other.points.xy)  # to the last bit: runs must repeat
        assert one.points.labels == other.points.labels
        assert (one.image is None) == (other.image is None)
        if one.image is not None:
            np.testing.assert_array_equal(one.image.rgb, other.image.rgb)
            assert (one.image.scale, one.image.original_size) == (other.image.scale, other.image.original_size)
    assert a.tolerance == b.tolerance
    for one, other in ((a.truth, b.truth), (a.homography, b.homography)):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(one, other)


def test_a_pair_comes_back_as_it_was(pair, setup):
    data = save_pair(pair, setup)
    opened = open_pair(data)
    assert_same(pair, opened.pair)
    assert opened.recipe == setup and data == save_pair(pair, setup)
    assert open_pair(save_pair(pair)).recipe is None
    mapped = replace(pair, truth=None, homography=np.array([[1, 0.1, 3], [0, 1, 2], [1e-4, 0, 1]]), tolerance=2.5)
    for other in (replace(pair, truth=None), mapped):
        assert_same(other, open_pair(save_pair(other)).pair)


def test_a_zip_of_the_old_names_still_opens(pair, setup):
    assert open_pair(rezipped(save_pair(pair), setup__json=setup.to_json().encode())).recipe == setup


def test_by_a_map_right_is_what_lies_within_the_tolerance(pair, matches):
    close = replace(pair, truth=None, homography=np.eye(3), tolerance=3.0)
    rows = exports.match_rows(replace(matches, pair=close))
    gaps = [pair.left.points.xy[row["left"]] - pair.right.points.xy[row["right"]] for row in rows]
    assert [row["correct"] for row in rows] == [bool(np.hypot(*gap) <= 3) for gap in gaps]
    assert {row["kind"] for row in rows} <= {"correct", "wrong", "stray"}


@pytest.mark.parametrize("key", ["turntable", "warp", "random"])
def test_pairs_of_data_sets_come_back(key):
    for images in (True, False):
        some = DATASETS[key].load(images=images)
        assert_same(some, open_pair(save_pair(some)).pair)


def test_the_same_problem_comes_out_of_the_zip(pair):
    for key in ("B", "combined"):
        problems = [MODELS[key].build(one) for one in (pair, open_pair(save_pair(pair)).pair)]
        x = np.random.default_rng(1).random(problems[0].n)
        assert problems[0].energy(x) == problems[1].energy(x)


def test_pairs_without_points_come_back():
    empty = View(Image(np.zeros((4, 5, 3), np.uint8)), Keypoints(np.empty((0, 2))))
    assert_same(
        Pair(empty, empty, None, "nothing yet"), open_pair(save_pair(Pair(empty, empty, None, "nothing yet"))).pair
    )


def rezipped(data: bytes, **changed: bytes | None) -> bytes:
    """The zip with some files replaced, added or taken away; a double underscore stands for a dot."""
    names = {key.replace("__", "."): value for key, value in changed.items()}
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name not in names:
                new.writestr(name, old.read(name))
        for name, value in names.items():
            if value is not None:
                new.writestr(name, value)
    return out.getvalue()


def told(data: bytes, **changes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return json.dumps({**json.loads(archive.read("pair.json")), **changes}).encode()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"left__csv": None}, r"lacks left\.csv"),
        ({"pair__json": None}, r"lacks pair\.json"),
        ({"left__png": None}, r"lacks left\.png"),
        ({"truth__csv": None}, r"lacks truth\.csv"),
        ({"left__png": b"not an image"}, "image"),
        ({"left__csv": b"x,y\n1,nothing\n"}, "nothing"),
        ({"truth__csv": b"left,right\n0,99\n"}, "99"),
        ({"pair__json": b"[" * 90_000}, "nested|JSON|not a saved pair"),
        ({"pair__json": b"\xff\xfe"}, "not a saved pair"),
        ({"pair__json": b"{}"}, "version"),
        ({"recipe__json": b'{"dataset": "/etc/passwd"}'}, "no data set"),
        ({"recipe__json": b"{" * 50_000}, "JSON"),
        ({"pair__json": b"[1" + b"0" * 400 + b"]"}, "version"),
        ({"recipe__json": b'{"method_options": {"max_iter": 1' + b"0" * 400 + b"}}"}, "max_iter is 1000"),
        ({"recipe__json": b'{"model": "' + b"x" * 90_000 + b'"}'}, "no model"),
        ({"evil__sh": b"rm"}, "which we do not know"),
        ({"../../left__csv": b"x,y\n"}, "which we do not know"),
        ({"pair__json": b" " * 200_000}, "too large"),
        ({"left__csv": b"1,2\n" * 6_000_000}, "too large"),
    ],
)
def test_what_is_wrong_with_a_zip_is_said(pair, changes, sentence):
    with pytest.raises(PairFileError, match=sentence) as caught:
        open_pair(rezipped(save_pair(pair), **changes), "their.zip")
    assert len(str(caught.value)) <= 500


def test_a_zip_of_very_many_files_is_not_even_listed(pair, monkeypatch):
    monkeypatch.setattr(zipfile, "ZipFile", None)  # its directory alone would take a minute
    with pytest.raises(PairFileError, match="more than 100 files"):
        open_pair(b"PK\x03\x04" + b"PK\x01\x02".ljust(47, b"\0") * 100_000, "many.zip")


def test_manifests_that_lie_are_refused(pair):
    data = save_pair(pair)
    for side in (
        {"scale": 0.5, "original_size": [8000, 6000]},
        {"scale": 0.5, "original_size": [84, 60]},
        {"scale": -1, "original_size": [80, 60]},
        {"scale": 0.5, "original_size": [10**400, 60]},
        {"scale": "0.5", "original_size": [80, 60]},
        {"scale": 0.5},
        [],
    ):
        with pytest.raises(PairFileError):
            open_pair(rezipped(data, pair__json=told(data, left=side)))
    with pytest.raises(PairFileError, match="name"):
        open_pair(rezipped(data, pair__json=told(data, name=["x"])))
    for wrong in ({"homography": [[1, 2], [3]]}, {"homography": "x"}, {"homography": [[0] * 3] * 3}, {"tolerance": -1}):
        with pytest.raises(PairFileError, match=r"not a saved pair|tolerance"):
            open_pair(rezipped(data, pair__json=told(data, **wrong)))
    assert "\n" not in open_pair(rezipped(data, pair__json=told(data, name="a\nb"))).pair.name


def test_a_zip_that_understates_its_sizes_stays_small(pair):
    """The directory says 10 bytes, the stream holds 50 MB: reading stops at what was announced."""
    data = bytearray(rezipped(save_pair(pair), left__csv=b"0" * 50_000_000))
    entry = data.rindex(b"left.csv") - 46
    data[entry + 24 : entry + 28] = (10).to_bytes(4, "little")
    with pytest.raises(PairFileError):
        open_pair(bytes(data))


@pytest.mark.parametrize("data", [b"", b"PK", b"plain text", zlib.compress(b"x"), b"PK\x05\x06" + bytes(18)])
def test_what_is_no_zip_is_refused(data):
    with pytest.raises(PairFileError, match="their"):
        open_pair(data, "their.zip")


def test_a_zip_that_is_too_large_is_not_opened():
    with pytest.raises(PairFileError, match="at most"):
        open_pair(bytes(exports.MAX_ZIP + 1))


@settings(deadline=None, derandomize=True, max_examples=120)
@given(st.data())
def test_damage_anywhere_is_a_sentence(data):
    good = bytearray(SMALL)
    for _ in range(data.draw(st.integers(1, 4))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    broken = bytes(good[: data.draw(st.integers(0, len(good)))]) if data.draw(st.booleans()) else bytes(good)
    try:
        opened = open_pair(broken)
    except PairFileError:
        return
    assert isinstance(opened.pair, Pair)


SMALL = save_pair(
    Pair(
        View(Image(np.zeros((3, 4, 3), np.uint8)), Keypoints(np.array([[1.0, 2.0], [3.0, 1.0]]))),
        View(None, Keypoints(np.array([[1.0, 2.0]]))),
        np.array([0, -1]),
        "small",
    ),
    Recipe(OWN),
)
