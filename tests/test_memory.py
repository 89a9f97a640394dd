"""Memory: cached problems by bytes, admitted visitors, and cleanup of what nobody can reach any more."""

import threading
import tomllib
import weakref
from dataclasses import replace

import numpy as np
import pytest
from streamlit.config import get_option

import ui.jobs.scheduler
from adgm import Dense, Problem
from experiments.tools.browser import ROOT
from features.datasets import DATASETS
from features.pairs import View
from features.points.keypoints import Keypoints
from test_job import eventually
from test_pool import one_place  # noqa: F401
from ui.choice.sidebar import pair_key
from ui.jobs.memory import INTERVAL_SECONDS, MemoryCleanup
from ui.jobs.problem_cache import ProblemCache, problem_bytes
from ui.jobs.scheduler import WATCHED, Visitor
from ui.match.live import side
from ui.shell.admission import KEPT, Admission


def problem(n: int) -> Problem:
    return Problem((n, 1), [Dense(np.zeros((n, n)))])


def test_problems_are_kept_by_bytes_the_least_recently_used_go_first_and_lose_their_tables():
    cache = ProblemCache(most=3 * problem_bytes(problem(100)), busy=list)
    kept = {key: cache.get(key, lambda: problem(100)) for key in "abc"}
    assert cache.get("a", lambda: pytest.fail("built twice")) is kept["a"]
    assert kept["b"].scale == 1.0 and problem_bytes(kept["b"]) > problem_bytes(problem(100))
    cache.get("d", lambda: problem(100))
    assert cache.keys[-2:] == ["a", "d"] and "b" not in cache.keys
    assert "runtime" not in vars(kept["b"]) and kept["b"].scale == 1.0


def test_a_problem_that_a_job_needs_is_not_taken_away():
    busy = []
    cache = ProblemCache(most=1, busy=lambda: busy)
    busy.append(cache.get("a", lambda: problem(10)))
    cache.get("b", lambda: problem(10))
    cache.get("c", lambda: problem(10))
    assert cache.keys == ["a", "c"]


def test_two_who_ask_at_the_same_time_share_one_problem():
    cache, both, built, found = ProblemCache(busy=list), threading.Barrier(2), [], []

    def build() -> Problem:
        built.append(1)
        return problem(10)

    def ask() -> None:
        both.wait(60)
        found.append(cache.get("a", build))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(built) == 1 and found[0] is found[1]


def test_admission_lets_in_as_many_as_there_is_room_for():
    admission, connected = Admission(most=2), {"a", "b", "c"}
    visitors = {name: Visitor(name, lambda name=name: name in connected) for name in "abc"}
    assert [admission.admits(visitors[name]) for name in "abcab"] == [True, True, False, True, True]
    connected.remove("a")
    assert admission.admits(visitors["c"])


def test_equal_points_with_other_angles_are_another_problem():
    pair = DATASETS["random"].load()
    points = pair.left.points
    turned = [replace(points, angle=np.full(len(points), angle)) for angle in (0.0, 1.0)]
    keys = {pair_key(replace(pair, left=View(None, one))) for one in turned}
    assert len(keys) == 2


def test_too_many_edges_to_be_listed_are_not_drawn():
    many = Keypoints(np.random.default_rng(0).uniform(0, 100, (4000, 2)))
    assert side(View(None, many), "Left", "complete").edges is None


def test_many_who_watch_are_updated_less_often(one_place):  # noqa: F811
    assert one_place.unhurried(0.4) == 0.4
    for name in range(20):
        one_place.admit(name, Visitor())
    updates = 20 / one_place.unhurried(0.4)  # a second, of all pages
    assert updates * WATCHED == pytest.approx(1.0)
    assert one_place.unhurried(30.0) == 30.0  # a sign of life stays one
    one_place.dismiss(0)
    assert one_place.unhurried(0.4) == pytest.approx(19 * WATCHED)


class Knot:
    """Reachable from itself alone."""

    def __init__(self) -> None:
        self.itself = self


def test_a_cleanup_finds_what_is_out_of_reach_and_streamlit_does_not():
    cleanup, here = MemoryCleanup(), [True, False, False, True]
    cleanup.callbacks += [lambda: here.pop(0), lambda: False]
    swept = []
    while here:
        gone = weakref.ref(Knot())
        swept.append((cleanup.check(), gone() is None))
    assert swept == [(True, True), (True, True), (False, False), (True, True)]  # once more than somebody was here
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert settings["runner"]["postScriptGC"] is False  # six sevenths of what a server with 20 visitors did


def test_a_cleanup_runs_by_itself_however_often_it_is_started():
    cleanup, looks = MemoryCleanup(every=0.01), []
    cleanup.callbacks.append(lambda: bool(looks.append(threading.current_thread())))
    for _ in range(3):
        cleanup.start()
    eventually(lambda: len(looks) > 3)
    assert len(set(looks)) == 1 and looks[0].daemon


def test_who_stays_away_is_forgotten_once_and_who_comes_back_in_time_is_not():
    now, here, forgotten = 0.0, {"a", "b"}, []
    admission = Admission(clock=lambda: now, forget=forgotten.append)
    for name in "ab":
        admission.admits(Visitor(name, lambda name=name: name in here))
    now = 1000.0
    assert admission.expire() and not forgotten
    here.clear()
    now += KEPT
    assert admission.expire() and not forgotten  # a page that lost its connection finds its session again
    here.add("b")
    assert admission.expire()
    now += 1.0
    assert admission.expire() and forgotten == ["a"]
    here.clear()
    now += KEPT + 1.0
    assert admission.expire() and forgotten == ["a", "b"]
    assert not admission.expire() and forgotten == ["a", "b"]


def test_a_session_is_forgotten_before_streamlit_has_let_it_expire():
    assert get_option("server.disconnectedSessionTTL") >= KEPT + 2 * INTERVAL_SECONDS


def test_memory_is_given_back_when_the_last_one_is_done(monkeypatch, one_place):  # noqa: F811
    given = []
    monkeypatch.setattr(ui.jobs.scheduler, "trim_heap", lambda: given.append(len(one_place.members)))
    for member in "ab":
        one_place.admit(member, Visitor())
    one_place.dismiss("a")
    assert given == []
    one_place.dismiss("b")
    one_place.dismiss("b")
    assert given == [0]


def test_a_build_that_raises_leaves_nothing_behind():
    cache = ProblemCache(busy=list)

    def fails() -> Problem:
        raise ValueError("too large")

    for _ in range(2):
        with pytest.raises(ValueError, match="too large"):
            cache.get("refused", fails)
    assert cache._building == {} and cache.keys == []
    built = problem(3)
    assert cache.get("refused", lambda: built) is built
