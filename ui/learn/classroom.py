"""Rooms in which a class answers: what the server keeps of them, in memory only. Nothing here draws.

A lecturer opens a room and gets a code. Students answer under it without a name: a session answers each question once,
and may change its answer until the answers are shown. Students see a question and its options; the right answer is
passed to `show` only when the lecturer reveals it. The numbers of rooms, students, questions and characters are
bounded, and a room that its lecturer has left is deleted after some hours.
"""

import math
import re
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Literal

from features.limits import LIMITS
from ui.jobs.memory import CLEANUP

LETTERS = "ACDEFGHJKMNPQRTUVWXY34679"  # none of them looks like another one
CODE = re.compile(f"[{LETTERS}]{{5}}")
QUESTIONS = 40  # of a room; the oldest are deleted
TEXT, OPTIONS, OPTION = 400, 12, 80  # characters of a question, options, characters of one
HERE = 10.0  # seconds since a student's page was last drawn
ROWS = 8  # different numbers that are listed
Stage = Literal["open", "shown", "revealed"]
FULL = "This server has room for {most} classes at a time. Please try again later."
CROWDED = "This room has its {most} students. Please watch the screen."
CLOSED = "The answers are being shown: yours can no longer be changed."
GONE = "There is no room with this code. Please look at the screen again, or ask for a new code."


@dataclass(frozen=True)
class Asked:
    """A question as students see it: with options, or (without any) for a number."""

    key: str  # tells it from the room's other questions
    title: str
    text: str
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.text) > TEXT or len(self.options) > OPTIONS or any(len(one) > OPTION for one in self.options):
            raise ValueError(
                f"A question has at most {TEXT} characters and {OPTIONS} options of at most {OPTION} characters each."
            )

    def read(self, given: object) -> str:
        """An answer as it is kept; a ValueError if it is none."""
        if self.options and given in self.options:
            return str(given)
        if not self.options and isinstance(given, int | float) and abs(given) < 1e9:  # NaN is not below
            return f"{given + 0.0:.2f}"
        raise ValueError("This is no answer to the question on the screen.")


@dataclass(frozen=True)
class Room:
    """What a room is like at one moment."""

    code: str
    asked: Asked | None = None
    stages: Mapping[str, Stage] = field(default_factory=dict)  # by question
    answers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # by question, then student
    solution: str = ""  # what is told when the answer to the present question is revealed
    round: int = 0  # how often a question was asked once more

    @property
    def ticket(self) -> str:
        """Names the present question in the present round: what is sent with an older one is not counted."""
        return f"{self.asked.key} {self.round}" if self.asked else ""

    @property
    def stage(self) -> Stage:
        return self.stages.get(self.asked.key, "open") if self.asked else "open"

    @property
    def given(self) -> Mapping[str, str]:
        """The answers to the present question."""
        return self.answers.get(self.asked.key, {}) if self.asked else {}

    def counts(self) -> list[tuple[str, int]]:
        """How often each answer was given: options in their order; the most frequent numbers, the smallest first."""
        counted = Counter(self.given.values())
        if self.asked and self.asked.options:
            return [(option, counted[option]) for option in self.asked.options]
        common = sorted(counted.most_common(ROWS), key=lambda one: float(one[0]))
        others = len(self.given) - sum(count for _, count in common)
        return common + ([("others", others)] if others else [])


