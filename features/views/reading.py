"""Images of several views from a folder, a ZIP file or a video; what strangers send is capped before it is decoded."""

from __future__ import annotations

import io
import re
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeVar

import cv2
import numpy as np

from adgm.machine.deadline import TimeUp, check_time
from features.files.npz import zip_entries
from features.files.point_files import FileError
from features.limits import LIMITS
from features.pairs import NOBODY, View, file_bytes
from features.pairs.reading import MAX_SIDE
from features.points.images import Image, decode, from_array, shown
from features.views.view_set import ViewSet

IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".heic", ".heif", ".avif")
VIDEOS = (".mp4", ".mov", ".avi", ".mkv", ".webm", ".m4v")
BOXES = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip")  # what MP4 and QuickTime begin with
MATROSKA = b"\x1aE\xdf\xa3"
LONGEST_VIDEO = 200_000  # frames that are walked through


T = TypeVar("T")


class ViewsFileError(FileError):
    """Files that are no views, and why."""


@dataclass(frozen=True)
class Named:
    """A file's name and its bytes."""

    name: str
    data: bytes


def natural(name: str) -> list[tuple[int, str]]:
    """A key that puts img2 before img10."""
    return [(int(part), "") if part.isdecimal() else (-1, part.lower()) for part in re.split(r"(\d+)", name)]


def of_files(files: Sequence[Named], name: str = "views") -> ViewSet:
    """Views of images that were read, in the order of their names; points are detected later, once each."""
    ordered = sorted(files, key=lambda file: natural(file.name))
    if not 2 <= len(ordered) <= LIMITS.views:
        raise ViewsFileError(f"There are {len(ordered)} images; 2 to {LIMITS.views} can be matched.")
    views = []
    for file in ordered:
        check_time()
        views.append(View(decode(file.data, max_side=MAX_SIDE, name=file.name), NOBODY))
    return ViewSet(tuple(views), tuple(shown(file.name).strip("“”") for file in ordered), name)


