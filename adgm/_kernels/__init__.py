"""The numba room: every compiled function, flat arrays in, no checks, the GIL released.

Callers validate; the kernels only compute. Compiled code is cached on disk, so a second process does not compile.
"""

from adgm._kernels.admm import CONVERGED, INCREASED, MISSING, RAN, admm
from adgm._kernels.affinity import (
    add_tree,
    balance,
    mix,
    moved,
    multiply_symmetric,
    open_pair,
    pool_rows,
    pool_sparse,
    pool_symmetric,
)
from adgm._kernels.bound import Assigned, Costs, Labels, assign, descend, probe, settle, sweep
from adgm._kernels.contraction import add_columns, contract, list_supports
from adgm._kernels.projection import project
from adgm._kernels.trees import grow_tree
from adgm._kernels.types import (
    BOX,
    CAPPED,
    SIMPLEX,
    Columns,
    Fibers,
    FloatArray,
    Groups,
    IndexArray,
    LongArray,
    Tables,
    compiled,
)

__all__ = [
    "BOX",
    "CAPPED",
    "CONVERGED",
    "INCREASED",
    "MISSING",
    "RAN",
    "SIMPLEX",
    "Assigned",
    "Columns",
    "Costs",
    "Fibers",
    "FloatArray",
    "Groups",
    "IndexArray",
    "Labels",
    "LongArray",
    "Tables",
    "add_columns",
    "add_tree",
    "admm",
    "assign",
    "balance",
    "compiled",
    "contract",
    "descend",
    "grow_tree",
    "list_supports",
    "mix",
    "moved",
    "multiply_symmetric",
    "open_pair",
    "pool_rows",
    "pool_sparse",
    "pool_symmetric",
    "probe",
    "project",
    "settle",
    "sweep",
]
