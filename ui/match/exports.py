"""Taking it away: pictures, tables, the whole run, and ways to make the same run again."""

import re
from collections.abc import Sequence
from functools import partial
from urllib.parse import urlencode, urlsplit

import streamlit as st

from features import plots
from features.files import exports, maps
from features.files.problem_files import from_pair, write_problem
from features.judge import comparison as compared
from features.judge.comparison import Row
from features.judge.metrics import WORD, number
from features.limits import LIMITS
from features.plots import animation
from features.plots.theme import SKY
from features.recipe import PAIR_FILE
from ui.choice import address
from ui.choice.sidebar import Chosen
from ui.match import timeline
from ui.match.live import stop_lines
from ui.match.page_run import Run
from ui.parts import canvas
from ui.parts.downloads import download
from ui.shell import presenter, reload_store
from ui.shell.session_slots import WHOLE, begin

FORMATS = ("png", "svg", "pdf")
GIF_WIDTH = 760  # pixels


def stem(run: Run) -> str:
    """What the names of a run's files begin with: the pair, the model, the method and the run's number."""
    words = f"{run.pair.name} {run.chosen.recipe.model} {run.chosen.recipe.method} run {run.number}"
    return re.sub(r"[^a-z0-9+]+", "-", words.lower()).strip("-")[:80]


def show(run: Run) -> None:
    """Files of a finished run."""
    found, recipe, pair, name = run.matching, run.chosen.recipe, run.pair, stem(run)
    st.markdown("**Picture**")
    with st.container(horizontal=True):
        for kind in FORMATS:
            download(kind.upper(), f"{name}-matches.{kind}", partial(picture, run, kind))
        download("Curves (PNG)", f"{name}-curves.png", partial(curves, run))
        download("Animation (GIF)", f"{name}.gif", lambda: animation.gif(moving(run), GIF_WIDTH))
        for kind, label in (("webm", "Video (WebM)"), ("mp4", "Video (MP4)")):
            download(label, f"{name}.{kind}", partial(film, run, kind))
        if maps.has_overlay(found):
            download("Overlay (PNG)", f"{name}-overlay.png", lambda: maps.overlay_png(found))
        if None not in (pair.left.image, pair.right.image):
            download("Side by side (HTML)", f"{name}-side-by-side.html", lambda: maps.side_by_side(found))
    st.markdown("**Tables**, in pixels of the original images")
    with st.container(horizontal=True):
        download("Matches (CSV)", f"{name}-matches.csv", lambda: exports.matches_csv(found))
        download("Matches (JSON)", f"{name}-matches.json", lambda: exports.matches_json(found))
        if found.verification is not None:
            download("Map (JSON)", f"{name}-map.json", lambda: exports.map_json(found))
            download("Map (OpenCV)", f"{name}-map.xml", lambda: maps.map_file_storage(found))
            download("Map (NumPy)", f"{name}-map.npz", lambda: maps.map_npz(found))
        download("History (CSV)", f"{name}-history.csv", lambda: exports.history_csv(found.result.history))
        download("Left points (CSV)", f"{name}-left-points.csv", lambda: exports.keypoints(pair.left))
        download("Right points (CSV)", f"{name}-right-points.csv", lambda: exports.keypoints(pair.right))
    st.markdown("**Everything**")
    with st.container(horizontal=True):
        download("Run (NPZ)", f"{name}-run.npz", lambda: exports.everything_npz(found))
        download("Pair (ZIP)", PAIR_FILE, lambda: exports.save_pair(pair, recipe))
        if run.problem.order <= 2:
            download("Problem (DD)", f"{name}-problem.dd", lambda: problem_file(run, ".dd"))
        download("Problem (NPZ)", f"{name}-problem.npz", lambda: problem_file(run, ".npz"))
    st.markdown("**The same run again**")
    if run.chosen.own:
        st.caption(f"The points exist only here: save the pair as {PAIR_FILE} beside these.")
    python, command, link = st.tabs(["Python", "Command line", "Link"])
    python.code(recipe.as_python(), language="python")
    command.code(recipe.as_command(), language="bash")
    with link:
        share_link(run.chosen, run)


