"""ADGM+: several ADGM runs side by side, and a local search that improves whatever they find."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from adgm._kernels import FloatArray
from adgm.bounds.all_pairs import bytes_needed
from adgm.bounds.bound import hopeless, refusal, search
from adgm.bounds.branch_and_bound import DD, DDState, begin_with, tolerance
from adgm.bounds.third_order import PairsState
from adgm.machine.deadline import TimeUp, carried, check_time
from adgm.options import check, option
from adgm.penalty import RULES
from adgm.problem import Problem
from adgm.rounding import Assignment
from adgm.search.fusion import Fusion, FusionState, first_matching, fuse
from adgm.search.hyperedges import or_from_hyperedges
from adgm.search.local_search import has_tabu_search, iterated_local_search, polish, random_restart
from adgm.search.permutations import breed, can_breed
from adgm.search.portfolio_members import WAVE, Member, MemberState, extended, member, rounded, split, with_matching
from adgm.search.portfolio_state import PortfolioState, Proof, Task

OPENING = 10  # iterations after which fusion moves and the bound may make all others superfluous
PROPOSALS = 12  # fusion moves then, and after a wave
BATCH = 2  # members that search at a time once a wave is over, whatever the number of cores
# Searches from random matchings that must lead to the best one: in general, and if all but one of the wave led there.
WITNESSES, FEWER_WITNESSES = 3, 2
THIRD = 8  # times less effort for third order, where it buys less: costs of hyperedges are moved, too
FEWEST_SWEEPS = 8  # of the dual ascent: proofs take two to twenty of all pairs of variables, if they come at all
# Pair costs for every variable and node of the smaller graph that a proof may visit first: in about the time of a wave.
SHARE = 100.0
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Portfolio:
    """ADGM+ : a portfolio of ADGM runs that differ in what decides where they end, on all cores.

    It opens with fusion moves from the unary costs' matching and a short search for a proof by the dual bound of
    `adgm.bounds.bound`: easy problems end there. Where costs are products of two matrices (quadratic assignment), a
    search over permutations comes first (`adgm.search.permutations`). Then waves of members: every `stride` iterations
    all round and improve their matching by the local search, and losers end; fusion moves merge what they found. The
    proof goes on after a wave and after every round that follows, each time for as long as in all before, so that
    neither it nor the search has to wait for the other's end; what is left of its effort it gets when the search is
    over. Rounds of iterated local search follow (random perturbations and descents, tabu search where the problem
    allows) from every member's matching, and from random restarts, because a deep optimum can lie far from where ADGM
    leads: short ones first, longer ones as long as it is not over. It is over when enough members agree, searches from
    random matchings among them (six runs of ADGM may agree on less than the optimum), or when `rounds`
    rounds in a row found nothing better; else another wave starts.

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
        4,
        "Rounds of local search",
        "Most rounds of restarts and perturbations after a wave of runs; so many in vain end it.",
        low=1,
    )
    effort: float = option(
        1.2e8,
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
        found = or_from_hyperedges(problem, polish(problem, first_matching(problem))[0])  # if time is short
        try:
            first, *others = self._wave(problem, ())
            queue = [Task("breed")] * can_breed(problem) + [Task("merge"), Task("open")] * self._can_judge(problem)
        except TimeUp:
            raise TimeUp(found) from None
        first = with_matching(problem, first, found)
        state = PortfolioState(iteration=0, x=first.run.x, energy=first.run.energy, members=(first, *others))
        return self._led(problem, replace(state, queue=tuple(queue)))

    def done(self, state: PortfolioState) -> bool:
        return state.finished

    def step(self, problem: Problem, state: PortfolioState, n: int = 1) -> PortfolioState:
        """n iterations of every member that runs; decisions fall at multiples of `stride`, however large n is.

        A task of the queue takes no iterations, and is a step of its own.
        """
        traces: list[dict[str, FloatArray]] = []
        while n > 0 and not state.finished:
            if state.queue and (state.iteration >= OPENING or not state.live):
                if traces:
                    break
                return replace(self._do(problem, state), trace={})
            length = min(n, self.stride - state.in_wave % self.stride)
            if state.iteration < OPENING:
                length = min(length, OPENING - state.iteration)
            state = self._advance(problem, state, length)
            traces.append(state.trace)
            n -= length
        joined = {name: np.concatenate([t[name] for t in traces]) for name in (traces[0] if traces else ())}
        return replace(state, trace=joined)

    def _do(self, problem: Problem, state: PortfolioState) -> PortfolioState:
        """The state after the first task of the queue."""
        task, state = state.queue[0], replace(state, queue=state.queue[1:])
        if task.do == "breed":
            assert state.best is not None
            breeding = breed(problem, state.breeding, state.best, self.seed)
            again = () if breeding.over else (task,)
            state = replace(state, breeding=breeding, queue=(*again, *state.queue))
            return self._given(problem, state, breeding.matching(problem))
        if task.do == "merge":
            return self._merged(problem, state, task.number)
        if task.do in ("restart", "perturb"):
            return self._searched(problem, state, task)
        state = self._judged(problem, state)
        if task.do == "finish":
            return self._ended(problem, state)
        if task.do == "open":  # before the members have found much
            ended = [replace(each, ended="proved") for each in state.members] if state.proved else state.members
            return replace(state, members=tuple(ended), finished=state.proved, converged=state.proved)
        led = sum(each.holds(state.best) for each in state.members[state.first :])
        if self._lower(problem, state):
            state = replace(state, in_vain=0, before=state.best_energy)
        return replace(state, led=led, finished=state.proved, converged=state.proved)

    def _advance(self, problem: Problem, state: PortfolioState, length: int) -> PortfolioState:
        members = list(state.members)
        live = state.live
        at_boundary = (state.in_wave + length) % self.stride == 0

        def run(i: int) -> MemberState:
            each = members[i]
            after = each.method.step(each.problem, each.run, length)
            each = extended(each, after)
            if at_boundary or each.method.done(after):
                each = rounded(problem, each)
            return each

        for i, each in zip(live, self._map(problem, run, live), strict=True):
            members[i] = each
        state = self._led(problem, replace(state, members=tuple(members), in_wave=state.in_wave + length))
        if at_boundary:
            state = replace(state, members=self._without_losers(state))
        if not state.live:
            state = replace(state, queue=self._after_wave(problem, state))
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

    def _without_losers(self, state: PortfolioState) -> tuple[MemberState, ...]:
        """The worse half ends after `trial` iterations, all but the leader after twice as many."""
        wave = range(state.first, len(state.members))
        keep = len(wave) if state.in_wave < self.trial else len(wave) // 2 if state.in_wave < 2 * self.trial else 1
        ranked = sorted(wave, key=lambda i: (state.members[i].own_energy, i))
        return tuple(
            replace(each, ended="beaten") if i in ranked[keep:] and not each.ended else each
            for i, each in enumerate(state.members)
        )

    def _after_wave(self, problem: Problem, state: PortfolioState) -> tuple[Task, ...]:
        """What follows when all members have ended: fusion, the bound's judgement, the first round of local search."""
        rest = [task for task in state.queue if task.do == "breed"]
        return (*rest, Task("merge", 1 + state.first // WAVE), Task("judge"), *self._round(problem, state, 0))

    def _round(self, problem: Problem, state: PortfolioState, number: int) -> tuple[Task, ...]:
        """A round of restarts and perturbations, a batch of the wave's members after the other."""
        wave = range(state.first, len(state.members))
        order = sorted(wave, key=lambda i: not state.members[i].member.restart)
        restarts, perturbations = self._tasks_of(problem, number)
        tasks: list[Task] = []
        for at in range(0, len(order), BATCH):
            batch = tuple(order[at : at + BATCH])
            tasks += [Task("restart", number, batch, begins=k == 0) for k in range(restarts)]
            tasks += [Task("perturb", number, batch) for _ in range(perturbations)]
            tasks[-1] = tasks[-1]._replace(ends="batch" if at + BATCH < len(order) else "round")
        return tuple(tasks)

    def _searched(self, problem: Problem, state: PortfolioState, task: Task) -> PortfolioState:
        """Some members' restarts or perturbations, and what is decided if a batch or the round ends with them."""
        search = self._restarted if task.do == "restart" else self._perturbed
        members = list(state.members)

        def further(i: int) -> MemberState:
            each = members[i]
            if task.begins:
                each = replace(each, rng=np.random.default_rng([each.member.seed, task.number]))
            return search(problem, each, task.number, state.best)

        for i, each in zip(task.members, self._map(problem, further, task.members), strict=True):
            members[i] = each
        state = self._led(problem, replace(state, members=tuple(members)))
        return self._decided(problem, state, task) if task.ends else state

    def _decided(self, problem: Problem, state: PortfolioState, task: Task) -> PortfolioState:
        """After a batch, whether enough members agree; after a round also whether it was in vain, and what is next."""
        over, count, following = task.ends == "round", len(state.members), task.number + 1
        full = self._tasks_of(problem, task.number) == self._tasks_of(problem, following)
        agreed = state.agreeing >= min(self.agree, count) and ((over and full) or self._witnessed(state))
        if over:
            in_vain = 0 if self._lower(problem, state) else state.in_vain + 1
            state = replace(state, in_vain=in_vain, before=state.best_energy)
        spent = following == self.rounds and count >= self.most_lanes
        if agreed or (over and (spent or state.in_vain >= self.rounds)):
            return self._ended(problem, replace(state, agreed=agreed))
        if not over:
            return state
        state = self._judged(problem, state)
        if state.proved:
            return replace(state, finished=True, converged=True)
        if following < self.rounds:
            return replace(state, queue=self._round(problem, state, following))
        return replace(state, members=self._wave(problem, state.members), first=count, in_wave=0)

    @staticmethod
    def _lower(problem: Problem, state: PortfolioState) -> bool:
        """Whether something better was found since the present round began."""
        return not state.best_energy >= state.before - tolerance(state.best_energy, problem.spread)

    def _tasks_of(self, problem: Problem, number: int) -> tuple[int, int]:
        """Restarts and perturbations per batch of a round: few at first, then all that are allowed."""
        tabu = has_tabu_search(problem)
        few = (2 if tabu else 1) << number
        return min(few, max(1, self.scouts)) if tabu else 1, min(few, max(1, self.kicks))

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

    def _merged(self, problem: Problem, state: PortfolioState, time: int) -> PortfolioState:
        """The members' matchings merged, and proposals where these are quick, others each time; the leading member gets
        the result."""
        best = state.best
        assert best is not None
        for each in (one.best for one in state.members[state.first :] if one.best is not None):
            best = fuse(problem, best, each)[0]
        if has_tabu_search(problem):
            done, energy = time * PROPOSALS, problem.energy(best)
            start = FusionState(iteration=done, x=best.astype(float), best=best, best_energy=energy)
            best = Fusion(patience=PROPOSALS, seed=self.seed).step(problem, start, PROPOSALS).best
            assert best is not None
        return self._given(problem, state, best)

    def _given(self, problem: Problem, state: PortfolioState, matching: Assignment) -> PortfolioState:
        """The leading member gets a matching."""
        members = list(state.members)
        members[state.leader] = with_matching(problem, members[state.leader], matching)
        return self._led(problem, replace(state, members=tuple(members)))

    def _judged(self, problem: Problem, state: PortfolioState) -> PortfolioState:
        """The next turn of the search for a proof that the best matching is optimal: as much again as all before, if
        one sweep fits into it. A better matching that it finds goes to the leading member.

        A search that was given up begins anew if there is a better matching which closes half of the gap that it left.
        """
        if not self._can_judge(problem) or state.proved:
            return state
        proof, energy, least = state.proof, state.best_energy, SHARE * problem.n * min(problem.shape)
        proof = replace(proof, granted=min(self._most_effort(problem), max(least, 2.0 * proof.granted)))
        state = replace(state, proof=proof)
        better = energy < proof.judged - tolerance(energy, problem.spread)
        closed = 2.0 * (energy - proof.lower) <= proof.judged - proof.lower
        if problem.n**2 > proof.granted or (proof.search is None and not (better and closed)):
            return state
        assert state.best is not None
        method = search(problem, DD(effort=proof.granted))
        found: DDState | PairsState = proof.search or method.init(problem)
        if energy < found.best_energy:
            found = begin_with(found, state.best, energy)
        while not (over := found.proved or hopeless(found)) and not method.done(found):
            found = method.step(problem, found)
        over = over or found.work < proof.granted
        assert found.best is not None
        state = self._given(problem, replace(state, proved=found.proved), found.best)
        if over:
            return replace(state, proof=Proof(None, proof.granted, state.best_energy, found.lower))
        return replace(state, proof=replace(proof, search=found))

    def _ended(self, problem: Problem, state: PortfolioState) -> PortfolioState:
        """Finished, if the proof has no turn left; else that is the next task."""
        proof = state.proof
        given_up = proof.search is None and np.isfinite(proof.judged)
        left = self._can_judge(problem) and not given_up and proof.granted < self._most_effort(problem)
        finished = state.proved or not left
        converged, queue = finished and (state.proved or bool(state.agreed)), () if finished else (Task("finish"),)
        return replace(state, finished=finished, converged=converged, queue=queue)

    def _most_effort(self, problem: Problem) -> float:
        return self.effort / (THIRD if problem.order == 3 else 1)

    def _can_judge(self, problem: Problem) -> bool:
        """Whether there is a bound, and effort for some sweeps."""
        enough = self.effort >= FEWEST_SWEEPS * problem.n**2
        room = problem.order == 3 or bytes_needed(problem) <= problem.memory  # what bounds those lists its pairs
        return enough and room and not refusal(problem)

    def _wave(self, problem: Problem, before: tuple[MemberState, ...]) -> tuple[MemberState, ...]:
        """The members so far and the next ones, ready to run."""
        numbers = range(len(before), min(len(before) + WAVE, self.most_lanes))
        chosen = [member(i, problem.order, self.seed) for i in numbers]
        known = {each.member.split: each.problem for each in before}
        keys = list(dict.fromkeys(each.split for each in chosen))

        def divide(key: int | None) -> tuple[Problem, float]:
            check_time()
            part = known[key] if key in known else split(problem, key)
            check_time()
            return part, RULES["auto"](part)  # which builds its tables, too

        parts = dict(zip(keys, self._map(problem, divide, keys), strict=True))

        def begin(each: Member) -> MemberState:
            part, auto = parts[each.split]
            method = each.method(auto, self.max_iter)
            return MemberState(each, part, method, method.init(part))

        return before + tuple(self._map(problem, begin, chosen))

    def _led(self, problem: Problem, state: PortfolioState) -> PortfolioState:
        """The best matching, who found it first, and how many members hold it."""
        members = state.members
        best = min(each.best_energy for each in members)
        leader = next(i for i, each in enumerate(members) if each.best_energy <= best + tolerance(best, problem.spread))
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
