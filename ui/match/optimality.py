"""How far from optimal a matching is: a search for a lower bound, run like any other job, and its answer in words."""

from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from adgm import Problem
from adgm.bounds.bound import refusal, search, searchable
from adgm.bounds.branch_and_bound import begin_with, percent, relative_gap, tolerance
from adgm.rounding import Assignment
from features.judge.metrics import WORD, bound_number, number, score
from ui.jobs.history import lanes_of
from ui.jobs.job import POOL, Job
from ui.match.page_run import Run
from ui.shell import admission
from ui.shell.session_slots import PROOF

TICK = 0.5  # seconds between two updates
LIMIT = 60.0  # seconds of searching
AUTOMATIC_LIMIT = 10.0  # seconds of the search that starts by itself after a run of ADGM+


@dataclass(frozen=True, eq=False)
class Proof:
    """The search of `adgm.bounds.bound`, as a method that begins with the matching in question."""

    given: Assignment
    search: Any  # see `adgm.bounds.bound.search`

    def init(self, problem: Problem) -> Any:
        return begin_with(self.search.init(problem), self.given, problem.energy(self.given))

    def step(self, problem: Problem, state: Any, n: int = 1) -> Any:
        return self.search.step(problem, state, n)

    def done(self, state: Any) -> bool:
        return bool(self.search.done(state))


@dataclass(frozen=True, eq=False)
class BoundSearch:
    """A search for a lower bound for one run."""

    number: int
    job: Job
    limit: float  # seconds


def show(run: Run | None) -> None:
    """The button that starts the search, its progress, and its answer. After a run of ADGM+ a short search starts by
    itself. Called in every script run, for the reason that `live.show` gives."""
    if run is not None and _starts_by_itself(run):
        _start(run, AUTOMATIC_LIMIT)
    active = run is not None and _active(run)
    with st.container(key="proof"):
        st.fragment(_show, run_every=POOL.unhurried(TICK) if active else None)(run, active)


def _starts_by_itself(run: Run) -> bool:
    lanes = lanes_of(run.matching.result.state)
    return lanes is not None and not lanes.proved and _fits(run) and _search_of(run) is None


def _fits(run: Run) -> bool:
    """Whether a bound can be computed here."""
    return not refusal(run.problem) and (run.problem.order == 3 or searchable(run.problem))


def _search_of(run: Run) -> BoundSearch | None:
    proof = PROOF.get()
    return proof if proof is not None and proof.number == run.number else None


def known(run: Run) -> tuple[float | None, bool]:
    """The lowest energy of any matching that a search for a bound or the run itself has met, and whether it is proved
    that no matching has a lower one."""
    lanes, proof = lanes_of(run.matching.result.state), _search_of(run)
    found = None if proof is None else proof.job.state
    return (None if found is None else found.best_energy), bool(
        (lanes is not None and lanes.proved) or (found is not None and found.proved)
    )


def _active(run: Run) -> bool:
    proof = _search_of(run)
    return proof is not None and proof.job.snapshot().active


def _start(run: Run, limit: float = LIMIT) -> None:
    earlier = PROOF.get()
    if earlier is not None:
        earlier.job.stop()
    proof = Proof(run.matching.result.assignment, search(run.problem))
    job = Job(proof, run.problem, time_limit=limit, visitor=admission.current())
    try:
        PROOF.set(BoundSearch(run.number, job.start(), limit))
    except ValueError as error:  # too many runs wait
        st.toast(str(error))


def _show(run: Run | None, was_active: bool) -> None:
    if was_active != (run is not None and _active(run)):
        st.rerun()
    agreement, answered, bar, button = (st.empty() for _ in range(4))
    if run is None:
        return
    lanes = lanes_of(run.matching.result.state)
    if lanes is not None and not lanes.proved:
        agreement.caption(f"{lanes.agreeing} of {len(lanes.curves)} runs ended with this matching.")
    proof = _search_of(run)
    if not _fits(run):
        why = refusal(run.problem) or "The bound would take more memory than there is."
        button.caption(f"How far from optimal? {why}")
        return
    if lanes is not None and lanes.proved:
        answered.markdown(f"{ICONS[False]} {proved(run)}")
    elif proof is None:
        button.button(
            "How far from optimal?",
            icon=":material/verified:",
            on_click=_start,
            args=(run,),
            help="Searches for a lower bound: no matching whatsoever can cost less",
        )
    else:
        _tell(run, proof, answered, bar, button)


def _tell(run: Run, proof: BoundSearch, answered: DeltaGenerator, bar: DeltaGenerator, button: DeltaGenerator) -> None:
    """How far the search is, and what it knows."""
    job = proof.job
    job.touch()
    snapshot = job.snapshot()
    if snapshot.status == "failed":
        answered.error(f"The search for a bound failed: {snapshot.error}")
    elif job.state is not None:
        answered.markdown(f"{ICONS[snapshot.active]} {answer(run, job.state, snapshot.active)}")
    if snapshot.active:
        told = f"Searching: {snapshot.iteration:,} sweeps, {snapshot.elapsed:.0f} of {proof.limit:.0f} s"
        bar.progress(min(snapshot.elapsed / proof.limit, 1.0), told)
        button.button("Stop the search", icon=":material/stop:", on_click=job.stop)
    elif proof.limit < LIMIT and not (job.state is not None and job.state.proved):
        button.button(
            "Search longer", icon=":material/verified:", on_click=_start, args=(run,), help=f"Up to {LIMIT:.0f} s"
        )


PROVED = "**Proved optimal**: under this model no matching has a {word} that is better by more than {little:.3g}."
ICONS = {True: ":material/hourglass_top:", False: ":material/verified:"}


def proved(run: Run) -> str:
    """What a proof says, and how exactly."""
    little = tolerance(run.matching.metrics.energy, run.problem.spread)
    return PROVED.format(word=WORD[run.sense], little=1.01 * little)  # which three digits do not understate


def answer(run: Run, state: Any, searching: bool) -> str:
    """What is known about the distance to the optimum."""
    energy, word = run.matching.metrics.energy, WORD[run.sense]
    gap = relative_gap(energy, state.lower, state.spread)
    if gap == 0.0:
        return proved(run)
    parts = []
    if gap < float("inf"):
        limit = bound_number(state.lower, run.sense)
        parts.append(f"**Gap {percent(gap)} %**: no matching has a {word} better than {limit}.")
    if relative_gap(energy, state.best_energy, state.spread) > 0:
        found = number(score(state.best_energy, run.sense))
        parts.append(
            f"The search found a better matching ({word} {found})"
            + (", proved optimal: the solver was stuck." if state.proved else ".")
        )
    if not parts:
        return "No bound yet." if searching else "No bound was found in that time."
    return " ".join(parts)
