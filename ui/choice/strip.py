"""The strip below the frame: your own photographs first, then the examples with a thumbnail each, one click apart."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from ui.choice import drop, gallery
from ui.choice.gallery import EXAMPLES
from ui.parts.pictures import inline
from ui.shell import presenter

_KEY = "examples"


def show() -> None:
    """The strip; drawn last of a page, as thumbnails that have not been made yet take longer than the page."""
    locked = presenter.locked("images") or presenter.locked("model")
    chips(_KEY, [_item(one) for one in EXAMPLES], _take, locked=locked)


def chips(key: str, items: Sequence[Mapping[str, Any]], take: Callable[[Any], None], *, locked: bool = False) -> None:
    """A strip of these, each with `title`, `about`, `src` (a thumbnail or nothing), `on` (whether it is chosen) and
    `own` (whether it stands for one's own pictures); the title of one that is clicked is told to `take`."""
    _COMPONENT(
        key=key,
        data=[{"items": list(items), "locked": locked}],
        on_take_change=lambda: take(st.session_state[key].get("take")),
    )


def _item(example: gallery.Example) -> dict[str, Any]:
    recipe = example.recipe
    own = example is gallery.YOURS
    small = None if own else gallery.thumbnail(recipe.dataset, tuple(sorted(recipe.dataset_params.items())))
    return {
        "title": example.title,
        "about": example.about,
        "own": own,
        "on": gallery.chosen(example),
        "src": "" if small is None else inline(small),
    }


def _take(sent: Any) -> None:
    """A chip was clicked; what a browser sends may be anything."""
    for example in EXAMPLES:
        if example.title == sent:
            if example is gallery.YOURS and gallery.chosen(example):
                drop.start_over()  # other photographs
            gallery.take(example.recipe)


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


_COMPONENT = st.components.v2.component(
    "adgm_strip",
    html='<nav class="strip" aria-label="Pictures to match"></nav>',
    css=_text("strip.css"),
    js=_text("strip.js"),
)
