"""Presses of the Match page's buttons, from the moment their message arrives until they are done.

Streamlit calls a button's function in the drawing that its click asked for. That can fail: a change elsewhere on the
page stops the drawing, together with clicks that wait for it; two clicks that wait become one; and a click on a button
that has been drawn disabled since, or not at all, is dropped without a message. So a press is noted by its button's key
when it arrives (`ui.shell.streamlit_patches`), and every drawing of the page first does what was pressed, in that
order. A button has one meaning, by its key. What can no longer be done is told: `LATE` holds the sentence until the
next press.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakValueDictionary

from ui.shell.session_slots import LATE

MOST = 50  # presses that wait at a time; a person is slower
Action = Callable[[], "str | None"]  # does it, or returns a sentence why it is too late


class Queue(deque[str]):
    """The keys of pressed buttons of one session, the earliest first."""


class Presses:
    """What every session's visitor has pressed, and what the buttons do."""

    def __init__(self) -> None:
        self.actions: dict[str, Action] = {}
        self._lock = threading.Lock()
        self._waiting: WeakValueDictionary[str, Queue] = WeakValueDictionary()  # a session keeps its own

    def note(self, session: Any, keys: Iterable[str]) -> bool:
        """A message of this session has arrived; returns whether it brings presses of our buttons."""
        ours = [key for key in keys if key in self.actions]
        with self._lock:
            queue = self._waiting.get(session.id)
            if queue is None:
                queue = session.presses = self._waiting[session.id] = Queue(maxlen=MOST)
            queue.extend(ours)
        return bool(ours)

    def perform(self, session: str) -> None:
        """Do what was pressed. A drawing may be stopped in the middle of it: the next one does it then."""
        queue = self._waiting.get(session)
        while queue:
            try:
                key = queue.popleft()
            except IndexError:  # another thread, whose drawing ends, was faster
                return
            try:
                self._act(key)
            except BaseException:
                queue.appendleft(key)
                raise

    def press(self, session: str, key: str) -> None:
        """The function of every button; where no messages arrive, as in tests, this is the press."""
        if session in self._waiting:
            self.perform(session)
        else:
            self._act(key)

    def _act(self, key: str) -> None:
        LATE.pop()
        if late := self.actions[key]():  # last: what is interrupted now has done nothing, and is done again
            LATE.set(late)


PRESSES = Presses()
