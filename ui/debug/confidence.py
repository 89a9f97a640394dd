"""How sure is each match: its margin, its stability when points move, and whether such claims come true."""

from functools import partial

import numpy as np
import streamlit as st

from adgm.bounds.all_pairs import refusal
from adgm.explain.margins import Margin, refined
from adgm.explain.terms import Match
from features.explain import Case
from features.explain.calibration import CLAIMS, FEWEST, Calibration, Observed, calibrate, observe
from features.explain.records import margin_records
from features.explain.stability import Stability, shaken
from features.explain.trials import pairs_like
from features.judge.metrics import percent
from features.recipe import OWN
from features.tables import csv_text
from ui.debug import background, picture
from ui.jobs.task import Progress, Report
from ui.parts import table
from ui.parts.charts.debug import calibration_chart
from ui.parts.charts.legible import draw
from ui.parts.downloads import download

EFFORTS = {"search only": 0.0, "prove": 1e7, "prove hard": 1e9}
STEPS = 10  # of the tabu search per node: the page has more time than a script
HEADER = ("match", "", "kept", "proved", "margin")
CHART = 300
SECONDS = 30.0  # for each run on jittered points


def show(case: Case, focus: Match | None) -> None:
    effort, pixels, runs = ask(case)
    margins = (background.answer(case, ("margins", effort)) or NOTHING).value
    stable = (background.answer(case, ("stability", pixels, runs)) or NOTHING).value
    if margins is None and stable is None:
        st.caption(
            "**Margin**: how much dearer is the best matching without this match? The problem is solved again with it "
            "forbidden; *certified* where a bound proves it. **Stability**: the share of runs on points moved a little "
            "that find it again."
        )
        picture.waiting(case, focus)
    else:
        with st.container(key="debug-board"):
            st.fragment(board)(case, focus, margins or (), stable)
        downloads(margins or (), stable)
    calibrating(case, pixels)


NOTHING = Progress("finished")


