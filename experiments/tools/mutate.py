"""python -m experiments mutate: break one line at a time and see whether a test notices.

A mutant is one change in one place of a module in GUARDS: an operator, a comparison, a constant, a statement that is
dropped, two arguments that change places. In a copy of the tree it meets first the tests that run its line, the fastest
first, and then, if they pass, all tests of the files that guard its module. It survives if all of them pass. Kernels
are left out: each mutant of them compiles for long, and NumPy references and oracles hold them.
"""

import argparse
import ast
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path

from experiments.tools.mutants import Mutant, mutants, text_of
from experiments.tools.reach import Reached, load, passes, traced

ROOT = Path(__file__).resolve().parents[2]
PARTS = (
    ".streamlit",
    "adgm",
    "assets",
    "experiments",
    "features",
    "tests",
    "ui",
    "app.py",
    "pyproject.toml",
    "README.md",
)
WIDEST = 150  # letters of a line that is shown
SPARE = 6.0  # seconds of computing that a mutant's tests may take beyond twice their usual time
GUARDS: dict[str, str] = {
    "adgm/bounds/all_pairs.py": "lower_bound bound_nodes margins tied_rows",
    "adgm/bounds/bound.py": "lower_bound bound_nodes pair_minorant portfolio",
    "adgm/bounds/branch_and_bound.py": "lower_bound bound_nodes costs proofs",
    "adgm/bounds/pair_minorant.py": "pair_minorant proofs",
    "adgm/bounds/third_order.py": "pair_minorant proofs",
    "adgm/bounds/tied_pairs.py": "tied_rows bound_nodes costs",
    "adgm/costs/affinity.py": "baselines products methods",
    "adgm/costs/koopmans_beckmann.py": "products baselines",
    "adgm/costs/links.py": "problem fibers",
    "adgm/costs/numbers.py": "costs problem",
    "adgm/costs/pairs.py": "pair_costs baselines margins",
    "adgm/costs/separable.py": "separable",
    "adgm/costs/tables.py": "problem fibers solver lower_bound",
    "adgm/deep_matchers.py": "deep_matchers",
    "adgm/explain/ledger.py": "ledger",
    "adgm/explain/margins.py": "margins bound_nodes proofs",
    "adgm/explain/paths.py": "exchanges",
    "adgm/explain/terms.py": "terms ledger",
    "adgm/layout.py": "problem solver",
    "adgm/machine/cells.py": "notebook",
    "adgm/machine/computing.py": "computing run",
    "adgm/machine/deadline.py": "run once computing",
    "adgm/machine/lazy.py": "once",
    "adgm/machine/numpy_fallback.py": "numpy_fallback prices",
    "adgm/machine/progress.py": "matching",
    "adgm/machine/short_repr.py": "notebook",
    "adgm/methods.py": "methods run",
    "adgm/options.py": "methods solver",
    "adgm/penalty.py": "penalty solver",
    "adgm/potentials.py": "problem costs fibers lower_bound",
    "adgm/prices.py": "prices",
    "adgm/problem.py": "problem costs exchanges",
    "adgm/projections.py": "projections",
    "adgm/reference.py": "solver penalty prices",
    "adgm/rivals/bcagm.py": "baselines methods",
    "adgm/rivals/faq.py": "products methods",
    "adgm/rivals/fixed_point.py": "baselines methods",
    "adgm/rivals/ipfp.py": "baselines methods",
    "adgm/rivals/lap.py": "baselines methods",
    "adgm/rivals/libmgm.py": "libmgm",
    "adgm/rivals/mpm.py": "baselines methods",
    "adgm/rivals/pgm.py": "baselines methods",
    "adgm/rivals/rrwhm.py": "baselines methods",
    "adgm/rivals/rrwm.py": "baselines methods",
    "adgm/rivals/sm.py": "baselines methods",
    "adgm/rivals/smac.py": "baselines methods",
    "adgm/rivals/tm.py": "baselines methods",
    "adgm/rounding.py": "rounding solver local_search",
    "adgm/run.py": "run solver prices",
    "adgm/search/fusion.py": "fusion tied_rows prices methods",
    "adgm/search/hyperedges.py": "prices local_search",
    "adgm/search/local_search.py": "local_search margins tied_rows fusion",
    "adgm/search/permutations.py": "permutations",
    "adgm/search/portfolio.py": "portfolio proofs permutations",
    "adgm/search/portfolio_members.py": "portfolio",
    "adgm/search/portfolio_state.py": "portfolio",
    "adgm/search/tabu.py": "local_search",
    "adgm/solver.py": "solver penalty prices",
    "adgm/state.py": "solver run",
    "adgm/views/exchange.py": "several_views",
    "adgm/views/joint.py": "several_views",
    "adgm/views/joints.py": "several_views views",
    "adgm/views/libmgm.py": "several_views",
    "adgm/views/plans.py": "several_views",
    "adgm/views/returns.py": "view_returns",
    "adgm/views/states.py": "several_views",
    "adgm/views/synchronise.py": "several_views",
    "adgm/views/tracks.py": "several_views",
    "features/explain/separation.py": "separation versus",
    "features/explain/versus.py": "versus",
    "features/files/exports.py": "exports",
    "features/formulas/build.py": "formulas hostile_formulas",
    "features/formulas/expression.py": "formula_text hostile_formulas",
    "features/formulas/quantities.py": "formulas",
    "features/formulas/text.py": "formula_text formulas hostile_formulas",
    "features/judge/intervals.py": "versus",
    "features/judge/metrics.py": "metrics explain",
    "features/judge/verification.py": "verification",
    "features/pairs/pair.py": "pairs",
    "features/plugins.py": "plugins",
    "features/points/regions.py": "regions",
    "features/recipe.py": "recipe",
    "features/tables.py": "tables",
}
UNGUARDED = (
    "adgm/_kernels/",
    "adgm/precompile.py",
    "adgm/rivals/libmgm_process.py",
    "adgm/rivals/libmgm_several.py",
)  # of adgm, beside __init__


