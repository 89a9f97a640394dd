"""SELECTIONS: the ways to choose pairs of a data set, and samples of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from features.datasets import DATASETS

if TYPE_CHECKING:
    from experiments.spec import Panel

Params = dict[str, Any]


@dataclass(frozen=True)
class Selection:
    """A way to name the pairs of a panel by its data set's parameters. The only place where pairs are chosen."""

    about: str
    needs: tuple[str, ...]  # parameters that the data set must have
    pairs: Callable[[Panel, int], list[Params]]  # of a panel and a gap, in a fixed order


def all_frames(panel: Panel, gap: int) -> list[Params]:
    count = DATASETS[panel.dataset].count or 0
    return [{"left": left, "right": right} for left in panel.kept(0, count) for right in range(left + 1, count)]


def frames_apart(panel: Panel, gap: int) -> list[Params]:
    count = DATASETS[panel.dataset].count or 0
    return [{"left": left, "right": left + gap} for left in panel.kept(0, count - gap)]


def frames_in_turn(panel: Panel, gap: int) -> list[Params]:
    """Every gap in turn, and for each the left frames in a random order."""
    rng = np.random.default_rng(panel.shuffle)
    apart = [frames_apart(panel, gap) for gap in panel.gaps]
    queues = [[pairs[k] for k in rng.permutation(len(pairs))] for pairs in apart]
    longest = max(map(len, queues), default=0)
    return [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)][: panel.count]


def frames_spread(panel: Panel, gap: int) -> list[Params]:
    """Every gap in turn, the left frames evenly from the first to the last."""
    last = (DATASETS[panel.dataset].count or 0) - 1
    gaps = [panel.gaps[k % len(panel.gaps)] for k in range(panel.count)]
    lefts = [int(np.linspace(0, last - gap, panel.count)[k]) for k, gap in enumerate(gaps)]
    return [{"left": left, "right": left + gap} for left, gap in zip(lefts, gaps, strict=True)]


def numbered(panel: Panel, gap: int) -> list[Params]:
    return [{"number": number} for number in panel.kept(1, (DATASETS[panel.dataset].count or 0) + 1)]


def first_numbers(panel: Panel, gap: int) -> list[Params]:
    return [{**pair, "seed": pair["number"]} for pair in numbered(panel, gap)[: panel.count]]


def drawn(panel: Panel, gap: int) -> list[Params]:
    return [{} for _ in range(panel.count)]  # their seeds tell them apart


FRAMES = ("left", "right")
SELECTIONS: dict[str, Selection] = {
    "all": Selection("every two frames", FRAMES, all_frames),
    "gap": Selection("every two frames that are so far apart", FRAMES, frames_apart),
    "turns": Selection("`count` pairs of frames, the `gaps` in turn, frames at random", FRAMES, frames_in_turn),
    "spread": Selection("`count` pairs of frames, the `gaps` in turn, frames evenly spread", FRAMES, frames_spread),
    "numbers": Selection("every pair of the set", ("number",), numbered),
    "first": Selection("the first `count` pairs of the set, each with its number as seed", ("number",), first_numbers),
    "drawn": Selection("random pairs, one per seed", (), drawn),
}


def sampled(pairs: list[Params], sample: int | None, seed: int = 0) -> list[tuple[int, Params]]:
    """(number, pair) of the first `sample` in a fixed random order; all of them, in their own order, if None."""
    if sample is None:
        return list(enumerate(pairs))
    if sample < 1:
        raise ValueError(f"The sample is {sample} pairs per setting; expected at least 1.")
    order = np.random.default_rng(seed).permutation(len(pairs))[:sample]
    return [(int(k), pairs[k]) for k in order]
