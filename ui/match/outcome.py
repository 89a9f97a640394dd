"""Understanding a result: its lines, one match explained, and two runs side by side."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator

from features.judge.metrics import BETTER, WORD, Metrics, kinds, missed, number, percent, score
from features.models.base import Sense
from features.pairs import Pair
from ui.match.page_run import Run
from ui.parts import canvas
from ui.parts.canvas import Line
from ui.parts.charts.run import Curves
from ui.shell.session_slots import KEPT

Match = tuple[int, int]
ORDER_NAMES = {1: "point", 2: "edge", 3: "triple", 4: "quadruple"}
SUPPORT: dict[Sense, str] = {
    "similarity": "High terms support it, low ones contradict it.",
    "cost": "Low-cost terms support it; high-cost terms contradict it.",
}
MOST_TERMS = 30
ADDED = 0.5  # how strongly a match is drawn that only the map knows


@dataclass(frozen=True, eq=False)
class Kept:
    """Run A: what an earlier run ended with, to compare others with."""

    number: int
    title: str
    curves: Curves
    matches: frozenset[Match]
    metrics: Metrics
    model: str  # as `Run.model`


# ---- lines of the final picture -----------------------------------------------------------------------------


def line_kinds(pair: Pair, pairs: NDArray[np.int64]) -> Sequence[canvas.Kind]:
    """How matches are drawn: right, wrong or stray where that is known, else by their value."""
    return kinds(pair, pairs) if pair.judged else ["score"] * len(pairs)


def final_lines(run: Run) -> list[Line]:
    """The matching as lines, and what was missed, which the picture shows on request.

    Matches that a map rejects are drawn as such, and those that it finds beside them are drawn, too.
    """
    found, checked = run.matching, run.matching.verification
    obeys = np.ones(len(found.pairs), bool) if checked is None else checked.verified | (checked.map is None)
    if checked is not None and not checked.same:
        obeys[:] = False  # a picture full of lines would look like a success
    refusal = ", rejected by the map" if checked is not None and checked.map is not None else ", obeys no map"
    values = strengths(run) if found.confidence is None else found.confidence
    lines = []
    for k, ((i, j), kind) in enumerate(zip(found.pairs.tolist(), line_kinds(run.pair, found.pairs), strict=True)):
        text = f"left {i} → right {j}, {line_text(run, k)}" + ("" if obeys[k] else refusal)
        lines.append(Line(i, j, kind if obeys[k] else "rejected", float(values[k]), text))
    if checked is not None:
        more = zip(checked.added.tolist(), line_kinds(run.pair, checked.added), strict=True)
        lines += [Line(i, j, kind, ADDED, f"left {i} → right {j}, found by the map") for (i, j), kind in more]
    if run.pair.judged:
        gone = missed(run.pair, [(line.i, line.j) for line in lines]).tolist()
        lines += [Line(i, j, "missed", 1.0, f"missed: left {i} is right {j}") for i, j in gone]
    return lines


def strengths(run: Run) -> NDArray[np.float64]:
    """How strongly each match is drawn: alike where right and wrong are told apart, else by its share of the score."""
    found = run.matching.strengths
    spread = float(np.ptp(found)) if len(found) else 0.0
    if run.pair.judged or spread == 0.0:
        return np.ones(len(found))
    return np.asarray(0.35 + 0.65 * (found - found.min()) / spread)


def line_text(run: Run, k: int) -> str:
    """What is known about match k."""
    found = run.matching
    if found.confidence is not None:
        return f"confidence {found.confidence[k]:.2f}"
    i, j = found.pairs[k].tolist()
    share = found.shares.get((i, j), 0.0)
    part = f" ({percent(share / found.metrics.energy, 1)})" if found.metrics.energy else ""
    return f"relaxed value {found.relaxed[k]:.3f}, share of the {WORD[run.sense]} {score(share, run.sense):.4g}{part}"


def together(run: Run, match: Match) -> dict[Match, float]:
    """What each other match costs together with this one, over all terms that hold both."""
    joint: defaultdict[Match, float] = defaultdict(float)
    for term in run.matching.terms:
        if match in term.matches:
            for other in term.matches:
                if other != match:
                    joint[other] += term.cost / max(len(term.matches) - 1, 1)
    return dict(joint)


def neighbours(run: Run, lines: Sequence[Line], match: Match | None) -> tuple[list[int], list[int]]:
    """Indices of the lines that support the isolated match (cheap together) and of those that contradict it."""
    joint = together(run, match) if match is not None else {}
    if len(joint) < 2:
        return [], []
    costs = np.array(list(joint.values()))
    middle, spread = float(costs.mean()), float(costs.std())
    at = {(line.i, line.j): k for k, line in enumerate(lines)}
    support = [at[m] for m, c in joint.items() if c < middle - 0.5 * spread and m in at]
    against = [at[m] for m, c in joint.items() if c > middle + 0.5 * spread and m in at]
    return support, against


def details(slots: Sequence[DeltaGenerator], run: Run | None, match: Match | None) -> None:
    """All terms of the isolated match of a finished run: a sentence, a table and a note."""
    sentence, terms, note = slots
    if run is None or match is None or match not in run.matching.shares:
        return
    i, j = match
    own = sorted((t for t in run.matching.terms if match in t.matches), key=lambda t: t.cost)
    sentence.markdown(f"**All {len(own)} terms of left {i} → right {j}.** {SUPPORT[run.sense]}")
    shown = own if len(own) <= MOST_TERMS else own[: MOST_TERMS // 2] + own[-MOST_TERMS // 2 :]
    rows = [
        {
            "term": ORDER_NAMES.get(len(t.matches), f"{len(t.matches)} points"),
            "together with": ", ".join(f"{a} → {b}" for a, b in t.matches if (a, b) != match) or "itself",
            WORD[run.sense]: score(t.cost, run.sense),
        }
        for t in shown
    ]
    terms.dataframe(
        rows,
        height=min(240, 38 + 35 * len(rows)),
        hide_index=True,
        column_config={
            WORD[run.sense]: st.column_config.NumberColumn(format="%.5g", help=BETTER[run.sense].capitalize())
        },
    )
    if len(own) > len(shown):
        note.caption(f"The {MOST_TERMS // 2} best and the {MOST_TERMS // 2} worst of {len(own)} terms.")


# ---- A / B --------------------------------------------------------------------------------------------------


def keep(run: Run) -> None:
    found = frozenset((int(i), int(j)) for i, j in run.matching.pairs)
    KEPT.set(Kept(run.number, run.title, run.curves, found, run.matching.metrics, run.model))


def forget() -> None:
    KEPT.pop()


def compare(run: Run) -> None:
    """Keep this run as run A, or see what differs from the one that was kept."""
    kept = KEPT.get()
    if kept is None:
        st.button(
            "Keep as run A",
            icon=":material/compare_arrows:",
            on_click=keep,
            args=(run,),
            help="Run something else afterwards: the curves are overlaid and the differing matches listed",
        )
        return
    if kept.number == run.number:
        st.caption(f"Kept as run A ({kept.title}). Change something and start again to compare.")
        st.button("Forget run A", on_click=forget)
        return
    with st.container(border=True):
        found = {(int(i), int(j)) for i, j in run.matching.pairs}
        mine, theirs = sorted(found - kept.matches), sorted(kept.matches - found)
        word = WORD[run.sense]
        st.markdown(
            f"**A:** {kept.title}, {word} {number(kept.metrics.score)}  \n"
            f"**Now:** {run.title}, {word} {number(run.matching.metrics.score)}"
        )
        if not mine and not theirs:
            st.caption("Both runs found the same matching.")
        else:
            st.caption(f"{len(found & kept.matches)} matches in common.")
            rows = [{"match": f"{i} → {j}", "found by": "this run"} for i, j in mine]
            rows += [{"match": f"{i} → {j}", "found by": "run A"} for i, j in theirs]
            st.dataframe(rows, height=min(240, 38 + 35 * len(rows)), hide_index=True)
        with st.container(horizontal=True):
            st.button("Make this run A", on_click=keep, args=(run,))
            st.button("Forget run A", on_click=forget)
