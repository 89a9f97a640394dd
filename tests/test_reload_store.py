"""A reload brings the run back: by a token, for a while, within a number of bytes, and never another's live run."""

import json
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

import ui.shell.reload_store
from features.recipe import Recipe
from test_job import counters_round_to_their_count, eventually, run  # noqa: F401
from test_match_page import PAGE, SMALL, Page
from test_pool import EASY
from ui.jobs.problem_cache import problem_bytes
from ui.jobs.scheduler import JobPool, Visitor
from ui.shell.reload_store import ReloadStore, SavedRun, take_over
from ui.shell.session_slots import CANVAS, RUN, SHARED, WHOLE

# What a tab's component would have told stands in another place: no script may write a component's own state.
SCRIPT = (
    """
from unittest.mock import patch
import streamlit as st
from ui.shell import reload_store as saved
with patch.object(saved, "TAB", "the browser says"):
    saved.recall()
saved.begin()
"""
    + PAGE
)


class Tab(Page):
    """The page in a tab that may remember an earlier visit."""

    script = SCRIPT

    def __init__(self, words: dict[str, str], earlier: str = "") -> None:
        self.earlier = earlier
        super().__init__(words)

    def run(self) -> "Tab":
        if self.earlier:
            self.test.session_state["the browser says"] = {"earlier": self.earlier}
        super().run()
        return self

    @property
    def told(self) -> dict[str, Any]:
        """What the tab is told with every drawing."""
        return dict(json.loads(self.test.get("bidi_component")[0].proto.json))

    @property
    def token(self) -> str:
        return str(self.told["token"])


def test_a_reload_shows_the_run_that_was_there_under_a_token_of_its_own():
    page = Tab(SMALL)
    assert not page.told["keeps"]  # the tab goes on remembering the visit before
    page.start()
    assert page.told["keeps"]
    again = Tab(page.address, page.token)
    assert again.test.session_state[RUN.name] is page.test.session_state[RUN.name]
    assert again.says("· run 1") and again.result.pairs.tolist() == page.result.pairs.tolist()
    assert again.token != page.token
    assert again.start().says("· run 2")
    assert page.run().says("· run 1")  # a page that was open goes on as it was


def test_a_run_that_was_started_is_not_replaced_by_that_of_an_earlier_visit():
    earlier, page = Tab(SMALL).start(), Tab(SMALL).start()
    page.earlier = earlier.token
    assert page.run().test.session_state[RUN.name] is not earlier.test.session_state[RUN.name]


def test_no_address_opens_a_run():
    page = Tab(SMALL).start()
    assert page.token not in str(page.address) and page.address == Recipe.from_query(SMALL).to_query()
    copied = Tab(page.address)
    assert RUN.name not in copied.test.session_state


def test_a_run_is_shared_by_a_link_of_its_own_when_that_is_asked_for():
    page = Tab(SMALL).start()
    link = next(code.value for code in page.test.get("code") if "run=1" in code.value)
    assert ui.shell.reload_store.WORD not in link and SHARED.name not in page.test.session_state
    page.set(WHOLE, True)
    link, embedded = (code.value for code in page.test.get("code") if f"{ui.shell.reload_store.WORD}=" in code.value)
    assert page.token not in embedded
    words = dict(parse_qsl(urlsplit(link).query))
    assert words[ui.shell.reload_store.WORD] != page.token and "run" not in words
    other = Tab(words)
    assert other.test.session_state[RUN.name] is page.test.session_state[RUN.name]
    assert ui.shell.reload_store.WORD not in other.address and other.says("· run 1")
    page.run()
    assert page.test.session_state[SHARED.name][1] == words[ui.shell.reload_store.WORD]  # the same link again


def test_points_edited_by_hand_come_back_with_their_run():
    page = Tab(SMALL)
    slot = f"canvas edits {CANVAS}"
    kept = page.test.session_state[slot]
    moved = replace(kept, left=kept.left + 1.0, revision=1)
    page.test.session_state[slot] = moved
    page.run().start()
    again = Tab(page.address, page.token)
    assert again.chosen.edited and (again.chosen.pair.left.points.xy == moved.left).all()
    assert again.says("· run 1")


@pytest.mark.parametrize("token", ["made up", "x" * 10_000])
def test_a_token_that_nobody_was_given_is_not_taken(token):
    for page in (Tab(SMALL, token), Tab(SMALL | {ui.shell.reload_store.WORD: token})):
        assert page.token != token and ui.shell.reload_store.WORD not in page.address
        assert RUN.name not in page.test.session_state


def test_a_tab_may_say_anything():
    page = Tab(SMALL)
    for said in (7, None, ["x"], {"earlier": "x"}):
        page.test.session_state["the browser says"] = {"earlier": said}
        page.run()
    assert RUN.name not in page.test.session_state


def test_a_live_run_goes_on_for_the_page_that_comes_after_a_reload(run, monkeypatch):  # noqa: F811
    monkeypatch.setattr(ui.shell.reload_store, "LEAVING", 0.0)
    pool, connected = JobPool(running=1, waiting=5, each=1), threading.Event()
    connected.set()
    job = run(visitor=Visitor("before", connected.is_set, 1000.0), pool=pool)
    eventually(lambda: job.snapshot().iteration > 0)
    live, after = SimpleNamespace(job=job), Visitor("after")
    assert not take_over(live, after)  # its page is there
    connected.clear()
    assert take_over(live, after)
    assert job.visitor is after and pool.members[job] == "after"
    at = job.snapshot().iteration
    eventually(lambda: job.snapshot().iteration > at)


def test_saved_runs_are_dropped_by_age_and_by_bytes(monkeypatch):
    monkeypatch.setattr(SavedRun, "parts", property(lambda saved: [(saved, 10), (EASY, 5)]))  # they share a problem
    now = 0.0
    monkeypatch.setattr(ui.shell.reload_store, "monotonic", lambda: now)
    store = ReloadStore(most=25, seconds=100.0)
    kept = {name: SavedRun(run=None, own=None, edits=None) for name in "abc"}
    for name, saved in kept.items():
        now += 1
        store.put(name, saved)
    assert [store.find(name) for name in "abc"] == [None, kept["b"], kept["c"]]
    now += 99.5
    assert store.expire() and not store.expire()  # also when nobody asks
    assert store.find("b") is None and store.find("c") is kept["c"]


def test_a_saved_run_counts_what_it_holds_and_shared_parts_once():
    first, second = (Page(SMALL).start().test.session_state[RUN.name] for _ in range(2))
    parts = [{id(part): nbytes for part, nbytes in SavedRun(one, None, None).parts} for one in (first, second)]
    assert first.problem is second.problem and parts[0][id(first.problem)] == problem_bytes(first.problem)
    assert parts[0][id(first.job)] > 0
    assert parts[0].keys() & parts[1].keys() == parts[0].keys() - {id(first.job)}
