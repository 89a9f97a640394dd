"""A formula becomes a `Model` like those of the paper: its potentials are the same kinds, built the same way."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import perm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adgm import Dense, Formula, Sparse
from adgm.costs.numbers import MOST
from adgm.machine.deadline import check_time
from adgm.potentials import CHUNK, Attributes
from features.formulas.expression import Node, evaluate
from features.formulas.quantities import (
    GAP,
    MEAN_GAP,
    Measured,
    sides_of,
    values_of,
    written,
)
from features.formulas.records import FormulaText, Term
from features.formulas.text import MOST_TUPLES, model_text
from features.formulas.typeset import latex
from features.latest import latest
from features.models.base import Model, Potential
from features.models.sampled import Near, affordable, nearest_tuples
from features.pairs import Pair
from features.points.graphs import GRAPHS, all_tuples, draw_tuples
from features.points.keypoints import Keypoints

Floats = NDArray[np.float64]
Tuples = NDArray[np.int64]
Values = Mapping[str, Any]
MOST_NUMBERS = 8_000_000  # of the edges of one side that are kept at once
TESTED = 256  # pairs of edges that a formula is tried on before a solver sees it
LABEL = "Your formula"
USE = "A model of your own, written as a formula."


@dataclass(frozen=True, eq=False)
class Part:
    """A potential, or one of the summands that it consists of, with a name for people."""

    name: str
    potential: Potential


@lru_cache(maxsize=64)
def model_of(text: str) -> Model:
    """The model that a text describes; a `FormulaError` says what is wrong with it."""
    return model(model_text(text))


def model(formula: FormulaText) -> Model:
    """A model like any other. A price lets both sides leave points unmatched."""
    orders = {term.order for term in formula.terms} | ({1} if formula.price else set())
    similar = all(term.similarity for term in formula.terms) and formula.price is None
    quantities = [written(term.order)[name][0] for term in formula.terms for name in term.quantities]
    return Model(
        label=formula.title or LABEL,
        orders=tuple(sorted(orders)),
        formula=latex(formula),
        sense="similarity" if similar else "cost",
        use=USE,
        terms=partial(_terms, formula),
        parameters=formula.parameters,
        complete=any(term.order == 2 and _graph_of(term) is None for term in formula.terms),
        optional=formula.price is not None,
        images=any(one.images for one in quantities),
    )


def _terms(formula: FormulaText, pair: Pair, **values: Any) -> list[Potential]:
    return [part.potential for part in parts(formula, pair, values)]


def parts(formula: FormulaText, pair: Pair, values: Values, *, summands: bool = False) -> list[Part]:
    """The potentials; with `summands` each sum in parts of its own, which together cost the same."""
    found = []
    for term in formula.terms:
        for name, piece in _pieces(term) if summands else [(term.what, term)]:
            found.append(Part(name, BUILD[term.order](piece, pair, values)))
    if formula.price is not None:
        price = _number(evaluate(formula.price, _floats(values)), "The price")
        found.append(Part("price", Dense(np.full(pair.shape, -price))))
    return found


def names_of(formula: FormulaText) -> list[str]:
    """The names of `parts` with summands."""
    found = [name for term in formula.terms for name, _ in _pieces(term)]
    return found if formula.price is None else [*found, "price"]


def _pieces(term: Term) -> Iterator[tuple[str, Term]]:
    """The summands, named after what they depend on; tuples are looked up as they are for the whole."""
    groups: dict[str, Node] = {}
    for summand in term.expression.summands:
        names = [name for name in summand.names if name in written(term.order)]
        labels = dict.fromkeys(written(term.order)[name][0].label for name in names)
        word = ", ".join(labels) or "constant"
        groups[word] = Node("+", (groups[word], summand)) if word in groups else summand
    for word, expression in groups.items():
        if len(groups) == 1:
            yield term.what, term
        else:
            place = replace(term.place, by=term.by) if term.order > 2 else term.place
            yield f"{term.what}: {word}", replace(term, expression=expression, place=place)


def _floats(values: Values) -> dict[str, np.float64]:
    """Parameters as NumPy's floats, which overflow to infinity instead of raising."""
    return {name: np.float64(value) for name, value in values.items()}


def _number(value: Any, what: str) -> float:
    number = float(value)
    if not abs(number) <= MOST:
        raise ValueError(f"{what} is {number:g}; expected a number between {-MOST:g} and {MOST:g}.")
    return number


def value(term: Term, given: Mapping[str, Any], shape: tuple[int, ...]) -> Floats:
    """The cost of tuples from the values of all names, negated for a similarity."""
    with np.errstate(all="ignore"):
        found = evaluate(term.expression, given)
        found = np.negative(found) if term.similarity else np.asarray(found)
    return found if found.shape == shape else np.array(np.broadcast_to(found, shape))


