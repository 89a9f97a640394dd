"""A pairwise problem as `_kernels.bound` takes it: labels, costs that may move, and the subproblems of a search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import fsum

import numpy as np
from numpy.typing import NDArray

from adgm import _kernels as kernels
from adgm._kernels import Assigned, Costs, FloatArray, Labels, LongArray
from adgm.costs.pairs import PairCosts
from adgm.machine.deadline import check_time
from adgm.problem import ANY, AT_MOST_ONE, EXACTLY_ONE, Problem
from adgm.rounding import Assignment

PIECE = 1 << 19  # pairs of labels between two looks at the clock
COPIES = 3  # matrices over all pairs of labels that are held at once: the costs as given, moved, and being moved
PATIENCE = 10  # a node is split when this many sweeps hardly close its gap
EPS = np.finfo(float).eps
ROUNDING = 16 * EPS  # twice what a sweep can add: 16 roundings of a pair's cost, half an eps each


def refusal(problem: Problem, highest: int = 2) -> str:
    """Why a problem is not bounded here, in a sentence; empty if it is. `highest`: up to which order."""
    if problem.order > highest:
        return f"Orders up to {highest} are bounded here, and this problem is of order {problem.order}."
    if ANY in (problem.rows, problem.cols):
        return "Lower bounds need at most one partner per node on both sides, and this problem allows any number."
    return ""


def label(problem: Problem) -> tuple[Labels, LongArray]:
    """The problem's variables as labels of rows that take exactly one each, and the variable behind each label.

    Rows are the side that must be matched. Where neither must, they are the smaller side, and every row gets a last
    label "nobody" (variable −1) in a column of its own that serves any number.
    """
    if why := refusal(problem):
        raise ValueError(why)
    layout, shape = problem.layout, problem.shape
    optional = problem.rows == problem.cols == AT_MOST_ONE
    row, col = (layout.col, layout.row) if by_column(problem) else (layout.row, layout.col)
    rows, width = shape[::-1] if by_column(problem) else shape
    nobody = rows if optional else 0
    row = np.concatenate([row, np.arange(nobody)])
    col = np.concatenate([col, np.full(nobody, width)])
    variable = np.concatenate([np.arange(problem.n), np.full(nobody, -1)])
    order = np.lexsort((col, row))
    return Labels(offsets(row[order], rows), row[order], col[order], width), variable[order]


def by_column(problem: Problem) -> bool:
    """Whether the columns of the assignment are the rows of labels."""
    fewer = problem.shape[1] < problem.shape[0]
    return problem.rows != EXACTLY_ONE and (problem.cols == EXACTLY_ONE or fewer)


def bytes_needed(problem: Problem) -> int:
    """What the ascent holds in memory."""
    return COPIES * 8 * (problem.n + min(problem.shape)) ** 2


def quick_bound(problem: Problem) -> tuple[float, Assignment]:
    """Gilmore and Lawler's bound (1962), the ascent's first step with every pair's cost shared equally, and the
    matching it suggests. It holds no matrix, so it serves problems too large for more."""
    labels, variable = label(problem)
    costs, out, n = problem.derived(PairCosts), scratch(labels), len(variable)
    single, real = np.zeros(n), np.flatnonzero(variable >= 0)
    place = np.empty(problem.n, np.int64)
    place[variable[real]] = real
    largest = float(np.abs(costs.single).max())
    cost = np.zeros(n)
    for some, values in costs.chunks():
        largest = max(largest, float(np.abs(values).max()))
        for v, row in zip(some, values, strict=True):
            p = place[v]
            cost[place] = 0.5 * row
            excluded = (labels.col == labels.col[p]) & (variable >= 0)
            single[p] = costs.single[v] + kernels.assign(labels, np.where(excluded, np.inf, cost), labels.row[p], out)
    offset = lowered(single, labels.start[:-1])
    total = kernels.assign(labels, single, -1, out) + offset
    rows = len(labels.start) - 1
    assignment = np.zeros(problem.n, bool)
    chosen = variable[out.choice]
    assignment[chosen[chosen >= 0]] = True
    return float(total - ROUNDING * (rows + 1) ** 2 * max(largest, float(np.abs(single).max()))), assignment


@dataclass(frozen=True, eq=False)
class Root:
    """The whole problem in labels, with the costs as given but for what every matching pays."""

    labels: Labels
    variable: LongArray  # the problem's variable behind a label, −1 for nobody
    offset: float  # what every matching pays
    single: FloatArray
    pair: FloatArray  # both directions in one, infinite where two labels exclude each other
    keep_unused: bool  # whether a column can stay unused

    def __init__(self, problem: Problem) -> None:
        labels, variable = label(problem)
        if (needed := bytes_needed(problem)) > problem.memory:
            raise ValueError(
                f"The search holds the costs of all pairs of {len(variable)} labels, {needed / 2**30:.1f} GiB, and the "
                f"problem's memory is limited to {problem.memory / 2**30:.1f} GiB; use fewer candidates or allow more."
            )
        n, rows = len(variable), len(labels.start) - 1
        costs, real = problem.derived(PairCosts), np.flatnonzero(variable >= 0)
        single, pair = np.zeros(n), np.zeros((n, n))
        single[real] = costs.single[variable[real]]
        at = np.empty(problem.n, np.int64)
        at[variable[real]] = real
        for some, values in costs.chunks():
            pair[np.ix_(at[some], at)] = values
        pair[exclude(labels)] = np.inf
        offset = lowered(single, labels.start[:-1]) + lowered_blocks(pair, labels.start[:-1])
        for name, value in {
            "labels": labels,
            "variable": variable,
            "offset": offset,
            "single": single,
            "pair": pair,
            "keep_unused": n > problem.n or labels.width > rows,
        }.items():
            object.__setattr__(self, name, value)

    def node(self) -> Node:
        """The whole problem as the first subproblem."""
        labels, n = self.labels, len(self.single)
        pair = 0.5 * self.pair
        unused = np.zeros((n + 1, labels.width + 1) if self.keep_unused else (0, 0))
        costs = Costs(self.single.copy(), pair, unused)
        largest = float(max(self.single.max(), self.pair.max(initial=0.0, where=np.isfinite(self.pair))))
        return Node(labels, costs, np.arange(n), np.empty(0, np.int64), largest=largest)

    def matching(self, chosen: LongArray) -> Assignment:
        """The matching that these labels, one for every row, stand for."""
        return matching_of(self.variable, chosen)


@dataclass(frozen=True, eq=False)
class Node:
    """What is left of the problem when some labels are chosen and others ruled out; never changed once made."""

    labels: Labels
    costs: Costs
    names: LongArray  # a label's number in the root
    chosen: LongArray  # the root's labels already taken
    base: float = 0.0
    error: float = 0.0  # what rounding may have added to the base so far
    lower: float = -np.inf  # no matching that is left costs less
    largest: float = 0.0  # magnitude of the costs in the last sweep
    pending: int = -1  # a label still to be chosen: branches are opened late and share their parent's arrays
    gains: tuple[float, ...] = ()  # the base after each sweep

    @property
    def rows(self) -> int:
        return len(self.labels.start) - 1

    @property
    def alive(self) -> int:
        """How many labels are left."""
        return len(self.names)

    @property
    def work(self) -> float:
        """Pair costs that a sweep visits."""
        return float(len(self.names)) ** 2

    @property
    def patience(self) -> int:
        return PATIENCE

    @property
    def looks(self) -> int:
        """Sweeps between two looks at the matching that the node suggests: a local search is cheap beside a sweep."""
        return 1

    @property
    def nbytes(self) -> int:
        return self.costs.pair.nbytes

    def copy(self) -> Node:
        return replace(self, costs=Costs(*(a.copy() for a in self.costs)))

    def swept(self, limit: float, take: float, seed: tuple[int, int], probing: bool) -> tuple[Node, LongArray | None]:
        """One sweep further, on this node's own arrays, and the root labels of the cheapest assignment.

        Matchings that cost `limit` or more are no longer looked for; None: there are no others.
        """
        unit = ROUNDING * (self.rows + 1) ** 2
        limit = limit + self.error + 4 * unit * self.largest  # a sweep may treble a cost
        out, cost = scratch(self.labels), np.empty(len(self.names))
        labels, costs, largest = self.labels, self.costs, 0.0
        if probing and np.isfinite(limit):
            for some in pieces(np.arange(len(cost))):
                kernels.probe(labels, costs, self.base, limit, some, cost, out)
        kernels.share_out(labels, costs)
        for some in pieces(visiting_order(labels, seed)):
            largest = max(largest, kernels.visit(labels, costs, self.base, limit, take, some, cost, out))
        base = kernels.settle(labels, costs, self.base, limit, out)
        if base >= limit:
            return replace(self, lower=np.inf), None
        largest = max(largest, abs(base), abs(self.base))
        error = self.error + unit * largest
        chosen = np.concatenate([self.chosen, self.names[out.choice]])
        node = replace(
            self,
            base=base,
            error=error,
            lower=max(self.lower, base - error),
            largest=largest,
            gains=(*self.gains, base),
        )
        alive = np.isfinite(self.costs.single)
        return (node.only(alive) if alive.mean() < 0.9 else node), chosen

    def ends(self) -> list[LongArray] | None:
        """The choices that are left, as the root's labels, where at most one row has one to make; None elsewhere."""
        if self.rows > 1:
            return None
        return [np.append(self.chosen, name) for name in self.names[np.isfinite(self.costs.single)]]

    def only(self, kept: NDArray[np.bool_]) -> Node:
        """Without the other labels."""
        costs, labels = self.costs, self.labels
        keep_unused = np.append(kept, True) if costs.unused.size else np.zeros(0, bool)
        row = labels.row[kept]
        return replace(
            self,
            labels=Labels(offsets(row, self.rows), row, labels.col[kept], labels.width),
            costs=Costs(costs.single[kept], costs.pair[np.ix_(kept, kept)], costs.unused[keep_unused]),
            names=self.names[kept],
        )

    def branches(self, limit: float) -> list[Node]:
        """One node for every label of the row that promises the least work, unopened."""
        labels, single = self.labels, self.costs.single
        gap = max(limit - self.base, 1e-300)
        work = np.where(np.isfinite(single), np.maximum(1.0 - single / gap, 0.0) + 1e-3, 0.0)
        row = int(np.argmin(np.add.reduceat(work, labels.start[:-1])))
        mine = np.arange(labels.start[row], labels.start[row + 1])
        return [
            replace(self, pending=int(p), lower=max(self.lower, self.base + single[p] - self.error))
            for p in mine[np.isfinite(single[mine])]
        ]

    def opened(self, limit: float) -> Node:
        """With the pending label chosen: what its pairs cost becomes the others' single cost."""
        p, labels, (single, pair, unused) = self.pending, self.labels, self.costs
        if p < 0:
            return self.copy()
        kept = (labels.row != labels.row[p]) & np.isfinite(pair[p]) & np.isfinite(single)
        row = labels.row[kept] - (labels.row[kept] > labels.row[p])
        if unused.size:
            unused = np.concatenate([unused[:-1][kept], unused[-1:] + unused[p]])
            if labels.col[p] < labels.width:
                unused[:, labels.col[p]] = 0.0  # this column is used
        costs = Costs((single + pair[p] + pair[:, p])[kept], pair[np.ix_(kept, kept)], unused)
        inner = Labels(offsets(row, self.rows - 1), row, labels.col[kept], labels.width)
        error = self.error + ROUNDING * (self.rows + 1) ** 2 * self.largest
        base = kernels.settle(inner, costs, self.base + single[p], limit + error, scratch(inner))
        return Node(
            inner,
            costs,
            self.names[kept],
            np.append(self.chosen, self.names[p]),
            base=base,
            error=error,
            lower=np.inf if base >= limit + error else max(self.lower, base - error),
            largest=self.largest,
        )


