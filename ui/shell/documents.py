"""The documentation site beside the app, under `/docs`, wherever it has been built (`python -m experiments docs`)."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

ROOT = Path(__file__).parents[2]
BUILT = (ROOT / "out" / "docs", ROOT / "site")  # in a clone, and where a wheel keeps it
SOURCES = ROOT / "assets" / "docs" / "index.md"
PLACE = "docs"


def folder() -> Path | None:
    """Where the site is; None if it has not been built."""
    return next((one for one in BUILT if (one / "index.html").is_file()), None)


def asked(scope: Any) -> bool:
    """Whether a request is for the site, and there is one."""
    return scope["type"] == "http" and scope["path"].startswith(f"{_mounted()}/") and folder() is not None


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """The files of the site, and nothing else."""
    await _server(_mounted(), str(folder()))(scope, receive, send)


def _mounted() -> str:
    base = (st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}/{PLACE}" if base else f"/{PLACE}"


@lru_cache(maxsize=2)
def _server(place: str, where: str) -> Starlette:
    return Starlette(routes=[Mount(place, StaticFiles(directory=where, html=True))])


def link() -> None:
    """To the site; in a clone without one, where its sources are."""
    if folder() is not None:
        st.link_button("Documentation", f"{PLACE}/index.html", icon=":material/menu_book:")
    elif SOURCES.is_file():
        st.caption(
            "Documentation: the folder `assets/docs`. `python -m experiments docs` makes a site of it, which is then "
            "linked here."
        )
