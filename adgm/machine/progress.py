"""How far a run has come, on stderr: a bar of tqdm where that is installed, else one plain line."""

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

from adgm.state import State


class Progress:
    """A `watch` that tells how far the run is, and asks another one whether to stop; a context that ends the line.

    ``most`` is the largest number of iterations, if the method has one.
    """

    def __init__(self, most: int | None = None, watch: Callable[[Any], object] | None = None) -> None:
        self.most, self.watch, self.iteration = most, watch, 0
        try:
            from tqdm import tqdm
        except ImportError:
            self.bar: Any = None
        else:
            self.bar = tqdm(total=most, unit=" iterations", leave=True)

    def __call__(self, state: State) -> object:
        self.tell(state)
        return None if self.watch is None else self.watch(state)

    def tell(self, state: State) -> None:
        made, self.iteration = state.iteration - self.iteration, state.iteration
        if self.bar is not None:
            self.bar.set_postfix(energy=f"{state.energy:.6g}", refresh=False)
            self.bar.update(made)
            return
        of = "" if self.most is None else f" of at most {self.most}"
        print(f"\riteration {state.iteration}{of}, energy {state.energy:.6g}   ", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.bar is not None:
            self.bar.close()
        elif self.iteration:
            print(file=sys.stderr)
