"""Fusion moves: two matchings merged into one that is at least as good as either (Hutschenreiter et al., ICCV 2021).

Where two matchings differ, their pairs form alternating paths and cycles. Each of these can be taken from the one or
from the other independently without breaking a constraint, so that merging is a problem of a few binary variables.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from adgm._kernels import LongArray
from adgm._kernels.fusion import grow, minimise_binary
from adgm.bounds.all_pairs import bytes_needed, refusal
from adgm.bounds.branch_and_bound import DD, begin_with, tolerance
from adgm.bounds.tied_pairs import LOOKS, dense, searchable
from adgm.costs.pairs import PairCosts
from adgm.machine.deadline import TimeUp, check_time
from adgm.options import check, option
from adgm.penalty import AUTO
from adgm.prices import lost, tempting
from adgm.problem import ANY, EXACTLY_ONE, Problem
from adgm.rounding import Assignment, hungarian, unary_matching
from adgm.run import Run
from adgm.search.hyperedges import or_from_hyperedges
from adgm.search.local_search import improve, joining_costs, mutual_costs, perturbed, polish
from adgm.solver import ADGM
from adgm.state import State

ENUMERATED = 12  # binary variables of which all values are tried …
TRIED = 6  # … and where each trial is a whole energy
LARGE = 1 << 27  # bytes of a search over all pairs: problems that take more begin with a dual ascent
START_EFFORT = 5e7  # pair costs to visit for a matching to begin with: some seconds
LONGEST = 10  # times the usual first run of ADGM, where that has found nothing
IN_VAIN = 200  # matchings that grow and improve nothing, in a row, until that is over: one in a hundred may do


def fuse(problem: Problem, one: Assignment, other: Assignment) -> tuple[Assignment, float]:
    """A matching made of parts of both, at least as good as either, and what it saves beside the first: never positive.

    Pairwise problems in memory: roof duality, and all values of up to ENUMERATED parts that it leaves open. Others: all
    values of up to TRIED parts, else one part after another as long as that pays.
    """
    some = np.flatnonzero(one != other)
    if not len(some):
        return one.copy(), 0.0
    part = parts(problem, some)
    sign = np.where(other[some], 1.0, -1.0)
    costs = mutual_costs(problem, one, some)
    if costs is None:
        return _by_energies(problem, one, some, part)
    alone, together = costs
    order = np.argsort(part, kind="stable")
    first = np.searchsorted(part[order], np.arange(int(part.max()) + 1))  # every part's variables lie side by side
    signed = (together * sign * sign[:, None])[np.ix_(order, order)]
    pair = np.add.reduceat(np.add.reduceat(signed, first, axis=0), first, axis=1)
    single = np.bincount(part, sign * alone) + 0.5 * pair.diagonal()
    np.fill_diagonal(pair, 0.0)
    value, change = minimise_binary(single, pair, ENUMERATED)
    everything = float(single.sum() + 0.5 * pair.sum())
    if everything < change:  # the other matching itself: only a search without enumeration can miss it
        value, change = np.ones(len(value), np.int64), everything
    return _taken(one, some[value[part] == 1]), float(change)


def parts(problem: Problem, some: LongArray) -> LongArray:
    """Which alternating path or cycle each of these variables belongs to, numbered from 0."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n1, n2 = problem.shape
    row, col = problem.layout.row[some], problem.layout.col[some]
    each = np.arange(len(some))  # a variable, tied to the nodes that may have one partner only
    lines = [n + line for n, line, rule in ((0, row, problem.rows), (n1, col, problem.cols)) if rule != ANY]
    ends = np.concatenate([*lines, np.empty(0, np.int64)])
    starts = np.tile(each + n1 + n2, len(lines))
    size = n1 + n2 + len(some)
    graph = csr_array((np.ones(len(starts)), (starts, ends)), shape=(size, size))
    label = connected_components(graph, directed=False)[1][n1 + n2 :]
    return np.unique(label, return_inverse=True)[1].astype(np.int64)


def _by_energies(problem: Problem, one: Assignment, some: LongArray, part: LongArray) -> tuple[Assignment, float]:
    """`fuse` by whole energies: for any order."""
    pieces = [some[part == c] for c in range(int(part.max()) + 1)]
    before = problem.energy(one)
    best, lowest = one, before
    if len(pieces) <= TRIED:
        for bits in range(1, 1 << len(pieces)):
            chosen = [piece for c, piece in enumerate(pieces) if bits >> c & 1]
            tried = _taken(one, np.concatenate(chosen))
            if (energy := problem.energy(tried)) < lowest:
                best, lowest = tried, energy
        return best.copy(), lowest - before
    other = _taken(one, some)
    if (energy := problem.energy(other)) < lowest:
        best, lowest = other, energy
    for piece in pieces:
        check_time()
        tried = _taken(best, piece)
        if (energy := problem.energy(tried)) < lowest:
            best, lowest = tried, energy
    return best.copy(), lowest - before


def _taken(one: Assignment, changed: LongArray) -> Assignment:
    """With these variables changed."""
    after = one.copy()
    after[changed] = ~after[changed]
    return after


def construct(problem: Problem, rng: np.random.Generator) -> Assignment:
    """A matching built greedily: nodes in random order take what costs least beside those before them."""
    row, col = problem.layout.row, problem.layout.col
    on = np.zeros(problem.n, bool)
    free = np.ones(problem.n, bool)
    for i in rng.permutation(problem.shape[0]):
        mine = np.flatnonzero(free & (row == i))
        if len(mine):
            v = mine[np.argmin(joining_costs(problem, on, mine))]
            on[v] = True
            if problem.cols != ANY:
                free &= col != col[v]
    return hungarian(problem, on + 0.01 * rng.random(problem.n))  # which completes it where a demand is unmet


