"""Expressions that people type: read into a small tree, written back, and evaluated on arrays by NumPy.

    expression = or;  or = and {"or" and};  and = not {"and" not};  not = "not" not | comparison
    comparison = sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum];  sum = product {("+" | "-") product}
    product = sign {("*" | "/") sign};  sign = ("-" | "+") sign | power;  power = atom ["^" sign]
    atom = number | name | function "(" expression {"," expression} ")" | "(" expression ")"

There is nothing else: no attribute, index, text, keyword or assignment can be written, and a name stands for an array
or a number that the caller gives. All numbers are floats: what is too large is infinite, and takes no time.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LONGEST, MOST_NODES, DEEPEST, LONGEST_NAME = 500, 200, 40, 24
WORDS = ("and", "or", "not", "on", "of", "sample", "per", "point", "with", "nearest", "by", "in", "step", "all")
PI = "pi"
TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<sign>\*\*|<=|>=|==|!=|\.\.|[-+*/^<>(),=]))"
)
SAME = str.maketrans({"·": "*", "×": "*", "−": "-", "–": "-", "÷": "/"})


class Wrong(ValueError):
    """What is wrong with a text, in a sentence, and at which column (from 0) it is."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.column = column


@dataclass(frozen=True)
class Token:
    kind: str  # "number", "name", "sign" or "end"
    text: str
    column: int


def tokens(text: str, begin: int = 0) -> list[Token]:
    """The pieces of a line from a column on, and its end."""
    found, at, plain = [], begin, text.translate(SAME)
    while plain[at:].strip():
        match = TOKEN.match(plain, at)
        if match is None:
            at += len(plain[at:]) - len(plain[at:].lstrip())
            known = "numbers, names, + − * / ^, comparisons, parentheses and functions"
            raise Wrong(f"{text[at]!r} has no meaning in a formula; it takes {known}.", at)
        kind = str(match.lastgroup)
        found.append(Token(kind, match[kind], match.start(kind)))
        at = match.end()
    return [*found, Token("end", "", len(text.rstrip()))]


