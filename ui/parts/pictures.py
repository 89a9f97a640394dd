"""Pictures that cannot get lost on their way to the page."""

import base64

import cv2
import numpy as np
from numpy.typing import NDArray


def inline(picture: bytes | NDArray[np.uint8]) -> str:
    """A PNG, a JPEG or RGB pixels as an address that carries the picture itself.

    Streamlit serves a picture as a file and forgets it when another page, or a drawing that ends before it comes to
    the picture, follows; a browser that asks a moment later gets none, and does not ask again.
    """
    if isinstance(picture, np.ndarray):
        picture = cv2.imencode(".png", picture[..., ::-1])[1].tobytes()
    kind = "png" if picture.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(picture).decode()}"
