"""Fair shares: slices in turns, no place for whoever sleeps or has left, deadlines while building; no page computes."""

import threading
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import ui.jobs.job
import ui.jobs.scheduler
import ui.jobs.task
from adgm import ADGM, Dense, Problem
from adgm.machine import computing
from adgm.machine.deadline import check_time, waited_for
from features.datasets import DATASETS
from features.explain import lessons
from features.limits import LAPTOP
from test_job import counters_round_to_their_count, counting, eventually, run  # noqa: F401
from ui.choice import dataset_download
from ui.jobs.job import Job, Pacing
from ui.jobs.scheduler import JobPool, Visitor
from ui.jobs.task import Task
from ui.learn import chapter
from ui.learn.chapters import CHAPTERS

EASY = Problem((2, 2), [Dense(np.eye(4))])


@pytest.fixture
def one_place():
    return JobPool(running=1, waiting=20, each=20)


def test_short_jobs_do_not_wait_for_long_ones(run, one_place):  # noqa: F811
    long = [run(pool=one_place) for _ in range(3)]
    eventually(lambda: all(job.snapshot().iteration > 20 for job in long))
    assert run(pool=one_place, max_iter=50).wait(60).status == "iteration limit"
    assert all(job.snapshot().active for job in long)


def test_whoever_sleeps_between_iterations_holds_no_place(run, one_place):  # noqa: F811
    watched = [run(pool=one_place, pacing=Pacing(0.01)) for _ in range(3)]  # the second iteration is minutes away
    eventually(lambda: all(job.snapshot().iteration == 1 for job in watched))
    eventually(lambda: not one_place.computing and not one_place.queue)
    assert {job.snapshot().status for job in watched} == {"running"}
    assert run(pool=one_place, max_iter=50).wait(60).status == "iteration limit"


def test_the_queue_tells_position_and_time(run, one_place):  # noqa: F811
    one_place.admit("a long slice", Visitor())
    one_place.enter("a long slice", lambda: False)
    jobs = [run(pool=one_place) for _ in range(2)]
    assert [job.snapshot().position for job in jobs] == [1, 2]
    first, second = (job.snapshot().delay for job in jobs)
    assert 0 < first < second
    one_place.dismiss("a long slice")
    eventually(lambda: all(job.snapshot().iteration > 5 for job in jobs))


def test_one_visitor_has_a_share_of_the_pool(run):  # noqa: F811
    pool, me = JobPool(running=1, waiting=20, each=2), Visitor()
    mine = [run(pool=pool, visitor=me) for _ in range(2)]
    with pytest.raises(ValueError, match="2 of your runs"):
        run(pool=pool, visitor=me)
    run(pool=pool, visitor=Visitor())
    mine[0].stop()
    mine[0].wait(60)
    run(pool=pool, visitor=me)


@pytest.mark.parametrize("paused", [False, True])
def test_a_closed_tab_ends_its_job(run, monkeypatch, paused):  # noqa: F811
    monkeypatch.setattr(ui.jobs.job, "LIMITS", replace(LAPTOP, absence=0.2))
    connected = threading.Event()
    connected.set()
    job = run(visitor=Visitor("one", connected.is_set, 1000.0), pacing=Pacing(paused=paused))
    eventually(lambda: job.snapshot().frame is not None)
    connected.clear()
    assert job.wait(60).status == "abandoned"


# ------------------------------------------------------------------ building


def test_a_problem_is_built_by_its_job_and_solved():
    job = Job(ADGM(), lambda: EASY, pool=JobPool(1)).start()
    assert job.wait(60).status == "converged"
    assert job.problem is EASY


@pytest.mark.parametrize("limit", [1.0, 7.5])
def test_building_counts_for_the_time_limit(monkeypatch, limit):
    clock = [0.0]

    def build() -> Problem:
        for _ in range(1000):
            clock[0] += 0.25
            check_time()
        raise AssertionError("nobody has ended it")

    monkeypatch.setattr(ui.jobs.job, "ProcessorTime", lambda: lambda: clock[0])
    end = Job(ADGM(), build, time_limit=limit, pool=JobPool(1)).start().wait(60)
    assert end.status == "failed" and f"{limit:g} s were over" in end.error
    assert end.elapsed == pytest.approx(limit + 0.5, abs=0.5)  # by the clock above