@dataclass
class Trial:
    """A copy of the tree, and what is known of the tests that guard its modules."""

    tree: Path
    reached: dict[str, Reached] = field(default_factory=dict)  # by test file
    tried: int = 0

    def guards(self, module: str) -> dict[str, Reached]:
        """The files that guard a module, with what their tests run."""
        files = [f"tests/test_{name}.py" for name in GUARDS[module].split()]
        for file in files:
            if file not in self.reached:
                found = traced(self.tree, file, tuple(GUARDS))
                if found is None:
                    raise ValueError(f"The tests that guard {module} fail as it is: {file}.")
                self.reached[file] = found
        return {file: self.reached[file] for file in files}

    def tests(self, mutant: Mutant) -> list[tuple[float, str]]:
        """The tests that run what a mutant changes, with their seconds: the fastest first."""
        return sorted(
            (seconds, test)
            for reached in self.guards(mutant.path).values()
            for test, (seconds, lines) in reached.items()
            if test and (not mutant.lines or not set(mutant.lines).isdisjoint(lines.get(mutant.path, ())))
        )

    def survives(self, mutant: Mutant) -> bool | None:
        """Whether all tests pass, None if they do not end: first those that run the line, then the others that guard
        the module, for which an earlier test may have run it."""
        module, near, files = self.tree / mutant.path, self.tests(mutant), self.guards(mutant.path)
        original, stamp = module.read_bytes(), module.stat().st_mtime
        module.write_text(text_of(mutant, original.decode()), encoding="utf-8")
        self.tried += 1
        os.utime(module, (stamp, stamp + self.tried))  # no mutant meets another's compiled module
        try:
            if not (found := passes(self.tree, [test for _, test in near], allowed(near))):
                return found
            known = {test for _, test in near}
            rest = [(taken, test) for each in files.values() for test, (taken, _) in each.items() if test not in known]
            return passes(self.tree, [test for _, test in rest if test], allowed(rest))
        finally:
            module.write_bytes(original)
            os.utime(module, (stamp, stamp))


def allowed(tests: Sequence[tuple[float, str]]) -> float:
    return SPARE + 2 * sum(seconds for seconds, _ in tests)


def sampled(modules: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """So many mutants of these modules, each as likely as any other."""
    every = [one for path in modules for one in mutants(path, (ROOT / path).read_text(encoding="utf-8"))]
    return random.Random(seed).sample(every, min(count, len(every)))


def difference(mutant: Mutant, tree: Path) -> str:
    """The change and the lines it is in, before and after, as `ast.unparse` writes them; long ones are cut."""
    text = (tree / mutant.path).read_text(encoding="utf-8")
    whole, now = ast.unparse(ast.parse(text)), text_of(mutant, text)
    lines = unified_diff(whole.splitlines(), now.splitlines(), n=0, lineterm="")
    told = [f"{mutant.before}  →  {mutant.after}", *(line for line in lines if line[:2] not in ("--", "++", "@@"))]
    return "\n".join(f"    {line if len(line) <= WIDEST else line[:WIDEST] + ' …'}" for line in told)


def copied(folder: Path) -> Path:
    """The parts of this tree that tests need, in a folder of their own."""
    for name in PARTS:
        part = ROOT / name
        if part.is_dir():
            shutil.copytree(part, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif part.is_file():
            shutil.copy(part, folder / name)
    return folder


def run(options: argparse.Namespace) -> int:
    modules = [path for path in GUARDS if options.only in path]
    if options.sample < 1 or not modules:
        raise ValueError(f"Nothing to do: {len(modules)} modules match {options.only!r}, --sample is {options.sample}.")
    chosen, left, endless = sampled(modules, options.sample, options.seed), 0, 0
    load()
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(copied(Path(folder)))
        for number, mutant in enumerate(chosen, 1):
            alive = trial.survives(mutant)
            endless += alive is None
            if alive:
                left += 1
                unrun = "" if trial.tests(mutant) else " (no test runs this line)"
                print(f"{mutant.path}:{mutant.line}{unrun}\n{difference(mutant, trial.tree)}", flush=True)
            print(f"{number} of {len(chosen)}, {left} survived", file=sys.stderr, flush=True)
    print(f"{len(chosen)} mutants, {left} survived ({left / len(chosen):.0%}); of {endless} the tests did not end.")
    return 0
