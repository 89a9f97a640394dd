"""python -m experiments …: measurements and the paper's experiments from the command line."""

import argparse
import json
import sys

from experiments import bench, rivals, stuck
from experiments.commands import add_commands


def run_bench(options: argparse.Namespace) -> int:
    if options.ui:
        from experiments.bench_ui import ui  # needs a browser

        rows = ui()
        print(json.dumps(rows, indent=1) if options.json else bench.table(rows))
        return 0
    unknown = set(options.only) - set(bench.BENCHES)
    if unknown:
        print(
            f"no benchmark is called {', '.join(sorted(unknown))}; there are {', '.join(bench.BENCHES)}",
            file=sys.stderr,
        )
        return 2
    rows = []
    for name in options.only or bench.BENCHES:
        print(f"… {name}", file=sys.stderr, flush=True)
        rows += bench.BENCHES[name]()
    print(json.dumps(rows, indent=1) if options.json else bench.table(rows))
    return 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    benchmark = commands.add_parser("bench", help="measure speed: ratios taken in one run")
    benchmark.add_argument("only", nargs="*", help=f"some of {', '.join(bench.BENCHES)}; all if none is named")
    benchmark.add_argument("--ui", action="store_true", help="measure the app in a real browser instead")
    benchmark.add_argument("--json", action="store_true", help="print JSON instead of a table")
    benchmark.set_defaults(run=run_bench)
    add_commands(commands)
    rivals.add_command(commands)
    stuck.add_command(commands)
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
