"""Two models on the same pairs: the bootstrap is honest and repeatable, and the better one is named."""

from dataclasses import replace

import numpy as np
import pytest

from features.__main__ import main
from features.datasets import DATASETS
from features.explain.fitting import fit
from features.explain.trials import pairs_like
from features.explain.versus import Versus, category, duels, every_kind, names
from features.files.exports import save_pair
from features.judge import intervals
from features.judge.intervals import interval, signs
from features.parameters import Parameter
from features.recipe import Recipe

FIRST = Recipe("random", {"inliers": 8, "outliers": 4, "noise": 3.0}, "B", {"sigma2": 100.0})


def test_an_interval_holds_the_mean_and_covers_it_as_often_as_it_says():
    found = interval([0.0, 1.0, 1.0, 0.5], seed=3)
    assert found == interval([0.0, 1.0, 1.0, 0.5], seed=3)
    assert found.low <= found.mean == 0.625 <= found.high and found.count == 4
    assert interval([0.2] * 5) == interval([0.2] * 5, seed=9)
    with pytest.raises(ValueError, match="one value per pair"):
        interval([])


DRAWN = {
    "normal": lambda rng, n: rng.normal(0.0, 1.0, n),
    "as often right": lambda rng, n: rng.choice([-1.0, 1.0], n),
    "mostly alike": lambda rng, n: rng.choice([-0.1, 0.0, 0.1], n, p=[0.1, 0.8, 0.1]),
}


@pytest.mark.parametrize("count", [2, 3, 5, 6, 12, 40])
@pytest.mark.parametrize("kind", DRAWN)
def test_an_interval_of_few_pairs_covers_the_mean_too_and_nobody_is_called_better_by_chance(monkeypatch, kind, count):
    monkeypatch.setattr(intervals, "DRAWS", 400)
    rng = np.random.default_rng(count)
    found = [interval(DRAWN[kind](rng, count), seed) for seed in range(250)]
    wrong = np.mean([one.decided for one in found])
    assert wrong <= 0.1 and (count >= intervals.FEWEST or not wrong)
    if kind == "normal":
        assert 0.9 <= np.mean([one.low <= 0.0 <= one.high for one in found]) <= 0.99


def test_six_pairs_that_agree_decide_and_one_pair_has_no_interval():
    assert interval([1.0, 1.1, 0.9, 1.0, 1.2, 1.0]).decided and interval([-1.0] * 6).decided
    assert not interval([1.0] * 5).decided and not interval([1.0, -1.0] * 6).decided
    alone = interval([0.5])
    assert not alone.decided and (alone.low, alone.high) == (-np.inf, np.inf)
    assert (alone.percent(), alone.points(), alone.plain()) == ("50.0 %", "+50.0 points", "0.5")
    both = interval([0.5, 0.5])
    assert (both.percent(), both.points()) == ("50.0 % [50.0, 50.0]", "+50.0 points [+50.0, +50.0]")


def test_of_the_same_pairs_the_difference_is_surer_than_the_means():
    rng = np.random.default_rng(1)
    hard = rng.uniform(0, 1, 50)  # what both have in common
    first, second = hard, hard + 0.02
    gain, mean = interval(second - first), interval(first)
    assert gain.high - gain.low < 1e-9 < mean.high - mean.low


def test_wins_losses_and_ties():
    assert signs([0.5, 0.0, -0.25, 1e-12, 1.0]) == (2, 1, 2)


def test_a_model_that_knows_nothing_loses_and_the_pairs_are_named():
    second = replace(FIRST, model="edges 0 * d1\npoints abs(x1 - y2)", model_params={})
    fought = list(duels(FIRST, second, pairs_like(FIRST, 6)))
    found = Versus.of(fought, seed=1)
    assert found.whole.gain.mean == pytest.approx(np.mean([one.gain for one in fought]))
    for side, accuracy, energy in zip(("first", "second"), found.whole.accuracy, found.energies, strict=True):
        trials = [getattr(one, side) for one in fought]
        assert accuracy.mean == pytest.approx(np.mean([one.metrics.accuracy for one in trials]))
        assert energy.mean == pytest.approx(np.mean([one.metrics.energy for one in trials]))
    assert found.categories == () and found.truths is not None
    assert found.whole.losses == 6 and found.whole.gain.high < 0 and found.saving is None
    assert found.verdict.startswith("Pairwise B is right more often than Your formula")
    assert [abs(one.gain) for one in found.duels] == sorted((abs(one.gain) for one in fought), reverse=True)
    for one in found.duels:
        assert one.first.name in found.text and one.first.recipe.dataset_params == one.second.recipe.dataset_params
    assert found.text == Versus.of(fought, seed=1).text
    assert Versus.of(fought[:5]).verdict.startswith("Undecided") and "fewer than 6" in Versus.of(fought[:5]).verdict


def test_runs_that_were_cut_short_are_told():
    fought = list(duels(FIRST, replace(FIRST, method="sm"), pairs_like(FIRST, 3)))
    assert not any("time limit" in line for line in Versus.of(fought).told)
    cut = [replace(one, second=replace(one.second, status="time limit")) for one in fought[:2]]
    found = Versus.of([*cut, fought[2]])
    assert found.told[0] == f"{found.names[1]}: 2 of 3 runs ended at the time limit, with what they had by then."
    assert found.told[0] in found.text


