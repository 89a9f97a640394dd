"""Crop and mask: rectangles, dragged on the pictures, in which points are looked for, or are not."""

from dataclasses import replace
from typing import Any

import streamlit as st

from features.pairs import SIDES, Pair
from features.points.regions import LARGEST, Region, parse, told
from features.recipe import MASKS, OWN, Recipe
from ui.choice import address
from ui.choice.sidebar import Chosen
from ui.parts import canvas
from ui.shell.session_slots import EDIT, MASK, RUN, START


def mode(chosen: Chosen | None) -> canvas.Mode:
    """What the stage is for now: to draw regions, to edit points, or to look at."""
    if MASK.get() and possible(chosen):
        return "mask"
    return "edit" if st.session_state.get(EDIT) else "view"


def switch() -> None:
    """Begin to draw regions, or end that: what others ask for is run when they are done."""
    if not MASK.pop():
        return MASK.set(True)
    run = RUN.get()
    if run is not None and masks_of(run.chosen.record) != masks_of(address.current()):
        START.set(True)


def possible(chosen: Chosen | None) -> bool:
    """Points that come with a pair are not looked for, so nothing says where."""
    return chosen is not None and chosen.record.points != OWN


def masks_of(recipe: Recipe) -> list[str]:
    return [str(recipe.point_params.get(one.name, "")) for one in MASKS]


def regions(chosen: Chosen) -> canvas.Regions:
    """Those of the choice, in pixels of the pictures as they are shown."""
    if not possible(chosen):
        return canvas.Regions()
    found = []
    for text, view in zip(masks_of(chosen.record), (chosen.pair.left, chosen.pair.right), strict=True):
        scale = 1.0 if view.image is None else view.image.scale
        found.append([[int(r.keep), *(scale * n for n in (r.left, r.top, r.right, r.bottom))] for r in parse(text)])
    return canvas.Regions(found[0], found[1], lambda sent: receive(chosen.pair, sent))


def receive(pair: Pair, sent: Any) -> None:
    """Other regions were drawn. What a browser sends is checked like anything from outside."""
    if sent == "done":
        return switch() if MASK.get() else None
    try:
        drawn = [
            told(tuple(one for row in sent[side] if (one := _region(row, view.image)) is not None))
            for side, view in zip(SIDES, (pair.left, pair.right), strict=True)
        ]
        record = address.current()
        params = {**record.point_params, **{one.name: text for one, text in zip(MASKS, drawn, strict=True)}}
        address.use(replace(record, point_params=params))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        st.toast(str(error) if type(error) is ValueError else "These regions could not be read.")


def _region(row: Any, image: Any) -> Region | None:
    """A rectangle in pixels of the original image; None if nothing of it lies within."""
    keep, *ends = row
    scale, size = (1.0, (LARGEST, LARGEST)) if image is None else (image.scale, image.original_size)
    left, top, right, bottom = (min(max(round(end / scale), 0), size[k % 2]) for k, end in enumerate(ends))
    return Region(bool(keep), left, top, right, bottom) if left < right and top < bottom else None
