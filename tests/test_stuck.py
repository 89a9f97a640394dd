"""The experiment on getting stuck: what it may look at, what it remembers, what it says."""

import numpy as np
import pytest

from experiments.stuck import (
    GROUPS,
    SINGLE,
    Group,
    Row,
    chosen,
    picture,
    read_best,
    read_rows,
    run,
    table,
    write_best,
    write_rows,
)


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_reported_pairs_were_never_tuned_on(group):
    reported = chosen(group, 40)
    assert len(reported) == len({tuple(options.items()) for options in reported}) > 0
    if group.dataset in ("house", "cars"):
        tuned = chosen(group, 40, tuning=True)
        name = "left" if group.frames else "number"
        assert all(options[name] % 2 == 0 for options in reported)
        assert all(options[name] % 2 == 1 for options in tuned)
    else:
        with pytest.raises(ValueError, match="nothing is tuned on"):
            chosen(group, 40, tuning=True)


def test_frames_are_spread_over_the_gaps():
    gaps = [options["right"] - options["left"] for options in chosen(Group("hotel", "B", 20), 40)]
    assert set(gaps) == set(range(10, 101, 10))
    assert max(np.bincount(gaps)) <= 5


def test_the_best_known_energy_can_only_improve(tmp_path):
    store = tmp_path / "results" / "best.csv"
    assert read_best(store) == {}
    write_best(store, {("g", "a"): -1.0, ("g", "b"): 2.5})
    write_best(store, {("g", "a"): -0.5, ("g", "b"): 2.0, ("h", "c"): 0.1})
    assert read_best(store) == {("g", "a"): -1.0, ("g", "b"): 2.0, ("h", "c"): 0.1}
    assert [path.name for path in store.parent.iterdir()] == ["best.csv"]


def row(method: str, energy: float, pair: str = "a") -> Row:
    return Row("House B 10 vs 30", pair, method, energy, -10.0, -9.0, 50, 0.1, 1.0)


def test_the_table_says_what_was_reached_and_what_was_not():
    rows = [row("adgm+", -10.0), row("auto", -9.5), row("1 n/1000", -10.0), row("adgm+", -8.0, "b")]
    rows += [row(name, -8.0) for name in ("3 n/1000", "10 n/1000", "30 n/1000", "100 n/1000")]
    text = table(rows)
    assert "| House B 10 vs 30 | 2 | 50% (50) | 0% (50) | 100% (50) |" in text
    assert "below 99 %: House B 10 vs 30 (50%)" in text
    assert "The true matching beats it 1 times." in text


@pytest.mark.data
def test_a_small_run_on_real_data(data_dir, tmp_path):
    store = tmp_path / "best.csv"
    groups, record, seen = [Group("house", "B", 10), Group("cars", "C", 0)], tmp_path / "rows.csv", []
    rows = run(groups, 1, restarts=2, store=store, record=record)
    assert len(rows) == 16 and len(read_best(store)) == 2
    assert all(np.isfinite(each.best) and each.energy >= each.best - 1e-9 for each in rows)
    assert all(each.reached for each in rows if each.method == "adgm+")
    assert run(groups, 1, restarts=2, store=store, record=record, watch=seen.append) == rows and not seen


def test_rows_come_back_from_their_file_and_make_a_picture(tmp_path):
    file = tmp_path / "rows.csv"
    rows = [row(name, -10.0 + k) for k, name in enumerate(("adgm+", "auto", *SINGLE))]
    write_rows(file, rows[:3])
    write_rows(file, rows[3:])
    assert read_rows(file) == rows
    picture(rows, tmp_path / "new" / "picture.png", ["House B 10 vs 30"] * 3)
    assert (tmp_path / "new" / "picture.png").read_bytes().startswith(b"\x89PNG")
