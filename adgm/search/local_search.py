"""Local search: change a matching a little, as long as that lowers the energy; any order, kind and constraint."""

import threading
from copy import copy
from math import factorial

import numpy as np

from adgm._kernels import FloatArray, LongArray
from adgm._kernels.hyperedges import least_joint
from adgm._kernels.local_search import EXHAUSTED, Descent, Neighbourhood, descend, gather, repeats, ties
from adgm._kernels.types import BOX
from adgm.costs.pairs import PairCosts
from adgm.costs.tables import PairwiseColumns, grow_fibers
from adgm.machine.deadline import TimeUp, check_time, waited_for
from adgm.potentials import Entries
from adgm.problem import ANY, Problem
from adgm.projections import KIND
from adgm.rounding import Assignment, hungarian
from adgm.search.tabu import links_of, search

WHOLE = 1 << 26  # bytes of a matrix made from pairwise trees
FEWEST_COLUMNS = 8  # a look at one variable needs four columns at a time
MOST_CHANGES = 10_000  # of one descent; hundreds are usual
FEWEST_AT_ONCE, AT_ONCE = 50, 2_000_000  # changes between two looks at the clock: at least, and times the variables
LOOKS_AT_ONCE = 4_000_000  # of a descent between two looks at the clock, times what a look walks through
NOTHING: LongArray = np.empty(0, np.int64)
TABU_PERTURBED, TABU_RESTARTED, TABU_POLISHED = 3, 4, 10  # steps of a tabu search per node of the smaller graph
REMEMBERED = 200  # polished matchings
BARRED = 1e6  # what a variable costs that is not to be used, in units of the largest cost
# A change counts when it gains more than this share of what costs differ by, and more than rounding may pretend.
PRECISION, ROUNDING = 1e-9, 256 * float(np.finfo(float).eps)


def improve(problem: Problem, assignment: Assignment, most_changes: int = MOST_CHANGES) -> tuple[Assignment, float]:
    """Swaps, moves to free nodes, insertions and removals until none lowers the energy any more.

    Returns the assignment where it ends and the energy change, never positive. Every change gains at least a fixed
    amount, so that it ends; `most_changes` may end it earlier.
    """
    return problem.derived(Surroundings).improve(assignment, most_changes)


def polish(problem: Problem, assignment: Assignment) -> tuple[Assignment, float]:
    """`improve`, and for pairwise problems a tabu search from there: the best change each time, even a bad one, while
    what has just been left is barred. Returns the best of all, where nothing improves it, and the energy change."""
    return problem.derived(Surroundings).polish(assignment)


def iterated_local_search(
    problem: Problem, assignment: Assignment, perturbations: int, seed: int | np.random.Generator = 0
) -> tuple[Assignment, float]:
    """`improve`, then so many times: a perturbation, and `improve` again; a better end is kept.

    A perturbation is some random changes, however bad. How many is drawn evenly over powers, from two to four per node
    of the smaller graph: some stay near, some start anew. A tabu search follows it where there is one, as in `polish`.
    """
    return problem.derived(Surroundings).iterated(assignment, perturbations, np.random.default_rng(seed))


def improve_without(problem: Problem, assignment: Assignment, variable: int, steps: int = 1) -> Assignment:
    """A matching near this one that does not use a variable, as good as `improve` and so many steps of tabu search per
    node make it; nothing is built anew. It uses the variable only where nothing near can do without."""
    barred = problem.derived(Surroundings).without(variable)
    on, layout = np.array(assignment, dtype=np.bool_), problem.layout
    pairs = barred.pairs(on)
    near = None  # only what lies in its row and column can take its place; a tabu search looks at all others anyway
    if on[variable] and barred.has_tabu_search:
        near = (layout.row == layout.row[variable]) | (layout.col == layout.col[variable])
    barred.descend(on, pairs, barred.edges(on), awake=near)
    barred.tabu_search(on, pairs, steps)
    return on


def has_tabu_search(problem: Problem) -> bool:
    """Whether there is a tabu search for a problem: pairwise costs that are all in memory, matched one to one."""
    return problem.derived(Surroundings).has_tabu_search


def random_restart(problem: Problem, starts: int, seed: int | np.random.Generator = 0) -> Assignment:
    """The best of so many random matchings, each after a short tabu search; without that search a random matching."""
    rng = np.random.default_rng(seed)
    surroundings = problem.derived(Surroundings)

    def start() -> Assignment:
        check_time()
        on = hungarian(problem, rng.random(problem.n))
        surroundings.tabu_search(on, surroundings.pairs(on), TABU_RESTARTED)
        return on

    return min((start() for _ in range(starts if surroundings.has_tabu_search else 1)), key=problem.energy)


