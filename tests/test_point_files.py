"""Point and truth files: what is written can be read, and what is wrong is named with its place."""

import io
import json
import struct
import tracemalloc
import zipfile
import zlib
from dataclasses import replace

import numpy as np
import pytest
import scipy.io
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from features.files import point_files
from features.files.matlab import read_matlab
from features.files.point_files import PointFileError, outside, read_points, read_truth, write_points, write_truth
from features.limits import LIMITS
from features.points.keypoints import Keypoints

quick = settings(deadline=None, derandomize=True, max_examples=40)
TRIANGLE = Keypoints([[1.5, 2], [30, 4.25], [5, 60]], labels=("nose", 'left "ear", low', ""))


def floats(low, high):
    return st.floats(low, high, allow_subnormal=False)


@st.composite
def keypoints(draw, least=0):
    n = draw(st.integers(least, 6))

    def column(low, high):
        return draw(st.none() | st.lists(floats(low, high), min_size=n, max_size=n))

    text = st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" ,;\"'#"), max_size=8)
    labels = draw(st.none() | st.lists(text, min_size=n, max_size=n))
    xy = draw(st.lists(st.tuples(floats(-1e6, 1e6), floats(-1e6, 1e6)), min_size=n, max_size=n))
    return Keypoints(np.reshape(xy, (n, 2)), column(-4, 4), column(0, 1e4), column(-1e200, 1e200), labels)


def assert_same(one, other):
    assert_array_equal(one.xy, other.xy)
    for key in ("angle", "size", "strength"):
        a, b = getattr(one, key), getattr(other, key)
        assert (a is None) == (b is None) or not len(one)  # no points, no columns
        assert a is None or (a == b).all()
    assert (one.labels or None) == (other.labels or None)


def written(points, form):
    """The points as a file of any form, made by other means than ours."""
    if form == "csv":
        return write_points(points)
    if form == "txt":
        return "".join(f"{x!r} {y!r}\n" for x, y in points.xy.tolist()).encode()
    columns = {key: values for key in ("angle", "size", "strength") if (values := getattr(points, key)) is not None}
    if form == "json":
        table = {"x": points.xy[:, 0], "y": points.xy[:, 1], **columns}
        rows = [{key: float(values[i]) for key, values in table.items()} for i in range(len(points))]
        labels = [{}] * len(points) if points.labels is None else [{"label": label} for label in points.labels]
        return json.dumps({"points": [row | label for row, label in zip(rows, labels, strict=True)]}).encode()
    arrays = {"xy": points.xy} | {{"size": "diameter"}.get(key, key): values for key, values in columns.items()}
    arrays |= {} if points.labels is None else {"labels": np.array(points.labels, np.str_)}
    return savez(**arrays) if form == "npz" else savemat(oned_as="column", **arrays)


@pytest.mark.parametrize("form", ["csv", "json", "npz", "mat"])
@quick
@given(points=keypoints())
def test_every_rich_format_is_read_with_everything(form, points):
    assume(form != "mat" or points.labels is None or any(points.labels))  # SciPy writes no empty texts
    assert_same(read_points(written(points, form), "whatever.jpg"), points)


@quick
@given(points=keypoints(least=1))
def test_plain_text_brings_the_places_back(points):
    assert_same(read_points(written(points, "txt"), "house1"), Keypoints(points.xy))


def test_exported_coordinates_are_in_original_pixels():
    back = read_points(write_points(TRIANGLE, scale=0.4), "p")
    assert_allclose(back.scaled(0.4).xy, TRIANGLE.xy)
    assert_allclose(back.xy, TRIANGLE.xy / 0.4)


PLAIN = [[1.5, 2], [30, 4.25], [5, 60]]


