"""What is heard of what a browser says; there is no door of Streamlit's own for either.

**A click that meets a tick is heard once.** Streamlit's page tells the server of a click with its next timer, not at
once (seen in 1.67). A tick that is due before that takes the click along, and then the click comes once more by itself:
a Pause is undone, a step becomes two, ρ × 10 becomes ρ × 100. Nobody clicks by ticking, so what a tick takes along is
left out; the click's own message follows.

**Nobody empties the caches.** They are everybody's, and the page's menu does not offer it; a program could still ask.
"""

from typing import Any

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession

CLICKS = ("trigger_value", "string_trigger_value", "json_trigger_value", "chat_input_value")


def leave_out(message: ClientState | None) -> None:
    """Take the clicks out of a tick; any other message, and what else a tick tells, stays as it is."""
    if message is None or not message.is_auto_rerun:
        return
    kept = [state for state in message.widget_states.widgets if state.WhichOneof("value") not in CLICKS]
    del message.widget_states.widgets[:]
    message.widget_states.widgets.extend(kept)


def begin() -> None:
    """Listen to all pages like this from now on."""
    hear: Any = getattr(AppSession, "request_rerun", None)
    if hear is None or hasattr(hear, "leaves_out"):
        return

    def heard(self: AppSession, client_state: ClientState | None) -> None:
        leave_out(client_state)
        hear(self, client_state)

    heard.leaves_out = True  # type: ignore[attr-defined]
    AppSession.request_rerun = heard  # type: ignore[method-assign]
    AppSession._handle_clear_cache_request = lambda self: None  # type: ignore[method-assign]
