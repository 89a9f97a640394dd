"""ADGM+: several ADGM runs side by side, and a local search that improves whatever they find."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, field, replace
from math import factorial
from typing import Literal, TypeVar

import numpy as np

from adgm._kernels import FloatArray
from adgm.branch_and_bound import bytes_needed, refusal
from adgm.deadline import carried
from adgm.fusion import Fusion, FusionState, first_matching, fuse
from adgm.local_search import has_tabu_search, iterated_local_search, polish, random_restart
from adgm.lower_bound import bound, hopeless
from adgm.options import check, option
from adgm.penalty import AUTO, RULES
from adgm.potentials import Potential, Sparse
from adgm.problem import Problem
from adgm.rounding import Assignment, best_rounding
from adgm.solver import ADGM, ADGMState
from adgm.state import State

PROPOSALS = 12  # fusion moves after a wave
BATCH = 2  # members that search at a time once a wave is over, whatever the number of cores
# Searches from random matchings that must lead to the best one: in general, and if all but one of the wave led there.
WITNESSES, FEWER_WITNESSES = 3, 2
SAME = 1e-9  # energies closer than this, relative to the largest cost, are the same
FEWEST_SWEEPS = 8  # of the dual ascent: proofs take two to twenty of all pairs of variables, if they come at all
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Member:
    """How one run differs from the others.

    factor: its ρ0 in units of the one that "auto" chooses. balance: whether ρ adapts from there, as "auto" does, or
    only grows, as in the paper. split: None leaves symmetric tensors as they are; a number keeps one sorted copy of
    each hyperedge (an equal energy, another algorithm), sorted by node numbers that are shuffled with it (0: not).
    restart: its local search begins at the best of some random matchings instead of its own, so that it agrees with
    the others only by finding the same matching another way.
    """

    factor: float = 1.0
    balance: bool = True
    start: Literal["uniform", "zeros", "random"] = "uniform"
    coupling: Literal["star", "chain"] = "star"
    split: int | None = None
    restart: bool = False
    seed: int = 0

    def method(self, auto: float, max_iter: int) -> ADGM:
        options = {**AUTO, "rho0": self.factor * auto, "round_every": 0, "polish": False}  # the portfolio does that
        if not self.balance:
            options["balance"] = 1.0
        return ADGM(coupling=self.coupling, start=self.start, seed=self.seed, max_iter=max_iter, **options)

    def __str__(self) -> str:
        parts = [f"{self.factor:g} × ρ0" if self.factor != 1 else "ρ0", "" if self.balance else "growing only"]
        parts += [self.start if self.start != "uniform" else "", self.coupling if self.coupling != "star" else ""]
        parts += ["" if self.split is None else "sorted copies" if self.split == 0 else "renumbered copies"]
        parts += ["restarts" if self.restart else ""]
        return ", ".join(part for part in parts if part)


# The first members: balanced and merely growing penalties, small ones that explore and large ones that walk straight.
PAIRWISE = (
    Member(),
    Member(1 / 2, balance=False, restart=True),
    Member(balance=False, start="zeros"),
    Member(4.0, start="random", restart=True),
    Member(16.0, balance=False),
    Member(1 / 2, balance=False, start="random", restart=True),
)
HIGHER = (
    Member(),
    Member(4.0, split=0, restart=True),
    Member(1 / 2, balance=False, coupling="chain"),
    Member(4.0, start="zeros", coupling="chain", split=1, restart=True),
    Member(balance=False, split=1),
    Member(4.0, start="random", restart=True),
)
WAVE = len(PAIRWISE)


def member(number: int, order: int, seed: int) -> Member:
    """Member `number`: one of the first, or one like them from a random start of its own."""
    first = PAIRWISE if order <= 2 else HIGHER
    if number < len(first):
        return replace(first[number], seed=seed + number)
    return replace(first[number % len(first)], start="random", seed=seed + number)


@dataclass(frozen=True, eq=False)
class MemberState:
    """Where a member is: its run, its best matching, and its curves."""

    member: Member
    problem: Problem  # the one to solve, its tensors split as the member says
    method: ADGM
    run: ADGMState
    best: Assignment | None = None
    best_energy: float = np.inf
    at: Assignment | None = None  # where its local search has led, the best matching before them
    rng: np.random.Generator | None = None  # of its present round of local search
    restarted: Assignment | None = None  # where that round may begin
    roamed: bool = False  # whether it has left its own matching for a random one
    ended: Literal["", "converged", "beaten", "limit"] = ""
    residuals: FloatArray = field(default_factory=lambda: np.empty(0))  # a value per iteration
    energies: FloatArray = field(default_factory=lambda: np.empty(0))

    def holds(self, matching: Assignment | None) -> bool:
        """Whether that is where its search has led."""
        return self.at is not None and matching is not None and np.array_equal(self.at, matching)

    @property
    def lane(self) -> Member:
        return self.member


@dataclass(frozen=True, eq=False, kw_only=True)
class PortfolioState(State):
    """All members, the older waves' first."""

    members: tuple[MemberState, ...]
    first: int = 0  # the first member of the wave that runs now
    in_wave: int = 0  # iterations since it began
    piece: int = 0  # what has been done since its last member ended
    leader: int = 0  # the member that found the best matching first
    agreeing: int = 0  # members whose best matching is that one
    led: int = 0  # of the present wave, when its last run ended
    finished: bool = False
    proved: bool = False  # whether the best matching is proved optimal

    @property
    def lanes(self) -> tuple[MemberState, ...]:
        """The members, by the name that stored experiments know."""
        return self.members

    @property
    def live(self) -> tuple[int, ...]:
        return tuple(i for i, each in enumerate(self.members) if not each.ended)


