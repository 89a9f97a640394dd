"""What a model is: a record with its formula, its parameters as data, and the function that turns a pair of
views into potentials. Everything that all models share happens here, once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from adgm import AT_MOST_ONE, EXACTLY_ONE, Dense, Formula, Problem, Sparse
from adgm.problem import Constraint
from features.limits import LIMITS
from features.pairs import Pair
from features.parameters import Parameter, Value

Potential = Dense | Sparse | Formula
Sense = Literal["cost", "similarity"]
# Numbers that building holds at a time, for every edge of the larger side and for every pair of points (measured)
EDGE_NUMBERS, PAIR_NUMBERS = 12, 10
# The same of a model that takes few of all pairs, and how many times as many pairs it may choose from
FEW_NUMBERS, FEW = 4, 4


def number(
    name: str,
    symbol: str,
    default: float,
    span: tuple[float, float],
    step: float,
    help: str,
    **others: Any,
) -> Parameter:
    """A parameter that is a number; whole if its step is a whole number given as int.

    `others` are further fields of `Parameter`: `label` (otherwise made from the name), `unit`, `paper`.
    """
    kind: Literal["int", "float"] = "int" if isinstance(step, int) else "float"
    label = others.pop("label", name.replace("_", " ").capitalize())
    return Parameter(name, label, kind, default, help, *span, symbol=symbol, step=step, **others)


def choice(name: str, default: str, choices: Sequence[str], help: str) -> Parameter:
    """A parameter that is one of several names."""
    label = name.replace("_", " ").capitalize()
    return Parameter(name, label, "choice", default, help, choices=tuple(choices))


@dataclass(frozen=True, eq=False)
class Model:
    """How much it costs to match points, pairs, triples … of two views.

    `sense`: "similarity" models store −similarity, their score is −energy. "cost" models are minimised as
    they are; where a method wants to maximise, the affinity is max(M) − M over the compatible pairs.
    `terms(pair, **values)` returns the potentials, or a whole `Problem` if it also decides the constraints.
    """

    label: str
    orders: tuple[int, ...]
    formula: str  # LaTeX
    sense: Sense
    use: str  # when to use it, one sentence
    terms: Callable[..., Sequence[Potential] | Problem]
    parameters: tuple[Parameter, ...] = ()
    complete: bool = True  # pairwise costs join all pairs of points, and may fill the memory
    optional: bool = False  # points may stay unmatched unless the caller asks otherwise
    photographs: bool = False  # its matches are checked by a map unless the caller asks otherwise
    images: bool = False  # its costs look at pixels
    given: bool = False  # it is about the problem that comes with a pair, and takes no other pair
    weights: Mapping[str, int] = field(default_factory=dict)  # parameters whose 0 leaves out the terms of an order

    def __post_init__(self) -> None:
        if self.sense not in ("cost", "similarity"):
            raise ValueError(f"the sense of {self.label} is {self.sense!r}; expected cost or similarity")
        names = [parameter.name for parameter in self.parameters]
        if len(set(names)) < len(names):
            raise ValueError(f"two parameters of {self.label} share a name: {', '.join(names)}")

    def values(self, **given: Any) -> dict[str, Value]:
        """Every parameter's value: what is given, checked, and the defaults."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given.keys() - known.keys():
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise ValueError(f"{self.label} has no parameter {name!r}; {has}")
        return {name: known[name].check(given.get(name, known[name].default)) for name in known}

    def orders_with(self, **given: Any) -> tuple[int, ...]:
        """The orders of its terms when the parameters have these values."""
        values = self.values(**given)
        gone = {order for name, order in self.weights.items() if values[name] == 0}
        return tuple(order for order in self.orders if order not in gone)

    def build(
        self,
        pair: Pair,
        *,
        rows: Constraint | None = None,
        cols: Constraint | None = None,
        candidates: NDArray[np.bool_] | None = None,
        **given: Any,
    ) -> Problem:
        """The problem of matching this pair.

        Without `rows` or `cols` nobody is assumed to be occluded in the smaller side: each of its points is
        matched to exactly one, and the larger side takes at most one each (both exactly one if equally many).
        A model with a cost for unmatched points (`optional`) lets both sides take at most one instead.
        """
        if complaint := pair.lack or self.too_large(pair.shape):
            raise ValueError(complaint)
        terms = self.terms(pair, **self.values(**given))
        if isinstance(terms, Problem):
            asked: dict[str, Any] = {"rows": rows, "cols": cols, "candidates": candidates}
            asked["memory"] = LIMITS.table_bytes if terms.memory > LIMITS.table_bytes else None
            asked = {name: value for name, value in asked.items() if value is not None}
            return replace(terms, **asked) if asked else terms
        usual = (AT_MOST_ONE, AT_MOST_ONE) if self.optional else smaller_side_exactly_one(pair.shape)
        return Problem(pair.shape, terms, rows or usual[0], cols or usual[1], candidates, LIMITS.table_bytes)

    def too_large(self, shape: tuple[int, int]) -> str:
        """Why so many points are not matched here, before any memory is taken for them; empty if they are."""
        n1, n2 = shape
        needed = 8 * (EDGE_NUMBERS * max(n1, n2) ** 2 + PAIR_NUMBERS * n1 * n2)
        most = LIMITS.variables
        if self.photographs:  # of its pairs only a few are variables, and its edges go to a few neighbours
            needed, most = 8 * FEW_NUMBERS * n1 * n2, FEW * most
        if self.given or (n1 * n2 <= most and needed <= LIMITS.build_bytes):
            return ""
        if n1 * n2 > most:
            return (
                f"{n1:,} × {n2:,} points make {n1 * n2:,} pairs of points; at most {most:,} are taken. "
                "Take fewer points on one of the sides."
            )
        return (
            f"The edges between {max(n1, n2):,} points would take about {needed / 1e6:,.0f} MB; at most "
            f"{LIMITS.build_bytes / 1e6:,.0f} MB are given to them here. Take fewer points on that side."
        )


def smaller_side_exactly_one(shape: tuple[int, int]) -> tuple[Constraint, Constraint]:
    """(rows, cols): every point of the smaller side is matched, none of the larger side twice."""
    n1, n2 = shape
    return EXACTLY_ONE if n1 <= n2 else AT_MOST_ONE, EXACTLY_ONE if n2 <= n1 else AT_MOST_ONE
