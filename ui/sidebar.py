"""The sidebar: images, points, model and solver, turned into one frozen record of what the user has chosen."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from adgm import METHODS, Problem
from adgm.penalty import AUTO, STIFFNESS
from adgm.problem import CONSTRAINTS
from features.datasets import DATASETS
from features.exports import open_pair
from features.images import decode
from features.keypoints import DETECTORS, Keypoints
from features.limits import LIMITS
from features.matching import suited
from features.models import MODELS
from features.pairs import SIDES, Pair, View, read_pair
from features.point_files import outside
from features.problem_files import as_pair, read_problem
from features.recipe import CHECKS, CONSTRAINED, COUNTS, FOUND, OWN, Recipe
from ui import canvas, data, present, url_state, visitors, widgets
from ui.jobs.pool import POOL
from ui.jobs.shelf import SHELF
from ui.size import Size
from ui.state import BOTH, CANVAS, FILES, OWN_PAIR, panel_key, widget_key
from ui.words import literal

IMAGE_TYPES = ["png", "jpg", "jpeg", "webp", "bmp", "tif", "tiff"]
POINT_TYPES = ["csv", "txt", "json", "npz", "mat"]
PROBLEM_TYPES = ["zip", "dd", "xz", "dat", "npz"]
UPLOAD_MB = LIMITS.image_bytes // 1_000_000
OF_ITS_OWN: dict[str, Any] = {"dataset": OWN, "dataset_params": {}, "points": OWN, "point_params": {}}
MOST_NAMED = 5  # points that a warning lists
GIVEN_COSTS = Recipe(OWN, model="given")

CONSTRAINT_LABELS = {
    widgets.AUTOMATIC: "as the model suggests",
    "at_most_one": "at most one partner",
    "exactly_one": "exactly one partner",
    "any": "any number of partners",
}


CHECK_LABELS = {
    "automatic": "any map, for photographs",
    "none": "nothing",
    "homography": "a homography (flat things, or a turning camera)",
    "affine": "an affine map",
    "fundamental": "an epipolar geometry (things with depth)",
}


@dataclass(frozen=True, eq=False)
class Chosen:
    """The pair as it is shown, how to make it and run it again, and why it cannot be run (empty if it can)."""

    pair: Pair
    record: Recipe  # what is chosen, and stands in the address
    edited: bool = False  # points moved, added or deleted by hand
    complaint: str = ""

    @property
    def own(self) -> bool:
        """Whether the points exist only here: then the pair travels as a file, and no link can carry it."""
        return self.record.dataset == OWN or self.edited

    @property
    def recipe(self) -> Recipe:
        """The run, of a pair that comes from its file if it exists only here."""
        if not self.own:
            return self.record
        return replace(self.record, **OF_ITS_OWN)


def sidebar(*, solver: bool = True) -> Chosen | None:
    """Draw the sidebar, with or without the choice of a solver; None if there is no pair to show yet."""
    with st.sidebar:
        first = present.group("model")  # in sight, however much there is to say about the images
        with present.group("images"), st.expander("Images", expanded=True, icon=":material/image:"):
            found = images()
        if found is None:
            return None
        pair, data = found
        with present.group("points"), panel("Points", "scatter_plot") as unfolded:
            pair, points, edited = choose_points(pair, drawn=unfolded)
        with present.group("model", "-settings"), panel("Model's settings", "function") as unfolded:
            model = choose_model(pair, first, drawn=unfolded)
        before = url_state.current()
        method: dict[str, Any] = {"method": before.method, "method_options": before.method_options}
        if solver:
            with present.group("solver"), panel("Solver", "tune") as unfolded:
                if unfolded:
                    method = choose_solver(Recipe(model=model["model"], model_params=model["model_params"]))
    try:
        record = Recipe(**data, **points, **model, **method)
        complaint = pair.lack or (record.misfit if solver else "")
    except ValueError as error:
        record, complaint = before, str(error)
    url_state.keep(record)
    return Chosen(pair, record, edited, complaint)


@contextmanager
def panel(label: str, icon: str) -> Iterator[bool]:
    """A part of the sidebar that begins folded; yields whether it is unfolded.

    What is folded has no widgets and stays as the record says: a browser need not draw what nobody sees.
    """
    with st.expander(label, icon=f":material/{icon}:", key=panel_key(label), on_change="rerun") as part:
        yield bool(part.open)


# ---- images -------------------------------------------------------------------------------------------------


def images() -> tuple[Pair, dict[str, Any]] | None:
    """The pair of images with the points that come with it, and where it is from."""
    before = url_state.current()
    labels = {key: one.label for key, one in DATASETS.items()} | {OWN: "Your images"}
    dataset = widgets.choose(
        "Data set", list(labels), widget_key("data"), before.dataset, format_func=lambda key: labels[key]
    )
    if dataset == OWN:
        pair = uploads()
        if pair is None:
            return None
        warn_outside(pair)
        return pair, {"dataset": OWN}
    st.caption(DATASETS[dataset].description)
    if not DATASETS[dataset].available():
        url_state.keep(replace(before, dataset=dataset, dataset_params={}))  # the main area offers to fetch it
        return None
    values = before.dataset_params if before.dataset == dataset else {}
    params = widgets.parameters(DATASETS[dataset].parameters, values, "data", dataset)
    try:
        pair = data.load(dataset, tuple(sorted(params.items())))
    except ValueError as error:
        st.error(str(error))
        return None
    return pair, {"dataset": dataset, "dataset_params": params}


def uploads() -> Pair | None:
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
            brought([saved], replace(recipe or url_state.current(), **OF_ITS_OWN))
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
    files = [
        st.file_uploader(f"{side} image", IMAGE_TYPES, key=f"{side} image", max_upload_size=UPLOAD_MB)
        for side in ("Left", "Right")
    ]
    dropped = st.session_state.get(BOTH) or []
    if files == [None, None] and len(dropped) > 1:
        files = dropped[:2]
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
    if files == [None, None]:
        return remembered()
    for side, file in zip(SIDES, files, strict=True):
        if file is not None:  # what is no picture is refused at once, also while the other one is missing
            readable(file.getvalue(), f"{file.name} ({side} image)")
    if files[0] is None or files[1] is None:
        st.caption("One image more.")
        return None
    both, name = (files[0].getvalue(), files[1].getvalue()), f"{files[0].name} and {files[1].name}"
    try:
        pair = uploaded(both, (_bytes(spots[0]), _bytes(spots[1])), _bytes(truth), name)
    except ValueError as error:
        pair = uploaded(both, (None, None), None, name)  # a bad image is told by this one
        st.error(f"{error} The pair stays, without that file.")
    else:
        if min(pair.shape) > 0:
            st.caption(f"The points of your files are used{', and their truth' if pair.truth is not None else ''}.")
    brought([*files, *spots, truth], suited(pair))
    return remembered(pair)


def drop_zone() -> None:
    """Both images at once, in the main area: a phone hides the sidebar. `two_images` takes them from there."""
    dropped = st.file_uploader(
        "Two images",
        IMAGE_TYPES,
        accept_multiple_files=True,
        key=BOTH,
        max_upload_size=UPLOAD_MB,
        help="The first is the left one. Points are detected for you; point files can be added in the sidebar.",
    )
    for file in dropped[:2]:
        try:
            readable(file.getvalue(), file.name)
        except ValueError as error:
            st.error(literal(str(error)))


def brought(files: Sequence[Any], recipe: Recipe) -> None:
    """When files come that were not there before, what suits them is chosen; once, so that it can be changed."""
    ids = tuple(file.file_id for file in files if file is not None)
    if FILES.get() != ids:
        FILES.set(ids)
        url_state.use(recipe)


def remembered(pair: Pair | None = None) -> Pair | None:
    """Keep the user's pair: uploaded files are forgotten when another page is shown. Without one, the pair kept."""
    if pair is not None:
        OWN_PAIR.set(pair)
    elif kept := OWN_PAIR.get():
        st.caption(f"Still here: {literal(kept.name)}.")
        st.button("Forget this pair", on_click=forget_own_pair)
    return pair or OWN_PAIR.get()


