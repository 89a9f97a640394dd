"""The Experiments page without a browser: choices, refusals, results behind a point, and the one process per server."""

import json
import multiprocessing
import os
import signal
import time
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from experiments import runner, store, summary, toml_spec
from experiments.paper import EXPERIMENTS
from experiments.spec import Experiment, Panel
from features.limits import LAPTOP
from features.recipe import Recipe
from ui.experiments import page as page
from ui.experiments.results import Results, recipe_of
from ui.jobs import experiment_process as experiment
from ui.jobs.experiment_process import ExperimentProcess, Running, store_path
from ui.parts.charts.experiment import curves, picked

FORK = multiprocessing.get_context("fork")
TINY = Experiment(
    "tiny",
    "Tiny",
    (
        Panel("noise", "random", "B", "drawn", "dataset.noise", (0.0, 30.0), count=3, dataset_params={"inliers": 6}),
        Panel(
            "start",
            "random",
            "B",
            "drawn",
            "method.start",
            ("uniform", "zeros"),
            count=3,
            dataset_params={"inliers": 6},
        ),
        Panel("all", "random", "C", "drawn", count=2, dataset_params={"inliers": 5}),
    ),
    ("adgm1", "adgm2"),
)
LONG = Experiment(
    "long", "Long", (Panel("p", "random", "B", "drawn", count=4000, dataset_params={"inliers": 12}),), ("adgm1",)
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Results:
    path = tmp_path_factory.mktemp("page") / "tiny.jsonl"
    runner.run(TINY, path)
    content = store.read(path)
    experiment = summary.declared(content)
    return Results(content, experiment, summary.enriched(content, experiment))


def opened(**state) -> AppTest:
    test = AppTest.from_string("from ui.experiments import page as experiments\nexperiments.show()", default_timeout=60)
    for name, value in state.items():
        test.session_state[name] = value
    test.run()
    assert not test.exception
    return test


def texts(test: AppTest) -> str:
    kinds = (test.caption, test.markdown, test.info, test.warning, test.error)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


# ---- choices -----------------------------------------------------------------------------------------------------


def test_the_size_and_the_time_are_told_before_anything_runs():
    test = opened(**{"experiment before": "synthetic", "results view": page.RUN_VIEW})
    assert test.selectbox(key="experiment").options == [*(one.title for one in EXPERIMENTS.values()), page.OWN]
    test.multiselect(key="methods of synthetic").set_value(["adgm1"]).run()
    test.number_input(key="sample").set_value(3).run()
    units = EXPERIMENTS["synthetic"].with_methods(("adgm1",)).size(3)
    assert f"{units} units, {units} still to run: about" in texts(test)
    assert not test.button(key="run experiment").disabled
    assert test.button(key="stop experiment").disabled


def test_an_uploaded_file_is_an_experiment_or_refused_with_its_line():
    test = opened(**{"experiment before": page.OWN})
    assert test.code[0].value.strip() == toml_spec.EXAMPLE.strip()
    wrong = toml_spec.EXAMPLE.replace('"rrwm"', '"rrmw"').encode()
    test.file_uploader(key="experiment file").upload("mine.toml", wrong, "application/toml").run()
    assert "mine.toml, line 3: methods has 'rrmw'" in test.error[0].value.replace("\\", "")
    fine = toml_spec.EXAMPLE[: toml_spec.EXAMPLE.index("[[panel]]")] + '[[panel]]\ntitle = "<b>x</b>"\n'
    fine += 'dataset = "random"\nmodel = "B"\n'
    test.file_uploader(key="experiment file").upload("mine.toml", fine.encode(), "application/toml").run()
    assert not test.error and not test.exception
    assert "6 units, 6 still to run" in texts(test)  # three methods on two pairs


def test_an_experiment_that_is_too_large_is_refused_before_its_units_are_listed(monkeypatch):
    monkeypatch.setattr(page, "keys_of", lambda *given: pytest.fail("they were listed"))
    monkeypatch.setattr(page, "LIMITS", replace(page.LIMITS, experiment_units=5))
    test = opened(**{"experiment before": "synthetic", "results view": page.RUN_VIEW})
    assert any("more than the 5 this server runs" in one.value for one in test.warning)


def test_a_second_visitor_is_told_who_has_the_server(monkeypatch, tmp_path):
    class Elsewhere(ExperimentProcess):
        @property
        def running(self):
            named = replace(TINY, title="![x](//e.org/)")
            return Running(named, 1, "somebody else", tmp_path / "rows.jsonl", None)

    monkeypatch.setattr(page, "EXPERIMENT_PROCESS", Elsewhere())
    test = opened(**{"experiment before": "synthetic", "results view": page.RUN_VIEW})
    told = texts(test)  # what somebody else has called it is no Markdown here
    assert "Another visitor is running an experiment on this server" in told
    assert r"\!\[x\]\(" in told and "![x]" not in told
    assert test.button(key="run experiment").disabled and test.button(key="stop experiment").disabled


# ---- results -----------------------------------------------------------------------------------------------------


def test_results_are_shown_and_the_pairs_behind_a_point_come_worst_first(results, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "tiny", results.experiment)
    shipped = Path(store_path(TINY)).parent / "shipped"
    store.pack(results.content, shipped / "tiny.jsonl.gz")
    monkeypatch.setattr(page, "SHIPPED", shipped)
    test = opened(**{"experiment before": "tiny"})
    test.selectbox(key="measure of tiny").set_value("accuracy").run()
    test.selectbox(key="setting noise").set_value(30.0).run()
    lines = [one.value for one in test.markdown if one.value.startswith("Random points")]
    right = [int(line.partition(": ")[2].partition("/")[0]) for line in lines]
    assert len(right) == 3 and right == sorted(right)
    test.selectbox(key="panel of tiny").set_value("all").run()
    assert not test.exception
    assert sum(one.value.startswith("Random points") for one in test.markdown) == 2


def test_every_row_leads_back_to_the_run_that_made_it(results):
    made = {unit.key: unit.setup for unit in TINY.units()}
    for row in results.rows:
        assert recipe_of(TINY, TINY.panel(row["panel"]), row) == made[row["key"]]
        assert isinstance(made[row["key"]], Recipe)


def test_a_click_names_the_point_that_was_drawn_there(results):
    means = summary.points(results.rows, "accuracy")
    for panel in TINY.panels:
        spec = curves(TINY, panel, TINY.methods, "accuracy", means)
        json.dumps(spec, allow_nan=False)
        for index, series in enumerate(spec["series"]):
            for at, point in enumerate(series["data"]):
                mean = point[1] if panel.values else point[0]  # bars lie
                place = picked(panel, TINY.methods, means, [{"series_index": index, "data_indices": [at]}])
                assert place is not None and place[2] == TINY.methods[index]
                assert means[place].mean == pytest.approx(mean, rel=1e-4)
    assert picked(TINY.panels[0], TINY.methods, means, []) is None
    assert picked(TINY.panels[0], TINY.methods, means, [{"series_index": 9, "data_indices": [0]}]) is None


@pytest.mark.parametrize(("name", "said"), [("gmbench", "published"), ("photos", "second look")])
def test_a_study_tells_its_own_summary_of_the_shipped_rows(name, said):
    test = opened(**{"experiment before": name})
    assert not test.exception
    assert said in texts(test)


# ---- the experiment process --------------------------------------------------------------------------------------


def wait_for(condition) -> None:
    while not condition():
        time.sleep(0.05)  # pytest's own limit ends what never happens


@pytest.mark.long
def test_one_experiment_at_a_time_which_its_owner_may_stop_and_anyone_goes_on_with():
    process, path = ExperimentProcess(), store_path(LONG)
    process.start(LONG, 3000, "ann")
    try:
        with pytest.raises(ValueError, match=r"Another experiment is running on this server \(Long\)"):
            process.start(TINY, 1, "bob")
        process.stop("bob")
        assert process.running is not None
        assert process.running.progress_line  # from the first moment
        wait_for(lambda: "problem" in process.running.progress_line)
        wait_for(lambda: len(store.read(path).rows) > 5)
    finally:
        process.stop("ann")
    assert process.running is None and process.failure == ""
    before = store.read(path).rows
    assert 5 < len(before) < 3000
    outcome = runner.run(LONG, path, sample=len(before) + 20, watch=lambda progress: True)
    assert outcome.new == 1 and before.items() <= store.read(path).rows.items()


def serve(ready: Connection) -> None:
    """A server with an experiment, in a process that is going to be killed."""
    process = ExperimentProcess()
    process.start(LONG, 3000, "ann")
    ready.send(process.running.process.pid)
    signal.pause()


@pytest.mark.long
def test_a_killed_server_takes_its_experiment_along_and_the_next_one_goes_on_without_a_row_lost_or_repeated():
    path, (ours, theirs) = store_path(LONG), FORK.Pipe()
    server = FORK.Process(target=serve, args=(theirs,))
    server.start()
    worker = ours.recv()
    wait_for(lambda: len(store.read(path).rows) > 5)
    server.kill()
    server.join()
    wait_for(lambda: not Path(f"/proc/{worker}/cmdline").exists())
    before, process = store.read(path).rows, ExperimentProcess()
    assert len(before) < 3000
    process.start(LONG, len(before) + 50, "bob")
    wait_for(lambda: process.running is None)
    after = store.read(path)
    assert process.failure == "" and len(after.runs) == 2
    assert before.items() <= after.rows.items() and len(after.rows) == len(before) + 50
    written = path.read_bytes().count(b'"kind": "row"')
    assert written == len(after.rows)  # none was computed twice


def test_an_abandoned_experiment_ends_and_a_failed_one_says_why(monkeypatch):
    monkeypatch.setattr(experiment, "LIMITS", replace(LAPTOP, patience=0.3))
    process = ExperimentProcess()
    process.start(LONG, 3000, "ann")
    child = process.running.process
    wait_for(lambda: process.running is None)
    assert child.poll() is not None
    monkeypatch.setattr(experiment, "LIMITS", LAPTOP)
    store_path(TINY).write_bytes(store.encoded({"kind": "run", "experiment": {"name": "other"}}))
    process.start(TINY, 1, "ann")
    wait_for(lambda: process.running is None and process.failure)
    assert "holds rows of other, not of tiny" in process.failure


def test_stores_follow_the_declaration_and_not_the_methods():
    assert store_path(TINY) == store_path(TINY.with_methods(("adgm1",)))
    other = Experiment("tiny", "Tiny", TINY.panels[:1], TINY.methods)
    assert store_path(other) != store_path(TINY)


def test_old_stores_are_forgotten(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "LIMITS", replace(LAPTOP, stores=2))
    for number in range(4):
        for ending in (".jsonl", ".json", ".log"):
            (tmp_path / f"{number}{ending}").touch()
        os.utime(tmp_path / f"{number}.jsonl", (number, number))
    experiment.forget_old(tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == ["2.jsonl", "3.jsonl"]
    assert len(list(tmp_path.iterdir())) == 6
