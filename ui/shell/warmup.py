"""Compile the solver's kernels in a second process, soon after the server has drawn its first page."""

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
from adgm._kernels.interpreted import INTERPRETER
from adgm.precompile import KEPT, STAGES, complete
from ui.jobs.numpy_fallback import NumpyFallback, quick_enough

LacksKernels = Callable[[Any], bool]  # whether a run in this state must wait for kernels
NEXT = ("scipy.spatial", "scipy.sparse.csgraph")  # imported by a first run, but not by the page
QUIET = 5.0  # seconds left to the first page and a first run in NumPy, before the compiler takes all cores
USUAL = 40.0  # seconds that compiling takes on an ordinary machine; later starts load the kernels from disk


class WarmUp:
    """Starts a process that fills numba's cache, stage by stage (`adgm.precompile`); this process only loads from it.

    Where no cache can be written, this process has to compile the kernels itself.
    """

    def __init__(self) -> None:
        NOTICE.quiet = True  # the pages show what they wait for
        INTERPRETER.never()  # it would hold up the pages
        self.began = monotonic()
        self.wanted = threading.Event()  # set when a page or run waits for kernels
        self.reached = {name: threading.Event() for name in STAGES}
        self.thread = threading.Thread(target=self._watch, name="warm-up", daemon=True)
        self.thread.start()

    def _watch(self) -> None:
        for name in NEXT:
            with suppress(ImportError, AttributeError):  # a run may be importing it right now
                import_module(name)
        if KEPT and not complete():
            self.wanted.wait(QUIET)
            self._compile()
        for name, event in self.reached.items():
            if not KEPT:  # compile in this process
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
        """An estimate, in seconds."""
        return max(1.0, USUAL - (monotonic() - self.began))

    def wait(self, stage: str) -> None:
        """Wait for the kernels of a stage, and show on the page what it waits for."""
        if not self.reached[stage].is_set():
            self.wanted.set()
            with st.spinner(
                f"Compiling the solver for this machine, once: at most {self.remaining:.0f} s.", show_time=True
            ):
                self.reached[stage].wait()

    def with_fallback(
        self, key: str, method: Any, order: int, shape: tuple[int, int], *, sparse: bool = False
    ) -> tuple[Any, LacksKernels]:
        """The method to run now: itself, or its NumPy fallback while kernels are compiled, if NumPy is fast enough.

        Also returns when the run has to wait for kernels: before its first iteration or, with the fallback, after its
        last one. With the fallback the problem must be a NumPy one (`adgm.machine.numpy_fallback`).
        """
        ready = self.reached[stage_of(key, method, order)].is_set
        if ready() or not quick_enough(method, order, shape, sparse=sparse):
            self.wanted.set()
            return method, lambda state: not ready()
        fallback = NumpyFallback(method, ready)
        return fallback, fallback.lacks_kernels


def stage_of(key: str, method: Any, order: int) -> str:
    """The stage of compiling that a run needs."""
    if order == 2 and isinstance(method, ADGM) and not method.polish:
        return "plain"
    own = {"adgm+": "portfolio", "fusion": "fusion"}
    return own.get(key, "third order" if order > 2 else "sparse")


def latest(stages: Iterable[str]) -> str:
    """The last of these stages: when it is reached, so are the others."""
    return max(stages, key=list(STAGES).index)


_BEGINNING = threading.Lock()


@cache
def _warm_up() -> WarmUp:
    return WarmUp()


def begin() -> WarmUp:
    """The one warm-up of this server, started by the first call. Not in Streamlit's cache, which can be cleared."""
    with _BEGINNING:
        return _warm_up()
