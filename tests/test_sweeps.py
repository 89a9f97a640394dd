"""Sweeps, the smallest change, ablation and failures: against runs made one by one, and against all matchings."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from adgm import Dense, Formula, Problem, Sparse
from features import match
from features.__main__ import main
from features.datasets import DATASETS
from features.explain import ablation, failures, sweeps
from features.explain.sweeps import Axis, Span, smallest_change, sweep
from features.explain.trials import Bench, pairs_like, parameters, value_of, varied
from features.judge.metrics import as_assignment
from features.models import MODELS
from features.models.base import Model, number
from features.pairs import Pair, View
from features.parameters import Parameter
from features.points.keypoints import Keypoints
from features.recipe import OWN, Recipe
from tests.problems import mixed

SMALL = {"inliers": 8, "outliers": 3, "noise": 6.0}
RECIPE = Recipe("random", SMALL, "B", {"sigma2": 900.0})


def lure(pair: Pair, *, pull: float) -> list[Dense]:
    """The truth costs nothing; point 0 is drawn to its neighbour's partner by `pull`, and stays below 3."""
    truth = np.asarray(pair.truth)
    cost = np.ones(pair.shape)
    cost[np.arange(len(truth)), truth] = 0.0
    cost[0, truth[1]] = cost[1, truth[0]] = 3.0 - pull
    return [Dense(cost)]


@pytest.fixture
def lured(monkeypatch) -> Recipe:
    model = Model("Lure", (1,), "", "cost", "For a test.", lure, (number("pull", "", 5.0, (0, 10), 0.1, "Pull"),))
    monkeypatch.setitem(MODELS, "lure", model)
    return Recipe("random", {"inliers": 6, "outliers": 0}, "lure", {"pull": 7.5})


# ---- recipes with one thing changed ------------------------------------------------------------------------------


def test_every_parameter_can_be_changed_and_read_back():
    for recipe in (RECIPE, Recipe("house", {}, "combined", method="adgm1"), Recipe(OWN, model="photo", points="sift")):
        for name, one in parameters(recipe).items():
            value = one.choices[-1] if one.kind == "choice" else one.check(one.default)
            changed = varied(recipe, name, value)
            assert value_of(changed, name) == value
            assert (
                replace(
                    changed,
                    **{
                        n: getattr(recipe, n)
                        for n in ("dataset_params", "point_params", "model_params", "method_options")
                    },
                )
                == recipe
            )
    with pytest.raises(ValueError, match=r"no parameter 'model.sigma'.*model.sigma2"):
        varied(RECIPE, "model.sigma", 1.0)
    with pytest.raises(ValueError, match="expected 1 to"):
        varied(RECIPE, "model.sigma2", -1.0)


@pytest.mark.parametrize("recipe", [RECIPE, Recipe("turntable", {"left": 20, "right": 40}, "C")])
def test_pairs_like_one_are_different_and_a_larger_sample_begins_with_the_smaller(recipe):
    some = pairs_like(recipe, 6, seed=3)
    assert len({one.to_json() for one in some}) == 6 and some[:3] == pairs_like(recipe, 3, seed=3)
    assert all(replace(one, dataset_params=recipe.dataset_params) == recipe for one in some)
    if "left" in recipe.dataset_params:
        assert {one.dataset_params["right"] - one.dataset_params["left"] for one in some} == {20}
        gaps = [one.dataset_params["right"] - one.dataset_params["left"] for one in pairs_like(recipe, 6, any_gap=True)]
        assert len(set(gaps)) > 2 and min(gaps) > 0


def test_a_pair_of_ones_own_has_no_others():
    with pytest.raises(ValueError, match="its owner's"):
        pairs_like(Recipe(OWN), 3)


def test_a_bench_gives_what_match_gives_and_builds_a_problem_once():
    bench = Bench()
    found = match(RECIPE)
    for recipe in (RECIPE, replace(RECIPE, method="adgm1"), RECIPE):
        trial = bench.run(recipe)
    assert trial.pairs.tolist() == found.pairs.tolist() and trial.kinds == found.kinds
    assert trial.metrics == found.metrics
    assert len(bench.problems) == 1 and len(bench.pairs) == 1


# ---- sweeps ------------------------------------------------------------------------------------------------------


