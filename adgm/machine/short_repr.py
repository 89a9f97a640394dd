"""Short representations of records: an array is told by its type and shape, not by its numbers."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

MOST = 60  # letters of a value


class ShortRepr:
    """A base of records whose `repr` fits a line or two; its own `__repr__` wins, that of `dataclass` does not."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls):
            cls.__repr__ = _told  # type: ignore[method-assign]


def _told(record: Any) -> str:
    """The fields that have a value."""
    known = {each.name: getattr(record, each.name) for each in fields(record) if each.repr}
    told = [f"{name}={short(value)}" for name, value in known.items() if value is not None]
    return f"{type(record).__name__}({', '.join(told)})"


def short(value: Any) -> str:
    """A value in a few words."""
    match value:
        case np.ndarray():
            return f"{value.dtype} {value.shape}"
        case np.generic() | float():
            return f"{value:.7g}" if isinstance(value, float | np.floating) else str(value)
        case Mapping():
            return f"{{{cut(', '.join(map(str, value)))}}}"
        case list() | tuple() if len(value) > 4:
            return f"{type(value).__name__} of {len(value)}"
        case list() | tuple():
            inner = ", ".join(map(short, value))
            return f"[{inner}]" if isinstance(value, list) else f"({inner})"
        case ShortRepr():
            return repr(value)
    return cut(repr(value))


def cut(text: str) -> str:
    return text if len(text) <= MOST else f"{text[: MOST - 1]}…"