# ---- the tree ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """`kind` is "number", "name", the sign of an operation, or the name of a function."""

    kind: str
    args: tuple["Node", ...] = ()
    value: float = 0.0
    name: str = ""
    column: int = field(default=0, compare=False)

    def walk(self) -> Iterator["Node"]:
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.args[::-1]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What it depends on, in the order in which it is written."""
        return tuple(dict.fromkeys(node.name for node in self.walk() if node.kind == "name" and node.name != PI))

    @property
    def summands(self) -> tuple["Node", ...]:
        """Nodes whose sum it is."""
        if self.kind in ("+", "-") and len(self.args) == 2:
            left, right = self.args
            return *left.summands, *(right.summands if self.kind == "+" else map(negated, right.summands))
        return (self,)


def negated(node: Node) -> Node:
    return node.args[0] if node.kind == "neg" else Node("neg", (node,), column=node.column)


def _truth(value: Any) -> Floats:
    return np.where(value, 1.0, 0.0)


def _power(base: Any, exponent: Any) -> Any:
    return np.square(base) if np.ndim(exponent) == 0 and exponent == 2.0 else np.power(base, exponent)


def _least(*values: Any) -> Any:
    found = values[0]
    for value in values[1:]:
        found = np.minimum(found, value)
    return found


def _largest(*values: Any) -> Any:
    found = values[0]
    for value in values[1:]:
        found = np.maximum(found, value)
    return found


OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "^": _power,
    "neg": np.negative,
    "<": lambda a, b: _truth(np.less(a, b)),
    "<=": lambda a, b: _truth(np.less_equal(a, b)),
    ">": lambda a, b: _truth(np.greater(a, b)),
    ">=": lambda a, b: _truth(np.greater_equal(a, b)),
    "==": lambda a, b: _truth(np.equal(a, b)),
    "!=": lambda a, b: _truth(np.not_equal(a, b)),
    "and": lambda a, b: _truth((a != 0) & (b != 0)),
    "or": lambda a, b: _truth((a != 0) | (b != 0)),
    "not": lambda a: _truth(a == 0),
}


@dataclass(frozen=True)
class Function:
    """What may be called, with how many arguments, and what it does, for people."""

    work: Callable[..., Any]
    arguments: tuple[int, int]
    help: str


FUNCTIONS: dict[str, Function] = {
    "exp": Function(np.exp, (1, 1), "e to the power of x"),
    "log": Function(np.log, (1, 1), "natural logarithm"),
    "sqrt": Function(np.sqrt, (1, 1), "square root"),
    "abs": Function(np.abs, (1, 1), "size without sign"),
    "sign": Function(np.sign, (1, 1), "−1, 0 or 1"),
    "min": Function(_least, (2, 8), "the smallest of two to eight"),
    "max": Function(_largest, (2, 8), "the largest of two to eight"),
    "clip": Function(lambda x, low, high: np.minimum(np.maximum(x, low), high), (3, 3), "clip(x, low, high)"),
    "where": Function(lambda c, a, b: np.where(c != 0, a, b), (3, 3), "where(condition, then, else)"),
    "sin": Function(np.sin, (1, 1), "sine of radians"),
    "cos": Function(np.cos, (1, 1), "cosine of radians"),
    "tan": Function(np.tan, (1, 1), "tangent of radians"),
    "asin": Function(np.arcsin, (1, 1), "inverse sine, in radians"),
    "acos": Function(np.arccos, (1, 1), "inverse cosine, in radians"),
    "atan": Function(np.arctan, (1, 1), "inverse tangent, in radians"),
    "wrap": Function(lambda x: np.pi - np.mod(np.pi - x, 2 * np.pi), (1, 1), "an angle brought into (−π, π]"),
    "tanh": Function(np.tanh, (1, 1), "hyperbolic tangent, in (−1, 1)"),
    "floor": Function(np.floor, (1, 1), "largest whole number not above x"),
}
RESERVED = {*FUNCTIONS, *WORDS, PI}


def evaluate(node: Node, given: Mapping[str, Any]) -> Any:
    """The value of a tree where its names have these values, arrays that broadcast or numbers."""
    if node.kind == "number":
        return np.float64(node.value)
    if node.kind == "name":
        return np.float64(np.pi) if node.name == PI else given[node.name]
    work = OPERATIONS[node.kind] if node.kind in OPERATIONS else FUNCTIONS[node.kind].work
    return work(*(evaluate(part, given) for part in node.args))


# ---- reading -----------------------------------------------------------------------------------------------------

BINDING = {
    "or": 1,
    "and": 2,
    "<": 4,
    "<=": 4,
    ">": 4,
    ">=": 4,
    "==": 4,
    "!=": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    "^": 8,
}
NOT, COMPARED, SIGNED, POWER = 3, 4, 7, 8


class Reader:
    """Reads the tokens of a line one after another."""

    def __init__(self, found: list[Token], functions: Mapping[str, Function] = FUNCTIONS) -> None:
        self.tokens, self.at, self.functions = found, 0, functions
        self.nodes = self.depth = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self, *texts: str) -> Token | None:
        """The next token, if it is one of these."""
        token = self.next
        if token.kind == "end" or token.text not in texts:
            return None
        self.at += 1
        return token

    def expect(self, text: str, why: str) -> Token:
        found = self.take(text)
        if found is None:
            raise Wrong(f"{why}; expected {text!r}{self.instead}.", self.next.column)
        return found

    @property
    def instead(self) -> str:
        return " here, where the line ends" if self.next.kind == "end" else f" instead of {self.next.text[:30]!r}"

    def expression(self, least: int = 0) -> Node:
        """What binds at least so strongly."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise Wrong(f"This is nested more than {DEEPEST} deep; write it simpler.", self.next.column)
        left = self.first(least)
        while (sign := self.sign()) and BINDING[sign] >= least:
            token = self.next
            self.at += 1
            strength = BINDING[sign]
            # A power binds to the right, and what follows it may have a sign: 2^-x.
            right = self.expression(SIGNED if sign == "^" else strength + 1)
            left = self.made(token, sign, left, right)
            if strength == COMPARED and BINDING.get(self.sign() or "", 0) == COMPARED:
                raise Wrong("Comparisons cannot follow each other; write a < b and b < c.", self.next.column)
        self.depth -= 1
        return left

    def sign(self) -> str | None:
        text = "^" if self.next.text == "**" else self.next.text
        return text if self.next.kind != "end" and text in BINDING else None

    def first(self, least: int) -> Node:
        token = self.next
        if self.take("not"):
            if least > NOT:
                raise Wrong("'not' needs parentheses here: (not …).", token.column)
            return self.made(token, "not", self.expression(NOT))
        if self.take("-"):
            return self.made(token, "neg", self.expression(SIGNED))
        if self.take("+"):
            return self.expression(SIGNED)
        return self.atom()

    def atom(self) -> Node:
        token = self.next
        if token.kind == "number":
            self.at += 1
            value = float(token.text)
            if not np.isfinite(value):
                raise Wrong(f"{token.text[:20]} is too large for a number.", token.column)
            return self.made(token, "number", value=value)
        if self.take("("):
            inner = self.expression()
            if self.take(",") is not None:
                raise Wrong("A comma belongs between the arguments of a function.", self.tokens[self.at - 1].column)
            self.expect(")", f"The parenthesis at column {token.column + 1} is not closed")
            return inner
        if token.kind == "name" and token.text not in WORDS:
            self.at += 1
            return self.call(token) if self.next.text == "(" else self.name(token)
        what = "nothing follows" if token.kind == "end" else f"{token.text[:30]!r} follows"
        raise Wrong(f"A number, a name or a parenthesis is missing: {what}.", token.column)

    def name(self, token: Token) -> Node:
        if token.text in self.functions:
            raise Wrong(f"{token.text} is a function; write {token.text}(…).", token.column)
        if len(token.text) > LONGEST_NAME:
            raise Wrong(f"{token.text[:LONGEST_NAME]}… is longer than {LONGEST_NAME} characters.", token.column)
        return self.made(token, "name", name=token.text)

    def call(self, token: Token) -> Node:
        known = self.functions.get(token.text)
        if known is None:
            near = get_close_matches(token.text[:LONGEST_NAME], self.functions, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(self.functions)}."
            raise Wrong(f"There is no function {token.text[:LONGEST_NAME]!r}; {hint}", token.column)
        self.expect("(", f"{token.text} is a function")
        args = [self.expression()]
        while self.take(","):
            args.append(self.expression())
        self.expect(")", f"The arguments of {token.text} do not end")
        low, high = known.arguments
        if not low <= len(args) <= high:
            wanted = f"{low}" if low == high else f"{low} to {high}"
            raise Wrong(f"{token.text} takes {wanted} argument{'s' * (high > 1)}, not {len(args)}.", token.column)
        return self.made(token, token.text, *args)

    def made(self, token: Token, kind: str, *args: Node, value: float = 0.0, name: str = "") -> Node:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise Wrong(f"A formula has at most {MOST_NODES} numbers, names and operations.", token.column)
        return Node(kind, args, value, name, token.column)


