"""A tick carries no clicks: the browser tells of every one by itself, too; and nobody empties everybody's caches."""

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession

from ui import messages


def message(*, tick: bool) -> ClientState:
    """What a page says: a slider's value, and clicks of every kind."""
    said = ClientState(query_string="model=B", fragment_id="live", is_auto_rerun=tick)
    slider, button, menu, canvas = (said.widget_states.widgets.add() for _ in range(4))
    slider.id, slider.int_value = "slider", 3
    button.id, button.trigger_value = "pause", True
    menu.id, menu.string_trigger_value.data = "menu", "copy"
    canvas.id, canvas.json_trigger_value = "canvas", "[1]"
    return said


def test_a_tick_tells_all_but_the_clicks_that_it_met():
    tick, alone = message(tick=True), message(tick=True)
    messages.leave_out(tick)
    assert [state.id for state in tick.widget_states.widgets] == ["slider"]
    del alone.widget_states.widgets[1:]
    assert tick == alone


def test_a_click_of_its_own_is_heard_as_it_was_told():
    said = message(tick=False)
    messages.leave_out(said)
    assert said == message(tick=False)
    messages.leave_out(None)  # a page that is drawn for the first time says nothing


def test_the_server_listens_like_that_however_often_it_is_told_to(monkeypatch):
    heard: list[ClientState | None] = []
    monkeypatch.setattr(AppSession, "request_rerun", lambda session, said: heard.append(said))
    monkeypatch.setattr(AppSession, "_handle_clear_cache_request", lambda session: pytest.fail("it was emptied"))
    messages.begin()
    AppSession._handle_clear_cache_request(None)
    listen = AppSession.request_rerun
    messages.begin()
    assert AppSession.request_rerun is listen
    listen(None, message(tick=True))
    listen(None, message(tick=False))
    listen(None, None)
    assert [said and len(said.widget_states.widgets) for said in heard] == [1, 4, None]