def test_time_that_building_took_is_missing_later(monkeypatch):
    clock = [0.0]

    def build() -> Problem:
        clock[0] += 3.0
        return EASY

    monkeypatch.setattr(ui.jobs.job, "ProcessorTime", lambda: lambda: clock[0])
    end = Job(ADGM(), build, time_limit=2.0, pool=JobPool(1)).start().wait(60)
    assert end.status == "time limit" and end.iteration == 0 and end.best is not None


def test_stop_acts_while_building():
    begun = threading.Event()

    def build() -> Problem:
        begun.set()
        while True:
            check_time()

    pool = JobPool(1)
    job = Job(ADGM(), build, pool=pool).start()
    assert begun.wait(60)
    assert job.snapshot().status == "building"
    job.stop()
    assert job.wait(60).status == "stopped"
    assert not pool.computing and not pool.members


def test_what_cannot_be_built_is_a_sentence():
    def build() -> Problem:
        raise ValueError("There are no points.")

    end = Job(ADGM(), build, pool=JobPool(1)).start().wait(60)
    assert (end.status, end.error) == ("failed", "There are no points.")


# ------------------------------------------------------------------ requests


def test_a_request_gives_its_value_or_its_error(one_place):
    assert one_place.perform(lambda: 7, Visitor()) == 7
    with pytest.raises(KeyError, match="mine"):
        one_place.perform(lambda: {}["mine"], Visitor())
    eventually(lambda: not one_place.members)


def test_a_request_that_takes_too_long_is_given_up_and_keeps_its_place_to_the_end(one_place, monkeypatch):
    clock, end = [0.0], threading.Event()
    monkeypatch.setattr(ui.jobs.scheduler, "monotonic", lambda: clock[0])

    def work() -> None:
        clock[0] += 100
        end.wait(60)

    with pytest.raises(ValueError, match="longer than the 5 s"):
        one_place.perform(work, Visitor(), seconds=5)
    assert len(one_place.computing) == 1
    end.set()
    eventually(lambda: not one_place.members)
    assert one_place.perform(lambda: 8, Visitor(), seconds=5) == 8


# ------------------------------------------------------------------ work of one piece that looks at its deadline


@pytest.fixture
def ends():
    """Whoever works on and on asks it whether to end."""
    end = threading.Event()
    yield end
    end.set()


def on_and_on(end: threading.Event):
    while not end.is_set():
        check_time()
        end.wait(0.001)


def long_work(kind: str, pool: JobPool, end: threading.Event) -> None:
    """Work of each kind that never reports, and takes as long as it is let."""
    if kind == "task":
        Task(lambda report: on_and_on(end), pool=pool).start()
    elif kind == "request":
        threading.Thread(target=pool.perform, args=(lambda: on_and_on(end), Visitor(), 1000.0), daemon=True).start()
    else:
        Job(ADGM(), lambda: on_and_on(end) or EASY, pool=pool).start()  # it builds its problem


@pytest.mark.parametrize("kind", ["task", "request", "job"])
def test_whoever_works_in_one_piece_gives_way_where_it_looks_at_its_deadline(run, one_place, ends, kind):  # noqa: F811
    long_work(kind, one_place, ends)
    eventually(lambda: one_place.computing)
    assert run(pool=one_place, max_iter=50).wait(60).status == "iteration limit"
    eventually(lambda: one_place.computing)  # and goes on
    ends.set()
    eventually(lambda: not one_place.members)


