"""A formula as LaTeX, and its curve: the cost over one quantity while the others stay as they are."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.formulas.expression import BINDING, COMPARED, NOT, PI, POWER, SIGNED, Node
from features.formulas.quantities import GAP, MEAN_GAP, written
from features.formulas.records import FormulaText, Term, symbol

Floats = NDArray[np.float64]
SUBSCRIPTS = {1: "i", 2: "ij", 3: "ijk", 4: "ijkl"}
SIGNS = {"*": r"\,", "<=": r"\le", ">=": r"\ge", "==": "=", "!=": r"\ne", "and": r"\land", "or": r"\lor"}
CALLS = {"asin": r"\arcsin", "acos": r"\arccos", "atan": r"\arctan"}
KNOWN = {"exp", "log", "min", "max", "sin", "cos", "tan", "tanh"}
# What quantities are usually like, where no pair tells
RANGES = {"px": (0.0, 100.0), "px²": (0.0, 1000.0), "rad": (0.0, pi), "": (0.0, 1.0)}


def latex(formula: FormulaText) -> str:
    """The whole model: F¹, F², … as they enter the energy, and the price."""
    found = []
    for order in (1, 2, 3, 4):
        mine = [term for term in formula.terms if term.order == order]
        sums = [term_latex(term) for term in mine]
        if order == 1 and formula.price is not None:
            sums.append(f"-{tree(formula.price, 0, SIGNED)}")
        if sums:
            joined = sums[0] + "".join(one if one.startswith("-") else f"+{one}" for one in sums[1:])
            found.append(f"F^{order}_{{{SUBSCRIPTS[order]}}} = {joined}")
    return r",\quad ".join(found)


def term_latex(term: Term) -> str:
    """One potential as it enters the energy."""
    return f"-{tree(term.expression, term.order, SIGNED)}" if term.similarity else tree(term.expression, term.order)


def tree(node: Node, order: int, least: int = 0) -> str:
    """An expression as LaTeX, in parentheses if it binds less strongly than that."""
    if node.kind == "number":
        mantissa, _, exponent = f"{node.value:.12g}".partition("e")
        return rf"{mantissa}\cdot 10^{{{int(exponent)}}}" if exponent else mantissa
    if node.kind == "name":
        return _name(node.name, order)
    if node.kind not in BINDING and node.kind not in ("neg", "not"):
        return _call(node, order)
    if node.kind == "/":
        return rf"\frac{{{tree(node.args[0], order)}}}{{{tree(node.args[1], order)}}}"
    if node.kind == "neg":
        text, strength = f"-{tree(node.args[0], order, SIGNED)}", SIGNED
    elif node.kind == "not":
        text, strength = rf"\lnot {tree(node.args[0], order, NOT)}", NOT
    elif node.kind == "^":
        base = node.args[0]
        inner = tree(base, order, POWER + 1)
        whole = rf"\left({inner}\right)" if base.kind == "/" or (base.kind == "name" and _compound(inner)) else inner
        return f"{whole}^{{{tree(node.args[1], order)}}}"
    else:
        strength = BINDING[node.kind]
        left = tree(node.args[0], order, strength + (strength == COMPARED))
        right = tree(node.args[1], order, strength + 1)
        sign = SIGNS.get(node.kind, node.kind)
        if node.kind == "*" and right[:1].isdigit():
            sign = r"\cdot"
        text = f"{left} {sign} {right}"
    return rf"\left({text}\right)" if strength < least else text


def _compound(symbol: str) -> bool:
    """Whether a name's symbol is more than letters with an index, and cannot be raised as it stands."""
    return " " in symbol or "^" in symbol or symbol.startswith(r"\cos")


def _name(name: str, order: int) -> str:
    if name == PI:
        return r"\pi"
    if order and name in written(order):
        one, side = written(order)[name]
        stem = one.symbol or symbol(one.name)
        if side is None:
            return stem
        return f"{{{stem}}}_{{{side + 1}}}" if "_" not in stem else f"{{{stem}}}^{{({side + 1})}}"
    return symbol(name)


def _call(node: Node, order: int) -> str:
    inner = [tree(part, order) for part in node.args]
    if node.kind == "sqrt":
        return rf"\sqrt{{{inner[0]}}}"
    if node.kind == "abs":
        return rf"\left|{inner[0]}\right|"
    if node.kind == "floor":
        return rf"\left\lfloor{inner[0]}\right\rfloor"
    if node.kind == "where":
        cases = rf"{inner[1]} & {inner[0]} \\ {inner[2]} & \text{{else}}"
        return rf"\begin{{cases}}{cases}\end{{cases}}"
    word = CALLS.get(node.kind) or (f"\\{node.kind}" if node.kind in KNOWN else rf"\operatorname{{{node.kind}}}")
    return rf"{word}\left({', '.join(inner)}\right)"


# ---- the curve ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Curve:
    """The cost of one potential over one of the names that it depends on."""

    over: str
    label: str
    unit: str
    x: Floats
    y: Floats  # not finite where the formula is not
    fixed: dict[str, float]  # the other quantities


def curve(
    term: Term, over: str, values: Mapping[str, Any], *, fixed: Mapping[str, float] | None = None, count: int = 200
) -> Curve:
    """What a potential costs over one quantity (or parameter), the other quantities fixed: as given, or in the middle
    of what is usual for them. What of both sides compares follows from the sides only where it is asked for."""
    from features.formulas.build import value

    known = written(term.order)
    spans = {name: _span(name, term.order) for name in term.quantities}
    others = {name: (fixed or {}).get(name, sum(span) / 2) for name, span in spans.items() if name != over}
    low, high = spans.get(over) or _around(float(values[over]))
    x = np.linspace(low, high, count)
    given = {**{name: np.float64(value) for name, value in {**values, **others}.items()}, over: x}
    one = known[over][0] if over in known else None
    y = value(term, given, x.shape)
    return Curve(over, one.label if one else over, one.unit if one else "", x, y, others)


def _span(name: str, order: int) -> tuple[float, float]:
    one, _ = written(order)[name]
    if one.name in ("dir", "heading", "angle"):
        return -pi, pi
    if one.name in (GAP, MEAN_GAP):
        return 0.0, 4.0
    return (-1.0, 1.0) if one.name in ("cosine", "sa", "sb", "sc", "ux", "uy", "orient") else RANGES[one.unit]


def _around(value: float) -> tuple[float, float]:
    return (0.0, 2 * value) if value > 0 else (value - 1, value + 1)
