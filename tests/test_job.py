"""Jobs: exact stepping, pausing and stopping; thinning; the heartbeat; the queue; the same result as `adgm.solve`."""

import threading
import time
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

import adgm.run
from adgm import ADGM, State, solve
from experiments.tools import browser
from problems import mixed, planted
from ui.jobs.history import LEVELS, LaneCurve, Lanes, Thinned, frame_of
from ui.jobs.job import ACTIVE, Frame, Frames, Job, JobPool, Pacing, _with_rho
from ui.jobs.scheduler import Visitor
from ui.parts.charts.run import lanes_chart

NO_PROBLEM = None


@dataclass(frozen=True, eq=False, kw_only=True)
class CounterState(State):
    rho: float = 1.0
    residual: float = 1.0


@dataclass(frozen=True)
class Counter:
    """A method that counts: iteration k takes `pause` seconds and leaves x = (k, 0, 1)."""

    pause: float = 0.001
    max_iter: int = 10**9
    fault: Exception | None = None

    def init(self, problem) -> CounterState:
        return CounterState(iteration=0, x=np.array([0.0, 0.0, 1.0]))

    def step(self, problem, state: CounterState, n: int = 1) -> CounterState:
        n = min(n, self.max_iter - state.iteration)
        time.sleep(n * self.pause)
        if self.fault is not None:
            raise self.fault
        last = state.iteration + n
        numbers = np.arange(state.iteration + 1.0, last + 1)
        rho = np.full(n, state.rho)
        trace = {"residual": 1 / numbers, "rho": rho}
        return replace(state, iteration=last, x=np.array([last, 0.0, 1.0]), residual=1 / last, trace=trace)

    def done(self, state: CounterState) -> bool:
        return state.iteration >= self.max_iter


def counting(**options) -> Job:
    method = Counter(**{name: options.pop(name) for name in ("pause", "max_iter", "fault") if name in options})
    options.setdefault("pool", JobPool(running=4))
    return Job(method, NO_PROBLEM, **options)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def counters_round_to_their_count(monkeypatch):
    real = adgm.run.best_rounding

    def rounding(problem, x):
        return (x > 0, -float(x[0])) if problem is NO_PROBLEM else real(problem, x)

    monkeypatch.setattr(adgm.run, "best_rounding", rounding)


def eventually(condition, seconds: float = 60.0):
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("did not happen in time")


@pytest.fixture
def run():
    """Start jobs that are stopped at the end of the test."""
    jobs: list[Job] = []

    def start(**options) -> Job:
        jobs.append(counting(**options).start())
        return jobs[-1]

    yield start
    for job in jobs:
        job.stop()
    assert all(not job.wait(60).active for job in jobs)


def test_pause_holds_the_iteration_step_adds_exactly_and_resume_goes_on(run):
    job = run()
    eventually(lambda: job.snapshot().iteration > 5)
    job.pause()
    eventually(lambda: job.snapshot().status == "paused")
    held = job.snapshot().iteration
    job.step()
    eventually(lambda: job.snapshot().iteration == held + 1)
    job.step(300)
    job.step(2)
    eventually(lambda: job.snapshot().status == "paused" and job.snapshot().iteration >= held + 303)
    assert job.snapshot().iteration == held + 303
    job.resume()
    eventually(lambda: job.snapshot().iteration > held + 310)


@pytest.mark.parametrize("ask", ["resume", "step", "stop"])
def test_a_paused_job_that_is_asked_for_something_moves_although_its_thread_has_not_heard(run, ask):
    job = run()
    job.pause()
    eventually(lambda: job.snapshot().status == "paused")
    with job._changed:  # the thread cannot wake in here
        getattr(job, ask)()
        assert job.snapshot().moving


def test_a_step_while_running_pauses_after_it(run):
    job = run()
    eventually(lambda: job.snapshot().iteration > 200)
    job.step(3)
    eventually(lambda: job.snapshot().status == "paused")
    steps = job.snapshot().iteration
    frames = job.frames()
    assert frames[-1].iteration == steps and frames[-1].iteration - frames[-2].iteration <= 3


