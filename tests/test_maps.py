"""Maps for other programs: read back by OpenCV and NumPy, laid over, and drawn on a page."""

import io
import re
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest
from numpy.testing import assert_allclose

from features.__main__ import main
from features.datasets import warp
from features.files import maps
from features.files.exports import map_of, match_rows
from features.matching import match
from features.pairs import mapped


@pytest.fixture(scope="module")
def found():
    """The portrait, larger than it is worked on, and its warped copy."""
    big = cv2.resize(warp.photograph().rgb, None, fx=2, fy=2, interpolation=cv2.INTER_CUBIC)
    counts = {"left": 200, "right": 200}
    return match(big, warp.warped("homography", 0.3, 2.0, 3).rgb, point_params=counts, name="a <b> & c")


def test_opencv_reads_the_map_back(found):
    store = cv2.FileStorage(maps.map_file_storage(found).decode(), cv2.FILE_STORAGE_READ | cv2.FILE_STORAGE_MEMORY)
    told = map_of(found)
    assert store.getNode("map").string() == told["map"] and store.getNode("verdict").string() == told["verdict"]
    assert_allclose(store.getNode("matrix").mat(), told["matrix"])
    assert int(store.getNode("inliers").real()) == told["inliers"]


def test_numpy_reads_the_map_and_the_matches_back(found):
    arrays = np.load(io.BytesIO(maps.map_npz(found)))
    on_plane = arrays["explained_by"] == "plane"
    assert on_plane.sum() == found.verification.map.inliers.sum() + len(found.verification.added)
    gaps = mapped(arrays["matrix"], arrays["left"][on_plane]) - arrays["right"][on_plane]
    assert np.hypot(*gaps.T).max() <= 3.5 and len(arrays["left"]) == len(match_rows(found))


def test_the_overlay_lies_on_the_right_picture(found):
    right = found.pair.right.image.rgb.astype(float)
    seen = maps.overlay(found, 1.0).astype(float)
    inside = cv2.warpPerspective(
        np.ones(found.pair.left.image.rgb.shape[:2]), found.verification.map.matrix, found.pair.right.image.size
    )
    inside = cv2.erode(inside, np.ones((9, 9))) > 0.99
    difference = np.abs(cv2.GaussianBlur(seen - right, (0, 0), 2))[inside].mean()
    shifted = np.abs(cv2.GaussianBlur(np.roll(seen, 8, 1) - right, (0, 0), 2))[inside].mean()
    assert inside.mean() > 0.5 and difference < 0.5 * shifted
    outside = ~(cv2.dilate(inside.astype(np.uint8), np.ones((31, 31))) > 0)
    assert_allclose(seen[outside], right[outside], atol=1)
    assert cv2.imdecode(np.frombuffer(maps.overlay_png(found), np.uint8), cv2.IMREAD_COLOR).shape == right.shape


def test_the_page_has_a_line_for_each_match_and_needs_nothing_else(found):
    page = maps.side_by_side(found).decode()
    svg = ElementTree.fromstring(re.search(r"<svg.*</svg>", page, re.S)[0])
    lines, pictures = svg.findall("line"), svg.findall("image")
    rows = match_rows(found)
    assert len(lines) == len(rows) and len(pictures) == 2
    assert sum(line.get("class") == "yes" for line in lines) == sum(row["verified"] for row in rows)
    assert "a &lt;b&gt; &amp; c" in page and "<script" not in page and "http" not in page
    width = float(pictures[0].get("width"))
    factor = width / found.pair.left.image.original_size[0]
    assert_allclose(
        [float(line.get("x1")) for line in lines], [row["left_x"] * factor for row in rows], atol=0.5
    )  # whole pixels of the picture
    assert all(float(line.get("x2")) > width for line in lines)


def test_without_a_map_the_files_say_so():
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 90, (12, 2)), rng.uniform(0, 90, (12, 2))
    found = match(None, None, points=points, check="homography")
    store = cv2.FileStorage(maps.map_file_storage(found).decode(), cv2.FILE_STORAGE_READ | cv2.FILE_STORAGE_MEMORY)
    assert store.getNode("map").string() == "none" and store.getNode("matrix").empty()
    assert "matrix" not in np.load(io.BytesIO(maps.map_npz(found)))
    assert not maps.has_overlay(found)
    with pytest.raises(ValueError, match=r"No map says|has no images"):
        maps.overlay(found)


def test_the_command_writes_them(tmp_path, found):
    for name, view in (("left.png", found.pair.left), ("right.png", found.pair.right)):
        cv2.imwrite(str(tmp_path / name), view.image.rgb[:, :, ::-1])
    out = tmp_path / "out"
    words = [str(tmp_path / "left.png"), str(tmp_path / "right.png"), "--points", "200", "-o", str(out)]
    assert main(["match", *words]) == 0
    assert {"map.json", "map.xml", "map.npz", "overlay.png", "side-by-side.html"} <= {one.name for one in out.iterdir()}
