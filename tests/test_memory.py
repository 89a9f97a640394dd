"""Memory and room: problems by bytes, visitors at the door, and what nobody needs any more is found and given back."""

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
from ui.jobs.memory import SWEEP, Broom
from ui.jobs.problem_cache import Shelf, held
from ui.jobs.scheduler import WATCHED, Visitor
from ui.match.live import side
from ui.shell.admission import KEPT, Door


def problem(n: int) -> Problem:
    return Problem((n, 1), [Dense(np.zeros((n, n)))])


def test_problems_are_kept_by_bytes_the_least_recently_used_go_first_and_lose_their_tables():
    shelf = Shelf(most=3 * held(problem(100)), busy=list)
    kept = {key: shelf.get(key, lambda: problem(100)) for key in "abc"}
    assert shelf.get("a", lambda: pytest.fail("built twice")) is kept["a"]
    assert kept["b"].scale == 1.0 and held(kept["b"]) > held(problem(100))
    shelf.get("d", lambda: problem(100))
    assert shelf.keys[-2:] == ["a", "d"] and "b" not in shelf.keys
    assert "runtime" not in vars(kept["b"]) and kept["b"].scale == 1.0


def test_a_problem_that_a_job_needs_is_not_taken_away():
    busy = []
    shelf = Shelf(most=1, busy=lambda: busy)
    busy.append(shelf.get("a", lambda: problem(10)))
    shelf.get("b", lambda: problem(10))
    shelf.get("c", lambda: problem(10))
    assert shelf.keys == ["a", "c"]


def test_two_who_ask_at_the_same_time_share_one_problem():
    shelf, both, built, found = Shelf(busy=list), threading.Barrier(2), [], []

    def build() -> Problem:
        built.append(1)
        return problem(10)

    def ask() -> None:
        both.wait(60)
        found.append(shelf.get("a", build))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(built) == 1 and found[0] is found[1]


def test_the_door_lets_in_as_many_as_there_is_room_for():
    door, connected = Door(most=2), {"a", "b", "c"}
    visitors = {name: Visitor(name, lambda name=name: name in connected) for name in "abc"}
    assert [door.admits(visitors[name]) for name in "abcab"] == [True, True, False, True, True]
    connected.remove("a")
    assert door.admits(visitors["c"])


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


def test_a_broom_finds_what_is_out_of_reach_and_streamlit_does_not():
    broom, here = Broom(), [True, False, False, True]
    broom.keepers += [lambda: here.pop(0), lambda: False]
    swept = []
    while here:
        gone = weakref.ref(Knot())
        swept.append((broom.look(), gone() is None))
    assert swept == [(True, True), (True, True), (False, False), (True, True)]  # once more than somebody was here
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert settings["runner"]["postScriptGC"] is False  # six sevenths of what a server with 20 visitors did


def test_a_broom_sweeps_by_itself_however_often_it_is_started():
    broom, looks = Broom(every=0.01), []
    broom.keepers.append(lambda: bool(looks.append(threading.current_thread())))
    for _ in range(3):
        broom.start()
    eventually(lambda: len(looks) > 3)
    assert len(set(looks)) == 1 and looks[0].daemon


def test_who_stays_away_is_forgotten_once_and_who_comes_back_in_time_is_not():
    now, here, forgotten = 0.0, {"a", "b"}, []
    door = Door(clock=lambda: now, forget=forgotten.append)
    for name in "ab":
        door.admits(Visitor(name, lambda name=name: name in here))
    now = 1000.0
    assert door.look() and not forgotten
    here.clear()
    now += KEPT
    assert door.look() and not forgotten  # a page that lost its connection finds its session again
    here.add("b")
    assert door.look()
    now += 1.0
    assert door.look() and forgotten == ["a"]
    here.clear()
    now += KEPT + 1.0
    assert door.look() and forgotten == ["a", "b"]
    assert not door.look() and forgotten == ["a", "b"]


def test_a_session_is_forgotten_before_streamlit_has_let_it_expire():
    assert get_option("server.disconnectedSessionTTL") >= KEPT + 2 * SWEEP  # what has expired cannot be closed


def test_memory_is_given_back_when_the_last_one_is_done(monkeypatch, one_place):  # noqa: F811
    given = []
    monkeypatch.setattr(ui.jobs.scheduler, "give_back", lambda: given.append(len(one_place.members)))
    for member in "ab":
        one_place.admit(member, Visitor())
    one_place.dismiss("a")
    assert given == []
    one_place.dismiss("b")
    one_place.dismiss("b")
    assert given == [0]


def test_a_build_that_raises_leaves_nothing_behind():
    shelf = Shelf(busy=list)

    def fails() -> Problem:
        raise ValueError("too large")

    for _ in range(2):
        with pytest.raises(ValueError, match="too large"):
            shelf.get("refused", fails)
    assert shelf._building == {} and shelf.keys == []
    built = problem(3)
    assert shelf.get("refused", lambda: built) is built
