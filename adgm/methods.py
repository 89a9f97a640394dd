"""METHODS: every solver by its key. One line here makes it appear in the app, the CLI and the contract tests."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from adgm.baselines.dd import DD
from adgm.problem import ANY, Problem
from adgm.run import Method
from adgm.solver import ADGM

ANY_ORDER = range(1, 100)


@dataclass(frozen=True)
class Entry:
    """A method: its name for people, its constructor, what it takes, and where it comes from."""

    label: str
    make: Callable[..., Method[Any]]
    orders: range  # orders of the problems it takes
    cite: str
    one_to_one: bool = False  # whether it needs a limit of one partner on both sides

    def refusal(self, problem: Problem) -> str:
        """Why this method does not take that problem, in a sentence; empty if it does."""
        if problem.order not in self.orders:
            lowest, highest = self.orders[0], self.orders[-1]
            takes = f"order {lowest}" if lowest == highest else f"orders {lowest} to {highest}"
            return f"{self.label} takes {takes}, and this problem is of order {problem.order}."
        if self.one_to_one and ANY in (problem.rows, problem.cols):
            return f"{self.label} needs at most one partner per node on both sides."
        return ""


METHODS: dict[str, Entry] = {
    "adgm1": Entry("ADGM1 (star)", partial(ADGM, coupling="star"), ANY_ORDER, "Lê-Huu and Paragios, CVPR 2017"),
    "adgm2": Entry("ADGM2 (chain)", partial(ADGM, coupling="chain"), ANY_ORDER, "Lê-Huu and Paragios, CVPR 2017"),
    "dd": Entry("DD (bound and branch)", DD, range(1, 3), "Hahn and Grant, Operations Research 1998", one_to_one=True),
}
