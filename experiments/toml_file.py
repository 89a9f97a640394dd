"""A user's own experiment: a small TOML file, checked with messages that point to the line."""

import re
import tomllib
from pathlib import Path

from experiments.declared import Experiment, Wrong

MOST_BYTES = 200_000
HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]")
EXAMPLE = """\
name = "my-study"
title = "Points on House"
methods = ["adgm1", "rrwm", "ipfp"]  # python -m experiments list --methods
measures = ["ratio", "accuracy"]     # also objective, best, error, optimum, seconds, iterations
seeds = [0]
time_limit = 30                      # seconds per unit

[[panel]]
title = "House, 50 frames apart"
dataset = "house"                    # python -m features list
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
    if len(data) > MOST_BYTES:
        raise ValueError(f"{name} has {len(data):,} bytes; at most {MOST_BYTES:,} are right.")
    try:
        text = data.decode("utf-8-sig")
        given = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{name}, line {line}: this is not UTF-8 text.") from None
    except tomllib.TOMLDecodeError as error:  # its message ends with the line and column
        raise ValueError(f"{name} is not TOML: {error}.") from None
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply.") from None
    panels = given.pop("panel", [])
    if "panels" in given:
        raise ValueError(f"{name}, line {line_of(text, 'panels')}: panels are written as [[panel]], one table each.")
    try:
        return Experiment.from_dict({**given, "panels": panels})
    except Wrong as error:
        raise ValueError(f"{name}, line {line_of(text, error.key)}: {error}") from None


def line_of(text: str, key: str) -> int:
    """The line (from 1) of an entry, such as "name" or "panel.0.dataset_params.points"; else of what holds it."""
    path = key.split(".")
    if path[0] == "panel" and len(path) > 1:
        best, table = _find(text, int(path[1]), path[2:])
    else:
        best, table = _find(text, None, path)
    return best or table


def _find(text: str, panel: int | None, path: list[str]) -> tuple[int, int]:
    """(line of the entry or 0, line where its table begins)."""
    number, inside, below = -1, panel is None, ""
    begins = 1
    found = 0
    for at, line in enumerate(text.splitlines(), 1):
        if header := HEADER.match(line):
            name = header[2].replace('"', "").replace(" ", "")
            number += header[1] == "[[" and name == "panel"
            inside = panel == number if name.split(".")[0] == "panel" else panel is None and name == path[0]
            below = name.partition(".")[2]
            if inside and (name == "panel" or panel is None):
                begins = at
            if panel is None and path[0] == "panel" and name == "panel":
                return at, at
        elif inside:
            entry = re.match(r"""^\s*["']?([\w-]+)["']?\s*(?:\.\s*["']?([\w-]+)["']?\s*)?=""", line)
            if entry:
                here = [part for part in (below, entry[1], entry[2]) if part]
                if here == path:
                    return at, begins
                if path and here[0] == path[0]:  # an inline table holds the entry: point to it
                    found = found or at
    return found, begins
