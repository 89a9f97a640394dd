"""Links to the page that is shown."""

from urllib.parse import urlencode

import streamlit as st


def address(**words: str) -> str:
    """The address of this page as the browser reaches it, with these words."""
    here = str(st.context.url or "").partition("?")[0]
    return f"{here}?{urlencode(words)}"
