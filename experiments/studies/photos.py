"""Photographs: what graph matching finds on Oxford's pairs beside the classics, on the same points.

Right is within 4 px of the known map. The constants of the photograph model and of its confidence were chosen on the
pairs with odd numbers (1–3, 1–5); the even ones (1–2, 1–4, 1–6) are told apart. That does not hold for the few that
decide whether a slant is taken, when lines beat places and how many matches make the same thing: graf 1–4, 1–6 and
trees 1–6 were looked at for those, so the even numbers of the second look and of the verified rows are a little kind.
"""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from experiments import runner, store
from experiments.paper import EXPERIMENTS, LOOKS
from experiments.store import Content, Record
from features.datasets.oxford import scenes
from features.tables import Table

DECLARED = EXPERIMENTS["photos"]
ABOUT = {"never": "The strongest points of both photographs", "where needed": "With a second look where little agrees"}
PARTS: dict[str, Callable[[int], bool]] = {
    "all": lambda number: True,
    "odd": lambda number: number % 2 == 1,
    "even": lambda number: number % 2 == 0,
}


def sums(rows: Iterable[Record], method: str, slants: str, part: str = "all") -> tuple[int, int]:
    """Right matches and all matches of a method, over the pairs of one look."""
    mine = [
        row
        for row in rows
        if row["method"] == method and "matched" in row and row["at"]["slants"] == slants and PARTS[part](row["x"])
    ]
    return sum(row["correct"] for row in mine), sum(row["matched"] for row in mine)


def table(rows: Iterable[Record], slants: str) -> Table:
    """Right matches and precision over all pairs, over the odd and over the even ones."""
    rows, lines = list(rows), []
    for method in DECLARED.methods:
        cells = [DECLARED.variant(method).label]
        for part in PARTS:
            right, matched = sums(rows, method, slants, part)
            cells += [f"{right:,}", f"{right / max(matched, 1):.3f}"]
        lines.append(tuple(cells))
    header = ("", *(f"{part}, {what}" for part in PARTS for what in ("right", "precision")))
    return Table(header, tuple(lines))


def text(content: Content) -> str:
    """Markdown: which pairs, and a table for each look."""
    rows = [row for row in content.rows.values() if "matched" in row]
    pairs = {(row["at"]["scene"], row["x"]) for row in rows}
    head = (
        f"{len(pairs)} pairs of Oxford's {', '.join(sorted({scene for scene, _ in pairs}))}. The constants were chosen "
        "on the odd pairs (1–3, 1–5)."
    )
    return "\n\n".join([head, *(f"{ABOUT[slants]}:\n\n{table(rows, slants).markdown()}" for slants in LOOKS)])


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", type=Path, default=Path("runs/photos.jsonl"), metavar="FILE")


def run(options: Any) -> int:
    runner.check_data(DECLARED)
    here = scenes()
    runner.finished(DECLARED, options.store, skip=lambda unit: unit.setup.dataset_params["scene"] not in here)
    print(text(store.read(options.store)))
    return 0
