"""What we patch in Streamlit is there as we expect it, and a patched server does what it promises."""

import ast
import asyncio
import inspect
import socket
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit import net_util, runtime
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime import caching
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state.common import user_key_from_element_id
from streamlit.testing.v1 import AppTest
from streamlit.web.server import server_util
from streamlit.web.server.starlette import starlette_websocket
from streamlit.web.server.starlette.starlette_app import create_streamlit_middleware
from streamlit.web.server.starlette.starlette_path_security_middleware import PathSecurityMiddleware

from experiments.tools.browser import ROOT, serving
from ui.match.presses import PRESSES, Presses
from ui.shell import streamlit_patches
from ui.shell.streamlit_patches import FRAMING, SNIFFING, clicked, leave_out_clicks, with_headers


def ran(coroutine: Any) -> Any:
    """What it returns. In a thread of its own: where a browser is driven, this one has an event loop already."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


# ------------------------------------------------------------------ what Streamlit must still have


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (AppSession.request_rerun, ["self", "client_state"]),
        (AppSession.has_fragment, ["self", "fragment_id"]),
        (AppSession._handle_clear_cache_request, ["self"]),
        (net_util.get_external_ip, []),
        (PathSecurityMiddleware.__call__, ["self", "scope", "receive", "send"]),
        (user_key_from_element_id, ["element_id"]),
        (get_script_run_ctx, ["suppress_warning"]),
        (runtime.exists, []),
        (runtime.get_instance, []),
        (runtime.Runtime.is_active_session, ["self", "session_id"]),
        (runtime.Runtime.clear_user_info_for_session, ["self", "session_id"]),
        (MemoryUploadedFileManager.add_file, ["self", "session_id", "file"]),
        (MemoryUploadedFileManager.get_files, ["self", "session_id", "file_ids"]),
        (MemoryUploadedFileManager.remove_file, ["self", "session_id", "file_id"]),
        (MediaFileManager.add, ["self", "path_or_data", "mimetype", "coordinates"]),
    ],
    ids=lambda one: getattr(one, "__qualname__", ""),
)
def test_what_is_patched_or_asked_is_there_and_takes_what_we_give(function, parameters):
    assert list(inspect.signature(function).parameters)[: len(parameters)] == parameters


def test_what_is_read_is_there():
    assert {"is_history_navigation", "session_id"} <= ScriptRunContext.__dataclass_fields__.keys()
    said = ClientState.DESCRIPTOR.fields_by_name
    assert {"widget_states", "fragment_id", "is_auto_rerun"} <= set(said)
    kinds = said["widget_states"].message_type.fields_by_name["widgets"].message_type.fields_by_name
    assert set(streamlit_patches.CLICKS) <= set(kinds)
    assert {"uploaded_file_mgr", "media_file_mgr"} <= vars(runtime.Runtime).keys()


PUBLIC = {"streamlit", "streamlit.delta_generator", "streamlit.navigation.page"}  # these two name types


def test_no_other_module_of_the_app_reaches_behind_streamlits_public_interface():
    reaching = {}
    for path in (ROOT / "ui").rglob("*.py"):
        tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        nodes = [node for node in tree if isinstance(node, ast.Import | ast.ImportFrom)]
        froms = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
        names = {one.name for node in nodes if isinstance(node, ast.Import) for one in node.names} | froms
        reaching[path.name] = {name for name in names if name.split(".")[0] == "streamlit"} - PUBLIC
    assert {name for name, found in reaching.items() if found} == {"streamlit_patches.py", "launch.py"}
    assert reaching["launch.py"] == {"streamlit.web.cli"}  # the command itself


def test_a_button_is_known_by_its_key():
    test = AppTest.from_string("import streamlit as st\nst.button('One', key='rho × 10')").run()
    assert user_key_from_element_id(test.button[0].proto.id) == "rho × 10"


def test_streamlits_outermost_layer_is_the_one_that_adds_headers():
    assert create_streamlit_middleware()[0].cls is PathSecurityMiddleware


# ------------------------------------------------------------------ clicks


def message(*, tick: bool) -> ClientState:
    """What a page says: a slider's value, and clicks of every kind."""
    said = ClientState(query_string="model=B", fragment_id="live", is_auto_rerun=tick)
    slider, button, menu, canvas = (said.widget_states.widgets.add() for _ in range(4))
    slider.id, slider.int_value = "slider", 3
    button.id, button.trigger_value = "$$ID-00ff-pause", True
    menu.id, menu.string_trigger_value.data = "menu", "copy"
    canvas.id, canvas.json_trigger_value = "canvas", "[1]"
    return said


def test_a_tick_tells_all_but_the_clicks_that_it_met():
    tick, alone = message(tick=True), message(tick=True)
    leave_out_clicks(tick)
    assert [state.id for state in tick.widget_states.widgets] == ["slider"]
    del alone.widget_states.widgets[1:]
    assert tick == alone


def test_a_click_of_its_own_is_passed_on_as_it_was_told():
    said = message(tick=False)
    leave_out_clicks(said)
    assert said == message(tick=False) and list(clicked(said)) == ["pause"]
    leave_out_clicks(None)  # a page that is drawn for the first time says nothing


class Session:
    """As much of a session as a message meets."""

    id = "a session"

    def __init__(self) -> None:
        self.parts = {"live"}
        self.handed_on: list[ClientState | None] = []

    def has_fragment(self, name: str) -> bool:
        return name in self.parts


