"""The clock of a run: processor time of the threads that work for it, and nothing else."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from adgm import METHODS, Run
from adgm._kernels import compiling, contract
from adgm._kernels.compiling import COMPILING
from adgm.machine import computing
from adgm.machine.computing import ProcessorTime, clocks, working_for
from adgm.machine.deadline import TimeUp, carried, check_time, deadline
from problems import mixed

ROOT = Path(__file__).resolve().parents[1]


class Processor:
    """How long every thread has computed, by its own word."""

    def __init__(self) -> None:
        self.own = threading.local()

    def __call__(self) -> float:
        return getattr(self.own, "seconds", 0.0)

    def compute(self, seconds: float) -> None:
        self.own.seconds = self() + seconds


@pytest.fixture
def processor(monkeypatch) -> Processor:
    processor = Processor()
    for module in (computing, compiling):
        monkeypatch.setattr(module, "thread_time", processor)
    return processor


def test_threads_of_a_library_count_for_the_one_who_called_it_if_it_is_the_only_one(processor, monkeypatch):
    total = [0.0]
    monkeypatch.setattr(computing, "process_time", lambda: total[0])
    clock, other = ProcessorTime(), ProcessorTime()

    def compute() -> float:
        before = clock()
        with computing.helped():
            processor.compute(1.0)
            total[0] += 3.0  # this thread's second, and two of others
        return clock() - before

    assert compute() == 0.0  # nobody's run
    with clock.working():
        assert compute() == 3.0
        with other.working():
            assert compute() == 3.0
        begun, ended = threading.Event(), threading.Event()

        def work() -> None:
            with other.working():
                begun.set()
                ended.wait(60)

        thread = threading.Thread(target=work)
        thread.start()
        begun.wait(60)
        assert compute() == 1.0
        ended.set()
        thread.join()
        assert compute() == 3.0


def test_what_a_thread_computes_while_it_works_for_a_run_counts_and_nothing_else(processor):
    clock = ProcessorTime()
    processor.compute(1.0)
    with clock.working():
        processor.compute(2.0)
        with clock.working():  # it does so already
            processor.compute(0.5)
        assert clock() == 2.5
    processor.compute(4.0)
    assert clock() == 2.5
    with working_for(clock):
        processor.compute(0.25)
        clock.add(1.0)
    assert clock() == 3.75 and not clocks()


def test_threads_that_help_count_for_every_run_that_they_help(processor):
    inner, outer = ProcessorTime(), ProcessorTime()

    def help(seconds: float) -> None:
        processor.compute(seconds)

    with outer.working():
        processor.compute(1.0)
        with inner.working(), ThreadPoolExecutor(2) as pool:
            list(pool.map(carried(help), [2.0, 3.0]))
            pool.submit(help, 50.0).result()  # this one works for nobody
    assert (inner(), outer()) == (5.0, 6.0)


def test_others_see_what_the_clock_was_when_the_thread_at_work_last_looked(processor):
    clock, seen = ProcessorTime(), []

    def look() -> None:
        processor.compute(100.0)
        seen.append(clock())

    with clock.working():
        processor.compute(1.0)
        clock()
        processor.compute(1.0)
        other = threading.Thread(target=look)
        other.start()
        other.join()
        assert seen == [1.0] and clock() == 2.0


def test_compiling_does_not_count(processor):
    clock = ProcessorTime()
    with clock.working():
        processor.compute(1.0)
        for _ in range(2):  # a kernel that needs another one
            COMPILING.on_start(None)
            processor.compute(10.0)
        for _ in range(2):
            COMPILING.on_end(None)
            processor.compute(0.5)
        assert clock() == pytest.approx(1.5)  # half a second lay between the two ends
    assert clock() == pytest.approx(1.5)


class Trouble:
    """A method whose start computes, and then fails as it is told."""

    def __init__(self, processor: Processor, error: BaseException) -> None:
        self.processor, self.error = processor, error

    def init(self, problem):
        self.processor.compute(3.0)
        raise self.error


@pytest.mark.parametrize("error", [RuntimeError("broken"), KeyboardInterrupt(), TimeUp()])
def test_a_run_whose_work_fails_counts_it_once_and_not_what_follows(processor, error):
    run = Run(mixed(), Trouble(processor, error), time_limit=5.0)
    with pytest.raises(type(error)):
        run.advance()
    processor.compute(100.0)
    assert run.seconds == 3.0 and not run.out_of_time and not clocks()


def test_a_run_ends_when_it_has_computed_as_long_as_it_may_however_long_it_waited(processor):
    turns = []

    class Toil(Trouble):
        def init(self, problem):
            for _ in range(100):
                turns.append(self.processor.compute(0.25))
                check_time()

    with deadline(lambda: False):
        result = Run(mixed(), Toil(processor, RuntimeError()), time_limit=2.0).finish()
    assert result.status == "time limit" and result.seconds == 2.0 and len(turns) == 8


def test_every_run_has_a_clock_of_processor_time_unless_it_is_given_another():
    run = Run(mixed(), METHODS["adgm1"].make(max_iter=3), time_limit=60.0)
    assert isinstance(run.clock, ProcessorTime)
    assert run.finish().seconds > 0


def test_compiling_is_told_once_on_stderr_and_to_the_library_only(capsys):
    notice, kernel = compiling.Notice(), SimpleNamespace(data={"dispatcher": contract})
    theirs = SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=mixed)})

    def told(*compiled: SimpleNamespace) -> str:
        for each in compiled:
            notice.on_start(each)
            notice.on_end(each)
        out, err = capsys.readouterr()
        assert not out
        return err

    assert told(theirs) == ""
    assert told(kernel, kernel, kernel) == compiling.COMPILING_ONCE + "\n"
    notice.said, notice.quiet = False, True  # as beside the app
    assert told(kernel) == ""


@pytest.mark.long
def test_the_first_run_on_a_computer_has_its_whole_time_after_compiling(tmp_path):
    """Where nothing is compiled yet: seconds of compiling, and none of them counts."""
    code = """
import numpy as np
from adgm import Dense, Problem, solve
rng = np.random.default_rng(0)
costs = np.kron(rng.random((12, 12)), rng.random((12, 12)))
result = solve(Problem((12, 12), [Dense(costs)], "exactly_one", "exactly_one"), "adgm+", time_limit=1)
print(result.iterations, result.seconds < 1.5, len(result.pairs))
"""
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", code]
    found = subprocess.run(words, env=settings, capture_output=True, text=True, check=True)
    iterations, in_time, matched = found.stdout.split()
    assert int(iterations) > 0 and in_time == "True" and matched == "12"
    assert found.stderr.startswith("adgm: compiling") and found.stderr.count("compiling") == 1


def test_a_run_asks_how_long_its_thread_has_computed_twice_for_each_of_its_steps(monkeypatch):
    """Asking takes as long as a step of a fast method."""
    asked = []
    monkeypatch.setattr(computing, "thread_time", lambda: float(asked.append(1) or len(asked)))
    run = Run(mixed((2, 3), order=2), METHODS["sm"].make())
    for _ in range(3):
        asked.clear()
        run.advance()
        assert len(asked) == 2 and run.seconds > 0
