"""Several views by pylibmgm's `solve_mgm`, where the user has installed it (GPL: no requirement of ours, and never
imported here; see `adgm.rivals.libmgm`)."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from adgm import rivals
from adgm._kernels import LongArray
from adgm.rivals.libmgm import NAME, ask, installed
from adgm.views.joint import JointProblem
from adgm.views.states import JointState, Matchings
from adgm.views.tracks import Tracks, alone, numbered

PROGRAM = Path(rivals.__file__).with_name("libmgm_several.py")


def refusal(problem: JointProblem) -> str:
    """Why this joint problem is not for the library, in a sentence; empty if it is."""
    if not installed():
        return f"{NAME} is not installed: pip install {NAME} (its licence is the GPL)."
    if any(part.variables.shape[1] > 2 for couple in problem.couples for part in problem.table(*couple).parts):
        return f"{NAME} takes costs of single matches and of pairs of them only."
    views = len(problem.sizes)
    if len(problem.couples) < views * (views - 1) // 2:
        return f"{NAME} takes problems with costs for every pair of views."
    if problem.forced or problem.absent is not None:
        return f"{NAME} takes no matches that are forced, and no costs of matches that are no candidates."
    return ""


@dataclass(frozen=True)
class LibMGMTracks:
    """The library's construction, rematching and exchanges, in one step."""

    def init(self, problem: JointProblem, matchings: Matchings, start: Tracks | None = None) -> JointState:
        if told := refusal(problem):
            raise ValueError(told)
        return JointState(tracks=start or alone(problem.sizes), matchings=matchings)

    def done(self, state: JointState) -> bool:
        return state.converged

    def step(self, problem: JointProblem, state: JointState) -> JointState:
        lines: list[str] = []
        ask(_asked(problem), lines, PROGRAM)
        labels = [np.full(size, -1) for size in problem.sizes]
        for number, track in enumerate(json.loads(lines[-1])):
            for view, point in track:
                labels[view][point] = number
        found = numbered(_completed(labels, problem.complete))
        placed = tuple(range(len(labels)))
        told = replace(state, iteration=1, tracks=found, energy=problem.energy(found), kind="synchronise", kept=True)
        return replace(told, placed=placed, converged=True)


def _completed(labels: list[LongArray], complete: bool) -> list[LongArray]:
    """Points that are on no track go where there is room, if every track has to pass through every view, else alone."""
    free = 1 + max(int(one.max(initial=-1)) for one in labels)
    for one in labels:
        lacking = np.flatnonzero(one < 0)
        if complete:
            one[lacking] = np.setdiff1d(np.arange(len(one)), one)[: len(lacking)]
        else:
            one[lacking] = free + np.arange(len(lacking))
            free += len(lacking)
    return labels


def _asked(problem: JointProblem) -> dict[str, Any]:
    """The pairs as flat arrays. The library leaves unmatched what does not pay; where all has to be matched, every
    match earns more than costs can take away."""
    found: dict[str, Any] = {"sizes": np.array(problem.sizes), "couples": np.array(problem.couples)}
    for k, couple in enumerate(problem.couples):
        table = problem.table(*couple)
        pairs = [part for part in table.parts if part.variables.shape[1] == 2]
        sets = np.concatenate([np.empty((0, 2), np.int64), *(part.variables for part in pairs)])
        costs = np.concatenate([np.empty(0), *(part.costs for part in pairs)])
        single = table.single
        if problem.complete:
            largest = max(np.abs(single).max(initial=0.0), np.abs(costs).max(initial=0.0))
            single = single - 2.0 * largest * max(table.shape)
        nodes = np.stack(table.sides(False), axis=1)
        found |= {f"nodes{k}": nodes, f"single{k}": single, f"sets{k}": sets, f"costs{k}": costs}
    return found
