"""The frame of every page: name and pages at the left, Export and share and Settings at the right, always in one place.

On a phone the pages are a bar at the bottom. The style sheet fixes all of it; Settings is Streamlit's own sidebar.
"""

from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from ui.shell import documents, page_pictures, presenter
from ui.shell.session_slots import SHARE

# Two graphs, and a line between them: carried by the page itself, as a sign of Streamlit's would be fetched elsewhere.
_SIGN = (
    "<path fill='none' d='M5 5v14M19 5v14M5 5l14 14M5 19 19 5'/><circle cx='5' cy='5' r='3'/>"
    "<circle cx='5' cy='19' r='3'/><circle cx='19' cy='5' r='3'/><circle cx='19' cy='19' r='3'/>"
)
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' stroke='%230072b2' "
    "fill='%230072b2' stroke-width='2'%3E" + _SIGN.replace("<", "%3C").replace(">", "%3E") + "%3C/svg%3E"
)
NAME = '<div class="logo"><i></i><b>ADGM</b><small>graph matching, live</small></div>'

_MARK = f'<style>.logo i {{ background: center / contain url("{ICON}"); }}</style>'


# Streamlit's links do not say in the page which of them leads here.
_HERE = (
    "<style>.st-key-pages > :nth-child({0}) a {{ background: var(--here) !important; }}"
    ".st-key-pages > :nth-child({0}) a * {{ color: var(--blue) !important; }}</style>"
)


def begin(pages: Sequence[StreamlitPage], current: int) -> None:
    """Name and pages, the current one marked; before anything else of a page."""
    with st.container(horizontal=True, key="frame"):
        st.html(NAME + _MARK + _HERE.format(1 + current))
        with st.container(horizontal=True, key="pages"):
            for page in pages:
                st.page_link(page, label=page.title, icon=page.icon)


def share(page: str, content: Callable[[], None] | None) -> None:
    """Export and share: what the page offers to take away, then what every page does; drawn when it is open."""
    with st.container(key="share"):
        opener = st.popover("Export and share", icon=":material/ios_share:", key=SHARE, on_change="rerun")
    if not opener.open:
        return
    with opener:
        if content is not None:
            content()
        page_pictures.show(page)
        if page != "match":  # whose link also starts the run
            page_pictures.link()
        st.button(
            "Presenter mode",
            key="presenter mode",
            icon=":material/present_to_all:",
            on_click=presenter.toggle,
            help="Large type and nothing around. Keys: f in and out, ? shows all keys",
        )
        documents.link()


def no_settings() -> None:
    """Every page has Settings; one without any says so."""
    st.sidebar.caption("Nothing on this page can be set.")
