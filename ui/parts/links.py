"""Links to the page that is shown, and QR codes of links."""

from html import escape
from typing import Any
from urllib.parse import urlencode, urlsplit

import segno
import streamlit as st

ALONE = ("localhost", "127.0.0.1", "::1")


def address(**words: str) -> str:
    """The address of this page as the browser reaches it, with these words."""
    here = str(st.context.url or "").partition("?")[0]
    return f"{here}?{urlencode(words)}"


def alone(link: str) -> bool:
    """Whether only the machine itself can open it."""
    return urlsplit(link).hostname in ALONE


def code_picture(text: str, **look: Any) -> str:
    """A text as a QR code, dark on white with its margin, as an HTML image."""
    picture = segno.make(text, error="m", micro=False).svg_data_uri(border=4, light="#fff", **look)
    return f'<img class="qr" alt="QR code: {escape(text, quote=True)}" src="{picture}">'
