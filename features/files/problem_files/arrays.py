"""NPZ problems: what a deep matcher has at hand, saved with `numpy.savez`.

unary (n1, n2)                                cost of matching i to s; +inf forbids it
quadratic (E1, E2), edges_left (E1, 2),       cost of laying the left edge (i, j) on the right edge (s, t): paid
edges_right (E2, 2)                           when i is matched to s and j to t
K (n1·n2, n1·n2), perhaps n1 and n2           affinities in the order of vec(X), column by column: i2 · n1 + i1
pairs (m, 2), pair_costs (m,)                 cost of two matches i1 · n2 + i2 together
indices_D (m, D), costs_D, symmetric_D        the same for D matches, D from 3 (see `adgm.Sparse`)
maximise                                      whether all of these are to be maximised; so it is where there is K
candidates (n1, n2), rows, cols               which pairs may be matched; how often: at_most_one, exactly_one, any
points_left (n1, 2), image_left (h, w, 3),    where to draw it; the same with _right
graph_left (m, 2)
truth (n1,), optimum, name, sense             what is known about it
"""

from __future__ import annotations

import io
import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from adgm import AT_MOST_ONE, Dense, Problem, Sparse
from adgm.potentials import MAX_ORDER, Potential
from features.files.npz import Arrays, read_arrays
from features.files.problem_files.costs import MOST_DENSE, CostTable, cost_table, normal_form
from features.files.problem_files.record import (
    Floats,
    ProblemFile,
    ProblemFileError,
    check_shape,
    refuse_size,
)
from features.limits import LIMITS
from features.pairs import SIDES
from features.points.images import Image, from_array

Form = Literal["costs", "K"]
PLAIN = {"unary", "quadratic", "edges_left", "edges_right", "K", "n1", "n2", "pairs", "pair_costs", "maximise"}
PLAIN |= {"candidates", "rows", "cols", "truth", "optimum", "name", "sense"}
PLAIN |= {f"{what}_{side}" for what in ("points", "image", "graph") for side in SIDES}
PLAIN |= {f"{what}_{order}" for what in ("indices", "costs", "symmetric") for order in range(3, MAX_ORDER + 1)}
COSTS = ("unary", "quadratic", "K", "pairs", *(f"indices_{order}" for order in range(3, MAX_ORDER + 1)))
PRODUCT = 3  # a matrix over edges is taken for a list of pairs when it has at most so many times its entries
MAX_SIDE = 1600  # pixels of an image that is worked with


def read_npz(data: bytes) -> ProblemFile:
    """The problem of an NPZ file, from whatever it holds of the above."""
    refuse_size(len(data))
    arrays = read_arrays(data, LIMITS.problem_arrays)
    for name in arrays.keys() - PLAIN:
        raise ProblemFileError(f"there is an array {_shown(name)}; known are {', '.join(sorted(PLAIN)[:30])} ….")
    if not any(name in arrays for name in COSTS):
        raise ProblemFileError("there are no costs: unary, quadratic with edges_left and edges_right, K, or pairs.")
    shape = _shape(arrays)
    maximise = bool(_scalar(arrays, "maximise", "biuf", "K" in arrays))
    sign = -1.0 if maximise else 1.0
    candidates = _candidates(arrays, shape, sign)
    potentials: list[Potential] = []
    for read in (_unary, _quadratic, _affinity, _pairs, _tensors):
        potentials += read(arrays, shape, sign)
    rows, cols = (_scalar(arrays, side, "U", AT_MOST_ONE) for side in ("rows", "cols"))
    problem = normal_form(Problem(shape, potentials, rows, cols, candidates))
    optimum = _scalar(arrays, "optimum", "iuf", None)
    images = [_image(arrays, side) for side in SIDES]
    return ProblemFile(
        problem,
        left_points=_array(arrays, "points_left", "iuf"),
        right_points=_array(arrays, "points_right", "iuf"),
        left_edges=_array(arrays, "graph_left", "iu"),
        right_edges=_array(arrays, "graph_right", "iu"),
        images=(images[0], images[1]),
        truth=_array(arrays, "truth", "iu"),
        optimum=None if optimum is None else float(optimum),
        name=_scalar(arrays, "name", "U", "problem"),
        sense=_scalar(arrays, "sense", "U", "similarity" if maximise else "cost"),
    )


