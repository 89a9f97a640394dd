"""What a student of a class sees: the question that the lecturer's page shows, and a place for one answer."""

import streamlit as st

from ui.jobs.scheduler import POOL
from ui.learn import lectern, progress
from ui.learn.classroom import GONE, ROOMS, Room, read_code
from ui.parts.escape import literal

TICK = 2.0  # seconds between two looks for the next question


def show(code: str) -> None:
    """The room with this code, as a link brings it."""
    with st.container(key="learn-phone"):
        found = read_code(code)
        if not found:
            st.warning(GONE, icon=":material/groups:")
        else:
            st.fragment(answering, run_every=POOL.unhurried(TICK))(found)
        enter(found)


def entered() -> None:
    if code := read_code(str(st.session_state["learn code"])):
        st.query_params[lectern.WORD] = code
    elif lectern.WORD in st.query_params:
        del st.query_params[lectern.WORD]


def enter(code: str = "") -> None:
    """A place to type another code."""
    st.session_state["learn code"] = code
    st.text_input("Class code", code, key="learn code", max_chars=12, on_change=entered, width=160)


def answering(code: str) -> None:
    """The question as it is asked now, with the answers when they are shown."""
    student = progress.name()
    try:
        room = ROOMS.visit(code, student)
        if room.asked is None:
            st.info("The question will appear here.", icon=":material/hourglass_empty:")
            return
        st.caption(f"{literal(room.asked.title)} · nobody sees who you are")
        st.markdown(f"**{literal(room.asked.text)}**")
        given = answered(room, student)
        if room.stage == "open" and given is not None:
            ROOMS.answer(code, student, room.ticket, given)
            st.success(
                "Your answer is counted. You can change it until the answers are shown.", icon=":material/check:"
            )
        elif room.stage != "open":
            st.html(lectern.rows(room))
            st.caption(f"Your answer: {literal(room.given.get(student, 'none'))}")
        if room.stage == "revealed":
            st.info(room.solution, icon=":material/check_circle:")
    except ValueError as refused:
        st.warning(str(refused), icon=":material/groups:")


def answered(room: Room, student: str) -> object:
    """A place for the answer, and what stands there."""
    assert room.asked is not None
    key, options, before = f"class {room.ticket}", room.asked.options, room.given.get(student)
    closed = room.stage != "open"
    if closed:
        return None
    if options:
        at = options.index(before) if before in options else None
        return st.radio("Your answer", options, at, key=key, format_func=literal, label_visibility="collapsed")
    value = float(before) if before else None
    return st.number_input("Your answer", value=value, step=0.01, format="%.2f", key=key, width=200)
