"""How long every thread has spent in numba's compiler, and a notice that kernels are being compiled."""

import sys
import threading
from time import thread_time
from typing import Any

from numba.core import event

COMPILING_ONCE = (
    "adgm: compiling its kernels for this computer, once: about a minute in all. It counts for no time limit; "
    "adgm.warmup() does it beforehand."
)


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


def ours(found: Any) -> bool:
    """Whether numba compiles a kernel of this package, not a function of the user's."""
    return str(found.data["dispatcher"].py_func.__module__).startswith("adgm.")


class Notice(event.Listener):
    """Says on stderr that kernels are being compiled: in a line, once, and how many where that is a terminal."""

    def __init__(self) -> None:
        self.quiet, self.said, self.count = False, False, 0

    def on_start(self, found: Any) -> None:
        if self.quiet or sys.stderr is None or not ours(found):
            return
        self.count += 1
        if not self.said:
            self.said = True
            print(COMPILING_ONCE, file=sys.stderr, flush=True)
        if sys.stderr.isatty():
            print(f"\radgm: compiling, {self.count} functions so far …", end="", file=sys.stderr, flush=True)

    def on_end(self, found: Any) -> None:
        if not self.quiet and sys.stderr is not None and sys.stderr.isatty() and ours(found):
            print("\r\033[K", end="", file=sys.stderr, flush=True)


COMPILING, NOTICE = Compiling(), Notice()
event.register("numba:compiler_lock", COMPILING)
event.register("numba:compile", NOTICE)
