"""Decoding what a user uploads, safely: bytes or an array in, a picture of working size and its scale out."""

import hashlib
import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cv2
import numpy as np
import pi_heif
from numpy.typing import ArrayLike, NDArray
from PIL import Image as Pillow

from adgm.machine.short_repr import ShortRepr
from features.limits import LIMITS

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF", "AVIF", "HEIF")  # the only decoders that an upload ever reaches
READ = "JPEG, PNG, WebP, HEIC, AVIF, TIFF and BMP"  # the same for people
DEEP_PNG = "PNG with 16 bits"
# Of memory that a decoded pixel takes at most
BYTES = {"JPEG": 14, "PNG": 8, "WEBP": 17, "BMP": 8, "TIFF": 12, "AVIF": 17, "HEIF": 17, DEEP_PNG: 20}
PNG_DEPTH, PNG_COLOUR = 24, 25  # where a PNG's header has its bits per value, and the kind of its colours
DARKEST, BRIGHTEST = 0.1, 99.9  # percentiles that become black and white where the content says how it is exposed
SAMPLE = 1_000_000  # pixels that the percentiles are taken of
STRIP = 64  # rows that change their form together
ORIENTATION = 0x0112
# A picture that is to be shown upright, seen as the file stores it, by the camera's rotation mark
AS_STORED: dict[int, Callable[[NDArray[np.uint8]], NDArray[np.uint8]]] = {
    1: lambda rgb: rgb,
    2: lambda rgb: rgb[:, ::-1],
    3: lambda rgb: rgb[::-1, ::-1],
    4: lambda rgb: rgb[::-1],
    5: lambda rgb: rgb.transpose(1, 0, 2),
    6: lambda rgb: np.rot90(rgb),
    7: lambda rgb: rgb.transpose(1, 0, 2)[::-1, ::-1],
    8: lambda rgb: np.rot90(rgb, -1),
}
TIFF_TILE_WIDTH, TIFF_TILE_HEIGHT = 322, 323


pi_heif.register_heif_opener()  # what phones write, and Pillow does not read


class ImageError(ValueError):
    """An image that cannot be used, and why, in a sentence for the person who brought it."""


