"""What tells values apart by their content, for stores that live as long as the process."""

import hashlib
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

NUMBERS: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
COUNT = count()


def digest(*values: Any) -> str:
    """The same for equal content: arrays, numbers, text, and records and lists of them.

    Anything else, such as a function, counts as equal only to itself: nobody can compare what two functions do.
    """
    told = hashlib.sha1(usedforsecurity=False)
    _tell(told.update, values)
    return told.hexdigest()


def _tell(update: Callable[[Any], None], value: Any) -> None:
    """Every value begins with its kind and size, so that no two lists of values give the same bytes."""
    if isinstance(value, np.ndarray):
        update(f"{value.dtype.str} {value.shape} ".encode())
        update(np.ascontiguousarray(value).reshape(-1).view(np.uint8))
    elif isinstance(value, tuple | list):
        update(f"{len(value)} values ".encode())
        for one in value:
            _tell(update, one)
    elif is_dataclass(value) and not isinstance(value, type):
        update(f"{type(value).__qualname__} ".encode())
        _tell(update, tuple(getattr(value, one.name) for one in fields(value)))
    else:
        plain = value is None or isinstance(value, str | int | float | np.generic)
        text = repr(value) if plain else f"number {_number(value)}"
        update(f"{len(text)} {text} ".encode("utf-8", "surrogatepass"))


def _number(thing: Any) -> int:
    """One of its own for everything that lives, never given again."""
    try:
        return NUMBERS.setdefault(thing, next(COUNT))
    except TypeError:  # nothing can refer to it weakly, or it has no hash
        return next(COUNT)