def forget_own_pair() -> None:
    OWN_PAIR.pop()


def _bytes(file: Any) -> bytes | None:
    return None if file is None else file.getvalue()


@st.cache_data(show_spinner="Opening the file …", max_entries=4)
def opened(data: bytes, name: str) -> tuple[Pair, Recipe | None]:
    """A saved pair with its recipe, or a problem file as a pair whose costs are given."""

    def read() -> tuple[Pair, Recipe | None]:
        if name.lower().endswith(".zip"):
            found = open_pair(data)
            return found.pair, found.recipe
        return as_pair(read_problem(data, name)), GIVEN_COSTS

    return POOL.perform(read, visitors.current())


@st.cache_data(show_spinner="Reading the image …", max_entries=4)
def readable(data: bytes, name: str) -> None:
    """Refuse, by its name, a file that is no picture, and say what would be one."""
    POOL.perform(lambda: decode(data, name=name), visitors.current())


@st.cache_resource(show_spinner="Reading the images …", max_entries=4)
def uploaded(
    images: tuple[bytes, bytes], spots: tuple[bytes | None, bytes | None], truth: bytes | None, name: str
) -> Pair:
    """A pair from uploaded bytes; a side without a point file gets none, and the Points section detects some."""
    read = partial(read_pair, *images, points=spots, truth=truth, detector=None, name=name)
    return POOL.perform(read, visitors.current())