def write_npz(file: ProblemFile, form: Form = "costs") -> bytes:
    """The problem as NPZ: as costs of edges or pairs, or with all its affinities as K; whatever is known with it."""
    problem = file.problem
    low = [p for p in problem.potentials if p.order(problem.shape) <= 2]
    table = cost_table(
        Problem(problem.shape, low or [Dense(np.zeros(problem.shape))], problem.rows, problem.cols, problem.candidates)
    )
    arrays: Arrays = {"K": _as_affinity(table)} if form == "K" else _as_costs(table)
    if form == "K":
        arrays |= {name: np.array(size) for name, size in zip(("n1", "n2"), problem.shape, strict=True)}
    for order, potential in _higher(problem, form).items():
        arrays[f"indices_{order}"], arrays[f"costs_{order}"] = potential.indices, potential.costs
        arrays[f"symmetric_{order}"] = np.array(potential.symmetric)
    arrays |= {"rows": np.array(problem.rows), "cols": np.array(problem.cols)}
    if problem.candidates is not None and not problem.layout.full:
        arrays["candidates"] = problem.candidates
    arrays |= _known(file)
    total = sum(array.nbytes for array in arrays.values())
    if total > LIMITS.problem_arrays - 1000 * len(arrays):  # the rest is for headers
        raise ProblemFileError(
            f"the arrays have {total / 1e6:.0f} MB; at most {LIMITS.problem_arrays / 1e6:.0f} MB are accepted."
        )
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)  # type: ignore[arg-type]
    refuse_size(len(out.getvalue()), LIMITS.problem_bytes)
    return out.getvalue()


def affinity(problem: Problem) -> Floats:
    """K of a problem of order 2, as deep matchers take it: to be maximised, in the order i2 · n1 + i1."""
    return _as_affinity(cost_table(problem))


# ---- reading -----------------------------------------------------------------------------------------------------