def share_link(chosen: Chosen, run: Run | None = None) -> None:
    """The address that restores this page and starts the run; or, where that is asked for, shows this very run."""
    own, words = chosen.own, chosen.record.to_query()
    whole = run is not None and st.toggle(
        "Share this run itself",
        begin(WHOLE, False),
        key=WHOLE,
        help="The link opens the run with its images and points, also uploaded ones, for everybody who has it",
    )
    if own and not whole:
        st.caption("A link cannot carry points that were uploaded or edited: send the pair as a ZIP, or share the run.")
        return
    words |= {reload_store.WORD: reload_store.share(run)} if run is not None and whole else {address.ASKED: "1"}
    page = (st.context.url or "").partition("?")[0]
    page += "" if urlsplit(page).path else "/"
    st.markdown("**Link** to this run" if whole else "**Link** to this choice")
    st.code(f"{page}?{urlencode(words)}", language=None, wrap_lines=True)
    st.markdown("To put it into a page of your own:")
    inside = urlencode(words | {"embed": "true", presenter.PRESENT: "1"})
    st.code(f'<iframe src="{page}?{inside}" width="100%" height="640"></iframe>', language="html", wrap_lines=True)
    if whole:
        minutes = f"{LIMITS.reload_seconds / 60:g} minutes"
        st.caption(f"Everybody who has this link sees this run and its images, for at most {minutes} from now.")
    else:
        st.caption("Opens this data set with these points, model, solver and seed, and starts the run.")


def picture(run: Run, kind: str) -> bytes:
    """The matching over the images, drawn with matplotlib."""
    found = run.matching
    strength = None if run.pair.judged else found.strengths
    figure = plots.figures.matches(
        run.pair, found.pairs, strength=strength, strength_label=found.strength_label, caption=found.metrics.caption
    )
    return plots.figures.save(figure, kind)


def moving(run: Run) -> list[animation.Pixels]:
    """The stored iterations and what was made of the last one, as pictures."""
    found = timeline.stops(run, run.job.snapshot(), run.job.frames())
    moments = [
        animation.Moment(
            f"iteration {stop.label}" if stop.label.isdigit() else stop.label,
            stop.frame.iteration,
            [(line.i, line.j, line.value, canvas.LOOKS[line.kind]["colour"] or SKY) for line in stop_lines(run, stop)],
        )
        for stop in found
    ]
    return animation.pictures(run.pair, moments, run.job.snapshot().history or {})


def film(run: Run, kind: str) -> bytes:
    """The run as a video."""
    return animation.video(moving(run), kind)


def curves(run: Run) -> bytes:
    frames = run.job.frames()
    rounded = [f.iteration for f in frames], [f.rounded_energy for f in frames]
    title = f"{run.title}, {WORD[run.sense]} {number(run.matching.metrics.score)}"
    figure = plots.figures.curves(
        run.matching.result.history, sense=run.sense, rounded=rounded, truth=run.truth_energy, title=title
    )
    return plots.figures.save(figure, "png")


def problem_file(run: Run, kind: str) -> bytes:
    """The costs themselves, for other programs."""
    return write_problem(from_pair(run.pair, run.problem, run.sense), kind)


def points(chosen: Chosen) -> None:
    """The edited points as files, before anything is run."""
    with st.container(horizontal=True):
        # Small, and changing with every edit: made at once, so that a click never asks for the one before.
        download("Left points (CSV)", "left-points.csv", exports.keypoints(chosen.pair.left))
        download("Right points (CSV)", "right-points.csv", exports.keypoints(chosen.pair.right))
        download("Pair (ZIP)", PAIR_FILE, lambda: exports.save_pair(chosen.pair, chosen.recipe))


def comparison(chosen: Chosen, rows: Sequence[Row], command: str) -> None:
    """Of several methods: their table, pictures and matchings."""
    if not any(row.metrics is not None for row in rows):
        return
    st.markdown("**Table**")
    with st.container(horizontal=True):
        download("CSV", "comparison.csv", lambda: compared.table_csv(rows))
        download("Markdown", "comparison.md", lambda: compared.table_markdown(rows).encode())
        download("LaTeX", "comparison.tex", lambda: compared.table_latex(rows).encode())
    st.markdown("**Pictures and matchings**")
    with st.container(horizontal=True):
        for kind in ("png", "pdf"):
            download(f"Grid ({kind.upper()})", f"grid.{kind}", partial(grid, chosen, rows, kind))
        download("Matchings (JSON)", "matchings.json", lambda: compared.matchings_json(chosen.pair, rows))
    st.markdown("**The same on the command line**")
    if chosen.own:
        st.caption(f"The points exist only here: save the pair as {PAIR_FILE} from the Match page first.")
    st.code(command, language="bash", wrap_lines=True)


def grid(chosen: Chosen, rows: Sequence[Row], kind: str) -> bytes:
    return plots.figures.save(compared.grid_figure(chosen.pair, rows), kind)
