"""Who is here: a visitor is a session whose page is connected; so many at a time as the server has room for."""

import threading
from collections.abc import Callable
from time import monotonic

import streamlit as st

from features.limits import LIMITS
from ui.jobs.memory import BROOM
from ui.jobs.scheduler import Visitor
from ui.shell.streamlit_patches import close_session, connected, session_name

FULL = (
    "This server has room for {most} visitors at a time, and they are all here. Please come back in a few minutes, or "
    "run the app on your own machine: it is one command."
)
KEPT = (
    100.0  # seconds that a session waits for its page to connect again; a reload needs none (`ui.shell.reload_store`)
)


def current() -> Visitor:
    """The one for whom the page is being drawn."""
    session = session_name()
    return Visitor(session, lambda: connected(session))


class Door:
    """Lets visitors in as long as there is room; who is in may stay. Who has been away for long is forgotten."""

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

    def look(self) -> bool:
        """Whether anybody is here, or may come back to a session that is kept."""
        with self._lock:
            now = self.clock()
            seen = {name: (one, now if one.here() else last) for name, (one, last) in self._known.items()}
            self._known = {name: known for name, known in seen.items() if now - known[1] <= KEPT}
            gone = seen.keys() - self._known.keys()
        for name in gone:
            self.forget(name)
        return bool(seen)


DOOR = Door()
BROOM.keepers.append(DOOR.look)


def begin() -> None:
    """Let the visitor in, or say that there is no room, and draw nothing else."""
    BROOM.start()
    if not DOOR.admits(current()):
        st.warning(FULL.format(most=DOOR.most), icon=":material/groups:")
        st.stop()
