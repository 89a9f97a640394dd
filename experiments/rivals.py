"""Who wins where: every method on a fixed sample of real pairs, to stand beside the numbers known of the rivals.

Groups follow the settings in which the rivals were measured with other people's programs: House and Hotel by the gap
between frames and the number of left points, cars and motorbikes with outliers. An objective is an affinity, larger is
better (cost models: largest cost − cost, as in the paper), and is told as a share of the best known of the pair, be
that a method's or the truth's.
"""

import csv
import io
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from adgm import METHODS, Problem
from adgm.affinity import affinity
from features import comparison
from features.datasets import DATASETS
from features.models import MODELS
from features.pairs import Pair, Value
from features.score import true_assignment
from features.setup import Setup

TRUTH = "truth"
HEAD = """\
# Who wins where

Mean objective as a share of the best known of each pair · mean accuracy · median seconds. {sample} pairs per group,
seed {seed}, at most {limit:g} s per method; the best objectives in bold. Times are wall clock of one run: read ratios.
Where the ground truth has less than the best known, the model prefers another matching.

Made by `python -m experiments rivals --sample {sample} --seed {seed} --time-limit {limit:g} -o assets/results`.
"""
TIME_LIMIT = 10.0


@dataclass(frozen=True)
class Group:
    """Pairs of one kind under one model. `gaps`: between the frames of a sequence, in turn."""

    name: str
    dataset: str
    model: str
    gaps: tuple[int, ...] = ()
    points: int = 30
    outliers: int = 0

    def setups(self, sample: int, seed: int) -> list[Setup]:
        """A fixed sample: frames spread over the sequence for each gap in turn, or pairs of photographs."""
        count = DATASETS[self.dataset].count
        assert count is not None
        if sample < 1:
            raise ValueError(f"the sample is {sample} pairs per group; at least 1 is right")
        if not self.gaps:
            numbers = np.random.default_rng(seed).permutation(count)[:sample] + 1
            return [
                Setup(self.dataset, {"number": int(k), "outliers": self.outliers, "seed": seed}, self.model)
                for k in sorted(numbers)
            ]
        found = []
        for k in range(sample):
            gap = self.gaps[k % len(self.gaps)]
            left = int(np.linspace(0, count - 1 - gap, sample)[k])
            params: dict[str, Value] = {"left": left, "right": left + gap, "points": self.points, "seed": seed}
            found.append(Setup(self.dataset, params, self.model))
        return found


WIDE, GAPS = (80,), (20, 50, 90)
GROUPS = [
    Group("House 30v30, A", "house", "A", GAPS),
    Group("Hotel 30v30, A", "hotel", "A", GAPS),
    Group("House 10v30, B", "house", "B", GAPS, 10),
    Group("House 20v30, B", "house", "B", GAPS, 20),
    Group("House 30v30, B", "house", "B", GAPS, 30),
    Group("Hotel 20v30, B", "hotel", "B", GAPS, 20),
    Group("cars + 20, C", "cars", "C", outliers=20),
    Group("motorbikes + 20, C", "motorbikes", "C", outliers=20),
    Group("House 10v30, third", "house", "third", WIDE, 10),
    Group("House 20v30, third", "house", "third", (50,), 20),
    Group("House 30v30, third", "house", "third", (50,), 30),
    Group("cars + 8, third", "cars", "third", outliers=8),
    Group("motorbikes + 8, third", "motorbikes", "third", outliers=8),
]


@dataclass(frozen=True)
class Row:
    """One method on one pair."""

    group: str
    pair: str
    method: str
    objective: float  # an affinity: larger is better
    ratio: float  # to the best known of this pair
    accuracy: float
    iterations: int
    seconds: float
    status: str


def run(
    sample: int = 6,
    seed: int = 0,
    *,
    groups: Sequence[Group] = GROUPS,
    methods: Sequence[str] | None = None,
    time_limit: float = TIME_LIMIT,
    watch: Callable[[Row], object] | None = None,
) -> list[Row]:
    """Rows of all methods that fit, pair by pair; `watch` sees each as it comes and ends the run with True."""
    rows: list[Row] = []
    for group in groups:
        for setup in group.setups(sample, seed):
            pair = DATASETS[group.dataset].load(images=False, **dict[str, Any](setup.dataset_params))
            for row in compete(group.name, setup, pair, methods, time_limit):
                rows.append(row)
                if watch is not None and watch(row) is True:
                    return rows
    return rows


