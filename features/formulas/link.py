"""A model's text as one word of a link: as it is, or compressed where it is long. Nothing is lost, and what comes from
a link is bounded before it is unpacked."""

import base64
import binascii
import zlib

from features.formulas.text import LONGEST_TEXT

SHORT = 160  # characters that a link carries as they are
MARK = "~"  # what is compressed begins with it; no model's key does
MOST_BYTES = 4 * LONGEST_TEXT


def packed(text: str) -> str:
    """A text as it stands in a link."""
    if len(text) <= SHORT and not text.startswith(MARK):
        return text
    return MARK + base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def unpacked(word: str) -> str:
    """The text again; a ValueError if it is none, or longer than a model may be."""
    if not word.startswith(MARK):
        return word
    coded = word[len(MARK) :]
    if len(coded) > 2 * MOST_BYTES:
        raise ValueError(f"The model in this link is too long; expected at most {LONGEST_TEXT} characters.")
    try:
        unzip = zlib.decompressobj()
        data = unzip.decompress(base64.b64decode(coded + "=" * (-len(coded) % 4), b"-_", validate=True), MOST_BYTES + 1)
        text = data.decode()
    except (binascii.Error, zlib.error, ValueError):
        raise ValueError("The model in this link is damaged; ask for the link again.") from None
    if len(text) > LONGEST_TEXT or not unzip.eof:
        raise ValueError(f"The model in this link is damaged or too long; it has at most {LONGEST_TEXT} characters.")
    return text
