"""Files of several views: problems, tracks, COLMAP, hloc, and what strangers send."""

import csv
import io
import json
import lzma
import sqlite3
import zipfile
from contextlib import closing

import cv2
import numpy as np
import pytest
from PIL import Image as Pillow

from adgm.views import JointProblem, solve_jointly
from features.__main__ import main
from features.files import colmap
from features.files.point_files import FileError
from features.files.problem_files import ProblemFileError
from features.files.problem_files.several import is_several, read_several, write_several
from features.limits import LIMITS
from features.pairs import View
from features.points.images import Image
from features.points.keypoints import Keypoints
from features.views import VIEW_SETS, exports, match_views, reading
from features.views.matching import view_set_of


@pytest.fixture(scope="module")
def found():
    return match_views(VIEW_SETS["turntable"].load(images=False, count=3, first=40, last=50, points=10))


def picture(seed: int, size: tuple[int, int] = (64, 48)) -> bytes:
    out = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    Pillow.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def lines(data: bytes) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(data.decode()))]


# ---- problems of several graphs --------------------------------------------------------------------------------


def test_a_problem_of_several_graphs_comes_back_with_the_same_energies(found):
    data = write_several(found.problem)
    assert is_several(data) and not is_several(b"p 1 1 1 0\na 0 0 0 1\n")
    for packed in (data, lzma.compress(data)):
        again = read_several(packed)
        assert again.sizes == found.problem.sizes and again.couples == found.problem.couples
        assert again.energy(found.tracks) == pytest.approx(found.energy, abs=1e-9)


def test_the_constraints_of_complete_views_come_back():
    views = view_set_of(None, points=[np.random.default_rng(k).uniform(0, 9, (4, 2)) for k in range(3)])
    complete = match_views(views, model="C").problem
    assert complete.complete and read_several(write_several(complete)).complete


def test_blocks_as_others_write_them_are_read():
    block = "p 2 2 3 1\na 0 0 0 -1\na 1 0 1 0.5\na 2 1 1 -2\ne 0 2 -3\n"
    text = f"c several\ngm 0 1\n{block}gm  0 2\r\n{block}"
    problem = read_several(text.encode())
    assert problem.sizes == (2, 2, 2) and problem.couples == ((0, 1), (0, 2))
    assert solve_jointly(problem).energy == -12.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gm 1 0\np 1 1 1 0\na 0 0 0 1\n", "two numbers below"),
        ("gm 0 1\np 1 1 1 0\na 0 0 0 1\ngm 0 1\np 1 1 1 0\na 0 0 0 1\n", "has a block already"),
        ("gm 0 1\np 1 1 1 0\na 0 0 0 1\ngm 0 2\np 2 1 1 0\na 0 0 0 1\n", "graph 0 has 2 nodes here, and 1"),
        ("gm 0 2\np 1 1 1 0\na 0 0 0 1\n", "graph 1 is in no block"),
        ("gm 0 x\np 1 1 1 0\na 0 0 0 1\n", "no two whole numbers"),
        ("p 1 1 1 0\na 0 0 0 1\n", "no line “gm i j”"),
        ("a 0\ngm 0 1\np 1 1 1 0\na 0 0 0 1\n", "before the first"),
        ("gm 0 1\np 1 1 2 0\na 0 0 0 1\n", "block of pair 0 1 .from line 1.: .*announces 2"),
        ("gm 0 99\np 1 1 1 0\na 0 0 0 1\n", "two numbers below"),
    ],
)
def test_what_is_wrong_with_a_file_of_several_graphs_is_told(text, words):
    with pytest.raises(ProblemFileError, match=words):
        read_several(text.encode())


def test_a_file_of_thousands_of_blocks_is_refused_before_it_is_parsed():
    with pytest.raises(ProblemFileError, match="pairs of graphs; at most"):
        read_several(b"gm 0 1\np 1 1 1 0\na 0 0 0 1\n" * 5000)


# ---- tracks -----------------------------------------------------------------------------------------------------


def test_tracks_come_back_from_every_file(found):
    rows = lines(exports.tracks_csv(found))
    told = json.loads(exports.tracks_json(found))
    with np.load(io.BytesIO(exports.tracks_npz(found)), allow_pickle=False) as arrays:
        assert np.array_equal(arrays["tracks"], found.table)
        assert [np.array_equal(arrays[f"labels_{k}"], one) for k, one in enumerate(found.tracks)] == [True] * 3
        assert np.array_equal(arrays["points_1"], found.view_set.views[1].points.xy)
    assert len(rows) == len(told["tracks"]) == found.lengths[found.lengths > 1].sum()
    by_track: dict[str, dict[int, int]] = {}
    for row in rows:
        by_track.setdefault(row["track"], {})[int(row["view"])] = int(row["point"])
        x, y = found.view_set.views[int(row["view"])].points.xy[int(row["point"])]
        assert (float(row["x"]), float(row["y"])) == (x, y)
    expected = [{v: p for v, p in enumerate(track) if p >= 0} for track in found.table.tolist()]
    assert [*by_track.values()] == [track for track in expected if len(track) > 1]
    assert told["energy"] == found.energy and told["recipe"]["joint"] == "tracks"


