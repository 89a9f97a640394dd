"""Where tracks are while they are made, and what makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

from adgm._kernels import LongArray
from adgm.views.joint import JointProblem
from adgm.views.tracks import Couple, Tracks

Matchings = Mapping[Couple, LongArray]


@dataclass(frozen=True, eq=False, kw_only=True)
class JointState:
    """Where the tracks are.

    `kind`: what the step was, "start", "place" (a view is matched to those before it), "rematch" (again, against all
    the others), "exchange" (tracks are exchanged), "restart" (the same from another start, shown when it is better) or
    "synchronise"; `view`: which view, if one. `energy` is the total, inf as long as not all views are placed. `kept`:
    whether the step improved anything.
    """

    iteration: int = 0
    tracks: Tracks
    energy: float = inf
    kind: str = "start"
    view: int | None = None
    kept: bool = False
    placed: tuple[int, ...] = ()
    stale: int = 0  # rematches in a row that improved nothing
    last: int | None = None  # the view that was rematched last
    settled: bool = False  # whether no exchange pays
    order: tuple[int, ...] = ()  # in which views are placed
    starts: int = 1  # how many times it has begun
    trial: JointState | None = None  # the same from another order
    converged: bool = False
    matchings: Matchings = field(default_factory=dict)  # of the pairs, alone


class Joint(Protocol):
    """What makes tracks of pairwise matchings, step by step."""

    def init(self, problem: JointProblem, matchings: Matchings, start: Tracks | None = None) -> JointState: ...

    def step(self, problem: JointProblem, state: JointState) -> JointState: ...

    def done(self, state: JointState) -> bool: ...
