"""What every page that shows a picture offers in Export and share: its pictures, as they are seen, and its address."""

from pathlib import Path
from urllib.parse import urlencode

import streamlit as st


def show(page: str) -> None:
    """The browser makes the files: it has drawn what is on the page."""
    st.markdown("**Pictures on this page**, as they are seen")
    _COMPONENT(key="page pictures", data=[{"page": page}])


def link() -> None:
    """The address of the page as it is."""
    if st.context.url:
        st.markdown("**Link** to this page")
        words, address = urlencode(st.query_params.to_dict()), st.context.url.partition("?")[0]
        st.code(f"{address}?{words}" if words else address, language=None, wrap_lines=True)


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


_COMPONENT = st.components.v2.component(
    "adgm_page_pictures",
    html='<div class="page-pictures"></div>',
    css=_text("page_pictures.css"),
    js=_text("page_pictures.js"),
)
