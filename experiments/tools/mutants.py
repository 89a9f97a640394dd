"""Mutants of a module: every change in one place that a test should notice.

Left alone is what only talks (messages, docstrings), what only types (annotations, casts), and what stands in `TUNING`.
"""

import argparse
import ast
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

PAIRS: tuple[tuple[Any, Any], ...] = (
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div),
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.And, ast.Or),
    (ast.BitAnd, ast.BitOr),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
)
SWAPS: dict[type[ast.AST], Any] = {a: b for pair in PAIRS for a, b in (pair, pair[::-1])} | {ast.FloorDiv: ast.Mult}
TURNED: dict[type[ast.AST], Any] = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt}
COUNTS = ("len", "int", "order", "shape", "size", "n", "ndim", "iteration", "sum", "count", "count_nonzero")
EVEN = ("min", "max", "np.minimum", "np.maximum", "np.array_equal")  # the same whichever comes first
WORDLESS = ("help", "label", "raise", "ValueError", "TypeError", "option")  # what only talks, or checks options
TYPING = ("cast", "TypeVar", "NewType")  # what only the type checker reads
UNRUN = ("annotation", "returns", "decorator_list", "bases", "type_params")  # fields of the tree that do not compute

# Constants whose value, within reason, changes only how soon an answer is there, or which of many good ones: by module,
# under the reason. What they are for is told where they stand.
TUNING: dict[str, dict[str, str]] = {
    "how much is looked at, held or done at a time": {
        "adgm/bounds/all_pairs.py": "PIECE",
        "adgm/bounds/tied_pairs.py": "MOST_DENSE",
        "adgm/costs/affinity.py": "DENSE_SHARE",
        "adgm/costs/numbers.py": "SAMPLE",
        "adgm/costs/tables.py": "DENSE_SHARE FULL GROUP ROOTS WORTH_A_THREAD",
        "adgm/potentials.py": "CHUNK",
        "adgm/search/local_search.py": "WHOLE FEWEST_COLUMNS REMEMBERED",
        "adgm/search/permutations.py": "PIECE",
    },
    "time between two looks at the clock": {
        "adgm/machine/deadline.py": "LOOK",
        "adgm/rivals/libmgm.py": "TICK",
        "adgm/run.py": "SLICE",
        "adgm/search/local_search.py": "LOOKS_AT_ONCE",
        "adgm/search/permutations.py": "AT_ONCE",
        "adgm/search/tabu.py": "STEPS_AT_ONCE",
    },
    "how long a search goes on before it tries another way": {
        "adgm/bounds/all_pairs.py": "PATIENCE",
        "adgm/bounds/bound.py": "WIDE_THIRD",
        "adgm/bounds/branch_and_bound.py": "PROGRESS",
        "adgm/bounds/pair_minorant.py": "ROUNDS",
        "adgm/bounds/tied_pairs.py": "LOOKS WARM PATIENCE",
        "adgm/explain/margins.py": "EFFORT FEWEST_SWEEPS SWEEPS TAKE",
        "adgm/explain/paths.py": "MOST_MOVES MOST_ORDERED",
        "adgm/prices.py": "HELD NEARLY_EMPTY",
        "adgm/rivals/smac.py": "SWEEPS",
        "adgm/search/fusion.py": "ENUMERATED TRIED LARGE START_EFFORT LONGEST IN_VAIN",
        "adgm/search/hyperedges.py": "LOOKED_AT",
        "adgm/search/local_search.py": "MOST_CHANGES",
        "adgm/search/permutations.py": "LONGEST IN_VAIN AGAIN MOST TENURE KINDS",
        "adgm/search/portfolio.py": "OPENING PROPOSALS BATCH THIRD FEWEST_SWEEPS SHARE",
        "adgm/search/portfolio_members.py": "PAIRWISE HIGHER",
        "adgm/search/tabu.py": "FEW_LINKS PATIENCE",
    },
}


