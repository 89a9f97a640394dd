"""The command `convert`: a matching problem from one file format to another."""

import argparse
import sys
from pathlib import Path
from typing import Any

from features.datasets import gmbench
from features.files.problem_files import (
    FORMATS,
    companions,
    format_of,
    open_problem,
    other_constraints,
    stem,
    write_problem,
)

USAGE = "python -m features convert IN OUT"
ABOUT = f"""\
Write a matching problem in another format, told by the ending: {", ".join(FORMATS)}.

What is known about it goes along: inside an NPZ file, else as .opt and .gt beside it.
"""
EXAMPLES = """\
examples:
  python -m features convert mine.npz mine.dd
  python -m features convert mine.dd mine.dd.xz

IN may also be gmbench:car-3, an instance of the benchmark gmbench rebuilt from its data set: house-sparse-1 … 105,
car-1 … 30, motor-1 … 20.
"""


def add(commands: Any) -> None:
    command = commands.add_parser("convert", description=ABOUT, epilog=EXAMPLES, usage=USAGE)
    command.add_argument("source", metavar="IN", help="the problem, or gmbench:SET-NUMBER")
    command.add_argument("target", metavar="OUT", help="the file to write")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    form = format_of(args.target)
    if not form:
        raise ValueError(f"{args.target} ends in no format that is known; known are {', '.join(FORMATS)}.")
    file = gmbench.named(args.source) if args.source.startswith(gmbench.PREFIX) else open_problem(args.source)
    target = Path(args.target)
    written = {target: write_problem(file, form)}
    if form != ".npz":
        written |= {target.with_name(stem(target.name) + end): data for end, data in companions(file).items()}
    try:
        for path, data in written.items():
            path.write_bytes(data)
    except OSError as error:
        raise ValueError(f"{args.target} could not be written: {(error.strerror or str(error)).lower()}.") from error
    if form.startswith(".dd") and (sentence := other_constraints(file.problem)):
        print(sentence, file=sys.stderr)
    print(f"written    {', '.join(path.name for path in written)}", file=sys.stderr)
