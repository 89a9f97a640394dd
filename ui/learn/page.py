"""The Learn page: short chapters, one claim, one picture, one question at a time."""

from functools import partial
from html import escape

import streamlit as st

from ui.learn import chapter as frame
from ui.learn import formula, lectern, phone, progress, static_boards, worksheet
from ui.learn.chapter import Chapter, ChapterState
from ui.learn.chapters import CHAPTERS
from ui.parts.downloads import download
from ui.shell import presenter
from ui.shell.pages import page
from ui.shell.session_slots import OWN_PAIR
from ui.shell.streamlit_patches import went_back

__all__ = ["CHAPTERS", "show"]

FIRST = next(iter(CHAPTERS))  # what an address shows that names no chapter


def show() -> None:
    progress.recall(st.session_state.get(progress.KEY), CHAPTERS)
    if code := st.query_params.get(lectern.WORD):
        phone.show(code)
        progress.remember(answered())
        return
    now = CHAPTERS[current()]
    bar = st.container(horizontal=True, vertical_alignment="center", key="learn-bar")
    state = frame.show(now, lectern.ask)
    with bar:
        navigation(now, state)
    foot(now, state)
    progress.remember(answered())
    words = state.words | presenter.words()
    if {"chapter": FIRST} | st.query_params.to_dict() != words:
        st.query_params.from_dict(words)


def current() -> str:
    """The chapter to show: as chosen, or as the address says when the page is opened and on Back and Forward."""
    if "learn chapter" not in st.session_state or went_back():
        asked = st.query_params.get("chapter", FIRST)
        turn_to(asked if asked in CHAPTERS else FIRST)
        if went_back():
            ChapterState(CHAPTERS[str(st.session_state["learn chapter"])]).follow_address()
    return str(st.session_state["learn chapter"])


def answered() -> list[str]:
    """The chapters that are."""
    return [key for key, each in CHAPTERS.items() if ChapterState(each).done]


def turn_to(key: str) -> None:
    st.session_state["learn chapter"] = key


def chosen() -> None:
    if (key := st.session_state["learn contents"]) in CHAPTERS:  # what a browser sends may be anything
        turn_to(key)


def navigation(now: Chapter, state: ChapterState) -> None:
    """Previous, all chapters, next; how many are answered, and whether this one is; what is always at hand."""
    keys = list(CHAPTERS)
    at = keys.index(now.key)
    back, ahead = keys[at - 1] if at else None, keys[at + 1] if at + 1 < len(keys) else None
    st.button(
        "Previous",
        key="learn previous",
        icon=":material/arrow_back:",
        on_click=turn_to,
        args=(back,),
        disabled=back is None,
    )
    st.session_state["learn contents"] = now.key
    st.selectbox(
        "Chapter",
        keys,
        at,
        key="learn contents",
        format_func=entry,
        on_change=chosen,
        width=330,
        label_visibility="collapsed",
    )
    st.button(
        "Next",
        key="learn next",
        icon=":material/arrow_forward:",
        icon_position="right",
        on_click=turn_to,
        args=(ahead,),
        disabled=ahead is None,
    )
    done = answered()
    mark = ":material/check_circle: " if now.key in done else ""
    st.caption(f"{mark}{len(done)} of {len(keys)} answered", width="content")
    with st.container(horizontal=True, horizontal_alignment="right", key="learn-tools"):
        with st.popover("Glossary", icon=":material/menu_book:"):
            glossary(now)
        key = f"for the class {lectern.has_room()}"  # another one closes itself
        with st.popover("For the class", icon=":material/co_present:", key=key, on_change="rerun"):
            for_the_class(now, state)


def entry(key: str) -> str:
    return f"{list(CHAPTERS).index(key) + 1}. {CHAPTERS[key].title}"


def glossary(now: Chapter) -> None:
    st.markdown("**In this chapter's formula**")
    rows = (
        f"<tr><td><i>{formula.sign(one)}</i></td><td>{escape(one.words)}</td></tr>"
        for one in (formula.SYMBOLS[name] for name in formula.names(now.formula))
    )
    st.html(f'<table class="learn-symbols">{"".join(rows)}</table>')
    st.markdown("**Words**")
    st.markdown("\n".join(f"- **{word}**: {words}" for word, words in formula.GLOSSARY.items()))


def for_the_class(now: Chapter, state: ChapterState) -> None:
    """Answers on phones, worksheets, presenter mode and links."""
    lectern.offer()
    phone.enter()
    for name, answers in (("Worksheet", False), ("Worksheet with answers", True)):
        download(
            name,
            f"adgm-{name.lower().replace(' ', '-')}.html",
            partial(worksheet.page, list(CHAPTERS.values()), answers=answers),
            icon=":material/print:",
            width="stretch",
        )
    if now.board:
        download(
            "Board without a server",
            static_boards.name(now),
            partial(static_boards.page, now, dict(state.values)),
            icon=":material/web:",
            width="stretch",
            help="One HTML file that works from a folder, for course pages and slides",
        )
    st.button(
        "Presenter mode",
        icon=":material/present_to_all:",
        on_click=presenter.toggle,
        width="stretch",
        help="Large type and nothing around. Keys: f in and out, ? shows all keys",
    )
    names = ",".join(one.name for one in now.controls)
    what = "the control" if len(now.controls) == 1 else "the controls, or some of them"
    st.caption(
        "The address of this page is a link to this chapter as it stands. "
        + (f"Add `&lock={names}` to lock {what}, " if names else "Add ")
        + "`&present=1` to open it in presenter mode."
    )


def foot(now: Chapter, state: ChapterState) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="learn-foot"):
        with st.popover("The same in Python", icon=":material/code:"):
            st.code(now.code, language="python")
        if now.recipe is None:
            return
        match, words = page("match"), now.recipe(state.values).to_query() | presenter.words()
        if now.brings is None:
            st.page_link(match, label="Open this on Match", icon=":material/share:", query_params=words)
        elif st.button("Open this on Match", icon=":material/share:", type="tertiary"):
            OWN_PAIR.set(now.brings(state.values))
            st.switch_page(match, query_params=words)
