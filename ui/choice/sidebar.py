"""The sidebar: images, points, model and solver, turned into one frozen record of what the user has chosen."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from adgm import METHODS, Problem
from adgm.penalty import AUTO, STIFFNESS
from adgm.problem import CONSTRAINTS
from features.datasets import DATASETS
from features.judge.metrics import percent
from features.models import MODELS, written
from features.pairs import Pair
from features.points.edited import edited
from features.points.keypoints import DETECTORS
from features.recipe import CHECKS, CONSTRAINED, COUNTS, FOUND, MASKS, OWN, Recipe, method_options
from ui.choice import address, uploads, widgets
from ui.choice import dataset_download as data
from ui.choice.formula import judged, own_model
from ui.choice.problem_size import Size
from ui.jobs.problem_cache import PROBLEM_CACHE
from ui.jobs.scheduler import POOL
from ui.parts import canvas
from ui.parts.escape import literal
from ui.shell import admission, presenter
from ui.shell.session_slots import CANVAS, POLISH, panel_key, widget_key

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
        return replace(self.record, **uploads.OF_ITS_OWN)


def sidebar(*, solver: bool = True) -> Chosen | None:
    """Draw the sidebar, with or without the choice of a solver; None if there is no pair to show yet."""
    with st.sidebar:
        first = presenter.group("model")  # in sight, however much there is to say about the images
        with presenter.group("images"), st.expander("Images", expanded=True, icon=":material/image:"):
            found = images()
        if found is None:
            return None
        pair, data = found
        with presenter.group("points"), panel("Points", "scatter_plot") as unfolded:
            pair, points, edited = choose_points(pair, data, drawn=unfolded)
        with presenter.group("model", "-settings"), panel("Model's settings", "function") as unfolded:
            model = choose_model(pair, first, drawn=unfolded, follows=solver)
        before = address.current()
        method: dict[str, Any] = {"method": before.method, "method_options": before.method_options}
        if solver:
            with presenter.group("solver"), panel("Solver", "tune") as unfolded:
                if unfolded:
                    method = choose_solver(Recipe(model=model["model"], model_params=model["model_params"]))
    try:
        record = Recipe(**data, **points, **model, **method)
        complaint = pair.lack or (record.misfit if solver else "")
    except ValueError as error:
        record, complaint = before, str(error)
    address.keep(record)
    chosen = Chosen(pair, record, edited, complaint)
    if written(record.model):
        with first, st.container(key="formula-judged"):
            st.markdown("**Does it tell right from wrong?**")
            key = pair_key(pair) + model_key(chosen)
            judged.show(CANVAS, key, record, pair, partial(problem_of, chosen))
    return chosen


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
    before = address.current()
    labels = {key: one.label for key, one in DATASETS.items()} | {OWN: "Your images"}
    dataset = widgets.choose(
        "Pictures · Data set", list(labels), widget_key("data"), before.dataset, format_func=lambda key: labels[key]
    )
    if dataset == OWN:
        pair = uploads.choose()
        if pair is None:
            return None
        uploads.warn_outside(pair)
        return pair, {"dataset": OWN}
    st.caption(DATASETS[dataset].description)
    if not DATASETS[dataset].available():
        address.keep(replace(before, dataset=dataset, dataset_params={}))  # the main area offers to fetch it
        return None
    values = before.dataset_params if before.dataset == dataset else {}
    params = widgets.parameters(DATASETS[dataset].parameters, values, "data", dataset)
    try:
        pair = data.load(dataset, tuple(sorted(params.items())))
    except ValueError as error:
        st.error(literal(str(error)))
        return None
    return pair, {"dataset": dataset, "dataset_params": params}


# ---- points -------------------------------------------------------------------------------------------------


def choose_points(pair: Pair, data: Mapping[str, Any], *, drawn: bool) -> tuple[Pair, dict[str, Any], bool]:
    """The pair with the points to be matched, where they come from, and whether they were edited by hand."""
    before = address.current()
    sources = ([OWN] if min(pair.shape) > 0 else []) + list(DETECTORS)
    source = before.points if before.points in sources else sources[0]
    if drawn:
        source = widgets.choose(
            "How points are found · Source", sources, widget_key("points"), source, format_func=found_label
        )
    params: Mapping[str, Any] = {}
    if source != OWN:
        params = before.point_params
        if (before.dataset, before.dataset_params) != (data["dataset"], data.get("dataset_params", {})):
            params = unmasked(params)  # they are about other pictures
        if drawn:
            st.caption(DETECTORS[source].note)
            params = widgets.parameters((*COUNTS, *MASKS), params, "points")
        try:
            counts = tuple(replace(before, points=source, point_params=params).wanted.items())
            pair = detected(pair, source, counts, before.slants)
        except ValueError as error:
            st.warning(literal(str(error)))
    edits = canvas.edits(CANVAS, pair.left.points.xy, pair.right.points.xy, pair.truth)
    if edits.changed:
        left, right = edited(pair.left, edits.left, edits.origin[0]), edited(pair.right, edits.right, edits.origin[1])
        given = pair.given if edits.in_order else None  # its costs are about the points that it came with
        pair = replace(pair, left=left, right=right, truth=edits.truth, given=given)
        st.caption("Edited by hand. A new point has no true partner until you give it one.")
    if drawn:
        n1, n2 = pair.shape
        st.caption(f"{n1} left and {n2} right points.")
    return pair, {"points": source, "point_params": params}, edits.changed


def found_label(key: str) -> str:
    """A detector's name; if it is not installed, it says so."""
    return DETECTORS[key].title if key in DETECTORS else FOUND.label(key)


