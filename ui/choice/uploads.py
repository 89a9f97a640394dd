"""Images, points and problems of a visitor's own: read from files, remembered, refused in a sentence."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from features.files.exports import open_pair
from features.files.point_files import outside
from features.files.problem_files import as_pair, read_problem
from features.limits import LIMITS
from features.matching import suited
from features.pairs import SIDES, Pair, read_pair
from features.pairs.arranged import arrangeable, swapped, turned
from features.points.images import decode
from features.recipe import MASKS, OWN, Recipe
from ui.choice import address
from ui.jobs.scheduler import POOL
from ui.parts.escape import literal
from ui.shell import admission
from ui.shell.session_slots import ARRANGED, BOTH, FILES, MASK, OWN_PAIR, ROUND, RUN, SHOTS, START

IMAGE_TYPES = ["jpg", "jpeg", "png", "heic", "heif", "avif", "webp", "tif", "tiff", "bmp"]
POINT_TYPES = ["csv", "txt", "json", "npz", "mat"]
PROBLEM_TYPES = ["zip", "dd", "xz", "dat", "npz"]
UPLOAD_MB = LIMITS.image_bytes // 1_000_000
OF_ITS_OWN: dict[str, Any] = {"dataset": OWN, "dataset_params": {}, "points": OWN, "point_params": {}}
MOST_NAMED = 5  # points that a warning lists
ONE_MORE = "One image is here: add the other one."
GIVES_WAY = 1.0  # seconds that a run may take to end


def choose() -> Pair | None:
    """Two images of the user's own, a pair saved earlier, or a matching problem from a file."""
    above = st.container()
    saved = st.file_uploader(
        "… or a saved pair, or a matching problem",
        PROBLEM_TYPES,
        key="pair zip",
        max_upload_size=2 * UPLOAD_MB,
        help="A pair that was saved here (ZIP); costs without images: .dd, .dd.xz, QAPLIB .dat, NPZ",
    )
    try:
        if saved is not None:
            pair, recipe = opened(saved.getvalue(), saved.name)
            brought([saved], replace(recipe, **OF_ITS_OWN) if recipe else suited(pair))
            return remembered(pair)
        with above:
            return two_images()
    except ValueError as error:
        st.error(literal(str(error)))
        return None


def warn_outside(pair: Pair) -> None:
    """Points that cannot be seen, told where their file was given."""
    for side, view in zip(SIDES, (pair.left, pair.right), strict=True):
        if view.image is not None and len(out := outside(view.points, view.image.size)):
            width, height = view.image.size
            these = ", ".join(map(str, out[:MOST_NAMED].tolist())) + (" …" if len(out) > MOST_NAMED else "")
            st.warning(
                f"{len(out)} of {len(view.points)} {side} points lie outside the image, of {width:g} × {height:g} "
                f"pixels: number {these}. Is the file in pixels of this image?",
                icon=":material/crop_free:",
            )


def two_images() -> Pair | None:
    """Two images, with point files if there are any; None until both are there, or the pair that was kept."""
    files, readable = [], True
    for side in ("Left", "Right"):
        file = st.file_uploader(f"{side} image", IMAGE_TYPES, key=f"{side} image", max_upload_size=UPLOAD_MB)
        readable &= file is None or accepted(file, f"{file.name} ({side.lower()} image)")
        files.append(file)
    dropped = [*(st.session_state.get(both_key()) or []), *(SHOTS.get() or [])]
    if files == [None, None] and len(dropped) > 1:
        files = dropped[-2:]
    with st.popover("Points and truth of your own", width="stretch"):
        spots = [
            st.file_uploader(
                f"{side} points",
                POINT_TYPES,
                key=f"{side} points",
                max_upload_size=UPLOAD_MB,
                help="CSV (x,y), JSON, NPZ, MATLAB or text, in pixels of the image",
            )
            for side in ("Left", "Right")
        ]
        truth = st.file_uploader(
            "Truth",
            ["csv", "txt", "json"],
            key="truth file",
            max_upload_size=UPLOAD_MB,
            help="Pairs left,right numbered from 0, or one partner per line, −1 for none",
        )
    alone = files == [None, None] and None not in spots  # points without images
    if files == [None, None] and not alone:
        return remembered()
    if not readable:
        return None
    if None in files and not alone:
        st.caption(ONE_MORE)
        return None
    both, name = (
        (_bytes(files[0]), _bytes(files[1])),
        " and ".join(one.name for one in (spots if alone else files) if one),
    )
    try:
        pair = uploaded(both, (_bytes(spots[0]), _bytes(spots[1])), _bytes(truth), name)
    except ValueError as error:
        if alone:
            raise
        pair = uploaded(both, (None, None), None, name)  # a bad image is told by this one
        st.error(literal(f"{error} The pair stays, without that file."))
    else:
        if min(pair.shape) > 0:
            st.caption(f"The points of your files are used{', and their truth' if pair.truth is not None else ''}.")
    if brought([*files, *spots, truth], suited(pair)):
        start()
    return remembered(pair)