def test_pairs_are_written_match_by_match(found):
    rows = lines(exports.pairs_csv(found))
    assert len(rows) == sum((partner >= 0).sum() for partner in found.matchings.values())
    for row in rows[:20]:
        assert found.matching(int(row["view"]), int(row["other_view"]))[int(row["point"])] == int(row["other_point"])


# ---- structure from motion --------------------------------------------------------------------------------------


def read_matches(text: str) -> dict[tuple[str, str], list[list[int]]]:
    """As COLMAP reads a list of raw matches."""
    found = {}
    for block in text.strip().split("\n\n"):
        first, *rest = block.splitlines()
        one, other = first.split(" ")
        found[one, other] = [[*map(int, row.split(" "))] for row in rest]
    return found


def test_colmaps_text_files_hold_all_points_and_matches(found):
    files = exports.colmap_files(found)
    titles = colmap.file_names(found.view_set.names)
    told = read_matches(files["matches.txt"].decode())
    for (i, j), pairs in exports.matched_points(found).items():
        assert told[titles[i], titles[j]] == pairs.tolist()
    for title, view in zip(titles, found.view_set.views, strict=True):
        head, *rows = files[f"features/{title}.txt"].decode().splitlines()
        assert head == f"{len(view.points)} 128" and {len(row.split(" ")) for row in rows} == {4 + 128}
        xy = np.array([[float(value) for value in row.split(" ")[:2]] for row in rows])
        assert np.allclose(xy, view.points.xy + 0.5, atol=1e-2)


def test_colmaps_database_holds_all_points_and_matches(found, tmp_path):
    (tmp_path / "database.db").write_bytes(exports.database(found))
    with closing(sqlite3.connect(tmp_path / "database.db")) as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        titles = [name for (name,) in base.execute("SELECT name FROM images ORDER BY image_id")]
        assert titles == colmap.file_names(found.view_set.names)
        for k, view in enumerate(found.view_set.views, 1):
            asked = "SELECT rows, cols, data FROM keypoints WHERE image_id = ?"
            rows, cols, data = base.execute(asked, (k,)).fetchone()
            spots = np.frombuffer(data, np.float32).reshape(rows, cols)
            assert np.allclose(spots[:, :2], view.points.xy + 0.5, atol=1e-3)
            assert base.execute("SELECT rows, cols FROM descriptors WHERE image_id = ?", (k,)).fetchone() == (rows, 128)
        for (i, j), pairs in exports.matched_points(found).items():
            number = 2147483647 * (i + 1) + j + 1
            rows, data = base.execute("SELECT rows, data FROM matches WHERE pair_id = ?", (number,)).fetchone()
            assert np.frombuffer(data, np.uint32).reshape(rows, 2).tolist() == pairs.tolist()


def test_points_of_a_shrunk_image_are_told_in_original_pixels():
    image = Image(np.zeros((50, 100, 3), np.uint8), 0.5, (200, 100))
    view = View(image, Keypoints(np.array([[10.0, 20]]), size=np.array([8.0]), angle=np.array([0.25])))
    assert colmap.keypoints(view).tolist() == [[20.5, 40.5, 8.0, 0.25]]
    assert colmap.size_of(view) == (200, 100)


def test_names_are_safe_and_told_apart():
    names = ["a b.png", "x/../a b.png", "..", "C:\\dir\\c.jpg", "café.png", "view 1"]
    made = colmap.file_names(names)
    assert made == ["a_b.png", "a_b_2.png", "image.png", "c.jpg", "café.png", "view_1.png"]


def test_hlocs_files_hold_all_points_and_matches(found):
    if not colmap.hloc_available():
        with pytest.raises(ValueError, match="install h5py"):
            exports.hloc(found)
        pytest.skip("h5py is not installed")
    import h5py

    files = exports.hloc(found)
    titles = colmap.file_names(found.view_set.names)
    with h5py.File(io.BytesIO(files["features.h5"])) as file:
        for title, view in zip(titles, found.view_set.views, strict=True):
            assert np.allclose(file[title]["keypoints"][()], view.points.xy, atol=1e-3)
            assert file[title]["descriptors"].shape == (128, len(view.points))
    with h5py.File(io.BytesIO(files["matches.h5"])) as file:
        for (i, j), partner in found.matchings.items():
            assert np.array_equal(file[titles[i]][titles[j]]["matches0"][()], partner)
    assert len(files["pairs.txt"].decode().splitlines()) == 3


# ---- images -----------------------------------------------------------------------------------------------------


def test_images_of_a_zip_file_come_in_the_order_of_their_numbers():
    files = {f"img{k}.png": picture(k) for k in (10, 2, 1)}
    files |= {"notes.txt": b"-", "__MACOSX/img3.png": b"-", ".x.png": b""}
    views = reading.views_in_zip(zipped(files))
    assert views.names == ("img1.png", "img2.png", "img10.png") and views.sizes == (0, 0, 0)
    assert reading.views_in_zip(zipped(files), count=2).names == ("img1.png", "img10.png")


