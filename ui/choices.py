"""The sidebar: images, points, model and solver, turned into one frozen record of what the user has chosen."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from adgm import METHODS, Problem
from adgm.problem import CONSTRAINTS
from adgm.solver import AUTO, STIFFNESS
from features.datasets import DATASETS
from features.exports import Opened, open_pair
from features.images import Image, decode
from features.keypoints import DETECTORS, Keypoints, detect, summary
from features.models import MODELS
from features.pairs import Pair, View, own_pair
from features.pointfiles import outside, read_points, read_truth
from features.setup import OWN, Setup
from ui import address, canvas, controls, gallery
from ui.address import COUNTS, DATA_POINTS, Address

IMAGE_TYPES = ["png", "jpg", "jpeg", "webp", "bmp", "tif", "tiff"]
POINT_TYPES = ["csv", "txt", "json", "npz", "mat"]
UPLOAD_MB = 20
CANVAS = "pair"  # the key of the canvas, whose edits are part of the choice

CONSTRAINT_LABELS = {
    controls.AUTOMATIC: "as the model suggests",
    "at_most_one": "at most one partner",
    "exactly_one": "exactly one partner",
    "any": "any number of partners",
}


@dataclass(frozen=True, eq=False)
class Chosen:
    """The pair as it is shown, how to make it again, and why it cannot be run (empty if it can).

    `address` restores the choice, but for images that were uploaded and points that were edited by hand: then it is
    not `portable`.
    """

    pair: Pair
    setup: Setup
    complaint: str = ""
    address: Address = field(default_factory=dict)
    portable: bool = True

    @property
    def own(self) -> bool:
        """Whether the points exist only here: then the pair travels as a file."""
        return self.setup.dataset == OWN


def sidebar(*, solver: bool = True) -> Chosen | None:
    """Draw the sidebar, with or without the choice of a solver; None if there is no pair to show yet."""
    with st.sidebar:
        with st.expander("Images", expanded=True, icon=":material/image:"):
            found = images()
        if found is None:
            return None
        pair, dataset, params = found
        with st.expander("Points", icon=":material/scatter_plot:"):
            pair, source, edited = points(pair)
        with st.expander("Model", icon=":material/function:"):
            model, model_params = model_choice()
        method, options = Setup().method, dict[str, Any]()
        if solver:
            with st.expander("Solver", icon=":material/tune:"):
                method, options = solver_choice()
    try:
        chosen = Setup(dataset, params, model, model_params, method, options)
        complaint = "" if min(pair.shape) > 0 else "Both images need at least one point: detect or add some."
    except ValueError as error:
        chosen, complaint = Setup(dataset, params), str(error)
    counts = {side: st.session_state[f"count-{side}"] for side in COUNTS if f"count-{side}" in st.session_state}
    words = address.address(chosen, source, counts)
    if edited or source != DATA_POINTS:
        chosen = replace(chosen, dataset=OWN, dataset_params={})
    return Chosen(pair, chosen, complaint, words, portable=dataset != OWN and not edited)


# ---- images -------------------------------------------------------------------------------------------------


def images() -> tuple[Pair, str, dict[str, Any]] | None:
    """The pair of images with the points that come with it, and where it is from."""
    labels = {key: one.label for key, one in DATASETS.items()} | {OWN: "Your images"}
    dataset = controls.choose("Data set", list(labels), "data", format_func=lambda key: labels[key])
    if dataset == OWN:
        pair = uploads()
        return None if pair is None else (pair, OWN, {})
    st.caption(DATASETS[dataset].description)
    if not DATASETS[dataset].available():
        gallery.offer_download(dataset)
        return None
    params = controls.parameters(DATASETS[dataset].parameters, dataset)
    try:
        return gallery.load(dataset, tuple(sorted(params.items()))), dataset, params
    except ValueError as error:
        st.error(str(error))
        return None


def uploads() -> Pair | None:
    """Two images of the user's own, or a pair saved earlier."""
    above = st.container()
    saved = st.file_uploader("… or a pair saved earlier", ["zip"], key="pair zip", max_upload_size=2 * UPLOAD_MB)
    try:
        if saved is not None:
            return remembered(reopened(saved.file_id, opened(saved.getvalue())))
        with above:
            return two_images()
    except ValueError as error:
        st.error(str(error))
        return None