@dataclass(frozen=True)
class Mutant:
    """One change: the module's path, its number among the module's mutants, the line, what it was and is, and the lines
    that run whenever the change is run; none if importing the module runs it."""

    path: str
    number: int
    line: int
    before: str
    after: str
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class Place:
    """Where a node can be replaced: its parent, the field, the number in it, and the lines that run with it."""

    parent: ast.AST
    field: str
    at: int | None
    lines: tuple[int, ...]

    @property
    def node(self) -> Any:
        held = getattr(self.parent, self.field)
        return held if self.at is None else held[self.at]

    def put(self, node: ast.AST) -> None:
        if self.at is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.at] = node


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in a node's place."""
    other = deepcopy(node)
    if isinstance(other, ast.BinOp | ast.BoolOp) and type(other.op) in SWAPS:
        other.op = SWAPS[type(other.op)]()
        yield other
    elif isinstance(other, ast.Compare) and type(other.ops[0]) in SWAPS:
        # two real numbers are equal by chance only: there the comparison is turned round, not moved by its boundary
        swaps = TURNED if type(other.ops[0]) in TURNED and not whole(other) else SWAPS
        other.ops[0] = swaps[type(other.ops[0])]()
        yield other
    elif isinstance(other, ast.Constant) and isinstance(other.value, int | float):
        other.value = not other.value if isinstance(other.value, bool) else other.value + 1
        yield other
    elif isinstance(other, ast.UnaryOp) and isinstance(other.op, ast.Not | ast.USub | ast.Invert):
        yield other.operand
    elif isinstance(other, ast.Assign | ast.AugAssign | ast.Expr) and isinstance(other.value, ast.Call | ast.BinOp):
        yield ast.Pass()
    elif isinstance(other, ast.Call) and len(other.args) >= 2 and ast.unparse(other.func) not in EVEN:
        other.args[0], other.args[1] = other.args[1], other.args[0]
        yield other
    elif isinstance(other, ast.If):
        other.test = ast.Constant(value=False)
        yield other


def whole(node: ast.Compare) -> bool:
    """Whether a comparison seems to be one of whole numbers: with one, or with what counts something."""
    for side in (node.left, *node.comparators):
        if isinstance(side, ast.Constant) and isinstance(side.value, int):
            return True
        called = side.func if isinstance(side, ast.Call) else side
        if getattr(called, "attr", getattr(called, "id", "")) in COUNTS:
            return True
    return False


def silent(node: ast.AST, inside: ast.AST) -> bool:
    """Whether a node belongs to a message, an annotation, or a declared option."""
    if isinstance(inside, ast.Raise | ast.JoinedStr) or isinstance(node, ast.Raise | ast.JoinedStr | ast.arguments):
        return True
    if isinstance(node, ast.UnaryOp) and isinstance(inside, ast.Call) and getattr(inside.func, "attr", "") == "reshape":
        return True  # reshape(-1, …): any negative number does the same
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return True  # of zip: catches a mistake of ours, and does nothing else
    if isinstance(node, ast.Assign) and called_name(node.value) in ("TypeVar", "NewType"):
        return True
    return called_name(node) in WORDLESS + TYPING


def called_name(node: ast.AST) -> str | None:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None


def places(tree: ast.AST, running: tuple[int, ...] = ()) -> Iterator[Place]:
    """Every place that can be changed."""
    for field, value in ast.iter_fields(tree):
        if field in UNRUN:
            continue
        for at, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and not silent(child, tree):
                lines = own_lines(child) if running and isinstance(child, ast.stmt) else running
                yield Place(tree, field, at, lines)
                yield from places(child, own_lines(child.body[0]) if isinstance(child, ast.FunctionDef) else lines)


def own_lines(statement: ast.stmt) -> tuple[int, ...]:
    """The lines of a statement without those of the statements in it."""
    body = getattr(statement, "body", None)
    last = body[0].lineno - 1 if body else statement.end_lineno or statement.lineno
    return tuple(range(statement.lineno, max(last, statement.lineno) + 1))


def assigned(statement: ast.stmt) -> str | None:
    """The name that a statement gives a value to."""
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    return targets[0].id if isinstance(targets[0], ast.Name) else None


def mutants(path: str, text: str) -> list[Mutant]:
    """All of a module, in the order of its lines."""
    return sorted(changed(path, ast.parse(text)), key=lambda one: one.line)


def text_of(mutant: Mutant, text: str) -> str:
    """The whole module after the change."""
    tree = ast.parse(text)
    return next(ast.unparse(tree) for one in changed(mutant.path, tree) if one == mutant)


def changed(path: str, tree: ast.Module) -> Iterator[Mutant]:
    """All mutants of a module; while one is looked at, the tree has its change."""
    tuned = {name for modules in TUNING.values() for name in modules.get(path, "").split()}
    left_out = {node for one in tree.body if assigned(one) in tuned for node in ast.walk(one)}
    number = 0
    for place in list(places(tree)):
        node = place.node
        for other in changes(node) if node not in left_out else ():
            before, after = (ast.unparse(each).splitlines()[0] for each in (node, other))
            if before != after or isinstance(node, ast.If):
                place.put(ast.fix_missing_locations(ast.copy_location(other, node)))
                yield Mutant(path, number, getattr(node, "lineno", 0), before, after, place.lines)
                place.put(node)
                number += 1


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--sample", type=int, default=60, metavar="N", help="how many mutants (default %(default)s)")
    add("--seed", type=int, default=1, metavar="S", help="another seed, another sample (default 1)")
    add("--only", default="", metavar="PART", help="only modules whose path contains this, such as adgm/ or margins")
