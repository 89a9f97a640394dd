"""From pixels to potentials: images, keypoints, graphs, models and data sets, ending in an `adgm.Problem`.

`features.match(left, right)` goes the whole way; it is loaded when it is asked for, as it needs everything else.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from features.matching import Matching, match

__all__ = ["Matching", "match"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from features import matching

        return getattr(matching, name)
    raise AttributeError(f"module 'features' has no attribute {name!r}")