# ---- points -------------------------------------------------------------------------------------------------


def choose_points(pair: Pair, *, drawn: bool) -> tuple[Pair, dict[str, Any], bool]:
    """The pair with the points to be matched, where they come from, and whether they were edited by hand."""
    before = url_state.current()
    sources = ([OWN] if min(pair.shape) > 0 else []) + list(DETECTORS)
    source = before.points if before.points in sources else sources[0]
    if drawn:
        source = widgets.choose("Source", sources, widget_key("points"), source, format_func=FOUND.label)
    params: Mapping[str, Any] = {}
    if source != OWN:
        params = before.point_params
        if drawn:
            st.caption(DETECTORS[source].note)
            params = widgets.parameters(COUNTS, params, "points")
        try:
            counts = tuple(replace(before, points=source, point_params=params).counts.items())
            pair = detected(pair, source, counts, before.slants)
        except ValueError as error:
            st.warning(str(error))
    edits = canvas.edits(CANVAS, pair.left.points.xy, pair.right.points.xy, pair.truth)
    if edits.changed:
        same = (len(edits.left), len(edits.right)) == pair.shape
        left, right = moved(pair.left, edits.left), moved(pair.right, edits.right)
        pair = replace(pair, left=left, right=right, truth=edits.truth, given=pair.given if same else None)
        st.caption("Edited by hand. A new point has no true partner until you give it one.")
    if drawn:
        n1, n2 = pair.shape
        st.caption(f"{n1} left and {n2} right points.")
    return pair, {"points": source, "point_params": params}, edits.changed


def moved(view: View, xy: np.ndarray) -> View:
    """A view with its points where the user has put them; descriptors' attributes stay while their number does."""
    if len(xy) == len(view.points):
        return View(view.image, replace(view.points, xy=xy))
    return View(view.image, Keypoints(xy))


@st.cache_resource(show_spinner="Looking for points …", max_entries=8, hash_funcs={Pair: lambda pair: pair_key(pair)})
def detected(pair: Pair, detector: str, counts: tuple[tuple[str, int], ...], slants: bool) -> Pair:
    """Both images' points found anew."""
    return POOL.perform(lambda: pair.detected(detector, dict(counts), slants=slants), visitors.current())


# ---- model and solver ---------------------------------------------------------------------------------------