@dataclass(frozen=True)
class Portfolio:
    """ADGM+ : a portfolio of ADGM runs that differ in what decides where they end, on all cores.

    Waves of members: every `stride` iterations all round and improve their matching by the local search, and losers
    end; fusion moves merge what they found. Then the dual bound of `adgm.lower_bound` looks for a proof (or for
    something better); without one follow rounds of iterated local search (random perturbations and descents, tabu
    search where the problem allows) from every member's matching, and from random restarts, because a deep optimum can
    lie far from where ADGM leads. It is over when enough members agree, before the end of a round only with searches
    from random matchings among them (six runs of ADGM may agree on less than the optimum); else another wave starts.

    Work is counted in iterations and every member has its own seed, so that the result does not depend on `threads`.
    """

    most_lanes: int = option(
        24,
        "Most runs side by side",
        "New runs are started in waves until enough of them agree, or there are this many.",
        low=1,
    )
    agree: int = option(4, "Runs that must agree", "It is over when so many runs found the same best matching.", low=1)
    kicks: int = option(
        3,
        "Perturbations per node",
        "Of the iterated local search: a perturbation changes the matching at random; what improves on it is kept.",
        low=0,
    )
    scouts: int = option(
        4,
        "Random restarts per node",
        "Runs that restart take the best of so many random matchings for every node of the smaller graph.",
        low=0,
    )
    rounds: int = option(
        4, "Rounds of local search", "Most rounds of restarts and perturbations after a wave of runs.", low=1
    )
    effort: float = option(
        2.5e7,
        "Most pair costs to visit",
        "Of the search for a bound: the more, the more often the result is proved optimal. 0 does not search.",
        low=0,
    )
    stride: int = option(50, "Iterations between two roundings", "Of every run of the portfolio.", low=1)
    trial: int = option(
        100,
        "Iterations until the worse half ends",
        "After twice as many all but the leading run end.",
        low=1,
    )
    max_iter: int = option(400, "Most iterations", "Each run ends after that many iterations, converged or not.", low=1)
    seed: int = option(0, "Seed", "The same seed gives the same run.", low=0)
    threads: int | None = option(None, "Threads", "How many runs compute at a time; none: as many as cores.", low=1)

    def __post_init__(self) -> None:
        check(self)

    def init(self, problem: Problem) -> PortfolioState:
        first, *others = self._wave(problem, ())
        first = with_matching(problem, first, polish(problem, first_matching(problem))[0])  # if time is short
        state = PortfolioState(iteration=0, x=first.run.x, energy=first.run.energy, members=(first, *others))
        return self._led(problem, state)

    def done(self, state: PortfolioState) -> bool:
        return state.finished

    def step(self, problem: Problem, state: PortfolioState, n: int = 1) -> PortfolioState:
        """n iterations of every member that runs; decisions fall at multiples of `stride`, however large n is.

        What follows when all have ended takes no iterations: one piece of it is a step.
        """
        traces: list[dict[str, FloatArray]] = []
        if not state.live and not state.finished:
            return replace(self._close_wave(problem, state), trace={})
        while n > 0 and state.live:
            length = min(n, self.stride - state.in_wave % self.stride)
            state = self._advance(problem, state, length)
            traces.append(state.trace)
            n -= length
        joined = {name: np.concatenate([t[name] for t in traces]) for name in (traces[0] if traces else ())}
        return replace(state, trace=joined)

    def _advance(self, problem: Problem, state: PortfolioState, length: int) -> PortfolioState:
        members = list(state.members)
        live = state.live
        at_boundary = (state.in_wave + length) % self.stride == 0

        def run(i: int) -> MemberState:
            each = members[i]
            after = each.method.step(each.problem, each.run, length)
            each = extended(each, after)
            if at_boundary or each.method.done(after):
                each = self._rounded(problem, each)
            return each

        for i, each in zip(live, self._map(problem, run, live), strict=True):
            members[i] = each
        state = self._led(problem, replace(state, members=tuple(members), in_wave=state.in_wave + length))
        if at_boundary:
            state = replace(state, members=self._without_losers(state))
        leader = state.members[state.leader].run
        state = replace(
            state,
            iteration=state.iteration + length,
            x=leader.x,
            energy=leader.energy,
            trace={
                "best": np.full(length, state.best_energy),
                "residual": np.full(length, leader.residual),
                "energy": np.full(length, leader.energy),
                "lanes": np.full(length, float(len(live))),
            },
        )
        return state

    def _rounded(self, problem: Problem, each: MemberState) -> MemberState:
        """The member with its current matching, improved, and the reason why it ends, if it does."""
        done, found = each.method.done(each.run), each.run.best
        if found is None or not done:
            found, _ = best_rounding(problem, each.run.x)
        each = with_matching(problem, each, polish(problem, found)[0])
        return replace(each, ended="converged" if each.run.converged else "limit") if done else each

    def _without_losers(self, state: PortfolioState) -> tuple[MemberState, ...]:
        """The worse half ends after `trial` iterations, all but the leader after twice as many."""
        wave = range(state.first, len(state.members))
        keep = len(wave) if state.in_wave < self.trial else len(wave) // 2 if state.in_wave < 2 * self.trial else 1
        ranked = sorted(wave, key=lambda i: (state.members[i].best_energy, i))
        return tuple(
            replace(each, ended="beaten") if i in ranked[keep:] and not each.ended else each
            for i, each in enumerate(state.members)
        )

    def _close_wave(self, problem: Problem, state: PortfolioState) -> PortfolioState:
        """The next piece of what follows a wave: fusion, the bound's judgement, rounds of restarts and perturbations.

        Pieces, so that somebody who waits can look, and stop, in between.
        """
        if state.piece == 0:
            return replace(self._merged(problem, state), piece=1)
        if state.piece == 1:
            if state.first == 0:
                state = self._judged(problem, state)
            wave = state.members[state.first :]
            led = sum(each.holds(state.best) for each in wave)
            return replace(state, piece=2, led=led, finished=state.proved, converged=state.proved)
        restarting, perturbing = max(1, self.scouts) if has_tabu_search(problem) else 1, max(1, self.kicks)
        members = list(state.members)
        order = sorted(range(state.first, len(members)), key=lambda i: not members[i].member.restart)
        batches = [order[at : at + BATCH] for at in range(0, len(order), BATCH)]
        turn, rest = divmod(state.piece - 2, len(batches) * (restarting + perturbing))
        batch, part = divmod(rest, restarting + perturbing)

        def further(each: MemberState) -> MemberState:
            if part == 0:
                each = replace(each, rng=np.random.default_rng([each.member.seed, turn]))
            return (self._restarted if part < restarting else self._perturbed)(problem, each, turn, state.best)

        for i, each in zip(
            batches[batch], self._map(problem, further, [members[i] for i in batches[batch]]), strict=True
        ):
            members[i] = each
        state = self._led(problem, replace(state, members=tuple(members), piece=state.piece + 1))
        if part + 1 < restarting + perturbing:
            return state
        last = batch + 1 == len(batches)
        agreed = state.agreeing >= min(self.agree, len(members)) and (last or self._witnessed(state))
        if agreed or (last and turn + 1 == self.rounds and len(members) >= self.most_lanes):
            return replace(state, finished=True, converged=agreed)
        if not last or turn + 1 < self.rounds:
            return state
        return replace(state, members=self._wave(problem, state.members), first=len(members), in_wave=0, piece=0)

    @staticmethod
    def _witnessed(state: PortfolioState) -> bool:
        """Whether enough searches from random matchings led to the best one: only those owe nothing to ADGM."""
        witnesses = sum(each.roamed and each.holds(state.best) for each in state.members)
        return witnesses >= (FEWER_WITNESSES if state.led >= WAVE - 1 else WITNESSES)

    def _restarted(self, problem: Problem, each: MemberState, turn: int, best: Assignment | None) -> MemberState:
        """The member with the best of some random matchings, if this round is to begin there."""
        rng = deepcopy(each.rng)
        assert each.at is not None and best is not None and rng is not None
        if not (each.member.restart if turn == 0 else not each.holds(best)):
            return each
        found = random_restart(problem, min(problem.shape) if self.scouts else 1, rng)
        if each.restarted is not None and problem.energy(each.restarted) <= problem.energy(found):
            found = each.restarted
        return replace(each, rng=rng, restarted=found, roamed=True)

    def _perturbed(self, problem: Problem, each: MemberState, turn: int, best: Assignment | None) -> MemberState:
        """The member after a perturbation for every node of the smaller graph."""
        at, rng = each.at, deepcopy(each.rng)
        assert at is not None and rng is not None
        if each.restarted is not None and (turn == 0 or problem.energy(each.restarted) < problem.energy(at)):
            at = each.restarted
        at = iterated_local_search(problem, at, min(problem.shape) if self.kicks else 0, rng)[0]
        return replace(with_matching(problem, each, at), at=at, rng=rng, restarted=None)

    def _merged(self, problem: Problem, state: PortfolioState) -> PortfolioState:
        """The members' matchings merged, and proposals where these are quick; the leading member gets the result."""
        best = state.best
        assert best is not None
        for each in (one.best for one in state.members[state.first :] if one.best is not None):
            best = fuse(problem, best, each)[0]
        if has_tabu_search(problem):
            start = FusionState(iteration=0, x=best.astype(float), best=best, best_energy=problem.energy(best))
            best = Fusion(patience=PROPOSALS, seed=self.seed).step(problem, start, PROPOSALS).best
            assert best is not None
        members = list(state.members)
        members[state.leader] = with_matching(problem, members[state.leader], best)
        return self._led(problem, replace(state, members=tuple(members)))

    def _judged(self, problem: Problem, state: PortfolioState) -> PortfolioState:
        """What the dual bound says of the best matching; a better one that it finds goes to the leading member."""
        too_little = self.effort < FEWEST_SWEEPS * problem.n**2
        if too_little or refusal(problem) or bytes_needed(problem) > problem.memory:
            return state
        assert state.best is not None
        found = bound(problem, state.best, effort=self.effort, watch=hopeless)
        members = list(state.members)
        members[state.leader] = with_matching(problem, members[state.leader], found.best)
        return replace(self._led(problem, replace(state, members=tuple(members))), proved=found.solved)

    def _wave(self, problem: Problem, before: tuple[MemberState, ...]) -> tuple[MemberState, ...]:
        """The members so far and the next ones, ready to run."""
        numbers = range(len(before), min(len(before) + WAVE, self.most_lanes))
        chosen = [member(i, problem.order, self.seed) for i in numbers]
        splits = {each.member.split: each.problem for each in before}
        for each in chosen:
            if each.split not in splits:
                splits[each.split] = split(problem, each.split)
        auto = {key: RULES["auto"](part) for key, part in splits.items()}  # computes the columns, too

        def begin(each: Member) -> MemberState:
            method = each.method(auto[each.split], self.max_iter)
            return MemberState(each, splits[each.split], method, method.init(splits[each.split]))

        return before + tuple(self._map(problem, begin, chosen))

    def _led(self, problem: Problem, state: PortfolioState) -> PortfolioState:
        """The best matching, who found it first, and how many members hold it."""
        members = state.members
        best = min(each.best_energy for each in members)
        leader = next(i for i, each in enumerate(members) if each.best_energy <= best + SAME * problem.scale)
        matching = members[leader].best
        if matching is None:
            return state
        agreeing = sum(each.holds(matching) for each in members)
        return replace(state, leader=leader, agreeing=agreeing, best=matching, best_energy=members[leader].best_energy)

    def _map(self, problem: Problem, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """work(item) for all items on all cores; one by one where columns come and go, since sums depend on which."""
        stored = all(columns.complete for columns in problem.runtime.columns)
        threads = min(self.threads or os.cpu_count() or 1, len(items)) if stored else 1
        if threads <= 1:
            return [work(item) for item in items]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(carried(work), items))


