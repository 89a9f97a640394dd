"""Presses are done once each, in their order, whatever stops the drawings between; what is too late is told."""

import gc
import re
import sys
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from experiments.tools.browser import ROOT
from ui.match import presses, timeline, toolbar
from ui.match.presses import MOST, MOST_OFFERED, PRESSES, Presses
from ui.parts import press
from ui.shell.session_slots import LATE, RHO, RUN, START


class Stopped(BaseException):
    """As Streamlit stops a drawing: wherever it touches the session."""


class Store(dict):
    """A session that a drawing is stopped at, when it is touched for the so many-th time."""

    def __init__(self) -> None:
        super().__init__()
        self.stops_after: int | None = None

    def touched(self) -> None:
        if self.stops_after is not None:
            self.stops_after -= 1
            if self.stops_after < 0:
                self.stops_after = None
                raise Stopped

    def get(self, key: Any, default: Any = None) -> Any:
        self.touched()
        return super().get(key, default)

    def pop(self, key: Any, default: Any = None) -> Any:
        self.touched()
        return super().pop(key, default)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.touched()
        super().__setitem__(key, value)


@pytest.fixture
def store(monkeypatch) -> Store:
    session = Store()
    monkeypatch.setattr("ui.shell.session_slots.st", SimpleNamespace(session_state=session))
    monkeypatch.setattr(timeline, "st", SimpleNamespace(session_state=session))
    return session


class Job:
    """A run that does at once what it is asked, and counts it."""

    def __init__(self) -> None:
        self.status, self.paused, self.at, self.asked = "running", False, 5, None
        self.told: list[Any] = []

    def snapshot(self) -> Any:
        active = self.status in ("running", "paused")
        return SimpleNamespace(active=active, status=self.status, best=None, iteration=self.at)

    def frames(self) -> tuple[Any, ...]:
        return tuple(SimpleNamespace(iteration=k, energy=0.0) for k in range(self.at + 1))

    def pause(self) -> None:
        self.told.append("pause")
        if self.status == "running":
            self.status, self.paused = "paused", True

    def resume(self) -> None:
        self.told.append("resume")
        if self.status == "paused":
            self.status, self.paused = "running", False

    def step(self, n: int) -> None:
        self.told.append("step")
        self.at += n

    def stop(self) -> None:
        self.told.append("stop")
        if self.snapshot().active:
            self.status = "stopped"

    def change(self, rho: float) -> None:
        self.told.append(rho)

    def rest(self, timeout: float) -> None:
        pass

    def wait(self, timeout: float) -> Any:
        return self.snapshot()


@pytest.fixture
def job(store) -> Job:
    found = Job()
    store["run"] = SimpleNamespace(job=found, number=1)
    return found


@pytest.fixture
def session() -> SimpleNamespace:
    """Of the server, which hears messages."""
    return type("Session", (), {"id": "one"})()


def do(session: Any, *keys: str) -> None:
    PRESSES.note(session, keys)
    PRESSES.perform(session.id)


# ------------------------------------------------------------------ every press, once, in order


def test_presses_are_done_in_their_order_and_each_of_them(session, store, job):
    do(session, "pause", "step", "step", "resume", "stop")
    assert job.told == ["pause", "step", "step", "resume", "stop"] and LATE.get() is None


def test_what_is_no_button_of_ours_is_not_kept(session):
    assert not Presses().note(session, ["pause"])
    assert not PRESSES.note(session, ["something", ""]) and PRESSES.note(session, ["pause"])


def test_a_flood_of_presses_is_bounded(session, store, job):
    do(session, *["pause"] * (10 * MOST))
    assert len(job.told) == MOST


def test_a_sessions_presses_go_with_it():
    gone = type("Session", (), {"id": "gone"})()
    PRESSES.note(gone, ["pause"])
    del gone
    gc.collect()
    assert "gone" not in PRESSES._waiting


PRESSED = [["pause"], ["step"], ["back"], ["step", "step"], ["stop"], ["pause", "resume"], ["rho × 10", "rho × 2"]]


@pytest.mark.parametrize("keys", PRESSED, ids=" ".join)
@pytest.mark.parametrize("status", ["running", "paused"])
def test_a_drawing_that_is_stopped_in_the_middle_leaves_nothing_undone_and_nothing_done_twice(
    keys, status, session, store, job, monkeypatch
):
    """Stopped at every place in turn: what comes of it is what would have come of it undisturbed."""

    def come_of(stops_after: int | None) -> tuple[Any, ...]:
        store.clear()
        fresh = Job()
        fresh.status, fresh.paused = status, status == "paused"
        store["run"], store["penalty shown"] = SimpleNamespace(job=fresh, number=1), (1, 1.0)
        PRESSES.note(session, keys)
        store.stops_after = stops_after
        stopped = False
        try:
            PRESSES.perform(session.id)
        except Stopped:
            stopped = True
            PRESSES.perform(session.id)  # the next drawing
        store.stops_after = None
        last_rho = [one for one in fresh.told if isinstance(one, float)][-1:]
        slider = timeline.position(store["run"], timeline.labels_of(store["run"]))
        return stopped, (fresh.status, fresh.at, last_rho, RHO.get(), LATE.get(), slider)

    _, undisturbed = come_of(None)
    stops = 0
    while True:
        stopped, found = come_of(stops)
        if not stopped:
            break
        assert found == undisturbed, stops
        stops += 1
    assert stops > 0


# ------------------------------------------------------------------ one meaning each