@pytest.mark.parametrize(
    "text",
    [
        "x,y\n1.5,2\n30,4.25\n5,60\n",
        "1.5,2\n30,4.25\n5,60",
        "Y; X\r\n2;1.5\r\n4.25;30\r\n60;5\r\n",
        "# landmarks\n\n1.5\t2\n30\t4.25\n\n5\t60\n",
        "  1.5000000e+000  2.0e+000\r\n  3.0e+001 4.25\r\n 5 60 \r\n",
        "\ufeffname,x,y\na,1.5,2\nb,30,4.25\nc,5,60\n",
        "[[1.5, 2], [30, 4.25], [5, 60]]",
        '{"points": [{"x": 1.5, "y": 2}, {"x": 30, "y": 4.25}, {"x": 5, "y": 60}], "image": "a.png"}',
        '[{"x": "1.5", "y": 2, "z": null}, {"y": 4.25, "x": 30}, {"x": 5, "y": 60}]',
    ],
)
def test_the_many_ways_to_write_points_in_text(text):
    for data in (text.encode(), text.encode("utf-16") if text[0] not in "[{\ufeff" else text.encode()):
        points = read_points(data, "points.npz")
        assert_array_equal(points.xy, PLAIN)
        assert points.labels is None


def test_labels_are_read_with_and_without_a_header():
    assert read_points(b"1,2,nose\n3,4, left ear\n", "a").labels == ("nose", "left ear")
    assert read_points(b"label,x,y\n#1,1,2\n#2,3,4\n", "a").labels == ("#1", "#2")
    assert read_points(b'[{"x": 1, "y": 2, "label": 7}]', "a").labels == ("7",)


def test_a_label_that_looks_like_a_file_type_does_not_change_it():
    text = b"1,2,label\n" + b"3,4," + b"x" * 112 + b"MI\n"
    assert text[126:128] == b"MI"
    assert len(read_points(text, "a")) == 2


def savez(**arrays):
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def savemat(compressed=True, oned_as="row", **arrays):
    out = io.BytesIO()
    scipy.io.savemat(out, arrays, do_compression=compressed, oned_as=oned_as)
    return out.getvalue()


@pytest.mark.parametrize("save", [savez, savemat])
def test_the_sensible_array_is_taken(save):
    xy, other = np.array(PLAIN), np.zeros((4, 4))
    assert_array_equal(read_points(save(a=xy, weights=other), "f").xy, xy)
    assert_array_equal(read_points(save(Points=xy, b=np.zeros((5, 2))), "f").xy, xy)
    assert_array_equal(read_points(save(features1=np.hstack([xy, other[:3]])), "f").xy, xy)
    assert_array_equal(read_points(save(xy=xy.astype(np.uint8)), "f").xy, np.uint8(xy))
    for arrays, words in [
        ({"a": xy, "b": xy}, "one n×2 matrix.*3×2"),
        ({"xy": xy.T.repeat(2, 1)}, r"xy is 2×6, expected one row"),
        ({"image": np.zeros((9, 9))}, "image 9×9"),
    ]:
        with pytest.raises(PointFileError, match=words):
            read_points(save(**arrays), "f")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        (" \n\n", "empty"),
        ("# nothing\n", "no points"),
        ("hello world, this is a letter", "line 1: x is 'hello world'"),
        ("x,y\n1,2\n\n3,four\n", "line 4: y is 'four'"),
        ("1 2\n3\n", "line 2 has 1 columns, expected 2: x, y"),
        ("1,2\n3,4,5\n", "line 2 has 3 columns"),
        ("1,2,3,4\n", "line 1 has 4 columns"),
        ("x,z\n1,2\n", "no column 'y'"),
        ("1,nan\n", "line 1: y is 'nan'"),
        ("1,2\n-inf,2\n", "line 2: x is '-inf'"),
        ("1,1e300\n", "line 1: y is '1e300'"),
        ("1_000,2\n", "line 1: x is '1_000'"),
        ('1,2,"open\n3,4,b\n', "line 1 is not a line of CSV"),
        ("x,y,size\n1,2,-3\n", "not negative"),
        ("1,2\n" * 100_001, "more than 100000"),
        ("x,y\n" + "1,2\n" * 100_001, "more than 100000"),
        ("1,2\n" * 5_000_001, "20.0 MB"),
        ("[\n[1, 2],\n[3, 4]\n", "line 4, column 1: not valid JSON"),
        ("[[1, 2], [3, NaN]]", "point 2: y is nan"),
        ("[[1, 2], [3, 1e999]]", "point 2: y is inf"),
        ("[[1, 2], [3]]", r"point 2 is \[3\], expected x, y"),
        ("[[1, 2], [true, 4]]", "point 2: x is True"),
        ("[[1, 2], [[], 4]]", r"point 2: x is \[\]"),
        ('[{"x": 1, "y": 2, "label": {}}]', "point 1: label is {}"),
        ('[{"x": 1, "y": 2, "label": "\\ud800"}]', "printable"),
        ('{"dots": []}', "no points; it has"),
        ('{"points": 3}', "expected a list, found 3"),
        ("[" * 100_000, "nested too deeply"),
        ("[" + "9" * 5000 + "]", "digits"),
        ("[" * 900 + "]" * 900, "point 1 is"),
        ("[" + "[]," * 1_000_000 + "[]]", "more than 100000"),
        ("{" + '"a":1,' * 1_100_000 + '"b":2}', "more than 100000"),
        ("1," * 5_000_000 + "1", "line 1 has 10000001 characters"),
        ('"' + "1," * 5_000_000 + '"', "line 1 has"),
        ("x," + "a long name," * 80 + "z\n1,2\n", "no column 'y'"),
        ("x,y," + "a long name," * 80 + "z\n1,2\n", "line 2 has 2 columns"),
        ("1 2\n" + "12 " * 3000 + "\n", "line 2 has 3000 columns; at most 100"),
    ],
)
def test_text_that_is_wrong_is_told_where(text, words):
    with pytest.raises(PointFileError, match=words) as caught:
        read_points(text.encode(), "../../etc/my points.csv")
    assert str(caught.value).startswith("“my points.csv”: ")
    assert len(str(caught.value)) <= 500


