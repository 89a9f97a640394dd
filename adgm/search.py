"""Local search: change a matching a little, as long as that lowers the energy; any order, kind and constraint."""

import threading
from collections.abc import Sequence
from math import factorial
from weakref import WeakKeyDictionary

import numpy as np

from adgm._kernels import FloatArray, LongArray
from adgm._kernels.search import Neighbourhood, changed, descend
from adgm._tables import PairwiseColumns, grow_fibers
from adgm.problem import Dense, Problem, Sparse
from adgm.projections import KIND
from adgm.rounding import Assignment

FEWEST_COLUMNS = 8  # a look at one variable needs four columns at a time
MOST_CHANGES = 10_000  # of one descent; hundreds are usual
PRECISION = 1e-9  # a change counts when it gains more than this, in units of the largest cost


def improve(problem: Problem, assignment: Assignment, most_changes: int = MOST_CHANGES) -> tuple[Assignment, float]:
    """Swaps, moves to free nodes, insertions and removals until none lowers the energy any more.

    Returns the assignment where it ends and the energy change, never positive. Every change gains at least a fixed
    amount, so that it ends; `most_changes` may end it earlier.
    """
    return _surroundings(problem).improve(assignment, most_changes)


def wander(problem: Problem, assignment: Assignment, kicks: int, seed: int = 0) -> tuple[Assignment, float]:
    """`improve`, then `kicks` times: a few random changes, however bad, and `improve` again; a better end is kept.

    How many nodes a kick moves is drawn evenly over powers, from two to all of them: most stay near, some start anew.
    """
    return _surroundings(problem).wander(assignment, kicks, np.random.default_rng(seed))


def change(problem: Problem, assignment: Assignment, removed: Sequence[int], added: Sequence[int]) -> float:
    """Energy change when the variables `removed` leave an assignment and `added` join it, from what they touch."""
    return _surroundings(problem).change(assignment, removed, added)


