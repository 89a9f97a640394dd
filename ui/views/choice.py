"""What is chosen on the Views page: the views, how pairs are matched, which pairs, and what makes tracks of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
import streamlit as st

from adgm import METHODS
from adgm.views import JOINTS, PLANS
from features.limits import LIMITS
from features.models import MODELS
from features.parameters import Value
from features.points.keypoints import DETECTORS
from features.recipe import OWN, Recipe
from features.views import VIEW_SETS, ViewSet
from features.views.reading import Named, of_files, video_frames, views_in_zip
from features.views.recipe import ViewsRecipe
from features.views.run import suited
from ui.choice import dataset_download, strip, widgets
from ui.choice.address import ASKED
from ui.choice.uploads import IMAGE_TYPES, UPLOAD_MB
from ui.jobs.scheduler import POOL
from ui.parts.escape import literal
from ui.parts.pictures import inline
from ui.shell import admission
from ui.shell.session_slots import (
    FOLLOWED,
    VIEWS_OWN,
    VIEWS_RECIPE,
    VIEWS_START,
    forget_widgets,
    widget_key,
)
from ui.shell.streamlit_patches import went_back

SUITED = "as suits the views"
COUNT = widget_key("views", "detected")
OWN_TITLE = "Your images"
VIDEO_TYPES = ["mp4", "mov", "avi", "mkv", "webm"]
WORDS = {"views", "plan", "joint", "neighbours", "points", "model", "method", "check"}
SETS: tuple[tuple[str, str, ViewsRecipe], ...] = (  # chips of the strip: title, what it is, the choice
    (OWN_TITLE, "Three to sixteen images of your own", ViewsRecipe(OWN)),
    ("Toy house", "A house we render, from six sides", ViewsRecipe("turntable")),
    ("Ducks", "Willow: eight ducks, ten landmarks each", ViewsRecipe("willow", {"kind": "Duck", "count": 8})),
    ("Cars", "Willow: four cars, ten landmarks each", ViewsRecipe("willow", {"kind": "Car", "count": 4})),
    ("CMU house", "Eight frames; each misses some points", ViewsRecipe("house", {"drop": 0.3})),
    ("CMU hotel", "Eight frames; each misses some points", ViewsRecipe("hotel", {"drop": 0.3})),
    ("Graffiti", "Oxford: a wall from six sides", ViewsRecipe("oxford", {"scene": "graf"})),
)


@dataclass(frozen=True, eq=False)
class Chosen:
    """The views and how they are matched; why that cannot be (empty if it can)."""

    view_set: ViewSet
    recipe: ViewsRecipe
    complaint: str = ""

    @property
    def source(self) -> str:
        return self.view_set.digest

    @property
    def how(self) -> Recipe:
        return self.recipe.how or suited(self.view_set)


def current() -> ViewsRecipe:
    return VIEWS_RECIPE.get() or SETS[1][2]


def use(recipe: ViewsRecipe) -> None:
    """Choose something else than the widgets say; before they are drawn."""
    VIEWS_RECIPE.set(recipe)
    forget_widgets()


def follow() -> None:
    """Begin with what the address says; follow it again after Back. A link may also start the run."""
    words = st.query_params.to_dict()
    if "views" in words and (not FOLLOWED.get() or went_back()):
        try:
            use(ViewsRecipe.from_query(words))
            if ASKED in words:
                VIEWS_START.set(True)
        except ValueError as error:
            st.warning(f"The address of this page could not be followed: {literal(str(error))}")
    FOLLOWED.set(True)


def keep(recipe: ViewsRecipe) -> None:
    """Remember what is chosen, and show it in the address."""
    VIEWS_RECIPE.set(recipe)
    here = st.query_params.to_dict()
    others = {name: text for name, text in here.items() if name.partition(".")[0] not in {*WORDS, ASKED}}
    told = others | recipe.to_query()
    if here != told:
        st.query_params.from_dict(told)


def choose() -> Chosen | None:
    """Draw the settings; None if there are no views to show yet."""
    before = current()
    with st.sidebar:
        found = views()
        if found is None:
            return None
        view_set, data = found
        try:
            how = pairwise(view_set, before)
            recipe = ViewsRecipe(**data, how=how, **joint(before))
            complaint = (how or suited(view_set)).misfit
        except ValueError as error:
            recipe, complaint = replace(before, **data), str(error)
    keep(recipe)
    return Chosen(view_set, recipe, complaint)


# ---- the views --------------------------------------------------------------------------------------------------


def views() -> tuple[ViewSet, dict[str, Any]] | None:
    """The views and where they are from."""
    before = current()
    labels = {key: one.label for key, one in VIEW_SETS.items()} | {OWN: OWN_TITLE}
    dataset = widgets.choose(
        "Views · Data set", list(labels), widget_key("views"), before.dataset, format_func=lambda key: labels[key]
    )
    if dataset == OWN:
        found = own()
        return None if found is None else (found, {"dataset": OWN, "dataset_params": {}})
    st.caption(VIEW_SETS[dataset].description)
    if not VIEW_SETS[dataset].available():
        VIEWS_RECIPE.set(replace(before, dataset=dataset, dataset_params={}))
        return None
    values = before.dataset_params if before.dataset == dataset else {}
    params = widgets.parameters(VIEW_SETS[dataset].parameters, values, "views", dataset)
    try:
        return load(dataset, tuple(sorted(params.items()))), {"dataset": dataset, "dataset_params": params}
    except ValueError as error:
        st.error(literal(str(error)))
        return None


@st.cache_resource(show_spinner="Reading the views …", max_entries=6)
def load(dataset: str, params: tuple[tuple[str, Value], ...]) -> ViewSet:
    return POOL.perform(lambda: VIEW_SETS[dataset].load(**dict[str, Any](params)), admission.current())


def own() -> ViewSet | None:
    """The visitor's own views, if they are there; they are brought in the main area."""
    kept = VIEWS_OWN.get()
    if kept is not None:
        st.caption(f"{len(kept)} images of your own are here.")
        st.button("Choose other images", on_click=_forget)
    return kept


