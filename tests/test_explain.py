"""Explanations of a matching: they agree with the metrics, with each other, and with what is known beforehand."""

import csv
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from adgm import Dense, Problem
from adgm.explain.paths import Path, Step
from features.__main__ import main
from features.datasets import DATASETS
from features.explain import Case, calibrate, careful, case_of, from_truth, observe, retry, stability
from features.explain.calibration import Logistic, Observed, curve
from features.explain.retry import _against as against
from features.explain.stability import jittered, shaken
from features.judge.metrics import true_assignment
from features.recipe import OWN, Recipe
from ui.debug import path_to_truth

WRONG = Recipe("random", {"inliers": 8, "outliers": 3, "noise": 20.0, "seed": 1}, "B")  # the model prefers another
EASY = Recipe("random", {"inliers": 8, "outliers": 0, "noise": 1.0}, "B")


@pytest.fixture(scope="module")
def wrong() -> Case:
    return case_of(WRONG)


@pytest.fixture(scope="module")
def stuck() -> Case:
    """A poor answer to an easy question."""
    case = case_of(EASY)
    assert not case.wrong
    poor = case.answer.reshape(case.problem.shape)[[1, 2, 0, *range(3, case.problem.shape[0])]]
    return replace(case, answer=poor.reshape(-1))


def test_a_case_agrees_with_the_metrics(wrong):
    metrics = wrong.metrics
    assert metrics.verdict == "model prefers this" and wrong.wrong
    assert len(wrong.wrong) == metrics.matched - metrics.correct
    book = wrong.ledger()
    assert book.exact
    assert_allclose(book.total, metrics.truth_energy - metrics.energy)
    assert book.names == ("edges",) and book.parts[0].share == 1.0
    for i, j in wrong.wrong:
        assert wrong.partner(i) != j
        assert any(i in line.left for line in wrong.ledger((i, j)).lines)
    way = wrong.way_back()
    assert_allclose([way.energies[0], way.energies[-1]], [metrics.energy, metrics.truth_energy])
    assert way.first_dear is not None  # the model prefers the answer: something on the way must cost


def test_a_case_checks_what_it_is_given_and_says_what_is_unknown(wrong):
    with pytest.raises(ValueError, match="one per variable"):
        Case(wrong.recipe, wrong.pair, wrong.problem, np.zeros(3, bool))
    with pytest.raises(ValueError, match="its problem"):
        Case(wrong.recipe, wrong.pair, Problem((2, 2), [Dense(np.eye(2))]), np.zeros(4, bool))
    unknown = replace(wrong, pair=replace(wrong.pair, truth=None))
    assert unknown.truth is None and unknown.wrong == () and unknown.partner(0) is None
    for question in (unknown.ledger, unknown.way_back, lambda: from_truth(unknown)):
        with pytest.raises(ValueError, match="is unknown"):
            question()
    assert len(unknown.margins()) == len(unknown.pairs)  # how sure needs no truth


# ---- the optimiser or the model? ---------------------------------------------------------------------------------


def test_another_run_says_that_the_optimiser_was_stuck(stuck):
    found = careful(stuck)
    assert np.array_equal(found.assignment, stuck.truth) and found.correct == 8
    assert "model is not to blame" in found.proves and "the run was stuck" in found.proves
    began = from_truth(stuck)
    assert "where it began is what went wrong" in began.proves and "local optimum" in began.proves
    assert np.array_equal(began.assignment, stuck.truth)


def test_another_run_says_that_the_model_prefers_another_matching(wrong):
    for found in (careful(wrong), from_truth(wrong)):
        assert found.energy < wrong.metrics.truth_energy and "the model prefers another matching" in found.proves


def test_nothing_that_is_not_proved_is_said_of_the_model_or_the_optimiser(stuck, wrong, monkeypatch):
    truth = stuck.metrics.truth_energy
    assert "**the model is not to blame**; the run was stuck" in against(stuck, truth, True)
    unproved = against(stuck, truth, False)
    assert "not to blame" not in unproved and "Not known without a proof" in unproved
    assert "is stuck, too**" in against(stuck, truth + 1.0, False)
    right = replace(stuck, answer=stuck.truth)
    assert "is stuck**" in against(right, truth + 1.0, False) and "found it, too" in against(right, truth, True)
    worse = against(wrong, wrong.metrics.truth_energy, False)  # the run itself has found a better one
    assert "the model prefers another matching" in worse and "the run's own answer" in worse
    assert "was stuck" not in worse and "was stuck" in against(wrong, wrong.metrics.energy - 1.0, False)
    for case, said in ((wrong, "the model prefers the answer"), (stuck, "went wrong"), (right, "is as good")):
        end = SimpleNamespace(assignment=case.truth, energy=case.problem.energy(case.truth))
        monkeypatch.setattr(retry, "solve", lambda *given, end=end, **more: end)
        assert said in from_truth(case).proves


@pytest.mark.parametrize(
    ("energies", "said"),
    [
        ((3.0, 2.0, 1.0), "stopped too early"),
        ((3.0, 3.0), "No exchange costs anything, and the truth costs the same"),
        ((3.0, 2.0, 4.0), "The model errs at exchange 2"),
        ((3.0, 4.0, 2.0), "has not got over exchange 1"),
        ((3.0, 4.0, 3.0), "does not tell the two apart**; between"),
    ],
)
def test_the_way_to_the_truth_blames_the_model_only_where_it_prefers_the_answer(energies, said):
    steps = tuple(Step((), (), b - a, b, np.zeros(0, bool)) for a, b in pairwise(energies))
    assert said in path_to_truth.sentence(Path(energies[0], steps, 1e-9))


# ---- stability ---------------------------------------------------------------------------------------------------


