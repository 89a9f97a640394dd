"""A picture that is sent with the page is the picture."""

import base64

import cv2
import numpy as np

from ui.pictures import inline


def test_an_inline_picture_comes_back_pixel_for_pixel():
    pixels = np.random.default_rng(0).integers(0, 256, (7, 5, 3)).astype(np.uint8)
    head, _, data = inline(pixels).partition(",")
    assert head == "data:image/png;base64"
    found = cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), cv2.IMREAD_COLOR)
    assert (found[..., ::-1] == pixels).all()
    jpeg = cv2.imencode(".jpg", pixels)[1].tobytes()
    assert inline(jpeg).startswith("data:image/jpeg;base64,")
    assert base64.b64decode(inline(jpeg).partition(",")[2]) == jpeg
