"""Photographs: what graph matching finds on Oxford's pairs beside the classics, on the same points.

Right is within 4 px of the known map. The constants of the photograph model and of its confidence were chosen on the
pairs with odd numbers (1–3, 1–5); the even ones (1–2, 1–4, 1–6) are told apart. That does not hold for the few that
decide whether a slant is taken, when lines beat places and how many matches make the same thing: graf 1–4, 1–6 and
trees 1–6 were looked at for those, so the even numbers of the second look and of the verified rows are a little kind.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from experiments import runner, store
from experiments.paper import EXPERIMENTS, LOOKS
from experiments.spec import Experiment
from experiments.store import Content, Record
from features.datasets.oxford import scenes
from features.points import learned
from features.tables import Table

DECLARED, LEARNED = EXPERIMENTS["photos"], EXPERIMENTS["photos-learned"]
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


def table(rows: Iterable[Record], slants: str, declared: Experiment = DECLARED) -> Table:
    """Right matches and precision over all pairs, over the odd and over the even ones."""
    rows, lines = list(rows), []
    for method in declared.methods:
        cells = [declared.variant(method).label]
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


def by_scene(rows: Iterable[Record], methods: Sequence[str] = ("adgm", "lap", "lightglue")) -> Table:
    """Right matches of all matches, scene by scene, pairs 1–2 to 1–6."""
    found = {(row["at"]["scene"], row["method"], row["x"]): row for row in rows if "matched" in row}
    pairs = sorted({number for _, _, number in found})
    lines = []
    for scene, method in dict.fromkeys((scene, method) for scene, *_ in found for method in methods):
        mine = [found.get((scene, method, number)) for number in pairs]
        cells = ["" if row is None else f"{row['correct']} / {row['matched']}" for row in mine]
        lines.append((scene, LEARNED.variant(method).label, *cells))
    return Table(("", "", *(f"1–{number}" for number in pairs)), tuple(lines))


def learned_text(content: Content) -> str:
    """Markdown: how many pairs, the methods over all of them, and scene by scene."""
    rows = [row for row in content.rows.values() if "matched" in row]
    pairs = {(row["at"]["scene"], row["x"]) for row in rows}
    head = f"{len(pairs)} pairs of Oxford's {', '.join(sorted({scene for scene, _ in pairs}))}, ALIKED-n16rot."
    return "\n\n".join([head, table(rows, "never", LEARNED).markdown(), by_scene(rows).markdown()])


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", type=Path, metavar="FILE", help="where the rows are kept (runs/NAME.jsonl)")
    parser.add_argument("--learned", action="store_true", help="on ALIKED points, beside LightGlue (extra 'learned')")


def run(options: Any) -> int:
    declared, told = (LEARNED, learned_text) if options.learned else (DECLARED, text)
    if options.learned and (why := learned.missing()):
        raise ValueError(f"The points of a network cannot be found here: {why}")
    runner.check_data(declared)
    here, path = scenes(), options.store or Path(f"runs/{declared.name}.jsonl")
    runner.finished(declared, path, skip=lambda unit: unit.setup.dataset_params["scene"] not in here)
    print(told(store.read(path)))
    return 0