@pytest.fixture
def patched(monkeypatch):
    """The server's functions as they were before, patched again; and as Streamlit left them afterwards."""
    for owner, name in (
        (AppSession, "_handle_clear_cache_request"),
        (net_util, "get_external_ip"),
        (PathSecurityMiddleware, "__call__"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    monkeypatch.setattr(AppSession, "request_rerun", lambda session, said: session.handed_on.append(said))
    monkeypatch.setattr(streamlit_patches, "PRESSES", Presses())
    streamlit_patches.PRESSES.actions["pause"] = lambda: None
    streamlit_patches.begin()


def test_every_message_is_handed_on_once_and_its_click_is_noted(patched):
    request, session = AppSession.request_rerun, Session()
    streamlit_patches.begin()
    assert AppSession.request_rerun is request  # however often it is told to
    for said in (message(tick=True), message(tick=False), None):
        request(session, said)
    assert [said and len(said.widget_states.widgets) for said in session.handed_on] == [1, 4, None]
    assert list(session.presses) == ["pause"]


def test_a_press_in_a_part_that_is_gone_is_for_the_whole_page(patched):
    session = Session()
    session.parts.clear()
    AppSession.request_rerun(session, message(tick=True))
    AppSession.request_rerun(session, message(tick=False))
    assert [said.fragment_id for said in session.handed_on] == ["live", ""]


def test_nobody_empties_the_caches(patched, monkeypatch):
    kept = SimpleNamespace(_session_state={"of": "a visitor"})
    for cache in (caching.cache_data, caching.cache_resource):
        monkeypatch.setattr(cache, "clear", lambda: kept._session_state.clear())
    AppSession._handle_clear_cache_request(kept)
    assert kept._session_state == {"of": "a visitor"}


# ------------------------------------------------------------------ other sites


def test_a_foreign_origin_is_refused_without_asking_an_outside_host(patched, monkeypatch):
    monkeypatch.setattr(net_util, "_make_blocking_http_get", lambda *words, **named: pytest.fail("it was asked"))
    assert not starlette_websocket._is_origin_allowed("https://elsewhere.example", "here.example:8501")
    assert not server_util.is_url_from_allowed_origins("https://elsewhere.example")
    assert starlette_websocket._is_origin_allowed("http://here.example:8501", "here.example:8501")


async def answered(scope: dict[str, Any], headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await with_headers(scope, send)({"type": "http.response.start", "status": 200, "headers": headers})
    await with_headers(scope, send)({"type": "http.response.body", "body": b"x"})
    assert sent[1] == {"type": "http.response.body", "body": b"x"}
    return list(sent[0]["headers"])


@pytest.mark.parametrize(
    ("query", "framed"),
    [(b"", False), (b"embed=true&model=B", True), (b"embed=false", False), (b"x=embed=true", False)],
)
def test_only_an_embedded_page_may_be_framed_and_nothing_is_sniffed(query, framed):
    kept = [(b"content-type", b"text/html")]
    found = ran(answered({"type": "http", "query_string": query}, kept))
    assert found == kept + ([SNIFFING] if framed else [SNIFFING, FRAMING])


def test_what_streamlit_says_itself_is_not_said_twice():
    kept = [(b"X-Content-Type-Options", b"nosniff")]
    assert ran(answered({"type": "http"}, kept)) == [*kept, FRAMING]


def test_other_than_http_answers_stay_as_they_are():
    def send(said: Any) -> None:
        raise AssertionError(said)

    assert with_headers({"type": "websocket"}, send) is send


def test_an_answer_of_the_server_carries_the_headers(patched):
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    sent: list[dict[str, Any]] = []

    async def send(said: dict[str, Any]) -> None:
        sent.append(said)

    layer = PathSecurityMiddleware(app)
    ran(layer({"type": "http", "path": "/", "query_string": b""}, None, send))
    assert sent[0]["headers"] == [SNIFFING, FRAMING]


def test_all_of_the_pages_buttons_are_known():
    from ui.match import toolbar

    assert PRESSES.actions.keys() >= {"go", "back", "pause", "resume", "hold", "play", "step", "stop", "rho × 10"}
    assert {f"rho {name}" for name in toolbar.FACTORS} <= PRESSES.actions.keys()


@pytest.mark.long
@pytest.mark.parametrize("command", [["ui.shell.launch"], ["streamlit", "run", str(ROOT / "app.py")]])
def test_a_server_refuses_other_sites_without_asking_anybody_and_says_who_may_frame_it(command):
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    with socket.create_server(("127.0.0.1", 0)) as outside:  # whoever asks the world, asks it here
        outside.setblocking(False)
        proxy = f"http://127.0.0.1:{outside.getsockname()[1]}"
        told = {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "NO_PROXY": "127.0.0.1", "PYTHONPATH": str(ROOT)}
        told |= {name.lower(): address for name, address in told.items() if "PROXY" in name}
        with serving(command=[sys.executable, "-m", *command], **told) as server:
            address = f"{server.url.replace('http', 'ws', 1)}/_stcore/stream"
            for _ in range(3):
                with pytest.raises(InvalidStatus), connect(address, origin="https://elsewhere.example"):
                    pass
            framing = {}
            for query in ("", "?embed=true"):
                with urllib.request.urlopen(f"{server.url}/{query}") as answer:
                    assert answer.headers["X-Content-Type-Options"] == "nosniff"
                    framing[query] = answer.headers["Content-Security-Policy"]
            assert framing == {"": "frame-ancestors 'self'", "?embed=true": None}
        with pytest.raises(BlockingIOError):
            outside.accept()
