"""MATLAB files (version 5 to 7): the plain matrices and texts in them.

Read here and not by scipy.io.loadmat, which a few wrong bytes can bring down together with its process; uploads and
data sets take the same way.
"""

import struct
import zlib
from collections.abc import Iterator
from itertools import chain, islice, repeat

import numpy as np
from numpy.typing import NDArray

from features.files.npz import Arrays
from features.limits import LIMITS

BYTE_ORDER = {b"\x00\x01IM": "<", b"\x01\x00MI": ">"}  # bytes 124 to 127 of a file
MATRIX, COMPRESSED, CHAR = 14, 15, 4
CLASSES = range(6, 16)  # double, single, and integers of 8 to 64 bits
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
TEXT = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}


def read_matlab(data: bytes) -> Arrays:
    """The matrices of a file by name; cells, structs and objects are passed over, however deep."""
    if data[124:128] not in BYTE_ORDER:
        raise ValueError("this is not a MATLAB v5 file.")
    order, room = BYTE_ORDER[data[124:128]], LIMITS.unpacked_bytes
    arrays: Arrays = {}
    for kind, body in _elements(data[128:], order):
        try:
            if kind == COMPRESSED:
                body = zlib.decompressobj().decompress(body, room + 1)
                room -= len(body)
                kind, body = next(_elements(body, order), (0, b"")) if room >= 0 else (0, b"")
            if kind == MATRIX:
                arrays |= _matrix(body, order)
        except (ValueError, zlib.error, struct.error) as error:
            raise ValueError("this MATLAB file is damaged or incomplete.") from error
        if room < 0:
            raise ValueError(
                f"unpacked, this MATLAB file is too large; at most {LIMITS.unpacked_bytes / 1e6:.0f} MB are accepted."
            )
    return arrays


def _elements(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """(type, bytes) of each element in a row of them; up to four bytes may sit inside the tag itself."""
    position = end = 0
    while position + 8 <= len(data):
        kind, size = struct.unpack_from(order + "II", data, position)
        start, end = position + 8, position + 8 + size
        position = end if kind == COMPRESSED else end + -size % 8
        if kind >> 16:
            kind, start, end, position = kind & 0xFFFF, start - 4, start - 4 + (kind >> 16), start
        if end > len(data):
            break
        yield kind, data[start:end]
    if position < len(data) or end > len(data):
        raise ValueError("this MATLAB file is cut off.")


def _matrix(body: bytes, order: str) -> Arrays:
    """A matrix of numbers under its name, or one text per row of characters; nothing for anything else."""
    (_, flags), (_, sides), (_, name), (kind, values) = islice(chain(_elements(body, order), repeat((0, b""))), 4)
    group = struct.unpack(order + "I", flags[:4])[0] & 0xFF
    shape = np.frombuffer(sides, order + "i4").tolist()
    if group in CLASSES and kind in NUMBERS:
        array = np.frombuffer(values, order + NUMBERS[kind]).reshape(shape, order="F")
    elif group == CHAR and kind in TEXT and len(values) <= LIMITS.text_letters:
        codec = TEXT[kind] + ("" if kind in (1, 2, 16) else "-le" if order == "<" else "-be")
        array = _texts(values.decode(codec), shape)
    else:
        return {}
    return {name.decode("latin-1"): array}


def _texts(letters: str, shape: list[int]) -> NDArray[np.str_]:
    """The rows of a matrix of letters, which MATLAB stores by columns."""
    table = np.frombuffer(letters.encode("utf-32-le"), "<U1").reshape(shape, order="F")
    if not table.size:
        return np.zeros(shape[0], "<U1")
    table = np.ascontiguousarray(table.reshape(shape[0], -1))
    return table.view(f"<U{table.shape[1]}")[:, 0]
