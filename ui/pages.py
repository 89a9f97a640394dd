"""PAGES: what the navigation offers, in this order."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ui import compare, debug, experiments, learn, match

STYLE = Path(__file__).with_name("page.css")


@dataclass(frozen=True)
class Page:
    """A page: the function that draws it, and what the navigation needs to know."""

    show: Callable[[], None]
    settings: dict[str, Any]


PAGES = [
    Page(match.show, {"title": "Match", "icon": ":material/share:", "url_path": "match", "default": True}),
    Page(learn.show, {"title": "Learn", "icon": ":material/school:", "url_path": "learn"}),
    Page(compare.show, {"title": "Compare", "icon": ":material/leaderboard:", "url_path": "compare"}),
    Page(debug.show, {"title": "Debug", "icon": ":material/bug_report:", "url_path": "debug"}),
    Page(experiments.show, {"title": "Experiments", "icon": ":material/science:", "url_path": "experiments"}),
]