class Surroundings:
    """What the search keeps of a problem: its tables, and the costs of sets of variables."""

    def __init__(self, problem: Problem) -> None:
        layout, runtime = problem.layout, problem.runtime
        self.runtime, self.tolerance = runtime, PRECISION * runtime.scale
        self.columns, tables = runtime.columns, runtime.tables
        if self.columns and len(self.columns[0].owner) < min(problem.n, FEWEST_COLUMNS):
            room = 8 * problem.n * FEWEST_COLUMNS
            first, second = (PairwiseColumns(layout, c.formulas, c.matrix, c.flip, room) for c in runtime.columns)
            self.columns = (first, first if runtime.columns[0] is runtime.columns[1] else second)
            tables = tables._replace(column=self.columns[0].table, row=self.columns[1].table)
        self.diagonal = np.zeros(problem.n)
        if self.columns and self.columns[0].matrix is not None:
            self.diagonal = self.columns[0].matrix.diagonal().copy()
        singles, parts = as_sets(problem)
        pairwise = sum(p.order(problem.shape) == 2 for p in problem.potentials)
        self.neighbourhood = Neighbourhood(
            tables,
            grow_fibers(layout, [(index, cost / factorial(index.shape[1]), True) for index, cost in parts]),
            tables.unary + self.diagonal + singles,
            layout.row,
            layout.col,
            layout.renumber().reshape(problem.shape),
            KIND[problem.rows],
            KIND[problem.cols],
            2.0 * pairwise * runtime.scale,
        )

    def improve(self, assignment: Assignment, most_changes: int) -> tuple[Assignment, float]:
        on = np.array(assignment, dtype=np.bool_)
        return on, self.descend(on, self.pairs(on), most_changes)

    def wander(self, assignment: Assignment, kicks: int, rng: np.random.Generator) -> tuple[Assignment, float]:
        on = np.array(assignment, dtype=np.bool_)
        pairs = self.pairs(on)
        gained = self.descend(on, pairs)
        largest = max(2, min(self.neighbourhood.number.shape))
        for _ in range(kicks):
            new, new_pairs = on.copy(), pairs.copy()
            moves = round(2.0 * (largest / 2.0) ** rng.random())
            change = sum(self.descend(new, new_pairs, 1, int(v), -np.inf) for v in rng.integers(len(on), size=moves))
            change += self.descend(new, new_pairs)
            if change < -self.tolerance:
                on, pairs, gained = new, new_pairs, gained + change
        return on, gained

    def descend(
        self,
        on: Assignment,
        pairs: FloatArray,
        most: int = MOST_CHANGES,
        first: int = 0,
        tolerance: float | None = None,
    ) -> float:
        """`_kernels.search.descend` from the variable `first`, with missing columns computed: the energy change."""
        progress = np.array([first, 0.0, 0.0, 0.0])
        tolerance = self.tolerance if tolerance is None else tolerance
        missing = 0
        while missing >= 0:
            with self.runtime.guard():
                clock = self.runtime.tick()
                missing = descend(self.neighbourhood, on, pairs, progress, tolerance, most, clock)
                if missing >= 0:
                    self.fetch(np.append(missing, np.flatnonzero(on)), clock)
        return float(progress[3])

    def change(self, assignment: Assignment, removed: Sequence[int], added: Sequence[int]) -> float:
        on = np.array(assignment, dtype=np.bool_)
        leaving, joining = np.array(removed, np.int64), np.array(added, np.int64)
        pairs = self.pairs(on)
        with self.runtime.guard():
            self.fetch(np.concatenate([leaving, joining]), self.runtime.tick())
            return float(changed(self.neighbourhood, pairs, on, leaving, joining))

    def pairs(self, on: Assignment) -> FloatArray:
        """For every variable, what it costs as a pair with the others that are on."""
        total = np.zeros(len(on))
        with self.runtime.guard():
            for columns in self.columns:
                total += columns.product(on.astype(np.float64), self.runtime.tick())
        return total - 2.0 * self.diagonal * on

    def fetch(self, wanted: LongArray, clock: int) -> None:
        """Store these columns, the first ones first, without filling more than half of the store at once."""
        for columns in dict.fromkeys(self.columns):
            missing = wanted[columns.table.slot[wanted] < 0]
            for _ in columns.chunks(missing[: max(FEWEST_COLUMNS // 2, len(columns.owner) // 2)], clock):
                pass


def as_sets(problem: Problem) -> tuple[FloatArray, list[tuple[LongArray, FloatArray]]]:
    """The tensors that no symmetric tree holds, as costs of sets of variables: of single ones, and (index, cost) rows.

    xᵢ² = xᵢ for zeros and ones, so that a tuple costs what the set of its distinct variables costs.
    """
    layout = problem.layout
    singles = np.zeros(layout.n)
    rows_of: dict[int, list[tuple[LongArray, FloatArray]]] = {}
    for p in problem.potentials:
        if isinstance(p, Sparse) and not p.symmetric and p.order(problem.shape) > 1:
            index = layout.renumber()[p.indices]
            kept = (index >= 0).all(axis=1)
            index, cost = index[kept], p.costs[kept]
        elif isinstance(p, Dense) and p.order(problem.shape) > 2:
            tensor = p.tensor(problem.shape)[np.ix_(*[layout.variables] * p.order(problem.shape))]
            index = np.argwhere(tensor)
            cost = tensor[tuple(index.T)]
        else:
            continue
        index = np.sort(index, axis=1)
        first = np.ones(index.shape, bool)
        first[:, 1:] = index[:, 1:] != index[:, :-1]
        size = first.sum(axis=1)
        for distinct in np.unique(size):
            rows = size == distinct
            members = index[rows][first[rows]].reshape(-1, distinct)
            if distinct == 1:
                np.add.at(singles, members[:, 0], cost[rows])
            else:
                rows_of.setdefault(int(distinct), []).append((members, cost[rows]))
    return singles, [merged(*map(np.concatenate, zip(*same, strict=True))) for same in rows_of.values()]


def merged(index: LongArray, cost: FloatArray) -> tuple[LongArray, FloatArray]:
    """Equal rows added up."""
    order = np.lexsort(index.T[::-1])
    index, cost = index[order], cost[order]
    starts = np.flatnonzero(np.append(True, (index[1:] != index[:-1]).any(axis=1)))
    return index[starts], np.add.reduceat(cost, starts)


_KNOWN: WeakKeyDictionary[Problem, Surroundings] = WeakKeyDictionary()
_LOCK = threading.Lock()


def _surroundings(problem: Problem) -> Surroundings:
    """Built once per problem, for all threads."""
    with _LOCK:
        if problem not in _KNOWN:
            _KNOWN[problem] = Surroundings(problem)
        return _KNOWN[problem]
