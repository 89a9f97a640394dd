"""What is computed once: by one thread, for each object by itself, and waited for no longer than a deadline says."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from adgm import Dense, Formula, Problem
from adgm.costs import affinity
from adgm.machine.deadline import TimeUp, check_time, deadline, may_rest, waited_for
from adgm.machine.lazy import once
from adgm.search import local_search


class Slow:
    """Says when it has begun, and ends when it may."""

    def __init__(self) -> None:
        self.begun, self.may_end, self.times = threading.Event(), threading.Event(), 0

    @once
    def value(self) -> int:
        """What takes long."""
        self.times += 1
        self.begun.set()
        assert self.may_end.wait(60)
        return self.times


def in_a_thread(work) -> SimpleNamespace:
    found = SimpleNamespace()

    def run() -> None:
        found.value = work()

    found.thread = threading.Thread(target=run, daemon=True)
    found.thread.start()
    return found


def test_all_threads_get_what_the_first_has_computed():
    slow = Slow()
    asked = [in_a_thread(lambda: slow.value) for _ in range(4)]
    assert slow.begun.wait(60)
    slow.may_end.set()
    for one in asked:
        one.thread.join(60)
    assert [one.value for one in asked] == [1] * 4 and vars(slow)["value"] == 1
    assert Slow.value.__doc__ == "What takes long."


def test_an_object_does_not_wait_for_another_of_its_kind_and_whoever_waits_looks_at_the_clock():
    slow, other = Slow(), Slow()
    asked = in_a_thread(lambda: slow.value)
    assert slow.begun.wait(60)
    other.may_end.set()
    assert other.value == 1
    with pytest.raises(TimeUp), deadline(lambda: True):
        slow.value  # noqa: B018
    slow.may_end.set()
    asked.thread.join(60)
    assert slow.value == 1


def test_what_failed_is_tried_again():
    class Failing:
        times = 0

        @once
        def value(self) -> int:
            self.times += 1
            if self.times == 1:
                raise ValueError("not yet")
            return self.times

    failing = Failing()
    with pytest.raises(ValueError, match="not yet"):
        failing.value  # noqa: B018
    assert failing.value == 2


@pytest.mark.parametrize(
    "tables", [lambda p: p.runtime, affinity.affinity, lambda p: p.derived(local_search.Surroundings)]
)
def test_tables_of_one_problem_are_built_while_those_of_another_are(tables):
    """A visitor with a huge problem once held up everybody who had no tables yet."""
    asked_for, begun, may_end = threading.Event(), threading.Event(), threading.Event()

    def far(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if asked_for.is_set():  # a formula is tried when it is made
            begun.set()
            assert may_end.wait(60)
        return -np.abs(a - b)[..., 0]

    edges = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    huge, small = Problem((3, 3), [Formula(edges, edges, far)]), Problem((2, 2), [Dense(-np.eye(4))])
    asked_for.set()
    asked = in_a_thread(lambda: tables(huge))
    assert begun.wait(60)
    assert tables(small) is tables(small)
    with pytest.raises(TimeUp), deadline(lambda: True):
        tables(huge)
    may_end.set()
    asked.thread.join(60)
    assert tables(huge) is asked.value


def test_nobody_rests_who_holds_what_others_may_wait_for():
    lock = threading.Lock()
    assert may_rest()
    with waited_for(lock):
        assert may_rest() and lock.locked()
        with waited_for(threading.Lock(), held=True):
            assert not may_rest()
        assert may_rest()
    assert not lock.locked()
    with deadline(lambda: not may_rest()):
        check_time()
        with pytest.raises(TimeUp), waited_for(lock, held=True):
            check_time()
    assert may_rest() and not lock.locked()
