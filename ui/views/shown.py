"""What lies over the images: tracks or pairs alone, the lines of a point that is picked, and what the marks mean."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from adgm.views import cycle_errors
from adgm.views.returns import returns
from adgm.views.tracks import Couple, Tracks, both_ways, matching, table
from features.views import Step, ViewSet
from features.views.found import PairFound
from ui.parts.canvas.views import Line, LineKind, Marks, Point, Shown
from ui.views.run import Picked

Longs = NDArray[np.int64]
Matchings = Mapping[Couple, Longs]
MOST_LINES = 400


def nothing(view_set: ViewSet) -> Shown:
    """The views before a run."""
    marks = Marks([np.zeros(size, np.int64) for size in view_set.sizes], tracks=False)
    return Shown(marks, label=f"{len(view_set)} views: {', '.join(view_set.names)}")


def shown(view_set: ViewSet, step: Step | None, pairs: Mapping[Couple, PairFound], picked: Picked) -> Shown:
    """The tracks of a step, or what the pairs alone say where there are no tracks."""
    alone = {couple: found.matching for couple, found in pairs.items()}
    if step is None or step.tracks is None:
        return of_pairs(view_set, alone, picked)
    return of_tracks(view_set, step.tracks, alone, picked)


# ---- tracks -----------------------------------------------------------------------------------------------------


def of_tracks(view_set: ViewSet, tracks: Tracks, alone: Matchings, picked: Picked) -> Shown:
    on = table(tracks)
    long = (on >= 0).sum(axis=1) > 1
    wrong = wrong_points(view_set, on, long)
    marks = Marks([np.where(long[one], one, -1) for one in tracks], tracks=True, wrong=wrong)
    lines: list[Line] = []
    if picked.couple is not None:
        lines = between(view_set, *picked.couple, matching(tracks, *picked.couple), alone)
    elif picked.point is not None and (track := _track(tracks, picked.point)) is not None:
        lines = along(view_set, on[track], alone)
    told = [("", f"{int(long.sum())} tracks, one colour each")]
    if view_set.judged:
        told += (
            [("right", "right"), ("wrong", "wrong")]
            if lines
            else [("", "red rim: on a wrong track")] * any(map(len, wrong))
        )
    elif lines:
        told += [("agrees", "the pair alone says so, too"), ("joined", "follows from the track")]
    return Shown(marks, lines, picked.point, told, f"{len(view_set)} views with {int(long.sum())} tracks")


def _track(tracks: Tracks, point: Point) -> int | None:
    i, p = point
    return int(tracks[i][p]) if i < len(tracks) and p < len(tracks[i]) else None


def wrong_points(view_set: ViewSet, on: Longs, long: NDArray[np.bool_]) -> list[Longs]:
    """Of every view the points whose track joins what does not belong together, where that is known."""
    found: list[list[int]] = [[] for _ in view_set.sizes]
    if view_set.judged:
        for points in on[long]:
            seen = np.flatnonzero(points >= 0).tolist()
            ends = [(i, j) for i, j in pairwise(seen)]
            if all(view_set.known(i, j).correct([[points[i], points[j]]])[0] for i, j in ends):
                continue
            for i in seen:
                found[i].append(int(points[i]))
    return [np.array(one, np.int64) for one in found]


def along(view_set: ViewSet, points: Longs, alone: Matchings) -> list[Line]:
    """A track from view to view, and back to its first one."""
    seen = np.flatnonzero(points >= 0).tolist()
    ends = [*pairwise(seen), (seen[0], seen[-1])] if len(seen) > 2 else list(pairwise(seen))
    return [
        Line(i, int(points[i]), j, int(points[j]), kind(view_set, i, points[i], j, points[j], alone)) for i, j in ends
    ]


def kind(view_set: ViewSet, i: int, p: int, j: int, q: int, alone: Matchings) -> LineKind:
    """What is known about a match: whether it is right, or else whether the pair alone made it."""
    if view_set.judged:
        return "right" if view_set.known(i, j).correct([[p, q]])[0] else "wrong"
    return "agrees" if (i, j) in alone and alone[i, j][p] == q else "joined"


def between(view_set: ViewSet, i: int, j: int, partner: Longs, alone: Matchings) -> list[Line]:
    """All matches of a pair of views."""
    p = np.flatnonzero(partner >= 0)[:MOST_LINES].tolist()
    return [Line(i, a, j, int(partner[a]), kind(view_set, i, a, j, int(partner[a]), alone)) for a in p]


# ---- pairs alone ------------------------------------------------------------------------------------------------


def of_pairs(view_set: ViewSet, alone: Matchings, picked: Picked) -> Shown:
    ways = returns(view_set.sizes, alone)
    kinds = [np.where(one[:, 1] > 0, 2, np.where(one[:, 0] > 0, 1, 0)) for one in ways]
    lines: list[Line] = []
    if picked.couple is not None and picked.couple in alone:
        lines = between(view_set, *picked.couple, alone[picked.couple], alone)
    elif picked.point is not None:
        lines = fan(view_set.sizes, picked.point, alone)
    astray = sum(int((one == 2).sum()) for one in kinds)
    closed = sum(int((one == 1).sum()) for one in kinds)
    told = [("closed", f"{closed} points come back"), ("astray", f"{astray} points do not")] if closed + astray else []
    if lines and picked.point is not None:
        told = [("joined", "its partners"), ("agrees", "they agree"), ("wrong", "leads elsewhere")]
    return Shown(
        Marks(kinds, tracks=False, ways=ways), lines, picked.point, told, f"{len(view_set)} views, pairs alone"
    )


def fan(sizes: Sequence[int], point: Point, alone: Matchings) -> list[Line]:
    """The partners of a point in all views, and whether these are one another's partners: where they are not, a line
    shows where a pair leads instead."""
    every, (i, p) = both_ways(sizes, alone), point
    if i >= len(sizes) or p >= sizes[i]:
        return []
    partners = {j: int(every[i, j][p]) for j in range(len(sizes)) if (i, j) in every and every[i, j][p] >= 0}
    found = [Line(i, p, j, q, "joined") for j, q in partners.items()]
    for j, q in partners.items():
        for k in partners:
            if j < k and (j, k) in every:
                end = int(every[j, k][q])
                if end == partners[k]:
                    found.append(Line(j, q, k, end, "agrees"))
                elif end >= 0:
                    found.append(Line(j, q, k, end, "wrong"))
    return found[:MOST_LINES]


# ---- all pairs --------------------------------------------------------------------------------------------------


def counted(
    view_set: ViewSet, step: Step | None, pairs: Mapping[Couple, PairFound]
) -> tuple[list[list[int | None]], NDArray[np.float64]]:
    """Of every pair how many matches it has (None: not compared), and the share of ways that contradict it."""
    count = len(view_set)
    alone = {couple: found.matching for couple, found in pairs.items()}
    if step is not None and step.tracks is not None:
        tracks = step.tracks
        alone = {(i, j): matching(tracks, i, j) for i in range(count) for j in range(i + 1, count)}
    made: list[list[int | None]] = [
        [int((alone[i, j] >= 0).sum()) if (i, j) in alone else None for j in range(count)] for i in range(count)
    ]
    return made, cycle_errors(view_set.sizes, alone)
