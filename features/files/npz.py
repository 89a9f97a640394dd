"""NPZ files from strangers: judged by directory and headers before anything is unpacked, and never unpickled."""

import io
import math
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.limits import LIMITS

Arrays = dict[str, NDArray[Any]]

MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class NpzError(ValueError):
    """What is wrong with an NPZ file, in a sentence."""


def read_arrays(data: bytes, most: int) -> Arrays:
    """The arrays of an NPZ file by name, if they take at most `most` bytes together."""
    if zip_entries(data) > LIMITS.archive_files:
        raise NpzError(f"there are more than {LIMITS.archive_files} files in it; that is the most accepted.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            total = sum(member.file_size for member in members)
            if total > most:
                raise NpzError(
                    f"unpacked, it would have {total / 1e6:.0f} MB; at most {most / 1e6:.0f} MB are accepted."
                )
            return {m.filename.removesuffix(".npy"): _array(archive.open(m).read(m.file_size)) for m in members}
    except NpzError:
        raise
    except Exception as error:  # BadZipFile, zlib.error, RuntimeError for a password …: what damage makes zipfile say
        raise NpzError("this is a damaged NPZ file, or a zip file of something else than arrays.") from error


def zip_entries(data: bytes) -> int:
    """At least as many as a zip file's directory has entries, whatever it says: each begins with these four bytes."""
    return data.count(b"PK\x01\x02")


def _array(data: bytes) -> NDArray[Any]:
    stream = io.BytesIO(data)
    shape, _, dtype = HEADERS[np.lib.format.read_magic(stream)](stream)
    if dtype.hasobject:
        raise NpzError("it holds pickled Python objects, which could run any program; save plain arrays instead.")
    if math.prod(shape) * dtype.itemsize > len(data) - stream.tell():
        raise NpzError(f"an array of shape {shape} is announced, but the data are cut off.")
    stream.seek(0)
    array = np.lib.format.read_array(stream, allow_pickle=False)
    if dtype.kind == "U" and not _is_text(array):
        raise NpzError("it holds a text of numbers that stand for no letters.")
    return array


def _is_text(array: NDArray[Any]) -> bool:
    """Whether every letter exists; numpy does not ask, and Python's text fails on the others in surprising ways."""
    codes = np.atleast_1d(np.ascontiguousarray(array)).view(f"{array.dtype.byteorder}u4") if array.size else array
    return not array.size or bool(((codes < 0xD800) | ((codes > 0xDFFF) & (codes <= 0x10FFFF))).all())
