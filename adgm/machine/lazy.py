"""What is computed once, when it is first asked for: by whichever thread asks first; the others wait for it.

Each object has a lock of its own, and whoever waits looks at its deadline. Python's `cached_property` does neither: up
to 3.11 it has one lock for all objects of a class, and from 3.12 on none.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from adgm.machine.deadline import waited_for

T = TypeVar("T")
_GUARD = threading.Lock()
_LOCKS: WeakKeyDictionary[object, dict[str, Any]] = WeakKeyDictionary()


@contextmanager
def alone(owner: object, part: str) -> Iterator[None]:
    """One thread at a time for this part of this object."""
    with _GUARD:
        lock = _LOCKS.setdefault(owner, {}).setdefault(part, threading.RLock())
    with waited_for(lock):
        yield


class once(Generic[T]):
    """A property that is computed once and then lies among the object's own attributes."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.make, self.name, self.__doc__ = make, make.__name__, make.__doc__

    def __get__(self, owner: Any, kind: type | None = None) -> T:
        """Asked only as long as there is no such attribute."""
        if owner is None:
            return self  # type: ignore[return-value]
        own = vars(owner)
        with alone(owner, self.name):
            if self.name not in own:
                own[self.name] = self.make(owner)
        found: T = own[self.name]
        return found
