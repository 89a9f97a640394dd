"""Results on disk: a file that is only ever appended to, one checked JSON line per record, safe against any kill.

A line is a JSON object whose last entry, "crc", is the CRC-32 of the rest. A line that was cut by a kill or a full disk
fails that check and is dropped, never counted; the next run removes a cut end before it appends.
"""

import errno
import gzip
import json
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from filelock import FileLock, Timeout

Record = dict[str, Any]
SHIPPED = Path(__file__).resolve().parents[1] / "assets" / "results"
MARK = ', "crc": "'
ADVICE = {
    errno.ENOSPC: "the disk is full: free some space and run the same command again",
    errno.EDQUOT: "your quota is used up: free some space and run the same command again",
    errno.EFBIG: "the file has reached the largest size allowed: choose another file with --store",
    errno.EACCES: "writing is not allowed there: choose another file with --store",
    errno.EPERM: "writing is not allowed there: choose another file with --store",
    errno.EROFS: "that disk is read-only: choose another file with --store",
}


class StoreError(ValueError):
    """Results cannot be written or read; what was there is intact."""


def encoded(record: Mapping[str, Any]) -> bytes:
    """The line of a record."""
    body = json.dumps(record, ensure_ascii=False, allow_nan=False)
    return f'{body[:-1]}{MARK}{zlib.crc32(body.encode()):08x}"}}\n'.encode()


def decoded(line: bytes) -> Record | None:
    """The record of a line without its end; None if it is not whole."""
    try:
        text, mark, tail = line.decode().rpartition(MARK)
        body = text + "}"
        if not mark or tail != f'{zlib.crc32(body.encode()):08x}"}}':
            return None
        record = json.loads(body)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


@dataclass(frozen=True, eq=False)
class Content:
    """What a store holds: the runs that wrote it, the machines they ran on, and one row per finished unit."""

    runs: tuple[Record, ...] = ()
    machines: dict[str, Record] = field(default_factory=dict)
    rows: dict[str, Record] = field(default_factory=dict)  # by the unit's key; the last one counts
    dropped: int = 0  # lines that were not whole

    @property
    def run(self) -> Record:
        """The last run."""
        if not self.runs:
            raise StoreError("This file holds no run of an experiment.")
        return self.runs[-1]


def parsed(data: bytes) -> Content:
    runs: list[Record] = []
    machines: dict[str, Record] = {}
    rows: dict[str, Record] = {}
    dropped = 0
    for line in data.split(b"\n"):
        if not line:
            continue
        record = decoded(line) or {}
        match record:
            case {"kind": "run"}:
                runs.append(record)
            case {"kind": "machine", "id": str(name)}:
                machines[name] = record
            case {"kind": "row", "key": str(key)}:
                rows[key] = record
            case _:
                dropped += 1
    return Content(tuple(runs), machines, rows, dropped)


def read(path: Path) -> Content:
    """What a store holds now, also while a run writes to it; packed ones (.gz) too."""
    try:
        data = path.read_bytes()
        return parsed(gzip.decompress(data) if path.suffix == ".gz" else data)
    except FileNotFoundError:
        return Content()
    except (OSError, EOFError, zlib.error) as error:
        raise StoreError(f"{path} cannot be read ({error}).") from error


def pack(content: Content, path: Path) -> None:
    """A small copy for a repository: runs, machines and the rows that count, compressed; same rows, same bytes."""
    rows = sorted(content.rows.values(), key=lambda row: (row["panel"], str(row["x"]), row["method"], row["key"]))
    records = [*content.runs, *content.machines.values(), *rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(b"".join(map(encoded, records)), 9, mtime=0))


class Store:
    """The writing end of a store. One run at a time: a second one is refused while the first lives."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(path.with_suffix(".lock"))  # the system frees it with the process, however that ends
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(blocking=False)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
        except Timeout as error:
            advice = "Wait for it, or choose another file with --store."
            raise StoreError(f"Another run is writing to {path}. {advice}") from error
        except OSError as error:
            self._lock.release()
            raise self._error(error, "opened") from error
        self._end = self._repaired()
        self.content = read(path)

    def _error(self, error: OSError, what: str) -> StoreError:
        reason = ADVICE.get(error.errno or 0, error.strerror or str(error))
        return StoreError(f"Results cannot be {what} in {self.path}: {reason}. The rows that are there are safe.")

    def _repaired(self) -> int:
        """The length of the file without a line that a kill has cut."""
        data = self.path.read_bytes()
        end = data.rfind(b"\n") + 1
        if end < len(data):
            os.ftruncate(self._file, end)
        return end

    def append(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Write records; when this returns they are on the disk. If it cannot be done, none of them is."""
        data = b"".join(map(encoded, records))
        try:
            os.lseek(self._file, self._end, os.SEEK_SET)
            written = 0
            while written < len(data):
                written += os.write(self._file, data[written:])
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, self._end)
            raise self._error(error, "written") from error
        self._end += len(data)

    def close(self) -> None:
        os.close(self._file)
        self._lock.release()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
