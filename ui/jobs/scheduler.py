"""Who computes when: a few places, taken in turns, for whatever the server's visitors ask for.

Whoever has a place keeps it for a slice of work and then gives way to the one that has waited longest; whoever sleeps,
pauses or has nothing to do holds none. So a short job is done soon, however many long ones there are.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, TypeVar
from uuid import uuid4

from adgm.machine.deadline import LOOK, TimeUp, deadline, may_rest
from features.limits import LIMITS
from ui.jobs.memory import trim_heap

T = TypeVar("T")
USUAL_SLICE = 0.1  # seconds, before anything is known
WATCHED = 0.04  # seconds between two updates of pages for each run: drawing one takes half of that


@dataclass(frozen=True)
class Visitor:
    """Somebody for whom work is done: a name, whether their page is still connected, and for how many seconds their
    work goes on while no page looks at it."""

    name: str = field(default_factory=lambda: uuid4().hex)
    here: Callable[[], bool] = lambda: True
    patience: float = LIMITS.patience


class JobPool:
    """At most `running` members compute at the same time; so many and `waiting` more are admitted, `each` of one
    visitor. A member is anything that can be told apart; it is admitted, enters and leaves, and at last is dismissed.
    """

    def __init__(
        self, running: int = LIMITS.running, waiting: int = LIMITS.waiting, each: int = LIMITS.jobs_each
    ) -> None:
        if running < 1:
            raise ValueError(f"a pool needs room for at least 1 running job, not {running}")
        self.running, self.waiting, self.each = running, waiting, each
        self.freed = threading.Condition()
        self.members: dict[Any, str] = {}  # with the names of their visitors
        self.computing: dict[Any, tuple[float, int]] = {}  # since when, and which thread
        self.spent: dict[Any, float] = {}  # seconds of computing before
        self.queue: list[Any] = []
        self.slice = USUAL_SLICE  # seconds that a member computes at a time, lately

    def refusal(self, visitor: Visitor) -> str:
        """Why nothing more is admitted now; empty if it is."""
        with self.freed:
            if (mine := sum(name == visitor.name for name in self.members.values())) >= self.each:
                return f"{mine} of your runs are going on already, the most for one visitor: stop one of them first."
            if len(self.members) >= self.running + self.waiting:
                count = len(self.members) - self.running
                return f"{count} runs are already waiting for their turn: please try again in a minute"
        return ""

    def admit(self, member: Any, visitor: Visitor) -> None:
        """Take in new work, at the end of the queue, or refuse it in a sentence."""
        with self.freed:
            if refusal := self.refusal(visitor):
                raise ValueError(refusal)
            self.members[member] = visitor.name
            self.queue.append(member)

    def hand_to(self, member: Any, visitor: Visitor) -> None:
        """It is another visitor's from now on."""
        with self.freed:
            if member in self.members:
                self.members[member] = visitor.name

    def enter(self, member: Any, give_up: Callable[[], bool]) -> bool:
        """Wait for a place to compute in; False if there is no point any more."""
        with self.freed:
            if member in self.computing:
                return True
            if member not in self.queue:
                self.queue.append(member)
            while not give_up():
                if self.queue[0] is member and len(self.computing) < self.running:
                    self.queue.remove(member)
                    self.computing[member] = monotonic(), threading.get_ident()
                    self.freed.notify_all()
                    return True
                self.freed.wait(LOOK)
            self.queue.remove(member)
            self.freed.notify_all()
            return False

    def give_way(self, member: Any) -> None:
        """The end of a slice: the place goes to whoever waits, if anybody does."""
        with self.freed:
            if self.queue:
                self.leave(member)

    def turn(self, member: Any, give_up: Callable[[], bool]) -> bool:
        """For whoever works through a slice's end and looks at its deadline (`adgm.machine.deadline`): whether to end.

        If not, and somebody waits, the place goes to them for a while. Only the thread that has it gives it away, and
        not while others may wait for something that it holds.
        """
        if give_up():
            return True
        with self.freed:
            since, thread = self.computing.get(member, (monotonic(), 0))
            late = bool(self.queue) and monotonic() - since >= USUAL_SLICE
            if not late or thread != threading.get_ident() or not may_rest():
                return False
            self.leave(member)
        return not self.enter(member, give_up)

    def used(self, member: Any) -> float:
        """Seconds that it has computed."""
        with self.freed:
            place = self.computing.get(member)
            return self.spent.get(member, 0.0) + (0.0 if place is None else monotonic() - place[0])

    def leave(self, member: Any) -> None:
        """Hold no place, and none in the queue, for a while."""
        with self.freed:
            if (place := self.computing.pop(member, None)) is not None:
                took = monotonic() - place[0]
                self.slice = 0.8 * self.slice + 0.2 * took
                self.spent[member] = self.spent.get(member, 0.0) + took
            if member in self.queue:
                self.queue.remove(member)
            self.freed.notify_all()

    def dismiss(self, member: Any) -> None:
        """It is over."""
        with self.freed:
            self.leave(member)
            self.spent.pop(member, None)
            last = self.members.pop(member, None) is not None and not self.members
        if last:
            trim_heap()

    def position(self, member: Any) -> int:
        """In the queue, from 1; 0 for one that does not wait."""
        with self.freed:
            return self.queue.index(member) + 1 if member in self.queue else 0

    def delay(self, position: int) -> float:
        """About how many seconds whoever is so far back in the queue has to wait."""
        return position * self.slice / self.running

    def unhurried(self, tick: float) -> float:
        """Seconds between two updates of a page that would like so many: more where many are watched at a time.

        One interpreter draws all pages. Updates may take half of it; the other half answers clicks.
        """
        with self.freed:
            return max(tick, WATCHED * len(self.members))

    def perform(self, work: Callable[[], T], visitor: Visitor, seconds: float = LIMITS.preparing_seconds) -> T:
        """What a short piece of work comes to, done in a place of the pool while the caller waits.

        `seconds` hold for the work, and for the waiting before it; work that does not look at its deadline
        (`adgm.machine.deadline`) goes on in its place, but nobody waits for it any more.
        """
        request, answer = object(), Future[T]()
        asked, entered = monotonic(), False

        def over() -> bool:
            late = self.used(request) > seconds if entered else monotonic() - asked > seconds
            return late or not visitor.here()

        def run() -> None:
            nonlocal entered
            try:
                if not self.enter(request, over):
                    raise TimeUp
                entered = True
                with deadline(lambda: self.turn(request, over)):
                    answer.set_result(work())
            except BaseException as fault:  # whoever waits for the answer gets it
                answer.set_exception(fault)
            finally:
                self.dismiss(request)

        self.admit(request, visitor)
        threading.Thread(target=run, name="request", daemon=True).start()
        while not over() or answer.done():
            try:
                return answer.result(LOOK)
            except TimeUp:
                break
            except TimeoutError:
                continue
            except MemoryError as error:
                raise ValueError("There is not enough memory for this.") from error
        if not entered:
            raise ValueError("The server is busy with other visitors' work: please try again in a minute.")
        raise ValueError(f"This took longer than the {seconds:g} s it is given: take a smaller file or fewer points.")


POOL = JobPool()
