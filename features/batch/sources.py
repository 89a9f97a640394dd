"""Where many pairs come from: a folder, a ZIP file, uploaded files, or a list of pairs of file names."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import IO

from features.files.npz import zip_entries
from features.limits import LIMITS
from features.pairs import file_bytes
from features.points.images import shown
from features.views.reading import is_image, natural


class BatchError(ValueError):
    """Files that make no pairs, and why."""


@dataclass(frozen=True)
class Sources:
    """Images by name, read when they are needed, and the pairs of them that are matched."""

    read: Mapping[str, Callable[[], bytes]]
    pairs: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        if not self.pairs:
            raise BatchError(f"There are {len(self.read)} images, which make no pair; expected at least two.")
        for name in dict.fromkeys(name for pair in self.pairs for name in pair):
            if name not in self.read:
                raise BatchError(f"There is no image {shown(name)}; the list of pairs names it.")
        for count, most, what in (
            (len(self.names), LIMITS.batch_images, "images"),
            (len(self.pairs), LIMITS.batch_pairs, "pairs"),
        ):
            if count > most:
                raise BatchError(f"These are {count:,} {what}; at most {most:,} are matched at a time. Take fewer.")

    @property
    def names(self) -> list[str]:
        """The images that take part, in the order of the pairs."""
        return list(dict.fromkeys(name for pair in self.pairs for name in pair))


def chosen_pairs(names: Sequence[str], window: int | None) -> tuple[tuple[str, str], ...]:
    """Every pair of names, or those at most `window` places apart."""
    if window is not None and window < 1:
        raise BatchError(f"Pairs of images {window} places apart were asked for; expected at least 1.")
    places = combinations(range(len(names)), 2)
    return tuple((names[i], names[j]) for i, j in places if window is None or j - i <= window)


def from_files(files: Mapping[str, bytes], window: int | None = None) -> Sources:
    """Files that are in memory, by name."""
    names = [name for name in sorted(files, key=natural) if is_image(name)]
    return Sources({name: (lambda name=name: files[name]) for name in names}, chosen_pairs(names, window))  # type: ignore[misc]


def from_folder(folder: str | Path, window: int | None = None) -> Sources:
    """The images of a folder, not of folders in it."""
    place = Path(folder)
    if not place.is_dir():
        raise BatchError(f"{place} is no folder.")
    names = sorted((one.name for one in place.iterdir() if one.is_file() and is_image(one.name)), key=natural)
    return Sources({name: _reader(place / name) for name in names}, chosen_pairs(names, window))


def from_zip(file: str | Path | IO[bytes] | bytes, window: int | None = None) -> Sources:
    """The images of a ZIP file; nothing is unpacked to disk, and no name in it is a path to us."""
    handle = io.BytesIO(file) if isinstance(file, bytes) else file
    try:
        if isinstance(file, bytes) and zip_entries(file) > 2 * LIMITS.batch_images:
            raise BatchError(f"The ZIP file holds more than {2 * LIMITS.batch_images:,} files; take fewer.")
        archive = zipfile.ZipFile(handle)
        members = {one.filename: one for one in archive.infolist() if not one.is_dir() and is_image(one.filename)}
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        if isinstance(error, BatchError):
            raise
        raise BatchError("The file is no ZIP file, or a damaged one.") from error
    names = sorted(members, key=natural)

    def reader(member: zipfile.ZipInfo) -> Callable[[], bytes]:
        def read() -> bytes:
            if member.file_size > LIMITS.image_bytes:
                raise BatchError(f"{shown(member.filename)} has {member.file_size / 1e6:.0f} MB; that is too large.")
            try:
                with archive.open(member) as stream:
                    return stream.read(LIMITS.image_bytes + 1)
            except Exception as error:  # zlib.error, RuntimeError for a password …: whatever damage leads to
                raise BatchError(f"{shown(member.filename)} cannot be unpacked; the ZIP file is damaged.") from error

        return read

    return Sources({name: reader(members[name]) for name in names}, chosen_pairs(names, window))


def from_list(file: str | Path) -> Sources:
    """Lines of two file names, apart by a comma, a tab or a space, relative to the list's folder; `#`: a comment."""
    place = Path(file)
    text = file_bytes(place).decode("utf-8", "replace")
    pairs = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].strip()
        if not words:
            continue
        mark = next((one for one in (",", "\t") if one in words), None)
        names = [part.strip() for part in words.split(mark)]
        if len(names) != 2 or not all(names):
            raise BatchError(
                f"{place.name}, line {number}: expected two file names, apart by a comma; got {line[:80]!r}."
            )
        pairs.append((names[0], names[1]))
    names_used = dict.fromkeys(name for pair in pairs for name in pair)
    return Sources({name: _reader(place.parent / name) for name in names_used}, tuple(pairs))


def _reader(path: Path) -> Callable[[], bytes]:
    return lambda: file_bytes(path)