def test_a_job_may_begin_paused_and_shows_its_start(run):
    job = run(pacing=Pacing(paused=True))
    eventually(lambda: job.snapshot().status == "paused")
    assert job.snapshot().iteration == 0
    assert_array_equal(job.snapshot().frame.x, [0, 0, 1])


def test_stop_ends_it_and_keeps_what_was_found(run):
    job = run()
    eventually(lambda: job.snapshot().iteration > 50)
    job.stop()
    end = job.wait(60)
    assert end.status == "stopped" and end.best_energy == -end.iteration
    assert job.result().status == "stopped"


@pytest.mark.parametrize("each", [1e-5, 0.004, 0.3])
def test_snapshots_come_ten_times_a_second_or_after_every_iteration(monkeypatch, each):
    clock, moments = [0.0], []

    class Simulated(Counter):
        def step(self, problem, state, n=1):
            clock[0] += n * each
            return super().step(problem, state, n)

    def published(problem, x):
        moments.append(clock[0])
        return x > 0, 0.0

    monkeypatch.setattr(adgm.run, "best_rounding", published)
    monkeypatch.setattr("ui.jobs.job.monotonic", lambda: clock[0])
    monkeypatch.setattr("ui.jobs.job.ProcessorTime", lambda: lambda: clock[0])
    method = Simulated(pause=0.0, max_iter=round(30 / each))
    Job(method, NO_PROBLEM, pool=JobPool(1)).start().wait(10)  # type: ignore[arg-type]
    gaps = np.diff([moment for moment in moments if moment > 5])
    assert len(moments) > 90 and max(gaps[:-1]) <= max(0.1, each) + 1e-6 and min(gaps[:-1]) > 0.09


def test_a_pace_slows_the_run_but_neither_the_clock_nor_the_answers(run):
    job = run(pause=0.0, pacing=Pacing(50.0))
    eventually(lambda: job.snapshot().iteration >= 20)
    assert job.snapshot().rate < 70
    job.pacing = Pacing(0.01)  # the next iteration is minutes away
    job.stop()
    assert job.wait(60).status == "stopped"


def test_elapsed_counts_computing_only_and_the_time_limit_ends_it(run, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("ui.jobs.job.ProcessorTime", lambda: lambda: now[0])
    job = run(time_limit=0.3)
    eventually(lambda: job.snapshot().iteration > 0)
    now[0] += 0.2
    eventually(lambda: job.snapshot().elapsed == 0.2)
    job.pause()
    eventually(lambda: job.snapshot().status == "paused")
    now[0] += 100.0
    assert job.snapshot().elapsed == 0.2
    job.resume()
    held = job.snapshot().iteration
    eventually(lambda: job.snapshot().iteration > held)
    now[0] += 0.2
    end = job.wait(60)
    assert end.status == "time limit"
    assert end.elapsed >= 0.3 and end.remaining == 0


@pytest.mark.parametrize("paused", [False, True])
def test_an_unwatched_job_ends_by_itself_even_when_paused(run, monkeypatch, paused):
    now = [0.0]
    monkeypatch.setattr("ui.jobs.job.monotonic", lambda: now[0])
    job = run(visitor=Visitor(patience=0.1), pacing=Pacing(paused=paused))
    for _ in range(5):  # longer than its patience, and looked at again and again
        now[0] += 0.06
        job.touch()
        seen = job.snapshot().iteration
        eventually(lambda seen=seen: paused or job.snapshot().iteration > seen)
    assert job.snapshot().active
    now[0] += 0.11
    assert job.wait(60).status == "abandoned"


def test_rho_can_be_changed_on_the_way(run):
    job = run()
    eventually(lambda: job.snapshot().iteration > 10)
    job.change(4.0)
    eventually(lambda: job.snapshot().frame.rho == 4.0)
    (mark,) = job.snapshot().marks
    assert mark.rho == 4.0 and mark.iteration > 10
    history = job.snapshot().history
    assert set(history["rho"][history["iteration"] < mark.iteration]) == {1.0}
    with pytest.raises(ValueError, match="positive"):
        job.change(-1.0)


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (ValueError("The costs hold a NaN."), "The costs hold a NaN."),
        (MemoryError(), "There is not enough memory for this problem."),
        (KeyError("inner"), "The solver stopped unexpectedly (KeyError: 'inner')."),
    ],
)
def test_a_failure_is_a_sentence(run, fault, sentence):
    end = run(fault=fault).wait(60)
    assert (end.status, end.error) == ("failed", sentence)
    assert "Traceback" not in end.error


