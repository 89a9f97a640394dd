"""A browser's tab without a browser: it talks to the server as Streamlit's page does, and remembers what it was shown.

Only what matters for presses and values: elements by their keys, ticks, and the rule by which a widget begins: with the
value that was sent for it if one was, else with its own default.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.state.common import user_key_from_element_id
from streamlit.testing.v1 import AppTest

from experiments.tools.browser import BEGINS_AGAIN, PATIENCE, Server

VALUED = ("slider", "number_input", "selectbox", "checkbox")

TOLD = re.compile(r'"(?:status|summary)": ?("(?:[^"\\]|\\.)*")')  # in the panel below the picture, as JSON texts


class Tab:
    """One connection; `pump` lets time pass, in which it listens and ticks."""

    def __init__(self, server: Server, socket: Any, query: str) -> None:
        self.server, self.socket, self.query = server, socket, query
        self.shown = ""  # the server's name for the page
        self.elements: dict[str, tuple[str, Any, str]] = {}  # kind, content and part of the page, by the key
        self.values: dict[str, Any] = {}  # of widgets, by their identity
        self.texts: dict[tuple[int, ...], str] = {}
        self.begun = self.seen = 0  # drawings, and how many of them before we asked last
        self.drawing = False
        self.tick: tuple[float, str] | None = None
        self.due = 0.0

    # ---- listening -------------------------------------------------------------------------------------------

    def pump(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.tick is not None and time.monotonic() >= self.due:
                self.due = time.monotonic() + self.tick[0]
                self.say(part=self.tick[1], ticks=True)
            try:
                data = self.socket.recv(timeout=min(left, 0.02))
            except TimeoutError:
                continue
            message = ForwardMsg()
            message.ParseFromString(data)
            self.hear(message)

    def until(self, holds: Callable[[], object], seconds: float = PATIENCE) -> None:
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise TimeoutError(f"not within {seconds:g} s; the page says {list(self.texts.values())}")
            self.pump(0.05)

    def hear(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.begun, self.drawing = self.begun + 1, True
        elif kind == "script_finished" and message.script_finished != BEGINS_AGAIN:
            self.drawing = False
        elif kind == "navigation":
            self.shown = message.navigation.page_script_hash
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "auto_rerun":
            self.tick = message.auto_rerun.interval, message.auto_rerun.fragment_id
            self.due = time.monotonic() + self.tick[0]
        elif kind == "stop_auto_rerun":
            self.tick = None
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self.draw(message)

    def draw(self, message: ForwardMsg) -> None:
        element, place = message.delta.new_element, tuple(message.metadata.delta_path)
        kind = element.WhichOneof("type") or ""
        content = getattr(element, kind) if kind else None
        self.texts.pop(place, None)
        if kind == "markdown":
            self.texts[place] = content.body
        elif kind == "bidi_component" and (told := TOLD.findall(content.json)):
            self.texts[place] = "\n".join(map(json.loads, told))
        elif hasattr(content, "id"):
            key = user_key_from_element_id(content.id) or content.id
            self.elements[key] = kind, content, message.delta.fragment_id
            if valued(kind, content) and (content.set_value or content.id not in self.values):
                self.values[content.id] = begins_with(kind, content)

    # ---- sending ---------------------------------------------------------------------------------------------

    def say(
        self, *, part: str = "", ticks: bool = False, pressed: Sequence[str] = (), page: str = "", values: bool = False
    ) -> None:
        """Draw the page, or a part of it, again; with presses of buttons, and with the values that widgets show."""
        message = BackMsg()
        asked = message.rerun_script
        asked.query_string, asked.fragment_id, asked.is_auto_rerun = self.query, part, ticks
        asked.page_script_hash, asked.page_name = self.shown, "" if self.shown else page
        for identity in pressed:
            state = asked.widget_states.widgets.add()
            state.id, state.trigger_value = identity, True
        for kind, content, _ in self.elements.values() if values else ():
            if valued(kind, content) and not content.disabled:
                tell(asked.widget_states.widgets.add(), kind, content.id, self.values[content.id])
        self.seen = self.seen if ticks else self.begun
        self.socket.send(message.SerializeToString())

    def press(self, key: str) -> None:
        _, content, part = self.elements[key]
        assert not content.disabled, f"{key} cannot be pressed"
        self.say(part=part, pressed=[content.id])

    def set(self, key: str, value: Any) -> None:
        """Another value for a widget that stands outside of the parts."""
        _, content, part = self.elements[key]
        self.values[content.id] = value
        self.say(part=part, values=True)

    def awaits(self, kind: str) -> str:
        """The key of the first element of a kind, once it is there."""
        self.until(lambda: any(kind == each for each, _, _ in self.elements.values()))
        return next(key for key, (each, _, _) in self.elements.items() if each == kind)

    def choose(self, key: str, option: str) -> None:
        """An option of radio buttons, or a segment."""
        kind, content, part = self.elements[key]
        message = BackMsg()
        message.rerun_script.query_string, message.rerun_script.fragment_id = self.query, part
        message.rerun_script.page_script_hash = self.shown
        state = message.rerun_script.widget_states.widgets.add()
        state.id = content.id
        if kind == "button_group":
            icon = next(one.content_icon for one in content.options if one.content == option)
            state.string_array_value.data.append(f"{icon} {option}")
        else:
            state.string_value = option
        self.socket.send(message.SerializeToString())

    def settled(self) -> None:
        """The page has been drawn and nothing follows at once."""
        self.until(lambda: self.begun > self.seen)
        quiet = 0
        while quiet < 3:
            before = self.begun
            self.pump(0.2)
            quiet = 0 if self.drawing or (self.begun > before and self.tick is None) else quiet + 1

    def enabled(self, key: str) -> bool:
        return key in self.elements and not self.elements[key][1].disabled

    def value(self, key: str) -> Any:
        """What a widget shows."""
        return self.values[self.elements[key][1].id]

    @property
    def words(self) -> dict[str, str]:
        return dict(parse_qsl(self.query))

    def says(self, pattern: str) -> re.Match[str] | None:
        return next(filter(None, (re.search(pattern, text) for text in self.texts.values())), None)


def valued(kind: str, content: Any) -> bool:
    """Whether it has a value that we tell; sliders of words have none of their own here."""
    return kind in VALUED and not (kind == "slider" and content.options)


def begins_with(kind: str, content: Any) -> Any:
    """What a browser shows first."""
    if kind == "slider":
        return list(content.value if content.set_value else content.default)
    if kind == "selectbox":
        return content.raw_value if content.set_value else content.options[content.default]
    return content.value if content.set_value else content.default


def tell(state: Any, kind: str, identity: str, value: Any) -> None:
    """A widget's value, as its kind is told."""
    state.id = identity
    if kind == "slider":
        state.double_array_value.data.extend(value)
    elif kind == "number_input":
        state.double_value = value
    elif kind == "selectbox":
        state.string_value = value
    else:
        state.bool_value = value


@contextmanager
def connected(server: Server, query: str = "") -> Iterator[Tab]:
    """A tab that has connected, and has not asked for anything yet."""
    from websockets.sync.client import connect

    address = f"{server.url.replace('http', 'ws', 1)}/_stcore/stream"
    words: Any = ["streamlit", "PLACEHOLDER_AUTH_TOKEN"]
    with connect(address, subprotocols=words, max_size=None) as socket:
        yield Tab(server, socket, query)


def component_data(test: AppTest, part: str) -> dict[str, Any]:
    """Of a page without a browser (AppTest): what is sent to the component whose data have such a part."""
    sent = (json.loads(element.proto.json) for element in test.get("bidi_component") if element.proto.json)
    return next((data for one in sent if isinstance(one, list) for data in one if part in data), {})
