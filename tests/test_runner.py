"""The engine under fire: kills at any moment, lost workers, a full or forbidden disk, two runs at once."""

import json
import multiprocessing
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments import runner, store, trials, workers
from experiments.spec import Experiment, Panel
from experiments.store import Content, Store, StoreError

SERVE = workers.serve  # before a test puts another in its place
ROOT = Path(__file__).resolve().parents[1]
FORK = multiprocessing.get_context("fork")  # a child that needs no imports, so that kills fall into the run
SMALL = Experiment(
    "small",
    "Small random problems",
    (
        Panel(
            "noise",
            "random",
            "B",
            "drawn",
            "dataset.noise",
            (0.0, 8.0),
            count=6,
            dataset_params={"inliers": 6, "outliers": 2},
        ),
        Panel("penalty", "random", "C", "drawn", "method.tol", (1e-6, 1e-3), count=6, dataset_params={"inliers": 5}),
    ),
    ("adgm1",),
)
RIVALS = Experiment("small", "Small random problems", SMALL.panels[:1], ("adgm1", "rrwm", "ipfp"))


def rows_of(content: Content) -> dict:
    return {key: trials.comparable(row) for key, row in content.rows.items()}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> dict:
    path = tmp_path_factory.mktemp("engine") / "undisturbed.jsonl"
    runner.run(SMALL, path)
    found = rows_of(store.read(path))
    assert found.keys() == {unit.key for unit in SMALL.units()}
    assert all(row["status"] == "converged" for row in found.values())
    return found


# ---- kills -------------------------------------------------------------------------------------------------------


LARGER = replace(SMALL, panels=tuple(replace(panel, count=60) for panel in SMALL.panels))


def slowly(path: Path) -> None:
    runner.run(LARGER, path, watch=lambda progress: time.sleep(0.02))


@pytest.mark.long
def test_killed_twenty_times_the_rows_are_those_of_an_undisturbed_run(tmp_path):
    quiet, path, rng = tmp_path / "quiet.jsonl", tmp_path / "killed.jsonl", np.random.default_rng(0)
    runner.run(LARGER, quiet)
    undisturbed, sizes = rows_of(store.read(quiet)), []
    for _ in range(20):
        wanted = len(store.read(path).rows) + rng.integers(10)  # the kill comes when so many are there
        child = FORK.Process(target=slowly, args=(path,))
        child.start()
        while len(store.read(path).rows) < wanted:
            assert child.exitcode is None, "it was through before it could be killed"
            time.sleep(0.001)
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        sizes.append(len(store.read(path).rows))
    assert sizes == sorted(sizes) and sizes[-1] > 0, "a kill lost rows that were there"
    outcome = runner.run(LARGER, path)
    content = store.read(path)
    assert outcome.new == len(undisturbed) - sizes[-1] > 0
    assert rows_of(content) == undisturbed
    assert sum(b'"kind": "row"' in line for line in path.read_bytes().splitlines()) == len(undisturbed) == 240


