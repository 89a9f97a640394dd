"""Photographs of every kind in a real Chromium: dropped or pasted, matched without a click; keyboard alone; a phone."""

import base64
import io
import re
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image as Pillow

from features.datasets import DATASETS
from test_images import HEIC

pytestmark = [pytest.mark.browser, pytest.mark.long]
HAND = """([files, how]) => {
  const brought = new DataTransfer();
  for (const [name, type, data] of files) {
    brought.items.add(new File([Uint8Array.from(atob(data), (one) => one.charCodeAt(0))], name, { type }));
  }
  const target = document.querySelector('[data-testid="stMain"]'), rest = { bubbles: true, cancelable: true };
  target.dispatchEvent(how === "drop" ? new DragEvent("drop", { dataTransfer: brought, ...rest })
    : new ClipboardEvent("paste", { clipboardData: brought, ...rest }));
}"""
DEEP = np.uint16(4095)  # the largest value of 12 bits


@pytest.fixture(scope="module")
def pair() -> tuple[np.ndarray, np.ndarray]:
    """Two photographs of one thing."""
    found = DATASETS["portrait"].load(points=10)
    return found.left.image.rgb, found.right.image.rgb


def written(form: str, **options: object) -> Callable[[np.ndarray], bytes]:
    def encode(rgb: np.ndarray) -> bytes:
        out = io.BytesIO()
        Pillow.fromarray(rgb).save(out, form, **options)
        return out.getvalue()

    return encode


def twelve_bits(rgb: np.ndarray) -> bytes:
    grey = rgb.mean(axis=2) / 255 * DEEP
    out = io.BytesIO()
    Pillow.fromarray(grey.astype(np.uint16)).save(out, "PNG")
    return out.getvalue()


def turned(rgb: np.ndarray) -> bytes:
    """As a camera that is held upright stores it: lying, with the word to turn it (EXIF 6)."""
    exif = Pillow.Exif()
    exif[0x0112] = 6
    return written("JPEG", quality=95, exif=exif)(np.ascontiguousarray(np.rot90(rgb)))


def see_through(rgb: np.ndarray) -> bytes:
    return written("PNG")(np.dstack([rgb, np.full(rgb.shape[:2], 255, np.uint8)]))


def cmyk(rgb: np.ndarray) -> bytes:
    out = io.BytesIO()
    Pillow.fromarray(rgb).convert("CMYK").save(out, "JPEG", quality=95)
    return out.getvalue()


def huge(rgb: np.ndarray) -> bytes:
    out = io.BytesIO()
    Pillow.fromarray(rgb).resize((4000, 6000)).save(out, "JPEG", quality=80)
    return out.getvalue()


KINDS = {
    "avif": ("image/avif", written("AVIF", quality=90)),
    "12 bits.png": ("image/png", twelve_bits),
    "exif.jpg": ("image/jpeg", turned),
    "alpha.png": ("image/png", see_through),
    "cmyk.jpg": ("image/jpeg", cmyk),
    "huge.jpg": ("image/jpeg", huge),
}


def hand(page, files: list[tuple[str, str, bytes]], how: str = "drop") -> None:
    page.says("Match two photographs of your own")
    page.page.locator('[class*="st-key-both-images"] input[type="file"]').wait_for(state="attached")
    page.page.locator(".drop .ways").wait_for()  # the part that hears of what is dropped
    page.page.evaluate(HAND, [[[name, kind, base64.b64encode(data).decode()] for name, kind, data in files], how])


def same_scene(page) -> None:
    page.says(re.compile("matches obey an? (homography|affine map)"))
    assert page.main.get_by_text("Same scene", exact=True).count() == 1


@pytest.mark.parametrize("name", KINDS)
def test_a_photograph_of_any_kind_is_matched_without_a_click(visit, pair, name):
    page = visit("?data=own")
    kind, encode = KINDS[name]
    file = name if "." in name else f"photo.{name}"
    hand(page, [("left.jpg", "image/jpeg", written("JPEG", quality=95)(pair[0])), (file, kind, encode(pair[1]))])
    same_scene(page)
    width, height = page.board("board => board.boxes[1].slice(2)")
    assert (width < height) == (pair[1].shape[1] < pair[1].shape[0])  # upright


def test_a_phones_format_is_taken_and_waits_for_the_other(visit):
    page = visit("?data=own")
    hand(page, [("IMG_1.HEIC", "", HEIC)])  # browsers know no type for it
    page.says("First photograph is here")
    assert page.page.locator(".drop img").evaluate("image => image.decode().then(() => image.naturalWidth)") > 0


def test_two_photographs_are_pasted_and_matched_on_a_phone(visit, browser, pair):
    phone = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = visit("?data=own", phone)
    files = [(f"{k}.jpg", "image/jpeg", written("JPEG", quality=95)(rgb)) for k, rgb in enumerate(pair)]
    hand(page, files, "paste")
    same_scene(page)
    assert page.main.evaluate("one => one.scrollWidth <= one.clientWidth + 1")
    stage, bar = (page.page.locator(name).first.bounding_box() for name in (".st-key-picture", ".st-key-pages"))
    assert stage["width"] > 350 and stage["y"] + stage["height"] < bar["y"]  # the picture on the first screen
    phone.close()


def test_the_keyboard_alone_starts_a_run_and_walks_through_its_matches(visit):
    page = visit("?data=turntable&data.left=20&data.right=40&data.points=10&model=C")
    page.ready()
    press, focused = page.page.keyboard.press, "() => (document.activeElement.innerText ?? '').trim()"
    page.page.locator("body").press("Tab")
    for _ in range(60):
        if page.page.evaluate(focused).endswith("Start"):
            break
        press("Tab")
    assert page.page.evaluate(focused).endswith("Start")
    press("Enter")
    page.finish()
    on_stage = "root => root.getRootNode().activeElement?.getAttribute('role') === 'application'"
    stage = page.page.locator("canvas[aria-roledescription]").last
    for _ in range(60):
        if stage.evaluate(on_stage):
            break
        press("Shift+Tab")
    assert stage.evaluate(on_stage)
    press("n")
    page.wait_until(lambda: page.board("board => Boolean(board.selected)"))
    press("Escape")
    page.wait_until(lambda: not page.board("board => Boolean(board.selected)"))
    press("+")
    page.wait_until(lambda: page.board("board => board.memory.zoom") > 1)
