"""Alternating Direction Graph Matching of any order: minimise F¹(x) + F²(x, x) + … over assignments."""

from adgm.methods import METHODS
from adgm.problem import ANY, AT_MOST_ONE, EXACTLY_ONE, Dense, Formula, Problem, Sparse
from adgm.run import Result, State, iterate, solve
from adgm.solver import ADGM

__all__ = [
    "ADGM",
    "ANY",
    "AT_MOST_ONE",
    "EXACTLY_ONE",
    "METHODS",
    "Dense",
    "Formula",
    "Problem",
    "Result",
    "Sparse",
    "State",
    "iterate",
    "solve",
]
