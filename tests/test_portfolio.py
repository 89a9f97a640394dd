"""ADGM+: deterministic however many threads, anytime, never worse than its own members."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from adgm import ANY, AT_MOST_ONE, EXACTLY_ONE, METHODS, Sparse, iterate, solve
from adgm.bounds.all_pairs import bytes_needed
from adgm.bounds.bound import bound, hopeless
from adgm.bounds.branch_and_bound import BoundState
from adgm.search import portfolio
from adgm.search.portfolio import Portfolio, PortfolioState
from adgm.search.portfolio_members import Member, MemberState, member, split
from tests import oracles
from tests.problems import mixed, planted, random_sparse

RULES = [(AT_MOST_ONE, AT_MOST_ONE), (EXACTLY_ONE, AT_MOST_ONE), (ANY, AT_MOST_ONE), (EXACTLY_ONE, ANY), (ANY, ANY)]
SHORT = {"most_lanes": 8, "kicks": 1, "scouts": 1, "rounds": 2, "effort": 0, "max_iter": 120, "trial": 40, "stride": 20}


def signature(result):
    lanes = [(each.best_energy, each.ended, each.residuals.tolist()) for each in result.state.members]
    return result.energy, result.assignment.tolist(), result.iterations, result.state.agreeing, lanes


@pytest.mark.parametrize("order", [2, 3])
def test_the_same_seed_gives_the_same_result_with_any_number_of_threads(order):
    results = [
        signature(solve(mixed((5, 6), order=order, seed=4), Portfolio(threads=threads, agree=9, **SHORT)))
        for threads in (1, 2, 4)
    ]
    assert results[0] == results[1] == results[2]


def test_a_small_memory_gives_the_same_result_with_any_number_of_threads():
    results = [
        signature(solve(mixed((4, 5), order=2, seed=4, memory=2000), Portfolio(threads=threads, **SHORT)))
        for threads in (1, 4)
    ]
    assert results[0] == results[1]


def test_the_result_does_not_depend_on_how_often_one_looks():
    problem = mixed((5, 6), order=3, seed=1)
    once, often = (solve(problem, Portfolio(agree=9, **SHORT), every=every) for every in (1000, 7))
    assert signature(once) == signature(often)
    assert len(often.history["best"]) == often.iterations == len(often.history["seconds"])


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_it_finds_the_optimum_of_small_problems(rules, order):
    problem = mixed((3, 4), order=order, seed=order, rows=rules[0], cols=rules[1])
    result = solve(problem, Portfolio(**SHORT))
    assert oracles.allowed(problem, problem.matrix(result.assignment))
    exact = min(problem.energy(x) for x in everything(problem))
    np.testing.assert_allclose(result.energy, exact, atol=1e-9)
    np.testing.assert_allclose(problem.energy(result.assignment), result.energy, atol=1e-9)


def everything(problem):
    """All 0/1 matrices that obey the constraints."""
    for bits in range(1 << problem.n):
        x = (bits >> np.arange(problem.n)) & 1
        if oracles.allowed(problem, problem.matrix(x)):
            yield x.astype(float)


def test_at_any_moment_it_has_the_best_matching_so_far():
    problem = mixed((5, 6), order=3, seed=2)
    energies = []
    for state in iterate(Portfolio(agree=9, **SHORT), problem, every=13):
        assert len(state.live) <= len(state.members) <= SHORT["most_lanes"]
        if state.best is not None:
            assert state.best_energy == min(each.best_energy for each in state.members)
            np.testing.assert_allclose(problem.energy(state.best), state.best_energy)
            energies.append(state.best_energy)
    assert (np.diff(energies) <= 0).all()
    assert state.finished and all(each.ended for each in state.members)


def test_what_follows_a_wave_comes_in_pieces_without_iterations():
    problem = mixed((5, 6), order=2, seed=2)
    states = list(iterate(Portfolio(**{**SHORT, "kicks": 3, "most_lanes": 6}), problem, every=1000))
    closing = [(a, b) for a, b in pairwise(states) if not a.live]
    assert len(closing) >= 1 + 1 + 3  # the bound, scouts, three times the kicks
    assert all(b.iteration == a.iteration and not b.trace for a, b in closing)
    assert [a.queue[0].do for a, b in closing[:4]] == ["merge", "judge", "restart", "perturb"]
    assert all(b.queue == a.queue[1:] for a, b in closing if not a.queue[0].ends)  # one task a step


def test_it_tells_how_many_members_agree_and_stops_when_enough_do():
    problem, truth = planted(order=2, rows=EXACTLY_ONE)
    result = solve(problem, METHODS["adgm+"].make())
    np.testing.assert_array_equal(result.matching, truth)
    assert result.status == "converged" and result.state.agreeing >= 3 and result.state.proved
    leader = result.state.members[result.state.leader]
    np.testing.assert_array_equal(leader.best, result.assignment)


def test_without_a_proof_it_ends_early_on_the_word_of_searches_from_random_matchings():
    problem, truth = planted(order=2, rows=EXACTLY_ONE)
    result = solve(problem, Portfolio(effort=0))
    np.testing.assert_array_equal(result.matching, truth)
    members = result.state.members
    assert result.status == "converged" and not result.state.proved
    assert sum(each.roamed and each.holds(result.assignment) for each in members) >= 2
    assert any(each.rng is None for each in members)  # not all had to search


@pytest.mark.parametrize(("order", "seed"), [*product([2], range(4)), *product([3], range(2))])
@pytest.mark.parametrize("rules", RULES[:2])
def test_what_it_proves_is_the_optimum(rules, order, seed):
    problem = mixed((3, 4), order=order, seed=seed, rows=rules[0], cols=rules[1])
    one, four = (solve(problem, Portfolio(threads=threads, max_iter=1, trial=1, stride=1)) for threads in (1, 4))
    assert one.state.proved and one.status == "converged"
    np.testing.assert_allclose(one.energy, min(problem.energy(x) for x in everything(problem)), atol=1e-9)
    assert signature(one) == signature(four)


def test_third_order_is_proved_where_its_bound_is_tight_and_given_up_where_it_is_far():
    problem, truth = planted(order=3, rows=EXACTLY_ONE)
    result = solve(problem, Portfolio())
    assert result.state.proved and result.iterations == 10
    np.testing.assert_array_equal(result.matching, truth)
    asked = []
    far = mixed((6, 8), 3, 2)
    found = bound(far, solve(far, "fusion").assignment, watch=lambda state: asked.append(state) or hopeless(state))
    assert not found.solved and len(asked) == 5 and asked[-1].gap > 0.1


def test_it_claims_no_proof_where_there_is_none():
    problem, _ = planted(order=4, rows=EXACTLY_ONE)
    assert not solve(problem, Portfolio()).state.proved  # order 4 has no bound
    problem = mixed((6, 7), order=2, seed=1)
    assert not solve(problem, Portfolio(**{**SHORT, "effort": 1.0})).state.proved  # too little of it


def test_a_time_limit_ends_it_with_a_matching():
    problem = mixed((5, 6), order=3, seed=2)
    result = solve(problem, Portfolio(most_lanes=60, agree=60), every=1, time_limit=1e-6)
    assert result.status == "time limit"
    assert oracles.allowed(problem, problem.matrix(result.assignment))


@pytest.mark.parametrize("numbering", [0, 1, 2])
def test_sorted_copies_have_the_same_energy_and_one_entry_per_hyperedge(numbering):
    rng = np.random.default_rng(0)
    problem = mixed((3, 4), order=4, seed=0)
    parted = split(problem, numbering)
    for _ in range(5):
        x = rng.random(12)
        np.testing.assert_allclose(parted.energy(x), problem.energy(x))
    assert not any(isinstance(p, Sparse) and p.symmetric for p in parted.potentials)
    assert split(problem, None) is problem
    assert random_sparse(rng, 12, 3, 5, True).symmetric


@pytest.mark.parametrize("order", [2, 3])
def test_members_differ_and_say_how(order):
    lanes = [member(number, order, seed=0) for number in range(12)]
    assert len(set(lanes)) == 12
    assert len({str(each) for each in lanes[:6]}) == 6


def test_wrong_options_are_named():
    with pytest.raises(ValueError, match="kicks must be a whole number of at least 0, got -1"):
        Portfolio(kicks=-1)
    with pytest.raises(ValueError, match="agree must be a whole number of at least 1, got 0"):
        Portfolio(agree=0)
    with pytest.raises(ValueError, match="threads must be"):
        Portfolio(threads=0)


def of_members(*own: float, **options) -> PortfolioState:
    """A portfolio whose members' runs have come to these energies."""
    members = tuple(MemberState(Member(seed=i), None, None, None, own_energy=e) for i, e in enumerate(own))
    return PortfolioState(iteration=0, x=np.zeros(1), members=members, **options)