def test_a_sweep_is_the_runs_one_by_one_in_the_order_of_its_axes():
    axes = Axis("model.sigma2", (10.0, 1000.0)), Axis("data.noise", (0.0, 8.0))
    cells = list(sweep(RECIPE, *axes))
    assert [cell.setting for cell in cells] == [(10.0, 0.0), (10.0, 8.0), (1000.0, 0.0), (1000.0, 8.0)]
    for cell in cells:
        alone = match(varied(varied(RECIPE, "model.sigma2", cell.setting[0]), "data.noise", cell.setting[1]))
        assert cell.accuracy == alone.metrics.accuracy and cell.energy == alone.metrics.energy
        assert list(cell.verdicts) == [alone.metrics.verdict]
    text = sweeps.table(axes, cells).text()
    assert "model.sigma2" in text and text.count("\n") == 5


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("model.eta=0..1:3", (0.0, 0.5, 1.0)),
        ("model.eta=0.1,0.9", (0.1, 0.9)),
        ("data.points=4..8:5", (4, 5, 6, 7, 8)),
        ("data.landmarks=all", ("all",)),
    ],
)
def test_an_axis_is_read_from_words(text, values):
    recipe = Recipe("turntable", {}, "C")
    if text.startswith("data.landmarks"):
        values = (
            DATASETS["turntable"]
            .parameters[[p.name for p in DATASETS["turntable"].parameters].index("landmarks")]
            .choices[0],
        )
        text = f"data.landmarks={values[0]}"
    assert Axis.parse(recipe, text).values == values


@pytest.mark.parametrize(
    ("axes", "sentence"),
    [
        ((), "0 parameters"),
        ((Axis("model.sigma2", (1.0,)),) * 2, "Both axes"),
        ((Axis("model.sigma2", tuple(float(k) for k in range(1, 502))),), "501 settings"),
    ],
)
def test_a_sweep_that_makes_no_sense_is_refused_in_a_sentence(axes, sentence):
    with pytest.raises(ValueError, match=sentence):
        sweep(RECIPE, *axes)


def test_places_and_values_of_a_span_are_each_others_inverse():
    for one, now in (
        (Parameter("a", "a", "float", 1.0, "", 0, 10), 1.0),
        (Parameter("b", "b", "float", 1.0, "", 0.01, 100), 1.0),
    ):
        span = Span.of(one, now)
        shares = np.linspace(0, 1, 7)
        assert_allclose([span.place(float(span.at(share))) for share in shares], shares, atol=1e-7)
        assert span.at(-1) == one.low and span.at(2) == one.high


# ---- the smallest change -----------------------------------------------------------------------------------------


def test_bisection_finds_where_a_match_turns_right(lured):
    found = smallest_change(lured, "model.pull", left=0)
    # Both at their neighbour's cost 2 · (3 − pull), both at their own 0: it turns where the pull is 3.
    assert found.value <= 3.0 < found.wrong <= found.value + 0.02 * 10
    assert found.trial.partner(0) == DATASETS["random"].load(**lured.dataset_params).truth[0]
    assert "instead of 7.5" in found.text and f"{found.value:.6g}" in found.text


def test_a_match_that_no_value_makes_right_is_said_to_have_none(lured):
    found = smallest_change(lured, "model.pull", left=0, low=4.0, high=10.0)
    assert found.value is None and "None in this range" in found.text and "from 4" in found.text
    assert smallest_change(lured, "model.pull", left=3).text.startswith("The match of left point 3 is right as it is")
    with pytest.raises(ValueError, match="no left point 6"):
        smallest_change(lured, "model.pull", left=6)
    with pytest.raises(ValueError, match="another pair"):
        smallest_change(lured, "data.noise", left=0)


# ---- ablation ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.5, -3.0])
def test_scaling_a_potential_scales_its_part_of_every_energy(factor):
    problem = mixed(order=3)
    x = as_assignment(problem, np.array([2, 0, 3])).astype(float)
    for at, potential in enumerate(problem.potentials):
        alone = Problem(problem.shape, [potential]).energy(x)
        assert_allclose(Problem(problem.shape, [ablation.scaled(potential, factor)]).energy(x), factor * alone)
        whole = problem.energy(x)
        assert_allclose(ablation.without(at, problem).energy(x), whole - alone, atol=1e-12)
        assert_allclose(ablation.weighted(at, factor, problem).energy(x), whole + (factor - 1) * alone, atol=1e-12)


def test_an_ablation_says_what_every_part_does_to_a_match_its_pair_and_a_sample():
    recipe = Recipe("turntable", {"left": 20, "right": 50, "points": 12}, "A", {"weight": 60.0})
    effects = list(ablation.ablation(recipe, left=2, sample=pairs_like(recipe, 2)))
    names = [effect.what for effect in effects]
    assert names[0] == "as it is" and effects[0].changed == 0
    assert {"without descriptors", "without edges", "descriptors × ½", "edges × 2", "model.weight = 30"} <= set(names)
    by = dict(zip(names, effects, strict=True))
    assert by["descriptors × ½"].trials[0].pairs.tolist() == by["model.weight = 30"].trials[0].pairs.tolist()
    for effect in effects:
        partner = DATASETS["turntable"].load(**recipe.dataset_params).truth[2]
        assert effect.right == (effect.trials[0].partner(2) == partner)
        assert len(effect.trials) == 3 and 0 <= effect.sample_accuracy <= 1
        assert effect.variation.opens == effect.what.startswith(("as it is", "model."))
    assert "without edges" in ablation.table(effects).text()
    assert [one.what for one in ablation.variations(RECIPE, Bench().problem(RECIPE))][1].startswith("model.sigma2")


