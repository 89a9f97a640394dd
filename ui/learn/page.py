"""The Learn page: short chapters, one claim, one picture, one question at a time."""

from collections.abc import Callable
from functools import partial
from html import escape

import streamlit as st

from ui.learn import builder, film, formula, lectern, phone, progress, static_boards, worksheet
from ui.learn import chapter as frame
from ui.learn.chapter import Chapter, ChapterState
from ui.learn.chapters import CHAPTERS
from ui.learn.exercises import EXERCISES, GONE, WORD
from ui.parts.downloads import download
from ui.parts.links import address, alone
from ui.parts.press import button
from ui.shell import presenter
from ui.shell.pages import page
from ui.shell.session_slots import OWN_PAIR
from ui.shell.streamlit_patches import went_back

__all__ = ["CHAPTERS", "show"]

FIRST = next(iter(CHAPTERS))  # what an address shows that names no chapter
OPENED = "learn exercise"  # the code of the exercise that is open


def show() -> None:
    progress.recall(st.session_state.get(progress.KEY), CHAPTERS)
    if code := st.query_params.get(lectern.WORD):
        phone.show(code)
        progress.remember(answered())
        return
    now = current()
    bar = st.container(horizontal=True, vertical_alignment="center", key="learn-bar")
    state = frame.show(now, lectern.ask)
    with bar:
        navigation(now, state)
    foot(now, state)
    builder.follow(state)
    progress.remember(answered())
    words = state.words | presenter.words()
    if {"chapter": FIRST} | st.query_params.to_dict() != words:
        st.query_params.from_dict(words)


def current() -> Chapter:
    """The chapter to show: as chosen, or as the address says when the page is opened and on Back and Forward."""
    if "learn chapter" not in st.session_state or went_back():
        code, asked = st.query_params.get(WORD, ""), st.query_params.get("chapter", FIRST)
        turn_to(asked if asked in CHAPTERS else FIRST)
        if code:
            open_exercise(code)
        if went_back():
            ChapterState(shown()).follow_address()
    return shown()


def shown() -> Chapter:
    """The chapter that is open, or the exercise about it."""
    code = str(st.session_state.get(OPENED, ""))
    found = EXERCISES.find(code) if code else None
    if found is not None:
        return builder.chapter_of(found[0], code, reveals=found[1])
    if code:
        st.warning(GONE, icon=":material/link_off:")
    return CHAPTERS[str(st.session_state["learn chapter"])]


def open_exercise(code: str) -> None:
    """Turn to the chapter that an exercise is about."""
    st.session_state[OPENED] = code
    found = EXERCISES.find(code)
    if found is not None and found[0].page == "learn":
        st.session_state["learn chapter"] = found[0].words["chapter"]
        presenter.begin_with(found[0].locked, found[0].hidden, found[0].presenting)


def answered() -> list[str]:
    """The chapters that are."""
    return [key for key, each in CHAPTERS.items() if ChapterState(each).done]


def turn_to(key: str) -> None:
    st.session_state["learn chapter"] = key
    st.session_state.pop(OPENED, None)


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
        if not presenter.hidden("glossary"):
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
    link = address()
    papers: dict[str, Callable[..., str]] = {
        "Worksheet": partial(worksheet.page, answers=False, link="" if alone(link) else link),
        "Worksheet with answers": partial(worksheet.page, answers=True),
        "Speaker notes": worksheet.speaker_notes,
    }
    for name, make in papers.items():
        file = f"adgm-{name.lower().replace(' ', '-')}.html"
        download(name, file, partial(make, list(CHAPTERS.values())), icon=":material/print:", width="stretch")
    if now.board:
        download(
            "Board without a server",
            static_boards.name(now),
            partial(static_boards.page, now, dict(state.values)),
            icon=":material/web:",
            width="stretch",
            help="One HTML file that works from a folder, for course pages and slides",
        )
    if now.film or now.recipe:
        with st.container(horizontal=True):
            for kind, label in film.KINDS.items():
                download(label, f"adgm-{now.key}.{kind}", partial(film.made, now, dict(state.values), kind))
    st.button(
        "Presenter mode",
        icon=":material/present_to_all:",
        on_click=presenter.toggle,
        width="stretch",
        help="Large type and nothing around. Keys: f in and out, ? shows all keys",
    )
    button(
        "A link or exercise of your own",
        "learn link",
        builder.open_dialog,
        icon=":material/add_link:",
        width="stretch",
        help="What is locked and hidden, your own question, hint and expected answer",
    )
    st.caption("The address of this page is a link to this chapter as it stands.")


def foot(now: Chapter, state: ChapterState) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="learn-foot"):
        if not presenter.hidden("python"):
            with st.popover("The same in Python", icon=":material/code:"):
                st.code(now.code, language="python")
        if now.recipe is None or presenter.hidden("match"):
            return
        match, words = page("match"), now.recipe(state.values).to_query() | presenter.words()
        if now.brings is None:
            st.page_link(match, label="Open this on Match", icon=":material/share:", query_params=words)
        elif st.button("Open this on Match", icon=":material/share:", type="tertiary"):
            OWN_PAIR.set(now.brings(state.values))
            st.switch_page(match, query_params=words)
