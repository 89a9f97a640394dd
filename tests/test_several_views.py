"""Several views: energies, one view against tracks, exchanges and cycle errors, against slow and obvious versions."""

from itertools import combinations, permutations, product

import numpy as np
import pytest

from adgm import Dense, Problem, Sparse, solve
from adgm.machine.deadline import TimeUp, deadline
from adgm.views import JOINTS, PLANS, Forced, JointProblem, cycle_errors, solve_jointly
from adgm.views.exchange import changes, exchanged, gain
from adgm.views.joints import Rematching
from adgm.views.synchronise import synchronised
from adgm.views.tracks import alone, check, matching, numbered, of_matchings, table

CASES = {
    "pairs of matches": {"sizes": (3, 4, 3)},
    "third order": {"sizes": (3, 3, 3, 3), "third": True},
    "complete": {"sizes": (4, 4, 4), "rule": "exactly_one"},
    "candidates": {"sizes": (3, 4, 3), "candidates": True},
    "candidates at a cost": {"sizes": (3, 4, 3), "candidates": True, "third": True, "absent": 0.3},
}


def joint(sizes, rng, *, third=False, rule="at_most_one", candidates=False, absent=None, forced=()):
    """Random costs, negative and positive."""
    problems = {}
    for i, j in combinations(range(len(sizes)), 2):
        n = sizes[i] * sizes[j]
        costs = [Dense(rng.normal(0, 1, (sizes[i], sizes[j]))), Dense(rng.normal(0, 0.5, (n, n)))]
        if third:
            rows = np.array(list(combinations(range(n), 3)))[rng.permutation(n * (n - 1) * (n - 2) // 6)[:40]]
            costs.append(Sparse(rows, rng.normal(0, 1, len(rows)), symmetric=True))
        mask = rng.random((sizes[i], sizes[j])) < 0.85 if candidates else None
        if mask is not None:
            mask[0, 0] = True
        problems[i, j] = Problem((sizes[i], sizes[j]), costs, rule, rule, mask)
    return JointProblem(sizes, problems, absent, forced)


def drawn(problem, rng):
    most = max(problem.sizes) if problem.complete else max(problem.sizes) + 2
    return tuple(rng.permutation(most)[:size] for size in problem.sizes)


def obvious(problem, tracks):
    """The energy of every pair's matching, by the pair's own problem."""
    total = 0.0
    for (i, j), pair in problem.problems.items():
        x = tracks[i][:, None] == tracks[j]
        if pair.candidates is not None:
            lacking = (x & ~pair.candidates).sum()
            if lacking and problem.absent is None:
                return np.inf
            total += lacking * (problem.absent or 0.0)
            x &= pair.candidates
        total += pair.energy(x.astype(float))
    return total


@pytest.mark.parametrize("case", CASES)
def test_the_energy_is_that_of_all_pairs(case):
    rng = np.random.default_rng(1)
    problem = joint(rng=rng, **CASES[case])
    for _ in range(10):
        tracks = drawn(problem, rng)
        assert problem.energy(tracks) == pytest.approx(obvious(problem, tracks))


@pytest.mark.parametrize("case", CASES)
def test_one_view_against_tracks_costs_what_its_pairs_cost(case):
    rng = np.random.default_rng(2)
    problem = joint(rng=rng, **CASES[case])
    seen = 0
    for _ in range(20):
        tracks = drawn(problem, rng)
        for view in range(len(problem.sizes)):
            against = problem.against(view, tracks)
            assignment = against.assignment(tracks[view])
            if problem.energy(tracks) == np.inf or assignment.sum() < np.isin(tracks[view], against.present).sum():
                continue  # with a match that no pair has as a candidate
            pairs = sum(problem.pair_energy(tracks, couple) for couple in problem.couples if view in couple)
            assert against.problem.energy(assignment) == pytest.approx(pairs)
            again = against.labels(assignment, problem.sizes[view], 100)
            back = [*tracks]
            back[view] = again
            assert all(np.array_equal(a, b) for a, b in zip(numbered(back), numbered(tracks), strict=True))
            seen += 1
    assert seen > 5


@pytest.mark.parametrize("case", CASES)
def test_an_exchange_changes_the_energy_by_the_cut(case):
    rng = np.random.default_rng(3)
    problem = joint(rng=rng, **CASES[case])
    most, seen = max(problem.sizes) + 2, 0
    for _ in range(20):
        tracks = drawn(problem, rng)
        if problem.energy(tracks) == np.inf or seen > 300:
            continue
        costs = {couple: changes(problem, [*tracks], couple, most) for couple in problem.couples}
        for s, t in combinations(range(most - 2 * problem.complete), 2):
            for chosen in range(1, 2 ** len(problem.sizes) - 1):
                views = np.flatnonzero([chosen >> k & 1 for k in range(len(problem.sizes))])
                cut = sum(d[s, t] for (i, j), d in costs.items() if (i in views) != (j in views))
                real = gain(problem, tracks, s, t, views)
                assert cut == pytest.approx(real) if real < np.inf else cut > 1e29
                seen += 1
    assert seen > 20


@pytest.mark.parametrize("case", CASES)
def test_exchanges_end_where_none_improves(case):
    rng = np.random.default_rng(4)
    problem = joint(rng=rng, **CASES[case])
    tracks = JOINTS["tracks"].make(exchange=False)
    state = tracks.init(problem, {})
    while not tracks.done(state):
        state = tracks.step(problem, state)
    found, _ = exchanged(problem, state.tracks)
    energy = problem.energy(found)
    assert energy <= state.energy + 1e-9
    most = 1 + max(one.max() for one in found) + (not problem.complete)
    for s, t in combinations(range(most), 2):
        for chosen in range(1, 2 ** len(problem.sizes) - 1):
            views = np.flatnonzero([chosen >> k & 1 for k in range(len(problem.sizes))])
            assert gain(problem, found, s, t, views) > -1e-6


def best(problem):
    """The least total energy of all tracks of three views."""
    n1, n2, n3 = problem.sizes
    energies = []
    for (i, j), pair in problem.problems.items():
        known = {}
        for partner in partial(problem.sizes[i], problem.sizes[j]):
            x = np.zeros((problem.sizes[i], problem.sizes[j]))
            for p, q in enumerate(partner):
                if q >= 0:
                    x[p, q] = 1
            known[partner] = pair.energy(x)
        energies.append(known)
    least = np.inf
    for second in partial(n2, n1):  # the tracks 0 … n1 − 1 of the first view, and n1 + q
        track2 = [t if t >= 0 else n1 + q for q, t in enumerate(second)]
        first = [-1] * n1
        for q, t in enumerate(second):
            if t >= 0:
                first[t] = q
        for third in partial(n3, n1 + n2):
            at = {t: r for r, t in enumerate(third) if t >= 0}
            if any(n1 + q in at and second[q] >= 0 for q in range(n2)):
                continue
            one = energies[1][tuple(at.get(t, -1) for t in range(n1))]
            two = energies[2][tuple(at.get(t, -1) for t in track2)]
            least = min(least, energies[0][tuple(first)] + one + two)
    return least


def partial(n, m):
    """Every way to give n points different partners out of m, or none (−1)."""
    for chosen in product((False, True), repeat=n):
        for partners in permutations(range(m), sum(chosen)):
            rest = iter(partners)
            yield tuple(next(rest) if on else -1 for on in chosen)


def compare_with_the_best(count, sizes):
    reached = 0
    for seed in range(count):
        problem = joint(sizes, np.random.default_rng([7, seed]))
        least = best(problem)
        method = Rematching()
        state = method.init(problem, {})
        while not method.done(state):
            state = method.step(problem, state)
        assert state.energy >= least - 1e-9
        assert state.energy == pytest.approx(obvious(problem, state.tracks))
        reached += state.energy < least + 1e-6
    return reached


def test_tracks_never_beat_the_best_and_mostly_reach_it():
    assert compare_with_the_best(10, (3, 3, 3)) >= 9


@pytest.mark.long
def test_tracks_reach_the_best_of_two_hundred():
    assert compare_with_the_best(150, (3, 3, 3)) + compare_with_the_best(50, (3, 4, 3)) >= 190


@pytest.mark.parametrize("case", CASES)
def test_the_total_energy_never_rises(case):
    problem = joint(rng=np.random.default_rng(5), **CASES[case])
    method = Rematching()
    state, before = method.init(problem, {}), np.inf
    while not method.done(state):
        state = method.step(problem, state)
        assert state.energy <= before
        before = state.energy
        check(state.tracks, problem.sizes)
        errors = cycle_errors(problem.sizes, {(i, j): matching(state.tracks, i, j) for i, j in problem.couples})
        assert not np.nansum(errors)


def test_forced_matches_are_obeyed_and_the_others_follow():
    rng = np.random.default_rng(6)
    for case in ("pairs of matches", "complete", "third order"):
        free = joint(rng=np.random.default_rng(6), **CASES[case])
        method = Rematching()
        state = method.init(free, {})
        while not method.done(state):
            state = method.step(free, state)
        now = matching(state.tracks, 0, 1)
        p = int(np.argmax(now >= 0))
        q = int(rng.choice([q for q in range(free.sizes[1]) if q != now[p]]))
        for forced in ([Forced(0, p, 1, int(now[p]), False)], [Forced(0, p, 1, q, True)]):
            problem = joint(rng=np.random.default_rng(6), forced=forced, **CASES[case])
            again = method.init(problem, {}, start=state.tracks)
            while not method.done(again):
                again = method.step(problem, again)
            found = matching(again.tracks, 0, 1)[p]
            assert found == q if forced[0].together else found != now[p]
            assert state.energy - 1e-9 <= again.energy < np.inf
            assert again.energy == pytest.approx(obvious(problem, again.tracks))


def test_forced_matches_that_contradict_each_other_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="join two points of view 0"):
        joint((3, 3, 3), rng, forced=[Forced(0, 0, 1, 0, True), Forced(0, 1, 1, 0, True)])
    with pytest.raises(ValueError, match="both joined and kept apart"):
        joint((3, 3, 3), rng, forced=[(0, 0, 1, 0, True), (1, 0, 2, 0, True), (0, 0, 2, 0, False)])
    with pytest.raises(ValueError, match="no point 7 in view 2"):
        joint((3, 3, 3), rng, forced=[Forced(0, 0, 2, 7)])


def test_problems_that_are_complete_on_one_side_only_are_refused():
    problem = Problem((2, 3), [Dense(np.zeros((2, 3)))], "exactly_one", "at_most_one")
    with pytest.raises(ValueError, match="complete on one side only"):
        JointProblem((2, 3), {(0, 1): problem})


def test_spectral_synchronisation_finds_the_tracks_that_all_pairs_agree_on():
    rng = np.random.default_rng(8)
    for sizes, complete in (((5, 5, 5, 5), True), ((5, 6, 4, 6), False)):
        truth = [rng.permutation(6 if not complete else 5)[:size] for size in sizes]
        matchings = {(i, j): matching(truth, i, j) for i, j in combinations(range(4), 2)}
        found = synchronised(sizes, matchings, complete=complete)
        for couple, partner in matchings.items():
            assert np.array_equal(matching(found, *couple), partner)


def test_spectral_synchronisation_overrules_a_wrong_pair():
    truth = [np.random.default_rng(k).permutation(6) for k in range(5)]
    matchings = {(i, j): matching(truth, i, j) for i, j in combinations(range(5), 2)}
    wrong = {**matchings, (1, 3): np.roll(matchings[1, 3], 1)}
    found = synchronised([6] * 5, wrong, complete=True)
    assert np.array_equal(matching(found, 1, 3), matchings[1, 3])


def test_tracks_of_pairs_that_contradict_each_other_are_not_believed():
    matchings = {(0, 1): np.array([0, 1]), (1, 2): np.array([0, 1]), (0, 2): np.array([1, -1])}
    assert (table(of_matchings((2, 2, 2), matchings)) >= 0).sum(axis=1).max() == 1
    del matchings[0, 2]
    assert table(of_matchings((2, 2, 2), matchings)).tolist() == [[0, 0, 0], [1, 1, 1]]


def test_cycle_errors_count_the_ways_that_lead_elsewhere():
    straight = np.arange(4)
    agree = {(0, 1): straight, (1, 2): straight, (0, 2): straight}
    assert np.nansum(cycle_errors((4, 4, 4), agree)) == 0
    one_wrong = {**agree, (0, 2): np.array([1, 0, 2, -1])}
    errors = cycle_errors((4, 4, 4), one_wrong)
    assert errors[0, 2] == errors[2, 0] == pytest.approx(6 / 8)  # three of four ways each way
    assert errors[0, 1] == pytest.approx(4 / 6)
    assert np.isnan(errors[0, 0])


@pytest.mark.parametrize("name", PLANS)
def test_every_plan_reaches_every_view(name):
    for m in range(2, 8):
        couples = PLANS[name].couples(m)
        assert len(set(couples)) == len(couples) and all(0 <= i < j < m for i, j in couples)
        assert len(np.unique(couples)) == m
    assert len(PLANS["all"].couples(6)) == 15 and len(PLANS["neighbours"].couples(6, 3)) == 12


@pytest.mark.parametrize("name", JOINTS)
def test_every_joint_ends_and_keeps_its_word(name):
    problem = joint((3, 4, 3), np.random.default_rng(9))
    if refusal := JOINTS[name].refusal(problem):
        pytest.skip(refusal)
    alone_ = {couple: solve(pair, "adgm").matching for couple, pair in problem.problems.items()}
    method = JOINTS[name].make()
    state = method.init(problem, alone_)
    while not method.done(state):
        state = method.step(problem, state)
    check(state.tracks, problem.sizes)
    if JOINTS[name].consistent:
        assert state.energy == pytest.approx(obvious(problem, state.tracks))
    else:
        energies = [solve(pair, "adgm").energy for pair in problem.problems.values()]
        assert state.energy == pytest.approx(sum(energies))


def test_a_deadline_ends_a_step_and_what_was_found_stays():
    problem = joint((4, 4, 4), np.random.default_rng(10))
    method = Rematching()
    state = method.init(problem, {})
    state = method.step(problem, state)
    with pytest.raises(TimeUp), deadline(lambda: True):
        method.step(problem, state)
    assert len(alone((4, 4, 4))) == len(state.tracks)


@pytest.mark.parametrize("power", [-40, 40])
@pytest.mark.parametrize("rule", ["exactly_one", "at_most_one"])
def test_the_unit_of_costs_changes_no_tracks(rule, power):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        pairs = {couple: rng.normal(-0.1, 1, (4, 4)) for couple in combinations(range(4), 2)}
        more = {couple: rng.normal(0, 0.3, (16, 16)) for couple in pairs}
        found = []
        for unit in (1.0, 2.0**power):
            problems = {c: Problem((4, 4), [Dense(unit * pairs[c]), Dense(unit * more[c])], rule, rule) for c in pairs}
            found.append(solve_jointly(JointProblem([4] * 4, problems), "tracks"))
        assert found[1].energy == pytest.approx(2.0**power * found[0].energy, rel=1e-9)
        for one, other in zip(found[0].tracks, found[1].tracks, strict=True):
            assert one.tolist() == other.tolist()


def test_a_last_step_that_improves_nothing_says_so():
    problem = joint((3, 3, 3), np.random.default_rng(0))
    method = Rematching(exchange=False)
    state = method.init(problem, {})
    while not method.done(state):
        state = method.step(problem, state)
    assert state.converged and not state.kept
