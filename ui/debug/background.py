"""Long work of the Debug page, one piece at a time: request for by a tab, shown by the page's frame, kept for later.

A tab asks `answer(case, question)` for what is known, and draws `button(case, question, …, work)` to have it computed.
A question is any hashable value that tells one piece of work on a case from another, such as ("margins",).
"""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from features.explain import Case
from features.limits import LIMITS
from ui.jobs.scheduler import POOL
from ui.jobs.task import Function, Progress, Task
from ui.parts import press
from ui.parts.escape import literal
from ui.shell import admission
from ui.shell.session_slots import ANSWERS, WORK

TICK = 0.5  # seconds between two updates
MOST_ANSWERS = 24
ENDS = {
    "stopped": "Stopped: what was found so far is shown.",
    "time limit": f"Ended after {LIMITS.job_seconds:g} s of computing, the most here: what was found so far is shown.",
    "abandoned": "Stopped: the page was closed.",
}


@dataclass(frozen=True, eq=False)
class Request:
    """A piece of work under way, and what it is about."""

    case: Case | None
    question: Hashable
    title: str
    task: Task


def answer(case: Case | None, question: Hashable) -> Progress | None:
    """What is known: `value` is the result, or as much of it as there is; None if nobody request."""
    request = WORK.get()
    if request is not None and (request.case, request.question) == (case, question):
        return request.task.progress()
    return (ANSWERS.get() or {}).get((case, question))


def busy() -> bool:
    request = WORK.get()
    return request is not None and request.task.progress().active


def start(case: Case | None, question: Hashable, title: str, work: Function) -> None:
    """Begin; what was under way is stopped, and what it has is kept. A sentence if the server is full."""
    stop()
    try:
        WORK.set(Request(case, question, title, Task(work, visitor=admission.current()).start()))
    except ValueError as error:  # too many runs wait
        st.toast(str(error))


def start_if_idle(case: Case | None, question: Hashable, title: str, work: Function) -> None:
    """What a press of a button does, which may have been on its way while other work began."""
    request = WORK.get()
    if request is None or not busy():
        start(case, question, title, work)
    elif (request.case, request.question) != (case, question):
        st.toast(f"{title} came too late: {request.title} is under way.")


def stop() -> None:
    request = WORK.get()
    if request is None:
        return
    request.task.stop()
    earlier = {key: known for key, known in (ANSWERS.get() or {}).items() if key[0] is request.case}  # others are gone
    kept = {**earlier, (request.case, request.question): request.task.progress()}
    ANSWERS.set(dict([*kept.items()][-MOST_ANSWERS:]))


def button(
    case: Case | None,
    question: Hashable,
    label: str,
    work: Function,
    *,
    icon: str = ":material/play_arrow:",
    help: str = "",
) -> None:
    """Have it computed in the background; grey while something else is under way."""
    request = partial(start_if_idle, case, question, label, work)
    press.button(label, f"ask {question}", request, icon=icon, help=help or None, disabled=busy())


def show(was_busy: bool) -> None:
    """How far the work is; called by the frame at the same place in every drawing (see `ui.match.live`), with whether
    there was any when the drawing began: what has ended since then is not on the page yet."""
    with st.container(key="debug-work"):
        st.fragment(_show, run_every=POOL.unhurried(TICK) if was_busy else None)(was_busy)


def _show(was_busy: bool) -> None:
    press.perform()
    request = WORK.get()
    now = None if request is None else request.task.progress()
    if was_busy != (now is not None and now.active):
        st.rerun()  # the whole page: there is something new to show
    with st.container(horizontal=True, vertical_alignment="center", key="debug-working"):
        halt, told = st.empty(), st.empty()
    if request is None or now is None:
        return
    request.task.touch()
    if now.active:
        press.button("Stop working", "stop working", request.task.stop, halt, icon=":material/stop:")
        waiting = "waiting for its turn" if now.status == "waiting" else now.text
        told.progress(now.share, f"**{request.title}** {waiting}".strip())
    elif now.status == "failed":
        told.error(f"{request.title}: {literal(now.error)}")
    elif now.status in ENDS:
        told.caption(f"{request.title}: {ENDS[now.status]}")