def compete(name: str, setup: Setup, pair: Pair, methods: Sequence[str] | None, time_limit: float) -> list[Row]:
    """All methods, and the truth, on one pair."""
    problem = setup.problem(pair)
    _ = problem.runtime, affinity(problem)  # the tables that all methods share are nobody's time
    chosen = [key for key in comparison.fitting(problem) if methods is None or key in methods]
    found = list(comparison.compare(setup, pair, problem, chosen, time_limit=time_limit))
    assert pair.truth is not None
    truth = true_assignment(problem, pair.truth)
    entries: list[tuple[str, float, float, int, float, str]] = [
        (TRUTH, objective(problem, truth), 1.0, 0, 0.0, ""),
    ]
    for row in found:
        if row.result is None or row.metrics is None:
            entries.append((row.key, np.nan, np.nan, 0, np.nan, row.refusal))
            continue
        accuracy = row.metrics.accuracy if row.metrics.accuracy is not None else np.nan
        value = objective(problem, row.result.assignment)
        entries.append((row.key, value, accuracy, row.result.iterations, row.result.seconds, row.result.status))
    best = float(np.nanmax([entry[1] for entry in entries]))
    return [
        Row(name, pair.name, key, value, value / best if best > 0 else np.nan, accuracy, iterations, seconds, status)
        for key, value, accuracy, iterations, seconds, status in entries
    ]


def objective(problem: Problem, assignment: np.ndarray) -> float:
    """The affinity of a matching: what the rivals maximise."""
    x = assignment.astype(float)
    return float(sum(part @ x for part in affinity(problem).parts(x)))


# ---- the command -------------------------------------------------------------------------------------------------


def add_command(commands: Any) -> None:
    """python -m experiments rivals."""
    parser = commands.add_parser("rivals", help="every method on a fixed sample of real pairs: who wins where")
    parser.add_argument("--sample", type=int, default=6, metavar="N", help="pairs per group (default 6)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample, the points and the outliers (default 0)")
    parser.add_argument("--time-limit", type=float, default=TIME_LIMIT, metavar="SECONDS", help="for each method")
    parser.add_argument("-o", "--output", metavar="DIR", help="write rivals.csv and rivals.md to this folder")
    parser.set_defaults(run=run_command)


def run_command(options: Any) -> int:
    seen = ""

    def watch(row: Row) -> None:
        nonlocal seen
        if row.group != seen:
            seen = row.group
            print(f"… {seen}", file=sys.stderr, flush=True)

    rows = run(options.sample, options.seed, time_limit=options.time_limit, watch=watch)
    text = f"{HEAD.format(sample=options.sample, seed=options.seed, limit=options.time_limit)}\n{table(rows)}"
    print(text)
    if options.output is not None:
        folder = Path(options.output)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "rivals.csv").write_text(to_csv(rows), encoding="utf-8")
        (folder / "rivals.md").write_text(text, encoding="utf-8")
    return 0


# ---- as text -----------------------------------------------------------------------------------------------------


def table(rows: Iterable[Row]) -> str:
    """Markdown: a line per method, a column per group; mean objective / best known · accuracy · median seconds."""
    rows = list(rows)
    names = list(dict.fromkeys(row.group for row in rows))
    parts = []
    for title, orders in (("Pairwise", (1, 2)), ("Third order", (3, 4))):
        mine = [name for name in names if max(MODELS[model_of(name)].orders) in orders]
        if mine:
            parts.append(_table(f"{title}", [row for row in rows if row.group in mine], mine))
    return "\n".join(parts)


def model_of(name: str) -> str:
    return next(group.model for group in GROUPS if group.name == name)


def _table(title: str, rows: Sequence[Row], groups: Sequence[str]) -> str:
    present = {row.method for row in rows}
    methods = [key for key in (TRUTH, *METHODS) if key in present]
    lines = [f"| {title} | {' | '.join(groups)} |", "|---" * (len(groups) + 1) + "|"]
    for method in methods:
        label = "ground truth" if method == TRUTH else METHODS[method].label
        lines.append(f"| {label} | {' | '.join(_cell(rows, group, method) for group in groups)} |")
    return "\n".join(lines) + "\n"


def _cell(rows: Sequence[Row], group: str, method: str) -> str:
    mine = [row for row in rows if (row.group, row.method) == (group, method) and not np.isnan(row.ratio)]
    if not mine:
        return "–"
    ratio = float(np.mean([row.ratio for row in mine]))
    if method == TRUTH:
        return f"{ratio:.3f}"
    others = [row for row in rows if row.group == group and row.method != TRUTH and not np.isnan(row.ratio)]
    means = [np.mean([row.ratio for row in others if row.method == key]) for key in {row.method for row in others}]
    won = f"**{ratio:.3f}**" if ratio >= max(means) - 5e-4 else f"{ratio:.3f}"
    accuracy = float(np.mean([row.accuracy for row in mine]))
    return f"{won} · {accuracy:.2f} · {float(np.median([row.seconds for row in mine])):.3f}"


def to_csv(rows: Iterable[Row]) -> str:
    """Every number in full."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [one.name for one in fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return out.getvalue()