def offsets(row: LongArray, rows: int) -> LongArray:
    """Where each row's labels begin, and where the last one's end."""
    return np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))]).astype(np.int64)


def exclude(labels: Labels) -> NDArray[np.bool_]:
    """Which labels exclude each other: those of one row, and those of one column (except "unmatched")."""
    row, col = labels.row, labels.col
    conflicts: NDArray[np.bool_] = (row[:, None] == row) | ((col[:, None] == col) & (col < labels.width))
    return conflicts


def lowered(costs: FloatArray, start: LongArray) -> float:
    """Take off every part, each of which begins where `start` says, its least cost, which every choice pays; what that
    is in all. A part of infinite costs stays."""
    least: FloatArray = np.minimum.reduceat(costs, start)
    least[np.isinf(least)] = 0.0
    costs -= np.repeat(least, np.diff(start, append=len(costs)))
    return rounded_down(least)


def lowered_blocks(pair: FloatArray, start: LongArray) -> float:
    """The same of a symmetric matrix, whose blocks are what the labels of two rows cost together."""
    least: FloatArray = np.minimum.reduceat(np.minimum.reduceat(pair, start, axis=0), start, axis=1)
    least = np.minimum(least, least.T)
    least[np.isinf(least)] = 0.0
    row = np.repeat(np.arange(len(start)), np.diff(start, append=len(pair)))
    for p, i in enumerate(row):
        pair[p] -= least[i, row]
    return rounded_down(least[np.triu_indices(len(start), 1)])