@pytest.mark.parametrize(("in_wave", "kept"), [(50, 6), (99, 6), (100, 3), (150, 3), (199, 3), (200, 1), (400, 1)])
def test_the_worse_half_ends_first_then_all_but_the_leader(in_wave, kept):
    state = of_members(5.0, 1.0, 4.0, 1.0, 3.0, 2.0, in_wave=in_wave)
    members = Portfolio(trial=100)._without_losers(state)
    best = [1, 3, 5, 4, 2, 0][:kept]  # of equals the first
    assert [each.ended for each in members] == ["" if i in best else "beaten" for i in range(6)]


def test_members_of_earlier_waves_and_those_that_have_ended_stay_as_they_are():
    state = of_members(9.0, 8.0, 1.0, 2.0, 3.0, 4.0, first=2, in_wave=200)
    ended = replace(state.members[4], ended="converged")
    members = (*state.members[:4], ended, state.members[5])
    after = Portfolio(trial=100)._without_losers(replace(state, members=members))
    assert [each.ended for each in after] == ["", "", "", "beaten", "converged", "beaten"]


@pytest.mark.parametrize(("led", "needed"), [(0, 3), (4, 3), (5, 2), (6, 2)])
def test_only_searches_from_random_matchings_that_lead_to_the_best_are_witnesses(led, needed):
    best, other = np.array([True, False]), np.array([False, True])
    state = of_members(*range(6), led=led, best=best)

    def witnessed(count: int) -> bool:
        roles = [(best, True)] * count + [(best, False), (other, True)] * 3
        members = [
            replace(each, at=at, roamed=roamed) for each, (at, roamed) in zip(state.members, roles, strict=False)
        ]
        return Portfolio._witnessed(replace(state, members=tuple(members)))

    assert [witnessed(count) for count in range(5)] == [count >= needed for count in range(5)]