def test_a_lock_that_others_may_wait_for_is_not_taken_along(run, one_place, ends):  # noqa: F811
    held = threading.Lock()

    def work(report) -> None:
        with waited_for(held, held=True):
            on_and_on(ends)

    Task(work, pool=one_place).start()
    eventually(held.locked)
    job = run(pool=one_place, max_iter=5)
    eventually(lambda: one_place.position(job) == 1)
    member = next(iter(one_place.computing))
    assert not one_place.turn(member, lambda: False)  # nor does another thread give its place away
    assert member in one_place.computing
    ends.set()
    assert job.wait(60).status == "iteration limit"


def test_letting_others_go_first_is_not_counted(monkeypatch, one_place):
    clock, own = [0.0], threading.local()
    monkeypatch.setattr(ui.jobs.scheduler, "monotonic", lambda: clock[0])
    monkeypatch.setattr(computing, "thread_time", lambda: getattr(own, "seconds", 0.0))
    other, begun = threading.Event(), threading.Event()

    def build() -> Problem:
        begun.set()
        eventually(lambda: one_place.queue)
        clock[0] += 1.0
        own.seconds = 1.0  # of work
        check_time()
        return EASY

    job = Job(ADGM(), build, time_limit=50.0, pool=one_place).start()
    assert begun.wait(60)

    def short() -> None:
        clock[0] += 100.0
        other.set()

    threading.Thread(target=one_place.perform, args=(short, Visitor(), 1000.0), daemon=True).start()
    end = job.wait(60)
    assert other.is_set() and end.status == "converged" and end.elapsed == 1.0


def test_a_task_computes_no_longer_than_a_run_may(monkeypatch, one_place):
    clock = [0.0]
    monkeypatch.setattr(ui.jobs.scheduler, "monotonic", lambda: clock[0])
    monkeypatch.setattr(ui.jobs.task, "LIMITS", replace(LAPTOP, job_seconds=5.0))

    def work(report) -> None:
        for k in range(1000):
            clock[0] += 1.0
            report(k / 1000, "", k)
        raise AssertionError("nobody has ended it")

    end = Task(work, pool=one_place).start().wait(60)
    assert (end.status, end.value) == ("time limit", 5)


# ---- what else is computed ---------------------------------------------------------------------------------------


def learn() -> None:
    from ui.learn.page import show

    show()


@pytest.fixture
def noted():
    """Makes functions that note the names of the threads they are called in."""
    names = []

    def noting(work):
        return lambda *given, **named: names.append(threading.current_thread().name) or work(*given, **named)

    noting.names = names
    return noting


@pytest.mark.parametrize("key", CHAPTERS)
def test_no_chapter_solves_in_the_thread_that_draws_it(monkeypatch, noted, key):
    monkeypatch.setattr(lessons, "solve", noted(lessons.solve))
    monkeypatch.setattr(chapter, "PREPARED", set())
    monkeypatch.setattr(lessons, "STARTS", 2)  # instead of thirty
    for name in ("solved", "lucky_starts"):
        monkeypatch.setattr(lessons, name, lru_cache(getattr(lessons, name).__wrapped__))
    test = AppTest.from_function(learn, default_timeout=60)
    test.query_params["chapter"] = key
    test.run()
    assert not test.exception and set(noted.names) <= {"request"}


def test_a_pair_of_a_data_set_is_loaded_in_a_place_of_the_pool(monkeypatch, noted):
    monkeypatch.setitem(DATASETS, "watched", replace(DATASETS["random"], make=noted(DATASETS["random"].make)))
    dataset_download.load.clear()
    assert dataset_download.load("watched", (("inliers", 5), ("outliers", 0))).shape == (5, 5)
    assert noted.names == ["request"]


def taking() -> None:
    import threading

    from ui.parts.downloads import download

    download("Small", "small.csv", "a,b")
    download("Made", "made.csv", lambda: threading.current_thread().name)


def test_files_to_take_away_are_made_in_a_place_of_the_pool(monkeypatch):
    offered = {}
    monkeypatch.setattr(
        "streamlit.download_button", lambda label, content, *given, **look: offered.update({label: content})
    )
    AppTest.from_function(taking, default_timeout=60).run()
    assert offered["Small"] == "a,b"
    assert offered["Made"]() == "request"
