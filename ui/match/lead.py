"""The line over the picture: what this is, what the run is doing, what came of it. One sentence, always one line."""

from dataclasses import dataclass, replace
from html import escape
from typing import Literal

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from features.judge.metrics import WORD, Metrics, matched_pairs, number
from features.recipe import OWN
from ui.choice import address
from ui.choice.sidebar import Chosen
from ui.choice.widgets import polishes
from ui.jobs.job import Snapshot
from ui.match import optimality
from ui.match.page_run import Run
from ui.match.timeline import Stop
from ui.shell.session_slots import RUN

Tone = Literal["run", "good", "bad", "plain"]
UNDECIDED, DECIDED = 0.35, 0.9  # mean of the largest value in each row, below and above which a phase ends


@dataclass(frozen=True)
class Lead:
    """What is said first, what follows, and a badge before both."""

    strong: str
    rest: str = ""
    badge: str = ""
    tone: Tone = "plain"

    @property
    def html(self) -> str:
        badge = f'<span class="badge {self.tone}">{escape(self.badge)}</span>' if self.badge else ""
        whole = escape(f"{self.strong} {self.rest}")  # where the window is too narrow for all of it
        told = f"<b>{escape(self.strong)}</b><span>{escape(self.rest)}</span>"
        return f'<div class="lead" role="status" title="{whole}">{badge}{told}</div>'


@dataclass(frozen=True)
class Phase:
    """Where a relaxed assignment is on its way to a matching."""

    name: str
    title: str
    lines: str
    about: str


PHASES = (
    Phase(
        "Look around",
        "Looking around",
        "A line is a possible pair: the thicker, the surer.",
        "Every left point still shares itself among many right points. Costs begin to tell the pairs apart.",
    ),
    Phase(
        "Pull together",
        "Making up its mind",
        "The thicker a line, the surer that pair; faint lines are other candidates.",
        "Some points have all but chosen a partner. Those choices make other pairs cheaper or dearer.",
    ),
    Phase(
        "Settle",
        "Settling",
        "Nearly every point has one partner.",
        "Nearly every point has one partner. What still moves are the last close calls.",
    ),
)


def sureness(run: Run, stop: Stop) -> NDArray[np.float64]:
    """How sure each left point is of its partner: the largest value in its row."""
    found: NDArray[np.float64] = run.problem.matrix(stop.x).max(axis=1, initial=0.0)
    return found


def phase(run: Run, stop: Stop) -> Phase:
    """Which phase a stop belongs to, by how sure its points are on average."""
    mean = float(np.mean(sureness(run, stop))) if run.pair.shape[0] else 0.0
    return PHASES[(mean >= UNDECIDED) + (mean >= DECIDED)]


def show(chosen: Chosen | None, run: Run | None, snapshot: Snapshot, stop: Stop | None) -> None:
    st.html(lead(chosen, run, snapshot, stop).html)


def lead(chosen: Chosen | None, run: Run | None, snapshot: Snapshot, stop: Stop | None) -> Lead:
    if run is None:
        return question(chosen)
    if snapshot.status == "failed":
        return Lead(f"The run failed: {snapshot.error}", badge="Failed", tone="bad")
    if chosen is not None and not run.answers(chosen):
        told = "The settings have changed since this run"
        return Lead(told, "Start runs the new ones.", "Changed", "bad")
    if snapshot.active:
        return going(run, snapshot, stop)
    if stop is not None and not stop.result and stop.label.isdigit():
        now = phase(run, stop)
        return Lead(now.title, f"Step {stop.label}. {now.lines}", "Looking back", "run")
    if snapshot.best is None:
        return Lead("The run ended before it had a matching.", "Start it once more.", "Stopped", "bad")
    checked = run.matching.verification
    if checked is not None:
        added = f" The map finds {len(checked.added)} more." if len(checked.added) else ""
        rejected = int((~checked.verified).sum()) if checked.map is not None else 0
        left_out = f" The other {rejected} are left out." if rejected else ""
        badge, tone = ("Same scene", "good") if checked.same else ("No common scene found", "bad")
        return Lead(checked.verdict, (left_out + added).strip(), badge, "good" if tone == "good" else "bad")
    return noted(answer(run.matching.metrics, *optimality.known(run)), run.matching.result.note)


