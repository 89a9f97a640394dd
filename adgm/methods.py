"""METHODS: every solver by its key. One line here makes it appear in the app, the CLI and the contract tests."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from adgm.run import Method
from adgm.solver import ADGM

ANY_ORDER = range(1, 100)


@dataclass(frozen=True)
class Entry:
    """A method: its name for people, its constructor, the orders of problems it takes, and where it comes from."""

    label: str
    make: Callable[..., Method[Any]]
    orders: range
    cite: str


METHODS: dict[str, Entry] = {
    "adgm1": Entry("ADGM1 (star)", partial(ADGM, coupling="star"), ANY_ORDER, "Lê-Huu and Paragios, CVPR 2017"),
    "adgm2": Entry("ADGM2 (chain)", partial(ADGM, coupling="chain"), ANY_ORDER, "Lê-Huu and Paragios, CVPR 2017"),
}
