"""Reload store: keep the latest run of a page for a while, so that a reload of the page shows it again.

A run is stored under a token that the browser keeps in the tab's session storage. The token opens the run with all its
images, so it is never part of the page's address, which people copy. To share a run, a visitor asks for a link, which
gets a token of its own. Tokens cannot be guessed. Every visit gets a new one: a page that is opened with the token of
another visit loads that run and continues under its own token, so nobody can make a visitor work under a known token.
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
from ui.jobs.memory import CLEANUP
from ui.jobs.problem_cache import problem_bytes
from ui.jobs.scheduler import Visitor
from ui.parts import canvas
from ui.shell import admission
from ui.shell.session_slots import CANVAS, EARLIER, OWN_PAIR, RUN, SHARED, TOKEN

if TYPE_CHECKING:
    from features.pairs import Pair
    from ui.match.page_run import Run

WORD = "shared"  # in a link
TAB = "tab's memory"  # the component's key
LEAVING = 1.0  # seconds that the page may take to disconnect before it is loaded again
POLL = 0.05
ELSEWHERE = "This run is going on in another window. You can start one of your own here."


@dataclass(frozen=True, eq=False)
class SavedRun:
    """A run, and the inputs of its pair that no address describes."""

    run: "Run"
    own: "Pair | None"
    edits: Any  # of the canvas

    @property
    def parts(self) -> Iterator[tuple[object, int]]:
        """The objects that it holds, each with its bytes. Runs may share objects, which then count once."""
        job, pair = self.run.job, self.run.pair
        yield from ((view.image, view.image.rgb.nbytes) for view in (pair.left, pair.right) if view.image is not None)
        if job.problem is not None:
            yield job.problem, problem_bytes(job.problem)
        yield job, sum(frame.nbytes for frame in job.frames())


class ReloadStore:
    """Keeps runs up to a number of bytes and an age; the least recently used goes first."""

    def __init__(self, most: int = LIMITS.reload_bytes, seconds: float = LIMITS.reload_seconds) -> None:
        self.most, self.seconds = most, seconds
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[SavedRun, float]] = {}  # with when it was last used, the latest last

    def put(self, token: str, saved: SavedRun) -> None:
        with self._lock:
            self._kept.pop(token, None)
            self._kept[token] = saved, monotonic()
            self._trim()

    def find(self, token: str) -> SavedRun | None:
        with self._lock:
            self._trim()
            return self._kept[token][0] if token in self._kept else None

    def expire(self) -> bool:
        """Drop what is too old; returns whether anything was dropped."""
        with self._lock:
            before = len(self._kept)
            self._trim()
            return len(self._kept) < before

    def _trim(self) -> None:
        """Drop what is too old or does not fit; the latest stays. An open page keeps its own run in its session."""
        old = monotonic() - self.seconds
        fitting: dict[str, tuple[SavedRun, float]] = {}
        counted: dict[int, int] = {}  # bytes of each part
        for token, (saved, used) in reversed(self._kept.items()):
            counted |= {id(part): nbytes for part, nbytes in saved.parts}
            if used <= old or (fitting and sum(counted.values()) > self.most):
                break
            fitting[token] = saved, used
        self._kept = dict(reversed(fitting.items()))


RELOAD_STORE = ReloadStore()
CLEANUP.callbacks.append(RELOAD_STORE.expire)


def token() -> str:
    """The token of this visit."""
    found = TOKEN.get() or secrets.token_urlsafe(12)
    TOKEN.set(found)
    return found


def begin() -> None:
    """Restore the run of this tab's earlier visit, and tell the tab this visit's token; called in every script run."""
    recall()
    _TAB(key=TAB, data={"token": token(), "keeps": RUN.get() is not None}, on_earlier_change=lambda: None)


def recall() -> None:
    """Restore the run whose token the tab has sent; each token is looked up once."""
    earlier = (st.session_state.get(TAB) or {}).get("earlier")
    if isinstance(earlier, str) and earlier != EARLIER.get():
        reopen(earlier)
        EARLIER.set(earlier)


def save(run: "Run") -> None:
    """Show this run on the page, and keep it for a reload."""
    RUN.set(run)
    RELOAD_STORE.put(token(), _saved(run))


def share(run: "Run") -> str:
    """The token for a link to this run; the same one in every call."""
    number, shared = SHARED.get() or (0, "")
    if number != run.number or RELOAD_STORE.find(shared) is None:
        shared = secrets.token_urlsafe(12)
        RELOAD_STORE.put(shared, _saved(run))
        SHARED.set((run.number, shared))
    return shared


def open_shared() -> None:
    """Show the run whose token is in the link that opened this page."""
    if shared := st.query_params.get(WORD):
        reopen(shared)


def _saved(run: "Run") -> SavedRun:
    return SavedRun(run, OWN_PAIR.get(), canvas.kept_edits(CANVAS))


def reopen(token: str) -> None:
    """Show the run that is stored under this token, unless this page has a run already; a live run continues here."""
    saved = RELOAD_STORE.find(token) if RUN.get() is None else None
    if saved is None:
        return
    if not take_over(saved.run, admission.current()):
        st.toast(ELSEWHERE, icon=":material/tab_duplicate:")
        return
    if saved.own is not None:
        OWN_PAIR.set(saved.own)
    if saved.edits is not None:
        canvas.restore_edits(CANVAS, saved.edits)
    save(saved.run)


def take_over(run: "Run", visitor: Visitor) -> bool:
    """Whether this visitor may see the run: always if it has ended; if it is active, only once its page is gone."""
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
