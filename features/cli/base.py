"""What all commands share: the parser, complaints in one sentence, and writing files."""

import argparse
import shutil
import sys
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from reprlib import repr as brief
from typing import Any, NoReturn

PROGRAM = "python -m features"


class Parser(argparse.ArgumentParser):
    """Help as it is written here, errors in one sentence."""

    def __init__(self, **options: Any) -> None:
        layout = partial(argparse.RawDescriptionHelpFormatter, max_help_position=30, width=width())
        super().__init__(formatter_class=layout, allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        complain(f"{message[:1].upper()}{message[1:]}. Help: {self.prog} --help")
        raise SystemExit(2)


def width() -> int:
    return min(max(shutil.get_terminal_size((100, 24)).columns, 60), 110)


def complain(sentence: str) -> None:
    print(f"{PROGRAM}: {sentence}", file=sys.stderr)


def listed(key: str, known: Collection[str], what: str) -> str:
    """The key, if there is such an entry."""
    if key not in known:
        raise ValueError(f"There is no {what} {brief(key)}; choose one of {', '.join(known)}.")
    return key


def several(group: Any, flag: str, form: str, help: str) -> None:
    """An option that may be repeated."""
    group.add_argument(flag, action="append", default=[], metavar=form, help=help)


def write(folder: str, files: Mapping[str, bytes]) -> None:
    try:
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (place / name).write_bytes(data)
    except OSError as error:
        raise ValueError(f"{folder} could not be written to: {(error.strerror or str(error)).lower()}.") from error
    print(f"written    {folder.rstrip('/')}/: {', '.join(files)}", file=sys.stderr)
