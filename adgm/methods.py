"""METHODS: every solver by its key, and `solve`, the front door to them all.

One line here makes a method appear in the app, on the command line and in the contract tests.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from adgm._kernels.interpreted import INTERPRETER
from adgm.bounds.branch_and_bound import DD
from adgm.costs.koopmans_beckmann import matrices
from adgm.machine.progress import Progress
from adgm.penalty import AUTO
from adgm.problem import ANY, Problem
from adgm.rivals import BCAGM, FAQ, IPFP, LAP, MPM, PGM, RRWHM, RRWM, SM, SMAC, TM
from adgm.rivals.libmgm import LibMGM, installed
from adgm.run import Result, Run
from adgm.search.fusion import Fusion
from adgm.search.portfolio import Portfolio
from adgm.solver import ADGM
from adgm.state import Method, State

ANY_ORDER = range(1, 100)
PAIRWISE, HIGHER, THIRD, THIRD_FOURTH = range(2, 3), range(2, 100), range(3, 4), range(3, 5)


@dataclass(frozen=True)
class Entry:
    """A method: its name for people, its constructor, what it takes, where it comes from, and what it does."""

    label: str
    make: Callable[..., Method[Any]]
    orders: range  # orders of the problems it takes
    cite: str
    does: str = ""  # in plain words
    one_to_one: bool = False  # whether it needs a limit of one partner on both sides
    needs_unary: bool = False  # whether it looks at the unary costs only
    products: bool = False  # whether it needs costs A[i, j] · B[s, t] and permutations

    def refusal(self, problem: Problem) -> str:
        """Why this method does not take that problem, in a sentence; empty if it does."""
        products = not self.products or matrices(problem) is not None
        return self.misfit({p.order(problem.shape) for p in problem.potentials}, (problem.rows, problem.cols), products)

    def misfit(self, orders: Collection[int], rules: Sequence[str], products: bool = False) -> str:
        """The same of a problem that is not built yet: by the orders of its potentials, its two constraints and whether
        its costs may be products of two matrices' entries."""
        if (order := max(orders)) not in self.orders:
            lowest, highest = self.orders[0], self.orders[-1]
            takes = f"order {lowest}" if lowest == highest else f"orders {lowest} to {highest}"
            return f"{self.label} takes {takes}, and this problem is of order {order}."
        if self.one_to_one and ANY in rules:
            return f"{self.label} needs at most one partner per node on both sides."
        if self.needs_unary and 1 not in orders:
            return f"{self.label} looks at unary costs only, and this problem has none."
        if self.products and not products:
            return f"{self.label} takes costs A[i, j] · B[s, t] over permutations only, such as those of QAPLIB files."
        return ""


PAPER, BCAGM_PAPER = "Lê-Huu and Paragios, CVPR 2017", "Nguyen, Gautier and Hein, CVPR 2015"
METHODS: dict[str, Entry] = {
    "adgm": Entry(
        "ADGM (self-tuning)",
        partial(ADGM, **AUTO, escape=True),
        ANY_ORDER,
        PAPER,
        "The paper's algorithm, whose penalty ρ sets itself from the data; a local search polishes what is rounded. "
        "Where a price on matches leaves nothing, it starts again in another way.",
    ),
    "adgm+": Entry(
        "ADGM+ (many starts)",
        Portfolio,
        ANY_ORDER,
        f"{PAPER}, many times over",
        "Many runs of ADGM from other penalties and starts, polished and merged; where it can, it proves the best one.",
    ),
    "adgm1": Entry(
        "ADGM1 (star)",
        partial(ADGM, coupling="star"),
        ANY_ORDER,
        PAPER,
        "The published algorithm: several copies of the matching are pulled together, each of them towards the first.",
    ),
    "adgm2": Entry(
        "ADGM2 (chain)",
        partial(ADGM, coupling="chain"),
        ANY_ORDER,
        PAPER,
        "The published algorithm: several copies of the matching are pulled together, each towards the one before it.",
    ),
    "fusion": Entry(
        "Fusion moves",
        Fusion,
        ANY_ORDER,
        "Hutschenreiter et al., ICCV 2021",
        "Proposes one matching after another and merges each with the best so far, which never gets worse.",
    ),
    "dd": Entry(
        "DD (branch and bound)",
        DD,
        range(1, 3),
        "Hahn and Grant, Operations Research 1998",
        "Bounds from below what any matching costs, and branches until the best one is proved, or time is up.",
        one_to_one=True,
    ),
    "sm": Entry(
        "SM",
        SM,
        PAIRWISE,
        "Leordeanu and Hebert, ICCV 2005",
        "Spectral matching: how strongly each match is supported by all others (an eigenvector), the best ones first.",
        one_to_one=True,
    ),
    "smac": Entry(
        "SMAC",
        SMAC,
        PAIRWISE,
        "Cour, Srinivasan and Shi, NIPS 2006",
        "Spectral matching whose eigenvector knows that a point has one partner.",
        one_to_one=True,
    ),
    "ipfp": Entry(
        "IPFP",
        IPFP,
        PAIRWISE,
        "Leordeanu, Hebert and Sukthankar, NIPS 2009",
        "Looks for the best matching of the costs as they are seen from here, goes towards it, and looks again.",
        one_to_one=True,
    ),
    "rrwm": Entry(
        "RRWM",
        RRWM,
        PAIRWISE,
        "Cho, Lee and Lee, ECCV 2010",
        "A random walk from match to match that now and then jumps to where every point has one partner.",
        one_to_one=True,
    ),
    "mpm": Entry(
        "MPM",
        MPM,
        PAIRWISE,
        "Cho, Sun, Duchenne and Ponce, CVPR 2014",
        "Max-pooling: of every other point only the best candidate supports a match, so that outliers do little harm.",
        one_to_one=True,
    ),
    "pgm": Entry(
        "PGM",
        PGM,
        HIGHER,
        "Zass and Shashua, CVPR 2008",
        "Probabilities of single matches that come nearest to what the pairs or triples of them say.",
        one_to_one=True,
    ),
    "tm": Entry(
        "TM",
        TM,
        HIGHER,
        "Duchenne, Bach, Kweon and Ponce, PAMI 2011",
        "Tensor matching: spectral matching for triples and more.",
        one_to_one=True,
    ),
    "rrwhm": Entry(
        "RRWHM",
        RRWHM,
        HIGHER,
        "Lee, Cho and Lee, CVPR 2011",
        "RRWM's random walk for triples and more.",
        one_to_one=True,
    ),
    "bcagm": Entry(
        "BCAGM+MP",
        BCAGM,
        THIRD_FOURTH,
        BCAGM_PAPER,
        "Four copies of the matching; two at a time are improved by max-pooling, and the score never falls.",
        one_to_one=True,
    ),
    "bcagm-lap": Entry(
        "BCAGM",
        partial(BCAGM, variant="lifted"),
        THIRD_FOURTH,
        BCAGM_PAPER,
        "Four copies of the matching; one at a time is set to the best for the others, and the score never falls.",
        one_to_one=True,
    ),
    "bcagm3": Entry(
        "BCAGM3",
        partial(BCAGM, variant="direct"),
        THIRD,
        "Nguyen et al., PAMI 2017",
        "BCAGM with three copies instead of four.",
        one_to_one=True,
    ),
    "faq": Entry(
        "FAQ (SciPy)",
        FAQ,
        PAIRWISE,
        "Vogelstein et al., PLOS ONE 2015",
        "SciPy's quadratic assignment: climbs straight to the nearest optimum, in a thousandth of a second.",
        one_to_one=True,
        products=True,
    ),
    "lap": Entry(
        "Linear assignment",
        LAP,
        ANY_ORDER,
        "Kuhn, Naval Research Logistics 1955",
        "Looks at every match alone, and finds the best assignment exactly: what graphs have to beat.",
        needs_unary=True,
    ),
}