def test_one_pair_of_ones_own_is_compared_too(tmp_path, capsys):
    pair = FIRST.pair()
    (tmp_path / "mine.zip").write_bytes(save_pair(pair, FIRST))
    assert main(["versus", "--pair", str(tmp_path / "mine.zip"), "--other", "C"]) == 0
    assert "on 1 pair" in capsys.readouterr().out
    with pytest.raises(ValueError, match="No pair has a truth"):
        Versus.of([])


def test_categories_are_the_words_of_the_data_set(monkeypatch):
    declared = DATASETS["random"]
    kind = Parameter("scene", "Scene", "choice", "round", "", choices=("round", "flat"))

    def make(*, scene, **values):
        return declared.make(**values)

    known = replace(declared, parameters=(*declared.parameters, kind), make=make)
    monkeypatch.setitem(DATASETS, "random", known)
    drawn = every_kind(FIRST, 2)
    assert [category(one) for one in drawn] == ["round", "round", "flat", "flat"]
    assert category(FIRST) == "round" and category(Recipe("portrait")) == ""
    found = Versus.of(list(duels(FIRST, replace(FIRST, method="sm"), drawn)))
    assert [(line.name, line.gain.count) for line in found.categories] == [("flat", 2), ("round", 2)]


def test_energies_are_compared_only_of_the_same_problem():
    second = replace(FIRST, method="lap", model="A", model_params={})
    assert names(FIRST, second) == ("Pairwise B, ADGM (self-tuning)", "Pairwise A, Linear assignment")
    other = replace(FIRST, method="sm")
    found = Versus.of(list(duels(FIRST, other, pairs_like(FIRST, 2))))
    assert found.names == ("ADGM (self-tuning)", "SM")
    assert found.saving is not None and found.saving.mean <= 1e-9  # ADGM is at least as good
    assert names(FIRST, replace(FIRST, model_params={"sigma2": 9.0})) != names(FIRST, FIRST)[:1]


def test_every_kind_of_pair_has_a_line(data_dir):
    recipe = Recipe("willow", {}, "A")
    drawn = every_kind(recipe, 1)
    assert len({category(one) for one in drawn}) == len(drawn) > 1
    found = Versus.of(list(duels(recipe, replace(recipe, model="C"), drawn[:2])))
    assert [line.name for line in found.categories] == sorted(category(one) for one in drawn[:2])


def test_a_fit_tells_its_interval_and_the_end_of_a_range():
    start = replace(FIRST, model="edges abs(d1 - d2) * k + 0.1 * cosine\nk = 0 in 0..0.1", model_params={})
    recipes = pairs_like(start, 6)
    found = fit(start, recipes[:3], recipes[3:], evaluations=8)
    gains = [
        new.metrics.accuracy - old.metrics.accuracy
        for old, new in zip(found.test[0].trials, found.test[1].trials, strict=True)
    ]
    assert found.gain == interval(gains) and "On the 3 test pairs" in found.text
    assert found.values["model.k"][1] == 0.1 == found.at_ends["model.k"]
    assert "At an end of its range: model.k = 0.1" in found.text


def test_the_command_compares_and_refuses_in_sentences(capsys, tmp_path):
    words = ["versus", "--dataset", "random", "--set", "inliers=6", "--model", "C", "--pairs", "2"]
    assert main([*words, "--other-formula", "edges abs(d1 - d2)", "-o", str(tmp_path)]) == 0
    assert "wins/losses/ties" in capsys.readouterr().out
    assert {one.name for one in tmp_path.iterdir()} == {"versus.txt", "pairs.csv"}
    for extra, sentence in (
        ([], "Both sides are the same"),
        (["--other", "Q"], "no model 'Q'"),
        (["--other", "B", "--other-formula", "edges d1"], "--other and --other-formula were given"),
        (["--other-formula", "edges d"], "Line 1, column 7"),
    ):
        assert main([*words, *extra]) == 2
        assert sentence in capsys.readouterr().err


def test_the_command_tells_whether_a_model_separates(capsys, tmp_path):
    words = ["separate", "--dataset", "random", "--set", "inliers=8", "--model", "C", "-o", str(tmp_path)]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "edges: change of length" in out and "AUC" in out
    rows = (tmp_path / "separation.csv").read_text().splitlines()
    assert rows[0] == "part,from,to,right,wrong" and len(rows) == 81


def test_the_list_of_models_tells_what_a_formula_may_use(capsys):
    assert main(["models", "--quantities"]) == 0
    out = capsys.readouterr().out
    assert "d1, d2" in out and "cross-ratio" not in out.split("edges:")[0] and "wrap" in out
    assert main(["models", "C"]) == 0
    assert "eta * change" in capsys.readouterr().out
    assert main(["models", "edges (d1 - d2)^2 / s2"]) == 0
    assert "s2=1.0" in capsys.readouterr().out
