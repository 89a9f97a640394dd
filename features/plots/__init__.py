"""Pictures: the one palette, the pair with its lines, and figures for print.

`plots.figures` and `plots.pair` draw with matplotlib, which takes longer to import than a page to draw: they are
imported when a figure is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from features.plots import figures, pair

__all__ = ["figures", "pair"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