def _check(term: Term, costs: Floats, given: Mapping[str, Any], nodes: Mapping[str, Any]) -> None:
    """A ValueError with an example where a cost cannot be computed with."""
    bad = ~(np.abs(costs) <= MOST)
    if not bad.any():
        return
    at = np.unravel_index(int(np.argmax(bad)), costs.shape)

    def here(values: Any) -> Any:
        return np.broadcast_to(values, costs.shape)[at]

    measured = ", ".join(f"{name} = {float(here(given[name])):.4g}" for name in term.expression.names if name in given)
    places = " and ".join(f"the {side} {'–'.join(str(int(here(n))) for n in each)}" for side, each in nodes.items())
    raise ValueError(
        f"The {term.what} formula gives {costs[at]:.4g} for {places}{f', where {measured}' if measured else ''}; "
        "a cost must be a finite number everywhere. Keep what you divide by above 0, as in max(x, 1)."
    )


# ---- points ------------------------------------------------------------------------------------------------------


def _points(term: Term, pair: Pair, values: Values) -> Dense:
    n1, n2 = pair.shape
    names, columns = term.quantities, sides_of(term.quantities, 1)
    rows, cols = np.arange(n1)[:, None], np.arange(n2)[None, :]
    left, right = (_columns(view.points, nodes, 1, columns) for view, nodes in ((pair.left, rows), (pair.right, cols)))
    whole = {name: one.costs(pair) for name in names if (one := written(1)[name][0]).costs is not None}
    costs = np.empty(pair.shape)
    step = max(1, CHUNK // n2)
    for begin in range(0, n1, step):
        check_time()
        some = slice(begin, begin + step)
        given = {
            **_floats(values),
            **values_of(names, 1, {name: column[some] for name, column in left.items()}, right),
            **{name: matrix[some] for name, matrix in whole.items()},
        }
        costs[some] = value(term, given, costs[some].shape)
        _check(term, costs[some], given, {"left point": (rows[some],), "right point": (cols,)})
    return Dense(costs)


def _columns(points: Keypoints, nodes: Any, order: int, names: list[str]) -> dict[str, Floats]:
    measured = Measured(points, nodes if order > 1 else (nodes,), order)
    return {name: measured[name] for name in names}


# ---- edges -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EdgeCost:
    """What two edges cost, from the quantities of either as columns; where a formula tells an edge from the same one
    turned round, the mean of both, whose columns follow."""

    term: Term
    columns: tuple[str, ...]
    values: tuple[tuple[str, float], ...]
    turned: bool

    def __call__(self, left: Floats, right: Floats) -> Floats:
        shape = np.broadcast_shapes(left.shape[:-1], right.shape[:-1])
        found = value(self.term, self.given(left, right), shape)
        if not self.turned:
            return found
        back = len(self.columns)
        with np.errstate(all="ignore"):
            return (found + value(self.term, self.given(left[..., back:], right[..., back:]), shape)) / 2

    def given(self, left: Floats, right: Floats) -> dict[str, Any]:
        """The values of all names."""
        sides = ({name: each[..., k] for k, name in enumerate(self.columns)} for each in (left, right))
        return {**_floats(dict(self.values)), **values_of(self.term.quantities, 2, *sides)}


def _edges(term: Term, pair: Pair, values: Values) -> Formula:
    columns = sides_of(term.quantities, 2)
    odd = any(not written(2)[name][0].even for name in term.quantities)
    used = tuple((name, float(values[name])) for name in term.parameters)
    cost = EdgeCost(term, tuple(columns), used, odd)
    left, right = (_attributes(view.points, columns, odd) for view in (pair.left, pair.right))
    graph = _graph_of(term)
    build = (
        None
        if graph is None
        else partial(GRAPHS[graph].build, **({"k": term.place.nearest} if term.place.nearest else {}))
    )
    of = term.place.of
    edges = {
        f"{side}_edges": None if build is None or of not in (side, "either", "both") else build(view.points.xy).edges
        for side, view in (("left", pair.left), ("right", pair.right))
    }
    found = Formula(left, right, cost, **edges, where="both" if of == "both" else "either")  # type: ignore[arg-type]
    _try_edges(term, found, cost, pair.shape)
    return found


def _graph_of(term: Term) -> str | None:
    return "nearest" if term.place.nearest else term.place.graph or None


def _attributes(points: Keypoints, names: list[str], turned: bool) -> Floats | Attributes:
    """(n, n, k): the quantities of every edge i → j, and with `turned` those of j → i behind them; as a function of i
    and j where that would take too much memory."""
    compute = partial(_edge_columns, points, tuple(names), turned)
    nodes = np.arange(len(points))
    large = len(points) ** 2 * len(names) * (1 + turned) > MOST_NUMBERS
    return compute if large else compute(nodes[:, None], nodes[None, :])


def _edge_columns(points: Keypoints, names: tuple[str, ...], turned: bool, i: Tuples, j: Tuples) -> Floats:
    shape = np.broadcast_shapes(i.shape, j.shape)
    ways = ((i, j), (j, i))[: 1 + turned]
    found = [column for nodes in ways for column in _columns(points, nodes, 2, list(names)).values()]
    return np.stack([np.broadcast_to(column, shape) for column in found], axis=-1) if found else np.empty((*shape, 0))


def _try_edges(term: Term, formula: Formula, cost: EdgeCost, shape: tuple[int, int]) -> None:
    """On some pairs of edges: what is wrong on others is told when a solver meets them."""
    n1, n2 = shape
    if min(n1, n2) < 2:
        return
    rng = np.random.default_rng(0)
    i1, i2 = rng.integers(n1, size=TESTED), rng.integers(n2, size=TESTED)
    j1, j2 = (i1 + rng.integers(1, n1, size=TESTED)) % n1, (i2 + rng.integers(1, n2, size=TESTED)) % n2
    if formula.on_edges:
        kept = formula.lives(i1, j1, i2, j2)
        i1, j1, i2, j2 = i1[kept], j1[kept], i2[kept], j2[kept]
    sides = ((formula.left, i1, j1), (formula.right, i2, j2))
    left, right = (each(i, j) if callable(each) else each[i, j] for each, i, j in sides)
    _check(term, cost(left, right), cost.given(left, right), {"left edge": (i1, j1), "right edge": (i2, j2)})


# ---- triangles and quadruples ------------------------------------------------------------------------------------


def _tuples(term: Term, pair: Pair, values: Values) -> Sparse:
    """Left tuples, each with its nearest right ones, once for all orderings."""
    order = term.order
    near = _looked_up(term, pair, int(values.get("seed", 0)))
    columns = sides_of(term.quantities, order)
    costs = np.empty(len(near.squared))
    for begin in range(0, len(costs), CHUNK):
        check_time()
        some = slice(begin, begin + CHUNK)
        nodes = near.left[some].T, near.right[some].T
        sides = [
            _columns(view.points, each, order, columns)
            for view, each in zip((pair.left, pair.right), nodes, strict=True)
        ]
        given = {
            **_floats(values),
            **values_of(term.quantities, order, *sides),
            GAP: near.squared[some],
            MEAN_GAP: np.float64(near.mean),
        }
        costs[some] = value(term, given, costs[some].shape)
        word = term.what.removesuffix("s")
        _check(term, costs[some], given, {f"left {word}": nodes[0], f"right {word}": nodes[1]})
    return Sparse(near.variables(pair.shape[1]), costs, symmetric=True)


@latest
def _looked_up(term: Term, pair: Pair, seed: int) -> Near:
    """The tuples that are compared, which no parameter changes; kept while only those move."""
    order, by = term.order, list(term.by)
    drawn = _drawn(term, pair, seed)

    def feature(points: Floats, tuples: NDArray[np.int64]) -> Floats:
        return np.stack(list(_columns(Keypoints(points), tuples.T, order, by).values()), axis=-1)

    usual = perm(pair.shape[1], order) if term.place.graph == "all" else len(drawn)
    count = max(1, min(term.place.with_nearest or usual, affordable(drawn)))
    return nearest_tuples(pair.left.points.xy, pair.right.points.xy, feature, drawn, count, seed)


def _drawn(term: Term, pair: Pair, seed: int) -> NDArray[np.int64]:
    """The tuples of the left side."""
    place, order, (n1, n2) = term.place, term.order, pair.shape
    if place.graph == "delaunay":
        return GRAPHS["delaunay_triangles"].build(pair.left.points.xy).edges
    if place.graph == "all":
        return all_tuples(pair.left.points.xy, order).edges
    count = place.sample * (n1 if place.per_point else 1) or n1 * n2
    if place.sample and count > MOST_TUPLES:
        raise ValueError(f"A sample of {count:,} {term.what} is too large; at most {MOST_TUPLES:,} are looked at.")
    return draw_tuples(n1, order, count, seed)


BUILD: dict[int, Callable[[Term, Pair, Values], Potential]] = {1: _points, 2: _edges, 3: _tuples, 4: _tuples}
