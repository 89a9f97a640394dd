"""Your own photographs in one gesture: drop, paste, choose or take two, one after the other, anywhere on Match."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import streamlit as st

from features.matching import IMAGES
from features.points.images import READ, ImageError, decode
from features.recipe import OWN
from ui.choice import address, gallery, uploads
from ui.parts.pictures import inline
from ui.shell.session_slots import CAMERA, ROUND, SHOTS

PREVIEW = 480  # pixels: the longer side of the first photograph while the second one is awaited
ABOUT = f"{READ}, up to {uploads.UPLOAD_MB} MB each. Kept in memory only, never stored. It starts when both are here."


def area(*, empty: bool) -> None:
    """Where photographs go; on a page that shows a pair out of sight, as they can be dropped there as well."""
    with st.container(key="drop" if empty else "drop-unseen"):
        files = taken()
        first = _preview(files[-1]) if empty and len(files) % 2 else ""
        _COMPONENT(
            key="drop area",
            data=[
                {
                    "empty": empty,
                    "first": first,
                    "about": f"{uploads.ONE_MORE} {ABOUT}" if first else ABOUT,
                    "points": IMAGES.point_params["left"],
                    "ready": _ready() if empty else [],
                }
            ],
            on_camera_change=lambda: CAMERA.set(True),
            on_take_change=_take_ready,
        )
        dropped = st.file_uploader(
            "Two images",
            uploads.IMAGE_TYPES,
            accept_multiple_files=True,
            key=uploads.both_key(),
            max_upload_size=uploads.UPLOAD_MB,
            on_change=_brought,
        )
        for file in dropped[-2:]:
            uploads.accepted(file, file.name)
        if len(files) == 1 and not empty:
            st.toast(uploads.ONE_MORE, icon=":material/add_photo_alternate:")
    if CAMERA.pop():
        _take_pictures()


def _ready() -> list[dict[str, str]]:
    """Photographs for whoever has none at hand, as far as they are on this machine."""
    found = []
    for one in gallery.READY:
        params = tuple(sorted(one.recipe.dataset_params.items()))
        small = [gallery.thumbnail(one.recipe.dataset, params, side) for side in (0, 1)]
        if small[0] is not None and small[1] is not None:
            found.append({"title": one.title, "left": inline(small[0]), "right": inline(small[1])})
    return found


def _take_ready() -> None:
    """A ready pair was clicked; what a browser sends may be anything."""
    sent = st.session_state["drop area"].get("take")
    for one in gallery.READY:
        if one.title == sent:
            gallery.take(one.recipe)


def taken() -> list[Any]:
    """What was dropped, pasted, chosen or taken, in this order."""
    return [*(st.session_state.get(uploads.both_key()) or []), *(SHOTS.get() or [])]


def start_over() -> None:
    """Forget the pair and what it was made from: the area is empty again."""
    uploads.forget_own_pair()
    SHOTS.pop()
    ROUND.set((ROUND.get() or 0) + 1)


def _brought() -> None:
    """Files came, on whatever pair they were dropped: they are what is looked at."""
    if st.session_state.get(uploads.both_key()) and address.current().dataset != OWN:
        address.use(IMAGES)


@st.dialog("Take two pictures")
def _take_pictures() -> None:
    shots = SHOTS.get() or []
    which = "first" if len(shots) % 2 == 0 else "second"
    shot = st.camera_input(f"The {which} picture", key=f"camera {len(shots)}")
    if shot is None:
        return
    SHOTS.set([*shots, shot])
    if which == "first":
        st.rerun(scope="fragment")
    _shown()
    st.rerun()


def _shown() -> None:
    if address.current().dataset != OWN:
        address.use(IMAGES)


def _preview(file: Any) -> str:
    """A photograph that waits for the other one; nothing if it cannot be read, which is told beside it."""
    try:
        image = decode(file.getvalue(), max_side=PREVIEW, name=file.name)
    except ImageError:
        return ""
    return inline(cv2.imencode(".jpg", np.ascontiguousarray(image.rgb[..., ::-1]))[1].tobytes())


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


_COMPONENT = st.components.v2.component(
    "adgm_drop",
    html='<section class="drop" aria-label="Your photographs" hidden></section><aside class="beside" hidden></aside>',
    css=_text("drop.css"),
    js=_text("drop.js"),
)
