"""The problem files of a folder as a data set: their pairs bring their problems along."""

import zlib
from functools import partial
from pathlib import Path

from features.datasets.base import Dataset
from features.files.problem_files import as_pair, open_problem, problems_in
from features.pairs import Pair
from features.parameters import Parameter, seed_parameter


def load(files: list[Path], *, images: bool, number: int, seed: int) -> Pair:
    return as_pair(open_problem(files[number - 1]))


def folder_dataset(folder: Path) -> Dataset:
    """Add it to DATASETS under its key, which is another one when the files are others."""
    files = problems_in(folder)
    if not files:
        raise ValueError(f"There is no problem file in {folder}.")
    seen = repr([(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files])
    return Dataset(
        key=f"folder-{zlib.crc32(seen.encode()):08x}",
        label=folder.name,
        description=f"{len(files)} problem files.",
        builtin=False,
        parameters=(
            Parameter("number", "File", "int", 1, "In the order of their names.", 1, len(files)),
            seed_parameter(),
        ),
        make=partial(load, files),
        count=len(files),
        unit="problems",
    )