@dataclass(frozen=True, eq=False)
class Image(ShortRepr):
    """An RGB picture at working size.

    `scale` is working pixels per original pixel, the same along x and y: a working coordinate divided by it
    is an original one. The original is the picture as displayed, after the camera's rotation mark was obeyed.
    """

    rgb: NDArray[np.uint8]
    scale: float = 1.0
    original: tuple[int, int] | None = None  # (width, height); rounding cannot always be undone, so it is kept

    def __post_init__(self) -> None:
        rgb = np.asarray(self.rgb)
        if rgb.dtype != np.uint8 or rgb.ndim != 3 or rgb.shape[2] != 3 or 0 in rgb.shape:
            raise ImageError(
                f"An image is an (h, w, 3) array of 8-bit numbers with h, w ≥ 1; "
                f"this one has shape {rgb.shape} and type {rgb.dtype}."
            )
        if not 0 < self.scale <= 1:
            raise ImageError(f"The scale of an image lies in (0, 1]; this one is {self.scale}.")
        rgb = np.ascontiguousarray(rgb).view()
        rgb.flags.writeable = False
        object.__setattr__(self, "rgb", rgb)

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) of the working image."""
        return self.rgb.shape[1], self.rgb.shape[0]

    @property
    def original_size(self) -> tuple[int, int]:
        """(width, height) before shrinking."""
        width, height = self.size
        return self.original or (round(width / self.scale), round(height / self.scale))

    @cached_property
    def digest(self) -> str:
        """What tells it from other pictures; found once, since it looks at every pixel."""
        told = hashlib.sha1(str(self.rgb.shape).encode(), usedforsecurity=False)
        told.update(self.rgb.data)
        return told.hexdigest()

    @property
    def grey(self) -> NDArray[np.uint8]:
        """Luminance, (h, w)."""
        return cv2.cvtColor(self.rgb, cv2.COLOR_RGB2GRAY)  # type: ignore[return-value]


def decode(data: bytes, *, max_side: int = 1600, name: str = "image") -> Image:
    """Read JPEG, PNG, WebP, HEIC, AVIF, BMP or TIFF bytes: the first frame if there are several, laid on white.

    The content decides what the file is, never its name. Sizes are judged from the header, so a small file
    that claims to be a huge picture costs nothing.
    """
    title = shown(name)
    if not data:
        raise ImageError(f"{title} is empty: 0 bytes.")
    if len(data) > LIMITS.image_bytes:
        raise ImageError(
            f"{title} has {len(data) / 1e6:.1f} MB; at most {LIMITS.image_bytes / 1e6:.0f} MB are accepted."
        )
    with _open(data, title) as picture:
        _refuse_giants(picture, title)
        width, height = picture.size
        scale = _scale(width, height, max_side)
        if picture.format == "JPEG" and (not (width % 8 or height % 8) or _rotation(picture) in (1, 5)):
            # at ½, ¼ or ⅛ of its size; turned, a partial row or column would come first and shift all others
            picture.draft(None, (math.ceil(width * scale), math.ceil(height * scale)))
        drafted = round(width / picture.width)  # original pixels along the side of a decoded one
        _refuse_memory(picture, _kind(picture, data), title)
        try:
            picture.load()
        except Exception as error:  # OSError, SyntaxError, struct.error …: what damage makes a decoder trip over
            raise ImageError(
                f"{title} is a damaged or incomplete {picture.format} image: it cannot be decoded to its end."
            ) from error
        mark = _rotation(picture)  # now: a TIFF turns itself while it is loaded, and a PNG tells it late
        try:
            rgb = _upright(picture, mark, _deep_colours(data) if _kind(picture, data) == DEEP_PNG else None)
        except ValueError as error:  # ours, or Pillow's about a kind of colour that it cannot convert
            raise ImageError(f"{title}: {error}") from error
    original = (height, width) if mark >= 5 else (width, height)
    if drafted == 1:
        original = rgb.shape[1], rgb.shape[0]
    columns, rows = (max(1, round(side * scale)) for side in original)
    return Image(_shrink(rgb, scale * drafted)[:rows, :columns], scale, original)


def from_array(array: ArrayLike, *, max_side: int | None = None) -> Image:
    """An Image from a grey, RGB or RGBA array of 8-bit or 16-bit numbers, booleans, or floats in [0, 1]."""
    pixels = np.asarray(array)
    channels = 1 if pixels.ndim == 2 else pixels.shape[2] if pixels.ndim == 3 else 0
    if channels not in (1, 3, 4) or 0 in pixels.shape:
        raise ImageError(
            f"An image has shape (h, w), (h, w, 3) or (h, w, 4) and no side of 0; this one has {pixels.shape}."
        )
    height, width = pixels.shape[:2]
    scale = _scale(width, height, width + height if max_side is None else max_side)
    rgb = _on_white(_eight_bit(pixels.reshape(height, width, channels)))
    return Image(_shrink(rgb, scale), scale, (width, height))


def from_picture(picture: Pillow.Image, *, max_side: int | None = None, name: str = "image") -> Image:
    """An Image from one that Pillow has opened or made, of any mode, turned as its camera's mark says."""
    title = shown(name)
    _refuse_giants(picture, title)
    try:
        mark = _rotation(picture)
        rgb = _upright(picture, mark, None)
    except (ValueError, OSError) as error:  # ours, or Pillow's about a colour, or a file that was opened and closed
        raise ImageError(f"{title}: {error}") from error
    return from_array(rgb, max_side=max_side)


def _scale(width: int, height: int, max_side: int) -> float:
    if max_side < 1:
        raise ImageError(f"The working size must be at least 1 pixel; {max_side} was given.")
    return min(1.0, max_side / max(width, height))


