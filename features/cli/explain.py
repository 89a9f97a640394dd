"""The command `explain`: why matches are wrong, the way back to the truth, and how sure each match is."""

import argparse
import sys
from collections.abc import Iterable
from typing import Any

from adgm.explain.margins import EFFORT, Margin
from adgm.explain.paths import WAYS, named_matches
from adgm.explain.terms import Match, Term
from features.cli.arguments import add_command, recipe_and_pair
from features.cli.base import PROGRAM, several, write
from features.explain.calibration import CLAIMS, Observed, calibrate, observe
from features.explain.case import Case
from features.explain.records import ledger_records, margin_records, way_records
from features.explain.retry import ATTEMPTS
from features.explain.stability import RUNS, stability
from features.explain.trials import pairs_like
from features.matching import match
from features.recipe import Recipe
from features.tables import csv_text

ABOUT = """\
Find the matching of a pair and explain it: every term that speaks for a wrong match or for the truth (their sum is the
difference of the two energies, to the last digit), the exchanges that lead back to the truth, and how much dearer the
best matching is without each match.

With -o all of it is written as tables (ledger.csv, way_back.csv, margins.csv).
"""
EXAMPLES = f"""\
examples:
  {PROGRAM} explain --dataset house --set left=0 --set right=90 --set points=10 --model B
  {PROGRAM} explain --dataset cars --set number=3 --model C --left 4 --top 20 --retry careful
  {PROGRAM} explain --dataset house --set points=20 --model B --jitter 2 --calibrate 10 -o out/
"""


def add(commands: Any) -> None:
    method, out = add_command(commands, "explain", ABOUT, EXAMPLES, run)
    method.add_argument("--method", metavar="KEY", help="a method (adgm): see 'methods'")
    several(method, "--option", "NAME=VALUE", "an option of the method; may be repeated")
    method.add_argument(
        "--retry", choices=list(ATTEMPTS), action="append", default=[], help="solve it again, and what that proves"
    )
    out.add_argument("--left", type=int, metavar="I", help="only the match of this left point (all that are wrong)")
    out.add_argument("--top", type=int, default=10, metavar="N", help="how many terms are printed (10)")
    out.add_argument("--way", choices=list(WAYS), default=WAYS[0], help=f"how to go back to the truth ({WAYS[0]})")
    out.add_argument("--effort", type=float, default=EFFORT, metavar="N", help=f"of the proofs ({EFFORT:.0e}); 0: none")
    out.add_argument("--jitter", type=float, metavar="PX", help="how stable matches are when points move by so much")
    out.add_argument("--runs", type=int, default=RUNS, metavar="N", help=f"on jittered points ({RUNS})")
    out.add_argument("--calibrate", type=int, metavar="N", help="does 90 %% mean 90 %%? On N pairs of the data set")


def run(args: argparse.Namespace) -> None:
    recipe, pair = recipe_and_pair(args)
    case = Case.of(match(pair, recipe=recipe, time_limit=args.time_limit))
    focus = _focus(case, args.left)
    print(f"{pair.name}\n{recipe.title}\n{case.metrics}")
    files: dict[str, bytes] = {}
    if case.truth is not None:
        files |= _against_the_truth(case, focus, args)
    for name in args.retry:
        print(f"\n{ATTEMPTS[name].label}\n{ATTEMPTS[name].run(case, None, args.time_limit).proves.replace('**', '')}")
    found = case.margins(effort=args.effort, matches=None if focus is None else [focus])
    print(f"\nMargins: what the best matching without a match costs more\n{_ranked(found)}")
    files["margins.csv"] = csv_text(margin_records(found)).encode()
    if args.jitter is not None:
        print(f"\nKept when points move by {args.jitter:g} px\n{stability(case, args.jitter, args.runs)}")
    if args.calibrate is not None:
        _calibration(recipe, args)
    if args.output is not None:
        write(args.output, files)


def _focus(case: Case, left: int | None) -> Match | None:
    """The match of a left point."""
    if left is None:
        return None
    found = [(i, j) for i, j in case.pairs.tolist() if i == left]
    if not found:
        matched = ", ".join(map(str, case.pairs[:, 0]))
        raise ValueError(f"Left point {left} is not matched; matched are {matched}.")
    return found[0]


def _against_the_truth(case: Case, focus: Match | None, args: argparse.Namespace) -> dict[str, bytes]:
    """The ledger and the way back, printed and as files."""
    book = case.ledger(focus)
    about = "all matches" if focus is None else f"{focus[0]} → {focus[1]}, and what must change with it"
    print(f"\nLedger of {about}: how much each potential speaks for the answer\n{book}")
    for line in book.lines[: args.top]:
        here, there = (_told(term) for term in (line.here, line.there))
        print(f"  {line.favour:+10.4g}  {book.names[line.potential]} {line.left}: answer {here}, truth {there}")
    way = case.way_back(args.way)
    if way.steps:
        print(f"\nThe way back, {args.way}\n{way}")
    tables = {"ledger.csv": ledger_records(book), "way_back.csv": way_records(way)}
    return {name: csv_text(records).encode() for name, records in tables.items()}


def _told(term: Term | None) -> str:
    return "–" if term is None else f"{named_matches(term.matches)} costs {term.cost:.4g}"


def _ranked(found: Iterable[Margin]) -> str:
    return "\n".join(str(one) for one in sorted(found, key=lambda one: one.margin)) or "no match"


def _calibration(recipe: Recipe, args: argparse.Namespace) -> None:
    """On other pairs of the data set, with a word about each while they are run."""
    recipes = pairs_like(recipe, args.calibrate)
    observed: tuple[Observed, ...] = ()
    for known in observe(recipes, pixels=args.jitter or 2.0, runs=min(args.runs, 10)):
        observed = known
        if sys.stderr.isatty() and observed:
            print(f"\r{observed[-1].pair + 1} of {len(recipes)} pairs …", end="\r", file=sys.stderr)
    for claim in CLAIMS:
        print(f"\nCalibration of {claim}, {len(recipes)} pairs\n{calibrate(observed, claim)}")