def views_in_zip(data: bytes, name: str = "images.zip", *, count: int | None = None) -> ViewSet:
    """The images of a ZIP file; with `count` so many of them, spread over their order. Nothing is unpacked to disk."""
    title = shown(name)
    if len(data) > LIMITS.views_bytes:
        raise ViewsFileError(
            f"{title} has {len(data) / 1e6:.0f} MB; at most {LIMITS.views_bytes / 1e6:.0f} MB are accepted."
        )
    if zip_entries(data) > 10 * LIMITS.archive_files:
        raise ViewsFileError(f"{title} holds more than {10 * LIMITS.archive_files} files; that is the most accepted.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [member for member in archive.infolist() if is_image(member.filename)]
            members.sort(key=lambda member: natural(member.filename))
            chosen = _spread(members, count)
            total = sum(member.file_size for member in chosen)
            if total > LIMITS.views_bytes or any(m.file_size > LIMITS.image_bytes for m in chosen):
                raise ViewsFileError(
                    f"{title} holds images of {total / 1e6:.0f} MB; at most {LIMITS.image_bytes / 1e6:.0f} MB each and "
                    f"{LIMITS.views_bytes / 1e6:.0f} MB together are accepted."
                )
            files = []
            for member in chosen:
                check_time()
                with archive.open(member) as stream:
                    files.append(Named(PurePosixPath(member.filename).name, stream.read(LIMITS.image_bytes + 1)))
    except (ViewsFileError, MemoryError, TimeUp):
        raise
    except Exception as error:  # BadZipFile, zlib.error, RuntimeError for a password …: whatever damage leads to
        raise ViewsFileError(f"{title} is not a ZIP file, or a damaged or locked one.") from error
    return of_files(_told_apart(files), title.strip("“”"))


def views_in_folder(folder: str | Path, *, count: int | None = None) -> ViewSet:
    """The images of a folder, in the order of their names; with `count` so many of them, spread over it."""
    place = Path(folder)
    if not place.is_dir():
        raise ViewsFileError(f"{folder} is not a folder.")
    paths = sorted((path for path in place.iterdir() if path.is_file() and is_image(path.name)), key=_by_name)
    return of_files([Named(path.name, file_bytes(path)) for path in _spread(paths, count)], place.name)


def video_frames(source: str | Path | bytes, name: str = "video", *, count: int = 6) -> ViewSet:
    """Frames of a video, spread over its length."""
    if not 2 <= count <= LIMITS.views:
        raise ViewsFileError(f"{count} frames were asked for; 2 to {LIMITS.views} can be matched.")
    if not isinstance(source, bytes):
        if not Path(source).is_file():
            raise ViewsFileError(f"{source} is not a file.")
        return _frames(Path(source), Path(source).name, count)
    if len(source) > LIMITS.views_bytes:
        raise ViewsFileError(
            f"{shown(name)} has {len(source) / 1e6:.0f} MB; at most {LIMITS.views_bytes / 1e6:.0f} MB are accepted."
        )
    if not _is_video(source):
        raise ViewsFileError(f"{shown(name)} is not a video that can be read.")
    with tempfile.TemporaryDirectory() as folder:  # OpenCV reads videos from files only
        path = Path(folder) / "video"
        path.write_bytes(source)
        return _frames(path, shown(name), count)


def _is_video(data: bytes) -> bool:
    """Whether this is a video by its content: FFmpeg would also follow lists of other files and addresses."""
    return data[4:8] in BOXES or data[:4] == MATROSKA or (data[:4] == b"RIFF" and data[8:12] == b"AVI ")


def _frames(path: Path, title: str, count: int) -> ViewSet:
    video = cv2.VideoCapture(str(path))
    try:
        width, height = (video.get(key) for key in (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT))
        total = int(min(max(video.get(cv2.CAP_PROP_FRAME_COUNT), 0), LONGEST_VIDEO))
        if not video.isOpened() or not 0 < width * height <= LIMITS.image_pixels:
            raise ViewsFileError(f"{title} is not a video that can be read.")
        pictures = _at(video, [round(x) for x in np.linspace(0, max(total - 1, 0), count).tolist()])
        if len(pictures) < count:  # the header told more frames than there are
            video.release()
            video = cv2.VideoCapture(str(path))
            there = _length(video)
            video.release()
            video = cv2.VideoCapture(str(path))
            pictures = _at(video, sorted({round(x) for x in np.linspace(0, there - 1, count).tolist()}))
    finally:
        video.release()
    if len(pictures) < count:
        raise ViewsFileError(f"{title} has {len(pictures)} frames that can be read; {count} were asked for.")
    views = tuple(View(picture, NOBODY) for _, picture in pictures)
    return ViewSet(views, tuple(f"frame {number}" for number, _ in pictures), title.strip("“”"))


def _at(video: cv2.VideoCapture, wanted: Sequence[int]) -> list[tuple[int, Image]]:
    """These frames, in one walk through the video: seeking is not exact in all formats."""
    found: list[tuple[int, Image]] = []
    numbers = sorted(set(wanted))
    for number in range(numbers[-1] + 1):
        check_time()
        if not video.grab():
            break
        if number in numbers:
            there, bgr = video.retrieve()
            if there:
                found.append((number, from_array(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB), max_side=MAX_SIDE)))
    return found


def _length(video: cv2.VideoCapture) -> int:
    """How many frames there really are."""
    length = 0
    while length < LONGEST_VIDEO and video.grab():
        check_time()
        length += 1
    return length


def is_image(name: str) -> bool:
    path = PurePosixPath(name)
    return path.suffix.lower() in IMAGES and not path.name.startswith(".") and "__MACOSX" not in path.parts


def _by_name(path: Path) -> list[tuple[int, str]]:
    return natural(path.name)


def _spread(items: Sequence[T], count: int | None) -> list[T]:
    """So many of them, the first and the last among them; all without a count."""
    if count is None or count >= len(items):
        return [*items]
    return [items[round(k)] for k in np.linspace(0, len(items) - 1, count).tolist()]


def _told_apart(files: Sequence[Named]) -> list[Named]:
    """Files of the same name in different folders get numbers."""
    seen: dict[str, int] = {}
    found = []
    for file in files:
        seen[file.name] = seen.get(file.name, 0) + 1
        times = seen[file.name]
        found.append(file if times == 1 else Named(f"{times} {file.name}", file.data))
    return found
