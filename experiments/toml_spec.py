"""A user's own experiment: a small TOML file, checked with messages that point to the line."""

import tomllib
from pathlib import Path

from experiments.spec import Experiment, Wrong
from features.limits import LIMITS

MOST_DOTS, MOST_LETTERS = 300, 500  # of a line, of a complaint
EXAMPLE = """\
name = "my-study"
title = "Points on House"
methods = ["adgm1", "rrwm", "ipfp"]  # python -m experiments list --methods
measures = ["ratio", "accuracy"]     # also objective, best, error, optimum, seconds, iterations
seeds = [0]
time_limit = 30                      # seconds per unit

[[panel]]
title = "House, 50 frames apart"
dataset = "house"                    # python -m features datasets
pairs = "gap"                        # all, gap, numbers (Cars, Motorbikes) or drawn (Random points, Warp)
gap = 50
model = "B"
varies = "dataset.points"            # gap, dataset.…, model.… or method.…
values = [10, 15, 20, 25, 30]

[[panel]]
title = "Random points"
dataset = "random"
pairs = "drawn"
count = 20
model = "B"
varies = "model.sigma2"
values = [100, 1000, 10000]
dataset_params = { inliers = 12, outliers = 4 }
"""


def read(path: Path) -> Experiment:
    """The experiment in a file."""
    try:
        return parse(path.read_bytes(), path.name)
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror or error}).") from error


def parse(data: bytes, name: str = "experiment.toml") -> Experiment:
    """The experiment in the bytes of a file called `name`."""
    if len(data) > LIMITS.settings_bytes:
        raise ValueError(f"{name} has {len(data):,} bytes; expected at most {LIMITS.settings_bytes:,}.")
    for at, dots in enumerate((line.count(b".") for line in data.split(b"\n")), 1):
        if dots > MOST_DOTS:  # the parser's time grows with the square of a key's parts
            raise ValueError(f"{name}, line {at}: there are {dots:,} dots; expected at most {MOST_DOTS}.")
    try:
        text = data.decode("utf-8-sig")
        given = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{name}, line {line}: this is not UTF-8 text.") from None
    except ValueError as error:  # it ends with the line and column, but for a number with thousands of digits
        raise ValueError(f"{name} is not TOML: {error}.") from None
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply.") from None
    panels = given.pop("panel", [])
    for key in ("panels", "variants"):
        if key in given:
            reason = f"there is no {key} here; panels are written as [[panel]], one table each"
            raise ValueError(f"{name}, line {line_of(text, key)}: {reason}.")
    try:
        return Experiment.from_dict({**given, "panels": panels})
    except Wrong as error:
        told = f"{name}, line {line_of(text, error.key)}: {error}"
        raise ValueError(told if len(told) <= MOST_LETTERS else f"{told[: MOST_LETTERS - 1]}…") from None


def line_of(text: str, key: str) -> int:
    """The line (from 1) of an entry, such as "name" or "panel.0.dataset_params.points"; else of what holds it.

    tomllib tells no positions, and a second parser that does would be one more dependency for this. One pass.
    """
    wanted = parts(key)
    table: list[str] = []  # where the lines belong that follow a header, panels numbered
    panel, best, at_best = -1, 0, 1
    for at, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("["):
            table = parts(line.partition("]")[0].replace("[", ""))
            if table[0] == "panel":
                panel += line.lstrip().startswith("[[") and len(table) == 1
                table[1:1] = [str(panel)]
            here = table
        elif "=" in line:
            here = table + parts(line.partition("=")[0])
        else:
            continue
        if len(here) > best and here == wanted[: len(here)]:  # the first of those that hold most of the entry
            best, at_best = len(here), at
        elif best < 1 and here[:1] == wanted == ["panel"]:
            best, at_best = 1, at
    return at_best


def parts(key: str) -> list[str]:
    return [part.strip().strip("\"'") for part in key.split(".")]
