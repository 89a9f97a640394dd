"""The studies: what they may look at, what they remember, what they say, and that the shipped rows still tell it."""

import json
from dataclasses import replace

import pytest

from experiments import runner, store, summary, trials
from experiments.__main__ import main
from experiments.selections import SELECTIONS
from experiments.spec import Experiment, Panel, Variant
from experiments.studies import rivals, stuck
from experiments.studies.stuck import FIXED, GROUPS, LONG, judged, picture, table, text


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_reported_pairs_were_never_tuned_on(group):
    panel = stuck.panel(*group)
    reported = panel.all_pairs(None)
    assert len(reported) == len({tuple(pair.items()) for pair in reported}) > 0
    name = "left" if panel.pairs == "turns" else "number"
    if panel.dataset in stuck.TUNED_ON:
        tuned = replace(panel, parity=stuck.TUNED_ON[panel.dataset]).all_pairs(None)
        assert all(pair[name] % 2 == 0 for pair in reported)
        assert all(pair[name] % 2 == 1 for pair in tuned)
    else:
        assert {pair[name] % 2 for pair in reported} == {0, 1}


def test_frames_are_spread_over_the_gaps_and_fewer_pairs_are_the_first_of_more():
    panel = stuck.panel("hotel", "B", 20)
    gaps = [pair["right"] - pair["left"] for pair in panel.all_pairs(None)]
    assert len(gaps) == 40 and all(1 <= gaps.count(gap) <= 5 for gap in range(10, 101, 10))
    assert replace(panel, count=7).all_pairs(None) == panel.all_pairs(None)[:7]
    assert replace(panel, shuffle=1).all_pairs(None) != panel.all_pairs(None)


def test_the_rivals_frames_reach_from_the_first_to_the_last():
    panel = rivals.experiment(6).panel("House 20v30, B")
    pairs = panel.all_pairs(None)
    assert [pair["right"] - pair["left"] for pair in pairs] == [20, 50, 90] * 2
    assert pairs[0]["left"] == 0 and pairs[-1]["right"] == 110


def test_every_selection_names_pairs_that_exist():
    for key, selection in SELECTIONS.items():
        dataset = "house" if "left" in selection.needs else "cars" if selection.needs else "random"
        gaps = (10, 30) if key in ("turns", "spread") else ()
        for pair in Panel("p", dataset, "B", key, gaps=gaps, count=5).all_pairs(None):
            assert 0 <= pair.get("left", 0) < pair.get("right", 110) <= 110
            assert 1 <= pair.get("number", 1) <= 30


@pytest.mark.parametrize("name", ["stuck", "rivals"])
def test_the_shipped_rows_are_those_of_the_study(name):
    content = store.read(store.SHIPPED / f"{name}.jsonl.gz")
    units = stuck.experiment(restarts=1).units() if name == "stuck" else rivals.experiment(3, 0, 5.0).units(3)
    measured = {row["method"] for row in content.rows.values()}  # a younger method may not have its rows yet
    assert content.rows.keys() == {unit.key for unit in units if unit.variant.name in measured}
    declared = summary.declared(content)
    assert Experiment.from_dict(json.loads(json.dumps(declared.to_dict()))) == declared


def test_the_command_tells_the_shipped_rows_without_running_anything(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "run", lambda *arguments, **options: pytest.fail("it ran"))
    assert main(["stuck", "--rivals"]) == 0
    out = capsys.readouterr().out
    assert "| House B 10 vs 30 | 40 | 100% (10) | 92% (66) | 38% (66) | 50% (345) |" in out
    assert "| Cars C +40 | 14 |" in out  # one pair has fewer outliers
    assert "ADGM+ reaches the best known energy on 100.0% of the pairs" in out
    assert main(["stuck", "House C"]) == 2
    assert "There is no group 'House C'; there are House B 10 vs 30" in capsys.readouterr().err


def row(method: str, energy: float, number: int = 1, truth: float | None = -9.0) -> dict:
    at = {"number": number}
    row = {"panel": "House B 10 vs 30", "at": at, "method": method, "energy": energy, "truth_energy": truth}
    return row | {"iterations": 50}


def test_the_best_known_energy_is_the_lowest_of_all_rows_and_of_the_truth():
    def reached(rows):
        return [each["reached"] for each in judged(rows)]

    rows = [row("adgm+", -10.0), row("auto", -9.0)]
    assert reached(rows) == [True, False]
    assert reached([*rows, row(LONG, -11.0)]) == [False, False]
    assert reached([row("adgm+", -10.0, truth=-10.5)]) == [False]
    assert reached([*rows, row(LONG, -11.0, number=2)]) == [True, False]
    assert judged([{**row("adgm+", -10.0), "note": "8 of 40 outliers"}]) == []


