"""Who is here: a visitor is a session whose page is connected; so many at a time as the server has room for."""

import threading

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from features.limits import LIMITS
from ui.jobs.memory import BROOM
from ui.jobs.pool import Visitor

FULL = (
    "This server has room for {most} visitors at a time, and they are all here. Please come back in a few minutes, or "
    "run the app on your own machine: it is one command."
)


def connected(session: str) -> bool:
    """Whether the page of a session is there; without a server, as in tests, it is."""
    return not runtime.exists() or runtime.get_instance().is_active_session(session)


def current() -> Visitor:
    """The one for whom the page is being drawn."""
    context = get_script_run_ctx()
    session = "" if context is None else context.session_id
    return Visitor(session, lambda: connected(session))


class Door:
    """Lets visitors in as long as there is room; who is in may stay."""

    def __init__(self, most: int = LIMITS.visitors) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._inside: dict[str, Visitor] = {}

    def admits(self, visitor: Visitor) -> bool:
        with self._lock:
            self._inside = {name: one for name, one in self._inside.items() if one.here()}
            if visitor.name not in self._inside and len(self._inside) >= self.most:
                return False
            self._inside[visitor.name] = visitor
            return True


DOOR = Door()


def begin() -> None:
    """Let the visitor in, or say that there is no room, and draw nothing else."""
    BROOM.sweep()
    if not DOOR.admits(current()):
        st.warning(FULL.format(most=DOOR.most), icon=":material/groups:")
        st.stop()
