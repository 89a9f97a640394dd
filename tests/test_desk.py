"""A reload brings the run back: by a token, for a while, within a number of bytes, and never another's live run."""

import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest

import ui.desk
from test_job import counters_round_to_their_count, eventually, run  # noqa: F401
from test_match_page import SMALL, Page
from test_pool import EASY
from ui.desk import Desk, Desks, take_over
from ui.jobs.pool import JobPool, Visitor
from ui.jobs.shelf import held
from ui.state import CANVAS, RUN


def words(page: Page) -> dict[str, str]:
    found = page.test.query_params.items()
    return {name: text if isinstance(text, str) else text[0] for name, text in found}


def test_a_reload_shows_the_run_that_was_there_under_a_token_of_its_own():
    page = Page(SMALL).start()
    token = words(page)[ui.desk.WORD]
    again = Page(words(page))
    assert again.test.session_state[RUN.name] is page.test.session_state[RUN.name]
    assert again.says("· run 1") and again.result.pairs.tolist() == page.result.pairs.tolist()
    assert words(again)[ui.desk.WORD] != token
    assert again.start().says("· run 2")
    assert page.run().says("· run 1")  # a page that was open goes on as it was


def test_points_edited_by_hand_come_back_with_their_run():
    page = Page(SMALL)
    slot = f"canvas edits {CANVAS}"
    kept = page.test.session_state[slot]
    moved = replace(kept, left=kept.left + 1.0, revision=1)
    page.test.session_state[slot] = moved
    page.run().start()
    again = Page(words(page))
    assert again.chosen.edited and (again.chosen.pair.left.points.xy == moved.left).all()
    assert again.says("· run 1")


@pytest.mark.parametrize("token", ["", "made up"])
def test_a_token_that_nobody_was_given_is_not_taken(token):
    page = Page(SMALL | {ui.desk.WORD: token})
    assert words(page)[ui.desk.WORD] != token
    assert RUN.name not in page.test.session_state


def test_a_live_run_goes_on_for_the_page_that_comes_after_a_reload(run, monkeypatch):  # noqa: F811
    monkeypatch.setattr(ui.desk, "LEAVING", 0.0)
    pool, connected = JobPool(running=1, waiting=5, each=1), threading.Event()
    connected.set()
    job = run(visitor=Visitor("before", connected.is_set), pool=pool, patience=1000.0)
    eventually(lambda: job.snapshot().iteration > 0)
    live, after = SimpleNamespace(job=job), Visitor("after")
    assert not take_over(live, after)  # its page is there
    connected.clear()
    assert take_over(live, after)
    assert job.visitor is after and pool.members[job] == "after"
    at = job.snapshot().iteration
    eventually(lambda: job.snapshot().iteration > at)


def test_desks_are_let_go_by_age_and_by_bytes(monkeypatch):
    monkeypatch.setattr(Desk, "parts", property(lambda desk: [(desk, 10), (EASY, 5)]))  # they share a problem
    now = 0.0
    monkeypatch.setattr(ui.desk, "monotonic", lambda: now)
    desks = Desks(most=25, seconds=100.0)
    kept = {name: Desk(run=None, own=None, edits=None) for name in "abc"}
    for name, desk in kept.items():
        now += 1
        desks.put(name, desk)
    assert [desks.find(name) for name in "abc"] == [None, kept["b"], kept["c"]]
    now += 99.5
    assert desks.look() and not desks.look()  # also when nobody asks
    assert desks.find("b") is None and desks.find("c") is kept["c"]


def test_a_desk_counts_what_it_holds_and_shared_parts_once():
    first, second = (Page(SMALL).start().test.session_state[RUN.name] for _ in range(2))
    parts = [{id(part): nbytes for part, nbytes in Desk(one, None, None).parts} for one in (first, second)]
    assert first.problem is second.problem and parts[0][id(first.problem)] == held(first.problem)
    assert parts[0][id(first.job)] > 0
    assert parts[0].keys() & parts[1].keys() == parts[0].keys() - {id(first.job)}
