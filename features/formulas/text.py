"""A model as text: one line per potential, then its price and its parameters. Text becomes a record and back.

    name        Springs on a graph
    points      weight * looks
    edges       similarity exp(-(d1 - d2)^2 / s2)          on delaunay of left
    triangles   (area1 - area2)^2 / g                      sample 20 per point with 300 nearest by sa, sb, sc
    price       0.3
    s2 = 100 in 1..1000 step 10

A line begins with what is compared, then perhaps `similarity` (more is better) or `cost` (less is better, as without
either). Edges live `on all` (as without it), `on delaunay` or `on K nearest`, which may end in `of left`, `of right`,
`of both` or `of either`. Of triangles and quadruples some of the left side are looked at: `sample N per point`, `sample
N`, `sample all` or, of triangles, `on delaunay`; without it as many at random as there are pairs of points. Each is
compared `with K nearest` of the right side, by the quantities that follow `by`; other tuples cost nothing. `price` is
what leaving a left and a right point out costs; with it both sides may stay unmatched. Every name that is no quantity
is a parameter: 1 in 0..10 unless a line says otherwise. A semicolon ends a line, a # begins a comment.
"""

import keyword
import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import lru_cache

from features.formulas.expression import LONGEST, PI, RESERVED, Node, Reader, Token, Wrong, tokens
from features.formulas.quantities import ORDERS, QUANTITIES, named, written
from features.formulas.records import FormulaError, FormulaText, Mistake, Parsed, Place, Term, parameter
from features.parameters import Parameter

LONGEST_TEXT, MOST_TERMS, MOST_PARAMETERS, LONGEST_TITLE = 4000, 8, 20, 40
LARGEST = 1e12
MOST_TUPLES = 100_000
TITLE = re.compile(r"[^\W\d_](?:[^\W_]|[ ,'+()-])*")  # which no page reads as a link, an image or a formula
WHERE = ("either", "both", "left", "right")
# Names that building a model gives another meaning
TAKEN = {"self", "pair", "rows", "cols", "candidates", "seed", "name", "price", "similarity", "cost", *ORDERS}


def parse(text: str) -> Parsed:
    """The model that a text describes, or all that is wrong with it; never an exception."""
    if len(text) > LONGEST_TEXT:
        message = f"A model has at most {LONGEST_TEXT} characters, this one {len(text)}."
        return Parsed(None, (Mistake(1, 1, message),))
    reading = _Reading()
    for line, column, piece in _pieces(text):
        try:
            reading.line(line, column, piece)
        except Wrong as wrong:
            reading.mistakes.append(Mistake(line, column + wrong.column + 1, str(wrong)))
    return reading.parsed()


@lru_cache(maxsize=64)
def model_text(text: str) -> FormulaText:
    """The same, or a `FormulaError` whose words are the first mistake."""
    found = parse(text)
    if found.model is None:
        raise FormulaError(found.mistakes)
    return found.model


def _pieces(text: str) -> Iterator[tuple[int, int, str]]:
    """(line from 1, column from 0, text) of what stands between line ends and semicolons, without comments."""
    for number, line in enumerate(text.splitlines(), 1):
        at = 0
        for piece in line.partition("#")[0].split(";"):
            if piece.strip():
                yield number, at, piece
            at += len(piece) + 1