def unmasked(params: Mapping[str, Any]) -> dict[str, Any]:
    """How many points are looked for, no longer where."""
    names = [one.name for one in MASKS]
    for name in names:
        st.session_state[widget_key("points", name)] = ""
    return {name: value for name, value in params.items() if name not in names}


@st.cache_resource(show_spinner="Looking for points …", max_entries=8, hash_funcs={Pair: lambda pair: pair_key(pair)})
def detected(pair: Pair, detector: str, counts: tuple[tuple[str, Any], ...], slants: bool) -> Pair:
    """Both images' points found anew."""
    return POOL.perform(lambda: pair.detected(detector, dict(counts), slants=slants), admission.current())


# ---- model and solver ---------------------------------------------------------------------------------------


def choose_model(pair: Pair, first: DeltaGenerator, *, drawn: bool, follows: bool) -> dict[str, Any]:
    """The model, chosen in a place of its own, and its parameters; constraints stay when another model is chosen.

    A formula has its editor in that place, too; `follows`: whether a change of it can start a run.
    """
    before = address.current()
    fitting = [key for key, one in MODELS.items() if pair.given is not None or not one.given]
    about = [f"**{MODELS[key].label}.** {MODELS[key].use}" for key in fitting]
    with first:
        key = widgets.choose(
            "How points are compared · Model",
            [*fitting, own_model.OWN],
            widget_key("model"),
            own_model.key_of(before.model),
            format_func=own_model.label,
            help="\n\n".join([*about, f"**{own_model.LABEL}.** {own_model.USE}"]),
        )
        before = own_model.chosen(key, before)
        model = before.model if key == own_model.OWN else key
        same = before.model == model
        values = {name: value for name, value in before.model_params.items() if same or name in CONSTRAINED}
        if key == own_model.OWN:
            own = own_model.show(before, follows=follows)
            values = own | {name: value for name, value in values.items() if name in CONSTRAINED}
    if not drawn:
        return {"model": model, "model_params": values, "check": before.check}
    params: dict[str, Any] = own if written(model) else widgets.model_parameters(model, MODELS[model], values)
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
        help="Afterwards maps are fitted to all matches; those that obey none are drawn as rejected.",
    )
    st.caption(Size(pair.shape, MODELS[model], Recipe(model=model, model_params=params).orders).text)
    return {"model": model, "model_params": params, "check": check}


