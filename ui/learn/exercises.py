"""Exercises of lecturers, which the server keeps for a while under short links. Nothing here draws.

An exercise is a question about a chapter of Learn or about what is on Match, with a pair of the lecturer's own if that
is what it is about. The expected answer stays on the server: a student's page sends an answer and is told whether it is
the expected one. Numbers, characters and bytes are bounded; an exercise that nobody has opened for long is deleted.
"""

import math
import re
import secrets
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Literal

import numpy as np

from features.formulas.text import LONGEST_TEXT
from features.limits import LIMITS
from features.pairs import Pair
from ui.jobs.memory import CLEANUP
from ui.jobs.problem_cache import problem_bytes
from ui.learn.classroom import LETTERS, OPTION, OPTIONS, TEXT

WORD = "exercise"  # in a link
LENGTH = 8  # letters of a code; as many again open what is told to the lecturer only
CODE = re.compile(f"[{LETTERS}]{{{LENGTH}}}([{LETTERS}]{{{LENGTH}}})?")
WORDS, VALUE = 60, 2 * LONGEST_TEXT  # of an address: how many, characters of one; a formula's is the longest
FINE = 0.005  # numbers are equal if they differ by at most this part, where no tolerance is given
GONE = "This exercise is no longer kept by the server. Please ask for a new link."
FULL = "This server keeps as many exercises as it can. Please try again later, or take a link without an answer."


@dataclass(frozen=True, eq=False)
class Exercise:
    """A question, what it is about, and what of it can be changed and seen. Checked at birth."""

    page: Literal["learn", "match"]
    words: Mapping[str, str]  # of the page's address: the chapter with its values, or the recipe
    text: str
    answer: str = ""  # the expected one; empty: any answer will do
    options: tuple[str, ...] = ()
    tolerance: float | None = None  # of a number; None: half a percent
    hint: str = ""  # after another answer than the expected one
    because: str = ""  # after the expected one
    locked: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    presenting: bool = False
    pair: Pair | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.text:
            raise ValueError("Type a question.")
        if max(map(len, (self.text, self.answer, self.hint, self.because))) > TEXT:
            raise ValueError(f"Question, answer, hint and reason have at most {TEXT} characters each.")
        if len(self.options) > OPTIONS or any(len(one) > OPTION for one in self.options):
            raise ValueError(f"There are at most {OPTIONS} options, of at most {OPTION} characters each.")
        if len(self.options) == 1 or len(set(self.options)) < len(self.options):
            raise ValueError("Give at least two options, each of them once.")
        if self.options and self.answer and self.answer not in self.options:
            raise ValueError("The expected answer is none of the options.")
        if self.tolerance is not None and not 0 <= self.tolerance < math.inf:
            raise ValueError(f"The tolerance is {self.tolerance}; expected a number of at least 0.")
        if len(self.words) > WORDS or any(len(text) > VALUE for text in self.words.values()):
            raise ValueError("This page has more settings than an exercise can keep.")

    @property
    def number(self) -> float | None:
        """The expected number; None if something else is expected."""
        return None if self.options else as_number(self.answer)

    def accepts(self, given: str) -> bool:
        """Whether an answer is the expected one: the option, a number within the tolerance, or the same words."""
        if self.options:
            return given == self.answer
        if (expected := self.number) is not None:
            value = as_number(given)
            within = FINE * abs(expected) if self.tolerance is None else self.tolerance
            return value is not None and abs(value - expected) <= within * (1 + 1e-9) + 1e-12
        return plain(given) == plain(self.answer)

    @property
    def nbytes(self) -> int:
        """What it holds in memory: the images most of all."""
        texts = (self.text, self.answer, self.hint, self.because, *self.options, *self.words.values())
        views = () if self.pair is None else (self.pair.left, self.pair.right)
        pixels = sum(view.image.rgb.nbytes for view in views if view.image is not None)
        points = sum(
            array.nbytes for view in views for array in vars(view.points).values() if isinstance(array, np.ndarray)
        )
        costs = 0 if self.pair is None or self.pair.given is None else problem_bytes(self.pair.given)
        return 4 * sum(map(len, texts)) + pixels + points + costs


def as_number(text: str) -> float | None:
    """A number as people type it, with a point or a comma."""
    with suppress(ValueError):
        value = float(text.replace("−", "-").replace(",", ".").strip())
        return value if math.isfinite(value) else None
    return None


def plain(text: str) -> str:
    return " ".join(text.casefold().split())


@dataclass(frozen=True, eq=False)
class Kept:
    """An exercise as the server keeps it. `code` is for students; the lecturer's link may also reveal the answer."""

    exercise: Exercise
    owner: str
    code: str
    key: str
    opened: float  # when it was opened last

    @property
    def lecturers(self) -> str:
        return self.code + self.key


class Exercises:
    """All exercises of the server, by their codes; changed under one lock."""

    def __init__(
        self,
        most: int = LIMITS.exercises,
        each: int = LIMITS.exercises_each,
        nbytes: int = LIMITS.exercise_bytes,
        seconds: float = LIMITS.exercise_seconds,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.most, self.each, self.nbytes, self.seconds, self.clock = most, each, nbytes, seconds, clock
        self._lock = threading.Lock()
        self._kept: dict[str, Kept] = {}  # by code, the oldest first

    def keep(self, owner: str, exercise: Exercise) -> Kept:
        """Keep it under a new code. An owner's oldest exercises give way; a ValueError if the server is full."""
        with self._lock:
            self._forget()
            mine = [code for code, one in self._kept.items() if one.owner == owner]
            for code in mine[: max(0, len(mine) + 1 - self.each)]:
                del self._kept[code]
            held = sum(one.exercise.nbytes for one in self._kept.values())
            if len(self._kept) >= self.most or held + exercise.nbytes > self.nbytes:
                raise ValueError(FULL)
            code = next(made for made in iter(_code, "") if made not in self._kept)
            self._kept[code] = Kept(exercise, owner, code, _code(), self.clock())
            return self._kept[code]

    def find(self, text: str) -> tuple[Exercise, bool] | None:
        """The exercise of a link, which is in use now, and whether the link is the lecturer's; None: there is none."""
        with self._lock:
            self._forget()
            if not CODE.fullmatch(text) or (kept := self._kept.get(text[:LENGTH])) is None:
                return None
            self._kept[kept.code] = replace(kept, opened=self.clock())
            return kept.exercise, secrets.compare_digest(text, kept.lecturers)

    def expire(self) -> bool:
        """Delete what nobody has opened for long, and say whether there was any."""
        with self._lock:
            return self._forget()

    def _forget(self) -> bool:
        old = [code for code, one in self._kept.items() if self.clock() - one.opened > self.seconds]
        for code in old:
            del self._kept[code]
        return bool(old)


def _code() -> str:
    return "".join(secrets.choice(LETTERS) for _ in range(LENGTH))


def how_long() -> str:
    """For how long exercises are kept, for people."""
    days, hours = LIMITS.exercise_seconds / 86400, LIMITS.exercise_seconds / 3600
    return f"{days:g} days" if days >= 2 else f"{hours:g} hours"


EXERCISES = Exercises()
CLEANUP.callbacks.append(EXERCISES.expire)
