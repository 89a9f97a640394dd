"""Compile the solver's kernels in a process beside the server, soon after its first page is drawn."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Any

import streamlit as st

import adgm
from adgm import ADGM
from adgm._kernels.compiling import NOTICE
from adgm.precompile import KEPT, STAGES, complete
from ui.jobs.numpy_fallback import Meanwhile, possible

Lacks = Callable[[Any], bool]  # of a run's state: whether it cannot go on before more is compiled
NEXT = ("scipy.spatial", "scipy.sparse.csgraph")  # what a first run imports, and the page it starts on does not
QUIET = 5.0  # seconds for the first page and the first lines of a run in NumPy; the compiler would take all cores
USUAL = 40.0  # seconds that compiling takes on an ordinary machine; once, then the kernels are on disk


class WarmUp:
    """A process that fills numba's cache, stage by stage (`adgm.precompile`); this one then only loads what is there.

    Where no cache can be written, this process has to compile for itself.
    """

    def __init__(self) -> None:
        NOTICE.quiet = True  # pages say what they wait for
        self.began = monotonic()
        self.wanted = threading.Event()  # somebody waits for it
        self.reached = {name: threading.Event() for name in STAGES}
        self.thread = threading.Thread(target=self._watch, name="warm-up", daemon=True)
        self.thread.start()

    def _watch(self) -> None:
        for name in NEXT:
            with suppress(ImportError, AttributeError):  # a run may be in the middle of importing it; nobody shall wait
                import_module(name)
        if KEPT and not complete():
            self.wanted.wait(QUIET)
            self._compile()
        for name, event in self.reached.items():
            if not KEPT:  # no other process can do it for this one
                STAGES[name]()
            event.set()
        STAGES["plain"]()  # loads what the first run needs

    def _compile(self) -> None:
        path = str(Path(adgm.__file__).parents[1])
        settings = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH")]))}
        words = [sys.executable, "-m", "adgm.precompile"]
        with suppress(OSError), subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=settings) as process:
            for line in process.stdout or ():
                if (name := line.strip()) in self.reached:
                    self.reached[name].set()

    @property
    def ready(self) -> bool:
        return all(event.is_set() for event in self.reached.values())

    @property
    def remaining(self) -> float:
        """A guess, in seconds."""
        return max(1.0, USUAL - (monotonic() - self.began))

    def wait(self, stage: str) -> None:
        """Return when the kernels of a stage are there; says meanwhile what the page is waiting for."""
        if not self.reached[stage].is_set():
            self.wanted.set()
            with st.spinner(
                f"Compiling the solver for this machine, once: at most {self.remaining:.0f} s.", show_time=True
            ):
                self.reached[stage].wait()

    def meanwhile(
        self, key: str, method: Any, order: int, shape: tuple[int, int], *, sparse: bool = False
    ) -> tuple[Any, Lacks]:
        """What to run now: the method itself, or the same in NumPy until its kernels are there, where that is quick.

        Returns also when the run has to wait for them: at its end if NumPy begins (then the problem must be
        `adgm.machine.numpy_fallback`), else before anything.
        """
        ready = self.reached[stage_of(key, method, order)].is_set
        if ready() or not possible(method, order, shape, sparse=sparse):
            self.wanted.set()
            return method, lambda state: not ready()
        borrowing = Meanwhile(method, ready)
        return borrowing, borrowing.lacks


def stage_of(key: str, method: Any, order: int) -> str:
    """What a run needs."""
    if order == 2 and isinstance(method, ADGM) and not method.polish:
        return "plain"
    own = {"adgm+": "portfolio", "fusion": "fusion"}
    return own.get(key, "third order" if order > 2 else "sparse")


def latest(stages: Iterable[str]) -> str:
    """The one that comes last: when it is reached, so are the others."""
    return max(stages, key=list(STAGES).index)


_BEGINNING = threading.Lock()


@cache
def _warm_up() -> WarmUp:
    return WarmUp()


def begin() -> WarmUp:
    """The server's one warm-up, started by whoever asks first; no cache of Streamlit's, which somebody may empty."""
    with _BEGINNING:
        return _warm_up()
