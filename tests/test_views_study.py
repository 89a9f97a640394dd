"""The study of several views: it goes on where it stopped, and tells means and the least energy."""

import argparse

import pytest

from experiments.studies import views
from features.views import VIEW_SETS
from features.views.run import suited


def options(tmp_path):
    parser = argparse.ArgumentParser()
    views.add_options(parser)
    return parser.parse_args(["--views", "3", "--draws", "1", "-o", str(tmp_path)])


def test_the_study_measures_every_joint_once(tmp_path, monkeypatch, capsys):
    small = VIEW_SETS["turntable"].load(images=False, count=3, first=42, last=48, points=6)
    asked = []

    def sets(counts, draws):
        asked.append((counts, draws))
        yield "turntable, partial", 3, 1, small, suited(small)

    monkeypatch.setattr(views, "sets", sets)
    assert views.run(options(tmp_path)) == 0
    told = capsys.readouterr().out
    rows = views.read((tmp_path / views.FILE).read_text())
    assert {"tracks", "spectral", "pairs"} <= {row["joint"] for row in rows} and asked == [([3], 1)]
    energies = {row["joint"]: float(row["energy"]) for row in rows}
    assert energies["pairs"] <= energies["tracks"] <= energies["spectral"]
    assert "1 sets" in told and "turntable, partial, 3 views (1)" in told
    assert views.run(options(tmp_path)) == 0
    assert views.read((tmp_path / views.FILE).read_text()) == rows  # nothing is measured again


def test_the_table_tells_means_and_marks_the_least_consistent_energy():
    shared = {"set": "s", "views": "4", "accuracy": "0.5", "precision": "1", "seconds": "0.25"}
    rows = [
        {**shared, "draw": "1", "joint": "tracks", "energy": "-3"},
        {**shared, "draw": "2", "joint": "tracks", "energy": "-5"},
        {**shared, "draw": "1", "joint": "spectral", "energy": "-2"},
        {**shared, "draw": "1", "joint": "pairs", "energy": "-9"},
    ]
    told = views.table(rows)
    assert told.lines[0][:2] == ("s, 4 views (2)", "-4.0 · 0.50 · 1.00 · 0.25")
    assert told.bold == {(0, 1)}


def test_nothing_to_measure_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(views, "sets", lambda counts, draws: iter(()))
    with pytest.raises(ValueError, match="None of these sets"):
        views.run(options(tmp_path))