def _shape(arrays: Arrays) -> tuple[int, int]:
    """(n1, n2) as every array that knows them has it."""
    claims: list[tuple[str, int, float]] = []  # who says so, which side, how many
    for name in ("unary", "candidates"):
        if name in arrays and arrays[name].ndim == 2:
            claims += [(name, side, size) for side, size in enumerate(arrays[name].shape)]
    for side, word in enumerate(SIDES):
        number = _scalar(arrays, f"n{side + 1}", "iu", None)
        claims += [] if number is None else [(f"n{side + 1}", side, int(number))]
        claims += [(f"points_{word}", side, len(arrays[f"points_{word}"]))] if f"points_{word}" in arrays else []
    sizes: list[float] = [0, 0]
    for who, side, size in claims:
        if sizes[side] not in (0, size):
            raise ProblemFileError(f"{who} has {size:g} {SIDES[side]} nodes, but another array has {sizes[side]:g}.")
        sizes[side] = size
    if "K" in arrays and arrays["K"].ndim and 0 in sizes:
        total = len(arrays["K"])
        known = max(sizes) or math.isqrt(total)
        sizes = [size or total // int(known) for size in sizes] if max(sizes) else [known, known]
    if 0 in sizes:
        raise ProblemFileError("the numbers of nodes are missing; add n1 and n2, or unary (n1, n2).")
    return check_shape(sizes)


def _candidates(arrays: Arrays, shape: tuple[int, int], sign: float) -> NDArray[np.bool_] | None:
    """Which pairs may be matched: as `candidates` says, and not where `unary` is infinitely bad."""
    mask = np.ones(shape, bool)
    if (given := _array(arrays, "candidates", "b", shape)) is not None:
        mask &= given
    if (unary := _array(arrays, "unary", "biuf", shape)) is not None:
        mask &= sign * unary.astype(np.float64) < np.inf
    return None if mask.all() else mask


def _unary(arrays: Arrays, shape: tuple[int, int], sign: float) -> list[Potential]:
    unary = _array(arrays, "unary", "biuf", shape)
    if unary is None:
        return []
    costs = sign * unary.astype(np.float64)
    return [Dense(_finite("unary", np.where(costs == np.inf, 0.0, costs)))]


def _quadratic(arrays: Arrays, shape: tuple[int, int], sign: float) -> list[Potential]:
    if not arrays.keys() & {"quadratic", "edges_left", "edges_right"}:
        return []
    left, right = (_array(arrays, f"edges_{side}", "iu") for side in SIDES)
    costs = _array(arrays, "quadratic", "biuf")
    if costs is None or left is None or right is None:
        raise ProblemFileError("quadratic, edges_left and edges_right belong together, and one of them is missing.")
    for side, edges, size in zip(SIDES, (left, right), shape, strict=True):
        if edges.ndim != 2 or edges.shape[1] != 2:
            raise ProblemFileError(f"edges_{side} has shape {edges.shape}; (number of edges, 2) is expected.")
        _in_range(f"edges_{side}", edges, size)
    if costs.shape != (len(left), len(right)):
        raise ProblemFileError(f"quadratic has shape {costs.shape}; ({len(left)}, {len(right)}) is expected.")
    left, right = left.astype(np.int64), right.astype(np.int64)
    one, other = np.nonzero(costs)
    index = np.stack([left[one, k] * shape[1] + right[other, k] for k in (0, 1)], axis=1)
    return [Sparse(index, sign * _finite("quadratic", costs)[one, other])]


def _affinity(arrays: Arrays, shape: tuple[int, int], sign: float) -> list[Potential]:
    n = shape[0] * shape[1]
    if "K" not in arrays:
        return []
    if n > MOST_DENSE:
        raise ProblemFileError(f"K is over {n} pairs; at most {MOST_DENSE} are accepted, quadratic takes more.")
    matrix = _array(arrays, "K", "biuf", (n, n))
    order = np.arange(n).reshape(shape[::-1]).T.reshape(-1)  # from i1 · n2 + i2 to i2 · n1 + i1
    costs = sign * _finite("K", matrix)[np.ix_(order, order)]
    return [Dense(costs)]


def _pairs(arrays: Arrays, shape: tuple[int, int], sign: float) -> list[Potential]:
    return _list(arrays, "pairs", "pair_costs", 2, shape, sign, False)


def _tensors(arrays: Arrays, shape: tuple[int, int], sign: float) -> list[Potential]:
    found: list[Potential] = []
    for order in range(3, MAX_ORDER + 1):
        symmetric = bool(_scalar(arrays, f"symmetric_{order}", "biu", False))
        found += _list(arrays, f"indices_{order}", f"costs_{order}", order, shape, sign, symmetric)
    return found


def _list(
    arrays: Arrays, name: str, costs: str, order: int, shape: tuple[int, int], sign: float, symmetric: bool
) -> list[Potential]:
    """Costs of chosen tuples of matches."""
    index = _array(arrays, name, "iu")
    if index is None:
        return []
    if index.ndim != 2 or index.shape[1] != order:
        raise ProblemFileError(f"{name} has shape {index.shape}; (number of rows, {order}) is expected.")
    _in_range(name, index, shape[0] * shape[1])
    values = _array(arrays, costs, "biuf", (len(index),))
    if values is None:
        raise ProblemFileError(f"{name} has no {costs} beside it.")
    return [Sparse(index.astype(np.int64), sign * _finite(costs, values), symmetric)]


def _array(arrays: Arrays, name: str, kinds: str, shape: tuple[int, ...] | None = None) -> NDArray[Any] | None:
    """The array if it is there, of one of these kinds of numbers and of this shape."""
    array = arrays.get(name)
    if array is None:
        return None
    if array.dtype.kind not in kinds:
        words = {"b": "truth values", "i": "whole numbers", "f": "numbers", "U": "text"}
        expected = " or ".join(words[kind] for kind in kinds if kind in words)
        raise ProblemFileError(f"{name} is of type {array.dtype}; {expected} are expected.")
    if shape is not None and array.shape != shape:
        raise ProblemFileError(f"{name} has shape {array.shape}; {shape} is expected.")
    return array


def _scalar(arrays: Arrays, name: str, kinds: str, default: Any) -> Any:
    array = _array(arrays, name, kinds)
    if array is None:
        return default
    if array.size != 1:
        raise ProblemFileError(f"{name} has shape {array.shape}; a single value is expected.")
    return array.reshape(-1)[0].item()


def _finite(name: str, values: Any) -> Floats:
    numbers: Floats = np.asarray(values, np.float64)
    if not np.isfinite(numbers).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(numbers))[0])
        raise ProblemFileError(f"{name} is {numbers[where]} at {where}; a finite number is expected.")
    return numbers


