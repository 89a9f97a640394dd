"""Text that somebody brought, on a page of ours."""

import re


def literal(text: str) -> str:
    """A text that somebody brought, kept from being read as Markdown."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|<>$:~&])", r"\\\1", text)
