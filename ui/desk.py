"""What a reload brings back: the latest run of a page, kept for a while under a token that its address carries.

A token cannot be guessed, and every visit has its own: a page that is opened with another's finds what lies there, and
goes on under a new one. So nobody can make a visitor work under a token that they know.
"""

import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import streamlit as st

from features.limits import LIMITS
from ui import canvas, visitors
from ui.jobs.memory import BROOM
from ui.jobs.pool import Visitor
from ui.jobs.shelf import held
from ui.state import CANVAS, OWN_PAIR, RUN, TOKEN

if TYPE_CHECKING:
    from features.pairs import Pair
    from ui.page_run import Run

WORD = "visit"  # in an address
LEAVING = 1.0  # seconds that the page before a reload may take to be gone
POLL = 0.05
ELSEWHERE = "The run of this address goes on in another window. Here you can start one of your own."


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


def lay(run: "Run") -> None:
    """Another run is on the page: it is what a reload brings back."""
    RUN.set(run)
    DESKS.put(token(), Desk(run, OWN_PAIR.get(), canvas.kept_edits(CANVAS)))


def reopen() -> None:
    """A new visit, whose address has the token of an earlier one: its run is there again, and goes on here."""
    if TOKEN.get() is not None:
        return
    desk = DESKS.find(st.query_params.get(WORD, ""))
    token()
    if desk is None:
        return
    if not take_over(desk.run, visitors.current()):
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
