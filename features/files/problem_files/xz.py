"""Problem files that are packed by xz: unpacked as long as it is not too much."""

import lzma

from features.files.problem_files.record import ProblemFileError
from features.limits import LIMITS

XZ = b"\xfd7zXZ\x00"
XZ_MEMORY = 200_000_000  # bytes that unpacking may take for itself; the usual settings take up to 65 MB


def unpacked(data: bytes) -> bytes:
    """The content of an xz file; any other file as it is."""
    if data[:6] != XZ:
        return data
    unpack = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY)
    try:
        content = unpack.decompress(data, LIMITS.problem_bytes + 1)
    except (lzma.LZMAError, MemoryError) as error:
        raise ProblemFileError("this xz file is damaged, or packed in an unusual way.") from error
    if len(content) > LIMITS.problem_bytes:
        raise ProblemFileError(
            f"unpacked, it has more than {LIMITS.problem_bytes / 1e6:.0f} MB; that is the most accepted."
        )
    if not unpack.eof:
        raise ProblemFileError("this xz file is cut off.")
    return content