@pytest.mark.parametrize("status", ["running", "paused"])
def test_pause_never_resumes_and_resume_never_pauses(status, session, store, job):
    job.status = status
    do(session, "pause", "pause")
    assert job.status == "paused" and LATE.get() is None
    do(session, "resume", "resume")
    assert job.status == "running" and LATE.get() is None


def test_ten_times_ten_is_a_hundred_also_while_nothing_moves(session, store, job):
    job.status = "paused"
    RHO.set((1, 0.5))
    do(session, "rho × 10", "rho × 10")
    assert job.told[-1] == pytest.approx(50.0) and RHO.get() == (1, pytest.approx(50.0))
    do(session, "rho ÷ 2")
    assert job.told[-1] == pytest.approx(25.0)


@pytest.mark.parametrize("key", ["pause", "resume", "stop", "step", "rho × 10"])
def test_what_comes_after_the_end_of_a_run_says_so_and_the_next_press_takes_that_back(key, session, store, job):
    job.status = "converged"
    RHO.set((1, 0.5))
    do(session, key)
    assert "came too late: run 1 was over" in (LATE.get() or "")
    do(session, "play")
    assert LATE.get() is None and timeline.playing()
    do(session, "hold")
    assert not timeline.playing()


def test_stop_twice_is_stop(session, store, job):
    do(session, "stop", "stop")
    assert job.status == "stopped" and LATE.get() is None


def test_another_runs_penalty_is_not_changed(session, store, job):
    RHO.set((7, 0.5))
    do(session, "rho × 10")
    assert job.told == [] and LATE.get()


def test_start_is_for_the_whole_page_and_too_late_while_a_run_goes_on(session, store, job):
    do(session, "go")
    assert START.get() is None and "run 1 is going on" in (LATE.get() or "")
    job.status = "converged"
    do(session, "go")
    assert START.get() is True and LATE.get() is None


def test_without_a_run_nothing_can_be_held(session, store):
    for key in PRESSES.actions.keys() - {"go"}:
        do(session, key)
        assert "there is no run" in (LATE.get() or "")


def test_every_button_of_the_row_is_known_by_its_key():
    assert presses.PRESSES is toolbar.PRESSES and RUN.name == "run" and RHO.name == "penalty shown"


# ------------------------------------------------------------------ buttons of other pages


@pytest.fixture
def page(session, store, monkeypatch):
    """A page that draws buttons; what each of them was asked to do."""
    done: list[str] = []
    drawn: dict[str, Any] = {}

    def button(label: str, key: str, on_click: Any, args: Any) -> None:
        drawn[key] = partial(on_click, *args)

    def draw(*keys: str) -> None:
        for key in keys:
            press.button(key, key, partial(done.append, key))

    monkeypatch.setattr(press, "session_name", lambda: session.id)
    monkeypatch.setattr(press, "st", SimpleNamespace(button=button, rerun=lambda: done.append("drawn again")))
    PRESSES.note(session, [])  # the message that asked for the page
    return SimpleNamespace(draw=draw, done=done, click=lambda key: drawn[key]())


def test_what_a_page_offers_is_done_once_in_order_also_if_its_own_drawing_never_comes(page, session):
    page.draw("compare", "halt")
    assert PRESSES.note(session, ["compare", "halt", "nothing"])
    page.draw("compare")  # the drawing of a change beside it
    assert PRESSES.perform(session.id) and page.done == ["compare", "halt"]
    page.click("compare")  # Streamlit calls the button's function after all
    assert page.done == ["compare", "halt"] and not PRESSES.perform(session.id)


def test_every_drawing_of_a_page_first_does_what_was_pressed(monkeypatch):
    done: list[str] = []
    monkeypatch.setitem(sys.modules, "ui.experiments.page", SimpleNamespace(show=lambda: done.append("drawn")))
    monkeypatch.setattr(presses.PRESSES, "perform", lambda session: done.append("pressed"))
    for part in ("begin", "share", "no_settings"):
        monkeypatch.setattr(f"ui.shell.frame.{part}", lambda *given: None)
    monkeypatch.setattr("ui.shell.warmup.begin", lambda: None)
    test = AppTest.from_string("from ui.shell.pages import Page; Page('experiments', '', '').show()").run(timeout=60)
    assert not test.exception and done == ["pressed", "drawn"]


def test_a_part_that_did_something_has_the_whole_page_drawn_again(page, session):
    page.draw("compare")
    press.perform()
    assert page.done == []
    PRESSES.note(session, ["compare"])
    press.perform()
    assert page.done == ["compare", "drawn again"]


def test_a_page_that_is_left_offers_nothing_and_a_flood_of_buttons_is_bounded(page, session):
    page.draw("compare")
    PRESSES.leave(session.id)
    assert not PRESSES.note(session, ["compare"])
    page.draw(*map(str, range(MOST_OFFERED)), "0", "one more")  # drawn last: not the first to go
    assert PRESSES.note(session, ["0", "one more"]) and not PRESSES.note(session, ["1"])


def test_without_messages_a_button_acts_when_streamlit_says_so(page, session, monkeypatch):
    monkeypatch.setattr(press, "session_name", lambda: "of a test")
    page.draw("compare")
    page.click("compare")
    assert page.done == ["compare"]


def test_every_button_of_compare_and_debug_is_offered():
    """Streamlit's own would be lost beside a change."""
    for path in [*(ROOT / "ui" / "debug").glob("*.py"), *(ROOT / "ui" / "compare").glob("*.py")]:
        found = re.findall(r"(\w+)\.button\(", path.read_text(encoding="utf-8"))
        assert set(found) <= {"press", "background"}, path
