"""PAGES: what the navigation offers, in this order."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

STYLE = Path(__file__).with_name("page.css")
# Two graphs, and a line between them: carried by the page itself, as a sign of Streamlit's would be fetched elsewhere.
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' stroke='%230072b2' "
    "fill='%230072b2' stroke-width='2'%3E%3Cpath fill='none' d='M5 5v14M19 5v14M5 5l14 14M5 19 19 5'/%3E"
    "%3Ccircle cx='5' cy='5' r='3'/%3E%3Ccircle cx='5' cy='19' r='3'/%3E%3Ccircle cx='19' cy='5' r='3'/%3E"
    "%3Ccircle cx='19' cy='19' r='3'/%3E%3C/svg%3E"
)


@dataclass(frozen=True)
class Page:
    """A page: the module of this room whose `show` draws it, and what the navigation says.

    Modules are imported when a page is first opened: the frame is in the browser by then, and loads what it needs at
    the same time; and nobody waits for a page that they do not look at.
    """

    name: str
    title: str
    icon: str
    default: bool = False

    def show(self) -> None:
        from ui import desk, present, presses, streamlit_patches, upload_budget, url_state, visitors, warmup

        streamlit_patches.begin()
        upload_budget.begin()
        visitors.begin()
        with present.begin():
            desk.begin()
        presses.PRESSES.perform(streamlit_patches.session_name())
        url_state.turn_to(self.name)
        import_module(f"ui.{self.name}").show()
        warmup.begin()  # last: the compiler shall not compete with the first picture

    @property
    def entry(self) -> StreamlitPage:
        """As Streamlit knows it."""
        return st.Page(self.show, title=self.title, icon=self.icon, url_path=self.name, default=self.default)


PAGES = (
    Page("match", "Match", ":material/share:", default=True),
    Page("learn", "Learn", ":material/school:"),
    Page("compare", "Compare", ":material/leaderboard:"),
    Page("debug", "Debug", ":material/bug_report:"),
    Page("experiments", "Experiments", ":material/science:"),
)


def page(name: str) -> StreamlitPage:
    """One of them, to turn to."""
    return next(one.entry for one in PAGES if one.name == name)
