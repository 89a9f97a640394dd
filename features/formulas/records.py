"""A model as its author wrote it, as records: potentials with an expression and a place each, a price, parameters."""

from collections.abc import Sequence
from dataclasses import dataclass

from features.formulas.expression import Node, write
from features.formulas.quantities import ORDERS, Quantity, named, written
from features.parameters import Parameter

USUAL = (1.0, 0.0, 10.0)  # of a parameter without a line of its own: default, low, high
SEED = Parameter("seed", "Seed", "int", 0, "Another seed, another sample", 0, 2**31 - 1, step=1)
BY = {3: ("sa", "sb", "sc"), 4: ("wa", "wb", "wc", "wd")}  # what tuples are looked up by where nothing says otherwise


@dataclass(frozen=True)
class Mistake:
    """What is wrong, in a sentence, and where: line and column are counted from 1."""

    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"Line {self.line}, column {self.column}: {self.message}"


class FormulaError(ValueError):
    """A text that is no model; `mistakes` says all that was found wrong."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        super().__init__(str(mistakes[0]))
        self.mistakes = tuple(mistakes)


@dataclass(frozen=True)
class Place:
    """Which tuples a potential looks at; 0 or empty: as usual.

    `graph`: "all" or "delaunay"; with `nearest` edges go to so many nearest points. `of`: whose edges count. `sample`:
    so many random tuples, of every left point if `per_point`. `with_nearest`: right tuples kept for each left one, by
    the quantities `by`.
    """

    graph: str = ""
    nearest: int = 0
    of: str = "either"
    sample: int = 0
    per_point: bool = False
    with_nearest: int = 0
    by: tuple[str, ...] = ()

    def write(self) -> str:
        found = []
        if self.nearest or self.graph in ("delaunay",):
            graph = f"{self.nearest} nearest" if self.nearest else self.graph
            found.append(f"on {graph}" + (f" of {self.of}" if self.of != "either" else ""))
        elif self.sample:
            found.append(f"sample {self.sample}{' per point' * self.per_point}")
        elif self.graph == "all":
            found.append("sample all")
        if self.with_nearest or self.by:
            count = f"{self.with_nearest} " if self.with_nearest else ""
            found.append(f"with {count}nearest" + (f" by {', '.join(self.by)}" if self.by else ""))
        return " ".join(found)


@dataclass(frozen=True)
class Term:
    """One potential: what is compared, by which expression, and where it lives."""

    what: str  # "points", "edges", "triangles" or "quadruples"
    expression: Node
    similarity: bool = False
    place: Place = Place()

    @property
    def order(self) -> int:
        return ORDERS[self.what]

    @property
    def quantities(self) -> tuple[str, ...]:
        """The quantities that it depends on, as they are written."""
        return tuple(name for name in self.expression.names if name in written(self.order))

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(name for name in self.expression.names if name not in written(self.order))

    @property
    def by(self) -> tuple[str, ...]:
        """What tuples of the right side are looked up by: what is said, or else what the expression compares."""
        sides = {name: {self.quantities.count(each) for each in one.written} for name, one in _sided(self.order)}
        compared = tuple(name for name, there in sides.items() if there == {1})
        return self.place.by or compared or BY.get(self.order, ())

    def write(self) -> str:
        sense = "similarity " * self.similarity
        return f"{self.what:<11} {sense}{write(self.expression)}  {self.place.write()}".rstrip()


@dataclass(frozen=True)
class FormulaText:
    """A model as its author wrote it."""

    terms: tuple[Term, ...]
    price: Node | None = None
    title: str = ""
    declared: tuple[Parameter, ...] = ()

    @property
    def sampled(self) -> bool:
        """Whether another seed looks at other tuples."""
        return any(term.order > 2 and term.place.graph == "" for term in self.terms)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters, in the order in which they are first written."""
        used = [name for term in self.terms for name in term.parameters]
        return tuple(dict.fromkeys([*used, *(self.price.names if self.price else ())]))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Every parameter with its default and range."""
        known = {one.name: one for one in self.declared}
        mine = tuple(known.get(name) or parameter(name) for name in self.names)
        return (*mine, SEED) if self.sampled else mine

    @property
    def text(self) -> str:
        """What `parse` reads into an equal record."""
        lines = [f"{'name':<11} {self.title}"] if self.title else []
        lines += [term.write() for term in self.terms]
        lines += [f"{'price':<11} {write(self.price)}"] if self.price else []
        lines += [declaration(one) for one in self.declared]
        return "\n".join(lines)


@dataclass(frozen=True)
class Parsed:
    """What came of a text: the model, or else what is wrong; and what may not be meant."""

    model: FormulaText | None
    mistakes: tuple[Mistake, ...] = ()
    hints: tuple[Mistake, ...] = ()


def _sided(order: int) -> list[tuple[str, Quantity]]:
    return [(name, one) for name, one in named(order).items() if one.sided]


def parameter(
    name: str, default: float = USUAL[0], low: float = USUAL[1], high: float = USUAL[2], step: float = 0.0
) -> Parameter:
    """A number of a formula, with a hundred steps in its range unless it says otherwise."""
    step = step or float(f"{(high - low) / 100:.1g}")
    return Parameter(
        name, name, "float", default, f"The parameter {name} of the formula", low, high, step=step, symbol=symbol(name)
    )


def declaration(one: Parameter) -> str:
    usual = parameter(one.name, 0.0 if one.low <= 0 <= one.high else one.low, one.low, one.high)
    step = "" if one.step == usual.step else f" step {_number(one.step or 0.0)}"
    return f"{one.name} = {_number(float(one.default))} in {_number(one.low)}..{_number(one.high)}{step}"


def _number(value: float) -> str:
    return write(Node("number", value=abs(value))) if value >= 0 else f"-{_number(-value)}"


GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "eta", "theta", "kappa", "lambda", "mu", "nu", "xi", "rho"),
    *("sigma", "tau", "phi", "chi", "psi", "omega", "zeta"),
)


def symbol(name: str) -> str:
    """A name as LaTeX: Greek letters, and what follows _ or is a number as an index."""
    stem, _, index = name.partition("_")
    bare = stem.rstrip("0123456789")
    stem, index = (bare, stem[len(bare) :] + index) if bare else (stem, index)
    stem = f"\\{stem}" if stem in GREEK else stem if len(stem) == 1 else rf"\mathrm{{{_tex(stem)}}}"
    return f"{stem}_{{{_tex(index)}}}" if index else stem


def _tex(text: str) -> str:
    return text.replace("_", r"\_")