def choose_model(pair: Pair, first: DeltaGenerator, *, drawn: bool) -> dict[str, Any]:
    """The model, chosen in a place of its own, and its parameters; constraints stay when another model is chosen."""
    before = url_state.current()
    fitting = [key for key, one in MODELS.items() if pair.given is not None or not one.given]
    with first:
        model = widgets.choose(
            "Model",
            fitting,
            widget_key("model"),
            before.model,
            format_func=lambda key: MODELS[key].label,
            help="\n\n".join(f"**{MODELS[key].label}.** {MODELS[key].use}" for key in fitting),
        )
    same = before.model == model
    values = {name: value for name, value in before.model_params.items() if same or name in CONSTRAINED}
    if not drawn:
        return {"model": model, "model_params": values, "check": before.check}
    params: dict[str, Any] = widgets.model_parameters(model, MODELS[model], values)
    for side, label in zip(CONSTRAINED, ("A left point takes", "A right point takes"), strict=True):
        rule = widgets.choose(
            label,
            [widgets.AUTOMATIC, *CONSTRAINTS],
            widget_key("model", side),
            str(values.get(side, widgets.AUTOMATIC)),
            format_func=lambda rule: CONSTRAINT_LABELS[rule],
            help="By default every point of the smaller side is matched, and no point of the larger side twice.",
        )
        if rule != widgets.AUTOMATIC:
            params[side] = rule
    check = widgets.choose(
        "Check the matches by",
        CHECKS,
        widget_key("check"),
        before.check,
        format_func=lambda check: CHECK_LABELS[check],
        help="Afterwards one map is fitted to all matches; those that do not obey it are drawn as rejected.",
    )
    st.caption(Size(pair.shape, MODELS[model], Recipe(model=model, model_params=params).orders).text)
    return {"model": model, "model_params": params, "check": check}


def use_preset() -> None:
    """A preset was chosen: its method, with the options it has by default."""
    if preset := st.session_state[widget_key("preset")]:
        url_state.use(replace(url_state.current(), method=widgets.presets()[preset].method, method_options={}))


PENALTY = Path(__file__).parents[1] / "assets" / "penalty.png"
COMPARED = "No multiple of n is best everywhere (House, model B). Polished: a local search improves what is rounded."
SETS_ITSELF = (
    f"ρ₀ is {STIFFNESS:.1%} of the force with which the blocks pull at each other: how strongly the linear term of one "
    "answers when the others move, which neither the costs' unit nor the number or numbering of points changes. From "
    f"there ρ keeps two residuals alike: it grows by {AUTO['balance'] - 1:.0%} while the gap between the blocks "
    f"exceeds {AUTO['imbalance']:g} times their change, and shrinks as much in the opposite case."
)


def choose_solver(model: Recipe) -> dict[str, Any]:
    """The method and its options; those that do not take this model come last, and say so."""
    presets, before = widgets.presets(), url_state.current()
    method = st.session_state.get(widget_key("method"), before.method)
    st.session_state[widget_key("preset")] = widgets.preset_of(method)  # the one it belongs to, or none
    preset = st.segmented_control(
        "Preset", list(presets), key=widget_key("preset"), on_change=use_preset, width="stretch"
    )
    st.caption(presets[preset].about if preset else "A method of your choice.")
    misfits = {key: why for key in METHODS if (why := replace(model, method=key).misfit)}
    method = widgets.choose(
        "Method",
        sorted(METHODS, key=lambda key: key in misfits),
        widget_key("method"),
        before.method,
        format_func=lambda key: METHODS[key].label + (" (not for this model)" if key in misfits else ""),
    )
    st.caption(misfits.get(method) or widgets.about_method(method))
    with st.popover("Options of the method", width="stretch"):
        values = before.method_options if before.method == method else {}
        options = widgets.method_settings(method, values, "method")
    if method == "adgm":
        with st.popover("How ρ sets itself", width="stretch"):
            st.markdown(SETS_ITSELF)
            st.image(str(PENALTY), caption=COMPARED, alt="Accuracy against the first penalty, in multiples of n")
    if options:
        st.caption(
            "Changed: " + ", ".join(f"{widgets.option_label(method, name)} = {v}" for name, v in options.items())
        )
    return {"method": method, "method_options": options}


def problem_of(chosen: Chosen) -> Problem:
    """The problem of a choice; the same pair and model are built once. Work for the pool: it can take long."""
    return SHELF.get(pair_key(chosen.pair) + model_key(chosen), lambda: chosen.recipe.problem(chosen.pair))


def model_key(chosen: Chosen) -> str:
    return chosen.recipe.model + repr(sorted(chosen.recipe.model_params.items()))


def pair_key(pair: Pair) -> str:
    """What identifies a pair as it is shown."""
    return f"{pair.name} {pair.digest}"