def test_a_full_pool_refuses_in_a_sentence_and_a_pause_gives_the_place_away(run):
    pool = JobPool(running=1, waiting=2)
    first, second, third = (run(pool=pool) for _ in range(3))
    with pytest.raises(ValueError, match="2 runs are already waiting"):
        counting(pool=pool).start()
    for job in (first, second, third):  # in turns, all of them go on
        eventually(lambda job=job: job.snapshot().iteration > 5)
    first.pause()
    eventually(lambda: first.snapshot().status == "paused")
    assert first not in pool.computing and first not in pool.queue
    third.stop()
    assert third.wait(60).status == "stopped"
    held = first.snapshot().iteration
    first.resume()
    eventually(lambda: first.snapshot().iteration > held)
    second.stop()


def test_no_result_before_the_end(run):
    job = run()
    eventually(lambda: job.snapshot().frame is not None)
    with pytest.raises(ValueError, match="no result yet"):
        job.result()


@settings(deadline=None, derandomize=True, max_examples=80)
@given(some.lists(some.integers(0, 90), max_size=30), some.integers(4, 50))
def test_thinned_curves_keep_the_beginning_the_end_and_an_even_spacing(lengths, limit):
    curves, count = Thinned(limit), 0
    for length in lengths:
        numbers = np.arange(count, count + length, dtype=float)
        curves.add({"iteration": numbers, "square": numbers**2})
        count += length
    if not count:
        return
    kept = curves.arrays()
    assert len(kept["iteration"]) <= limit
    assert kept["iteration"][0] == 0 and kept["iteration"][-1] == count - 1
    assert_array_equal(kept["square"], kept["iteration"] ** 2)
    assert len(set(np.diff(kept["iteration"][:-1]))) <= 1
    assert count < limit or len(kept["iteration"]) >= limit // 2 - 1


@settings(deadline=None, derandomize=True, max_examples=60)
@given(some.integers(1, 400), some.integers(3, 40), some.integers(1, 4))
def test_stored_frames_stay_within_their_number_and_size(count, limit, heavy):
    frames = Frames(limit, most_bytes=limit * 60)
    for k in range(count):
        levels = np.full(heavy * 3, k, np.int16)
        support = np.arange(heavy * 3, dtype=np.int32)
        frames.add(Frame(k, heavy * 3, support, levels, 1.0, 1.0, 1.0, 0.0, support[:1], 0.0))
    kept = frames.all()
    assert len(kept) <= limit and sum(frame.nbytes for frame in kept[:-1]) <= max(limit * 60, 3 * kept[0].nbytes)
    assert kept[0].iteration == 0 and kept[-1].iteration == count - 1
    assert [frame.iteration for frame in kept] == sorted({frame.iteration for frame in kept})


def test_a_frame_gives_back_the_whole_relaxed_assignment(run):
    job = run(max_iter=30)
    job.wait(60)
    for frame in job.frames():
        assert_allclose(frame.x, [frame.iteration, 0, 1], atol=frame.x.max() / LEVELS)
        assert_array_equal(frame.assignment, frame.x > 0)
    assert [frame.iteration for frame in job.frames()] == list(range(31))


@settings(deadline=None, derandomize=True)
@given(arrays(float, some.integers(1, 50), elements=some.just(0.0) | some.floats(-1e6, 1e6)))
def test_a_stored_iteration_is_told_finely_and_small(x):
    frame = frame_of(SimpleNamespace(x=x, iteration=3, energy=0.5), x > 0, 0.25)
    assert_allclose(frame.x, x, rtol=0, atol=np.abs(x).max() / LEVELS)
    assert_array_equal(frame.assignment, x > 0)
    assert frame.nbytes <= 2 * len(x) + frame.matched.nbytes
    assert np.isnan([frame.rho, frame.residual]).all() and (frame.energy, frame.rounded_energy) == (0.5, 0.25)