def _in_range(name: str, index: NDArray[Any], below: int) -> None:
    if index.size and not (index.min() >= 0 and index.max() < below):
        raise ProblemFileError(f"{name} names {index.min()} to {index.max()}; 0 to {below - 1} is expected.")


def _image(arrays: Arrays, side: str) -> Image | None:
    image = _array(arrays, f"image_{side}", "biuf")
    return None if image is None else from_array(image, max_side=MAX_SIDE)


def _shown(name: str) -> str:
    return repr("".join(letter if letter.isprintable() else "?" for letter in name)[:40])


# ---- writing -----------------------------------------------------------------------------------------------------


def _as_costs(table: CostTable) -> Arrays:
    """Unary costs, and the others over edges if that is compact, else over pairs."""
    arrays: Arrays = {"unary": table.unary}
    if not len(table.pairs):
        return arrays
    i1, i2, j1, j2 = table.nodes
    n1, n2 = table.problem.shape
    left, row = np.unique(i1 * n1 + j1, return_inverse=True)
    right, col = np.unique(i2 * n2 + j2, return_inverse=True)
    if len(left) * len(right) > PRODUCT * len(table.pairs):
        return arrays | {"pairs": table.pairs, "pair_costs": table.costs}
    quadratic = np.zeros((len(left), len(right)))
    quadratic[row, col] = table.costs
    edges = {"edges_left": np.stack(np.divmod(left, n1), axis=1), "edges_right": np.stack(np.divmod(right, n2), axis=1)}
    return arrays | {"quadratic": quadratic} | edges


def _as_affinity(table: CostTable) -> Floats:
    n1, n2 = table.problem.shape
    n = n1 * n2
    if n > MOST_DENSE:
        raise ProblemFileError(f"K would be over {n} pairs; at most {MOST_DENSE} are accepted.")
    place = np.arange(n).reshape(n2, n1).T.reshape(-1)
    matrix = np.zeros((n, n))
    matrix[place, place] = -table.unary.reshape(-1)
    a, b = place[table.pairs].T
    matrix[a, b] = matrix[b, a] = -table.costs / 2
    return matrix


def _higher(problem: Problem, form: Form) -> dict[int, Sparse]:
    """One list for every order from 3."""
    found: dict[int, Sparse] = {}
    sign = -1.0 if form == "K" else 1.0
    for potential in normal_form(problem).potentials if problem.order > 2 else ():
        order = potential.order(problem.shape)
        if order < 3:
            continue
        assert isinstance(potential, Sparse)  # that is what the normal form makes of it
        index, costs, before = potential.indices, sign * potential.costs, found.get(order)
        if before is not None:
            if before.symmetric != potential.symmetric:
                raise ProblemFileError(f"symmetric and other costs of order {order} cannot be written side by side.")
            index, costs = np.concatenate([before.indices, index]), np.concatenate([before.costs, costs])
        found[order] = Sparse(index, costs, potential.symmetric)
    return found


def _known(file: ProblemFile) -> Arrays:
    """What is known besides the costs; images at the size they are worked with, points in their pixels."""
    arrays: Arrays = {"name": np.array(file.name), "sense": np.array(file.sense)}
    for side, image in zip(SIDES, file.images, strict=True):
        points, edges = getattr(file, f"{side}_points"), getattr(file, f"{side}_edges")
        if image is not None:
            arrays[f"image_{side}"] = image.rgb
        if points is not None:
            arrays[f"points_{side}"] = points if image is None else points * image.scale
        if edges is not None:
            arrays[f"graph_{side}"] = edges
    if file.truth is not None:
        arrays["truth"] = file.truth
    if file.optimum is not None:
        arrays["optimum"] = np.array(file.optimum)
    return arrays