def read(text: str) -> Node:
    """A whole text as one expression."""
    if len(text) > LONGEST:
        raise Wrong(f"A formula has at most {LONGEST} characters, this one {len(text)}.", LONGEST)
    reader = Reader(tokens(text))
    found = reader.expression()
    if reader.next.kind != "end":
        raise Wrong(f"{reader.next.text[:30]!r} is not expected here; is an operation missing?", reader.next.column)
    return found


# ---- writing -----------------------------------------------------------------------------------------------------


def write(node: Node, least: int = 0) -> str:
    """As text that is read into the same tree, with no more parentheses than that needs."""
    if node.kind == "number":
        return f"{node.value:.17g}" if float(f"{node.value:g}") != node.value else f"{node.value:g}"
    if node.kind == "name":
        return node.name
    if node.kind in FUNCTIONS:
        return f"{node.kind}({', '.join(map(write, node.args))})"
    if node.kind == "neg":
        text, strength = f"-{write(node.args[0], SIGNED)}", SIGNED
    elif node.kind == "not":
        text, strength = f"not {write(node.args[0], NOT)}", NOT
    else:
        strength = BINDING[node.kind]
        left, right = (strength + 1, SIGNED) if node.kind in "^" else (strength, strength + 1)
        left += strength == COMPARED
        joined = "^" if node.kind == "^" else f" {node.kind} "
        text = f"{write(node.args[0], left)}{joined}{write(node.args[1], right)}"
    return f"({text})" if strength < least else text