def use_preset() -> None:
    """A preset was chosen: its method, with the options it has by default."""
    if preset := st.session_state[widget_key("preset")]:
        address.use(replace(address.current(), method=widgets.presets()[preset].method, method_options={}))


PENALTY = Path(__file__).parents[2] / "assets" / "penalty.png"
COMPARED = "No multiple of n is best everywhere (House, model B). Polished: a local search improves what is rounded."
SETS_ITSELF = (
    f"ρ₀ is {percent(STIFFNESS, 1)} of the force with which the blocks pull at each other: how strongly the linear "
    "term of one answers when the others move, which neither the costs' unit nor the number or numbering of points "
    f"changes. From there ρ keeps two residuals alike: it grows by {percent(AUTO['balance'] - 1)} while the gap "
    f"between the blocks exceeds {AUTO['imbalance']:g} times their change, and shrinks as much in the opposite case."
)


def choose_solver(model: Recipe) -> dict[str, Any]:
    """The method and its options; those that do not take this model come last, and say so."""
    presets, before = widgets.presets(), address.current()
    method = st.session_state.get(widget_key("method"), before.method)
    now = st.session_state[widget_key("preset")] = widgets.preset_of(method)  # the one it belongs to, or none
    preset = st.segmented_control(
        "Effort · Preset", list(presets), default=now, key=widget_key("preset"), on_change=use_preset, width="stretch"
    )
    st.caption(presets[preset].about if preset else "A method of your choice.")
    misfits = {key: why for key in METHODS if (why := replace(model, method=key).misfit)}
    method = widgets.choose(
        "How the answer is searched · Method",
        sorted(METHODS, key=lambda key: key in misfits),
        widget_key("method"),
        before.method,
        format_func=lambda key: METHODS[key].label + (" (not for this model)" if key in misfits else ""),
    )
    st.caption(misfits.get(method) or widgets.about_method(method))
    options = before.method_options if before.method == method else {}
    polish(replace(model, method=method, method_options=options))
    with widgets.popover("Options of the method", width="stretch") as opened:
        if opened:
            options = widgets.method_settings(method, options, "method")
    if method == "adgm":
        with st.popover("How ρ sets itself", width="stretch"):
            st.markdown(SETS_ITSELF)
            st.image(str(PENALTY), caption=COMPARED, alt="Accuracy against the first penalty, in multiples of n")
    if options:
        st.caption(
            "Changed: " + ", ".join(f"{widgets.option_label(method, name)} = {v}" for name, v in options.items())
        )
    return {"method": method, "method_options": options}


def polish(recipe: Recipe) -> None:
    """Whether a local search improves what is rounded: an option of the method, where everybody sees it."""
    method = recipe.method_object()
    offered = hasattr(method, "polish")
    now = st.session_state[POLISH] = widgets.polishes(method)
    help = "Improve every rounded matching by a local search. The paper's algorithm, ADGM1 and ADGM2, does not."
    if not offered:
        help = f"{METHODS[recipe.method].label} {'always polishes' if now else 'does not polish'}."
    st.toggle("Polish", now, key=POLISH, on_change=_polish, disabled=not offered, help=help)


def _polish() -> None:
    recipe, wanted = address.current(), bool(st.session_state[POLISH])
    default = method_options(recipe.method)["polish"]
    options = {name: value for name, value in recipe.method_options.items() if name != "polish"}
    address.use(replace(recipe, method_options=options if wanted == default else options | {"polish": wanted}))


def problem_of(chosen: Chosen) -> Problem:
    """The problem of a choice; the same pair and model are built once. Work for the pool: it can take long."""
    return PROBLEM_CACHE.get(pair_key(chosen.pair) + model_key(chosen), lambda: chosen.recipe.problem(chosen.pair))


def model_key(chosen: Chosen) -> str:
    return chosen.recipe.model + repr(sorted(chosen.recipe.model_params.items()))


def pair_key(pair: Pair) -> str:
    """What identifies a pair as it is shown."""
    return f"{pair.name} {pair.digest}"