class _Reading:
    """What was read so far."""

    def __init__(self) -> None:
        self.terms: list[tuple[Term, int, int]] = []
        self.price: Node | None = None
        self.title = ""
        self.declared: dict[str, tuple[Parameter, int, int]] = {}
        self.mistakes: list[Mistake] = []
        self.hints: list[Mistake] = []

    def line(self, number: int, column: int, piece: str) -> None:
        first = piece.split()[0]
        begin = piece.index(first)
        if first == "name":
            self._title(piece[begin + len(first) :].strip(), begin)
            return
        found = tokens(piece)
        if len(found) > 2 and found[1].text == "=":
            self._declare(found, number, column)
        elif found[0].text == "price":
            self._price(piece, found, number, column)
        elif found[0].text in ORDERS:
            self._term(piece, found, number, column)
        else:
            near = get_close_matches(first[:20], [*ORDERS, "price", "name"], 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            kinds = f"{', '.join(ORDERS)}, price, name or a parameter (s2 = 10 in 1..100)"
            raise Wrong(f"A line begins with {kinds}, not with {first[:30]!r}.{hint}", begin)

    def _title(self, title: str, column: int) -> None:
        if not 1 <= len(title) <= LONGEST_TITLE:
            raise Wrong(f"A name has 1 to {LONGEST_TITLE} characters, this one {len(title)}.", column)
        if not TITLE.fullmatch(title):
            raise Wrong("A name begins with a letter, and has letters, digits, spaces and , ' + - ( ) only.", column)
        if self.title:
            raise Wrong("The model has a name already.", column)
        self.title = title

    def _term(self, piece: str, found: list[Token], number: int, column: int) -> None:
        what = found[0].text
        if len(self.terms) == MOST_TERMS:
            raise Wrong(f"A model has at most {MOST_TERMS} potentials.", found[0].column)
        begin = 1
        sense = found[1].text if found[1].kind == "name" and found[1].text in ("similarity", "cost") else ""
        begin += bool(sense)
        reader = _reader(piece, found, begin)
        node = reader.expression()
        place = _place(reader, ORDERS[what])
        if reader.next.kind != "end":
            clauses = {1: "nothing more", 2: "on …"}.get(ORDERS[what], "sample … or with …")
            raise Wrong(
                f"{reader.next.text[:30]!r} is not expected here; expected an operation or {clauses}.",
                reader.next.column,
            )
        self._names(node, ORDERS[what], number, column)
        self.terms.append((Term(what, node, sense == "similarity", place), number, column))

    def _price(self, piece: str, found: list[Token], number: int, column: int) -> None:
        if self.price is not None:
            raise Wrong("The model has a price already.", found[0].column)
        reader = _reader(piece, found, 1)
        node = reader.expression()
        if reader.next.kind != "end":
            raise Wrong(f"{reader.next.text[:30]!r} is not expected here; a price is one number.", reader.next.column)
        self._names(node, 0, number, column)
        self.price = node

    def _names(self, node: Node, order: int, number: int, column: int) -> None:
        """Every name is a quantity of this order, or may be a parameter."""
        mine = written(order)
        for part in node.walk():
            if part.kind != "name" or part.name in mine or part.name == PI:
                continue
            if part.name in named(order):
                raise Wrong(f"{part.name} has a value on either side; write {part.name}1 or {part.name}2.", part.column)
            for one in QUANTITIES:
                if part.name in one.written:
                    word = next(key for key, value in ORDERS.items() if value == one.order)
                    told = f"here there are {', '.join(mine)}" if mine else "a price takes numbers and parameters only"
                    raise Wrong(f"{part.name} is a quantity of {word}; {told}.", part.column)
            _check_name(part.name, part.column)
            if near := _near(part.name, order):
                hint = f"{part.name} is a parameter; did you mean {near}?"
                self.hints.append(Mistake(number, column + part.column + 1, hint))

    def _declare(self, found: list[Token], number: int, column: int) -> None:
        name = found[0]
        if name.kind != "name":
            raise Wrong(f"{name.text[:30]!r} is no name for a parameter.", name.column)
        _check_name(name.text, name.column)
        if any(name.text in one.written for one in QUANTITIES):
            raise Wrong(f"{name.text} is a quantity, which has no value of its own; take another name.", name.column)
        if name.text in self.declared:
            raise Wrong(f"{name.text} is declared already.", name.column)
        reader = Reader(found)
        reader.at = 2
        default = _value(reader)
        low, high, step = min(0.0, default), max(10.0, 10 * default), 0.0
        if reader.take("in"):
            low = _value(reader)
            reader.expect("..", "A range has two ends, as in 1..100")
            high = _value(reader)
        if reader.take("step"):
            step = _value(reader)
        if reader.next.kind != "end":
            raise Wrong(
                f"{reader.next.text[:30]!r} is not expected; write {name.text} = 10 in 1..100.", reader.next.column
            )
        if not low < high:
            raise Wrong(f"The range {low:g}..{high:g} is empty; write the smaller number first.", name.column)
        if not low <= default <= high:
            raise Wrong(f"The default {default:g} is not within {low:g}..{high:g}.", name.column)
        if step < 0 or step > high - low:
            raise Wrong(f"The step {step:g} does not fit into {low:g}..{high:g}.", name.column)
        self.declared[name.text] = parameter(name.text, default, low, high, step), number, column

    def parsed(self) -> Parsed:
        terms = tuple(term for term, _, _ in self.terms)
        model = FormulaText(terms, self.price, self.title, tuple(one for one, _, _ in self.declared.values()))
        if not terms and not self.mistakes:
            kinds = ", ".join(ORDERS)
            self.mistakes.append(Mistake(1, 1, f"There is no potential; write a line that begins with one of {kinds}."))
        unused = [(name, place) for name, place in self.declared.items() if name not in model.names]
        if not self.mistakes:
            for name, (_, line, column) in unused:
                near = get_close_matches(name, model.names, 1)
                hint = f"; did you mean {near[0]}?" if near else "."
                self.mistakes.append(Mistake(line, column + 1, f"No potential uses the parameter {name}{hint}"))
        if len(model.names) > MOST_PARAMETERS:
            _, line, column = self.terms[-1]
            message = f"A model has at most {MOST_PARAMETERS} parameters, this one {len(model.names)}."
            self.mistakes.append(Mistake(line, column + 1, message))
        return Parsed(None if self.mistakes else model, tuple(self.mistakes), tuple(self.hints))


def _near(name: str, order: int) -> str:
    """A quantity that may be meant by another name: another side's number, another case, or a slip."""
    mine, stem = written(order), name.rstrip("0123456789")
    if stem != name and stem in named(order):
        return " or ".join(named(order)[stem].written)
    if name.lower() in mine:
        return name.lower()
    return next(iter(get_close_matches(name, mine, 1, 0.75)), "")


def _reader(piece: str, found: list[Token], begin: int) -> Reader:
    """At the expression of a line; only that may be so long."""
    if len(piece) > LONGEST:
        raise Wrong(f"A line has at most {LONGEST} characters, this one {len(piece)}.", LONGEST)
    reader = Reader(found)
    reader.at = begin
    return reader


def _check_name(name: str, column: int) -> None:
    if name in RESERVED or name in TAKEN or keyword.iskeyword(name) or name.startswith("_"):
        raise Wrong(f"{name} cannot be the name of a parameter; take another one.", column)


def _value(reader: Reader) -> float:
    token = reader.next
    minus = reader.take("-") is not None
    number = reader.next
    if number.kind != "number":
        raise Wrong(f"A number is missing{reader.instead}.", number.column)
    reader.at += 1
    value = float(number.text)
    if value > LARGEST:
        raise Wrong(f"{number.text[:20]} is too large; expected at most {LARGEST:g}.", token.column)
    return -value if minus else value


def _count(reader: Reader, what: str) -> int:
    token = reader.next
    if token.kind != "number" or not token.text.isdigit() or not 1 <= len(token.text) <= 9:
        raise Wrong(f"{what} needs a whole number{reader.instead}.", token.column)
    count = int(token.text)
    if not 1 <= count <= MOST_TUPLES:
        raise Wrong(f"{what} is {count}; expected 1 to {MOST_TUPLES}.", token.column)
    reader.at += 1
    return count


def _place(reader: Reader, order: int) -> Place:
    """The clauses that follow an expression."""
    found: dict[str, object] = {}
    while (token := reader.next).kind != "end":
        word = token.text
        if word in found or (word == "on" and "sample" in found) or (word == "sample" and "on" in found):
            raise Wrong("Where the potential lives is said twice.", token.column)
        if word == "on" and order in (2, 3):
            reader.take("on")
            found |= {"on": True, **_graph(reader, order)}
        elif word == "sample" and order > 2:
            reader.take("sample")
            found |= {"sample": 0, **_sample(reader)}
        elif word == "with" and order > 2:
            reader.take("with")
            found |= {"with": True, **_nearest(reader, order)}
        else:
            break
    values = {name: value for name, value in found.items() if name not in ("on", "with")}
    return Place(**values)  # type: ignore[arg-type]


def _graph(reader: Reader, order: int) -> dict[str, object]:
    token = reader.next
    found: dict[str, object] = {}
    if reader.take("all"):
        return {"graph": "all"} if order > 2 else {}
    if reader.take("delaunay"):
        found["graph"] = "delaunay"
    elif order == 2 and token.kind == "number":
        found["nearest"] = _count(reader, "The number of nearest points")
        reader.expect("nearest", "Edges live on all, on delaunay or on 8 nearest")
    else:
        forms = "all, delaunay or 8 nearest" if order == 2 else "delaunay, or sample …"
        near = get_close_matches(token.text, ["all", "delaunay", "nearest"], 1)
        raise Wrong(f"After 'on' expected {forms}{f'; did you mean {near[0]}?' if near else '.'}", token.column)
    if order == 2 and reader.take("of"):
        side = reader.take(*WHERE)
        if side is None:
            raise Wrong(f"After 'of' expected one of {', '.join(WHERE)}{reader.instead}.", reader.next.column)
        found["of"] = side.text
    return found


def _sample(reader: Reader) -> dict[str, object]:
    if reader.take("all"):
        return {"graph": "all"}
    found: dict[str, object] = {"sample": _count(reader, "The sample")}
    if reader.take("per"):
        reader.expect("point", "A sample is so many, or so many per point")
        found["per_point"] = True
    return found


def _nearest(reader: Reader, order: int) -> dict[str, object]:
    found: dict[str, object] = {}
    if reader.next.kind == "number":
        found["with_nearest"] = _count(reader, "The number of right tuples")
    reader.expect("nearest", "Each left tuple is compared with so many nearest right ones, as in: with 300 nearest")
    if reader.take("by"):
        names = [_by(reader, order)]
        while reader.take(","):
            names.append(_by(reader, order))
        found["by"] = tuple(dict.fromkeys(names))
    return found


def _by(reader: Reader, order: int) -> str:
    known = [name for name, one in named(order).items() if one.sided]
    token = reader.take(*known)
    if token is None:
        near = get_close_matches(reader.next.text[:20], known, 1)
        hint = f"did you mean {near[0]}?" if near else f"expected some of {', '.join(known)}."
        raise Wrong(f"Tuples are looked up by quantities of one side{reader.instead}; {hint}", reader.next.column)
    return token.text
