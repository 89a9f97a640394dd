"""Understanding a result: the metrics and the verdict, one match explained, and two runs side by side."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from features.score import BETTER, WORD, Metrics, number
from ui import proof
from ui.canvas import Line
from ui.charts import Curves
from ui.runs import Run

Match = tuple[int, int]
ORDER_NAMES = {1: "point", 2: "edge", 3: "triple", 4: "quadruple"}
VERDICT_ICONS = {
    "optimiser stuck": ":material/warning:",
    "model prefers this": ":material/psychology_alt:",
    "both agree": ":material/check_circle:",
}
MOST_TERMS = 30


@dataclass(frozen=True, eq=False)
class Kept:
    """Run A: what an earlier run ended with, to compare others with."""

    number: int
    title: str
    curves: Curves
    matches: frozenset[Match]
    metrics: Metrics


def show(run: Run) -> None:
    metrics = run.outcome.metrics
    word = WORD[run.sense]
    columns = st.columns(4)
    if metrics.accuracy is not None:
        columns[0].metric("Accuracy", f"{metrics.accuracy:.1%}", help="Share of the points with a true partner that "
                          "are matched to it")  # fmt: skip
    columns[1].metric("Matched points", f"{metrics.matched} of {min(metrics.shape)}")
    columns[2].metric(f"{word.capitalize()} found", number(metrics.score), help=BETTER[run.sense])
    if metrics.truth_score is not None:
        columns[3].metric(f"{word.capitalize()} of the truth", number(metrics.truth_score), help=BETTER[run.sense])
    if metrics.verdict is not None:
        st.markdown(f"{VERDICT_ICONS[metrics.verdict]} {metrics.explanation}")
    proof.show(run)
    compare(run)


# ---- lines of the final picture -----------------------------------------------------------------------------


def final_lines(run: Run, which: str, count: int) -> list[Line]:
    """The matching as lines: all of it, the wrong ones, with what was missed, or the `count` best ones."""
    outcome, truth = run.outcome, run.pair.truth
    relaxed = run.problem.matrix(run.outcome.result.state.x)
    lines = []
    for i, j in outcome.pairs.tolist():
        kind = "score" if truth is None else "correct" if truth[i] == j else "wrong"
        value = float(relaxed[i, j])
        share = outcome.shares.get((i, j), 0.0)
        part = f", share of the energy {share:.4g}"
        if outcome.metrics.energy:
            part += f" ({share / outcome.metrics.energy:.1%})"
        text = f"left {i} → right {j}, relaxed value {value:.3f}{part}"
        lines.append(Line(i, j, kind, max(value, 0.35), text))  # type: ignore[arg-type]
    if which == "wrong":
        return [line for line in lines if line.kind == "wrong"]
    if which == "best":
        best = sorted(outcome.shares, key=lambda match: outcome.shares[match])[:count]
        return [line for line in lines if (line.i, line.j) in best]
    if which == "missed too" and truth is not None:
        found = {(line.i, line.j) for line in lines}
        missed = [(i, int(j)) for i, j in enumerate(truth) if j >= 0 and (i, int(j)) not in found]
        lines += [Line(i, j, "missed", 1.0, f"missed: left {i} is right {j}") for i, j in missed]
    return lines


def together(run: Run, match: Match) -> dict[Match, float]:
    """What each other match costs together with this one, over all terms that hold both."""
    joint: defaultdict[Match, float] = defaultdict(float)
    for term in run.outcome.terms:
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


def details(run: Run, match: Match | None) -> None:
    """The terms of the isolated match."""
    if match is None or match not in run.outcome.shares:
        st.caption("Click a line to see what speaks for it and against it.")
        return
    i, j = match
    own = sorted((t for t in run.outcome.terms if match in t.matches), key=lambda t: t.cost)
    total = sum(t.cost / len(t.matches) for t in own)
    st.markdown(
        f"**Left {i} → right {j}** pays {len(own)} terms; its share of the energy is **{total:.4g}**. "
        "Cheap terms support it, dear ones contradict it."
    )
    shown = own if len(own) <= MOST_TERMS else own[: MOST_TERMS // 2] + own[-MOST_TERMS // 2 :]
    rows = [
        {
            "term": ORDER_NAMES.get(len(t.matches), f"{len(t.matches)} points"),
            "together with": ", ".join(f"{a} → {b}" for a, b in t.matches if (a, b) != match) or "itself",
            "cost": t.cost,
        }
        for t in shown
    ]
    st.dataframe(
        rows, height=min(240, 38 + 35 * len(rows)), hide_index=True,
        column_config={"cost": st.column_config.NumberColumn(format="%.5g", help="Lower is better")},
    )  # fmt: skip
    if len(own) > len(shown):
        st.caption(f"The {MOST_TERMS // 2} cheapest and the {MOST_TERMS // 2} dearest of {len(own)} terms.")


# ---- A / B --------------------------------------------------------------------------------------------------


def keep(run: Run) -> None:
    found = frozenset((int(i), int(j)) for i, j in run.outcome.pairs)
    st.session_state["kept"] = Kept(run.number, run.title, run.outcome.curves, found, run.outcome.metrics)


def forget() -> None:
    st.session_state.pop("kept", None)


def compare(run: Run) -> None:
    """Keep this run as run A, or see what differs from the one that was kept."""
    kept: Kept | None = st.session_state.get("kept")
    if kept is None:
        st.button("Keep as run A", icon=":material/compare_arrows:", on_click=keep, args=(run,), help="Run something "
                  "else afterwards: the curves are overlaid and the differing matches listed")  # fmt: skip
        return
    if kept.number == run.number:
        st.caption(f"Kept as run A ({kept.title}). Change something and start again to compare.")
        st.button("Forget run A", on_click=forget)
        return
    with st.container(border=True):
        found = {(int(i), int(j)) for i, j in run.outcome.pairs}
        mine, theirs = sorted(found - kept.matches), sorted(kept.matches - found)
        word = WORD[run.sense]
        st.markdown(
            f"**A:** {kept.title} {word} {number(kept.metrics.score)}  \n"
            f"**Now:** {run.title} {word} {number(run.outcome.metrics.score)}"
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
