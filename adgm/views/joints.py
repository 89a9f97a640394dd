"""JOINTS: what makes tracks of the views' pairs, by its key. Each is a record with init, step and done, as methods are.

One step of `Rematching` is an ordinary run: a view against the tracks of all the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Literal

import numpy as np

from adgm._kernels import LongArray
from adgm.methods import chosen
from adgm.options import option, options
from adgm.rounding import Assignment
from adgm.run import Method, Run
from adgm.search.fusion import Fusion, fuse
from adgm.search.local_search import improve
from adgm.views import libmgm
from adgm.views.exchange import exchanged
from adgm.views.joint import Against, JointProblem
from adgm.views.states import Joint, JointState, Matchings
from adgm.views.synchronise import synchronised
from adgm.views.tracks import Couple, Tracks, alone, count, numbered, of_matchings

USUAL = "fusion"  # the method that matches a pair
AGAINST = Fusion(patience=10)  # what matches a view against tracks: it does so again and again, and ends sooner
FEW, MANY_STARTS, STARTS = 60, 16, 3  # so many points of all views are few, and begun with more often


@dataclass(frozen=True)
class Rematching:
    """One view after the other is matched against the tracks of all the others; then tracks are exchanged.

    Consistent at every step, and the total energy never rises. It is over when no view and no exchange improves it.
    """

    start: Literal["grow", "synchronise"] = option("grow", "Start", "Views are placed one by one, or synchronised.")
    exchange: bool = option(True, "Exchange tracks", "Whether two tracks are exchanged where that pays.")
    max_iter: int = option(2000, "Most steps", "It ends after that many.", low=1)
    starts: int | None = option(None, "Starts", "So many, one of them synchronised; None: by how many points.", low=1)
    method: Method[Any] | str = AGAINST  # what matches a view against the tracks of the others

    def __post_init__(self) -> None:
        for name in ("start", "exchange", "max_iter", "starts"):
            if not (declared := options(type(self))[name]).allows(getattr(self, name)):
                raise ValueError(f"{name} must be {declared}, got {getattr(self, name)!r}")

    def init(self, problem: JointProblem, matchings: Matchings, start: Tracks | None = None) -> JointState:
        everywhere = tuple(range(len(problem.sizes)))
        if start is not None:
            return JointState(tracks=start, energy=problem.energy(start), placed=everywhere, matchings=matchings)
        if self.start == "synchronise":
            found = synchronised(problem.sizes, matchings, complete=problem.complete)
            return JointState(
                tracks=found, energy=problem.energy(found), kind="synchronise", placed=everywhere, matchings=matchings
            )
        return JointState(tracks=alone(problem.sizes), matchings=matchings, order=everywhere)

    def done(self, state: JointState) -> bool:
        return state.converged or state.iteration >= self.max_iter

    def step(self, problem: JointProblem, state: JointState) -> JointState:
        m = len(problem.sizes)
        state = replace(state, iteration=state.iteration + 1, kept=False)
        if len(state.placed) < m:
            return self._placed(problem, state)
        if self.exchange and not state.settled and (state.last is None or state.stale >= m):
            after = self._kept(problem, state, exchanged(problem, state.tracks)[0], "exchange", None)
            return replace(after, settled=True, stale=0 if after.kept else state.stale)
        if state.stale >= m:
            return self._restarted(problem, state)
        view = 0 if state.last is None else (state.last + 1) % m
        after = self._kept(problem, state, self._rematched(problem, state, view), "rematch", view)
        stale = 0 if after.kept else state.stale + 1
        return replace(after, last=view, stale=stale, settled=state.settled and not after.kept)

    def _restarted(self, problem: JointProblem, state: JointState) -> JointState:
        """One step of the same from another order of the views; what it ends with counts if it is better."""
        m = len(problem.sizes)
        wanted = self.starts or (MANY_STARTS if sum(problem.sizes) <= FEW else STARTS)
        if state.trial is None and (state.starts >= wanted or not state.order):
            return replace(state, converged=True)
        once = replace(self, starts=1, start="synchronise" if state.starts == 1 and state.matchings else "grow")
        trial = state.trial
        if trial is None:
            order = tuple(np.random.default_rng([8, state.starts]).permutation(m).tolist())
            order = state.order[::-1] if state.starts == 2 else order
            trial = replace(once.init(problem, state.matchings), order=order)
        trial = once.step(problem, trial)
        shown = replace(state, kind="restart", view=trial.view, trial=trial)
        if not once.done(trial):
            return shown
        kept = trial.energy < state.energy - 1e-9 * abs(trial.energy)
        if kept:
            shown = replace(shown, tracks=trial.tracks, energy=trial.energy, kept=True)
        return replace(shown, trial=None, starts=state.starts + 1, converged=state.starts + 1 >= wanted)

    def _placed(self, problem: JointProblem, state: JointState) -> JointState:
        """The next view, against those that are placed."""
        view = state.order[len(state.placed)]
        placed = (*state.placed, view)
        tracks = [*state.tracks]
        if state.placed:
            tracks[view] = self._best(problem, tracks, view, state.placed)
        found = numbered(tracks)
        whole = len(placed) == len(problem.sizes)
        energy = problem.energy(found) if whole else inf
        return replace(state, tracks=found, energy=energy, kind="place", view=view, kept=True, placed=placed)

    def _rematched(self, problem: JointProblem, state: JointState, view: int) -> Tracks:
        tracks = [*state.tracks]
        tracks[view] = self._best(problem, tracks, view, None)
        return numbered(tracks)

    def _best(
        self, problem: JointProblem, tracks: list[LongArray], view: int, among: tuple[int, ...] | None
    ) -> LongArray:
        """The tracks of a view's points as the method finds them, merged with those that they are on."""
        size, free = problem.sizes[view], count(tracks)
        against = problem.against(view, tracks, among)
        if against is None or against.problem is None:
            return free + np.arange(size) if against is None else against.labels(None, size, free)
        found = self._solved(against)
        if among is None:
            found = merged(against, tracks[view], found)
        return against.labels(found, size, free)

    def _solved(self, against: Against) -> Assignment:
        assert against.problem is not None
        return Run(against.problem, chosen(against.problem, self.method)).finish().assignment

    def _kept(
        self, problem: JointProblem, state: JointState, tracks: Tracks, kind: str, view: int | None
    ) -> JointState:
        """The step, with these tracks if the total energy falls."""
        energy = problem.energy(tracks)
        kept = energy < state.energy - 1e-9 * abs(energy)
        if kept:
            state = replace(state, tracks=tracks, energy=energy)
        return replace(state, kind=kind, view=view, kept=kept)


