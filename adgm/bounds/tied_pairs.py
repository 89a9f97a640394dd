"""A sparse pairwise problem as `_kernels.ties` takes it: tables for the pairs of rows that share costs, and no others.

The dense search (`adgm.bounds.all_pairs`) holds the costs of all pairs of labels. Here the problem is decomposed into
one small table for every two rows that share costs and one assignment problem over all rows (as P. Swoboda et al., A
study of Lagrangean decompositions and dual ascent solvers for graph matching, CVPR 2017, do): 500 rows of 20 labels
with six neighbours each take 10 MB. What it proves is weaker, a sweep is hundreds of times cheaper; so the search over
all pairs begins with some of these, too, and takes over the costs as they have moved them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from adgm import _kernels as kernels
from adgm._kernels import Costs, FloatArray, Labels, LongArray
from adgm._kernels.ties import Ties, disagree, gather, pass_on, strike
from adgm.bounds.all_pairs import (
    COPIES,
    ROUNDING,
    Node,
    Root,
    by_column,
    bytes_needed,
    exclude,
    label,
    lowered,
    matching_of,
    scratch,
)
from adgm.costs.pairs import PairCosts
from adgm.machine.deadline import check_time
from adgm.problem import Formula, Problem, Sparse
from adgm.rounding import Assignment

MOST_DENSE = 1 << 27  # bytes: beyond this a sweep over all pairs of labels takes seconds
# The steps that leave a point where no message helps: in units of what would close the gap if all went well, and what
# becomes of them after so many sweeps that closed less than a share of it.
STRIDE, SHORTER, STALE, GAIN = 2.0, 0.8, 20, 1e-4
LOOKS = 4
WARM = 12  # sweeps over tied rows before those over all pairs of labels
PATIENCE = 100  # a node is split when this many sweeps hardly close its gap


class TiedCosts(NamedTuple):
    """What is moved about: what labels cost, what their columns hold of it, and what two labels cost together."""

    single: FloatArray
    held: FloatArray
    table: FloatArray


def dense(problem: Problem) -> bool:
    """Whether all pairs of labels are searched, after some sweeps over tied rows."""
    return bytes_needed(problem) <= min(problem.memory, MOST_DENSE) or not listed(problem)


def searchable(problem: Problem) -> bool:
    """Whether there is memory for a search."""
    enough = bytes_needed(problem) <= problem.memory
    return enough or (listed(problem) and problem.derived(tied_bytes) <= problem.memory)


def listed(problem: Problem) -> bool:
    """Whether the pairwise costs are given one by one, so that it is known which pairs have none."""
    pairwise = (p for p in problem.potentials if p.order(problem.shape) == 2)
    return all(isinstance(p, Sparse) or (isinstance(p, Formula) and p.on_edges) for p in pairwise)


def tied_bytes(problem: Problem) -> int:
    """What the search over tied rows holds in memory."""
    row = problem.layout.col if by_column(problem) else problem.layout.row
    rows, tied = int(row.max()) + 1, np.empty(0, np.int64)
    for p in problem.potentials:
        if p.order(problem.shape) == 2:
            ends = np.sort(row[p.entries(problem.layout).indices], axis=1)
            tied = np.union1d(tied, ends[:, 0] * rows + ends[:, 1])
    count = np.bincount(row, minlength=rows) + 1
    left, right = np.divmod(tied, rows)
    return COPIES * 8 * int((count[left] * count[right]).sum())


@dataclass(frozen=True, eq=False)
class TiedRoot:
    """The whole problem in labels and ties, with the costs as given but for what every matching pays."""

    labels: Labels
    variable: LongArray  # the problem's variable behind a label, −1 for nobody
    offset: float  # what every matching pays
    single: FloatArray
    table: FloatArray  # infinite where two labels exclude each other
    ties: Ties
    thick: bool  # whether all pairs of labels are searched once the messages have passed a few times

    def __init__(self, problem: Problem) -> None:
        check_time()
        if listed(problem):
            labels, variable = label(problem)
            costs, real = problem.derived(PairCosts), np.flatnonzero(variable >= 0)
            single, at = np.zeros(len(variable)), np.empty(problem.n, np.int64)
            single[real] = costs.single[variable[real]]
            at[variable[real]] = real
            pairs = costs.sparse.tocoo()
            ties, table = of_list(labels, at[pairs.row], at[pairs.col], pairs.data, problem.memory)
            forbid(labels, ties, table)
            offset = lowered(single, labels.start[:-1]) + lowered(table, ties.start)
        else:
            whole = Root(problem)
            labels, variable, offset, single = whole.labels, whole.variable, whole.offset, whole.single
            ties, table = of_matrix(labels, whole.pair)
        for name, value in {
            "labels": labels,
            "variable": variable,
            "offset": offset,
            "single": single,
            "table": table,
            "ties": ties,
            "thick": dense(problem),
        }.items():
            object.__setattr__(self, name, value)

    def node(self) -> TiedNode:
        """The whole problem as the first subproblem."""
        costs = TiedCosts(self.single.copy(), np.zeros(len(self.single)), self.table.copy())
        largest = float(max(self.single.max(), self.table.max(initial=0.0, where=np.isfinite(self.table))))
        return TiedNode(self.labels, self.ties, costs, largest=largest, thick=self.thick)

    def matching(self, chosen: LongArray) -> Assignment:
        """The matching that these labels, one for every row, stand for."""
        return matching_of(self.variable, chosen)


@dataclass(frozen=True, eq=False)
class TiedNode:
    """What is left of the problem when labels are ruled out; never changed once made."""

    labels: Labels
    ties: Ties
    costs: TiedCosts
    base: float = 0.0
    prices: float = 0.0  # what of it the columns hold
    error: float = 0.0  # what rounding may have added to the base so far
    lower: float = -np.inf  # no matching that is left costs less
    largest: float = 0.0  # magnitude of the costs in the last sweep
    choice: LongArray | None = None  # the labels of the last assignment
    stride: float = STRIDE
    stale: int = 0  # sweeps since the bound has grown
    pending: int = -1  # a label still to be chosen: branches are opened late and share their parent's arrays
    gains: tuple[float, ...] = ()  # the base after each sweep
    thick: bool = False  # whether it becomes a node of all pairs

    @property
    def rows(self) -> int:
        return len(self.labels.start) - 1

    @property
    def alive(self) -> int:
        """How many labels are left."""
        return int(np.isfinite(self.costs.single).sum())

    @property
    def work(self) -> float:
        """Pair costs that a sweep visits."""
        return float(self.costs.table.size)

    @property
    def patience(self) -> int:
        return PATIENCE

    @property
    def looks(self) -> int:
        """Sweeps between two looks at the matching that the node suggests: a local search costs more than a sweep."""
        return LOOKS

    @property
    def nbytes(self) -> int:
        return self.costs.table.nbytes

    def copy(self) -> TiedNode:
        return replace(self, costs=TiedCosts(*(a.copy() for a in self.costs)))

    def swept(
        self, limit: float, take: float, seed: tuple[int, int], probing: bool
    ) -> tuple[TiedNode | Node, LongArray | None]:
        """One sweep further, on this node's own arrays, and the labels of the cheapest assignment.

        Messages alone get stuck; each sweep begins with a subgradient step that may lower the base, not the bound.
        Matchings that cost `limit` or more are no longer looked for; None: there are no others.
        """
        labels, ties, (single, held, table) = self.labels, self.ties, self.costs
        base, out = self.base - self.prices, scratch(labels)
        largest = self._stepped(limit) + self.largest
        order = np.random.default_rng(seed).permutation(self.rows)
        rank = np.argsort(order)
        if self.gains:  # before, the rows do not know what their ties hold
            for there, ranks in ((order, rank), (order[::-1].copy(), -rank)):
                check_time()
                moved, met = pass_on(labels, ties, table, held, single, there, ranks)
                base, largest = base + moved, max(largest, met)
        check_time()
        largest = max(largest, gather(labels, ties, table, single, seed[1] % 2))
        single += held
        base += kernels.assign(labels, single, -1, out)
        if not base < np.inf:
            return replace(self, lower=np.inf), None
        held[:] = out.v[labels.col]
        left = np.isfinite(single)
        largest = max(largest, abs(base), float(np.abs(single[left]).max()))
        error = self.error + ROUNDING * 2 * (self.rows + len(ties.left) + 1) * largest
        single[left] = np.maximum(single[left] - out.u[labels.row[left]] - held[left], 0.0)
        after = max(abs(base), float(single[left].max()))
        for p in np.flatnonzero(left & (base - error + single >= limit)):
            single[p] = np.inf
            strike(labels, ties, table, p)
        grown = not self.gains or base - error > self.lower + GAIN * max(limit - self.lower, 0.0)
        stale = 0 if grown else self.stale + 1
        node = replace(
            self,
            base=base,
            prices=float(out.v[:-1].sum()),
            error=error,
            lower=max(self.lower, base - error),
            largest=after,
            choice=out.choice,
            stride=SHORTER * self.stride if stale >= STALE else self.stride,
            stale=stale % STALE,
            gains=(*self.gains, max(self.lower, base - error)),
        )
        ripe = self.thick and len(node.gains) >= WARM and node.lower < limit
        return (node.thickened() if ripe else node), out.choice

    def ends(self) -> list[LongArray] | None:
        """The choices that are left where there is just one, or just one row; None elsewhere."""
        left = np.flatnonzero(np.isfinite(self.costs.single))
        return list(left[:, None]) if self.rows == 1 else [left] if len(left) == self.rows else None

    def thickened(self) -> Node:
        """All pairs of the labels that are left, with the costs as they have been moved."""
        labels, ties, (single, held, table) = self.labels, self.ties, self.costs
        n = len(single)
        pair = np.zeros((n, n))
        for i, j, begin in zip(ties.left, ties.right, ties.start, strict=True):
            ours, theirs = (slice(labels.start[row], labels.start[row + 1]) for row in (i, j))
            block = pair[ours, theirs]
            block[:] = 0.5 * table[begin : begin + block.size].reshape(block.shape)
            pair[theirs, ours] = block.T
        pair[exclude(labels)] = np.inf
        unused = np.zeros((0, 0))
        if labels.width > self.rows or (labels.col == labels.width).any():
            unused = np.zeros((n + 1, labels.width + 1))
            unused[n, labels.col] = held
            unused[n, labels.width] = 0.0
        node = Node(
            labels,
            Costs(single, pair, unused),
            np.arange(n),
            np.empty(0, np.int64),
            base=self.base,
            error=self.error,
            lower=self.lower,
            largest=self.largest,
        )
        return node.only(np.isfinite(single))

    def _stepped(self, limit: float) -> float:
        """A subgradient step, as long as Polyak has it for a bound that may reach `limit`; returns its length."""
        labels, ties, (single, _, table) = self.labels, self.ties, self.costs
        if self.choice is None or not np.isfinite(limit) or not np.isfinite(single[self.choice]).all():
            return 0.0
        ends = disagree(labels, ties, table, self.choice, 0.0, single)
        step = self.stride * max(limit - self.base, 0.0) / max(2 * ends, 1)
        disagree(labels, ties, table, self.choice, step, single)
        return float(step)

    def branches(self, limit: float) -> list[TiedNode]:
        """One node for every label of the row that promises the least work, unopened."""
        labels, single = self.labels, self.costs.single
        gap = max(limit - self.base, 1e-300)
        work = np.where(np.isfinite(single), np.maximum(1.0 - single / gap, 0.0) + 1e-3, 0.0)
        each = np.add.reduceat(work, labels.start[:-1])
        left = np.add.reduceat(np.isfinite(single), labels.start[:-1])
        row = int(np.argmin(np.where(left > 1, each, np.inf)))
        mine = np.arange(labels.start[row], labels.start[row + 1])
        return [
            replace(
                self,
                pending=int(p),
                lower=max(self.lower, self.base + single[p] - self.error),
                gains=(),
                stride=STRIDE,
                stale=0,
            )
            for p in mine[np.isfinite(single[mine])]
        ]

    def opened(self, limit: float) -> TiedNode:
        """With the pending label chosen: the others of its row are ruled out."""
        node = self.copy()
        if self.pending >= 0:
            row = self.labels.row[self.pending]
            for p in range(self.labels.start[row], self.labels.start[row + 1]):
                if p != self.pending:
                    node.costs.single[p] = np.inf
                    strike(self.labels, self.ties, node.costs.table, p)
        return replace(node, pending=-1)


def of_list(labels: Labels, p: LongArray, q: LongArray, values: FloatArray, memory: int) -> tuple[Ties, FloatArray]:
    """Ties and tables of pairs (p, q) that cost `values`, each listed in both directions, if they fit into `memory`."""
    once = labels.row[p] < labels.row[q]
    p, q, values = p[once], q[once], values[once]
    rows = len(labels.start) - 1
    joined, tie = np.unique(labels.row[p] * rows + labels.row[q], return_inverse=True)
    ties, sizes = join(labels, *np.divmod(joined, rows))
    if (needed := COPIES * 8 * int(sizes.sum())) > memory:
        raise ValueError(
            f"The search holds the costs of {int(sizes.sum())} pairs of labels, {needed / 2**30:.1f} GiB, and the "
            f"problem's memory is limited to {memory / 2**30:.1f} GiB; use fewer candidates or allow more."
        )
    check_time()
    table = np.zeros(int(sizes.sum()))
    width = np.diff(labels.start)[labels.row[q]]
    place = (p - labels.start[labels.row[p]]) * width + q - labels.start[labels.row[q]]
    np.add.at(table, ties.start[tie] + place, values)
    return ties, table


def of_matrix(labels: Labels, pair: FloatArray) -> tuple[Ties, FloatArray]:
    """Ties and tables of the costs of all pairs of labels."""
    rows, start = len(labels.start) - 1, labels.start
    blocks = {
        (i, j): block
        for i in range(rows)
        for j in range(i + 1, rows)
        if ((block := pair[start[i] : start[i + 1], start[j] : start[j + 1]]) != 0.0)[np.isfinite(block)].any()
    }
    ends = np.array([*blocks], np.int64).reshape(-1, 2)
    check_time()
    table = np.concatenate([np.empty(0), *(block.ravel() for block in blocks.values())])
    return join(labels, *ends.T)[0], table


def join(labels: Labels, left: LongArray, right: LongArray) -> tuple[Ties, LongArray]:
    """The ties between these rows, and how large their tables are."""
    count, rows = np.diff(labels.start), len(labels.start) - 1
    sizes = count[left] * count[right]
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)[:-1]
    ends = np.concatenate([left, right])
    around = np.argsort(ends, kind="stable") % max(1, len(left))
    first = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=rows))]).astype(np.int64)
    real = np.flatnonzero(labels.col < labels.width)
    member = real[np.argsort(labels.col[real], kind="stable")]
    column = np.concatenate([[0], np.cumsum(np.bincount(labels.col[real], minlength=labels.width))]).astype(np.int64)
    # Columns of one array or arrays of their own: to the compiler the same, or it would compile everything twice.
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    return Ties(left, right, start, first, around, column, member), sizes


def forbid(labels: Labels, ties: Ties, table: FloatArray) -> None:
    """Forbid that two labels of one column are chosen together; "unmatched" may be chosen by many rows."""
    for i, j, begin in zip(ties.left, ties.right, ties.start, strict=True):
        ours, theirs = (labels.col[labels.start[row] : labels.start[row + 1]] for row in (i, j))
        same = (ours[:, None] == theirs) & (ours < labels.width)[:, None]
        table[begin : begin + same.size][same.ravel()] = np.inf
