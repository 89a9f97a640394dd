"""The command line: match two images or a pair of a data set, compare methods, and see what there is to choose."""

import argparse
import os
import sys
from collections.abc import Sequence

from features import plugins
from features.cli import (
    compare,
    convert,
    explain,
    fit,
    listing,
    match,
    match_many,
    separate,
    solve,
    sweep,
    versus,
    views,
)
from features.cli.base import PROGRAM, Parser, complain
from features.datasets.download import MissingData

ABOUT = """\
Match the points of two images with ADGM and its rivals.

  match       two images, or a pair of a data set: find the matching, draw it, write it down
  match-many  all pairs of a folder, a ZIP file or a list: a table, matches, maps, COLMAP's files
  compare     the same pair by several methods: a table, a grid of pictures, all matchings
  explain     why matches are wrong: the terms that speak for them, the way back, how sure each is
  separate    does a model tell right from wrong tuples, before any solver runs?
  sweep       one or two parameters over a range; or the smallest change that makes a match right
  fit         the parameters of a model from pairs with truth, judged on other pairs
  versus      two models or methods on the same pairs: who is right more often, and how sure that is
  views       three images or more: tracks whose matches close
  solve       a matching problem from a file, by any method, with a proof if there is one
  convert     a matching problem from one file format to another
  datasets    what pairs there are, and download those that are not built in
  models      what a matching costs: the paper's models, others, and what your own formula may use
  methods     who minimises it: ADGM and other solvers, with their options
"""
EXAMPLES = f"""\
examples:
  {PROGRAM} match left.png right.png --model C --points 40 -o out/
  {PROGRAM} match --dataset house --set left=0 --set right=50 --model B -o out/
  {PROGRAM} compare --dataset turntable --model C -o out/
  {PROGRAM} datasets --download house

a file of your own models, methods and data sets:  {PROGRAM} --plugin my_models.py models
help on one of them:  {PROGRAM} match --help
"""


def parser() -> argparse.ArgumentParser:
    found = Parser(prog=PROGRAM, description=ABOUT, epilog=EXAMPLES, usage=f"{PROGRAM} COMMAND …")
    found.add_argument(plugins.FLAG, action="append", metavar="FILE", help=argparse.SUPPRESS)  # `taken` loads it
    commands = found.add_subparsers(dest="command", metavar="COMMAND", required=True, help=argparse.SUPPRESS)
    for module in (match, match_many, compare, explain, separate, sweep, fit, versus, views, solve, convert, listing):
        module.add(commands)
    return found


def main(words: Sequence[str] | None = None) -> int:
    """0, or 2 after a sentence about what is wrong."""
    try:
        args = parser().parse_args(plugins.taken(sys.argv[1:] if words is None else words))
        args.run(args)
        sys.stdout.flush()
    except MissingData as error:
        complain(f"{error} (To download: {PROGRAM} datasets --download …)")
    except ValueError as error:
        complain(str(error))
    except MemoryError:
        complain("This problem does not fit into the memory of this computer; take fewer points.")
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        complain("Interrupted.")
        return 130
    else:
        return 0
    return 2


if __name__ == "__main__":
    sys.exit(main())
