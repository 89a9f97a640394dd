"""Files to take away: each is made when it is asked for, in a place of the pool like any other work."""

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from ui.jobs.scheduler import POOL
from ui.shell import admission

Content = bytes | str
MIME = {
    "png": "image/png",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "gif": "image/gif",
    "webm": "video/webm",
    "mp4": "video/mp4",
    "csv": "text/csv",
    "md": "text/markdown",
    "tex": "text/x-tex",
    "html": "text/html",
    "json": "application/json",
    "xml": "application/xml",
    "toml": "application/toml",
    "npz": "application/octet-stream",
    "db": "application/octet-stream",
    "zip": "application/zip",
    "dd": "text/plain",
    "py": "text/x-python",
}


def download(label: str, name: str, make: Callable[[], Content] | Content, **look: Any) -> None:
    """A button that makes its file when it is clicked (or has it already); nothing else on the page moves."""
    content = partial(POOL.perform, make, admission.current()) if callable(make) else make
    kind = MIME[name.rsplit(".", 1)[-1]]
    st.download_button(label, content, name, kind, key=f"download {name}", on_click="ignore", **look)
