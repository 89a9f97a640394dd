"""How far from optimal a matching is: a search for a lower bound, run like any other job, and its answer in words."""

from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from adgm import Problem
from adgm._relaxation import bytes_needed
from adgm.baselines.dd import DD, DDState, begin_with, relative_gap
from adgm.bound import refusal
from adgm.rounding import Assignment
from features.score import WORD, number, score
from ui.frames import lanes_of
from ui.job import Job
from ui.runs import Run

TICK = 0.5  # seconds between two updates
LIMIT = 60.0  # seconds of searching
UNASKED = 10.0  # seconds after a careful run, where nobody had to ask


@dataclass(frozen=True, eq=False)
class Proof:
    """The search of `adgm.bound`, as a method that begins with the matching asked about."""

    given: Assignment
    search: DD = field(default_factory=DD)

    def init(self, problem: Problem) -> DDState:
        return begin_with(self.search.init(problem), self.given, problem.energy(self.given))

    def step(self, problem: Problem, state: DDState, n: int = 1) -> DDState:
        return self.search.step(problem, state, n)

    def done(self, state: DDState) -> bool:
        return self.search.done(state)


@dataclass(frozen=True, eq=False)
class Asked:
    """The question about a run."""

    number: int
    job: Job
    limit: float  # seconds


def show(run: Run) -> None:
    """The question, the search while it goes on, and the answer. Careful runs are asked about at once."""
    problem, lanes = run.problem, lanes_of(run.outcome.result.state)
    if lanes is not None:
        st.caption(f"{lanes.agreeing} of {len(lanes.curves)} runs ended with this matching.")
    if refusal(problem) or bytes_needed(problem) > problem.memory:
        return
    if lanes is not None and run.outcome.result.state.proved:
        st.markdown(f"{ICONS[False]} {PROVED.format(word=WORD[run.sense])}")
        return
    if lanes is not None and _asked(run) is None:
        _ask(run, UNASKED)
    active = _active(run)
    st.fragment(_show, run_every=TICK if active else None)(run, active)


def _asked(run: Run) -> Asked | None:
    asked: Asked | None = st.session_state.get("proof")
    return asked if asked is not None and asked.number == run.number else None


def _active(run: Run) -> bool:
    asked = _asked(run)
    return asked is not None and asked.job.snapshot().active


def _ask(run: Run, limit: float = LIMIT) -> None:
    earlier: Asked | None = st.session_state.get("proof")
    if earlier is not None:
        earlier.job.stop()
    job = Job(Proof(run.outcome.result.assignment), run.problem, time_limit=limit)
    try:
        st.session_state["proof"] = Asked(run.number, job.start(), limit)
    except ValueError as error:  # too many runs wait
        st.toast(str(error))


def _show(run: Run, was_active: bool) -> None:
    asked = _asked(run)
    if was_active != _active(run):
        st.rerun()
    if asked is None:
        st.button("How far from optimal?", icon=":material/verified:", on_click=_ask, args=(run,),
                  help="Searches for a lower bound: no matching whatsoever can cost less")  # fmt: skip
        return
    job = asked.job
    job.touch()
    snapshot = job.snapshot()
    if snapshot.status == "failed":
        st.error(f"The search for a bound failed: {snapshot.error}")
    elif job.state is not None:
        st.markdown(f"{ICONS[snapshot.active]} {answer(run, job.state, snapshot.active)}")
    if snapshot.active:
        told = f"Searching: {snapshot.iteration:,} sweeps, {snapshot.elapsed:.0f} of {asked.limit:.0f} s"
        st.progress(min(snapshot.elapsed / asked.limit, 1.0), told)
        st.button("Stop the search", icon=":material/stop:", on_click=job.stop)
    elif asked.limit < LIMIT and not (job.state is not None and job.state.proved):
        st.button("Search longer", icon=":material/verified:", on_click=_ask, args=(run,), help=f"Up to {LIMIT:.0f} s")


PROVED = "**Proved optimal**: no matching has a better {word} under this model."
ICONS = {True: ":material/hourglass_top:", False: ":material/verified:"}


def answer(run: Run, state: Any, searching: bool) -> str:
    """What is known about the distance to the optimum."""
    energy, word = run.outcome.metrics.energy, WORD[run.sense]
    gap = relative_gap(energy, state.lower, state.root.scale)
    if gap == 0.0:
        return PROVED.format(word=word)
    limit = number(score(state.lower, run.sense))
    parts = [f"**Gap {100 * gap:.2g} %**: no matching has a {word} better than {limit}."] if gap < float("inf") else []
    if relative_gap(energy, state.best_energy, state.root.scale) > 0:
        found = number(score(state.best_energy, run.sense))
        parts.append(f"The search found a better matching ({word} {found})" + (
            ", proved optimal: the solver was stuck." if state.proved else "."))  # fmt: skip
    if not parts:
        return "No bound yet." if searching else "No bound was found in that time."
    return " ".join(parts)