class Endless:
    """A search for a bound that never comes to anything."""

    def __init__(self, effort: float) -> None:
        self.effort = effort

    def init(self, problem):
        return BoundState(iteration=0, x=np.zeros(problem.n), spread=1.0, best=np.zeros(problem.n, bool))

    def done(self, state):
        return state.work >= self.effort

    def step(self, problem, state, n=1):
        return replace(state, work=state.work + problem.n**2)


def test_search_and_proof_take_turns_and_the_proof_has_what_is_left_at_the_end(monkeypatch):
    monkeypatch.setattr(portfolio, "search", lambda problem, method: Endless(method.effort))
    monkeypatch.setattr(portfolio, "hopeless", lambda state: False)
    problem = mixed((9, 10), order=2, seed=1)
    method = Portfolio(**{**SHORT, "effort": 1e7})
    states = list(iterate(method, problem, every=1000))
    turns = [k for k, (a, b) in enumerate(pairwise(states)) if b.proof.granted > a.proof.granted]
    searching = [k for k in turns if states[k].agreed is None]
    share = portfolio.SHARE * problem.n * 9
    for number, (k, later) in enumerate(pairwise(searching), 1):
        assert states[k + 1].proof.granted == share * 2 ** (number - 1)
        assert states[k + 1].proof.search.work < states[k + 1].proof.granted + problem.n**2
        between = {(one.iteration, len(one.queue), one.first) for one in states[k + 1 : later + 1]}
        assert len(between) > 1  # the search went on meanwhile
    assert len(searching) >= 3 and len(turns) > len(searching)
    assert states[-1].proof.granted == 1e7 and states[-1].finished and not states[-1].proved


def test_a_proof_that_would_cost_more_than_its_turn_waits_for_a_longer_one(monkeypatch):
    asked = []
    monkeypatch.setattr(portfolio, "search", lambda problem, method: asked.append(method.effort) or Endless(0.0))
    monkeypatch.setattr(portfolio, "hopeless", lambda state: False)
    monkeypatch.setattr(portfolio, "SHARE", 1.0)
    problem = mixed((6, 7), order=2, seed=1)
    solve(problem, Portfolio(**{**SHORT, "effort": 1e5}))
    assert asked and min(asked) >= problem.n**2 > portfolio.SHARE * problem.n * 6


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "ρ0"),
        ({"factor": 4.0, "balance": False}, "4 × ρ0, growing only"),
        ({"start": "random", "coupling": "chain", "split": 0}, "ρ0, random, chain, sorted copies"),
        ({"split": 2, "restart": True, "start": "zeros"}, "ρ0, zeros, renumbered copies, restarts"),
    ],
)
def test_a_member_says_in_what_it_differs(options, told):
    assert str(Member(**options)) == told


@pytest.mark.parametrize("balance", [True, False])
def test_a_member_is_the_method_that_it_says(balance):
    method = Member(4.0, balance, "random", "chain", seed=7).method(0.5, 30)
    assert (method.rho0, method.start, method.coupling, method.seed, method.max_iter) == (2.0, "random", "chain", 7, 30)
    assert (method.balance == 1.0) == (not balance) and method.escape and not method.round_every and not method.polish


def test_members_after_the_first_are_like_them_from_random_starts_of_their_own():
    for order in (2, 3):
        first = [member(k, order, seed=5) for k in range(6)]
        for k, later in enumerate(member(6 + k, order, seed=5) for k in range(6)):
            assert (later.start, later.seed) == ("random", 11 + k)
            assert replace(later, start=first[k].start, seed=5 + k) == first[k]


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("turn", [0, 1])
def test_a_member_begins_at_random_if_it_is_of_those_and_later_if_it_does_not_hold_the_best(turn, restart):
    problem, truth = planted((4, 4))
    best = np.eye(4, dtype=bool)[truth].ravel()
    other = np.roll(best.reshape(4, 4), 1, axis=1).ravel()
    for at in (best, other):
        each = MemberState(Member(restart=restart), None, None, None, at=at, rng=np.random.default_rng(0))
        found = Portfolio()._restarted(problem, each, turn, best)
        moved = restart if turn == 0 else at is other
        assert found.roamed == moved and (found.restarted is not None) == moved


def test_a_proof_of_third_order_is_looked_for_also_where_all_pairs_of_labels_would_not_fit():
    for order, looked_for in ((3, True), (2, False)):
        problem = replace(mixed((4, 4), order, rows=EXACTLY_ONE, cols=EXACTLY_ONE), memory=2000)
        assert bytes_needed(problem) > problem.memory
        assert Portfolio()._can_judge(problem) == looked_for
        assert Portfolio()._can_judge(replace(problem, memory=1 << 30))