def perturbed(problem: Problem, assignment: Assignment, seed: int | np.random.Generator = 0) -> Assignment:
    """The matching after some random changes, however bad, and a descent (or a short tabu search) from there."""
    return problem.derived(Surroundings).perturbed(np.array(assignment, dtype=np.bool_), np.random.default_rng(seed))


def mutual_costs(problem: Problem, on: Assignment, some: LongArray) -> tuple[FloatArray, FloatArray] | None:
    """(what each of these variables costs alone and as pairs with what is on, what each two of them cost together) of
    a pairwise problem whose costs are all in memory; None for others."""
    pairs = problem.derived(PairCosts)
    return (pairs.joining(on, some), pairs.rows(some, some)) if problem.order == 2 and pairs.stored else None


def joining_costs(problem: Problem, on: Assignment, some: LongArray) -> FloatArray:
    """What each of these variables costs alone and, where all pairwise costs are in memory, beside what is on."""
    pairs = problem.derived(PairCosts)
    if problem.order <= 2 and pairs.stored:
        return pairs.joining(on, some)
    costs: FloatArray = problem.derived(Surroundings).neighbourhood.linear[some]
    return costs


class Surroundings:
    """What the search keeps of a problem: its tables, and the costs of sets of variables."""

    def __init__(self, problem: Problem) -> None:
        layout, runtime = problem.layout, problem.runtime
        self.runtime, self.tolerance = runtime, max(PRECISION * problem.spread, ROUNDING * runtime.scale)
        self.columns, tables = runtime.columns, runtime.tables
        matrix = whole_matrix(problem)
        if matrix is not None:
            whole = PairwiseColumns(layout, [], matrix, False, problem.memory)
            self.columns = whole, whole
            tables = tables._replace(pairwise=1, column=whole.table, row=whole.table, fibers=grow_fibers(layout, []))
        elif self.columns and len(self.columns[0].owner) < min(problem.n, FEWEST_COLUMNS):
            room = 8 * problem.n * FEWEST_COLUMNS
            first, second = (PairwiseColumns(layout, c.formulas, c.matrix, c.flip, room) for c in runtime.columns)
            self.columns = (first, first if runtime.columns[0] is runtime.columns[1] else second)
            tables = tables._replace(column=self.columns[0].table, row=self.columns[1].table)
        self.diagonal = np.zeros(problem.n)
        if self.columns and self.columns[0].matrix is not None:
            self.diagonal = self.columns[0].matrix.diagonal().copy()
        singles, parts = as_sets(problem) if matrix is None else (np.zeros(problem.n), [])
        pairwise = sum(p.order(problem.shape) == 2 for p in problem.potentials)
        sets = grow_fibers(layout, [Entries(index, cost / factorial(index.shape[1]), True) for index, cost in parts])
        limited = ANY not in (problem.rows, problem.cols)
        with runtime.guard():
            for columns in self.columns:
                columns.fill()
        # A look at a variable needs the column of whoever it takes the place of: with less room it takes seconds.
        self.crowded = any(c.sums and len(c.owner) < min(problem.shape) for c in self.columns)
        stored = bool(self.columns) and all(columns.complete for columns in self.columns)
        self.polished: dict[bytes, tuple[Assignment, float]] = {}  # most runs round to the same few matchings
        self.guard, self.ahead = threading.Lock(), threading.Lock()
        self.apart = apart(problem, parts, self.columns)
        pairwise_only = not len(tables.fibers.order) and not len(sets.order)
        self.pairwise_stored = stored and pairwise_only
        self.has_tabu_search = self.apart and limited and self.pairwise_stored
        self.links = links_of(matrix if self.has_tabu_search else None)
        self.neighbourhood = Neighbourhood(
            tables,
            sets,
            tables.unary + self.diagonal + singles,
            layout.row,
            layout.col,
            layout.groups(0),
            layout.groups(1),
            layout.grid(),
            KIND[problem.rows],
            KIND[problem.cols],
            2.0 * pairwise * runtime.scale,
            sum(float(columns.table.data.min()) for columns in self.columns) if self.has_tabu_search else -np.inf,
            np.empty((0, 0)),
        )

    def without(self, variable: int) -> "Surroundings":
        """The same tables where a variable costs more than anything else can save."""
        other = copy(self)
        linear = self.neighbourhood.linear.copy()
        linear[variable] += BARRED * self.runtime.scale
        other.neighbourhood = self.neighbourhood._replace(linear=linear)
        other.polished, other.guard = {}, threading.Lock()
        return other

    def improve(self, assignment: Assignment, most_changes: int) -> tuple[Assignment, float]:
        on = np.array(assignment, dtype=np.bool_)
        return on, self.descend(on, self.pairs(on), self.edges(on), most_changes)

    def polish(self, assignment: Assignment) -> tuple[Assignment, float]:
        on = np.array(assignment, dtype=np.bool_)
        question = np.packbits(on).tobytes()
        if (known := self.known(question)) is not None:
            on ^= known[0]
            return on, known[1]
        given, pairs, edges = on.copy(), self.pairs(on), self.edges(on)
        gained = self.descend(on, pairs, edges)
        settled, between = np.packbits(on).tobytes(), on.copy()
        if (known := self.known(settled)) is not None:
            further = known[1]
            on ^= known[0]
        else:
            further = self.tabu_search(on, pairs, TABU_POLISHED)
            if further < -self.tolerance:
                further += self.descend(on, self.pairs(on), self.edges(on))
            self.remember(settled, between ^ on, further)
        self.remember(question, given ^ on, gained + further)
        return on, gained + further

    def known(self, question: bytes) -> tuple[Assignment, float] | None:
        """What polishing a matching changes, and what that gains, if it is remembered."""
        with self.guard:
            return self.polished.get(question)

    def remember(self, question: bytes, changed: Assignment, gain: float) -> None:
        with self.guard:
            while len(self.polished) >= REMEMBERED:
                del self.polished[next(iter(self.polished))]
            self.polished[question] = changed, gain

    def perturbed(self, on: Assignment, rng: np.random.Generator) -> Assignment:
        pairs, edges = self.pairs(on), self.edges(on)
        self.forced(on, pairs, edges, rng)
        return on

    def forced(self, on: Assignment, pairs: FloatArray, edges: FloatArray, rng: np.random.Generator) -> float:
        """Random changes, as many as drawn, and what follows from them: the energy change."""
        most = 4 * min(self.neighbourhood.number.shape)
        changes = round(2.0 * (most / 2.0) ** rng.random())
        change = self.descend(on, pairs, edges, forced=rng.integers(len(on), size=changes))
        return change + self.tabu_search(on, pairs, TABU_PERTURBED)

    def iterated(self, assignment: Assignment, times: int, rng: np.random.Generator) -> tuple[Assignment, float]:
        self.look_ahead()
        on = np.array(assignment, dtype=np.bool_)
        here = on, self.pairs(on), self.edges(on)
        gained = self.descend(*here)
        for _ in range(times):
            check_time()
            on, pairs, edges = here[0].copy(), here[1].copy(), here[2].copy()
            change = self.forced(on, pairs, edges, rng)
            if change < -self.tolerance:
                here = on, self.pairs(on), self.edges(on)
                gained += change + self.descend(*here)
        return here[0], gained

    def look_ahead(self) -> None:
        """Find out how little two variables can cost together in hyperedges, where there are no other costs of several
        variables: a descent is faster then, and whoever descends often is paid back."""
        with waited_for(self.ahead, held=True):
            here = self.neighbourhood
            order, opens, root, _, child, stop, target, value = here.tables.fibers
            useless = here.least.size or not self.apart or BOX in (here.row_kind, here.col_kind)
            others = self.columns or len(here.sets.order) or order.tolist() != [3] or opens[0] >= 0
            if not useless and not others and root[0, -1] - root[0, 0] == len(here.linear) ** 2:
                n = len(here.linear)
                least, step = np.zeros((n, len(here.number))), max(1, LOOKS_AT_ONCE // (n + len(target) // n))
                for first in range(0, n, step):
                    check_time()
                    last = min(n, first + step)
                    least_joint(root, child, stop, target, value, here.row, first, last, least)
                self.neighbourhood = here._replace(least=least)

    def descend(
        self,
        on: Assignment,
        pairs: FloatArray,
        edges: FloatArray,
        most: int = MOST_CHANGES,
        forced: LongArray = NOTHING,
        awake: Assignment | None = None,
    ) -> float:
        """`_kernels.local_search.descend` with missing columns computed: the energy change.

        After `forced` changes only what they touch is looked at, with `awake` ones these first; otherwise everything,
        until nothing pays. Nothing is looked at where columns of formulas would be computed again and again.
        """
        if self.crowded:
            return 0.0
        thorough = not len(forced) and awake is None
        awake = np.full(len(on), thorough) if awake is None else awake
        at_once = max(FEWEST_AT_ONCE, AT_ONCE // len(on))
        walked = 0 if edges.size else len(self.neighbourhood.tables.fibers.target) // len(on)
        looks = LOOKS_AT_ONCE // (1 + walked)
        missing, descent = 0, Descent()
        while missing >= 0 or (missing == EXHAUSTED and descent.changes < most):
            try:
                check_time()
            except TimeUp:
                raise TimeUp(on) from None
            with self.runtime.guard():
                clock, soon = self.runtime.tick(), min(most, descent.changes + at_once)
                missing, descent = descend(
                    *(self.neighbourhood, on, pairs, edges, awake, forced, thorough, descent),
                    *(self.tolerance, soon, looks, clock),
                )
                if missing >= 0:
                    others = np.flatnonzero(on)
                    self.fetch(np.append(missing, others[others != missing]), clock)
        return descent.gain

    def tabu_search(self, on: Assignment, pairs: FloatArray, steps_per_node: int) -> float:
        """`_kernels.tabu.tabu_search`, where it can: the energy change; `pairs` is not kept up."""
        if not self.has_tabu_search:
            return 0.0
        return search(self.neighbourhood, self.links, on, pairs, steps_per_node, self.tolerance)

    def pairs(self, on: Assignment) -> FloatArray:
        """For every variable, what it costs as a pair with the others that are on."""
        total = np.zeros(len(on))
        with self.runtime.guard():
            for columns in self.columns:
                total += columns.product(on.astype(np.float64), self.runtime.tick())
        return total - 2.0 * self.diagonal * on

    def edges(self, on: Assignment) -> FloatArray:
        """For every variable, what it costs in hyperedges whose others are on; empty if looks cannot use that."""
        if not self.apart:
            return np.empty(0)
        gathered: FloatArray = gather(self.neighbourhood, on)
        return gathered

    def fetch(self, wanted: LongArray, clock: int) -> None:
        """Store these columns, each named once, the first ones first, filling half of the store at most."""
        for columns in dict.fromkeys(self.columns):
            missing = wanted[columns.table.slot[wanted] < 0]
            for _ in columns.chunks(missing[: max(FEWEST_COLUMNS // 2, len(columns.owner) // 2)], clock):
                pass


def whole_matrix(problem: Problem) -> FloatArray | None:
    """All pairwise costs as one matrix, where some are stored as trees: a tabu search asks for all of them at every
    step. None where there are no such trees, higher orders, formulas on all pairs, or no room."""
    runtime, n = problem.runtime, problem.n
    pairwise = problem.order == 2 and (runtime.parts or runtime.linked)
    if not pairwise or any(c.formulas for c in runtime.columns) or 8 * n**2 > min(problem.memory, WHOLE):
        return None
    return problem.derived(PairCosts).matrix


def apart(problem: Problem, parts: list[tuple[LongArray, FloatArray]], stored: tuple[PairwiseColumns, ...]) -> bool:
    """Whether no cost involves two variables of one row or column; `parts`: of `as_sets`. Formulas give them none."""
    layout = problem.layout
    symmetric = [(e.indices, e.costs) for e in problem.runtime.parts if e.symmetric]
    for index, _ in [*symmetric, *parts]:
        if repeats(layout.row[index]) or repeats(layout.col[index]):
            return False
    both = layout.groups(0), layout.groups(1)
    matrices = [columns.matrix for columns in stored if columns.matrix is not None]
    return not any(ties(matrix, group) for matrix in matrices for group in both)


def as_sets(problem: Problem) -> tuple[FloatArray, list[tuple[LongArray, FloatArray]]]:
    """The tensors that no symmetric tree holds, as costs of sets of variables: of single ones, and (index, cost) rows.

    xᵢ² = xᵢ for zeros and ones, so that a tuple costs what the set of its distinct variables costs.
    """
    singles = np.zeros(problem.n)
    rows_of: dict[int, list[tuple[LongArray, FloatArray]]] = {}
    for index, cost, symmetric in problem.runtime.parts:
        if symmetric:
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
