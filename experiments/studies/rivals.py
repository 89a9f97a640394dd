"""Who wins where: every method on a fixed sample of real pairs, to stand beside the numbers known of the rivals.

Groups follow the settings in which the rivals were measured with other people's programs: House and Hotel by the gap
between frames and the number of left points, cars and motorbikes with outliers. An objective is told as a share of the
best known of the pair, be that a method's or the truth's.
"""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from adgm import METHODS
from experiments import runner, store
from experiments.spec import Experiment, Panel
from experiments.store import Record
from experiments.summary import pair_of, share
from features.models import MODELS
from features.tables import Table

HEAD = """\
Mean objective as a share of the best known of each pair · mean accuracy · median seconds. {sample} pairs per group,
seed {seed}, at most {limit:g} s per method; the best objectives in bold. Times are wall clock of one run: read ratios.
Where the ground truth has less than the best known, the model prefers another matching.

Made by `python -m experiments rivals --sample {sample} --seed {seed} --time-limit {limit:g} -o assets/results`.
"""
GAPS = (20, 50, 90)
FRAMES = (  # data set, model, gaps, left points
    ("house", "A", GAPS, 30),
    ("hotel", "A", GAPS, 30),
    ("house", "B", GAPS, 10),
    ("house", "B", GAPS, 20),
    ("house", "B", GAPS, 30),
    ("hotel", "B", GAPS, 20),
    ("house", "third", (80,), 10),
    ("house", "third", (50,), 20),
    ("house", "third", (50,), 30),
)
PHOTOS = (("cars", "C", 20), ("motorbikes", "C", 20), ("cars", "third", 8), ("motorbikes", "third", 8))  # outliers


def experiment(sample: int = 6, seed: int = 0, time_limit: float = 10.0) -> Experiment:
    """Frames spread over the sequences for each gap in turn, and pairs of photographs."""
    if sample < 1:
        raise ValueError(f"The sample is {sample} pairs per group; expected at least 1.")
    title = "{} {}v30, {}"
    frames = [
        Panel(title.format(name.capitalize(), n, model), name, model, "spread", gaps=gaps, dataset_params={"points": n})
        for name, model, gaps, n in FRAMES
    ]
    photos = [
        Panel(f"{name} + {size}, {model}", name, model, "numbers", shuffle=seed, dataset_params={"outliers": size})
        for name, model, size in PHOTOS
    ]
    return Experiment(
        "rivals",
        "Who wins where",
        (*(replace(panel, count=sample) for panel in frames), *photos),
        tuple(METHODS),
        about="Every method on a fixed sample of real pairs.",
        measures=("best", "accuracy", "seconds", "to_best"),
        seeds=(seed,),
        time_limit=time_limit,
    )


# ---- as text -----------------------------------------------------------------------------------------------------


def tables(rows: Iterable[Record]) -> list[Table]:
    """Pairwise and third order: a line per method, a column per group; objective / best known · accuracy · seconds."""
    found = [row for row in rows if row.get("objective") is not None]
    best: dict[str, float] = {}
    for row in found:
        best[pair_of(row)] = max(best.get(pair_of(row), -np.inf), row["objective"], row["truth_objective"])
    told = [
        {**row, "share": row["objective"] / best[pair_of(row)], "truth": row["truth_objective"] / best[pair_of(row)]}
        for row in found
    ]
    known = {panel.title: panel for panel in experiment().panels}
    parts = (("Pairwise", (1, 2)), ("Third order", (3, 4)))
    titles = {name: [t for t, p in known.items() if max(MODELS[p.model].orders) in orders] for name, orders in parts}
    return [
        _table(name, mine, groups)
        for name, groups in titles.items()
        if (mine := [row for row in told if row["panel"] in groups])
    ]


def _table(title: str, rows: Sequence[Record], groups: Sequence[str]) -> Table:
    present = {row["method"] for row in rows}
    columns = [group for group in groups if any(row["panel"] == group for row in rows)]
    lines = [("ground truth", *(_truth([row for row in rows if row["panel"] == group]) for group in columns))]
    for method in (key for key in METHODS if key in present):
        cells = (_cell([row for row in rows if row["panel"] == group], method) for group in columns)
        lines.append((METHODS[method].label, *cells))
    return Table((title, *columns), tuple(lines), align="l" * (len(columns) + 1))


def _truth(rows: Sequence[Record]) -> str:
    shares = {pair_of(row): row["truth"] for row in rows}
    return f"{np.mean(list(shares.values())):.3f}"


def _cell(rows: Sequence[Record], method: str) -> str:
    shares: dict[str, list[float]] = {}
    for row in rows:
        shares.setdefault(row["method"], []).append(row["share"])
    if method not in shares:
        return "–"
    mine = [row for row in rows if row["method"] == method]
    means = {key: float(np.mean(values)) for key, values in shares.items()}
    won = f"**{means[method]:.3f}**" if means[method] >= max(means.values()) - 5e-4 else f"{means[method]:.3f}"
    accuracy = np.mean([(share(row) or 0.0) / 100 for row in mine])
    return f"{won} · {accuracy:.2f} · {np.median([row['seconds'] for row in mine]):.3f}"


def text(rows: Iterable[Record], sample: int, seed: int, limit: float) -> str:
    """Markdown: what was measured, and the tables."""
    return "\n".join([HEAD.format(sample=sample, seed=seed, limit=limit), *(one.markdown() for one in tables(rows))])


# ---- the command -------------------------------------------------------------------------------------------------


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sample", type=int, default=6, metavar="N", help="pairs per group (default 6)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample, the points and the outliers (default 0)")
    parser.add_argument("--time-limit", type=float, default=10.0, metavar="SECONDS", help="for each method")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="write rivals.md and the rows to this folder")


def run(options: Any) -> int:
    spec = experiment(options.sample, options.seed, options.time_limit)
    path = Path("runs") / f"rivals-{options.time_limit:g}s.jsonl"
    rows = runner.finished(spec, path, sample=options.sample)
    said = f"# {spec.title}\n\n{text(rows, options.sample, options.seed, options.time_limit)}"
    print(said)
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / "rivals.md").write_text(said, encoding="utf-8")
        store.pack(store.read(path), options.output / "rivals.jsonl.gz")
    return 0