def test_the_table_says_what_was_reached_and_what_was_not():
    rows = [row("adgm+", -10.0), row("auto", -9.5), row(FIXED[0], -10.0), row("adgm+", -8.0, 2), row(LONG, -10.0, 2)]
    rows = judged(rows + [row(name, -8.0) for name in FIXED[1:]])
    assert table(rows).lines[0][:6] == ("House B 10 vs 30", "2", "50% (50)", "0% (50)", "–", "100% (50)")
    said = text(rows)
    assert "below 99 %: House B 10 vs 30 (50%)" in said
    assert "The true matching beats it 1 times." in said


def test_the_time_to_the_best_is_told_beside_the_whole_where_rows_know_it():
    rows = [row("adgm+", -10.0), row("adgm+", -10.0, 2)]
    assert "in the median" not in text(judged(rows))
    rows = [each | {"seconds": 3.0, "seconds_to_best": 0.5, "proved": k > 0} for k, each in enumerate(rows)]
    assert "3.00 s in the median (6 s in all) and has its best matching after 0.50 s (1 s)" in text(judged(rows))
    assert "it proves 1 of 2 optimal" in text(judged(rows))


def test_rows_make_a_picture(tmp_path):
    rows = judged([row(name, -10.0 + k) for k, name in enumerate(stuck.NAMES)])
    picture(rows, tmp_path / "new" / "picture.png")
    assert (tmp_path / "new" / "picture.png").read_bytes().startswith(b"\x89PNG")


# ---- variants ----------------------------------------------------------------------------------------------------

SMALL = Panel("p", "random", "B", "drawn", count=2, dataset_params={"inliers": 6, "outliers": 2, "noise": 20.0})


def test_a_variant_scales_its_options_by_the_number_of_variables(tmp_path):
    variants = (Variant("one", "adgm1", thousandths_of_n={"rho0": 1}), Variant("many", "adgm1", {"rho0": "paper"}))
    experiment = Experiment("e", "t", (SMALL,), ("one", "many", "adgm1"), variants=variants)
    runner.run(experiment, tmp_path / "rows.jsonl")
    rows = store.read(tmp_path / "rows.jsonl").rows.values()
    found = {(each["method"], each["at"]["seed"]): (each["energy"], each["iterations"]) for each in rows}
    assert len(found) == 6
    for seed in (0, 1):
        assert found["one", seed] == found["many", seed] == found["adgm1", seed]


def test_searches_that_follow_only_improve(tmp_path):
    variants = tuple(Variant(f"{count} searches", "sm", searches=count) for count in (0, 1, 20))
    experiment = Experiment("e", "t", (SMALL,), tuple(one.name for one in variants), variants=variants)
    runner.run(experiment, tmp_path / "rows.jsonl")
    energies = {}
    for each in store.read(tmp_path / "rows.jsonl").rows.values():
        energies.setdefault(each["at"]["seed"], []).append(each["energy"])
    assert all(len(some) == 3 and some == sorted(some, reverse=True) for some in energies.values())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"name": "v", "method": "magic"}, "of the method 'magic'"),
        ({"name": "v", "method": "adgm1", "options": {"rho": 1}}, "no option 'rho'"),
        ({"name": "v", "method": "adgm1", "searches": -1}, "searches is -1"),
        ({"name": "v", "method": "adgm1", "options": 3}, "not names with their values"),
        ("v", "names with their values"),
    ],
)
def test_a_wrong_variant_is_refused(given, says):
    with pytest.raises(ValueError, match=says):
        Experiment.from_dict({"name": "e", "title": "t", "panels": [], "methods": ["v"], "variants": [given]})


def test_only_what_is_nowhere_yet_is_run(tmp_path):
    experiment, path = Experiment("e", "t", (SMALL,), ("adgm1", "sm")), tmp_path / "rows.jsonl"
    runner.run(experiment, tmp_path / "other.jsonl", sample=1)
    known = store.read(tmp_path / "other.jsonl").rows
    rows = runner.finished(experiment, path, known=known, skip=lambda unit: unit.setup.method == "sm")
    assert len(store.read(path).rows) == 1 and len(rows) == 3
    assert [trials.comparable(each) for each in rows if each["key"] in known] == [
        trials.comparable(known[unit.key]) for unit in experiment.units() if unit.key in known
    ]


@pytest.mark.data
def test_a_small_study_on_real_data(data_dir, tmp_path):
    groups = ["House B 10 vs 30", "Cars C +0"]
    asked = stuck.experiment(groups, 1, restarts=2, rivals=True)
    rows = stuck.finished(asked, tmp_path / "rows.jsonl")
    assert len(rows) == 16
    assert all(each["reached"] for each in rows if each["method"] == "adgm+")
    assert stuck.finished(asked, tmp_path / "rows.jsonl") == rows
