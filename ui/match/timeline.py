"""Back and forth through a run: its stored iterations, then what was made of the last one, stop by stop."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from ui.choice.widgets import polishes
from ui.jobs.job import Frame, Snapshot
from ui.match.page_run import Run
from ui.shell.session_slots import END, REPLAY, RUN, SLIDER

LAST, ROUNDED, POLISHED, BEST = "last iterate", "rounded", "polished", "best found"
REPLAY_TICKS = 16  # updates of the page that a replay takes
AT_ONCE = 0.4  # seconds that a click waits for its step
RESTING = ("start", "now")  # the stops of a slider that there is nothing to slide through


@dataclass(frozen=True, eq=False)
class Stop:
    """A place of the slider: an iteration, or the matching that was made of the last one."""

    label: str
    frame: Frame
    energy: float
    best: NDArray[np.bool_] | None = None  # the matching, where it is not the frame's
    relaxed: bool = True
    result: bool = False  # what the run ended with

    @property
    def chosen(self) -> NDArray[np.bool_]:
        """The matching."""
        return self.frame.assignment if self.best is None else self.best

    @property
    def x(self) -> NDArray[np.float64]:
        """What the matrix shows, and the lines. Made when asked for: a slider has many stops, and shows one."""
        return self.frame.x if self.relaxed else self.chosen.astype(float)


def stops(run: Run | None, snapshot: Snapshot, frames: Sequence[Frame]) -> list[Stop]:
    """The stored iterations; of a run that is over the last iterate, what it rounds to, and what came of that."""
    found = [Stop(str(frame.iteration), frame, frame.energy) for frame in frames]
    if run is None or snapshot.active or snapshot.best is None or not frames:
        return found
    end, best = frames[-1], snapshot.best
    found[-1] = Stop(LAST, end, end.energy)
    label = POLISHED if polishes(run.job.method) else BEST
    plain = label == BEST and np.array_equal(best, end.assignment)
    found.append(Stop(ROUNDED, end, end.rounded_energy, relaxed=False, result=plain))
    if not plain:
        found.append(Stop(label, end, snapshot.best_energy, best, relaxed=False, result=True))
    return found


# ---- where the visitor looks --------------------------------------------------------------------------------


def playing() -> bool:
    return REPLAY.get() is not None


def rewind(label: str | None = None) -> None:
    """End a replay, or show another run: a new slider, at its end or at a stop of its own.

    A tick under way still carries what the browser knew before, and may draw the run before: a slider with another
    name, which is the run's own, does not listen to it. The name comes last: a drawing that is stopped before has
    changed nothing, and whatever asked for this can be done again.
    """
    run, number = RUN.get(), 1 + (SLIDER.get() or 0)
    if label is not None and run is not None:
        st.session_state[_slider(run, number)] = label
    REPLAY.pop()
    END.pop()
    SLIDER.set(number)


def _slider(run: Run, number: int | None = None) -> str:
    return f"frame {run.number} {SLIDER.get() or 0 if number is None else number}"


def position(run: Run | None, labels: Sequence[str]) -> int:
    """The stop that is shown: where the replay or the slider is, else the last one.

    A slider that was left at its end follows the end: iterations may have come since, and the result.
    """
    if playing():
        return min(REPLAY.get() or 0, len(labels) - 1)
    label = st.session_state.get(_slider(run)) if run is not None else None
    return labels.index(label) if label in labels and label != END.get() else len(labels) - 1


def labels_of(run: Run) -> list[str]:
    """The names of a run's stops now."""
    return [stop.label for stop in stops(run, run.job.snapshot(), run.job.frames())]


def play(run: Run) -> None:
    """Show the stored iterations again, from the stop that is shown; from the beginning if that is the last."""
    labels = labels_of(run)
    at = position(run, labels)
    REPLAY.set(0 if at >= len(labels) - 1 else at)


def play_on(labels: Sequence[str]) -> None:
    """One tick of the replay further; it ends at the last stop."""
    at = (REPLAY.get() or 0) + max(1, round(len(labels) / REPLAY_TICKS))
    if at < len(labels) - 1:
        REPLAY.set(at)
    else:
        rewind()


def hold(run: Run) -> None:
    """Stay at the stop that a replay has come to."""
    if playing():
        labels = labels_of(run)
        rewind(labels[position(run, labels)])


def step(run: Run, by: int) -> bool:
    """A stop back or forth; False where there is none.

    A run that goes on is paused; at its latest iteration forth is one iteration more.
    """
    running = run.job.snapshot().active and not run.job.paused
    if running:
        run.job.pause()
        run.job.rest(AT_ONCE)
    labels = labels_of(run)
    at = (len(labels) - 1 if running else position(run, labels)) + by
    if 0 <= at < len(labels):
        rewind(labels[at] if at < len(labels) - 1 else None)
        return True
    if by > 0 and run.job.snapshot().active:
        rewind()
        run.job.step(by)
        run.job.rest(AT_ONCE)  # it mostly is done at once, and this very update can show it
        return True
    return False


def told(labels: Sequence[str], at: int) -> str:
    """The stop that is shown, in words, beside the slider."""
    if not labels:
        return "not started"
    return f"step {int(labels[at]):,}" if labels[at].isdigit() else labels[at]


def show(run: Run | None, labels: Sequence[str], resting: bool) -> int:
    """The slider, always in the same place; the stop that it is at."""
    if run is None or resting or len(labels) < 2:
        st.select_slider("Iteration", RESTING, RESTING[1], key="no frames", disabled=True, label_visibility="collapsed")
        return len(labels) - 1
    at = position(run, labels)
    if playing():
        st.progress((at + 1) / len(labels), f"Iteration {labels[at]}", width="stretch")
        return at
    st.session_state[_slider(run)] = labels[at]
    END.set(labels[-1])
    st.select_slider(
        "Iteration",
        labels,
        labels[at],
        key=_slider(run),
        width="stretch",
        label_visibility="collapsed",
        help="Go back through the stored iterations; the picture, the matrix and the curves follow.",
    )
    return position(run, labels)
