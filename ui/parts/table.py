"""A table whose lines light up on the picture: pointing at one, or reaching it with the keyboard, tells Python which.

Streamlit's own table knows clicks only. A click holds the line until it is clicked again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import streamlit as st


@dataclass(frozen=True)
class Row:
    """The cells of a line, and how far its bar reaches, from −1 (for the truth) to 1 (for the answer)."""

    cells: tuple[str, ...]
    bar: float = 0.0


def lines(key: str, header: Sequence[str], rows: Sequence[Row], *, height: int = 330, tall: bool = False) -> int | None:
    """Show the table; the number of the line that is pointed at or held. Other lines are another table.

    A `tall` one is as high as the window allows, `height` at least.
    """
    key = f"{key} {crc32(repr(rows).encode())}"
    kept = st.session_state.get(key)
    at = None if kept is None else kept.get("line")
    _COMPONENT(
        key=key,
        data={
            "header": list(header),
            "rows": [list(row.cells) for row in rows],
            "bars": [round(min(max(row.bar, -1.0), 1.0), 4) for row in rows],
            "height": height,
            "tall": tall,
        },
        on_line_change=lambda: None,
    )
    return at if isinstance(at, int) and 0 <= at < len(rows) else None


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


_COMPONENT = st.components.v2.component(
    "adgm_lines", html='<div class="lines"></div>', css=_text("table.css"), js=_text("table.js")
)
