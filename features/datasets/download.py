"""The files of the real data sets: where they lie, and fetching them when the user asks for it."""

from __future__ import annotations

import csv
import hashlib
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from http.client import HTTPException
from pathlib import Path
from tempfile import NamedTemporaryFile

Progress = Callable[[int, int, str], None]  # bytes done, bytes in all, the file just finished


class MissingData(ValueError):
    """A file of a data set is neither in ADGM_DATA_DIR nor in the cache."""


class DownloadError(ValueError):
    """A file could not be fetched, or what came is not the file."""


@dataclass(frozen=True)
class Source:
    """One file of a data set: its place in the data folder, its size and sum, and its public address."""

    file: str
    bytes: int
    sha256: str
    url: str

    def matches(self, path: Path) -> bool:
        """Whether this very file is at path."""
        return (
            path.is_file()
            and path.stat().st_size == self.bytes
            and hashlib.sha256(path.read_bytes()).hexdigest() == self.sha256
        )


@lru_cache(maxsize=1)
def sources() -> tuple[Source, ...]:
    """Every file of every real data set; addresses are pinned to a commit."""
    with Path(__file__).with_name("sources.csv").open(encoding="utf-8", newline="") as table:
        rows = csv.DictReader(table)
        return tuple(Source(row["file"], int(row["bytes"]), row["sha256"], row["url"]) for row in rows)


def sources_of(key: str) -> tuple[Source, ...]:
    """The files of one data set."""
    mine = tuple(source for source in sources() if source.file.startswith(f"{key}/"))
    if not mine:
        known = sorted({source.file.split("/")[0] for source in sources()})
        raise ValueError(f"{key!r} is not a data set with files to download; those are {', '.join(known)}.")
    return mine


def cache_dir() -> Path:
    """The user's cache: where this system keeps such files, unless XDG_CACHE_HOME says otherwise."""
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen) / "adgm"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "adgm"
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "adgm"


def data_dirs() -> list[Path]:
    """Where files are looked for: ADGM_DATA_DIR first, then the cache."""
    chosen = os.environ.get("ADGM_DATA_DIR")
    return [*([Path(chosen)] if chosen else []), cache_dir()]


def find(file: str) -> Path:
    """The path of a data file."""
    for folder in data_dirs():
        if (folder / file).is_file():
            return folder / file
    raise MissingData(
        f"The file {file} is not on this computer. Download the data set {file.split('/')[0]!r}, "
        "or set ADGM_DATA_DIR to a folder that has it."
    )


def available(key: str) -> bool:
    """Whether every file of a data set is on this computer."""
    folders = data_dirs()
    return all(any((folder / source.file).is_file() for folder in folders) for source in sources_of(key))


def download(key: str, progress: Progress | None = None) -> Path:
    """Fetch a data set into the user's cache and return that folder; files that are already there stay."""
    return fetch(sources_of(key), cache_dir(), progress)


def fetch(
    wanted: Iterable[Source], folder: Path, progress: Progress | None = None, *, timeout: float = 30, workers: int = 8
) -> Path:
    """Fetch files into a folder. Each appears whole and checked or not at all, so a second call goes on from there.

    ``progress`` is called in the caller's thread after every file; an exception that it raises stops the rest.
    """
    files = list(wanted)
    total, done = sum(source.bytes for source in files), 0
    with ThreadPoolExecutor(max(1, workers)) as pool:
        jobs = {pool.submit(_fetch_one, source, folder, timeout): source for source in files}
        try:
            for job in as_completed(jobs):
                job.result()
                done += jobs[job].bytes
                if progress is not None:
                    progress(done, total, jobs[job].file)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return folder


def _fetch_one(source: Source, folder: Path, timeout: float) -> None:
    target = folder / source.file
    if source.matches(target):
        return
    data = _read(source, timeout)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as part:
            half = Path(part.name)
            try:
                part.write(data)
                part.close()
                half.replace(target)  # atomic: nobody ever sees half a file
            except OSError:
                half.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise DownloadError(
            f"{source.file} could not be written to {folder} ({error.strerror or error}). Free some space there, "
            "or choose another place with XDG_CACHE_HOME."
        ) from error


def _read(source: Source, timeout: float) -> bytes:
    """The bytes behind the address, if they are the ones that the registry promises."""
    retry = "Try again, or put the data sets in a folder of yours and set ADGM_DATA_DIR to it."
    try:
        with urllib.request.urlopen(source.url, timeout=timeout) as answer:
            data: bytes = answer.read(source.bytes + 1)  # a wrong server cannot fill the memory
    except urllib.error.HTTPError as error:
        raise DownloadError(f"The server answered {error.code} ({error.reason}) for {source.url}. {retry}") from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise DownloadError(
            f"{source.url} could not be reached ({reason}). Is this computer online? {retry}"
        ) from error
    if len(data) != source.bytes:
        came = f"only {len(data)}" if len(data) < source.bytes else f"more than {source.bytes}"
        raise DownloadError(f"{source.url} sent {came} of {source.bytes} bytes. {retry}")
    if (found := hashlib.sha256(data).hexdigest()) != source.sha256:
        raise DownloadError(
            f"{source.url} sent another file than expected (SHA-256 {found[:12]}… instead of "
            f"{source.sha256[:12]}…); it was thrown away. {retry}"
        )
    return data