def shown(name: str) -> str:
    """A file name fit for a message: no folders, nothing unprintable, not too long."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    clean = "".join(letter if letter.isprintable() else "?" for letter in last).strip()
    return f"“{clean if len(clean) <= 60 else clean[:57] + '…'}”" if clean else "The file"


def _open(data: bytes, title: str) -> Pillow.Image:
    """Read the header only."""
    try:
        return Pillow.open(io.BytesIO(data), formats=FORMATS)
    except (Pillow.DecompressionBombError, Pillow.DecompressionBombWarning) as error:
        raise ImageError(
            f"{title} claims to be far larger than the {_megapixels(LIMITS.image_pixels)} accepted."
        ) from error
    except Exception as error:  # see decode: headers are as hostile as pixels
        raise ImageError(
            f"{title} is not an image that can be read. {READ} files are accepted; the content counts, not the name."
        ) from error


def _refuse_giants(picture: Pillow.Image, title: str) -> None:
    width, height = picture.size
    if width < 1 or height < 1:
        raise ImageError(f"{title} is {width} × {height} pixels: there is nothing to see.")
    if width * height > LIMITS.image_pixels:
        raise ImageError(
            f"{title} is {width} × {height} pixels, {_megapixels(width * height)}; "
            f"at most {_megapixels(LIMITS.image_pixels)} are accepted. Please shrink it first."
        )
    if max(width, height) > LIMITS.image_length:
        raise ImageError(
            f"{title} is {width} × {height} pixels; at most {LIMITS.image_length:,} along a side are accepted. "
            "This does not look like a photograph."
        )
    # A TIFF of 64 × 64 pixels may sit in one tile of 40 000 × 40 000, which the decoder would unpack whole.
    tags: Any = getattr(picture, "tag_v2", {})
    tile = [tags.get(tag, 0) for tag in (TIFF_TILE_WIDTH, TIFF_TILE_HEIGHT)]
    if not all(isinstance(side, int) for side in tile) or tile[0] * tile[1] > LIMITS.image_pixels:
        raise ImageError(f"{title} is stored in TIFF tiles of {tile[0]} × {tile[1]} pixels, which is not sensible.")


def _megapixels(pixels: int) -> str:
    return f"{pixels / 1e6:.4g} megapixels"


def _kind(picture: Pillow.Image, data: bytes) -> str:
    """What decoding it takes: its format, or one of its forms."""
    if picture.format == "PNG" and data[PNG_DEPTH] == 16 and data[PNG_COLOUR] in (2, 6):
        return DEEP_PNG
    return picture.format or ""


def _refuse_memory(picture: Pillow.Image, kind: str, title: str) -> None:
    """Before anything is decoded: what it will take, ours included."""
    width, height = picture.size
    needed = width * height * BYTES[kind]
    if needed > LIMITS.image_memory:
        most = _megapixels(LIMITS.image_memory // BYTES[kind])
        raise ImageError(
            f"{title} is a {kind} image of {_megapixels(width * height)}; at most {most} are accepted "
            "of this kind. Please shrink it first, or save it as JPEG."
        )


def _rotation(picture: Pillow.Image) -> int:
    """The camera's rotation mark, 1 for none; a photograph with unreadable EXIF data is still a photograph."""
    try:
        mark = picture.getexif().get(ORIENTATION, 1)
    except Exception:  # EXIF is a small TIFF inside the file, broken in as many ways
        return 1
    return int(mark) if isinstance(mark, int) and mark in AS_STORED else 1


def _upright(picture: Pillow.Image, mark: int, deep: NDArray[Any] | None) -> NDArray[np.uint8]:
    """RGB pixels as the rotation mark wants them, by strips: a picture in another form doubles the memory.

    `deep` are the pixels where Pillow has fewer bits of them.
    """
    width, height = picture.size
    rgb = np.empty((width, height, 3) if mark >= 5 else (height, width, 3), np.uint8)
    stored = AS_STORED[mark](rgb)
    white = 1.0 if picture.mode == "F" else 65535
    values = deep if deep is not None else np.asarray(picture) if picture.mode[0] in "IF" else None
    low, high = (0.0, white) if values is None else _exposure(values[..., :3] if values.ndim == 3 else values, white)
    for top in range(0, height, STRIP):
        bottom = min(height, top + STRIP)
        if values is None:
            crop = picture.crop((0, top, width, bottom))
            pixels = np.asarray(crop.convert("RGBA" if crop.has_transparency_data else "RGB"))
        else:
            pixels = _exposed(np.atleast_3d(values[top:bottom]), low, high)
        stored[top:bottom] = _on_white(pixels)
    return rgb


