"""Photographs: what graph matching finds on Oxford's pairs beside the classics, on the same points.

Right is within 4 px of the known map. The constants of the photograph model and of its confidence were chosen on the
pairs with odd numbers (1–3, 1–5); the even ones (1–2, 1–4, 1–6) are told apart. That does not hold for the few that
decide whether a slant is taken, when lines beat places and how many matches make the same thing: graf 1–4, 1–6 and
trees 1–6 were looked at for those, so the even numbers of the rows "slant" and of the verified ones are a little kind.
No engine runs this: a classic and a verification solve no problem, so a row is a pair and a way to match it.
"""

import argparse
import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adgm import METHODS, solve
from experiments.store import SHIPPED
from features.datasets import DATASETS
from features.datasets.oxford import LAST, scenes
from features.models import MODELS
from features.pairs import Pair
from features.ransac import CLASSICS
from features.slants import SIDES
from features.tables import Table
from features.verification import verify

Matches = NDArray[np.int64]

FILE = SHIPPED / "photos.csv"
POINTS = 600


@dataclass(frozen=True)
class Row:
    """One way on one pair."""

    scene: str
    number: int
    look: str  # "plain": the strongest points; "slant": one photograph was looked at from a slant, as the app does
    method: str
    right: int
    matched: int
    possible: int
    seconds: float

    @property
    def odd(self) -> bool:
        return self.number % 2 == 1


def alone(pair: Pair) -> Matches:
    return solve(MODELS["photo"].build(pair), METHODS["adgm"].make()).pairs


def with_map(pair: Pair) -> Matches:
    found = verify(pair, alone(pair))
    return found.matches if found.same else np.empty((0, 2), np.int64)


def classic(key: str) -> Callable[[Pair], Matches]:
    def run(pair: Pair) -> Matches:
        partner = CLASSICS[key].matching(pair)
        rows = np.flatnonzero(partner >= 0)
        return np.stack([rows, partner[rows]], axis=1)

    return run


WAYS: dict[str, tuple[str, Callable[[Pair], Matches]]] = {
    "mutual": ("Mutual nearest neighbours", classic("mutual")),
    "ratio": ("Ratio test 0.8", classic("ratio")),
    "photo": ("**Graph matching alone**", alone),
    "mutual+magsac": ("Mutual nearest neighbours + MAGSAC", classic("mutual+magsac")),
    "ratio+magsac": ("Ratio test 0.8 + MAGSAC", classic("ratio+magsac")),
    "photo+map": ("**Graph matching, verified and completed**", with_map),
}


def pairs(names: Sequence[str], points: int) -> Iterator[tuple[str, int, str, Pair]]:
    """Every pair of the scenes: with the strongest points of both, and again from a slant where that was taken."""
    for scene in names:
        for number in range(2, LAST + 1):
            pair = DATASETS["oxford"].load(scene=scene, number=number, points=points, seed=-1)
            slanted = any(view.points.shape is not None for view in (pair.left, pair.right))
            plain = pair.detected("sift", dict.fromkeys(SIDES, points)) if slanted else pair
            yield scene, number, "plain", plain
            yield scene, number, "slant", pair


def measured(names: Sequence[str], points: int, told: Callable[[str], object] = print) -> Iterator[Row]:
    for scene, number, look, pair in pairs(names, points):
        line = f"{scene} 1–{number} {look}:"
        for key, (_, way) in WAYS.items():
            began = perf_counter()
            found = way(pair)
            seconds = perf_counter() - began
            right = int(pair.correct(found).sum())
            line += f" {key} {right}/{len(found)}"
            yield Row(scene, number, look, key, right, len(found), int(pair.has_partner.sum()), round(seconds, 4))
        told(line)


def table(rows: Sequence[Row], look: str = "plain") -> Table:
    """Sums over all pairs, over the odd and over the even ones: right matches and precision."""
    parts: dict[str, Callable[[Row], bool]] = {
        "all": lambda row: True,
        "odd": lambda row: row.odd,
        "even": lambda row: not row.odd,
    }
    lines = []
    for key, (label, _) in WAYS.items():
        cells = [label]
        for belongs in parts.values():
            mine = [row for row in rows if row.method == key and row.look == look and belongs(row)]
            right, matched = sum(row.right for row in mine), sum(row.matched for row in mine)
            cells += [f"{right:,}", f"{right / max(matched, 1):.3f}"]
        lines.append(tuple(cells))
    header = ("", *(f"{part}, {what}" for part in parts for what in ("right", "precision")))
    return Table(header, tuple(lines))


def save(rows: Sequence[Row], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def read(path: Path = FILE) -> list[Row]:
    kinds: dict[str, Callable[[str], Any]] = {"number": int, "right": int, "matched": int, "possible": int}
    kinds["seconds"] = float
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file)
        return [Row(**{name: kinds.get(name, str)(value) for name, value in line.items()}) for line in lines]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scenes", metavar="A,B", help="which (default: all that are on this computer)")
    parser.add_argument("--points", type=int, default=POINTS, metavar="N", help="per photograph (default %(default)s)")
    parser.add_argument("-o", "--output", type=Path, default=Path("runs/photos.csv"), metavar="FILE")


def run(options: Any) -> int:
    names = scenes() if not options.scenes else [name.strip() for name in options.scenes.split(",")]
    if not names:
        raise ValueError("No scene of Oxford is on this computer: python -m features datasets --download oxford")
    rows = list(measured(names, options.points))
    save(rows, options.output)
    for look in ("plain", "slant"):
        print(f"\n{look}\n{table(rows, look).markdown()}")
    print(f"Rows are in {options.output}.")
    return 0