# ---- where it fails ----------------------------------------------------------------------------------------------


def test_the_regret_of_a_point_is_the_cheapest_exchange_that_makes_it_right(lured):
    found = next(failures.failures([lured]))
    problem = Bench().problem(lured)
    truth = DATASETS["random"].load(**lured.dataset_params).truth
    assert {point.left for point in found.points} == {0, 1}
    every = [(p, problem.energy(as_assignment(problem, np.array(p)).astype(float))) for p in permutations(range(6))]
    for point in found.points:
        assert point.cause == "model prefers another" and point.partner == truth[point.left]
        near = [e for p, e in every if p[point.left] == truth[point.left] and sum(np.array(p) != truth) <= 2]
        assert_allclose(point.regret, min(near) - found.trial.metrics.energy)
    assert_allclose(found.regret, min(e for _, e in every))  # the truth costs nothing
    assert found.causes == {"model prefers another": 2}


def test_causes_are_told_apart():
    rng = np.random.default_rng(0)
    n = 60
    xy = rng.uniform(0, 100, (n, 2))
    truth = np.arange(n)
    cost = np.ones((n, n)) - 2 * np.eye(n)
    cost[[0, 1], [1, 0]] = -3.0  # preferred, clearly
    cost[[2, 3], [3, 2]] = -1.0 - 1e-9  # hardly
    truth[8] = -1
    moved = xy + rng.normal(0, 0.3, xy.shape)
    moved[4] += 60  # far from where its neighbours go
    cost[[4, 5], [5, 4]] = -4.0
    pair = Pair(
        View(None, Keypoints(xy)), View(None, Keypoints(moved)), truth, "sixty", given=Problem((n, n), [Dense(cost)])
    )
    recipe = Recipe(OWN, model="given")
    [found] = failures.failures([recipe], pair=pair)
    causes = {point.left: point.cause for point in found.points}
    assert causes[0] == causes[1] == "model prefers another"
    assert causes[2] == causes[3] == "ambiguous"
    assert causes[4] == "far from its neighbours" and causes[8] == "partner hidden" and len(causes) == 7
    groups = failures.by_cause([found])
    assert sum(map(len, groups.values())) == len(found.points)
    assert "sixty" in failures.table([found]).text()


def test_a_stuck_optimiser_is_not_the_models_fault():
    pair = DATASETS["random"].load(inliers=6, outliers=0, noise=0.0)
    problem = MODELS["B"].build(pair)
    trial = Bench(pair).run(Recipe(OWN, model="B"))
    truth = np.asarray(pair.truth)
    wrong = truth[[1, 0, *range(2, 6)]]
    stuck = replace(
        trial,
        pairs=np.stack([np.arange(6), wrong], axis=1),
        kinds=["wrong", "wrong", *["correct"] * 4],
        metrics=replace(trial.metrics, energy=problem.energy(as_assignment(problem, wrong).astype(float)), correct=4),
    )
    found = failures.diagnosed(stuck, pair, problem)
    assert found.regret > 0 and [point.cause for point in found.points] == ["optimiser stuck"] * 2
    assert all(point.regret < 0 for point in found.points)  # making it right would have paid


def test_pairs_without_truth_have_not_failed():
    pair = replace(DATASETS["random"].load(**SMALL), truth=None)
    with pytest.raises(ValueError, match="unknown"):
        list(failures.failures([Recipe(OWN, model="B")], pair=pair))


# ---- the command line --------------------------------------------------------------------------------------------


def test_sweep_on_the_command_line(tmp_path, capsys):
    words = ["sweep", "--dataset", "random", "--set", "inliers=6", "--model", "B", "--over", "model.sigma2=10..1000:3"]
    assert main([*words, "--pairs", "2", "-o", str(tmp_path)]) == 0
    assert "right %" in capsys.readouterr().out
    assert len((tmp_path / "sweep.csv").read_text().splitlines()) == 1 + 3 * 2
    assert main([*words, "--left", "0"]) == 0
    assert "left point 0" in capsys.readouterr().out
    for wrong in (words[:-2], [*words[:-1], "model.sigma"], [*words[:-1], "model.sigma2=a..b"]):
        assert main(wrong) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_potentials_of_all_kinds_can_be_scaled_and_nothing_else():
    left = np.zeros((2, 2, 1))
    formula = Formula(left, left, lambda a, b: 1.0 + a[..., 0] + b[..., 0], largest=1.0)
    assert ablation.scaled(formula, 2.0).largest == 2.0
    assert ablation.scaled(Sparse([[0, 1]], [3.0], symmetric=True), 2.0).costs.tolist() == [6.0]
    with pytest.raises(TypeError, match="Formula"):
        ablation.scaled("costs", 2.0)