def _forget() -> None:
    VIEWS_OWN.pop()


def bring() -> None:
    """Images of the visitor's own: files, a ZIP file of them, or a video; they are matched at once."""
    files = st.file_uploader(
        f"Drop 2 to {LIMITS.views} images of one thing here, a ZIP file of images, or a video",
        [*IMAGE_TYPES, "zip", *VIDEO_TYPES],
        accept_multiple_files=True,
        key="views files",
        max_upload_size=max(UPLOAD_MB, LIMITS.views_bytes // 1_000_000),
        help="Points are found in each image, once. Of a video so many frames are taken, spread over its length.",
    )
    frames = st.slider("Frames of a video", 3, min(16, LIMITS.views), value=6, key="views frames")
    packed = [file for file in files if ending(file.name) in ("zip", *VIDEO_TYPES)]
    if not files or (len(files) == 1 and not packed):
        st.caption("One image is here: add others." if files else "They stay on this server only while you are here.")
        return
    if packed and len(files) > 1:
        st.error("Give either images, or one ZIP file, or one video.")
        return
    try:
        VIEWS_OWN.set(read(tuple((file.name, file.getvalue()) for file in files), frames))
    except ValueError as error:
        st.error(literal(str(error)))
        return
    VIEWS_START.set(True)
    st.rerun()


def ending(name: str) -> str:
    return name.rpartition(".")[2].lower()


@st.cache_resource(show_spinner="Reading the images …", max_entries=4)
def read(files: tuple[tuple[str, bytes], ...], frames: int) -> ViewSet:
    """Views from uploaded files."""
    name, data = files[0]
    if ending(name) == "zip":
        return POOL.perform(lambda: views_in_zip(data, name), admission.current())
    if ending(name) in VIDEO_TYPES:
        return POOL.perform(lambda: video_frames(data, name, count=frames), admission.current())
    return POOL.perform(lambda: of_files([Named(*file) for file in files], "Your images"), admission.current())


# ---- how they are matched ---------------------------------------------------------------------------------------


def pairwise(view_set: ViewSet, before: ViewsRecipe) -> Recipe | None:
    """How a pair is matched; None where that is what suits the views."""
    usual = suited(view_set)
    now = before.how or usual
    fitting = [key for key, one in MODELS.items() if not one.given]
    model = widgets.choose(
        "How points are compared · Model",
        [SUITED, *fitting],
        widget_key("views", "model"),
        SUITED if before.how is None or now.model == usual.model else now.model,
        format_func=lambda key: key.capitalize() if key == SUITED else MODELS[key].label,
        help="\n\n".join(f"**{MODELS[key].label}.** {MODELS[key].use}" for key in fitting),
    )
    how = usual if model == SUITED else replace(usual, model=model, model_params={})
    if not min(view_set.sizes):
        how = replace(how, points=detector(how), point_params=counts(how))
    with st.expander("Model's settings", icon=":material/function:"):
        values = now.model_params if now.model == how.model else {}
        how = replace(how, model_params=widgets.model_parameters(how.model, MODELS[how.model], values))
    misfits = {key for key in METHODS if replace(how, method=key, method_options={}).misfit}
    method = widgets.choose(
        "How a pair is matched · Method",
        [key for key in METHODS if key not in misfits],
        widget_key("views", "method"),
        now.method,
        format_func=lambda key: METHODS[key].label,
    )
    st.caption(widgets.about_method(method))
    how = replace(how, method=method, method_options=usual.method_options if method == usual.method else {})
    return None if how == usual else how


def detector(how: Recipe) -> str:
    """Where points come from that no file brings."""
    found = widgets.choose(
        "How points are found · Source",
        list(DETECTORS),
        widget_key("views", "points"),
        how.points,
        format_func=lambda key: DETECTORS[key].label,
    )
    st.caption(DETECTORS[found].note)
    return found


def counts(how: Recipe) -> dict[str, Value]:
    """How many points every image gets."""
    usual = how.counts["left"]
    count = st.slider("Points per image", 20, 1000, value=usual, step=20, key=COUNT)
    return {"left": count, "right": count}


def joint(before: ViewsRecipe) -> dict[str, Any]:
    """Which pairs are compared, and what makes tracks of them."""
    plan = widgets.choose(
        "Which pairs are compared",
        list(PLANS),
        widget_key("views", "plan"),
        before.plan,
        format_func=lambda key: PLANS[key].label,
        help="\n\n".join(f"**{one.label}.** {one.does}" for one in PLANS.values()),
    )
    found: dict[str, Any] = {"plan": plan}
    if plan == "neighbours":
        found["neighbours"] = st.slider("Neighbours", 1, 8, value=min(before.neighbours, 8), key="views neighbours")
    found["joint"] = widgets.choose(
        "What makes tracks of them",
        list(JOINTS),
        widget_key("views", "joint"),
        before.joint,
        format_func=lambda key: JOINTS[key].label,
        help="\n\n".join(f"**{one.label}.** {one.does}" for one in JOINTS.values()),
    )
    st.caption(JOINTS[found["joint"]].does)
    return found


# ---- the strip --------------------------------------------------------------------------------------------------


def show_strip() -> None:
    """Examples, with a thumbnail each; last of a page."""
    strip.chips("views examples", [item(*one) for one in SETS], take)


def item(title: str, about: str, recipe: ViewsRecipe) -> dict[str, Any]:
    small = None if recipe.dataset == OWN else thumbnail(recipe.dataset, tuple(sorted(recipe.dataset_params.items())))
    return {
        "title": title,
        "about": about,
        "own": recipe.dataset == OWN,
        "on": current().dataset == recipe.dataset
        and current().dataset_params.get("kind") == recipe.dataset_params.get("kind"),
        "src": inline(small) if small else "",
    }


def take(sent: Any) -> None:
    for title, _, recipe in SETS:
        if title == sent:
            use(recipe)


@st.cache_data(show_spinner=False, max_entries=16)
def thumbnail(dataset: str, params: tuple[tuple[str, Value], ...]) -> bytes | None:
    """The first view, small; None where it is not on this machine."""
    if not VIEW_SETS[dataset].available():
        return None
    image = load(dataset, params).views[0].image
    if image is None:
        return None
    width, height = 108, 88
    scale = max(width / image.rgb.shape[1], height / image.rgb.shape[0])
    small = cv2.resize(image.rgb, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    top, left = (small.shape[0] - height) // 2, (small.shape[1] - width) // 2
    part = np.ascontiguousarray(small[max(top, 0) :, max(left, 0) :][:height, :width, ::-1], np.uint8)
    return bytes(cv2.imencode(".jpg", part, [cv2.IMWRITE_JPEG_QUALITY, 82])[1].tobytes())


def empty(offered: Callable[[str], None] = dataset_download.offer_download) -> None:
    """What to do when there are no views yet."""
    dataset = current().dataset
    if dataset == OWN:
        bring()
    elif not VIEW_SETS[dataset].available():
        offered(VIEW_SETS[dataset].download)
