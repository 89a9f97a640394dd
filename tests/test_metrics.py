"""Metrics: against plain counting, and the verdict against brute force."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from adgm import ANY, AT_MOST_ONE, EXACTLY_ONE, Dense, Problem, solve
from adgm.rounding import unary_matching
from features.datasets import DATASETS
from features.judge.metrics import (
    Metrics,
    RoundedCurve,
    as_assignment,
    equal,
    kinds,
    kinds_of,
    matched_pairs,
    measure,
    measure_matches,
    missed,
    number,
    objectives,
    percent,
    ratio,
    score,
    share_right,
    shares,
    true_assignment,
)
from features.models import MODELS
from features.pairs import Pair, View
from features.points.keypoints import Keypoints
from oracles import matchings
from problems import mixed, planted


def pair_of(shape, truth) -> Pair:
    rng = np.random.default_rng(0)
    views = [View(None, Keypoints(rng.uniform(0, 9, (n, 2)))) for n in shape]
    return Pair(views[0], views[1], truth, "a pair")


def test_a_score_is_minus_the_energy_of_a_similarity_and_the_cost_itself():
    assert score(-3.0, "similarity") == 3.0 and score(3.0, "cost") == 3.0
    assert str(score(0.0, "similarity")) == "0.0"


@pytest.mark.parametrize(("energy", "reference", "expected"), [(-4, -2, 2.0), (2, 4, 2.0), (4, 2, 0.5), (-1, -1, 1.0)])
def test_ratio_above_one_is_better(energy, reference, expected):
    assert ratio(energy, reference) == expected
    assert (expected > 1) == (energy < reference)


@pytest.mark.parametrize(("energy", "reference"), [(1, -1), (0, 1), (1, 0)])
def test_ratio_of_different_signs_is_nobodys(energy, reference):
    assert np.isnan(ratio(energy, reference))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_shares_sum_to_the_energy(order):
    problem = mixed(order=order)
    chosen = as_assignment(problem, [1, 3, 0])
    assert shares(problem, chosen).sum() == pytest.approx(problem.energy(chosen.astype(float)))
    assert len(shares(problem, chosen)) == 3


def test_matchings_and_assignments_are_the_same_thing():
    problem, matching = planted()
    pairs = matched_pairs(problem, as_assignment(problem, matching))
    np.testing.assert_array_equal(pairs, np.stack([np.arange(len(matching)), matching], axis=1))
    assert len(matched_pairs(problem, as_assignment(problem, np.full(len(matching), -1)))) == 0


def test_numbers_are_those_of_the_pair():
    problem, truth = planted()
    matching = truth.copy()
    matching[[0, 1]] = matching[[1, 0]]
    pair = pair_of(problem.shape, truth)
    metrics = measure(pair, problem, as_assignment(problem, matching), "similarity")
    assert metrics.accuracy == pair.accuracy(matching)
    assert (metrics.correct, metrics.possible, metrics.matched) == (4, 6, 6)
    assert metrics.energy == pytest.approx(problem.energy(as_assignment(problem, matching).astype(float)))
    assert metrics.caption == f"4/6 ({number(-metrics.energy)})"
    assert metrics.verdict == "optimiser stuck" and "better score" in metrics.explanation


@pytest.mark.parametrize(
    ("cost", "verdict"),
    [(2.0, "optimiser stuck"), (0.5, "model prefers this"), (1.0, "both agree")],
)
def test_the_verdict_compares_with_the_truth(cost, verdict):
    costs = np.full((2, 2), 1.0)
    costs[0, 1] = costs[1, 0] = cost
    problem = Problem((2, 2), [Dense(costs)], EXACTLY_ONE, EXACTLY_ONE)
    metrics = measure(pair_of((2, 2), np.arange(2)), problem, as_assignment(problem, [1, 0]), "cost")
    assert metrics.verdict == verdict
    assert metrics.explanation.lower().startswith(verdict)
    assert verdict.split()[0] in str(metrics).lower()


@pytest.mark.parametrize("constant", [0.0, 1e6, 1e9])
@pytest.mark.parametrize(
    ("cost", "verdict"),
    [(2.0, "optimiser stuck"), (0.5, "model prefers this"), (1.0, "both agree")],
)
def test_the_verdict_is_the_same_under_a_constant_in_all_costs(cost, verdict, constant):
    costs = np.random.default_rng(0).normal(size=(4, 4))
    costs[:2, :2] = [[1.0, cost], [1.0, 1.0]]
    problem = Problem((4, 4), [Dense(costs + constant)], EXACTLY_ONE, EXACTLY_ONE)
    metrics = measure(pair_of((4, 4), np.arange(4)), problem, as_assignment(problem, [1, 0, 2, 3]), "cost")
    assert metrics.verdict == verdict
    causes = metrics.causes(min(metrics.energy, metrics.truth_energy), proved=True)
    assert (causes.stuck, causes.model) == (cost == 2.0, cost == 0.5)


def test_matches_without_an_energy_get_no_verdict():
    metrics = Metrics((2, 2), 2, float("nan"), "cost", 1, 2, -3.0)
    assert metrics.verdict is None and "no energy for these matches" in metrics.explanation


@given(
    found=some.sampled_from([-3.0, -2.0, -1.0]),
    truth=some.sampled_from([-3.0, -2.0, -1.0]),
    best=some.sampled_from([None, -3.0, -2.0]),
    proved=some.booleans(),
)
def test_the_causes_say_what_is_proved_and_nothing_else(found, truth, best, proved):
    """Beside an optimum that nobody has met: what is called proved holds whatever that is."""
    metrics = Metrics((2, 2), 2, found, "cost", 0, 2, truth)
    causes, lowest = metrics.causes(best, proved), min(found, truth, *([] if best is None else [best]))
    for optimum in [lowest] if proved else [lowest, lowest - 1]:
        assert causes.stuck in (None, found > optimum)
        assert causes.model in (None, truth > optimum)
    open_ones = [causes.stuck, causes.model].count(None)
    assert open_ones == 0 if proved else open_ones == (found == lowest) + (truth == lowest)
    said = metrics.explained(best, proved)
    assert ("Not known without a proof" in said) == (open_ones > 0)
    assert said.startswith(str(metrics.verdict).capitalize())


def test_the_causes_in_words():
    metrics = Metrics((2, 2), 2, -2.0, "similarity", 0, 2, -3.0)
    assert "(score 2.0000 against 3.0000). Not known without" in metrics.explanation
    assert metrics.explained(proved=True).endswith("The model is right: no matching has a better score (proved).")
    assert "wrong, too: a known matching, of score 4.0000, is better" in metrics.explained(-4.0)
    other = Metrics((2, 2), 2, 2.0, "cost", 0, 2, 3.0)
    assert other.explained(proved=True).endswith("The optimiser is not stuck: no matching has a better cost (proved).")
    assert other.explained(1.0).endswith("The optimiser is stuck, too: a known matching, of cost 1.0000, is better.")


def test_by_a_map_precision_and_recall_are_counted_within_the_tolerance():
    left = np.array([(0, 0), (10, 0), (20, 0), (30, 0), (40, 0)], float)
    right = np.array([(0, 3), (10, 5), (21, 0), (29, 0), (90, 9)], float)
    pair = Pair(View(None, Keypoints(left)), View(None, Keypoints(right)), None, "mapped", np.eye(3), 4.0)
    costs = np.ones((5, 5))
    costs[[0, 1, 2], [0, 1, 2]] = 0.5
    problem = Problem((5, 5), [Dense(costs)], AT_MOST_ONE, AT_MOST_ONE)
    chosen = as_assignment(problem, [0, 1, 3, -1, 4])
    metrics = measure(pair, problem, chosen, "cost")
    assert kinds(pair, matched_pairs(problem, chosen)) == ["correct", "stray", "wrong", "stray"]
    assert missed(pair, matched_pairs(problem, chosen)).tolist() == [[3, 3]]
    assert (metrics.matched, metrics.correct, metrics.possible) == (4, 1, 3)
    assert metrics.precision == 1 / 4 and metrics.accuracy == 1 / 3
    assert metrics.truth_energy == 0.5 + 0.5 + 1 and metrics.verdict == "optimiser stuck"
    assert "within 4 px" in str(metrics) and metrics.to_dict()["precision"] == 0.25


def test_without_truth_nothing_is_said_about_it():
    problem, truth = planted()
    metrics = measure(pair_of(problem.shape, None), problem, as_assignment(problem, truth), "cost")
    assert metrics.verdict is metrics.accuracy is metrics.truth_score is metrics.ratio is None
    assert "unknown" in metrics.explanation and "matched" in metrics.caption


def test_nobody_with_a_partner_is_no_division_by_zero():
    metrics = Metrics((2, 2), 0, 0.0, "cost", 0, 0, 0.0)
    assert metrics.accuracy is None and "no point has a partner" in str(metrics)


def completions(problem, truth):
    """Every matching of n1 ≤ n2 points that holds the truth, the slow way."""
    n1, n2 = problem.shape
    for partners in permutations(range(n2), n1):
        if all(truth[i] in (-1, partners[i]) for i in range(n1)):
            yield np.array(partners)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("order", [1, 2])
def test_a_truth_with_outliers_is_completed_as_the_constraints_demand(seed, order):
    problem = mixed((3, 4), order=order, seed=seed, rows=EXACTLY_ONE)
    truth = np.array([2, -1, 0])
    true = true_assignment(problem, truth)
    full = matched_pairs(problem, true)
    assert full[:, 0].tolist() == [0, 1, 2] and (full[0, 1], full[2, 1]) == (2, 0)
    # one point is free: the cheapest partner to first order; for unary costs that is the best completion
    if order == 1:
        lowest = min(problem.energy(as_assignment(problem, p).astype(float)) for p in completions(problem, truth))
        assert problem.energy(true.astype(float)) == pytest.approx(lowest)
    metrics = measure(pair_of((3, 4), truth), problem, true, "cost")
    assert metrics.added == 1 and metrics.accuracy == 1 and metrics.verdict == "both agree"


@pytest.mark.parametrize("sides", [(EXACTLY_ONE, EXACTLY_ONE), (EXACTLY_ONE, AT_MOST_ONE), (AT_MOST_ONE, EXACTLY_ONE)])
def test_of_a_truth_that_cannot_be_completed_as_much_stays_as_can_and_the_rest_costs_least(sides):
    rng, crossed = np.random.default_rng(4), 0
    shape = (4, 4) if sides == (EXACTLY_ONE, EXACTLY_ONE) else (3, 4) if sides[0] == EXACTLY_ONE else (4, 3)
    for _ in range(60):
        mask, costs = rng.random(shape) < 0.7, rng.normal(size=shape)
        truth = np.where(rng.random(shape[0]) < 0.7, rng.permutation(4)[: shape[0]], -1)
        truth[truth >= shape[1]] = -1
        try:
            problem = Problem(shape, [Dense(costs)], *sides, mask)
            every = [(energy, problem.vector(matrix) > 0.5) for energy, matrix in matchings(problem)]
        except ValueError:
            continue
        if every:
            true = as_assignment(problem, truth)
            most = max(int((x & true).sum()) for _, x in every)
            found = true_assignment(problem, truth)
            assert (found & true).sum() == most
            least = min(energy for energy, x in every if (x & true).sum() == most)
            assert problem.energy(found) == pytest.approx(least)
            crossed += most < true.sum()
    assert crossed


def test_the_verdict_of_a_better_completion_of_the_truth_is_that_both_agree():
    """The truth is completed greedily: a matching that holds all of it and ends lower is a completion, too."""
    costs = np.zeros((3, 4, 3, 4))
    costs[0, 0, 1, 2] = -1.0  # so the second match is completed
    costs[1, 1, 2, 2] = costs[2, 2, 1, 1] = -5.0  # but two others are worth more together
    problem = Problem((3, 4), [Dense(costs.reshape(12, 12))], EXACTLY_ONE, AT_MOST_ONE)
    pair = pair_of((3, 4), np.array([0, -1, -1]))
    for matching in permutations(range(4), 3):
        chosen = as_assignment(problem, np.array(matching))
        completed = problem.energy(true_assignment(problem, pair.truth).astype(float))
        metrics, energy = measure(pair, problem, chosen, "cost"), problem.energy(chosen.astype(float))
        holds = matching[0] == 0
        assert metrics.truth_energy == (min(completed, energy) if holds else completed)
        assert metrics.added == 2 and metrics.correct == holds
        better = "both agree" if metrics.truth_energy == energy else "model prefers this"
        assert metrics.verdict == (better if metrics.truth_energy >= energy else "optimiser stuck")
    best = measure(pair, problem, as_assignment(problem, [0, 1, 2]), "cost")
    assert best.verdict == "both agree" and best.energy < completed


def test_a_matching_that_only_has_as_many_right_ones_is_no_completion():
    """Without anything to complete the truth keeps its own energy, whatever was found."""
    problem = Problem((2, 2), [Dense([[1.0, 0], [0, -3]])])
    pair = pair_of((2, 2), np.array([0, -1]))
    metrics = measure(pair, problem, as_assignment(problem, [0, -1]), "cost")
    assert (metrics.truth_energy, metrics.added, metrics.verdict) == (1.0, 0, "both agree")
    both = measure(pair, problem, as_assignment(problem, [0, 1]), "cost")
    assert (both.truth_energy, both.energy, both.verdict) == (1.0, -2.0, "model prefers this")


@pytest.mark.parametrize("sides", [(AT_MOST_ONE, AT_MOST_ONE), (ANY, ANY), (EXACTLY_ONE, ANY), (ANY, EXACTLY_ONE)])
def test_the_truth_is_feasible_under_every_constraint(sides):
    problem = mixed((3, 4), order=2, rows=sides[0], cols=sides[1])
    truth = np.array([2, -1, 0])
    rows, cols = matched_pairs(problem, true_assignment(problem, truth)).T
    assert {(0, 2), (2, 0)} <= set(zip(rows.tolist(), cols.tolist(), strict=True))
    for side, size, rule in ((rows, 3, sides[0]), (cols, 4, sides[1])):
        partners = np.bincount(side, minlength=size)
        assert (partners == 1).all() if rule == EXACTLY_ONE else rule == ANY or (partners <= 1).all()


def test_the_rounded_curve_ends_at_the_matching():
    problem, _ = planted()
    curve = RoundedCurve(problem)
    result = solve(problem, watch=curve, every=5)
    assert curve.iterations[-1] == result.iterations and min(curve.energies) == pytest.approx(result.energy)


@pytest.mark.parametrize("tables", [False, True])
def test_measuring_builds_no_tables_and_tells_the_same_with_them(tables):
    """A page measures a run that was out of time before it had any: they may take minutes."""
    pair = DATASETS["random"].load(inliers=6, outliers=2, left_outliers=2)
    problems = [MODELS[key].build(pair) for key in ("B", "third", "combined")]
    for problem in problems:
        found = unary_matching(problem)
        if tables:
            assert problem.scale > 0
        told = measure(pair, problem, found, "cost")
        assert ("runtime" in vars(problem)) == tables
        fresh = Problem(problem.shape, problem.potentials, problem.rows, problem.cols, problem.candidates)
        assert told.energy == pytest.approx(fresh.energy(found), rel=1e-12)
        completed = true_assignment(problem, pair.truth)
        assert told.truth_energy == pytest.approx(fresh.energy(completed), rel=1e-12)
        assert np.array_equal(completed, true_assignment(fresh, pair.truth))


@settings(deadline=None, derandomize=True, max_examples=30)
@given(some.integers(0, 10**6))
def test_the_gradient_is_what_a_match_more_costs_first(seed):
    problem = mixed(seed=seed)
    x = np.random.default_rng(seed).random(problem.n) < 0.3
    blocks = [x.astype(float)] * max(2, problem.order)
    slope = np.sum([problem.contract(blocks, d) for d in range(problem.order)], axis=0)
    bare = Problem(problem.shape, problem.potentials, problem.rows, problem.cols, problem.candidates)
    assert np.allclose(bare.gradient(x), slope) and "runtime" not in vars(bare)
    assert np.allclose(problem.gradient(x), slope)


@pytest.mark.parametrize(
    ("sense", "rows", "scored"),
    [("cost", EXACTLY_ONE, False), ("cost", AT_MOST_ONE, True), ("similarity", EXACTLY_ONE, True)],
)
def test_costs_of_a_matching_that_leaves_points_out_count_only_where_that_is_allowed(sense, rows, scored):
    problem = Problem((2, 2), [Dense([[1.0, 2], [3, 4]])], rows=rows)
    metrics = measure_matches(pair_of((2, 2), np.arange(2)), problem, np.array([[0, 0]]), sense)
    assert metrics.energy == 1.0 if scored else np.isnan(metrics.energy)
    assert (metrics.matched, metrics.correct) == (1, 1)


def test_the_objective_counts_ordered_pairs_of_different_matches():
    """The largest cost of each order, less the cost, over all of them: written out."""
    rng = np.random.default_rng(0)
    costs = rng.uniform(1, 5, (9, 9))
    problem = Problem((3, 3), [Dense(costs + costs.T)], EXACTLY_ONE, EXACTLY_ONE)
    truth, chosen = np.arange(3), [0, 4, 8]
    metrics = measure(pair_of((3, 3), truth), problem, as_assignment(problem, truth), "cost")
    expected = sum(problem.scale - (costs + costs.T)[a, b] for a in chosen for b in chosen if a != b)
    expected -= sum(2 * costs[a, a] for a in chosen)
    assert objectives(problem, metrics) == (pytest.approx(expected), pytest.approx(expected))


@pytest.mark.parametrize("matching", [[1, 0, 2, -1, 4], [-1] * 5, [0, 1, -1, 3, 5]])
def test_matches_by_kind_are_those_that_are_told_one_by_one(matching):
    pair = pair_of((5, 6), [0, 1, 2, 3, -1])
    pairs = [(i, j) for i, j in enumerate(matching) if j >= 0]
    found = kinds_of(pair, pairs)
    told = {kind: [one for one, name in zip(pairs, kinds(pair, pairs), strict=True) if name == kind] for kind in found}
    assert {kind: list(map(tuple, one.tolist())) for kind, one in found.items() if kind != "missed"} == {
        kind: one for kind, one in told.items() if kind != "missed"
    }
    alone = [i for i in range(4) if matching[i] < 0]
    assert found["missed"].tolist() == [[i, i] for i in alone] and found["missed"].shape == (len(alone), 2)


def test_the_share_of_a_relaxed_assignment_is_the_weight_it_gives_to_partners():
    pair, x = pair_of((3, 4), [2, 0, -1]), np.random.default_rng(0).random((3, 4))
    problem = Problem((3, 4), [Dense(np.ones((3, 4)))])
    assert share_right(pair, problem, x.ravel()) == pytest.approx((x[0, 2] + x[1, 0]) / 2)
    right = as_assignment(problem, [2, 0, 1])
    assert share_right(pair, problem, right) == 1.0 and share_right(pair, problem, ~right) == 0.0
    assert share_right(pair_of((3, 4), None), problem, right) is None
    assert share_right(pair_of((3, 4), [-1, -1, -1]), problem, right) is None


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_energies_are_equal_by_their_size_whatever_the_unit(unit):
    assert equal(unit, unit * (1 + 1e-13)) and equal(0.0, 0.0)
    assert not equal(unit, 2 * unit) and not equal(unit, unit * (1 + 1e-8)) and not equal(unit, -unit)


def test_matches_of_more_left_than_right_points_are_measured():
    pair, problem = pair_of((6, 3), [-1, -1, -1, 0, 1, 2]), Problem((6, 3), [Dense(np.arange(18.0).reshape(6, 3))])
    metrics = measure_matches(pair, problem, np.array([[3, 0], [5, 1]]), "similarity")
    assert (metrics.matched, metrics.correct, metrics.possible) == (2, 1, 3)
    assert metrics.energy == 9.0 + 16.0


def test_nearly_all_is_not_all():
    assert [percent(share) for share in (0.0, 0.5, 299 / 300, 1.0)] == ["0 %", "50 %", "99.7 %", "100 %"]
    assert percent(0.99999, 1) == "99.9 %" and percent(0.1234, 1) == "12.3 %"
