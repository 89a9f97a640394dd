"""Where ADGM+ is: its members, what it is to do next, and the search for a proof."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from adgm.bounds.branch_and_bound import DDState
from adgm.bounds.third_order import PairsState
from adgm.search.permutations import Breeding
from adgm.search.portfolio_members import MemberState
from adgm.state import State


class Task(NamedTuple):
    """Something to do that takes no iterations: a step each, so that a caller can look, and stop, in between."""

    do: Literal["breed", "merge", "open", "judge", "restart", "perturb", "finish"]
    number: int = 0  # of the round of local search; of "merge", how often that has been done
    members: tuple[int, ...] = ()  # that search
    begins: bool = False  # their first task of the round
    ends: Literal["", "batch", "round"] = ""  # what is over after it


@dataclass(frozen=True, eq=False)
class Proof:
    """The search for a proof that the best matching is optimal, between two of its turns."""

    search: DDState | PairsState | None = None
    granted: float = 0.0  # pair costs that it may have visited by now
    judged: float = np.inf  # the energy of the best matching when a search was last given up
    lower: float = -np.inf  # and the bound that it had found


@dataclass(frozen=True, eq=False, kw_only=True)
class PortfolioState(State):
    """All members, the older waves' first, and what is to be done once they have come so far."""

    members: tuple[MemberState, ...]
    queue: tuple[Task, ...] = ()  # after the opening's iterations, or when all members have ended
    first: int = 0  # the first member of the wave that runs now
    in_wave: int = 0  # iterations since it began
    breeding: Breeding | None = None  # the search over permutations, where costs are products of two matrices
    proof: Proof = Proof()
    in_vain: int = 0  # rounds in a row that found nothing better
    before: float = np.inf  # the best energy when the present round began
    leader: int = 0  # the member that found the best matching first
    agreeing: int = 0  # members whose best matching is that one
    led: int = 0  # of the present wave, when its last run ended
    agreed: bool | None = None  # once the search is over, whether enough members agreed
    finished: bool = False
    proved: bool = False  # whether the best matching is proved optimal

    @property
    def lanes(self) -> tuple[MemberState, ...]:
        """The members, by the name that stored experiments know."""
        return self.members

    @property
    def live(self) -> tuple[int, ...]:
        return tuple(i for i, each in enumerate(self.members) if not each.ended)
