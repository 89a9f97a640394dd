"""Processor time: what the threads that work for a run have computed. Waiting does not count, and compiling neither."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from threading import get_ident
from time import thread_time
from typing import Any

from numba.core import event

COMPILING_ONCE = (
    "adgm: compiling its kernels for this computer, once: about a minute in all. It counts for no time limit; "
    "adgm.warmup() does it beforehand."
)
USUAL = 120  # functions that are compiled in all, those that kernels call included


class Compiling(event.Listener):
    """Keeps the seconds that every thread has spent in the compiler, loading what it had kept included."""

    def __init__(self) -> None:
        self.own = threading.local()

    def on_start(self, found: Any) -> None:
        own = self.own.__dict__
        own["depth"] = own.get("depth", 0) + 1
        if own["depth"] == 1:
            own["began"] = thread_time()

    def on_end(self, found: Any) -> None:
        own = self.own.__dict__
        own["depth"] -= 1
        if own["depth"] == 0:
            own["seconds"] = own.get("seconds", 0.0) + thread_time() - own["began"]

    @property
    def seconds(self) -> float:
        """Of this thread."""
        spent: float = self.own.__dict__.get("seconds", 0.0)
        return spent


class Notice(event.Listener):
    """Says on stderr that kernels are being compiled: in a line, once, and how many where that is a terminal."""

    def __init__(self) -> None:
        self.quiet, self.said, self.count = False, False, 0

    def on_start(self, found: Any) -> None:
        self.count += 1
        if self.quiet or sys.stderr is None:
            return
        if not self.said:
            self.said = True
            print(COMPILING_ONCE, file=sys.stderr, flush=True)
        if sys.stderr.isatty():
            print(f"\radgm: compiling, function {self.count} of about {USUAL} …", end="", file=sys.stderr, flush=True)

    def on_end(self, found: Any) -> None:
        if not self.quiet and sys.stderr is not None and sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)


COMPILING, NOTICE = Compiling(), Notice()
event.register("numba:compiler_lock", COMPILING)  # type: ignore[no-untyped-call]
event.register("numba:compile", NOTICE)  # type: ignore[no-untyped-call]


def computed() -> float:
    """Seconds of the processor that this thread has used, but for compiling."""
    return thread_time() - COMPILING.seconds


class ProcessorTime:
    """A clock that shows the seconds that threads have computed for one run: this thread while it is `working`, and
    those that help it (`adgm.deadline.carried`). Others may look at it: of a thread at work they see what it was when
    that thread last looked."""

    def __init__(self) -> None:
        self.over = 0.0  # of threads that work no more, and of other processes
        self.at_work: dict[int, tuple[float, float]] = {}  # per thread, when it began and when it last looked
        self.guard = threading.Lock()

    def __call__(self) -> float:
        with self.guard:
            if (me := get_ident()) in self.at_work:
                self.at_work[me] = self.at_work[me][0], computed()
            return self.over + sum(last - began for began, last in self.at_work.values())

    @contextmanager
    def working(self) -> Iterator[None]:
        """Within it this thread works for the run."""
        if (me := get_ident()) in self.at_work:
            yield
            return
        with self.guard:
            self.at_work[me] = computed(), computed()
        token = _clocks.set((*_clocks.get(), self))
        try:
            yield
        finally:
            _clocks.reset(token)
            with self.guard:
                self.over += computed() - self.at_work.pop(me)[0]

    def add(self, seconds: float) -> None:
        """Somebody else has computed for it."""
        with self.guard:
            self.over += seconds


_clocks: ContextVar[tuple[ProcessorTime, ...]] = ContextVar("clocks", default=())


def working_for(clock: Callable[[], float]) -> AbstractContextManager[None]:
    """What this thread does counts for the clock, if that is one of processor time."""
    return clock.working() if isinstance(clock, ProcessorTime) else nullcontext()


def clocks() -> tuple[ProcessorTime, ...]:
    """Those of the runs that this thread works for."""
    return _clocks.get()