# ------------------------------------------------------------------ the real solver


@pytest.mark.parametrize(
    "method", [ADGM(max_iter=3000), ADGM(coupling="chain", rho0=0.05, warmup=60), ADGM(max_iter=3)]
)
@pytest.mark.parametrize("problem", [planted((10, 20))[0], mixed((4, 5), 3)], ids=["planted", "mixed"])
def test_a_job_ends_where_solve_ends(method, problem):
    expected = solve(problem, method)
    job = Job(method, problem, pool=JobPool(2)).start()
    end = job.wait(60)
    found = job.result()
    assert (end.status, found.status, found.iterations) == (expected.status, expected.status, expected.iterations)
    assert found.energy == expected.energy
    assert_array_equal(found.matching, expected.matching)
    assert_array_equal(found.state.x, expected.state.x)
    for name in ("residual", "rho", "energy"):
        assert_array_equal(found.history[name], expected.history[name])
    growth = np.flatnonzero(np.diff(expected.history["rho"]) > 0)
    assert [mark.iteration for mark in end.marks] == [int(k) + 2 for k in growth]


def test_stepping_and_pausing_do_not_change_the_run():
    problem = mixed((4, 5), 2)
    method = ADGM(rho0=0.02, max_iter=400)
    job = Job(method, problem, pool=JobPool(2), pacing=Pacing(paused=True)).start()
    for n in (1, 1, 5, 40):
        before = job.snapshot().iteration
        job.step(n)
        eventually(lambda target=before + n: job.snapshot().iteration == target, 60)
    job.resume()
    job.wait(60)
    expected = solve(problem, method)
    assert_array_equal(job.result().state.x, expected.state.x)
    assert job.result().energy == expected.energy


def test_a_server_counts_the_threads_of_jobs_as_its_solvers():
    job = counting().start()
    names = [thread.name for thread in threading.enumerate()]
    job.stop()
    job.wait(60)
    assert browser.SOLVER in names


def test_a_changed_rho_is_what_the_solver_goes_on_with():
    problem = mixed((4, 5), 2)
    job = Job(
        ADGM(rho0=0.02, growth=1.0, tol=0.0, max_iter=10**6), problem, pool=JobPool(2), pacing=Pacing(paused=True)
    ).start()
    job.step(10)
    eventually(lambda: job.snapshot().iteration == 10, 60)
    job.change(0.5)
    job.step(10)
    eventually(lambda: job.snapshot().iteration == 20)
    job.stop()
    job.wait(60)
    assert_array_equal(job.result().history["rho"], np.repeat([0.02, 0.5], 10))
    assert [(mark.iteration, mark.rho) for mark in job.snapshot().marks] == [(11, 0.5)]
    assert job.snapshot().status not in ACTIVE


def test_a_careful_run_is_drawn_before_its_first_iteration():
    lane = LaneCurve("ρ₀ = 1", "", np.zeros(0), np.zeros(0), np.inf)
    spec = lanes_chart(Lanes((lane, lane), 0, 1))
    assert [series["data"] for series in spec["series"]] == [[], []]


def test_a_penalty_set_by_hand_begins_its_schedule_anew():
    method, problem = ADGM(rho0=1e-3, warmup=40, patience=5, max_iter=400), mixed((4, 5), 2)
    state = method.step(problem, method.init(problem), 120)
    assert state.at_rho > 0 or state.stalled > 0
    changed = _with_rho(replace(state, at_rho=39, stalled=4), 7.0)
    assert (changed.rho, changed.at_rho, changed.stalled, changed.iteration) == (7.0, 0, 0, 120)
    after = method.step(problem, changed, 60).trace["rho"]
    assert set(after[:40]) == {7.0}  # warmed up again
    assert _with_rho(CounterState(iteration=3, x=np.zeros(3)), 2.0).rho == 2.0  # which has no schedule