def both_key() -> str:
    """The key of the uploader in the main area; another round of photographs has another one, which is empty."""
    return f"{BOTH} {ROUND.get()}" if ROUND.get() else BOTH


def accepted(file: Any, name: str) -> bool:
    """Whether a file is a picture; what is none is refused at once, beside its uploader, by its name."""
    try:
        decoded(file.getvalue(), name)
    except ValueError as error:
        st.error(literal(str(error)))
        return False
    return True


def brought(files: Sequence[Any], recipe: Recipe) -> bool:
    """When files come that were not there before, what suits them is chosen; once, so that it can be changed."""
    ids = tuple(file.file_id for file in files if file is not None)
    if FILES.get() == ids:
        return False
    FILES.set(ids)
    ARRANGED.pop()
    address.use(recipe)
    return True


def start() -> None:
    """Match the photographs that have come: nobody has to press Start. A run of another pair gives way."""
    run = RUN.get()
    if run is not None and run.job.snapshot().active:
        run.job.stop()
        run.job.wait(GIVES_WAY)
    START.set(True)


def remembered(pair: Pair | None = None) -> Pair | None:
    """Keep the user's pair: uploaded files are forgotten when another page is shown. Without one, the pair kept."""
    if pair is not None:
        OWN_PAIR.set((ARRANGED.get() or [pair])[-1])
        arrange()
    elif kept := OWN_PAIR.get():
        st.caption(f"Still here: {literal(kept.name)}.")
        st.button("Forget this pair", on_click=forget_own_pair)
    return OWN_PAIR.get()


def arrange() -> None:
    """Swap two images, turn one of them, or take that back; they are matched again at once."""
    pair = OWN_PAIR.get()
    if pair is None or not arrangeable(pair):
        return
    with st.container(horizontal=True, gap="xsmall", key="arrange"):
        st.button("Swap", icon=":material/swap_horiz:", on_click=_change, args=(swapped,))
        for side, name in enumerate(SIDES):
            st.button(
                f"Turn {name}", icon=":material/rotate_right:", on_click=_change, args=(partial(turned, side=side),)
            )
        back = len(ARRANGED.get() or []) > 1
        st.button("Undo", icon=":material/undo:", key="undo arrangement", on_click=_undo, disabled=not back)
        st.button("Crop or mask", icon=":material/crop:", on_click=_mask, help="Say on the pictures where to look")


def _change(how: Callable[[Pair], Pair]) -> None:
    if (pair := OWN_PAIR.get()) is not None:
        ARRANGED.set([*(ARRANGED.get() or [pair]), how(pair)])
        _rearranged()


def _mask() -> None:
    """The stage takes regions now (`ui.match.masking`)."""
    MASK.set(True)


def _undo() -> None:
    if len(earlier := ARRANGED.get() or []) > 1:
        ARRANGED.set(earlier[:-1])
        _rearranged()


def _rearranged() -> None:
    OWN_PAIR.set((ARRANGED.get() or [])[-1])
    record, masks = address.current(), [one.name for one in MASKS]  # which are about pictures that lie otherwise
    kept = {name: value for name, value in record.point_params.items() if name not in masks}
    address.use(replace(record, point_params=kept))
    start()


def forget_own_pair() -> None:
    OWN_PAIR.pop()
    ARRANGED.pop()


def _bytes(file: Any) -> bytes | None:
    return None if file is None else file.getvalue()


@st.cache_data(show_spinner="Opening the file …", max_entries=4)
def opened(data: bytes, name: str) -> tuple[Pair, Recipe | None]:
    """A saved pair with its recipe if it has one, or a problem file as a pair whose costs are given."""

    def read() -> tuple[Pair, Recipe | None]:
        if name.lower().endswith(".zip"):
            found = open_pair(data)
            return found.pair, found.recipe
        return as_pair(read_problem(data, name)), None

    return POOL.perform(read, admission.current())


@st.cache_data(show_spinner="Reading the image …", max_entries=4)
def decoded(data: bytes, name: str) -> None:
    """A ValueError, with its name and with what would be a picture, for a file that is none."""
    POOL.perform(lambda: decode(data, name=name), admission.current())


@st.cache_resource(show_spinner="Reading the images …", max_entries=4)
def uploaded(
    images: tuple[bytes | None, bytes | None], spots: tuple[bytes | None, bytes | None], truth: bytes | None, name: str
) -> Pair:
    """A pair from uploaded bytes; a side without a point file gets none, and the Points section detects some."""
    read = partial(read_pair, *images, points=spots, truth=truth, detector=None, name=name)
    return POOL.perform(read, admission.current())
