"""A picture that is sent with the page is the picture, and is there in words, too; words can be read."""

import ast
import base64
import re
import tomllib
from pathlib import Path

import cv2
import numpy as np

from ui.parts.pictures import inline

ROOT = Path(__file__).resolve().parents[1]


def test_an_inline_picture_comes_back_pixel_for_pixel():
    pixels = np.random.default_rng(0).integers(0, 256, (7, 5, 3)).astype(np.uint8)
    head, _, data = inline(pixels).partition(",")
    assert head == "data:image/png;base64"
    found = cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), cv2.IMREAD_COLOR)
    assert (found[..., ::-1] == pixels).all()
    jpeg = cv2.imencode(".jpg", pixels)[1].tobytes()
    assert inline(jpeg).startswith("data:image/jpeg;base64,")
    assert base64.b64decode(inline(jpeg).partition(",")[2]) == jpeg


def calls_of(attribute: str):
    for path in sorted((ROOT / "ui").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == attribute:
                yield path.relative_to(ROOT), node


def test_every_picture_says_in_words_what_it_shows():
    found = [(path, node.lineno, {word.arg for word in node.keywords}) for path, node in calls_of("image")]
    assert len(found) > 5
    assert [place for place in found if "alt" not in place[2]] == []


def luminance(colour):
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ (0.2126, 0.7152, 0.0722)


def contrast(one, other):
    """As the accessibility guidelines of the web define it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_small_print_and_what_stands_on_a_button_can_be_read_in_both_themes():
    theme = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
    style = (ROOT / "ui" / "shell" / "page.css").read_text(encoding="utf-8")
    on_light, on_dark = re.search(r'button-primary"\] \{ color: light-dark\((#\w{6}), (#\w{6})\)', style, re.I).groups()
    text = [int(theme["light"]["textColor"][at : at + 2], 16) for at in (1, 3, 5)]
    caption = "#" + "".join(f"{round(0.6 * one + 0.4 * 255):02x}" for one in text)  # Streamlit's captions are faint
    assert contrast(caption, "#ffffff") >= 4.5
    assert contrast(theme["light"]["primaryColor"], on_light) >= 4.5
    assert contrast(theme["dark"]["primaryColor"], on_dark) >= 4.5