def test_hostile_zip_files_are_refused_in_a_sentence(monkeypatch):
    with pytest.raises(FileError, match="not a ZIP file"):
        reading.views_in_zip(b"PK\x03\x04 nothing")
    with pytest.raises(FileError, match="There are 1 images"):
        reading.views_in_zip(zipped({"a.png": picture(1)}))
    with pytest.raises(ValueError, match="not an image"):
        reading.views_in_zip(zipped({"a.png": b"no", "b.png": b"no"}))
    with pytest.raises(FileError, match="images; 2 to"):
        reading.views_in_zip(zipped({f"{k}.png": picture(k) for k in range(LIMITS.views + 1)}))
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for k in range(3):
            archive.writestr(f"{k}.png", b"\0" * (LIMITS.image_bytes + 1))
    with pytest.raises(FileError, match="MB each"):
        reading.views_in_zip(bomb.getvalue())


def test_images_of_a_folder(tmp_path):
    for k in (2, 1, 10):
        (tmp_path / f"img{k}.png").write_bytes(picture(k))
    (tmp_path / "readme.txt").write_text("-")
    assert reading.views_in_folder(tmp_path).names == ("img1.png", "img2.png", "img10.png")
    with pytest.raises(FileError, match="not a folder"):
        reading.views_in_folder(tmp_path / "none")


@pytest.mark.parametrize(
    "text",
    [
        "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nhttp://127.0.0.1:1/a.ts\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile /etc/passwd\n",
        "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nt=0 0\nm=video 1 RTP/AVP 96\n",
    ],
    ids=["playlist", "list of files", "session"],
)
def test_a_list_of_other_files_is_no_video_and_reaches_no_decoder(text, monkeypatch):
    monkeypatch.setattr(cv2, "VideoCapture", lambda path: pytest.fail("it was opened"))
    with pytest.raises(FileError, match="not a video"):
        reading.video_frames(text.encode(), "x.mp4")


def test_frames_of_a_video_are_spread_over_it(tmp_path):
    path = tmp_path / "short.avi"
    video = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 10, (64, 48))
    if not video.isOpened():
        pytest.skip("this OpenCV writes no videos")
    for k in range(11):
        video.write(np.full((48, 64, 3), 20 * k, np.uint8))
    video.release()
    for source in (path, path.read_bytes()):
        views = reading.video_frames(source, "short.avi", count=3)
        assert views.names == ("frame 0", "frame 5", "frame 10")
        assert [round(view.image.rgb.mean() / 20) for view in views.views] == [0, 5, 10]
    with pytest.raises(FileError, match="not a video"):
        reading.video_frames(b"nothing", "x.mp4")
    with pytest.raises(FileError, match="12 were asked for"):
        reading.video_frames(path, count=12)


# ---- the command ------------------------------------------------------------------------------------------------


def test_the_command_matches_views_and_writes_what_reads_back(tmp_path, capsys):
    out = tmp_path / "out"
    words = ["views", "--dataset", "turntable", "--views", "3", "--set", "points=8", "--set", "first=42"]
    assert main([*words, "--set", "last=48", "-o", str(out)]) == 0
    told = capsys.readouterr()
    assert "of two points or more" in told.out and "pairs matched" in told.err
    files = {path.name for path in out.iterdir()}
    assert {"tracks.csv", "tracks.json", "tracks.npz", "pairs.csv", "colmap.zip", "colmap.db", "problem.dd"} <= files
    energy = json.loads((out / "tracks.json").read_text())["energy"]
    assert read_several((out / "problem.dd").read_bytes()).sizes
    assert main(["views", str(out / "problem.dd"), "--quiet", "-o", str(tmp_path / "again")]) == 0
    assert f"{energy:.5f}"[:-1] in capsys.readouterr().out
    assert lines((tmp_path / "again" / "tracks.csv").read_bytes())


def test_the_command_complains_in_a_sentence(tmp_path, capsys):
    (tmp_path / "a.png").write_bytes(picture(1))
    for words, told in (
        (["views"], "One source of views is needed"),
        (["views", str(tmp_path / "a.png")], "alone makes no views"),
        (["views", "--dataset", "moon"], "no set of views 'moon'"),
        (["views", "a.png", "b.png", "--set", "x=1"], "there is no --dataset"),
        (["views", "--dataset", "turntable", "--points", "9"], "have points of their own"),
    ):
        assert main(words) == 2
        assert told in capsys.readouterr().err
    assert main(["views", "--dataset"]) == 0
    assert "Turntable" in capsys.readouterr().out


def test_the_command_looks_for_points_in_the_images_of_a_folder(tmp_path, capsys):
    for k in range(3):
        (tmp_path / f"{k}.png").write_bytes(picture(7, (160, 120)))
    assert main(["views", str(tmp_path), "--points", "20", "--quiet"]) == 0
    told = capsys.readouterr()
    assert "Photographs" in told.out and "through all" in told.out and not told.err


def test_a_joint_problem_of_no_pairs_is_refused():
    with pytest.raises(ValueError, match="at least two views"):
        JointProblem((2, 2), {})
