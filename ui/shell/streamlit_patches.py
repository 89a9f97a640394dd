"""Everything that reaches behind Streamlit's public interface, in one place; a test holds each part against Streamlit.

`begin` patches the server of this process; `app.py` calls it before the server takes its first request:

- **Clicks.** Streamlit can lose a click (see `ui.match.presses`), so every click is noted when its message arrives. Its
  page sends a click with its next message, not at once: a tick that is due before takes the click along, and the
  click's own message follows. A tick therefore brings no clicks, or each of them would count twice.
- **Caches.** They are shared by all visitors. The page's menu does not offer to clear them; a program could still ask.
- **Foreign origins.** For every handshake from another site Streamlit would ask an outside host for this machine's
  address, on the event loop: nobody else is answered for up to two seconds. The answer is never needed: sites that may
  connect stand in `server.corsAllowedOrigins`.
- **Documents.** The documentation site is served under `/docs` (`ui.shell.documents`), behind the same check of paths.
- **Headers.** Browsers must not guess the type of a file, and only a page that is opened with `?embed=true` may be
  framed by another site.

The other functions read what Streamlit knows and does not tell.
"""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs

from streamlit import net_util, runtime
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager as MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state.common import user_key_from_element_id
from streamlit.runtime.uploaded_file_manager import UploadedFileRec as UploadedFileRec
from streamlit.web.server.starlette.starlette_path_security_middleware import PathSecurityMiddleware

from ui.match.presses import PRESSES
from ui.shell import documents

CLICKS = ("trigger_value", "string_trigger_value", "json_trigger_value", "chat_input_value")
SNIFFING = (b"x-content-type-options", b"nosniff")
FRAMING = (b"content-security-policy", b"frame-ancestors 'self'")


def begin() -> None:
    """Patch the server of this process; once, however often it is called."""
    if hasattr(AppSession.request_rerun, "patched"):
        return
    _patch_messages()
    AppSession._handle_clear_cache_request = lambda self: None  # type: ignore[method-assign]
    net_util.get_external_ip = lambda: None
    _patch_headers()


# ---- messages ------------------------------------------------------------------------------------------------


def _patch_messages() -> None:
    original: Any = AppSession.request_rerun

    def request_rerun(self: AppSession, client_state: ClientState | None) -> None:
        leave_out_clicks(client_state)
        if client_state is not None:
            ours, part = PRESSES.note(self, clicked(client_state)), client_state.fragment_id
            if ours and part and not self.has_fragment(part):
                client_state.fragment_id = ""  # else the message would be dropped; the whole page acts on the press
        original(self, client_state)

    request_rerun.patched = True  # type: ignore[attr-defined]
    AppSession.request_rerun = request_rerun  # type: ignore[method-assign]


def leave_out_clicks(message: ClientState | None) -> None:
    """Take the clicks out of a tick; any other message, and what else a tick says, stays as it is."""
    if message is None or not message.is_auto_rerun:
        return
    kept = [state for state in message.widget_states.widgets if state.WhichOneof("value") not in CLICKS]
    del message.widget_states.widgets[:]
    message.widget_states.widgets.extend(kept)


def clicked(message: ClientState) -> Iterator[str]:
    """The keys of the buttons that a message says were clicked."""
    for state in message.widget_states.widgets:
        if state.WhichOneof("value") == "trigger_value" and state.trigger_value:
            yield user_key_from_element_id(state.id) or ""


# ---- headers -------------------------------------------------------------------------------------------------


def _patch_headers() -> None:
    """Streamlit's outermost layer, which sees every answer, adds ours, and leads to the documents."""
    original: Any = PathSecurityMiddleware.__call__
    beside = PathSecurityMiddleware(documents.answer)

    async def answer(self: PathSecurityMiddleware, scope: Any, receive: Any, send: Any) -> None:
        layer = beside if documents.asked(scope) else self
        await original(layer, scope, receive, with_headers(scope, send))

    PathSecurityMiddleware.__call__ = answer  # type: ignore[method-assign]


def with_headers(scope: Any, send: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same `send`, which adds our headers to the beginning of an HTTP answer."""
    if scope["type"] != "http":
        return send
    embedded = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("embed", [""])[-1].lower() == "true"
    added = [SNIFFING] if embedded else [SNIFFING, FRAMING]

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message.get("headers", ())}
            message = {
                **message,
                "headers": [*message.get("headers", ()), *(one for one in added if one[0] not in there)],
            }
        await send(message)

    return sending


# ---- what Streamlit knows ------------------------------------------------------------------------------------


def session_name() -> str:
    """Of the session whose page is being drawn; empty outside of a drawing."""
    context = get_script_run_ctx()
    return "" if context is None else context.session_id


def went_back() -> bool:
    """Whether the page is drawn because the visitor went back or forth in the browser's history."""
    return bool(getattr(get_script_run_ctx(), "is_history_navigation", False))


def connected(session: str) -> bool:
    """Whether the page of a session is there; without a server, as in tests, it is."""
    return not runtime.exists() or runtime.get_instance().is_active_session(session)


def close_session(session: str) -> None:
    """Let Streamlit close a session whose page is gone: by itself it would do so when another tab is closed.

    The function is the one for logging out; nothing else closes a session from any thread.
    """
    if runtime.exists():
        runtime.get_instance().clear_user_info_for_session(session)


def uploaded_files() -> Any:
    """The server's store of uploaded files, whose `add_file` may be replaced; None without a server."""
    return runtime.get_instance().uploaded_file_mgr if runtime.exists() else None


def media(content: bytes, mimetype: str, coordinates: str) -> str:
    """The address under which the browser fetches this content; empty where no server runs."""
    if not runtime.exists():
        return ""
    return runtime.get_instance().media_file_mgr.add(content, mimetype, f"canvas-{coordinates}")
