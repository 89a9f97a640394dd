"""Programs and commands as the app writes them down, run in this process."""

import contextlib
import io
import json
import shlex
from pathlib import Path

import features.__main__


def pairs_of_python(text: str, folder: Path) -> list:
    """What a program prints last."""
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        exec(compile(text, "program", "exec"), {"__name__": "__main__"})
    return json.loads(printed.getvalue().splitlines()[-1])


def pairs_of_command(text: str, folder: Path) -> list:
    """What a command writes into its folder `out`."""
    python, module, package, *words = shlex.split(text)
    assert (python, module, package) == ("python", "-m", "features")
    with contextlib.chdir(folder):
        assert features.__main__.main(words) == 0
    told = json.loads((folder / "out" / "matches.json").read_text(encoding="utf-8"))
    return [[match["left"], match["right"]] for match in told["matches"]]
