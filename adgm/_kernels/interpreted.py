"""First answers on a computer that has compiled nothing yet: Python interprets the kernels.

Compiling what a first run needs takes some twenty seconds, interpreting it one or two where the problem is small. So
kernels that are not compiled may be interpreted, for a few seconds in all on a computer; those that work on much are
compiled at once. What they compute is the same, but for the last digits of sums, whose order the compiler chooses.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from time import thread_time
from types import FunctionType
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from adgm._kernels import by_numpy

SECONDS = 5.0  # of interpreting, on a computer and for a version of the kernels: a fourth of what compiling takes
MOST = 1_000_000  # numbers that a kernel is given: with more, interpreting one call may take longer than compiling
# Kernels that walk through little of the tables that they are given: of these only the arrays beside tables count.
SPARSE, MOST_BESIDE = {"admm", "contract", "add_tree", "list_supports", "gather", "descend"}, 40_000
SAID = (
    "adgm: nothing is compiled for this computer yet. First runs on small problems do without, and are slower; "
    "adgm.warmup() compiles everything now."
)


class Interpreter:
    """Interprets kernels for those that ask for it, until its seconds are used up."""

    def __init__(self) -> None:
        self.allowed, self.said = True, False
        self.asked: ContextVar[bool] = ContextVar("asked", default=False)
        self.file: Path | None = None  # what other processes have interpreted, a byte for every hundredth of a second
        self.spent: float | None = None  # seconds, of all processes so far; known once somebody asks
        self.modules: dict[str, dict[str, Any]] = {}

    def never(self) -> None:
        """From now on this process compiles what is not compiled."""
        self.allowed = False

    @contextmanager
    def first_answers(self, wanted: bool) -> Iterator[None]:
        """Within it kernels that are not compiled may be interpreted, if that is wanted."""
        if not (wanted and self.allowed):
            yield
            return
        if self.spent is None:
            self.spent = self._known()
        before, token = self.spent, self.asked.set(True)
        try:
            yield
        finally:
            self.asked.reset(token)
            if self.spent > before:
                self._tell(self.spent - before)

    def _known(self) -> float:
        with suppress(OSError):
            return self.file.stat().st_size / 100.0 if self.file else 0.0
        return 0.0

    def _tell(self, seconds: float) -> None:
        with suppress(OSError):
            if self.file is not None:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                with self.file.open("ab") as file:
                    file.write(bytes(max(1, round(100 * seconds))))

    def takes(self, dispatcher: Any, args: tuple[Any, ...]) -> bool:
        """Whether a call that finds nothing compiled is interpreted."""
        if not self.asked.get() or dispatcher.overloads or too_much(dispatcher.py_func.__name__, args):
            return False
        kept = getattr(dispatcher._cache, "_cache_file", None)
        return (self.spent or 0.0) < SECONDS and not (kept is not None and Path(kept._index_path).exists())

    def call(self, dispatcher: Any, args: tuple[Any, ...]) -> Any:
        if not self.said and sys.stderr is not None:
            self.said = True
            print(SAID, file=sys.stderr, flush=True)
        began = thread_time()
        try:
            with np.errstate(all="ignore"):
                return self.plain(dispatcher)(*args)
        finally:
            self.spent = (self.spent or 0.0) + thread_time() - began

    def plain(self, dispatcher: Any) -> Callable[..., Any]:
        """A kernel as a function of Python, which calls such functions only."""
        function = dispatcher.py_func
        name: str = function.__module__
        if name not in self.modules:
            self.modules[name] = there = dict(vars(sys.modules[name]))
            there.update({key: self.plain(one) for key, one in there.items() if isinstance(one, Dispatcher)})
        instead: Callable[..., Any] | None = getattr(by_numpy, function.__name__, None)
        return instead or FunctionType(function.__code__, self.modules[name], function.__name__, function.__defaults__)


def too_much(name: str, args: tuple[Any, ...]) -> bool:
    """Whether interpreting that call may take long."""
    if hasattr(by_numpy, name):
        return False
    if name in SPARSE:
        return numbers(tuple(each for each in args if isinstance(each, np.ndarray))) > MOST_BESIDE
    return numbers(args) > MOST


def numbers(values: Any) -> int:
    """How many numbers arrays hold, and tuples of them."""
    if isinstance(values, tuple):
        return sum(map(numbers, values))
    return values.size if isinstance(values, np.ndarray) else 0


INTERPRETER = Interpreter()


def interpretable(dispatcher: Any) -> Any:
    """The kernel, which may be interpreted where it is not compiled: numba asks this function when it finds nothing."""
    compile_for = dispatcher._compile_for_args

    def first_call(*args: Any) -> Any:
        if INTERPRETER.takes(dispatcher, args):
            return lambda *args: INTERPRETER.call(dispatcher, args)
        return compile_for(*args)

    dispatcher._compile_for_args = first_call
    return dispatcher