def merged(against: Against, labels: LongArray, found: Assignment) -> Assignment:
    """The better parts of what is and of what was found."""
    problem = against.problem
    assert problem is not None
    present = against.assignment(labels)
    if problem.rows == "exactly_one" and present.sum() < problem.shape[0]:
        return found
    return improve(problem, fuse(problem, found, present)[0])[0]


@dataclass(frozen=True)
class Synchronised:
    """Tracks that agree with as many of the pairs' matchings as possible; costs are not looked at again."""

    def init(self, problem: JointProblem, matchings: Matchings, start: Tracks | None = None) -> JointState:
        return JointState(tracks=start or alone(problem.sizes), matchings=matchings)

    def done(self, state: JointState) -> bool:
        return state.converged

    def step(self, problem: JointProblem, state: JointState) -> JointState:
        found = synchronised(problem.sizes, state.matchings, complete=problem.complete)
        return replace(
            state,
            iteration=1,
            tracks=found,
            energy=problem.energy(found),
            kind="synchronise",
            kept=True,
            placed=tuple(range(len(problem.sizes))),
            converged=True,
        )


@dataclass(frozen=True)
class PairsAlone:
    """The pairs as they are. Their tracks: points that lead to one another, where nothing contradicts."""

    def init(self, problem: JointProblem, matchings: Matchings, start: Tracks | None = None) -> JointState:
        found = of_matchings(problem.sizes, matchings)
        placed = tuple(range(len(problem.sizes)))
        energy = problem.energy_alone(matchings)
        return JointState(tracks=found, energy=energy, placed=placed, converged=True, matchings=matchings)

    def done(self, state: JointState) -> bool:
        return True

    def step(self, problem: JointProblem, state: JointState) -> JointState:
        return state


