"""The files of the real data sets: where they lie, and fetching them when the user asks for it."""

import csv
import os
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from hashlib import file_digest
from pathlib import Path
from typing import BinaryIO

from platformdirs import user_cache_dir

MADE_OF = {"gmbench": ("house", "cars", "motorbikes")}  # sets without files of their own, and whose they use

OnFile = Callable[[int, int, str], None]  # bytes done, bytes in all, the file just finished


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
        if not path.is_file() or path.stat().st_size != self.bytes:
            return False
        with path.open("rb") as content:
            return file_digest(content, "sha256").hexdigest() == self.sha256


@lru_cache(maxsize=1)
def sources() -> tuple[Source, ...]:
    """Every file of every real data set; addresses are pinned to a commit."""
    with Path(__file__).with_name("sources.csv").open(encoding="utf-8", newline="") as table:
        rows = csv.DictReader(table)
        return tuple(Source(row["file"], int(row["bytes"]), row["sha256"], row["url"]) for row in rows)


def sources_of(key: str) -> tuple[Source, ...]:
    """The files of one data set."""
    folders = tuple(f"{folder}/" for folder in MADE_OF.get(key, (key,)))
    mine = tuple(source for source in sources() if source.file.startswith(folders))
    if not mine:
        known = sorted({source.file.split("/")[0] for source in sources()})
        raise ValueError(f"{key!r} is not a data set with files to download; those are {', '.join(known)}.")
    return mine


def cache_dir() -> Path:
    """The user's cache: where this system keeps such files, unless XDG_CACHE_HOME says otherwise."""
    chosen = os.environ.get("XDG_CACHE_HOME")
    if chosen:
        return Path(chosen) / "adgm"
    try:
        return Path(user_cache_dir("adgm"))
    except RuntimeError:  # a user without a home
        return Path(tempfile.gettempdir()) / f"adgm-{os.getuid()}"


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


def download(key: str, progress: OnFile | None = None) -> Path:
    """Fetch a data set into the user's cache and return that folder; files that are already there stay."""
    return fetch(sources_of(key), cache_dir(), progress)


def fetch(
    wanted: Iterable[Source], folder: Path, progress: OnFile | None = None, *, timeout: float = 30, workers: int = 8
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
    """Pooch looks whether the very file is there, and moves what came to its place when its sum is the promised one."""
    # Only for whoever downloads: a server that has its files would start later for it.
    from pooch import HTTPDownloader, get_logger, retrieve
    from requests.exceptions import HTTPError, RequestException

    get_logger().setLevel("WARNING")  # what is fetched is told by the caller's progress
    retry = "Try again, or put the data sets in a folder of yours and set ADGM_DATA_DIR to it."

    def bounded(url: str, path: str, pooch: object) -> None:
        with Path(path).open("wb") as part:
            HTTPDownloader(timeout=timeout)(url, Bounded(part, source), pooch)

    try:
        (Path(folder) / source.file).parent.mkdir(parents=True, exist_ok=True)  # pooch's own way fails beside another
        retrieve(source.url, f"sha256:{source.sha256}", source.file, folder, downloader=bounded)
    except HTTPError as error:
        code = getattr(error.response, "status_code", "an error")
        raise DownloadError(f"The server answered {code} for {source.url}. {retry}") from error
    except RequestException as error:
        reason = type(error).__name__
        raise DownloadError(
            f"{source.url} could not be reached ({reason}). Is this computer online? {retry}"
        ) from error
    except OSError as error:
        raise DownloadError(
            f"{source.file} could not be written to {folder} ({error.strerror or error}). Free some space there, "
            "or choose another place with XDG_CACHE_HOME."
        ) from error
    except ValueError as error:
        told = str(error) if isinstance(error, DownloadError) else f"{source.url} sent another file than expected; "
        raise DownloadError(f"{told}it was thrown away. {retry}") from error


@dataclass(frozen=True, eq=False)
class Bounded:
    """A file that takes no more than was promised: a wrong server cannot fill the disk."""

    file: BinaryIO
    source: Source

    def write(self, chunk: bytes) -> None:
        self.file.write(chunk)
        if self.file.tell() > self.source.bytes:
            raise DownloadError(f"{self.source.url} sent more than the {self.source.bytes} bytes expected; ")

    def flush(self) -> None:
        self.file.flush()
