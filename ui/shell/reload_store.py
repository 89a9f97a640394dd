"""What a reload brings back: the latest run of a page, kept for a while under a token that the browser's tab remembers.

A token opens the run with all its images, so it never stands in the page's address, which people copy. A visitor who
wants to share a run asks for a link with a token of its own. A token cannot be guessed, and every visit has its own: a
page that is opened with another's finds what lies there, and goes on under a new one. So nobody can make a visitor work
under a token that they know.
"""

import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import streamlit as st

from features.limits import LIMITS
from ui.jobs.memory import BROOM
from ui.jobs.problem_cache import held
from ui.jobs.scheduler import Visitor
from ui.parts import canvas
from ui.shell import admission
from ui.shell.session_slots import CANVAS, EARLIER, OWN_PAIR, RUN, SHARED, TOKEN

if TYPE_CHECKING:
    from features.pairs import Pair
    from ui.match.page_run import Run

WORD = "shared"  # in a link
TAB = "tab's memory"  # the component's key
LEAVING = 1.0  # seconds that the page before a reload may take to be gone
POLL = 0.05
ELSEWHERE = "This run is going on in another window. You can start one of your own here."


@dataclass(frozen=True, eq=False)
class Desk:
    """A run, with what its pair was made from where no address tells it."""

    run: "Run"
    own: "Pair | None"
    edits: Any  # of the canvas

    @property
    def parts(self) -> Iterator[tuple[object, int]]:
        """What it holds, with the bytes of each: visitors share pairs and problems."""
        job, pair = self.run.job, self.run.pair
        yield from ((view.image, view.image.rgb.nbytes) for view in (pair.left, pair.right) if view.image is not None)
        if job.problem is not None:
            yield job.problem, held(job.problem)
        yield job, sum(frame.nbytes for frame in job.frames())


class Desks:
    """As many as fit into a number of bytes, each for some time; the one that was left alone longest goes first."""

    def __init__(self, most: int = LIMITS.desk_bytes, seconds: float = LIMITS.desk_seconds) -> None:
        self.most, self.seconds = most, seconds
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[Desk, float]] = {}  # with when it was last used, the latest last

    def put(self, token: str, desk: Desk) -> None:
        with self._lock:
            self._kept.pop(token, None)
            self._kept[token] = desk, monotonic()
            self._trim()

    def find(self, token: str) -> Desk | None:
        with self._lock:
            self._trim()
            return self._kept[token][0] if token in self._kept else None

    def look(self) -> bool:
        """Whether something was let go."""
        with self._lock:
            before = len(self._kept)
            self._trim()
            return len(self._kept) < before

    def _trim(self) -> None:
        """Let go what is too old, and what does not fit; the latest stays. A page that is open keeps its own run."""
        old = monotonic() - self.seconds
        fitting: dict[str, tuple[Desk, float]] = {}
        counted: dict[int, int] = {}  # bytes of each part
        for token, (desk, used) in reversed(self._kept.items()):
            counted |= {id(part): nbytes for part, nbytes in desk.parts}
            if used <= old or (fitting and sum(counted.values()) > self.most):
                break
            fitting[token] = desk, used
        self._kept = dict(reversed(fitting.items()))


DESKS = Desks()
BROOM.keepers.append(DESKS.look)


def token() -> str:
    """Of this visit."""
    found = TOKEN.get() or secrets.token_urlsafe(12)
    TOKEN.set(found)
    return found


def begin() -> None:
    """Bring back the run of an earlier visit of this tab, and let the tab remember this one; with every drawing."""
    recall()
    _TAB(key=TAB, data={"token": token(), "keeps": RUN.get() is not None}, on_earlier_change=lambda: None)


def recall() -> None:
    """The run of an earlier visit that the tab has told of; each of them is looked for once."""
    earlier = (st.session_state.get(TAB) or {}).get("earlier")
    if isinstance(earlier, str) and earlier != EARLIER.get():
        reopen(earlier)
        EARLIER.set(earlier)


def lay(run: "Run") -> None:
    """Another run is on the page: it is what a reload brings back."""
    RUN.set(run)
    DESKS.put(token(), _desk(run))


def share(run: "Run") -> str:
    """A token of its own for whoever shall see this run; the same one whenever it is asked for."""
    number, shared = SHARED.get() or (0, "")
    if number != run.number or DESKS.find(shared) is None:
        shared = secrets.token_urlsafe(12)
        DESKS.put(shared, _desk(run))
        SHARED.set((run.number, shared))
    return shared


def open_shared() -> None:
    """The page was opened by a link to somebody's run."""
    if shared := st.query_params.get(WORD):
        reopen(shared)


def _desk(run: "Run") -> Desk:
    return Desk(run, OWN_PAIR.get(), canvas.kept_edits(CANVAS))


def reopen(token: str) -> None:
    """What lies under this token is on the page again, if nothing has been run here yet; a live run goes on here."""
    desk = DESKS.find(token) if RUN.get() is None else None
    if desk is None:
        return
    if not take_over(desk.run, admission.current()):
        st.toast(ELSEWHERE, icon=":material/tab_duplicate:")
        return
    if desk.own is not None:
        OWN_PAIR.set(desk.own)
    if desk.edits is not None:
        canvas.restore_edits(CANVAS, desk.edits)
    lay(desk.run)


def take_over(run: "Run", visitor: Visitor) -> bool:
    """Whether a run may be shown to this visitor: one that is over always, one that goes on if its page is gone."""
    end = monotonic() + LEAVING
    while run.job.snapshot().active:
        if not run.job.visitor.here():
            run.job.hand_to(visitor)
            return True
        if monotonic() > end:
            return False
        sleep(POLL)
    return True


_TAB = st.components.v2.component(
    "adgm_tab_memory", html="<span></span>", js=Path(__file__).with_name("reload_store.js").read_text(encoding="utf-8")
)