def two_images() -> Pair | None:
    """Two images, with point files if there are any; None until both are there, or the pair that was kept."""
    files = [
        st.file_uploader(f"{side} image", IMAGE_TYPES, key=f"{side} image", max_upload_size=UPLOAD_MB)
        for side in ("Left", "Right")
    ]
    with st.popover("Points and truth of your own", width="stretch"):
        spots = [
            st.file_uploader(f"{side} points", POINT_TYPES, key=f"{side} points", max_upload_size=UPLOAD_MB,
                             help="CSV (x,y), JSON, NPZ, MATLAB or text, in pixels of the image")
            for side in ("Left", "Right")
        ]  # fmt: skip
        truth = st.file_uploader(
            "Truth", ["csv", "txt", "json"], key="truth file", max_upload_size=UPLOAD_MB,
            help="Pairs left,right numbered from 0, or one partner per line, −1 for none",
        )  # fmt: skip
    if files == [None, None]:
        return remembered()
    if files[0] is None or files[1] is None:
        return None
    pair = uploaded(
        (files[0].getvalue(), files[1].getvalue()),
        (_bytes(spots[0]), _bytes(spots[1])),
        _bytes(truth),
        f"{files[0].name} and {files[1].name}",
    )
    return remembered(pair)


def remembered(pair: Pair | None = None) -> Pair | None:
    """Keep the user's pair: uploaded files are forgotten when another page is shown. Without one, the pair kept."""
    if pair is not None:
        st.session_state["own pair"] = pair
    elif kept := st.session_state.get("own pair"):
        st.caption(f"Still here: {kept.name}.")
        st.button("Forget this pair", on_click=lambda: st.session_state.pop("own pair", None))
    return pair or st.session_state.get("own pair")


def reopened(file: str, saved: Opened) -> Pair:
    """The pair of a zip file; its model and solver are chosen once, when it comes."""
    if st.session_state.get("opened zip") != file:
        st.session_state["opened zip"] = file
        st.session_state["points"] = DATA_POINTS
        if saved.setup is not None:
            address.use_solver(saved.setup)
    return saved.pair


def _bytes(file: Any) -> bytes | None:
    return None if file is None else file.getvalue()


@st.cache_data(show_spinner="Opening the pair …", max_entries=4)
def opened(data: bytes) -> Opened:
    return open_pair(data)


@st.cache_data(show_spinner="Reading the images …", max_entries=4)
def uploaded(
    images: tuple[bytes, bytes], spots: tuple[bytes | None, bytes | None], truth: bytes | None, name: str
) -> Pair:
    """A pair from uploaded bytes; a side without a point file gets none, and the Points section detects some."""
    pictures = [decode(data, name=f"{side} image") for side, data in zip(("left", "right"), images, strict=True)]
    found = [
        Keypoints(np.zeros((0, 2))) if data is None else read_points(data, f"{side} points")
        for side, data in zip(("left", "right"), spots, strict=True)
    ]
    known = None if truth is None else read_truth(truth, "truth file", (len(found[0]), len(found[1])))
    return own_pair((pictures[0], pictures[1]), (found[0], found[1]), truth=known, name=name)


# ---- points -------------------------------------------------------------------------------------------------


def points(pair: Pair) -> tuple[Pair, str, bool]:
    """The pair with the points to be matched, where they come from, and whether they were edited by hand."""
    given = min(pair.shape) > 0
    sources = ([DATA_POINTS] if given else []) + list(DETECTORS)
    labels = {DATA_POINTS: "the pair's own"} | {key: one.label for key, one in DETECTORS.items()}
    source = controls.choose("Source", sources, "points", format_func=lambda key: labels.get(key, key))
    if source != DATA_POINTS:
        pair = detected(pair, source)
    for side, view in (("left", pair.left), ("right", pair.right)):
        if view.image is not None and len(out := outside(view.points, view.image.size)):
            st.warning(f"{len(out)} {side} points lie outside the image.")
    edits = canvas.edits(CANVAS, pair.left.points.xy, pair.right.points.xy)
    if edits.changed:
        same = (len(edits.left), len(edits.right)) == pair.shape
        pair = Pair(
            moved(pair.left, edits.left), moved(pair.right, edits.right), pair.truth if same else None, pair.name
        )
        st.caption("Edited by hand." if same else "Edited by hand: with points added or deleted, the truth is unknown.")
    n1, n2 = pair.shape
    st.caption(f"{n1} left and {n2} right points.")
    return pair, source, edits.changed


def moved(view: View, xy: np.ndarray) -> View:
    """A view with its points where the user has put them; descriptors' attributes stay while their number does."""
    if len(xy) == len(view.points):
        return View(view.image, replace(view.points, xy=xy))
    return View(view.image, Keypoints(xy))


