"""PAGES: what the navigation offers, in this order."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

STYLE = Path(__file__).with_name("page.css")


@dataclass(frozen=True)
class Page:
    """A page: the module of this room whose `show` draws it, and what the navigation says. `show` returns what draws
    the page's own part of Export and share, or None.

    Modules are imported when a page is first opened: the frame is in the browser by then, and loads what it needs at
    the same time; and nobody waits for a page that they do not look at.
    """

    name: str
    title: str
    icon: str
    default: bool = False
    settings: bool = False  # whether it fills the drawer itself

    def show(self) -> None:
        from ui.choice import address
        from ui.match import presses
        from ui.shell import admission, frame, presenter, reload_store, streamlit_patches, upload_quota, warmup
        from ui.shell.session_slots import PAGE

        upload_quota.begin()
        admission.begin()
        frame.begin([page.entry for page in PAGES], [page.name for page in PAGES].index(self.name))
        with presenter.begin():
            reload_store.begin()
        presses.PRESSES.perform(session := streamlit_patches.session_name())
        if PAGE.get() != self.name:
            presses.PRESSES.leave(session)
        address.turn_to(self.name)
        frame.share(self.name, import_module(f"..{self.name}.page", __package__).show())
        if not self.settings:
            frame.no_settings()
        warmup.begin()  # last: the compiler shall not compete with the first picture

    @property
    def entry(self) -> StreamlitPage:
        """As Streamlit knows it."""
        return st.Page(self.show, title=self.title, icon=self.icon, url_path=self.name, default=self.default)


PAGES = (
    Page("match", "Match", ":material/share:", default=True, settings=True),
    Page("learn", "Learn", ":material/school:"),
    Page("views", "Views", ":material/view_carousel:", settings=True),
    Page("compare", "Compare", ":material/leaderboard:", settings=True),
    Page("debug", "Debug", ":material/bug_report:"),
    Page("experiments", "Experiments", ":material/science:"),
)


def page(name: str) -> StreamlitPage:
    """One of them, to turn to."""
    return next(one.entry for one in PAGES if one.name == name)