@dataclass(frozen=True)
class JointEntry:
    """What makes tracks: its name for people, its constructor, where it comes from, and what it does."""

    label: str
    make: Callable[..., Joint]
    does: str
    cite: str = ""
    consistent: bool = True  # whether the matchings follow from the tracks
    refusal: Callable[[JointProblem], str] = field(default=lambda problem: "")


JOINTS: dict[str, JointEntry] = {
    "tracks": JointEntry(
        "Tracks",
        Rematching,
        "Matches one view against the tracks of all the others, as one ordinary problem, as long as the total energy "
        "falls; then exchanges two tracks where that pays.",
    ),
    "spectral": JointEntry(
        "Spectral synchronisation",
        Synchronised,
        "Tracks that agree with as many of the pairs' matches as possible, from the eigenvectors of all of them.",
        "Pachauri, Kondor and Singh, NeurIPS 2013",
    ),
    "mgm": JointEntry(
        "pylibmgm",
        libmgm.LibMGMTracks,
        "The solver of its authors, if it is installed: views are matched one after the other, again, and exchanged.",
        "Kahl et al., 2024",
        refusal=libmgm.refusal,
    ),
    "pairs": JointEntry(
        "Pairs alone",
        PairsAlone,
        "Every pair keeps its own matching; ways over a third view may lead elsewhere.",
        consistent=False,
    ),
}


def solve_jointly(
    problem: JointProblem,
    joint: Joint | str = "tracks",
    method: Method[Any] | str = USUAL,
    watch: Callable[[JointState | Couple], object] | None = None,
) -> JointState:
    """Match every pair by a method, then make tracks of them.

    Parameters
    ----------
    problem : JointProblem
        The costs of all pairs.
    joint : str or joint
        A key of `JOINTS`, or one made by hand, such as ``Rematching(exchange=False)``.
    method : str or method
        What matches a pair.
    watch : callable, optional
        Told of every pair that is matched and of every state; it ends when that returns True.

    Returns
    -------
    JointState
        The tracks and the total energy.

    Raises
    ------
    ValueError
        There is no such joint, or the method does not take the pairs' problems.

    Examples
    --------
    >>> from adgm import Dense, Problem
    >>> from adgm.views import JointProblem, solve_jointly
    >>> same = Problem((2, 2), [Dense([[-1.0, 0], [0, -1]])])
    >>> state = solve_jointly(JointProblem((2, 2, 2), {(0, 1): same, (0, 2): same, (1, 2): same}))
    >>> state.energy, [labels.tolist() for labels in state.tracks]
    (-6.0, [[0, 1], [0, 1], [0, 1]])
    """
    if isinstance(joint, str):
        if joint not in JOINTS:
            raise ValueError(f"there is no joint {joint!r}; choose one of {', '.join(JOINTS)}")
        if refusal := JOINTS[joint].refusal(problem):
            raise ValueError(refusal)
        joint = JOINTS[joint].make()
    matchings = {}
    for couple, pair in problem.problems.items():
        matchings[couple] = Run(pair, chosen(pair, method)).finish().matching
        if watch is not None:
            watch(couple)
    state = joint.init(problem, matchings)
    while not joint.done(state) and (watch is None or watch(state) is not True):
        state = joint.step(problem, state)
    return state