@pytest.mark.long
def test_the_command_killed_with_its_workers_leaves_no_process_and_is_finished_by_the_same_command(tmp_path):
    (tmp_path / "big.toml").write_text(
        'name = "small"\ntitle = "t"\nmethods = ["adgm1"]\n[[panel]]\ntitle = "p"\ndataset = "random"\nmodel = "B"\n'
        "count = 2000\ndataset_params = { inliers = 8 }\n"
    )
    path = tmp_path / "rows.jsonl"
    command = [sys.executable, "-m", "experiments", "run", str(tmp_path / "big.toml"), "--store", str(path)]
    process = subprocess.Popen([*command, "--full", "--workers", "2"], cwd=ROOT, stderr=subprocess.DEVNULL)
    while not (path.exists() and len(store.read(path).rows) > 10):
        assert process.poll() is None
        time.sleep(0.05)
    workers = children(process.pid)
    process.kill()
    process.wait()
    assert len(workers) >= 2
    before = store.read(path)
    assert 10 < len(before.rows) < 2000
    done = subprocess.run([*command, "--sample", "5", "--workers", "0"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "peak memory" in done.stdout
    after = store.read(path)
    assert before.rows.items() <= after.rows.items()
    assert len(after.runs) == 2
    while any(Path(f"/proc/{worker}/cmdline").exists() for worker in workers):
        time.sleep(0.05)  # pytest's own limit ends what never happens: workers that outlive their parent


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_every_cut_of_the_last_line_drops_exactly_that_row(tmp_path, undisturbed):
    whole = tmp_path / "whole.jsonl"
    runner.run(SMALL, whole, sample=1)
    data = whole.read_bytes()
    last = data.rstrip(b"\n").rfind(b"\n") + 1
    count = len(store.read(whole).rows)
    for end in range(last + 1, len(data)):
        content = store.parsed(data[:end])
        complete = end == len(data) - 1  # only the line's end is missing: the row is whole
        assert (len(content.rows), content.dropped) == ((count, 0) if complete else (count - 1, 1))
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(data[: last + 20])
    runner.run(SMALL, cut, sample=1)
    assert rows_of(store.read(cut)) == rows_of(store.read(whole))
    assert store.read(cut).dropped == 0


def test_a_changed_byte_is_noticed(tmp_path):
    line = store.encoded({"kind": "row", "key": "a", "energy": 1.25, "crc": "a rival's", "text": 'é, "crc": "'})
    assert store.decoded(line.rstrip(b"\n"))["energy"] == 1.25
    for at in range(len(line) - 1):
        broken = bytearray(line.rstrip(b"\n"))
        broken[at] ^= 1
        assert store.decoded(bytes(broken)) is None


# ---- parallel, lost workers, limits ------------------------------------------------------------------------------


@pytest.mark.long
def test_parallel_and_serial_runs_give_the_same_rows_also_when_a_worker_dies(tmp_path):
    serial, parallel = tmp_path / "serial.jsonl", tmp_path / "parallel.jsonl"
    runner.run(RIVALS, serial)
    killed, told = [], []

    def kill_one(progress):
        told.append(progress.doing)
        if not killed and progress.done >= 4:
            killed.append(multiprocessing.active_children()[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    outcome = runner.run(RIVALS, parallel, workers=runner.Workers(2), watch=kill_one)
    assert rows_of(store.read(parallel)) == rows_of(store.read(serial))
    assert outcome.tally.lost == 1
    assert told[0] == "2 workers are starting"  # before there is any row
    assert any(re.fullmatch(r"(building|solving) problem \d+ of 12", words) for words in told)
    assert 0 < max(outcome.tally.peak.values()) < 4 << 30
    assert not multiprocessing.active_children()


def serve_stuck(pipe, memory):
    """A worker that never finishes a unit of the panel "big"; known by name, because a new process imports it."""

    def run_group(group):
        while group.units[0].panel == "big":
            time.sleep(1.0)
        return trials.run_group(group)

    workers.run_group = run_group  # in the worker's own process
    SERVE(pipe, memory)


@pytest.mark.long
def test_a_unit_that_overruns_is_ended_and_is_a_row_with_its_reason(tmp_path, monkeypatch):
    big, small = (
        Panel(name, "random", "B", "drawn", count=1, dataset_params={"inliers": 5 + number})
        for number, name in enumerate(("big", "small"))
    )
    monkeypatch.setattr(workers, "serve", serve_stuck)
    experiment = Experiment("limits", "t", (big, small), ("adgm1",), time_limit=0.5)
    outcome = runner.run(experiment, tmp_path / "rows.jsonl", workers=runner.Workers(1, grace=(1.0, 0.1)))
    rows = {row["panel"]: row for row in store.read(tmp_path / "rows.jsonl").rows.values()}
    assert rows["big"]["status"] == "failed"
    assert "ended after" in rows["big"]["reason"]
    assert rows["small"]["status"] in ("converged", "time limit") or "ended after" in rows["small"]["reason"]
    assert outcome.progress.done == outcome.progress.total == 2


def test_what_cannot_be_built_or_solved_is_a_row_with_its_reason_and_may_be_retried(tmp_path, monkeypatch):
    few = Panel("few", "random", "third", "drawn", count=2, dataset_params={"inliers": 2, "outliers": 0})
    fine = Panel("fine", "random", "third", "drawn", count=1, dataset_params={"inliers": 5, "outliers": 0})
    experiment = Experiment("fails", "t", (few, fine), ("adgm1", "tm"))
    path = tmp_path / "rows.jsonl"
    outcome = runner.run(experiment, path)
    rows = list(store.read(path).rows.values())
    assert outcome.progress.failed == 4
    assert all(
        row["status"] == "failed" and "order 3 needs 3" in row["reason"] for row in rows if row["panel"] == "few"
    )
    assert all(row["status"] == "converged" for row in rows if row["panel"] == "fine")
    assert runner.run(experiment, path).new == 0
    assert runner.run(experiment, path, retry=True).new == 4
    assert len(store.read(path).rows) == 6


def test_the_same_problem_is_built_once_for_all_its_methods(tmp_path, monkeypatch):
    built = []
    load = trials.load
    monkeypatch.setattr(trials, "load", lambda setup: built.append(setup) or load(setup))
    runner.run(RIVALS, tmp_path / "rows.jsonl", sample=2)
    assert len(built) == 2 * 2  # two pairs at each of two settings
    assert len(store.read(tmp_path / "rows.jsonl").rows) == 3 * len(built)


def test_a_dead_worker_is_blamed_after_its_second_death():
    class Dead:
        since, finished = 1.0, 1

        class process:
            exitcode = -9

    units = tuple(RIVALS.units(1))[:3]
    dead, waiting, tries = Dead(), workers.deque(), {}
    dead.groups = workers.deque([trials.Group(0, units)])
    assert workers.recovered(dead, waiting, tries, False, workers.Tally()) == []
    assert waiting[0].units == units[1:]
    waiting.clear()
    (row,) = workers.recovered(dead, waiting, tries, False, workers.Tally())
    assert row["key"] == units[1].key
    assert "died 2 times (signal 9)" in row["reason"]
    assert waiting[0].units == units[2:]


# ---- the store ---------------------------------------------------------------------------------------------------


def test_two_runs_on_one_store_one_is_refused(tmp_path, undisturbed):
    path = tmp_path / "rows.jsonl"
    refused = []

    def second(progress):
        if not refused:
            with pytest.raises(StoreError, match="Another run is writing") as refusal:
                runner.run(SMALL, path)
            refused.append(refusal)

    runner.run(SMALL, path, watch=second)
    assert refused
    assert rows_of(store.read(path)) == undisturbed


def test_a_store_of_another_experiment_is_refused(tmp_path):
    runner.run(SMALL, tmp_path / "rows.jsonl", sample=1)
    other = Experiment("other", "t", SMALL.panels, ("adgm1",))
    with pytest.raises(StoreError, match="holds rows of small, not of other"):
        runner.run(other, tmp_path / "rows.jsonl")


def fill(path: Path, limit: int, out) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))  # the kernel refuses the rest, as a full disk does
    try:
        runner.run(SMALL, path)
    except StoreError as error:
        out.send(str(error))


def test_a_full_disk_is_a_clear_error_and_earlier_rows_are_intact(tmp_path, undisturbed):
    path = tmp_path / "rows.jsonl"
    runner.run(SMALL, path, sample=1)
    before = rows_of(store.read(path))
    mine, theirs = FORK.Pipe()
    child = FORK.Process(target=fill, args=(path, path.stat().st_size + 3000, theirs))
    child.start()
    child.join()
    message = mine.recv()
    assert "cannot be written" in message and "--store" in message and "are safe" in message
    content = store.read(path)
    assert content.dropped == 0
    assert before.items() <= rows_of(content).items()
    runner.run(SMALL, path)
    assert rows_of(store.read(path)) == undisturbed


def test_a_read_only_folder_is_a_clear_error_before_anything_runs(monkeypatch):
    monkeypatch.setattr(runner, "rows_of", lambda *arguments: pytest.fail("it ran"))
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o555)
        me = os.geteuid()
        if me == 0:
            os.seteuid(65534)  # the superuser may write everywhere
        try:
            with pytest.raises(StoreError, match=r"cannot be opened .* choose another file with --store"):
                runner.run(SMALL, folder / "rows.jsonl", sample=1)
        finally:
            os.seteuid(me)
        folder.chmod(0o755)


def test_packing_keeps_every_row_and_is_small_and_repeatable(tmp_path, undisturbed):
    path = tmp_path / "rows.jsonl"
    runner.run(SMALL, path)
    packed = [tmp_path / name for name in ("a.jsonl.gz", "b.jsonl.gz")]
    for target in packed:
        store.pack(store.read(path), target)
    assert rows_of(store.read(packed[0])) == undisturbed
    assert packed[0].read_bytes() == packed[1].read_bytes()
    assert packed[0].stat().st_size < path.stat().st_size / 3


def test_stopping_keeps_what_is_done_and_the_next_run_goes_on(tmp_path, undisturbed):
    path = tmp_path / "rows.jsonl"
    outcome = runner.run(SMALL, path, watch=lambda progress: progress.done >= 5)
    assert outcome.stopped and len(store.read(path).rows) == 5
    outcome = runner.run(SMALL, path)
    assert not outcome.stopped and outcome.new == len(undisturbed) - 5
    assert rows_of(store.read(path)) == undisturbed


def test_rows_say_which_machine_and_runs_say_which_versions(tmp_path):
    runner.run(SMALL, tmp_path / "rows.jsonl", sample=1, command="python -m experiments run small")
    content = store.read(tmp_path / "rows.jsonl")
    assert {row["machine"] for row in content.rows.values()} == content.machines.keys()
    assert content.run["command"] == "python -m experiments run small"
    assert content.run["versions"].keys() >= {"project", "numpy", "scipy", "numba"}
    with Store(tmp_path / "rows.jsonl") as again:
        assert json.dumps(again.content.run) == json.dumps(content.run)


# ---- Dask --------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_dask_cluster_that_loses_a_worker_gives_the_same_rows(tmp_path):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed (requirements-dev.txt)")
    serial, cluster_path = tmp_path / "serial.jsonl", tmp_path / "cluster.jsonl"
    runner.run(RIVALS, serial)
    killed = []
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            pids = list(client.run(os.getpid).values())

        def kill_one(progress):
            if not killed:
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)

        runner.run(RIVALS, cluster_path, workers=runner.Workers(scheduler=cluster.scheduler_address), watch=kill_one)
    assert killed
    assert rows_of(store.read(cluster_path)) == rows_of(store.read(serial))


def test_a_scheduler_that_is_not_there_or_a_missing_dask_is_a_clear_error(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match="pip install distributed"):
        runner.run(SMALL, tmp_path / "rows.jsonl", workers=runner.Workers(scheduler="tcp://127.0.0.1:1"))
