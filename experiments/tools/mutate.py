"""python -m experiments mutate: break one line at a time and see whether a test notices.

A mutant is one change in one place of a module in GUARDS: an operator, a comparison, a constant, a statement that is
dropped, two arguments that change places. It runs in a copy of the tree, under the test files that guard the module,
and survives if all of them pass. Kernels are left out: most only go faster, and each mutant of them compiles for long.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("adgm", "assets", "experiments", "features", "tests", "ui", "app.py", "pyproject.toml", "README.md")
SECONDS = 300.0  # of one mutant; one that takes longer counts as noticed
GUARDS: dict[str, str] = {
    "adgm/costs/affinity.py": "baselines products",
    "adgm/bounds/branch_and_bound.py": "lower_bound bound_nodes costs proofs",
    "adgm/bounds/all_pairs.py": "lower_bound bound_nodes margins",
    "adgm/costs/numbers.py": "costs problem",
    "adgm/machine/deadline.py": "run once",
    "adgm/explain/paths.py": "exchanges",
    "adgm/search/fusion.py": "fusion tied_rows",
    "adgm/layout.py": "problem",
    "adgm/search/local_search.py": "local_search margins",
    "adgm/bounds/bound.py": "lower_bound bound_nodes pair_minorant portfolio",
    "adgm/explain/margins.py": "margins bound_nodes proofs",
    "adgm/search/portfolio_members.py": "portfolio",
    "adgm/bounds/pair_minorant.py": "pair_minorant proofs",
    "adgm/penalty.py": "penalty solver",
    "adgm/search/portfolio.py": "portfolio proofs",
    "adgm/potentials.py": "problem costs fibers",
    "adgm/problem.py": "problem costs",
    "adgm/rounding.py": "rounding solver local_search",
    "adgm/run.py": "run",
    "adgm/solver.py": "solver penalty",
    "adgm/costs/tables.py": "problem fibers solver",
    "adgm/bounds/third_order.py": "pair_minorant proofs",
    "adgm/bounds/tied_pairs.py": "tied_rows bound_nodes costs",
    "features/files/exports.py": "exports",
    "features/judge/metrics.py": "metrics",
    "features/pairs.py": "pairs",
    "features/recipe.py": "recipe",
    "features/judge/verification.py": "verification",
}
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
EVEN = ("min", "max", "np.minimum", "np.maximum", "np.array_equal")  # the same whichever comes first
WORDLESS = ("help", "label", "raise", "ValueError", "TypeError", "option")  # what only talks, or checks options


@dataclass(frozen=True)
class Mutant:
    """One change: the module's path, the line, what it was and is, and the whole text after it."""

    path: str
    line: int
    before: str
    after: str
    text: str


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in a node's place."""
    other = deepcopy(node)
    if isinstance(other, ast.BinOp | ast.BoolOp) and type(other.op) in SWAPS:
        other.op = SWAPS[type(other.op)]()
        yield other
    elif isinstance(other, ast.Compare) and type(other.ops[0]) in SWAPS:
        other.ops[0] = SWAPS[type(other.ops[0])]()
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


def silent(node: ast.AST, inside: ast.AST) -> bool:
    """Whether a node belongs to a message, an annotation or a declared option, which say and do not compute."""
    if isinstance(inside, ast.Raise | ast.JoinedStr) or isinstance(node, ast.Raise | ast.JoinedStr | ast.arguments):
        return True
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Name) and called.id in WORDLESS


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Every place that can be changed: its parent, the field, and the number in it."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for at, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and not silent(child, tree):
                yield tree, field, at
                yield from places(child)


def mutants(path: str, text: str) -> list[Mutant]:
    """All of a module, in the order of its lines."""
    tree, found = ast.parse(text), []
    for parent, field, at in list(places(tree)):
        held = getattr(parent, field)
        node = held if at is None else held[at]
        for other in changes(node):
            put(parent, field, at, ast.copy_location(other, node))
            before, after = (ast.unparse(each).splitlines()[0] for each in (node, other))
            if before != after or isinstance(node, ast.If):
                changed = ast.unparse(ast.fix_missing_locations(tree))
                found.append(Mutant(path, getattr(node, "lineno", 0), before, after, changed))
            put(parent, field, at, node)
    return sorted(found, key=lambda one: one.line)


def put(parent: ast.AST, field: str, at: int | None, node: ast.AST) -> None:
    if at is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[at] = node


def sampled(modules: list[str], count: int, seed: int) -> list[Mutant]:
    """So many mutants of these modules, each as likely as any other."""
    every = [one for path in modules for one in mutants(path, (ROOT / path).read_text(encoding="utf-8"))]
    return random.Random(seed).sample(every, min(count, len(every)))


def survives(mutant: Mutant, copy: Path) -> bool:
    """Whether the module's guards all pass in a copy of the tree."""
    module = copy / mutant.path
    original = module.read_text(encoding="utf-8")
    module.write_text(mutant.text, encoding="utf-8")
    files = [f"tests/test_{name}.py" for name in GUARDS[mutant.path].split()]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *files]
    try:
        return subprocess.run(command, cwd=copy, capture_output=True, timeout=SECONDS).returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        module.write_text(original, encoding="utf-8")


def copied(folder: Path) -> Path:
    """The parts of this tree that tests need, in a folder of their own."""
    for name in PARTS:
        part = ROOT / name
        if part.is_dir():
            shutil.copytree(part, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif part.is_file():
            shutil.copy(part, folder / name)
    return folder


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--sample", type=int, default=60, metavar="N", help="how many mutants (default %(default)s)")
    add("--seed", type=int, default=1, metavar="S", help="another seed, another sample (default 1)")
    add("--only", default="", metavar="PART", help="only modules whose path contains this, such as adgm/ or margins")


def run(options: argparse.Namespace) -> int:
    modules = [path for path in GUARDS if options.only in path]
    if options.sample < 1 or not modules:
        raise ValueError(f"Nothing to do: {len(modules)} modules match {options.only!r}, --sample is {options.sample}.")
    chosen, left, sound = sampled(modules, options.sample, options.seed), 0, set[str]()
    with tempfile.TemporaryDirectory() as folder:
        copy = copied(Path(folder))
        for number, mutant in enumerate(chosen, 1):
            whole = replace(mutant, text=(copy / mutant.path).read_text(encoding="utf-8"))
            if mutant.path not in sound and not survives(whole, copy):
                raise ValueError(f"The tests that guard {mutant.path} fail as it is: {GUARDS[mutant.path]}.")
            sound.add(mutant.path)
            if survives(mutant, copy):
                left += 1
                print(f"{mutant.path}:{mutant.line}: {mutant.before}  →  {mutant.after}")
            print(f"{number} of {len(chosen)}, {left} survived", file=sys.stderr, flush=True)
    print(f"{len(chosen)} mutants, {left} survived ({left / len(chosen):.0%}).")
    return 0


os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")  # a mutant must not meet another's compiled module