def detected(pair: Pair, detector: str) -> Pair:
    """Both images' points found anew."""
    st.caption(DETECTORS[detector].note)
    views = []
    for side, view in (("left", pair.left), ("right", pair.right)):
        count = st.slider(f"Points, {side}", 3, 150, 30, key=f"count-{side}")
        if view.image is None:
            st.warning(f"The {side} side has no image to look for points in.")
            views.append(view)
            continue
        found = detected_points(view.image, detector, count)
        if len(found) < count:
            st.caption(summary(found, detector, count))
        views.append(View(view.image, found))
    return Pair(views[0], views[1], None, pair.name)


@st.cache_data(show_spinner="Looking for points …", max_entries=32, hash_funcs={Image: lambda i: hash(i.rgb.tobytes())})
def detected_points(image: Image, detector: str, count: int) -> Keypoints:
    return detect(image, detector, count)


# ---- model and solver ---------------------------------------------------------------------------------------


def model_choice() -> tuple[str, dict[str, Any]]:
    model = controls.choose("Model", list(MODELS), "model", default="C", format_func=lambda key: MODELS[key].label)
    params: dict[str, Any] = controls.model_parameters(model, MODELS[model])
    for side, label in (("rows", "A left point takes"), ("cols", "A right point takes")):
        rule = controls.choose(
            label, [controls.AUTOMATIC, *CONSTRAINTS], side, format_func=lambda rule: CONSTRAINT_LABELS[rule],
            help="By default every point of the smaller side is matched, and no point of the larger side twice.",
        )  # fmt: skip
        if rule != controls.AUTOMATIC:
            params[side] = rule
    return model, params


def use_preset() -> None:
    """A preset was chosen: its method, with the options it has by default."""
    if preset := st.session_state["preset"]:
        address.use_method(controls.presets()[preset].method, {})


def forget_preset() -> None:
    """A method was chosen by hand: the preset is the one it belongs to, or none."""
    st.session_state["preset"] = controls.preset_of(st.session_state["method"])


PENALTY = Path(__file__).parents[1] / "assets" / "penalty.png"
COMPARED = "No multiple of n is best everywhere (House, model B). Polished: a local search improves what is rounded."
SETS_ITSELF = (
    f"ρ₀ is {STIFFNESS:.1%} of the force with which the blocks pull at each other: how strongly the linear term of one "
    "answers when the others move, which neither the costs' unit nor the number or numbering of points changes. From "
    f"there ρ keeps two residuals alike: it grows by {AUTO['balance'] - 1:.0%} while the gap between the blocks "
    f"exceeds {AUTO['imbalance']:g} times their change, and shrinks as much in the opposite case."
)


def solver_choice() -> tuple[str, dict[str, Any]]:
    presets, first = controls.presets(), controls.first_preset()
    preset = st.segmented_control(
        "Preset", list(presets), default=first, key="preset", on_change=use_preset, width="stretch"
    )
    st.caption(presets[preset].about if preset else "A method of your choice.")
    method = controls.choose(
        "Method", list(METHODS), "method", default=presets[first].method, on_change=forget_preset,
        format_func=lambda key: METHODS[key].label,
    )  # fmt: skip
    st.caption(METHODS[method].cite)
    with st.popover("Options of the method", width="stretch"):
        options = controls.method_settings(method)
    if method == "adgm":
        with st.popover("How ρ sets itself", width="stretch"):
            st.markdown(SETS_ITSELF)
            st.image(str(PENALTY), caption=COMPARED)
    if options:
        st.caption("Changed: " + ", ".join(f"{controls.option_label(name)} = {v}" for name, v in options.items()))
    return method, options


@st.cache_resource(show_spinner=False, max_entries=8, hash_funcs={Chosen: lambda c: pair_key(c.pair) + model_key(c)})
def problem_of(chosen: Chosen) -> Problem:
    """The problem of a choice; the same pair and model are built once."""
    return chosen.setup.problem(chosen.pair)


def model_key(chosen: Chosen) -> str:
    return chosen.setup.model + repr(sorted(chosen.setup.model_params.items()))


def pair_key(pair: Pair) -> str:
    """What identifies a pair as it is shown: its images and its points."""
    parts = []
    for view in (pair.left, pair.right):
        parts.append(hash(view.points.xy.tobytes()))
        parts.append(0 if view.image is None else hash(view.image.rgb.tobytes()))
    return f"{pair.name} {parts}"