def ask(case: Case) -> tuple[float, float, int]:
    """What to compute: the effort of the proof, the jitter and the number of runs."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="debug-ask"):
        reason = refusal(case.problem)
        offered = list(EFFORTS)[:1] if reason else list(EFFORTS)
        effort = EFFORTS[
            st.selectbox("Margins", offered, index=int(not reason), key="effort", width=150, help=reason or None)
        ]
        background.button(case, ("margins", effort), "Find margins", partial(find_margins, case, effort))
        pixels = float(
            st.number_input("Jitter (px)", 0.1, 50.0, 2.0, 0.5, key="jitter", width=120, help="One standard deviation")
        )
        runs = int(st.number_input("Runs", 2, 200, 20, key="jitter runs", width=110))
        work = partial(find_stability, case, pixels, runs)
        background.button(case, ("stability", pixels, runs), "Find stability", work)
    return effort, pixels, runs


def find_margins(case: Case, effort: float, report: Report) -> tuple[Margin, ...]:
    found: tuple[Margin, ...] = ()
    count = len(case.pairs)
    for k, found in enumerate(refined(case.problem, case.answer, rivals=case.rivals, effort=effort, steps=STEPS)):
        done = f"{min(k, count)} of {count} searched" if k <= count else f"{sum(m.certified for m in found)} certified"
        report(k / (2 * count + 14), done, found)
    return found


def find_stability(case: Case, pixels: float, runs: int, report: Report) -> Stability | None:
    found = None
    for found in shaken(case, pixels, runs, time_limit=SECONDS):
        report(found.runs / runs, f"{found.runs} of {runs} runs", found)
    return found


# ---- what is known -----------------------------------------------------------------------------------------------


def board(case: Case, focus: Match | None, margins: tuple[Margin, ...], stable: Stability | None) -> None:
    """The picture, its lines by how sure they are, and the table, the shakiest first."""
    shares = {} if stable is None else stable.shares
    by_match = {m.match: m for m in margins}
    matches = sorted([(i, j) for i, j in case.pairs.tolist()], key=lambda m: rank(by_match.get(m), shares.get(m)))
    offered = [name for name, there in (("stability", shares), ("margin", by_match)) if there]
    left, right = st.columns([11, 10], gap="small")
    with right:
        drawn = st.segmented_control(
            "Drawn",
            offered,
            default=offered[0],
            required=True,
            key=f"drawn {len(offered)}",
            label_visibility="collapsed",
        )
        rows = [row(case, m, by_match.get(m), shares.get(m), margins) for m in matches]
        at = table.lines("confidence lines", HEADER, rows, height=picture.HEIGHT - 120)
        st.caption(summary(margins, stable))
    values = weights(by_match, shares, drawn or offered[0])
    texts = {m: told(m, by_match.get(m), shares.get(m)) for m in matches}
    with left:
        chosen = matches[at] if at is not None else focus
        rival = None if chosen is None or chosen not in by_match else by_match[chosen].rival
        if at is None or chosen is None or rival is None:
            picture.show(case, matches, texts=texts, values=values)
        else:
            gone, came = picture.differing(case, rival)
            picture.show(case, gone, came, texts=texts)
            st.caption("Dotted: the best matching found without it.")


def rank(margin: Margin | None, share: float | None) -> tuple[float, float]:
    return (margin.margin if margin else 0.0), (share if share is not None else 0.0)


def row(case: Case, match: Match, margin: Margin | None, share: float | None, margins: tuple[Margin, ...]) -> table.Row:
    judged = "" if not case.pair.judged else "wrong" if match in case.wrong else "right"
    kept = "" if share is None else percent(share)
    if margin is None:
        return table.Row((f"{match[0]} → {match[1]}", judged, kept, "", ""))
    proved = "certified" if margin.certified else f"≥ {margin.at_least:.4g}" if np.isfinite(margin.at_least) else "no"
    size = scale(margins)
    bar = 1.0 if not np.isfinite(margin.margin) else margin.margin / size
    return table.Row((f"{match[0]} → {match[1]}", judged, kept, proved, f"{margin.margin:+.5g}"), -bar)


def scale(margins: tuple[Margin, ...]) -> float:
    """The largest margin that is finite."""
    return max((abs(m.margin) for m in margins if np.isfinite(m.margin)), default=1.0) or 1.0


def weights(margins: dict[Match, Margin], shares: dict[Match, float], drawn: str) -> dict[Match, float]:
    """How strongly each match is drawn, 0 to 1."""
    if drawn == "stability":
        return shares
    finite = [m.margin for m in margins.values() if np.isfinite(m.margin) and m.margin > 0]
    middle = float(np.median(finite)) if finite else 1.0
    return {
        match: 1.0 if not np.isfinite(m.margin) else float(max(m.margin, 0.0) / (max(m.margin, 0.0) + middle))
        for match, m in margins.items()
    }


def told(match: Match, margin: Margin | None, share: float | None) -> str:
    parts = [f"left {match[0]} → right {match[1]}"]
    if margin is not None:
        parts.append(f"margin {margin.margin:.4g}{', certified' if margin.certified else ''}")
    if share is not None:
        parts.append(f"kept in {percent(share)} of the runs")
    return ", ".join(parts)


def summary(margins: tuple[Margin, ...], stable: Stability | None) -> str:
    parts = []
    if margins:
        certified, sure = sum(m.certified for m in margins), sum(m.sure for m in margins)
        parts.append(
            f"{certified} of {len(margins)} margins certified; {sure} matches are proved part of every best one."
        )
        if (better := sum(m.margin < -m.slack for m in margins)) > 0:
            parts.append(f"Without {better} of them there is a better matching: the solver was stuck.")
    if stable is not None:
        parts.append(f"{stable.runs} runs, points moved by {stable.pixels:g} px.")
    return " ".join(parts)


def downloads(margins: tuple[Margin, ...], stable: Stability | None) -> None:
    shares = None if stable is None else stable.shares
    if margins:
        download(
            "Margins (CSV)",
            "margins.csv",
            lambda: csv_text(margin_records(margins, shares)),
            icon=":material/download:",
        )


# ---- does 90 % mean 90 %? ----------------------------------------------------------------------------------------


def calibrating(case: Case, pixels: float) -> None:
    """Claims against the truth, on other pairs of the data set."""
    if case.recipe.dataset == OWN or not case.pair.judged:
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="debug-calibrate"):
        count = int(st.number_input("Pairs of the data set", 2, 100, 10, key="calibrate on", width=170))
        question = ("calibration", pixels, count)
        work = partial(find_calibration, case, pixels, count)
        background.button(case, question, "Does 90 % mean 90 %?", work, icon=":material/target:")
    observed = (background.answer(case, question) or NOTHING).value
    if not observed:
        return
    curves: dict[str, Calibration] = {"stability": calibrate(observed, "stability")}
    if min(sum(one.pair % 2 == half for one in observed) for half in (0, 1)) >= FEWEST:
        curves["margin"] = calibrate(observed, "margin")
    left, right = st.columns(2)
    with left:
        draw(calibration_chart(curves), height=CHART, key="calibration chart", alt="Share right over what was claimed")
    with right:
        for name in CLAIMS:
            if name in curves:
                st.markdown(f"**{name.capitalize()}**: {verdict(curves[name])}")
        st.caption(
            f"{len(observed)} matches of {observed[-1].pair + 1} pairs. A margin is turned into a share by a logistic "
            "curve that was fitted on every other pair and is judged on the rest."
        )


def verdict(found: Calibration) -> str:
    near = found.near(0.9)
    off = f"off by {percent(found.error, 1)} on average"
    if near is None:
        return f"nothing is claimed at about 90 %; {off}."
    if near.count < FEWEST:
        return f"only {near.count} matches are claimed at about {percent(near.claimed)}, too few to judge by; {off}."
    low, high = near.interval
    means = "does" if low <= near.claimed <= high else "does not"
    return (
        f"{percent(near.claimed)} **{means}** mean {percent(near.claimed)}: of {near.count} such matches "
        f"{percent(near.right)} are right (95 % interval {percent(low)} to {percent(high)}); {off}."
    )


def find_calibration(case: Case, pixels: float, count: int, report: Report) -> tuple[Observed, ...]:
    found: tuple[Observed, ...] = ()
    recipes = pairs_like(case.recipe, count)
    report(0.0, f"0 of {len(recipes)} pairs")
    for k, found in enumerate(observe(recipes, pixels=pixels), 1):
        report(k / len(recipes), f"{k} of {len(recipes)} pairs", found)
    return found
