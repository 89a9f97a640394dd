"""Many photographs in a browser: ten pairs from upload to the files."""

import csv
import io
import zipfile

import cv2
import pytest

from features.datasets import warp

pytestmark = [pytest.mark.browser, pytest.mark.long]


def test_ten_pairs_are_matched_and_taken_away(tmp_path, browser, server):
    files = []
    for k in range(5):
        image = warp.warped("homography", 0.1 * (k + 1), 2.0, k)
        files.append(tmp_path / f"view{k}.png")
        cv2.imwrite(str(files[-1]), image.rgb[:, :, ::-1])
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{server.url}/compare", timeout=120_000)
    many = page.locator(".st-key-many")
    many.locator("input[type=file]").set_input_files(files, timeout=120_000)
    many.get_by_text("5 photographs, 10 pairs.").wait_for(timeout=60_000)
    many.get_by_role("button", name="Match all pairs").click()
    many.get_by_text("10 of 10 pairs of 5 images: 10 show the same thing").wait_for(timeout=240_000)
    with page.expect_download(timeout=60_000) as taken:
        many.get_by_role("button", name="Download everything").click()
    archive = zipfile.ZipFile(taken.value.path())
    context.close()
    lines = list(csv.DictReader(io.StringIO(archive.read("pairs.csv").decode())))
    assert len(lines) == 10 and {line["same"] for line in lines} == {"yes"}
    blocks = archive.read("colmap/matches.txt").decode().strip().split("\n\n")
    assert sorted(len(block.splitlines()) - 1 for block in blocks) == sorted(int(line["hold"]) for line in lines)
