"""Presses of buttons, from the moment their message arrives until they are done.

Streamlit calls a button's function in the drawing that its click asked for. That can fail: a change elsewhere on the
page stops the drawing, together with clicks that wait for it; two clicks that wait become one; and a click on a button
that has been drawn disabled since, or not at all, is dropped without a message. So a press is noted by its button's key
when it arrives (`ui.shell.streamlit_patches`), and every drawing of the page first does what was pressed, in that
order. A button has one meaning, by its key: the buttons of the Match page stand in `Presses.actions`, and those of
other pages are offered as they are drawn (`ui.parts.press`). What can no longer be done is told: `LATE` holds the
sentence until the next press.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakValueDictionary

from ui.shell.session_slots import LATE

MOST = 50  # presses that wait at a time; a person is slower
MOST_OFFERED = 300  # buttons of a page; those of the largest sweep are fewer
Action = Callable[[], "str | None"]  # does it, or returns a sentence why it is too late


class Queue(deque[str]):
    """The keys of pressed buttons of one session, the earliest first, and what the buttons do that its page offers."""

    def __init__(self) -> None:
        super().__init__(maxlen=MOST)
        self.offered: dict[str, Action] = {}


class Presses:
    """What every session's visitor has pressed, and what the buttons do."""

    def __init__(self) -> None:
        self.actions: dict[str, Action] = {}
        self._lock = threading.Lock()
        self._waiting: WeakValueDictionary[str, Queue] = WeakValueDictionary()  # a session keeps its own

    def note(self, session: Any, keys: Iterable[str]) -> bool:
        """A message of this session has arrived; returns whether it brings presses of our buttons."""
        with self._lock:
            queue = self._waiting.get(session.id)
            if queue is None:
                queue = session.presses = self._waiting[session.id] = Queue()
            ours = [key for key in keys if key in self.actions or key in queue.offered]
            queue.extend(ours)
        return bool(ours)

    def offer(self, session: str, key: str, action: Action) -> None:
        """A button is drawn that does this; until the page is left, or another one is drawn with its key."""
        queue = self._waiting.get(session)
        if queue is None:
            return
        with self._lock:
            queue.offered.pop(key, None)
            queue.offered[key] = action
            while len(queue.offered) > MOST_OFFERED:
                del queue.offered[next(iter(queue.offered))]

    def leave(self, session: str) -> None:
        """Another page is drawn: what the last one offered is gone."""
        queue = self._waiting.get(session)
        if queue is not None:
            with self._lock:
                queue.offered.clear()

    def perform(self, session: str) -> bool:
        """Do what was pressed, and say whether there was anything. A drawing may be stopped in the middle of it: the
        next one does it then."""
        queue, done = self._waiting.get(session), False
        while queue:
            try:
                key = queue.popleft()
            except IndexError:  # another thread, whose drawing ends, was faster
                break
            try:
                if action := self.actions.get(key) or queue.offered.get(key):
                    self._act(action)
            except BaseException:
                queue.appendleft(key)
                raise
            done = True
        return done

    def press(self, session: str, action: Action) -> None:
        """The function of every button; where no messages arrive, as in tests, this is the press."""
        if session in self._waiting:
            self.perform(session)
        else:
            self._act(action)

    def _act(self, action: Action) -> None:
        LATE.pop()
        if late := action():  # last: what is interrupted now has done nothing, and is done again
            LATE.set(late)


PRESSES = Presses()
