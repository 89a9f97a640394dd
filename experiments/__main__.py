"""python -m experiments …: measurements and the paper's experiments from the command line."""

import sys

from experiments.commands import parser
from features import plugins


def main(arguments: list[str] | None = None) -> int:
    try:
        options = parser().parse_args(plugins.taken(sys.argv[1:] if arguments is None else arguments))
        return int(options.run(options))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here; the rows that are done are kept.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
