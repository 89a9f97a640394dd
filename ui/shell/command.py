"""The command `adgm-explorer`: the app, and every other command by its name."""

import sys

from features import plugins

PROGRAM = "adgm-explorer"
HEAD = f"""\
{PROGRAM}                    open the app; options of `streamlit run` may follow, as --server.port=8600
{PROGRAM} experiments …      the paper's experiments and your own
{PROGRAM} COMMAND …          one of the commands below
"""


def main() -> int:
    """What the first word asks for; without one, the app."""
    try:
        words = plugins.taken(sys.argv[1:])
    except ValueError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    sys.argv[1:] = words
    first = words[0] if words else ""
    if first == "--version":
        from adgm import __version__

        print(PROGRAM, __version__)
        return 0
    if first == "experiments":
        from experiments.__main__ import main as experiment

        del sys.argv[1]  # a report tells with what words it was made
        return experiment(words[1:])
    if first in ("-h", "--help") or (not first.startswith("-") and first):
        from features.__main__ import main as command

        if first.startswith("-"):
            print(HEAD)
        return command(words)
    from ui.shell.launch import main as launch

    launch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
