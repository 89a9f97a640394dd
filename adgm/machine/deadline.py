"""When work has to end: set by whoever runs a method, asked by whatever can take long, such as computing columns."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from adgm.machine.computing import clocks

T = TypeVar("T")
LOOK = 0.2  # seconds between two looks at the clock while waiting


class TimeUp(Exception):
    """The deadline has passed; what was computed so far is still consistent. `found`: a matching to hand over, if
    whoever was interrupted has one that would be lost."""

    def __init__(self, found: NDArray[np.bool_] | None = None) -> None:
        super().__init__()
        self.found = found


_over: ContextVar[Callable[[], bool] | None] = ContextVar("over", default=None)


@contextmanager
def deadline(over: Callable[[], bool]) -> Iterator[None]:
    """Within it, `check_time` raises TimeUp once over() is true; deadlines around it stay in force."""
    outer = _over.get()
    token = _over.set(over if outer is None else lambda: over() or outer())
    try:
        yield
    finally:
        _over.reset(token)


def check_time() -> None:
    over = _over.get()
    if over is not None and over():
        raise TimeUp


_held: ContextVar[int] = ContextVar("held", default=0)


@contextmanager
def waited_for(lock: Any, *, held: bool = False) -> Iterator[None]:
    """With this lock, waited for no longer than the deadline says; `held`: whoever has it must not rest meanwhile."""
    while not lock.acquire(timeout=LOOK):
        check_time()
    token = _held.set(_held.get() + held)
    try:
        yield
    finally:
        _held.reset(token)
        lock.release()


def may_rest() -> bool:
    """Whether this thread may let others go first, in a `check_time`: nobody waits for a lock that it has."""
    return _held.get() == 0


def carried(work: Callable[..., T]) -> Callable[..., T]:
    """`work` for another thread, under the deadline of this one; what it computes counts for the same runs."""
    context, counting = copy_context(), clocks()

    def helped(*args: Any) -> T:
        with ExitStack() as stack:
            for clock in counting:
                stack.enter_context(clock.working())
            return context.copy().run(work, *args)

    return helped
