"""From pixels to potentials: images, keypoints, graphs, models and data sets, ending in an `adgm.Problem`.

`features.match(left, right)` goes the whole way; it is loaded when it is asked for, as it needs everything else. In an
installed wheel this file is also the package `adgm_explorer` itself: `from adgm_explorer import match`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adgm import __version__
    from features.matching import Matching, match
    from features.views import match_views

__all__ = ["Matching", "__version__", "match", "match_views"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from adgm import __version__

        return __version__
    if name == "match_views":
        from features.views import match_views

        return match_views
    if name in __all__:
        from features import matching

        return getattr(matching, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
