"""Many pairs: where they come from, points once per image, what a pair comes to, stopping, and the files."""

import csv
import io
import json
import zipfile
from dataclasses import replace

import cv2
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from features.__main__ import main
from features.batch import from_files, from_folder, from_list, from_zip, report, run, run_batch, sources
from features.datasets import warp
from features.matching import IMAGES, match
from features.points.keypoints import detect
from ui.compare import many

SMALL = replace(IMAGES, point_params={"left": 150, "right": 150})


def png(image):
    return cv2.imencode(".png", image.rgb[:, :, ::-1])[1].tobytes()


@pytest.fixture(scope="module")
def pictures():
    """The portrait, a warped copy, something else, and what is no image."""
    noise = np.random.default_rng(0).integers(0, 255, (200, 300, 3), np.uint8)
    return {
        "a1.png": png(warp.photograph()),
        "a2.png": png(warp.warped("homography", 0.3, 2.0, 3)),
        "a10.png": cv2.imencode(".png", cv2.GaussianBlur(noise, (0, 0), 2))[1].tobytes(),
        "b.jpg": b"no image",
        "notes.txt": b"not looked at",
    }


@pytest.fixture(scope="module")
def batch(pictures):
    return run_batch(from_files(pictures), SMALL, workers=2)


def zip_of(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def test_a_folder_a_zip_and_files_make_the_same_pairs(tmp_path, pictures):
    for name, data in pictures.items():
        (tmp_path / name).write_bytes(data)
    places = [from_folder(tmp_path), from_zip(zip_of(pictures)), from_files(pictures)]
    assert places[0].pairs[:3] == (("a1.png", "a2.png"), ("a1.png", "a10.png"), ("a1.png", "b.jpg"))
    assert len({place.pairs for place in places}) == 1 and len(places[0].pairs) == 6
    assert {place.read["a2.png"]() for place in places} == {pictures["a2.png"]}
    near = from_folder(tmp_path, window=1).pairs
    assert near == (("a1.png", "a2.png"), ("a2.png", "a10.png"), ("a10.png", "b.jpg"))


def test_a_list_names_its_pairs(tmp_path):
    file = tmp_path / "pairs.txt"
    file.write_text("# what\nx.png y.png\n\nmy x.png, sub/z.png  # with a space\n")
    assert from_list(file).pairs == (("x.png", "y.png"), ("my x.png", "sub/z.png"))
    file.write_text("x.png y.png\nx.png y.png z.png\n")
    with pytest.raises(ValueError, match=r"pairs.txt, line 2: expected two file names"):
        from_list(file)


def test_too_many_and_damaged_ones_are_refused_in_a_sentence(monkeypatch, pictures):
    with pytest.raises(ValueError, match="There are 1 images, which make no pair"):
        from_files({"a.png": b""})
    with pytest.raises(ValueError, match="no ZIP file, or a damaged one"):
        from_zip(b"PK nothing")
    limits = replace(sources.LIMITS, batch_images=3)
    monkeypatch.setattr(sources, "LIMITS", limits)
    with pytest.raises(ValueError, match="These are 4 images; at most 3 are matched at a time"):
        from_files(pictures)


def test_every_pair_comes_to_what_it_comes_to_alone(batch, pictures):
    """The same points and matches as by `match`; what cannot be read is a row with its reason."""
    rows = {(row.left, row.right): row for row in batch.table}
    assert [*rows] == [*batch.sources.pairs]
    images = warp.photograph(), warp.warped("homography", 0.3, 2.0, 3)
    alone = match(images[0].rgb, images[1].rgb, recipe=SMALL)
    row = rows["a1.png", "a2.png"]
    assert_array_equal(row.pairs, alone.pairs)
    assert row.verdict == alone.verification.verdict and row.same and len(row.holds) > 60
    assert not rows["a1.png", "a10.png"].same and len(rows["a1.png", "a10.png"].holds) == 0
    assert rows["a2.png", "b.jpg"].failure.startswith("“b.jpg” is not an image")


def test_points_are_looked_for_once_per_image(monkeypatch, pictures):
    seen = []

    def counted(image, *args, **kwargs):
        seen.append(image.digest)
        return detect(image, *args, **kwargs)

    monkeypatch.setattr(run, "detect", counted)
    run_batch(from_files(pictures), SMALL, workers=1)
    assert len(seen) == len(set(seen)) == 3


def test_a_batch_tells_its_progress_and_stops_when_told(pictures):
    told = []

    def until_two(progress):
        told.append((progress.images, progress.pairs, progress.share))
        return progress.pairs >= 2

    ended = run_batch(from_files(pictures), SMALL, workers=1, told=until_two)
    assert len(ended.table) == 2
    assert told[0] == (0, 0, 0.0) and [one[2] for one in told] == sorted(one[2] for one in told)
    assert not run_batch(from_files(pictures), SMALL, told=lambda progress: True).table


def test_the_files_say_what_the_table_says(batch):
    files = dict(report.files(batch))
    lines = list(csv.DictReader(io.StringIO(files["pairs.csv"].decode())))
    assert [line["verdict"] for line in lines] == [row.verdict for row in batch.table]
    first = batch.table[0]
    assert lines[0]["same"] == "yes" and int(lines[0]["hold"]) == len(first.holds)
    matches = list(csv.DictReader(io.StringIO(files["matches/0001.csv"].decode())))
    assert len(matches) == len(first.pairs) + len(first.verification.added)
    told = json.loads(files["maps/0001.json"])
    assert (told["left"], told["right"], told["map"]) == ("a1.png", "a2.png", first.verification.map.kind)
    page = files["index.html"].decode()
    assert page.count("<tr") == 1 + len(batch.table) and "data:image/jpeg" in page and first.verdict in page
    assert "http" not in page  # it needs nothing from elsewhere
    blocks = files["colmap/matches.txt"].decode().strip().split("\n\n")
    assert blocks[0].splitlines()[0] == "a1.png a2.png" and len(blocks[0].splitlines()) == 1 + len(first.holds)
    count, width = files["colmap/features/a1.png.txt"].decode().splitlines()[0].split()
    assert (int(count), int(width)) == (first.points[0], 128)
    assert set(zipfile.ZipFile(io.BytesIO(report.zipped(batch))).namelist()) == set(files)


def test_names_are_escaped_in_the_page(pictures):
    name = "<script>alert(1)</script>.png"
    found = run_batch(from_files({name: pictures["a1.png"], "b.png": b"none"}), SMALL)
    assert "<script>" not in report.page(found).decode()


def test_the_command_matches_a_folder(tmp_path, capsys, pictures):
    for name in ("a1.png", "a2.png"):
        (tmp_path / name).write_bytes(pictures[name])
    out = tmp_path / "out"
    assert main(["match-many", str(tmp_path), "--points", "150", "--workers", "1", "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert "a1.png" in said and "1 of 1 pairs of 2 images: 1 show the same thing" in said
    assert (out / "pairs.csv").is_file() and (out / "colmap" / "matches.txt").is_file()
    assert main(["match-many", str(tmp_path / "none.txt")]) == 2
    assert "could not be read" in capsys.readouterr().err


# ---- on the page -------------------------------------------------------------------------------------------------


class Given:
    """An uploaded file."""

    def __init__(self, name, data):
        self.name, self.data = name, data

    def getvalue(self):
        return self.data


def test_uploads_make_pairs(pictures):
    given = [Given(name, data) for name, data in pictures.items() if name != "notes.txt"]
    assert many.sources_of(given, None).pairs == from_files(pictures).pairs
    assert many.sources_of([Given("all.zip", zip_of(pictures))], 1).pairs == from_files(pictures, 1).pairs
    twice = many.sources_of([given[0], given[0]], None)
    assert twice.pairs == (("2 a1.png", "a1.png"),)
    with pytest.raises(ValueError, match="A ZIP file was added together with others"):
        many.sources_of([Given("all.zip", b""), given[0]], None)


def test_the_work_of_the_page_keeps_what_it_has_when_it_is_stopped(pictures):
    class Stopped(Exception):
        pass

    kept = []

    def report_to(share, text, value):
        kept.append(value)
        if len(value.rows) == 2:
            raise Stopped

    with pytest.raises(Stopped):
        many.matched(from_files(pictures), report_to)
    assert len({id(one) for one in kept}) == 1 and len(kept[-1].table) >= 2
    for row in many.records(kept[-1]):  # whichever were done first
        left, right = row["Pair"].split(" · ")
        same = "–" if "b.jpg" in (left, right) else "yes" if {left, right} == {"a1.png", "a2.png"} else "no"
        assert row["Same thing"] == same
        for side, name in (("Left", left), ("Right", right)):
            assert name == "b.jpg" or row[side].startswith("data:image/jpeg;base64,")
