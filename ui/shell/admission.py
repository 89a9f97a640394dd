"""Admission: a limited number of visitors at a time. A visitor is a session whose page is connected."""

import threading
from collections.abc import Callable
from time import monotonic

import streamlit as st

from features.limits import LIMITS
from ui.jobs.memory import CLEANUP
from ui.jobs.scheduler import Visitor
from ui.shell.streamlit_patches import close_session, connected, session_name

FULL = (
    "This server has room for {most} visitors at a time, and they are all here. Please come back in a few minutes, or "
    "run the app on your own machine: it is one command."
)
KEPT = (
    100.0  # seconds that a session waits for its page to reconnect; a reload opens a new one (`ui.shell.reload_store`)
)


def current() -> Visitor:
    """The visitor whose page is being drawn."""
    session = session_name()
    return Visitor(session, lambda: connected(session))


class Admission:
    """Admits visitors up to a limit. An admitted visitor stays; sessions that were disconnected for long are closed."""

    def __init__(
        self,
        most: int = LIMITS.visitors,
        clock: Callable[[], float] = monotonic,
        forget: Callable[[str], None] = close_session,
    ) -> None:
        self.most, self.clock, self.forget = most, clock, forget
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Visitor, float]] = {}  # with when they were last seen

    def admits(self, visitor: Visitor) -> bool:
        with self._lock:
            inside = {name for name, (one, _) in self._known.items() if one.here()}
            if visitor.name not in inside and len(inside) >= self.most:
                return False
            self._known[visitor.name] = visitor, self.clock()
            return True

    def expire(self) -> bool:
        """Close sessions that were disconnected for too long; returns whether there were any visitors at all."""
        with self._lock:
            now = self.clock()
            seen = {name: (one, now if one.here() else last) for name, (one, last) in self._known.items()}
            self._known = {name: known for name, known in seen.items() if now - known[1] <= KEPT}
            gone = seen.keys() - self._known.keys()
        for name in gone:
            self.forget(name)
        return bool(seen)


ADMISSION = Admission()
CLEANUP.callbacks.append(ADMISSION.expire)


def begin() -> None:
    """Admit the visitor, or show that the server is full and draw nothing else."""
    CLEANUP.start()
    if not ADMISSION.admits(current()):
        st.warning(FULL.format(most=ADMISSION.most), icon=":material/groups:")
        st.stop()