def large_and_sparse(problem: Problem) -> bool:
    """Whether a search over all pairs would be too large, and one over those that share costs is not."""
    if problem.order != 2 or refusal(problem):
        return False
    return bytes_needed(problem) > LARGE and not dense(problem) and searchable(problem)


def grown(problem: Problem, rng: np.random.Generator) -> Assignment:
    """A matching that grows over a large sparse problem from a node at random: whole regions fit together, where one
    change after another would pass through worse matchings. Merging takes the regions that pay."""
    costs, layout = problem.derived(PairCosts), problem.layout
    shared, on = costs.sparse, np.zeros(problem.n, bool)
    optional = EXACTLY_ONE not in (problem.rows, problem.cols)
    order = rng.permutation(problem.shape[0])
    table = shared.indptr, shared.indices, shared.data
    grow(costs.single, *table, layout.row, layout.col, layout.groups(0), order, optional, on)
    return on if optional else hungarian(problem, on + 0.01 * rng.random(problem.n))


def dual_start(problem: Problem) -> Assignment | None:
    """A matching to begin with, for large sparse problems: what the sweeps of a dual ascent suggest, merged, and then
    with matchings that grow.

    None for other problems. Whatever it has when the time is up is handed over.
    """
    if not large_and_sparse(problem):
        return None
    run = Run(problem, DD(max_nodes=0, effort=START_EFFORT))
    best, in_vain, rng = None, 0, np.random.default_rng(0)
    try:
        run.advance()
        while run.status is None:
            state = run.advance(LOOKS)
            if state is not None and state.best is not None and state.suggested is not None:
                merged, _ = fuse(problem, state.best, state.suggested)
                if (energy := problem.energy(merged)) < state.best_energy:
                    run.change(partial(begin_with, assignment=merged, energy=energy))
        best = run.best()[0]
        while in_vain < IN_VAIN:
            check_time()
            best, change = fuse(problem, best, grown(problem, rng))
            in_vain = 0 if change < -tolerance(problem.energy(best), problem.spread) else in_vain + 1
        return best
    except TimeUp:
        raise TimeUp(best if best is not None or run.state is None else run.best()[0]) from None


def first_matching(problem: Problem) -> Assignment:
    """That, or a guess from the unary costs."""
    found = dual_start(problem)
    return unary_matching(problem) if found is None else found


@dataclass(frozen=True, eq=False, kw_only=True)
class FusionState(State):
    """The best matching, and how many proposals in a row have not improved it."""

    stale: int = 0


@dataclass(frozen=True)
class Fusion:
    """Fusion moves: a stream of proposals, each merged into the best matching so far.

    It begins with a short run of ADGM, on large sparse problems with a dual ascent. Proposals are greedy constructions
    in random order (on large sparse problems: from a node to its neighbours) and perturbations of the best, in turn. An
    iteration is a proposal.
    """

    patience: int = option(30, "Proposals in vain", "It is over after so many in a row that improve nothing.", low=1)
    warmup: int = option(100, "Iterations of ADGM", "With which it begins; 0 begins with a construction.", low=0)
    max_iter: int = option(2000, "Most iterations", "The run ends after that many proposals.", low=1)
    seed: int = option(0, "Seed", "The same seed gives the same run.", low=0)

    def __post_init__(self) -> None:
        check(self)

    def init(self, problem: Problem) -> FusionState:
        start = dual_start(problem)
        if start is None and self.warmup:
            options = {**AUTO, "round_every": 0, "polish": False, "escape": True}
            run = Run(problem, ADGM(max_iter=LONGEST * self.warmup, **options))
            run.advance()
            run.advance(self.warmup)
            start = run.best()[0]
            if tempting(problem) and lost(problem, start):  # it takes longer to get away from the empty matching
                start = run.finish().assignment
        elif start is None:
            start = construct(problem, np.random.default_rng(self.seed))
        best = or_from_hyperedges(problem, polish(problem, start)[0])
        energy = problem.energy(best)
        return FusionState(iteration=0, x=best.astype(float), energy=energy, best=best, best_energy=energy)

    def done(self, state: FusionState) -> bool:
        return state.converged or state.iteration >= self.max_iter

    def step(self, problem: Problem, state: FusionState, n: int = 1) -> FusionState:
        """n proposals further, fewer if it ends."""
        energies: list[float] = []
        while len(energies) < n and not self.done(state):
            check_time()
            state = self._fused(problem, state)
            energies.append(state.best_energy)
        return replace(state, trace={"energy": np.array(energies)}) if energies else state

    def _fused(self, problem: Problem, state: FusionState) -> FusionState:
        rng = np.random.default_rng([self.seed, state.iteration])
        best, stale = state.best, state.stale + 1
        assert best is not None
        if state.iteration % 2:
            proposal = perturbed(problem, best, rng)
        elif large_and_sparse(problem):
            proposal = grown(problem, rng)
        else:
            proposal = improve(problem, construct(problem, rng))[0]
        merged, change = fuse(problem, best, proposal)
        energy = state.best_energy
        if change < -tolerance(energy, problem.spread):
            merged = polish(problem, merged)[0]
            if (reached := problem.energy(merged)) < energy:
                best, energy, stale = merged, reached, 0
        return replace(
            state,
            iteration=state.iteration + 1,
            x=best.astype(float),
            energy=energy,
            best=best,
            best_energy=energy,
            stale=stale,
            converged=stale >= self.patience,
        )
