"""Alternating Direction Graph Matching of any order: minimise F¹(x) + F²(x, x) + … over assignments.

Where the equations of the paper (Lê-Huu and Paragios, CVPR 2017) are, by their printed numbers and labels; all those of
the algorithm also stand, as plain NumPy, in `adgm.reference`:

    (1)–(4)    multilinear, multilinear-tensor, bigotimes     products with sparse blocks   _kernels/contraction.py
    (5)–(7)    energy-1, energy-unhomogeneous                 Problem.energy                problem.py
    (8)–(10)   prob:admm, x-update-general                    ADGM is an ADMM: its Lagrangian is minimised in tests only
    (11)       y-update-general, step 3                       move_duals                    _kernels/admm.py
    (12)       residual                                       gap + change                  _kernels/admm.py
    (13)–(14)  GM-decomposed                                  Problem.energies              problem.py
    (15)–(17)  v0-equal, v0-set, v0-set-condition             COUPLINGS, block_sets         solver.py
    (18)–(20)  x-update-v0, s_d                               aim                           _kernels/admm.py
    (21)–(24)  p_d, v0-qp                                     Problem.contract              problem.py, contraction.py
    (25)–(26)  mr, mc                                         block_sets                    solver.py
    (27)–(28)  equa1, equa2                                   COUPLINGS                     solver.py
    (29)       v0-x-update                                    project                       _kernels/projection.py
    (30)–(34)  v1-c1, v1-cd, v2-c1, v2-cD, v2-cd              aim                           _kernels/admm.py
    sect. 3.4  T1, T2, β, ρ0                                  adapt, RULES                  penalty.py in both rooms
    sect. 4    max(M) − M                                     affinities of the rivals      affinity.py

The models (35) pairwise-tkr to (40) are in `features.models`.
"""

from adgm import reference
from adgm.methods import METHODS, solve, warmup
from adgm.problem import ANY, AT_MOST_ONE, EXACTLY_ONE, Dense, Formula, Problem, Sparse
from adgm.run import Result, Run, State, iterate
from adgm.solver import ADGM

__version__ = "0.2.0"

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
    "Run",
    "Sparse",
    "State",
    "__version__",
    "iterate",
    "reference",
    "solve",
    "warmup",
]
