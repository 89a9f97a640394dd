"""Taking it away: pictures, tables, the whole run, and ways to make the same run again."""

from collections.abc import Callable
from functools import partial
from urllib.parse import urlencode, urlsplit

import streamlit as st

from features import exports, figures
from features.score import number
from features.setup import PAIR_FILE
from ui.choices import Chosen
from ui.runs import Run

FORMATS = ("png", "svg", "pdf")
MIME = {
    "png": "image/png",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "csv": "text/csv",
    "md": "text/markdown",
    "tex": "text/x-tex",
    "json": "application/json",
    "npz": "application/octet-stream",
    "zip": "application/zip",
    "py": "text/x-python",
}


def download(label: str, name: str, make: Callable[[], bytes] | bytes) -> None:
    """A button that makes its file when it is clicked (or has it already); nothing else on the page moves."""
    kind = name.rsplit(".", 1)[-1]
    st.download_button(label, make, name, MIME[kind], key=f"download {name}", on_click="ignore")


def show(run: Run) -> None:
    with st.expander("Take it away", icon=":material/download:", key="take away"):
        outcome, setup, pair = run.outcome, run.chosen.setup, run.pair
        matches = partial(exports.matches_of, pair, run.problem, outcome.result.assignment, outcome.result.x)
        st.markdown("**Picture**")
        with st.container(horizontal=True):
            for kind in FORMATS:
                download(kind.upper(), f"matches.{kind}", partial(picture, run, kind))
            download("Curves (PNG)", "curves.png", partial(curves, run))
        st.markdown("**Tables**, in pixels of the original images")
        with st.container(horizontal=True):
            download("Matches (CSV)", "matches.csv", lambda: exports.matches_csv(matches()))
            download("Matches (JSON)", "matches.json", lambda: exports.matches_json(matches(), setup, outcome.metrics))
            download("History (CSV)", "history.csv", lambda: exports.history_csv(outcome.result.history))
            download("Left points (CSV)", "left-points.csv", lambda: exports.keypoints(pair.left))
            download("Right points (CSV)", "right-points.csv", lambda: exports.keypoints(pair.right))
        st.markdown("**Everything**")
        with st.container(horizontal=True):
            download("Run (NPZ)", "run.npz",
                     lambda: exports.everything_npz(pair, outcome.result, setup, outcome.metrics))  # fmt: skip
            download("Pair (ZIP)", PAIR_FILE, lambda: exports.save_pair(pair, setup))
        st.markdown("**The same run again**")
        if run.chosen.own:
            st.caption(f"The points exist only here: save the pair as {PAIR_FILE} beside these.")
        python, command, link = st.tabs(["Python", "Command line", "Link"])
        python.code(setup.as_python(), language="python")
        command.code(setup.as_command(), language="bash")
        with link:
            share_link(run.chosen)


def share_link(chosen: Chosen) -> None:
    """The address that restores this page and starts the run."""
    if not chosen.portable:
        st.caption("A link cannot carry points that were uploaded or edited: send the pair as a ZIP instead.")
        return
    page = (st.context.url or "").partition("?")[0]
    page += "" if urlsplit(page).path else "/"
    st.code(f"{page}?{urlencode(chosen.address | {'run': '1'})}", language=None, wrap_lines=True)
    st.caption("Opens this data set with these points, model, solver and seed, and starts the run.")


def picture(run: Run, kind: str) -> bytes:
    """The matching over the images, drawn with matplotlib."""
    outcome, metrics = run.outcome, run.outcome.metrics
    strength = None if run.pair.truth is not None else outcome.result.x[outcome.pairs[:, 0], outcome.pairs[:, 1]]
    figure = figures.matches(run.pair, outcome.pairs, strength=strength, caption=metrics.caption)
    return figures.save(figure, kind)


def curves(run: Run) -> bytes:
    frames = run.outcome.frames
    rounded = [f.iteration for f in frames], [f.rounded_energy for f in frames]
    title = f"{run.title} {number(run.outcome.metrics.score)}"
    figure = figures.curves(
        run.outcome.result.history, sense=run.sense, rounded=rounded, truth=run.truth_energy, title=title
    )
    return figures.save(figure, "png")


def points(chosen: Chosen) -> None:
    """The edited points as files, before anything is run."""
    with st.container(horizontal=True):
        # Small, and changing with every edit: made at once, so that a click never asks for the one before.
        download("Left points (CSV)", "left-points.csv", exports.keypoints(chosen.pair.left))
        download("Right points (CSV)", "right-points.csv", exports.keypoints(chosen.pair.right))
        download("Pair (ZIP)", PAIR_FILE, lambda: exports.save_pair(chosen.pair, chosen.setup))