def rounded_down(parts: FloatArray) -> float:
    """Their sum, less what rounding can have added to it and to a sum with it."""
    return fsum(parts) - 4.0 * EPS * fsum(np.abs(parts))


def matching_of(variable: LongArray, chosen: LongArray) -> Assignment:
    """The matching that these labels, one for every row, stand for; `variable`: behind each label, −1 for nobody."""
    behind = variable[chosen]
    assignment = np.zeros(int(variable.max()) + 1, bool)
    assignment[behind[behind >= 0]] = True
    return assignment


def scratch(labels: Labels) -> Assigned:
    """Room for an assignment."""
    rows, columns = len(labels.start) - 1, labels.width + 1
    return Assigned(
        np.zeros(rows),
        np.zeros(columns),
        np.zeros(rows, np.int64),
        np.zeros(columns, np.int64),
        np.zeros(columns),
        np.zeros(columns, np.int64),
        np.zeros(columns, np.int64),
    )


def pieces(order: LongArray) -> Iterator[LongArray]:
    """The labels, some at a time, with a look at the clock before each."""
    step = max(1, PIECE // max(1, len(order)))
    for at in range(0, len(order), step):
        check_time()
        yield order[at : at + step]


def visiting_order(labels: Labels, seed: tuple[int, int]) -> LongArray:
    """In turn: rows in random order, columns in random order, labels in random order.

    Whole lines first, since just one label of a line is chosen and all may claim the same cost; a different order
    each time, since the ascent gets stuck otherwise.
    """
    rng = np.random.default_rng(seed)
    if seed[1] % 3 == 2:
        return rng.permutation(len(labels.row))
    line = labels.row if seed[1] % 3 == 0 else labels.col
    return np.argsort(rng.permutation(int(line.max(initial=0)) + 1)[line], kind="stable")
