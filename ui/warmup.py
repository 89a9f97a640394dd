"""Compile the solver's kernels in the background from the moment the server starts."""

import threading
from time import monotonic

import numpy as np
import streamlit as st

from adgm import METHODS, Dense, Problem, Sparse, solve

USUAL = 40.0  # seconds that compiling takes on an ordinary machine; once, then the kernels are on disk


class WarmUp:
    """A thread that solves a tiny problem of every kind, which compiles all that a run needs."""

    def __init__(self) -> None:
        self.began = monotonic()
        self.thread = threading.Thread(target=self._compile, name="warm-up", daemon=True)
        self.thread.start()

    @staticmethod
    def _compile() -> None:
        rows = np.array([[0, 3, 5], [1, 2, 4]])
        third = Problem((2, 3), [Dense(np.eye(6)), Sparse(rows, [-1.0, -1.0], symmetric=True)])
        pairwise = Problem((2, 3), [Dense(np.eye(6))])
        for problem in (third, pairwise):
            solve(problem, METHODS["adgm"].make(max_iter=5))  # with the local search, and the tabu search
        solve(pairwise, METHODS["adgm+"].make(max_iter=5))  # with the bound

    @property
    def ready(self) -> bool:
        return not self.thread.is_alive()

    @property
    def remaining(self) -> float:
        """A guess, in seconds."""
        return max(1.0, USUAL - (monotonic() - self.began))

    def wait(self) -> None:
        """Return when the kernels are there; says meanwhile what the page is waiting for."""
        if not self.ready:
            with st.spinner(
                f"Compiling the solver for this machine, once: about {self.remaining:.0f} s left.", show_time=True
            ):
                self.thread.join()


@st.cache_resource(show_spinner=False)
def begin() -> WarmUp:
    """The server's one warm-up, started by whoever asks first."""
    return WarmUp()
