"""The numba room: every compiled function, flat arrays in, no checks, the GIL released.

Callers validate; the kernels only compute. Compiled code is cached on disk, so a second process does not compile.
"""

from adgm._kernels.admm import CONVERGED, INCREASED, MISSING, RAN, Pending, admm
from adgm._kernels.affinity import (
    add_tree,
    balance,
    mark_apart,
    mix,
    moved,
    multiply_symmetric,
    open_pair,
    pool_rows,
    pool_sparse,
    pool_symmetric,
)
from adgm._kernels.contraction import DENSE, add_columns, add_triples, contract, list_supports
from adgm._kernels.dual_ascent import Assigned, Costs, Labels, assign, probe, settle, share_out, visit
from adgm._kernels.edges import BOTH, EITHER, LEFT, RIGHT, Neighbours, count_partners, list_partners, mirror
from adgm._kernels.fibers import grow_tree, grow_triples, survey_copies
from adgm._kernels.penalty import Progress, Schedule, adapt
from adgm._kernels.projection import project
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
    Price,
    Tables,
    Triples,
    compiled,
)

__all__ = [
    "BOTH",
    "BOX",
    "CAPPED",
    "CONVERGED",
    "DENSE",
    "EITHER",
    "INCREASED",
    "LEFT",
    "MISSING",
    "RAN",
    "RIGHT",
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
    "Neighbours",
    "Pending",
    "Price",
    "Progress",
    "Schedule",
    "Tables",
    "Triples",
    "adapt",
    "add_columns",
    "add_tree",
    "add_triples",
    "admm",
    "assign",
    "balance",
    "compiled",
    "contract",
    "count_partners",
    "grow_tree",
    "grow_triples",
    "list_partners",
    "list_supports",
    "mark_apart",
    "mirror",
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
    "share_out",
    "survey_copies",
    "visit",
]
