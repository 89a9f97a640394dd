"""Processor time: what the threads that work for a run have computed. Waiting does not count, and compiling neither."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from threading import get_ident
from time import process_time, thread_time

from adgm._kernels.compiling import COMPILING


def computed() -> float:
    """Seconds of the processor that this thread has used, but for compiling."""
    return thread_time() - COMPILING.seconds


class ProcessorTime:
    """A clock that shows the seconds that threads have computed for one run: this thread while it is `working`, and
    those that help it (`adgm.machine.deadline.carried`). Others may look at it: of a thread at work they see what it
    was when that thread last looked."""

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
        outermost = me not in _busy
        _busy.add(me)
        with self.guard:
            began = computed()
            self.at_work[me] = began, began
        token = _clocks.set((*_clocks.get(), self))
        try:
            yield
        finally:
            _clocks.reset(token)
            if outermost:
                _busy.discard(me)
            with self.guard:
                self.over += computed() - self.at_work.pop(me)[0]

    def add(self, seconds: float) -> None:
        """Somebody else has computed for it."""
        with self.guard:
            self.over += seconds


_busy: set[int] = set()  # the threads that work for some run
_clocks: ContextVar[tuple[ProcessorTime, ...]] = ContextVar("clocks", default=())


def working_for(clock: Callable[[], float]) -> AbstractContextManager[None]:
    """What this thread does counts for the clock, if that is one of processor time."""
    return clock.working() if isinstance(clock, ProcessorTime) else nullcontext()


def clocks() -> tuple[ProcessorTime, ...]:
    """Those of the runs that this thread works for."""
    return _clocks.get()


@contextmanager
def helped() -> Iterator[None]:
    """What a library's own threads compute within it counts for the runs that this thread works for; where another
    thread works for a run, too, nobody can tell whom they helped, and it counts for none."""
    before = process_time() - thread_time()
    yield
    if _busy == {get_ident()}:
        seconds = process_time() - thread_time() - before
        for clock in clocks():
            clock.add(seconds)