def npy(shape, dtype, body=b""):
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": dtype, "fortran_order": False, "shape": shape})
    return out.getvalue() + body


def zipped(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, body in members.items():
            archive.writestr(name + ".npy", body)
    return out.getvalue()


def lying_zip():
    """A zip whose directory says 200 bytes where 60 MB come out."""
    data = bytearray(zipped(xy=npy((3_750_000, 2), "<f8", bytes(60_000_000))))
    true_size = struct.pack("<I", 60_000_128)
    assert data.count(true_size) == 2
    return bytes(data.replace(true_size, struct.pack("<I", 200)))


def mat(*elements):
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    return head + b"".join(struct.pack("<II", kind, len(body)) + body for kind, body in elements)


HOSTILE = {  # made when they are needed: some are large
    "zip bomb": (lambda: zipped(xy=npy((25_000_000, 2), "<f8", bytes(400_000_000))), "unpacked.*400 MB; at most 64 MB"),
    "zip with a lying directory": (lambda: lying_zip(), "cut off|damaged"),
    "zip of many": (lambda: zipped(**{f"a{i}": b"" for i in range(2000)}), "more than 100 files"),
    "zip of very many": (lambda: b"PK\x03\x04" + b"PK\x01\x02".ljust(47, b"\0") * 400_000, "more than 100 files"),
    "pickle in an NPZ": (lambda: savez(xy=np.array([{"a": 1}], object)), "pickled Python objects"),
    "bare pickle": (lambda: b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00cos\nsystem\n", "neither text"),
    "an array of a size that is not there": (lambda: zipped(xy=npy((10**9, 2), "<f8", bytes(64))), "announced"),
    "too many points": (lambda: savez(xy=np.zeros((100_001, 2))), "100001 rows"),
    "a zip of letters": (lambda: zipped(letter=b"Dear reader"), "damaged NPZ file, or a zip"),
    "an empty zip": (lambda: b"PK\x05\x06" + bytes(18), "holds nothing"),
    "half an NPZ": (lambda: written(TRIANGLE, "npz")[:300], "damaged"),
    "NaN in an NPZ": (lambda: savez(xy=np.array([[1, 2], [3, np.nan]])), r"row 2 of xy is \[3.0, nan\]"),
    "complex numbers": (lambda: savez(xy=np.ones((2, 2), complex)), "not a matrix of numbers"),
    "far away": (lambda: savez(xy=np.array([[1e9, 0]])), "row 1 of xy"),
    "text in an NPZ": (lambda: savez(xy=np.array([["a", "b"]])), "not a matrix of numbers"),
    "MATLAB bomb": (lambda: mat((15, zlib.compress(bytes(300_000_000)))), "too large; at most 64 MB"),
    "half a MATLAB file": (lambda: written(TRIANGLE, "mat")[:200], "cut off|incomplete"),
    "eight million letters": (lambda: savemat(xy=np.array(["x" * 8_000_000])), "holds nothing"),
    "two million letters": (lambda: savemat(xy=np.array(["xy" * 1_000_000])), "expected one row"),
    "a MATLAB file of junk": (lambda: mat((15, zlib.compress(b"\x0e" + bytes(999)))), "damaged|cut off|holds nothing"),
    "a MATLAB file that does not unpack": (lambda: mat((15, b"junk" * 10)), "damaged"),
    "MATLAB 7.3": (lambda: b"MATLAB 7.3 MAT-file".ljust(512), "-v7"),
    "only cells": (lambda: savemat(xy=np.array([[1, "a"]], object)), "holds nothing"),
    "NaN in MATLAB": (lambda: savemat(xy=np.array([[np.inf, 2]])), "row 1 of xy"),
    "binary junk": (lambda: bytes(np.random.default_rng(1).integers(0, 256, 5000, dtype=np.uint8)), "neither text"),
    "a PNG": (lambda: b"\x89PNG\r\n\x1a\n" + bytes(100), "neither text"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused_with_little_memory(case):
    make, words = HOSTILE[case]
    data = make()
    tracemalloc.start()
    try:
        with pytest.raises(PointFileError, match=words) as caught:
            read_points(data, "points.csv")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 150_000_000
    assert len(str(caught.value)) <= 500


SOUND = {form: written(TRIANGLE, form) for form in ("csv", "json", "npz", "mat", "txt")} | {
    "unpacked mat": savemat(compressed=False, c=np.array([1, "a", {"b": 2}], object), xy=TRIANGLE.xy, labels=["a"] * 3)
}


@pytest.mark.parametrize("kind", SOUND)
@settings(deadline=None, derandomize=True, max_examples=100)
@given(changes=st.data())
def test_a_damaged_file_gives_points_or_our_error_and_nothing_else(kind, changes):
    content = bytearray(SOUND[kind])
    for _ in range(changes.draw(st.integers(1, 5))):
        content[changes.draw(st.integers(0, len(content) - 1))] = changes.draw(st.integers(0, 255))
    try:
        points = read_points(bytes(content[: changes.draw(st.integers(1, len(content)))]), "p")
    except PointFileError as error:
        assert str(error).startswith("“p”: ")
    else:
        assert np.isfinite(points.xy).all()


def test_points_outside_the_image_are_reported():
    points = Keypoints([[0, 0], [-0.4, 5], [-1, 5], [100, 50], [101, 5], [5, 51], [50, 25]])
    assert outside(points, (100, 50)).tolist() == [2, 4, 5]


@quick
@given(st.permutations(range(6)), st.sets(st.integers(0, 5)))
def test_truth_comes_back(order, lost):
    truth = np.array([-1 if left in lost else right for left, right in enumerate(order)])
    forms = [
        write_truth(truth),
        "\n".join(map(str, truth)).encode(),
        json.dumps(truth.tolist()).encode(),
        json.dumps({"truth": truth.tolist()}).encode(),
        json.dumps({"pairs": list(enumerate(truth.tolist()))}).encode(),
        json.dumps([{"left": left, "right": right} for left, right in enumerate(truth.tolist())]).encode(),
        "".join(f"{left} {right}\n" for left, right in enumerate(truth)).encode(),
    ]
    for form in forms:
        back = read_truth(form, "truth.csv", (6, 6))
        assert back.dtype == np.int64
        assert_array_equal(back, truth)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("0,1\n1,9\n", "line 2: right is '9', but the 4 right points are numbered from 0 to 3, with −1 for none"),
        ("left,right\n3,1\n", "line 2: left is '3', but the 3 left points are numbered from 0 to 2"),
        ("-1,1\n", "line 1: left is '-1'"),
        ("0,-2\n", "line 1: right is '-2'"),
        ("0,1\n0,2\n", "line 2: left point 0 already"),
        ("0,1\n1,1\n", "line 2: right point 1 already"),
        ("0,1.5\n", "line 1: right is '1.5'"),
        ("0,x\n", "line 1: right is 'x'"),
        ("0\n1\n", "2 entries, but 3 left points"),
        ("0,1\n2\n", "line 2 has 1 columns"),
        ("0,1,2\n", "line 1 has 3 columns"),
        ("[0, 1, true]", "entry 3: right is True"),
        ("[0, 1, 0]", "entry 3: right point 0 already"),
        ("[[], 1]", "entry 1 has 0 columns"),
        ("[0, 1, {}]", "entry 3: right is {}"),
        ('{"a": 1}', "no truth or pairs"),
        ("\x00\x01", "neither text"),
    ],
)
def test_wrong_truth_is_told_where(text, words):
    with pytest.raises(PointFileError, match=words):
        read_truth(text.encode(), "truth.csv", (3, 4))


@pytest.mark.data
def test_real_labels_are_read(data_dir):
    house = read_points((data_dir / "house" / "labels" / "house1").read_bytes(), "house1")
    assert_allclose(house.xy[0], [208.66129, 341.14516])
    for path in [*(data_dir / "house" / "labels").iterdir(), *(data_dir / "hotel" / "labels").iterdir()]:
        points = read_points(path.read_bytes(), path.name)
        assert len(points) == 30
        assert outside(points, (576, 480)).size == 0


@pytest.mark.data
@pytest.mark.parametrize("pair", ["cars/pair_1.mat", "cars/pair_30.mat", "motorbikes/pair_20.mat"])
def test_real_contour_features_lie_in_their_image_and_on_its_edges(data_dir, pair):
    data = (data_dir / pair).read_bytes()
    content = scipy.io.loadmat(io.BytesIO(data))
    ours = read_matlab(data)
    for name in ("features1", "features2", "gTruth", "I1", "I2"):
        assert_array_equal(ours[name], content[name])
    assert_array_equal(read_points(data, pair).xy, point_files.contour_features(ours["features1"]).xy)
    for side in "12":
        points = point_files.contour_features(ours["features" + side])
        height, width = content["I" + side].shape[:2]
        assert len(points) == len(content["features" + side])
        assert outside(points, (width - 1, height - 1)).size == 0
        column, row = points.xy.astype(int).T
        assert (content["BW" + side][row, column] > 0).mean() > 0.6
    assert point_files.contour_features(content["features1"]).angle is not None


def test_a_file_of_very_many_empty_lines_is_not_walked_to_its_end(monkeypatch):
    monkeypatch.setattr(point_files, "LIMITS", replace(LIMITS, points=10))
    assert len(read_points(b"1 2\n" + b"\n" * 98 + b"3 4\n")) == 2
    with pytest.raises(PointFileError, match="more than 100 lines"):
        read_points(b"1 2\n" + b"\n" * 99 + b"3 4\n")


def test_a_matlab_matrix_of_very_many_parts_takes_no_memory():
    """Only the first four parts of a matrix mean something to us."""
    part = struct.pack("<II", 9, 0)
    data = bytes(124) + b"\x00\x01IM" + struct.pack("<II", 14, 8 * 200_000) + part * 200_000
    tracemalloc.start()
    try:
        with pytest.raises(PointFileError, match="damaged"):
            read_points(data)
        assert tracemalloc.get_traced_memory()[1] < 10 * len(data)
    finally:
        tracemalloc.stop()