def test_a_matching_is_as_stable_as_its_points(wrong):
    assert set(stability(wrong, 1e-9, 3).shares.values()) == {1.0}
    seen = list(shaken(wrong, 40.0, 4))
    assert [one.runs for one in seen] == [1, 2, 3, 4]
    assert all(a.kept[m] <= b.kept[m] <= b.runs for a, b in pairwise(seen) for m in a.kept)
    assert min(seen[-1].shares.values()) < 1.0
    assert stability(wrong, 40.0, 4) == seen[-1]  # the same seeds, the same runs


def test_jitter_moves_points_as_far_as_it_says_and_leaves_the_truth():
    pair = DATASETS["random"].load(inliers=200, outliers=0, images=False)
    moved = jittered(pair, 3.0, 0)
    for before, after in ((pair.left, moved.left), (pair.right, moved.right)):
        assert_allclose((after.points.xy - before.points.xy).std(), 3.0, rtol=0.15)
    assert np.array_equal(moved.truth, pair.truth)
    assert not np.array_equal(jittered(pair, 3.0, 1).left.points.xy, moved.left.points.xy)


def test_stability_refuses_what_makes_no_sense(wrong):
    for options, sentence in (((0.0, 3), "positive number"), ((2.0, 0), "1 or more")):
        with pytest.raises(ValueError, match=sentence):
            stability(wrong, *options)
    given = replace(wrong, recipe=Recipe(OWN, model="given"))
    with pytest.raises(ValueError, match="come from a file"):
        stability(given)


# ---- calibration -------------------------------------------------------------------------------------------------


def test_honest_claims_lie_on_the_diagonal_and_boasts_below_it():
    rng = np.random.default_rng(0)
    chance = rng.random(20_000)
    right = rng.random(20_000) < chance
    honest, boasting = curve(chance, right), curve(np.sqrt(chance), right)
    assert honest.error < 0.02 < 0.1 < boasting.error
    assert sum(b.count for b in honest.bins) == honest.count == 20_000
    near = honest.near(0.9)
    assert near.interval[0] < near.claimed < near.interval[1]
    assert boasting.near(0.9).right < 0.87
    with pytest.raises(ValueError, match="between 0 and 1"):
        curve([1.2], [True])
    with pytest.raises(ValueError, match="give one for each"):
        curve([0.5], [True, False])


def test_intervals_are_wilsons():
    (only,) = curve([0.85] * 10, [True] * 8 + [False] * 2).bins  # 8 of 10: 0.490 to 0.943
    assert_allclose(only.interval, (0.490, 0.943), atol=5e-4)


def test_margins_become_shares_by_a_curve_that_never_saw_the_judged_pairs():
    rng = np.random.default_rng(1)
    margin = rng.normal(0, 3, 4000)
    right = rng.random(4000) < 1 / (1 + np.exp(-(0.5 + 1.5 * np.arcsinh(margin))))
    fitted = Logistic.fitted(margin, right)
    assert_allclose([fitted.constant, fitted.slope], [0.5, 1.5], atol=0.2)
    always = Logistic.fitted([1.0, 2.0, np.inf], [True] * 3)
    assert np.isfinite(always([np.inf, -np.inf])).all()
    seen = [Observed(k % 2, bool(r), 1.0, float(m)) for k, (m, r) in enumerate(zip(margin, right, strict=True))]
    assert calibrate(seen, "margin").error < 0.05 and calibrate(seen, "margin").count == 2000
    with pytest.raises(ValueError, match="too few"):
        calibrate(seen[:10], "margin")


def test_all_matches_of_all_pairs_are_observed():
    recipes = [replace(WRONG, dataset_params={**WRONG.dataset_params, "seed": seed}) for seed in (1, 2)]
    *_, found = observe(recipes, runs=2)
    cases = [case_of(recipe) for recipe in recipes]
    assert len(found) == sum(len(case.pairs) for case in cases)
    assert sum(one.right for one in found) == sum(case.metrics.correct for case in cases)
    assert {one.pair for one in found} == {0, 1} and {one.stability for one in found} <= {0.0, 0.5, 1.0}


# ---- the command line --------------------------------------------------------------------------------------------


def test_explain_prints_and_writes_what_the_library_says(wrong, tmp_path, capsys):
    words = ["--dataset", "random", *(w for k, v in WRONG.dataset_params.items() for w in ("--set", f"{k}={v}"))]
    words += ["--model", "B", "--retry", "careful", "--jitter", "2", "--runs", "2", "-o", str(tmp_path)]
    assert main(["explain", *words]) == 0
    said = capsys.readouterr().out
    for part in ("to the last digit", "the first that costs", "barrier", "Margins", "Try careful", "Kept when"):
        assert part in said
    tables = {p.stem: list(csv.DictReader(p.open(encoding="utf-8"))) for p in tmp_path.glob("*.csv")}
    favour = sum(float(row["speaks for the answer"]) for row in tables["ledger"])
    assert_allclose(favour, wrong.metrics.truth_energy - wrong.metrics.energy)
    assert len(tables["margins"]) == len(wrong.pairs)
    assert_allclose(float(tables["way_back"][-1]["energy"]), wrong.problem.energy(wrong.truth))

    i, j = wrong.wrong[0]
    assert main(["explain", *words[:-2], "--left", str(i), "--way", "lowest barrier", "--effort", "0"]) == 0
    assert f"Ledger of {i} → {j}" in capsys.readouterr().out
    assert main(["explain", *words, "--left", "99"]) == 2
    assert "Left point 99 is not matched" in capsys.readouterr().err


def test_the_truth_of_a_case_is_completed_where_the_constraints_demand_it(wrong):
    assert np.array_equal(wrong.truth, true_assignment(wrong.problem, wrong.pair.partners))
