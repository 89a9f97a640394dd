"""The benchmark gmbench: rebuilt instances have the published optima, and profiles count what they say."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from adgm import METHODS, Dense, Problem, solve
from experiments import store, summary
from experiments.__main__ import main
from experiments.spec import Experiment
from experiments.store import Content, Record
from experiments.studies import STUDIES, gmbench
from experiments.studies.gmbench import (
    GAPS,
    LIMITS,
    Case,
    Profile,
    best_values,
    counted,
    derived,
    experiment,
    figure,
    gap,
    profiles,
    published,
    rebuilt,
    table,
    text,
    total,
)
from experiments.trials import grouped, run_group, watched
from features.datasets import DATASETS
from features.datasets.gmbench import HOUSE, INSTANCES, Instance, named
from features.files.problem_files import ProblemFile, read_problem, write_problem
from features.models import MODELS

ROOT = Path(__file__).resolve().parents[1]


def test_the_instances_are_those_of_the_benchmark():
    assert len(INSTANCES) == 154
    assert (HOUSE[0], HOUSE[-1], len(HOUSE)) == ((0, 85), (19, 104), 105)
    assert str(Instance("car", 3)) == "car-3"
    with pytest.raises(ValueError, match="no instance car-18 to rebuild"):
        Instance("car", 18)
    with pytest.raises(ValueError, match="no instance"):
        named("gmbench:house")


@pytest.mark.data
def test_the_truth_of_house_has_the_published_optimum(data_dir):
    """On house-sparse the truth is optimal: its energy is the published one but for the last digits."""
    best = best_values()
    for instance in (one for one in INSTANCES if one.dataset == "house-sparse"):
        problem = instance.build().problem
        assert problem.energy(np.eye(30)) == pytest.approx(best[instance.dataset, instance.number], abs=1e-3)


@pytest.mark.data
@pytest.mark.parametrize("word", ["car-1", "car-9", "car-30", "motor-1", "motor-8", "motor-20"])
def test_our_best_energy_is_the_published_optimum(data_dir, word):
    file = named(f"gmbench:{word}")
    dataset, number = word.split("-")
    found = solve(file.problem, METHODS["adgm+"].make())
    assert found.energy == pytest.approx(best_values()[dataset, int(number)], abs=1e-3)
    back = read_problem(write_problem(file, ".dd"))
    assert back.problem.energy(found.assignment) == found.energy
    assert file.left_points.shape == (file.problem.shape[0], 2)
    assert all(image is not None for image in Instance(dataset, int(number)).build(images=True).images)


@pytest.mark.data
def test_the_shipped_figures_are_derived_from_the_published_ones(data_dir):
    if not (data_dir / "gmbench_published.csv").is_file():
        pytest.skip("the benchmark's figures are not there")
    best, told = derived(data_dir / "gmbench_published.csv", data_dir / "gmbench_optima.csv")
    from experiments.studies.gmbench import BEST_FILE, PUBLISHED_FILE, SHIPPED

    assert (SHIPPED / BEST_FILE).read_text(encoding="utf-8") == best
    assert (SHIPPED / PUBLISHED_FILE).read_text(encoding="utf-8") == told


def test_published_profiles_are_whole():
    found = published()
    assert len(found) == 3 * 20 * 4
    assert all(list(p.counts) == sorted(p.counts) and p.counts[-1] <= p.instances for p in found)
    whole = total(found, "fm-bca", 1.0, True)
    assert (whole.instances, whole.within()) == (154, 105 + 27 + 20)
    assert set(best_values()) == {(one.dataset, one.number) for one in INSTANCES}


def test_gaps_are_counted():
    assert gap(-90.0, -100.0) == pytest.approx(0.1)
    assert gap(np.inf, -100.0) == np.inf
    assert gap(5.0, 4.0) == 0.25
    counts = counted([0.0, 9e-4, 0.3, np.inf])
    assert counts == tuple(sum(g <= most for g in (0.0, 9e-4, 0.3)) for most in GAPS)


@pytest.mark.data
def test_an_instance_is_a_pair_that_brings_its_problem(data_dir):
    pair = DATASETS["gmbench"].load(number=106, images=False)
    whole = named("gmbench:car-1").problem
    assert pair.name == "gmbench car-1" and not np.array_equal(pair.truth, np.arange(19))
    truth = np.eye(19)[pair.truth]
    assert MODELS["given"].build(pair).energy(truth) == pytest.approx(whole.energy(np.eye(19)))


@pytest.mark.data
def test_the_experiment_runs_in_the_engine(data_dir):
    asked = experiment(methods=("adgm+",), limits=(5.0,))
    assert Experiment.from_dict(asked.to_dict()) == asked
    assert asked.size() == 154
    (group,) = grouped(list(asked.units(1)))
    (row,) = run_group(group)
    found = profiles([row], asked, rebuilt())
    assert [(one.method, one.seconds, one.within()) for one in found] == [("adgm+", 5.0, 1)]


ASKED = experiment(methods=("adgm+", "adgm"))


def rows() -> list[Record]:
    values = {"adgm+": (-10.0, -9.995), "adgm": (-10.0, -8.0)}
    common: Record = {"status": "converged", "seconds": 0.1, "seconds_to_best": 0.02, "proved": True}
    return [
        {"key": f"{method} {k}", "method": method, "at": {"number": k + 1}, "energy": energy, **common}
        | {"by": {f"{limit:g}": energy for limit in LIMITS}}
        for method, both in values.items()
        for k, energy in enumerate(both)
    ]


def test_rows_become_a_table_and_a_picture():
    cases = [Case("toy", -10.0), Case("toy", None)]
    content = Content(machines={"m": {"cpu": "a machine", "cores": 2}}, rows={row["key"]: row for row in rows()})
    found = profiles(rows(), ASKED, cases)
    assert Profile("toy", "adgm", 1.0, 2, counted([0.0, 1.995 / 9.995]), False) in found
    other = Profile("toy", "fm", 1.0, 2, (1,) * len(GAPS), True)
    told = table([*found, other])
    assert told.lines[0][:4] == ("ADGM+ (many starts)", "ours", "2/2", "2/2")
    assert ("fm", "published", "1/2", "1/2", "–", "–") in told.lines
    drawn = figure([*found, other]).axes[0]
    assert {line.get_label() for line in drawn.get_lines()} >= {"ADGM+ (many starts) (ours)", "fm"}
    assert "a machine" in text(content, ASKED, cases) and "ECCV 2022" in text(content, ASKED, cases)
    assert "ECCV" not in text(content, ASKED, cases, with_published=False)
    sentence = "ADGM+ (many starts): 0.100 s in the median, 0.020 s to the best; 2 of 2 proved optimal."
    assert sentence in text(content, ASKED, cases)


def test_what_comes_late_or_not_at_all_does_not_count():
    row = rows()[0]
    kept = [{**row, "by": {"1": None, "10": -10.0}}, {**row, "status": "refused"}, {"reason": "…", "status": "failed"}]
    kept[2] |= {"method": "adgm+", "at": {"number": 1}}
    found = {one.seconds: (one.within(), one.instances) for one in profiles(kept, ASKED, [Case("toy", -10.0)])}
    assert found == {1.0: (0, 2), 10.0: (1, 2)}


def test_a_row_notes_what_a_method_would_have_given():
    problem = Problem((5, 5), [Dense(np.random.default_rng(1).normal(size=(25, 25)))])
    unit = replace(next(ASKED.units()), marks=(1e-9, 60.0))
    result, by = watched(problem, METHODS["adgm+"].make(), unit)
    assert by == {"1e-09": None, "60": result.energy}
    with pytest.raises(ValueError, match="within the time limit of 10"):
        replace(ASKED, marks=(20.0,))


def test_any_folder_of_problems_can_be_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "mine"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for k in range(2):
        problem = Problem((3, 3), [Dense(rng.normal(size=(3, 3))), Dense(rng.normal(size=(9, 9)))])
        (folder / f"p{k}.dd").write_bytes(write_problem(ProblemFile(problem), ".dd"))
    (folder / "p1.opt").write_bytes(b"-100")
    (folder / "notes.txt").write_text("nothing")
    words = [
        "gmbench",
        "--folder",
        str(folder),
        "--methods",
        "adgm+,adgm",
        "--limits",
        "5",
        "-o",
        str(tmp_path / "out"),
    ]
    before = set(DATASETS)
    try:
        assert main(words) == 0
        first = capsys.readouterr().out
        assert re.search(r"ADGM\+ \(many starts\) *\| *ours *\| *1/2 *\| *1/2", first)  # nothing reaches −100
        assert main(words) == 0
        assert capsys.readouterr().out == first  # from the store
        assert {path.name for path in (tmp_path / "out").iterdir()} == {"gmbench.jsonl.gz", "gmbench.png"}
    finally:
        for key in set(DATASETS) - before:
            del DATASETS[key]


def test_the_study_is_a_command(capsys):
    assert "gmbench" in STUDIES
    assert [case.best is not None for case in rebuilt()] == [True] * 154
    assert main(["gmbench", "--methods", "none"]) == 2
    assert "methods has 'none'" in capsys.readouterr().err


def test_the_readme_says_what_the_shipped_rows_say():
    line = next(line for line in (ROOT / "README.md").read_text("utf-8").splitlines() if "the public benchmark" in line)
    told = re.fullmatch(
        r"\| the public benchmark, (\d+) instances, 1 s each \| ADGM\+ and fusion moves: all within 0\.1 % of the "
        r"optimum, of the 20 published methods the best has (\d+); ADGM\+ proves (\d+) optimal, in ([\d.]+) s "
        r"\(median\) \|",
        line,
    )
    assert told is not None
    content = store.read(store.SHIPPED / gmbench.ROWS_FILE)
    rows = list(content.rows.values())
    found = profiles(rows, summary.declared(content), rebuilt())
    ours = [total(found, method, 1.0, False).within() for method in ("adgm+", "fusion")]
    others = published()
    best = max(total(others, method, 1.0, True).within() for method in {one.method for one in others})
    mine = [row for row in rows if row["method"] == "adgm+"]
    proved, median = sum(bool(row["proved"]) for row in mine), np.median([row["seconds"] for row in mine])
    assert ours == [len(INSTANCES)] * 2
    assert told.groups() == (f"{len(INSTANCES)}", f"{best}", f"{proved}", f"{median:.2f}")