def _deep_colours(data: bytes) -> NDArray[Any] | None:
    """The colours of a PNG with 16 bits each, of which Pillow keeps the upper 8, as RGB or RGBA."""
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None or pixels.dtype != np.uint16 or pixels.ndim != 3:
        return None
    return pixels[..., [2, 1, 0, 3][: pixels.shape[2]]]


def _exposure(values: NDArray[Any], white: float) -> tuple[float, float]:
    """The values that become black and white: 0 and `white` where the picture comes near it, else by the content.

    Cameras put 10, 12 or 14 bits into 16, and a high dynamic range has no white at all: both would be shown black.
    """
    sample = values.reshape(-1)[:: max(1, values.size // SAMPLE)]
    finite = sample[np.isfinite(sample)]
    if not len(finite):
        raise ImageError("its pixels are no numbers.")
    if values.min() >= 0 and white / 2 <= values.max() <= white:
        return 0.0, white
    low, high = (float(end) for end in np.percentile(finite, (DARKEST, BRIGHTEST)))
    return (min(low, 0.0) if low < (high - low) / 20 else low), high  # black stays black


def _exposed(pixels: NDArray[Any], low: float, high: float) -> NDArray[np.uint8]:
    """Values as 8 bits, from black to white; the alpha of deep colours by its own range."""
    scale = 255 / (high - low) if high > low else 0.0
    colours = np.nan_to_num((pixels[..., :3] - low) * scale, nan=0.0, posinf=255.0, neginf=0.0)
    eight = np.rint(np.clip(colours, 0, 255)).astype(np.uint8)
    return eight if pixels.shape[2] < 4 else np.concatenate([eight, _eight_bit(pixels[..., 3:])], axis=2)


def _eight_bit(pixels: NDArray[Any]) -> NDArray[np.uint8]:
    """The full range of the given type onto 0 … 255."""
    if pixels.dtype == np.uint8:
        return pixels
    if pixels.dtype == np.bool_:
        return pixels.astype(np.uint8) * np.uint8(255)
    if pixels.dtype == np.uint16:
        return ((pixels.astype(np.uint32) + 128) // 257).astype(np.uint8)
    if np.issubdtype(pixels.dtype, np.floating):
        low, high = float(pixels.min()), float(pixels.max())
        if low >= 0 and high <= 1:  # false for NaN too
            return np.asarray(np.rint(pixels * 255), np.uint8)
        raise ImageError(f"floating-point pixels lie between 0 and 1; these range from {low:g} to {high:g}.")
    raise ImageError(f"pixels are 8-bit or 16-bit numbers, or floats between 0 and 1; these have type {pixels.dtype}.")


def _on_white(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """RGB of our own, from grey, RGB or RGBA laid on a white sheet."""
    if pixels.shape[2] < 4:
        return np.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else pixels.copy()
    rgb = np.empty((*pixels.shape[:2], 3), np.uint8)
    for row, target in zip(pixels, rgb, strict=True):  # by rows: a whole picture in 16 bits would double the memory
        alpha = row[:, 3:].astype(np.uint16)
        target[:] = (row[:, :3] * alpha + 255 * (255 - alpha) + 127) // 255
    return rgb


def _shrink(rgb: NDArray[np.uint8], scale: float) -> NDArray[np.uint8]:
    """Average over areas. Both axes shrink by exactly `scale`; the last row or column may be a partial one."""
    if scale == 1:
        return rgb
    height, width = (round(side * scale) for side in rgb.shape[:2])
    if min(height, width) < 1:  # a hair-thin strip keeps one pixel of width
        return cv2.resize(rgb, (max(width, 1), max(height, 1)), interpolation=cv2.INTER_AREA)  # type: ignore[return-value]
    return cv2.resize(rgb, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)  # type: ignore[return-value]
