"""What a run leaves behind to look at: stored iterations, curves and lanes, each within a bounded memory."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_FRAMES = 200
MOST_FRAME_BYTES = 48_000_000
LANE_POINTS = 100
CURVE_POINTS = 400
HISTORY_POINTS = 20_000
LEVELS = np.iinfo(np.int16).max


@dataclass(frozen=True, eq=False)
class Frame:
    """One stored iteration, to be looked at. A server keeps many: its values are told in steps of a 32,767th of the
    largest, and where most of them are zero the others alone."""

    iteration: int
    n: int
    support: NDArray[np.int32] | None  # the variables that have a value; None: all of them
    levels: NDArray[np.int16]
    largest: float
    rho: float  # NaN where the method has none, like the residual
    residual: float
    energy: float
    matched: NDArray[np.int32]  # the variables that x rounds to
    rounded_energy: float

    @property
    def x(self) -> Floats:
        """The relaxed assignment, over the problem's variables."""
        values = self.levels / LEVELS * self.largest
        if self.support is None:
            return values
        x = np.zeros(self.n)
        x[self.support] = values
        return x

    @property
    def assignment(self) -> NDArray[np.bool_]:
        """That rounded."""
        found = np.zeros(self.n, bool)
        found[self.matched] = True
        return found

    @property
    def nbytes(self) -> int:
        return self.levels.nbytes + self.matched.nbytes + (0 if self.support is None else self.support.nbytes)


def frame_of(state: Any, assignment: NDArray[np.bool_], rounded_energy: float) -> Frame:
    """A state with what it rounds to."""
    n, largest = len(state.x), float(np.abs(state.x).max(initial=0.0)) or 1.0
    levels = np.rint(state.x / largest * LEVELS).astype(np.int16)
    support = np.flatnonzero(levels).astype(np.int32)
    sparse = 3 * len(support) < n  # a variable's number takes twice the bytes of its value
    return Frame(
        iteration=state.iteration,
        n=n,
        support=support if sparse else None,
        levels=levels[support] if sparse else levels,
        largest=largest,
        rho=float(getattr(state, "rho", math.nan)),
        residual=float(getattr(state, "residual", math.nan)),
        energy=state.energy,
        matched=np.flatnonzero(assignment).astype(np.int32),
        rounded_energy=rounded_energy,
    )


@dataclass(frozen=True)
class Mark:
    """An iteration at which ρ changed, what it changed to and from, and whether a visitor changed it."""

    iteration: int
    rho: float
    before: float
    by_hand: bool = False

    @property
    def factor(self) -> float:
        return self.rho / self.before


@dataclass(frozen=True, eq=False)
class LaneCurve:
    """One of several runs side by side: its name, why it ended (empty: it has not), and its residuals, thinned."""

    name: str
    ended: str
    iterations: Floats
    residuals: Floats
    best_energy: float


@dataclass(frozen=True, eq=False)
class Lanes:
    """The runs of a method that keeps several, the one that leads, how many hold its matching, or a proof instead."""

    curves: tuple[LaneCurve, ...]
    leader: int
    agreeing: int
    proved: bool = False


def lanes_of(state: Any) -> Lanes | None:
    """The lanes of a state such as `adgm.search.portfolio.PortfolioState`; None for a method with a single run."""
    lanes = getattr(state, "lanes", ())
    if not lanes:
        return None
    curves = []
    for each in lanes:
        at = np.unique(np.linspace(0, max(len(each.residuals) - 1, 0), LANE_POINTS).astype(int))[: len(each.residuals)]
        curves.append(LaneCurve(str(each.lane), each.ended, at + 1.0, each.residuals[at], each.best_energy))
    return Lanes(tuple(curves), state.leader, state.agreeing, state.proved)


class Thinned:
    """Curves over the iterations that keep their beginning: when full, every other value goes."""

    def __init__(self, limit: int) -> None:
        self.limit, self.stride, self.count = limit, 1, 0
        self.columns: dict[str, Floats] = {}
        self.last: dict[str, Floats] = {}

    def add(self, columns: dict[str, Floats]) -> None:
        length = len(columns["iteration"])
        if not length:
            return
        pick = slice(-self.count % self.stride, None, self.stride)
        known, size = self.columns, len(self.columns.get("iteration", ()))
        for name in dict.fromkeys([*known, *columns]):
            values = np.asarray(columns.get(name, np.full(length, np.nan)), float)
            known[name] = np.concatenate([known.get(name, np.full(size, np.nan)), values[pick]])
            self.last[name] = values[-1:]
        self.count += length
        while len(self.columns["iteration"]) >= self.limit:
            self.columns = {name: values[::2] for name, values in self.columns.items()}
            self.stride *= 2

    def arrays(self) -> dict[str, Floats]:
        """The kept values and, at the end, the latest ones."""
        if (self.count - 1) % self.stride == 0:
            return dict(self.columns)
        return {name: np.concatenate([values, self.last[name]]) for name, values in self.columns.items()}


class RunCurves:
    """The record of a run (`adgm.run.Record`): what a page draws, what is taken away, and where ρ changed."""

    def __init__(self) -> None:
        self.shown, self.history, self.marks = Thinned(CURVE_POINTS), Thinned(HISTORY_POINTS), list[Mark]()
        self.rho = math.nan
        self.by_hand = False  # whether the next change of ρ is a visitor's

    def add(self, columns: dict[str, Floats]) -> None:
        self.shown.add(columns)
        self.history.add(columns)
        rho = np.append(self.rho, columns.get("rho", ()))
        for k in np.flatnonzero((rho[1:] != rho[:-1]) & np.isfinite(rho[:-1])):
            self.marks.append(Mark(int(columns["iteration"][k]), float(rho[k + 1]), float(rho[k]), self.by_hand))
            self.by_hand = False
        self.rho = float(rho[-1])

    def arrays(self) -> dict[str, Floats]:
        return self.history.arrays()


class Frames:
    """Stored frames, the beginning among them, within a number and a size: when full, every other one goes."""

    def __init__(self, limit: int = MOST_FRAMES, most_bytes: int = MOST_FRAME_BYTES) -> None:
        self.limit, self.most_bytes, self.stride, self.count = limit, most_bytes, 1, 0
        self.kept: list[Frame] = []
        self.latest: Frame | None = None

    def add(self, frame: Frame) -> None:
        self.latest = frame
        if self.count % self.stride == 0:
            self.kept.append(frame)
        self.count += 1
        while len(self.kept) > 2 and (
            len(self.kept) >= self.limit or sum(one.nbytes for one in self.kept) > self.most_bytes
        ):
            self.kept = self.kept[::2]
            self.stride *= 2

    def all(self) -> tuple[Frame, ...]:
        ends = [self.latest] if self.latest is not None and self.latest is not self.kept[-1] else []
        return (*self.kept, *ends)