def question(chosen: Chosen | None) -> Lead:
    """Before a run: what there is to see, in one sentence."""
    if chosen is None and address.current().dataset == OWN:
        told = "The same building, object or scene from two places. Points are found and paired for you."
        return Lead("Match two photographs of your own", told)
    if chosen is None:
        return Lead("Which point is which?", "Choose two pictures.")
    if chosen.complaint:
        return Lead("This cannot be run yet", "See above what is missing.", "Not ready", "bad")
    rest = "Two pictures of one thing, dots on both. "
    if chosen.pair.left.image is None or chosen.pair.right.image is None:
        rest = "Two sets of dots, one a disturbed copy of the other. " if chosen.pair.judged else "Two sets of dots. "
    rest += "Press Start and watch an algorithm find the partner of every dot."
    earlier = RUN.get()
    if earlier is not None:
        rest = f"Run {earlier.number} was on {earlier.pair.name}{_other(earlier, chosen)} to see it."
    return Lead("Which point is which?", rest)


def _other(earlier: Run, chosen: Chosen) -> str:
    """What differs from the pair of an earlier run, and so what brings that back."""
    if earlier.shows(chosen):
        return ": leave Edit points"
    if chosen.pair.name == earlier.pair.name:
        return " with other points or partners: undo the changes"
    return ": choose that pair again"


def going(run: Run, snapshot: Snapshot, stop: Stop | None) -> Lead:
    """What a run is doing."""
    if snapshot.status == "compiling" and snapshot.iteration and snapshot.best is not None:
        return first_answer(run, snapshot.best)
    if snapshot.status == "compiling":
        what = "the local search" if snapshot.iteration and polishes(run.job.method) else "the solver"
        return Lead(f"Compiling {what}, once on this machine", "This does not count.", "Compiling", "run")
    if snapshot.status == "waiting":
        told = turn(snapshot) if snapshot.position else "a place on this server"
        return Lead("Waiting for its turn", told, "Waiting", "run")
    if snapshot.status == "building" or stop is None:
        return Lead("Comparing the points", "The costs of all pairs are computed first.", "Building", "run")
    badge = "Paused" if snapshot.status == "paused" else "Running"
    now = phase(run, stop)
    return Lead(now.title, f"Step {stop.label}. {now.lines}", badge, "run")


def first_answer(run: Run, best: NDArray[np.bool_]) -> Lead:
    """What a run has found that waits for compiled code: its last iterate, rounded."""
    pairs = matched_pairs(run.problem, best)
    told = f"{len(pairs)} points matched."
    if run.pair.judged:
        right = int(run.pair.correct(pairs).sum())
        told = f"{right} of {int(run.pair.has_partner.sum())} points are matched to their true partner."
    later = "polished" if polishes(run.job.method) else "finished"
    return Lead(told, f"It is {later} as soon as the solver is compiled, once on this machine.", "First answer", "run")


def turn(snapshot: Snapshot) -> str:
    """Where a run stands in the queue, and how long that takes."""
    return f"number {snapshot.position} in the queue of this server, about {max(1, round(snapshot.delay))} s"


def noted(told: Lead, note: str) -> Lead:
    """With what else is to be known about how a run ended; before the verdict, which may be cut off."""
    return replace(told, rest=f"{note} {told.rest}", tone="bad") if note else told


def answer(found: Metrics, best: float | None = None, proved: bool = False) -> Lead:
    """How right a matching is, and what is to blame for what is wrong, as far as that is proved: `Metrics.causes`."""
    word = WORD[found.sense]
    if found.verdict is None or found.truth_score is None or found.correct is None:
        return Lead(
            f"{found.matched} points matched.",
            f"The true partners are not known here. Its {word} is {number(found.score)}.",
            "Done",
            "good",
        )
    wrong = (found.possible or 0) - found.correct
    right = f"{found.correct} of {found.possible} points are matched to their true partner."
    numbers = f"({found.score:.4g} against {found.truth_score:.4g})"
    why = found.causes(best, proved)
    if found.verdict == "both agree" and why.stuck:
        return Lead(
            right, f"The truth has the same {word}, yet a known matching has a better one.", "Both to blame", "bad"
        )
    if found.verdict == "both agree" and not wrong:
        return Lead(right, f"Both agree: answer and truth have the same {word}.", "All right", "good")
    if found.verdict == "both agree":
        return Lead(right, f"Both agree: the model cannot tell this answer from the truth {numbers}.", "A tie", "bad")
    if found.verdict == "model prefers this":
        search = {True: ", and the search got stuck, too.", False: ", not the search (proved).", None: "."}[why.stuck]
        told = f"Yet it has the better {word} {numbers}: the model is to blame{search}"
        return Lead(right, told, "The model prefers a wrong answer" if wrong else "The model prefers more", "bad")
    model = {True: ", and the model prefers another matching, too.", False: ", not the model (proved).", None: "."}[
        why.model
    ]
    told = f"The truth has the better {word} {numbers}: the search is to blame{model}"
    return Lead(right, told, "The search got stuck", "bad")
