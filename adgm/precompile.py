"""Compile the kernels into numba's cache, in the order in which a visitor needs them: python -m adgm.precompile

Each stage solves a tiny problem that needs certain kernels, and its name is printed when they are there. A process of
its own does this beside a server: compiling holds the interpreter, and would hold the server's. Where there are two
cores a second process compiles the local search at the same time. A mark beside the kernels says that they are all
there, so that the next server need not ask.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import permutations
from typing import Any

import numpy as np

from adgm._kernels.cache import FOLDER, mark
from adgm._kernels.compiling import NOTICE
from adgm._kernels.fusion import minimise_binary
from adgm._kernels.hyperedges import least_joint
from adgm._kernels.interpreted import INTERPRETER
from adgm.bounds.all_pairs import Node, Root
from adgm.bounds.tied_pairs import TiedNode, TiedRoot
from adgm.costs.koopmans_beckmann import product
from adgm.methods import METHODS, solve
from adgm.problem import EXACTLY_ONE, Dense, Formula, Problem, Sparse
from adgm.search.fusion import grown
from adgm.search.local_search import iterated_local_search, polish
from adgm.search.permutations import FEWEST, breed

KEPT = FOLDER is not None  # whether what one process compiles is there for the next
PAIRS = np.array([[0, 4], [1, 5], [2, 3]])
TRIPLES = np.array([[0, 3, 5], [1, 2, 4]])
EDGE = np.array([[0, 1]])
OWN = ("adgm", "adgm+", "adgm1", "adgm2", "fusion", "libmgm")  # methods that earlier stages run, and another program
LONG_ENOUGH = 0.1  # seconds of computing: a method that needs longer here does the same again and again
FEW_BYTES = 300  # of memory: not all columns fit
BESIDE = "local search"  # what the second process is told to compile


def plain() -> None:
    method = METHODS["adgm1"].make(max_iter=5)
    solve(Problem((2, 3), [Dense(np.eye(6))]), method)
    solve(Problem((2, 3), [Dense(np.ones(6)), Sparse(PAIRS, -np.ones(3), symmetric=True)]), method)
    edges = [Formula(np.eye(3), np.eye(3), lambda a, b: (a * b)[..., 0], left_edges=EDGE, right_edges=EDGE)]
    solve(Problem((3, 3), edges), method)  # on a graph's edges


def pairwise() -> None:
    solve(Problem((2, 3), [Dense(np.eye(6))]), METHODS["adgm"].make(max_iter=5))  # with local and tabu search


def sparse() -> None:
    solve(Problem((2, 3), [Dense(np.ones(6)), Sparse(PAIRS, -np.ones(3), symmetric=True)]), METHODS["adgm"].make())


def third_order() -> None:
    problem = Problem((2, 3), [Dense(np.eye(6)), Sparse(TRIPLES, -np.ones(2), symmetric=True)])
    solve(problem, METHODS["adgm"].make(max_iter=5))


def portfolio() -> None:
    solve(Problem((2, 3), [Dense(np.eye(6))]), METHODS["adgm+"].make(max_iter=5))
    problem = Problem((2, 3), [Dense(np.eye(6)[0]), Sparse(PAIRS, -np.ones(3), symmetric=True)])
    node: TiedNode | Node = TiedRoot(problem).node()
    for sweep in range(3):  # its bound: it begins with ties and goes on with all pairs, which tiny problems do not need
        node, _ = node.swept(10.0, 0.7, (0, sweep), False)
    Root(problem).node().swept(10.0, 0.7, (0, 0), True)
    Root(Problem((2, 3), [Dense(np.eye(6))])).node().swept(10.0, 0.7, (0, 0), True)  # without negative costs
    flow = 1.0 - np.eye(FEWEST)
    facilities = Problem((FEWEST, FEWEST), [Formula(flow, flow, product)], EXACTLY_ONE, EXACTLY_ONE)
    breed(facilities, None, np.eye(FEWEST).ravel() > 0, 0)
    minimise_binary(np.zeros(2), np.eye(2), 1)
    grown(problem, np.random.default_rng(0))  # for large sparse ones
    copies = TRIPLES[:, list(permutations(range(3)))].reshape(-1, 3)
    triples = Problem((2, 3), [Sparse(copies, -np.ones(len(copies)))])
    iterated_local_search(triples, np.eye(2, 3).ravel() > 0, 1, np.random.default_rng(0))
    none = np.zeros(0, np.uint32)
    rows: tuple[Any, ...] = np.zeros(0, int), 0, 0, np.zeros((0, 1))
    least_joint(np.zeros((1, 1), int), none, none, none, np.zeros(0), *rows)  # of large ones


def fusion() -> None:
    solve(Problem((2, 3), [Dense(np.eye(6))]), METHODS["fusion"].make(max_iter=2))


def rivals() -> None:
    """Every other method, on every kind of costs that it takes: stored, listed, in triples."""
    listed = np.ones((3, 3), bool)
    listed[0, 2] = False
    square, corner = np.eye(3), 1.0 - np.eye(3)
    unary = Dense(square)
    pairs = Sparse(np.array([[0, 4], [1, 5], [3, 7]]), -np.ones(3), symmetric=True)
    triples = Sparse(np.array([[0, 4, 8], [1, 3, 8], [0, 5, 7]]), -np.ones(3), symmetric=True)
    formula = Formula(corner, corner, lambda a, b: (a * b)[..., 0])
    problems = [
        Problem((3, 3), [unary, Dense(np.kron(corner, corner))]),
        Problem((3, 3), [unary, formula]),
        Problem((3, 3), [unary, formula], memory=FEW_BYTES),
        Problem((3, 3), [unary, pairs]),
        Problem((3, 3), [unary, pairs], candidates=listed),
        Problem((3, 3), [unary, triples]),
        Problem((3, 3), [unary, pairs, triples], candidates=listed),
    ]
    for problem in problems:
        for key, entry in METHODS.items():
            if key not in OWN and not entry.refusal(problem):
                with suppress(ValueError):  # a search for a bound needs more memory
                    solve(problem, entry.make(), time_limit=LONG_ENOUGH)


STAGES: dict[str, Callable[[], None]] = {
    "plain": plain,
    "pairwise": pairwise,
    "sparse": sparse,
    "third order": third_order,
    "portfolio": portfolio,
    "fusion": fusion,
    "rivals": rivals,
}


def local_search() -> None:
    polish(Problem((2, 3), [Dense(np.eye(6))]), np.eye(2, 3).ravel() > 0)


def complete() -> bool:
    """Whether everything has been compiled before, by this very code."""
    done = mark()
    return done is not None and done.exists()


def compile_all(told: Callable[[str], object] = lambda stage: None) -> None:
    """Every stage, in turn; the first one while the local search is compiled beside it, which the second one needs.
    `told` hears the name of each when it is there."""
    INTERPRETER.never()
    beside = None
    if KEPT and (os.cpu_count() or 1) > 1:
        with suppress(OSError):
            beside = subprocess.Popen([sys.executable, "-m", "adgm.precompile", BESIDE])
    for name, stage in STAGES.items():
        stage()
        told(name)
        if beside is not None:
            beside.wait()
    if done := mark():
        with suppress(OSError):  # then the next one looks again
            done.touch()


if __name__ == "__main__":
    NOTICE.quiet = True  # whoever starts this says so
    local_search() if sys.argv[1:] == [BESIDE] else compile_all(lambda stage: print(stage, flush=True))