class Rooms:
    """All rooms of the server; every change is made by a function of this class, under one lock."""

    def __init__(
        self,
        most: int = LIMITS.rooms,
        students: int = LIMITS.room_students,
        seconds: float = LIMITS.room_seconds,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.most, self.students, self.seconds, self.clock = most, students, seconds, clock
        self._lock = threading.Lock()
        self._rooms: dict[str, Room] = {}
        self._owners: dict[str, str] = {}  # codes by owner: one room each
        self._used: dict[str, float] = {}  # by code: when the lecturer's page was last drawn
        self._seen: dict[str, dict[str, float]] = {}  # by code, then student: when their page was last drawn

    # ---- for the lecturer ----------------------------------------------------------------------------------------

    def open(self, owner: str) -> Room:
        """A new room, or the one that this owner has; a ValueError if there are too many."""
        with self._lock:
            self._forget()
            if (code := self._owners.get(owner)) is None:
                if len(self._rooms) >= self.most:
                    raise ValueError(FULL.format(most=self.most))
                code = next(made for made in iter(_code, "") if made not in self._rooms)
                self._rooms[code], self._seen[code], self._owners[owner] = Room(code), {}, code
            self._used[code] = self.clock()
            return self._rooms[code]

    def of(self, owner: str) -> Room | None:
        """The room that this owner has opened; it is in use."""
        with self._lock:
            self._forget()
            if (code := self._owners.get(owner)) is None:
                return None
            self._used[code] = self.clock()
            return self._rooms[code]

    def close(self, owner: str) -> None:
        with self._lock:
            if code := self._owners.get(owner):
                self._delete(code)

    def ask(self, owner: str, asked: Asked) -> None:
        """The question that the lecturer's page shows now; one that was asked before keeps its answers."""
        with self._lock:
            room = self._owned(owner)
            if room is None or room.asked == asked:
                return
            kept = [key for key in room.answers if key != asked.key][-(QUESTIONS - 1) :]
            self._rooms[room.code] = replace(
                room,
                asked=asked,
                stages={key: room.stages[key] for key in (*kept, asked.key) if key in room.stages},
                answers={key: room.answers.get(key, {}) for key in (*kept, asked.key)},
                solution="",
            )

    def show(self, owner: str, stage: Stage, solution: str = "") -> None:
        """Show the answers, reveal the right one, or take answers again."""
        with self._lock:
            room = self._owned(owner)
            if room is not None and room.asked is not None:
                stages = {**room.stages, room.asked.key: stage}
                self._rooms[room.code] = replace(room, stages=stages, solution=solution)

    def clear(self, owner: str) -> None:
        """Ask the present question once more, without the answers that were given."""
        with self._lock:
            room = self._owned(owner)
            if room is not None and room.asked is not None:
                key = room.asked.key
                stages = {**room.stages, key: "open"}
                self._rooms[room.code] = replace(
                    room, stages=stages, answers={**room.answers, key: {}}, solution="", round=room.round + 1
                )

    # ---- for students --------------------------------------------------------------------------------------------

    def visit(self, code: str, student: str) -> Room:
        """The room as it is; a ValueError if there is none with this code."""
        with self._lock:
            self._forget()
            if code not in self._rooms:
                raise ValueError(GONE)
            seen = self._seen[code]
            if student in seen or len(seen) < self.students:
                seen[student] = self.clock()
            return self._rooms[code]

    def answer(self, code: str, student: str, ticket: str, given: object) -> None:
        """Take a student's answer, in place of an earlier one; a ValueError says why it is not taken."""
        with self._lock:
            room = self._rooms.get(code)
            if room is None:
                raise ValueError(GONE)
            if room.asked is None or room.ticket != ticket:
                return  # the lecturer has gone on: the student's page shows the next question at once
            kept = room.asked.read(given)
            if room.given.get(student) == kept:
                return
            if room.stage != "open":
                raise ValueError(CLOSED)
            if student not in room.given and len(room.given) >= self.students:
                raise ValueError(CROWDED.format(most=self.students))
            answers = {**room.answers, room.asked.key: {**room.given, student: kept}}
            self._rooms[code] = replace(room, answers=answers)

    def here(self, code: str) -> int:
        """How many students have the room on their screen."""
        with self._lock:
            now = self.clock()
            return sum(now - last <= HERE for last in self._seen.get(code, {}).values())

    # ---- keeping it bounded --------------------------------------------------------------------------------------

    def expire(self) -> bool:
        """Delete the rooms whose lecturer has been away for long, and say whether there were any."""
        with self._lock:
            return self._forget()

    def _owned(self, owner: str) -> Room | None:
        return self._rooms.get(self._owners.get(owner, ""))

    def _forget(self) -> bool:
        old = [code for code, used in self._used.items() if self.clock() - used > self.seconds]
        for code in old:
            self._delete(code)
        return bool(old)

    def _delete(self, code: str) -> None:
        for kept in (self._rooms, self._used, self._seen):
            kept.pop(code)
        self._owners = {owner: each for owner, each in self._owners.items() if each != code}


def _code() -> str:
    return "".join(secrets.choice(LETTERS) for _ in range(5))


def read_code(text: str) -> str:
    """A code as it was typed, in capitals and without spaces; empty if it can be none."""
    code = "".join(text[:40].upper().split())
    return code if CODE.fullmatch(code) else ""


def share(count: int, counts: list[tuple[str, int]]) -> float:
    """The part of all answers, from 0 to 1."""
    return count / max(1, sum(each for _, each in counts))


def near(given: str, right: object, tolerance: float) -> bool:
    """Whether an answer that was counted is the right one."""
    with suppress(ValueError):
        if isinstance(right, int | float) and not isinstance(right, bool):
            return math.isclose(float(given), float(right), rel_tol=0, abs_tol=tolerance)
    return given == right


ROOMS = Rooms()
CLEANUP.callbacks.append(ROOMS.expire)