def extended(each: MemberState, run: ADGMState) -> MemberState:
    """The member after a step, its curves longer."""
    if run is each.run:
        return each
    return replace(
        each,
        run=run,
        residuals=np.concatenate([each.residuals, run.trace["residual"]]),
        energies=np.concatenate([each.energies, run.trace["energy"]]),
    )


def with_matching(problem: Problem, each: MemberState, assignment: Assignment) -> MemberState:
    energy = problem.energy(assignment)
    if each.best is not None and not energy < each.best_energy:
        return each
    return replace(each, best=assignment, best_energy=energy, at=assignment)


def split(problem: Problem, numbering: int | None) -> Problem:
    """The problem with one copy of every symmetric hyperedge, sorted by node numbers shuffled with `numbering`.

    D! times the cost of the one copy is the energy of all D! orderings; but only its own modes, and so its own
    blocks, see it. None, or nothing to sort: the problem itself.
    """
    if numbering is None or not any(isinstance(p, Sparse) and p.symmetric for p in problem.potentials):
        return problem
    n1, n2 = problem.shape
    rows, cols = np.arange(n1), np.arange(n2)
    if numbering > 0:
        rng = np.random.default_rng(numbering)
        rows, cols = rng.permutation(n1), rng.permutation(n2)
    rank = (rows[:, None] * n2 + cols).reshape(-1)

    def once(p: Potential) -> Potential:
        if not (isinstance(p, Sparse) and p.symmetric):
            return p
        ordered = np.take_along_axis(p.indices, np.argsort(rank[p.indices], axis=1), axis=1)
        return Sparse(ordered, factorial(p.indices.shape[1]) * p.costs)

    return replace(problem, potentials=tuple(once(p) for p in problem.potentials))
