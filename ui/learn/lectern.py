"""What a lecturer sees of a class: the code and how to join, the answers as they come, then the right one."""

from html import escape

import streamlit as st

from features.limits import LIMITS
from ui.jobs.scheduler import POOL
from ui.learn import progress
from ui.learn.chapter import SHORT, Chapter, ChapterState, Values
from ui.learn.classroom import ROOMS, Asked, Room, near, share
from ui.parts.escape import literal
from ui.parts.links import address, alone, code_picture
from ui.parts.press import button

WORD = "class"  # in a link
JOIN = "learn join shown"
TICK = 1.0  # seconds between two looks at the answers


def asked_now(chapter: Chapter, values: Values) -> Asked:
    """The chapter's question as it stands, for phones."""
    poll, question = chapter.poll, chapter.question
    depends = poll.depends if poll else question.depends
    key = " ".join([chapter.place, *(f"{name}={values[name]}" for name in depends)])
    if poll:
        return Asked(key, chapter.title, poll.text(values), poll.options)
    return Asked(key, chapter.title, question.text, question.options)


def right_now(chapter: Chapter, values: Values) -> tuple[object, str]:
    """The right answer, and what is told with it."""
    if chapter.poll:
        return chapter.poll.answer(values), chapter.poll.told(values)
    return chapter.answer(values), chapter.told(values)


def open_room() -> None:
    try:
        ROOMS.open(progress.name())
        st.session_state[JOIN] = True
    except ValueError as full:
        st.session_state[JOIN] = str(full)


def has_room() -> bool:
    return ROOMS.of(progress.name()) is not None


def offer() -> None:
    """For the class: open a room, or close it."""
    if not has_room():
        hours = f"{LIMITS.room_seconds / 3600:g}"
        button(
            "Let the class answer",
            "learn open room",
            open_room,
            icon=":material/groups:",
            width="stretch",
            help="Students scan a QR code and answer on their phones, without a name. The answers stay in this "
            f"server's memory, and are deleted with the room: when you close it, or {hours} hours after you have left",
        )
    else:
        close = lambda: ROOMS.close(progress.name())  # noqa: E731
        button("Close the room", "learn close room", close, icon=":material/close:", width="stretch")


def ask(state: ChapterState) -> None:
    """The question: for the student at this page, or, where a room is open, for the class."""
    owner = progress.name()
    if (refused := st.session_state.get(JOIN)) and isinstance(refused, str):
        st.warning(st.session_state.pop(JOIN), icon=":material/groups:")
    if ROOMS.of(owner) is None:
        state.ask()
        return
    chapter, values = state.chapter, state.values
    asked = asked_now(chapter, values)
    ROOMS.ask(owner, asked)
    st.markdown(f"**{literal(asked.text)}**")
    right, told = right_now(chapter, values)
    st.fragment(counts, run_every=POOL.unhurried(TICK))(owner, right, chapter.question.tolerance)
    room = ROOMS.of(owner)

    def reveal() -> None:
        state.reveal()
        ROOMS.ask(owner, asked_now(chapter, state.values))  # the same one, unless the values that it depends on changed
        ROOMS.show(owner, "revealed", told)

    with st.container(horizontal=True, key="learn-room"):
        stage = room.stage if room else "open"
        if stage == "open":
            show = lambda: ROOMS.show(owner, "shown")  # noqa: E731
            button("Show answers", "learn show answers", show, type="primary", icon=":material/bar_chart:")
        elif stage == "shown" and chapter.reveals_answer:
            button("Reveal", "learn reveal", reveal, type="primary", icon=":material/visibility:")
        if stage != "open":
            button("Ask again", "learn ask again", lambda: ROOMS.clear(owner), icon=":material/restart_alt:")
        button("QR code", "learn join", lambda: st.session_state.update({JOIN: True}), icon=":material/qr_code_2:")
    if stage == "revealed":
        st.success(told, icon=":material/check_circle:")
    if st.session_state.pop(JOIN, False) is True and room is not None:
        join(room.code)


def counts(owner: str, right: object, tolerance: float) -> None:
    """The answers: how many while they come, how they are distributed when they are shown."""
    room = ROOMS.of(owner)
    if room is None or room.asked is None:
        return
    st.html(rows(room, right, tolerance))
    given = len(room.given)
    st.caption(f"Class {room.code} · {ROOMS.here(room.code)} here · {given} {'answer' if given == 1 else 'answers'}")


def rows(room: Room, right: object = None, tolerance: float = 0.0) -> str:
    """The options with how often each was chosen, if that is shown; the right ones marked, if they are revealed."""
    counted, made = room.counts(), []
    for k, (name, count) in enumerate(counted, 1):
        if room.stage == "open" and not (room.asked and room.asked.options):
            continue
        good = room.stage == "revealed" and right is not None and near(name, right, tolerance)
        number = f"<i>{k}</i>" if room.asked and room.asked.options else ""
        told = f"<b>{count}</b>" if room.stage != "open" else ""
        width = f"{100 * share(count, counted):.0f}%" if room.stage != "open" else "0%"
        mark = " ✓" if good else ""
        look = f'class="poll-row{" right" if good else ""}" style="--share: {width}"'
        made.append(f"<div {look}>{number}<span>{escape(name)}{mark}</span>{told}</div>")
    short = sum(len(name) for name, _ in counted) < SHORT
    return f'<div class="poll{" short" if short else ""}">{"".join(made)}</div>'


@st.dialog("Join the class", width="large")
def join(code: str) -> None:
    """How to join, as large as the screen allows."""
    link = address(**{WORD: code})
    where = escape(link.partition("://")[2])
    st.html(
        f'<div class="join">{code_picture(link)}<div><p>Scan the code, or open</p><p class="where">{where}</p>'
        f'<p>Class</p><p class="code">{code}</p><p>No name is asked.</p></div></div>'
    )
    if alone(link):
        st.caption(
            "Phones cannot reach this address: open this page under the name or number that your machine has in the "
            "network, and open the code again."
        )
