"""A pairwise problem as `_kernels.bound` takes it: labels, costs that may move, and the subproblems of a search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from adgm import _kernels as kernels
from adgm._kernels import Assigned, Costs, FloatArray, Labels, LongArray
from adgm._tables import CHUNK, PairwiseColumns
from adgm.problem import ANY, AT_MOST_ONE, EXACTLY_ONE, Dense, Formula, Problem, Sparse
from adgm.rounding import Assignment

COPIES = 3  # matrices over all pairs of labels that are held at once: the costs as given, moved, and being moved
ROUNDING = 16 * np.finfo(float).eps  # twice what a sweep can add: 16 roundings of a pair's cost, half an eps each


def refusal(problem: Problem) -> str:
    """Why there is no bound for this problem, in a sentence; empty if there is one."""
    if problem.order > 2:
        return f"Lower bounds are for pairwise problems, and this one is of order {problem.order}."
    if ANY in (problem.rows, problem.cols):
        return "Lower bounds need at most one partner per node on both sides, and this problem allows any number."
    return ""


def pair_costs(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """c (n,) and the symmetric S (n, n) with energy Σ c_p + ½ Σ S_pq over the chosen p and q ≠ p."""
    layout, n = problem.layout, problem.n
    single, matrix = np.zeros(n), np.zeros((n, n))
    formulas = [p for p in problem.potentials if isinstance(p, Formula)]
    for p in problem.potentials:
        if isinstance(p, Dense):
            tensor = p.tensor(layout.shape)
            target = single if tensor.ndim == 1 else matrix
            target += tensor[np.ix_(*[layout.variables] * tensor.ndim)]
        elif isinstance(p, Sparse):
            index = layout.renumber()[p.indices]
            kept = (index >= 0).all(axis=1)
            target = single if index.shape[1] == 1 else matrix
            np.add.at(target, tuple(index[kept].T), p.costs[kept])
            if p.symmetric and index.shape[1] == 2:
                np.add.at(target, tuple(index[kept, ::-1].T), p.costs[kept])
    if formulas:
        columns = PairwiseColumns(layout, formulas, None, False, 1)
        step = max(1, CHUNK // n)
        for at in range(0, n, step):
            some = np.arange(at, min(at + step, n))
            matrix[some] += columns.compute(some)
    single += np.diag(matrix)
    matrix = matrix + matrix.T
    np.fill_diagonal(matrix, 0.0)
    return single, matrix


@dataclass(frozen=True, eq=False)
class Root:
    """The problem in labels: every row takes exactly one, the last of a row that may stay unmatched is "nobody"."""

    labels: Labels
    variable: LongArray  # the problem's variable behind a label, −1 for nobody
    place: LongArray  # (rows, width + 1): the label of a row and a column, −1 for none
    single: FloatArray
    pair: FloatArray  # both directions in one, 0 where two labels exclude each other
    keep_unused: bool  # whether a column can stay unused

    def __init__(self, problem: Problem) -> None:
        if why := refusal(problem):
            raise ValueError(why)
        layout, shape = problem.layout, problem.shape
        # Rows are the side that must be matched; where neither must, the smaller side.
        optional = problem.rows == problem.cols == AT_MOST_ONE
        by_column = problem.rows != EXACTLY_ONE and (problem.cols == EXACTLY_ONE or shape[1] < shape[0])
        row, col = (layout.col, layout.row) if by_column else (layout.row, layout.col)
        rows, width = shape[::-1] if by_column else shape
        nobody = rows if optional else 0
        n = problem.n + nobody
        if (needed := COPIES * 8 * n * n) > problem.memory:
            raise ValueError(
                f"The bound holds the costs of all pairs of {n} labels, {needed / 2**30:.1f} GiB, and the problem's "
                f"memory is limited to {problem.memory / 2**30:.1f} GiB; use fewer candidates or allow more memory."
            )
        row = np.concatenate([row, np.arange(nobody)])
        col = np.concatenate([col, np.full(nobody, width)])
        variable = np.concatenate([np.arange(problem.n), np.full(nobody, -1)])
        order = np.lexsort((col, row))
        row, col, variable = row[order], col[order], variable[order]
        real = variable >= 0
        costs, matrix = pair_costs(problem)
        single, pair = np.zeros(n), np.zeros((n, n))
        single[real] = costs[variable[real]]
        pair[np.ix_(real, real)] = matrix[np.ix_(variable[real], variable[real])]
        pair[exclude(row, col, width)] = 0.0
        place = np.full((rows, width + 1), -1)
        place[row, col] = np.arange(n)
        for name, value in {
            "labels": Labels(offsets(row, rows), row, col, width),
            "variable": variable,
            "place": place,
            "single": single,
            "pair": pair,
            "keep_unused": optional or width > rows,
        }.items():
            object.__setattr__(self, name, value)

    @cached_property
    def scale(self) -> float:
        """A typical magnitude: the median of the costs that are not zero."""
        sizes = np.abs(np.concatenate([self.single, self.pair.reshape(-1)]))
        sizes = sizes[sizes > 0]
        return float(np.median(sizes)) if sizes.size else 1.0

    def node(self) -> Node:
        """The whole problem as the first subproblem."""
        labels, n = self.labels, len(self.single)
        pair = 0.5 * self.pair
        pair[exclude(labels.row, labels.col, labels.width)] = np.inf
        unused = np.zeros((n + 1, labels.width + 1) if self.keep_unused else (0, 0))
        costs = Costs(self.single.copy(), pair, unused)
        lowest = float(min(self.single.min(), self.pair.min()))
        largest = float(max(self.single.max(), self.pair.max(), -lowest))
        return Node(labels, costs, np.arange(n), np.empty(0, np.int64), largest=largest, signed=lowest < 0)

    def improved(self, chosen: LongArray) -> tuple[Assignment, float]:
        """The matching that these labels stand for after a descent by moves and exchanges, and its energy."""
        choice = np.empty(len(self.place), np.int64)
        choice[self.labels.row[chosen]] = chosen
        kernels.descend(self.labels, self.place, self.single, self.pair, choice)
        energy = float(self.single[choice].sum() + 0.5 * self.pair[np.ix_(choice, choice)].sum())
        assignment = np.zeros(int(self.variable.max()) + 1, bool)
        assignment[self.variable[choice[self.variable[choice] >= 0]]] = True
        return assignment, energy


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
    signed: bool = False  # costs may be negative: nothing can be ruled out yet
    pending: int = -1  # a label still to be chosen: branches are opened late and share their parent's arrays
    gains: tuple[float, ...] = ()  # the base after each sweep

    @property
    def rows(self) -> int:
        return len(self.labels.start) - 1

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
        limit = np.inf if self.signed else limit + self.error + 4 * unit * self.largest  # a sweep may treble a cost
        out, cost = scratch(self.labels), np.empty(len(self.names))
        if probing and np.isfinite(limit):
            kernels.probe(self.labels, self.costs, self.base, limit, cost, out)
        order = visiting_order(self.labels, seed)
        base, largest = kernels.sweep(self.labels, self.costs, self.base, limit, take, order, cost, out)
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
            signed=False,
            gains=(*self.gains, base),
        )
        alive = np.isfinite(self.costs.single)
        return (node.only(alive) if alive.mean() < 0.9 else node), chosen

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


def exclude(row: LongArray, col: LongArray, width: int) -> NDArray[np.bool_]:
    """Which labels exclude each other: those of one row, and those of one column (the column of nobody apart)."""
    conflicts: NDArray[np.bool_] = (row[:, None] == row) | ((col[:, None] == col) & (col < width))
    return conflicts


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