if installed():  # a rival that the user may have; without it there is nothing to offer
    METHODS["libmgm"] = Entry(
        "Fusion moves (pylibmgm)",
        LibMGM,
        PAIRWISE,
        "Hutschenreiter et al., ICCV 2021",
        "The authors' own program, which this computer has: proposals, each merged with the best so far.",
        one_to_one=True,
    )


def solve(
    problem: Problem,
    method: Method[Any] | str | None = None,
    *,
    watch: Callable[[Any], object] | None = None,
    every: int = 50,
    time_limit: float | None = None,
    start: State | None = None,
    progress: bool = False,
) -> Result[Any]:
    """Run a method on a problem to its end.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    method : str or method, optional
        A key of `METHODS`, or a method made by hand, such as ``ADGM(growth=1.5)``. None is ADGM as published.
    watch : callable, optional
        Called with the state every so many iterations; the run stops when it returns True.
    every : int
        Iterations between two calls of `watch`.
    time_limit : float, optional
        Seconds of computing (processor time of all threads); compiling and waiting do not count.
    start : State, optional
        The state to continue from, such as ``result.state`` of an earlier run.
    progress : bool
        Tell on stderr how far the run is: by tqdm if it is installed, else on one line.

    Returns
    -------
    Result
        The best matching found, its energy, how the run ended, its history.

    Raises
    ------
    ValueError
        No method has that key; the method does not take this problem; `time_limit` or `every` is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from adgm import EXACTLY_ONE, Dense, Problem, solve
    >>> problem = Problem((3, 3), [Dense(1 - np.eye(3))], rows=EXACTLY_ONE)
    >>> result = solve(problem, "adgm")
    >>> result.matching.tolist(), result.energy, result.status
    ([0, 1, 2], 0.0, 'converged')
    """
    made = chosen(problem, method)
    run = Run(problem, made, time_limit=time_limit, start=start)
    with INTERPRETER.first_answers(isinstance(made, ADGM) and time_limit is None):
        if not progress:
            return run.finish(watch=watch, every=every)
        with Progress(getattr(made, "max_iter", None), watch) as told:
            return run.finish(watch=told, every=every)


def warmup() -> None:
    """Compile the kernels for this computer now, or load those compiled earlier: about a minute, once.

    It is never necessary: kernels are compiled when they are first needed, and that counts for no time limit; before
    that, ADGM without a time limit interprets them on small problems, for some seconds in all. Takes and returns
    nothing, and raises nothing of its own.

    Examples
    --------
    >>> import adgm
    >>> adgm.warmup()  # doctest: +SKIP
    """
    from adgm.precompile import compile_all

    compile_all()


def chosen(problem: Problem, method: Method[Any] | str | None) -> Method[Any]:
    """The method itself; an error for a name that there is not, and for a problem that a named method does not take."""
    if method is None:
        return ADGM()
    if not isinstance(method, str):
        return method
    if method not in METHODS:
        raise ValueError(f"there is no method {method!r}; the methods are {', '.join(METHODS)}")
    if refusal := METHODS[method].refusal(problem):
        raise ValueError(refusal)
    return METHODS[method].make()
