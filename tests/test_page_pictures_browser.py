"""Export and share takes the pictures of a page away as they are seen: PNG and PDF, drawings also as SVG."""

import io
import re
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest
from PIL import Image as Pillow

from experiments.tools.browser import Visit

pytestmark = [pytest.mark.browser, pytest.mark.long]


def taken(page: Visit, name: re.Pattern[str]) -> list[tuple[str, bytes]]:
    """All files behind the buttons of this name."""
    buttons = page.page.get_by_role("button", name=name)
    buttons.first.wait_for()
    files = []
    for k in range(buttons.count()):
        with page.page.expect_download() as coming:
            buttons.nth(k).click()
        files.append((coming.value.suggested_filename, coming.value.path().read_bytes()))
    return files


@pytest.mark.parametrize(
    ("address", "said", "drawings"),
    [
        ("learn", "Matching means", 2),
        ("learn?chapter=step", "Gather p", 1),
        ("learn?chapter=split", "Its sums", 1),
        ("experiments", "The pairs behind a point", 1),
        ("debug", "Where the two overlap", 0),
    ],
)
def test_every_picture_of_a_page_can_be_taken_away_and_opened_again(visit, address, said, drawings):
    page = visit(address)
    page.says(re.compile(said))
    page.settled()
    page.share()
    pictures = taken(page, re.compile(" as PNG$"))
    assert pictures and pictures[0][0] == f"{address.partition('?')[0]}-1.png"
    for _, data in pictures:
        pixels = np.asarray(Pillow.open(io.BytesIO(data)).convert("RGB"))
        assert min(pixels.shape[:2]) >= 120 and len(np.unique(pixels.reshape(-1, 3), axis=0)) > 5  # something is drawn
    pages = taken(page, re.compile(" as PDF$"))
    for (_, picture), (_, data) in zip(pictures, pages, strict=True):
        assert data.startswith(b"%PDF") and data.rstrip().endswith(b"%%EOF")
        start = data.index(b"stream\n", data.index(b"DCTDecode")) + 7
        jpeg = cv2.imdecode(np.frombuffer(data[start:], np.uint8), cv2.IMREAD_COLOR)
        assert jpeg.shape[:2] == cv2.imdecode(np.frombuffer(picture, np.uint8), cv2.IMREAD_COLOR).shape[:2]
    svgs = page.page.get_by_role("button", name=re.compile(" as SVG$")).count()
    assert svgs >= drawings
    if svgs:
        for _, data in taken(page, re.compile(" as SVG$")):
            assert ElementTree.fromstring(data).tag == "{http://www.w3.org/2000/svg}svg"
    assert (
        page.page.get_by_test_id("stPopoverBody").get_by_text(f"/{address.partition('?')[0]}").count() >= 1
    )  # the link
