"""What a user may upload as an image, and what a hostile one may not do."""

import base64
import io
import struct
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image as Pillow
from PIL import PngImagePlugin

from features.limits import LIMITS
from features.points import images
from features.points.images import Image, ImageError, decode, from_array

RNG = np.random.default_rng(0)
PICTURE = RNG.integers(0, 256, (40, 60, 3), dtype=np.uint8)
HEIC = base64.b64decode(  # 64 × 48 pixels, by libheif
    "AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAX1tZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAACJpbG9jAAAA"
    "AERAAAEAAQAAAAABoQABAAAAAAAAAN4AAAAjaWluZgAAAAAAAQAAABVpbmZlAgAAAAABAABodmMxAAAAAA5waXRtAAAAAAABAAAA/WlwcnAAAADd"
    "aXBjbwAAAHZodmNDAQNwAAAAkAAAAAAAHvAA/P34+AAADwNgAAEAGEABDAH//wNwAAADAJAAAAMAAAMAHroCQGEAAQAqQgEBA3AAAAMAkAAAAwAA"
    "AwAeoCCBBZbq5Ka5uAhoMCAAAAMDIAAAAwAhYgABAAZEAcFzwIkAAAATY29scm5jbHgAAQANAAaAAAAAFGlzcGUAAAAAAAAAQAAAAEAAAAAoY2xh"
    "cAAAAEAAAAABAAAAMAAAAAEAAAAAAAAAAv////AAAAACAAAAEHBpeGkAAAAAAwgICAAAABhpcG1hAAAAAAAAAAEAAQWBAgMFhAAAAOZtZGF0AAAA"
    "2igBrwngPg6bnk4QdLDGLT7Bfo0eRrgROeS/l7zEEF8B47Qsz3d2t21tudOk9S0RdmDpYILl3GO9IBbUNVfS4hlSw3qXmGQZt6AUhIookRwnrn/y"
    "PP0lTqR/JSSzSU10tThVm3H5U4cQGrdMofdH3CNwu9GX/6xKkHAQp32ai0f55Dbxj4RP0Ji0dJBs2HNVC0Lu1C7/YXJZ9OJHm3GIF1kis2BWu/OT"
    "btxp4zJs1PqYjtMkzHgyadGwSFfAbJDaJf8gMzj7Qw7RZQJvAD+aIpiIL/ShLSgIWTCY"
)


def encoded(picture: Pillow.Image | np.ndarray, kind: str = "PNG", **options: object) -> bytes:
    out = io.BytesIO()
    (picture if isinstance(picture, Pillow.Image) else Pillow.fromarray(picture)).save(out, kind, **options)
    return out.getvalue()


def png_header(width: int, height: int) -> bytes:
    """A PNG that claims a size, and has next to nothing to show for it."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


def tiled_tiff(tile: int) -> bytes:
    """A TIFF of 64 × 64 pixels stored in one tile of any size."""
    tags = [
        (256, 64),
        (257, 64),
        (258, 8),
        (259, 8),
        (262, 1),
        (277, 1),
        (322, tile),
        (323, tile),
        (324, 200),
        (325, 99),
    ]
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    head = b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4)
    return head.ljust(200, b"\0") + zlib.compress(bytes(100_000))


@pytest.mark.parametrize(
    ("kind", "options"), [("PNG", {}), ("BMP", {}), ("TIFF", {}), ("TIFF", {"compression": "tiff_lzw"})]
)
def test_lossless_formats_come_back_exactly(kind, options):
    image = decode(encoded(PICTURE, kind, **options))
    assert_array_equal(image.rgb, PICTURE)
    assert (image.size, image.original_size, image.scale) == ((60, 40), (60, 40), 1.0)


@pytest.mark.parametrize(("kind", "options"), [("JPEG", {"quality": 95}), ("WEBP", {"quality": 95})])
def test_lossy_formats_come_back_nearly(kind, options):
    smooth = np.add.outer(np.arange(40), np.arange(60))[..., None].repeat(3, 2).astype(np.uint8)
    assert np.abs(decode(encoded(smooth, kind, **options)).rgb.astype(int) - smooth).mean() < 3


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bit_grey_keeps_its_full_range(kind):
    deep = np.linspace(0, 65535, 40 * 60).astype(np.uint16).reshape(40, 60)
    rgb = decode(encoded(deep, kind)).rgb
    assert_array_equal(rgb[..., 0], np.rint(deep / 257))
    assert (rgb == rgb[..., :1]).all()


@pytest.mark.parametrize("bits", [10, 12, 14])
@pytest.mark.parametrize("coloured", [False, True])
def test_fewer_bits_in_sixteen_are_as_bright_as_in_eight(bits, coloured):
    """What a camera or a microscope writes: read with the full range of 16 bits it would be black."""
    ramp = np.linspace(0, 255, 40 * 60).reshape(40, 60)
    deep = np.rint(ramp / 255 * (2**bits - 1)).astype(np.uint16)
    if coloured:
        deep = np.dstack([deep, deep[::-1], deep[:, ::-1]])
        ramp = np.dstack([ramp, ramp[::-1], ramp[:, ::-1]])
        data = cv2.imencode(".png", np.ascontiguousarray(deep[..., ::-1]))[1].tobytes()
    else:
        ramp, data = ramp[..., None], encoded(deep, "PNG")
    assert np.abs(decode(data).rgb - ramp).max() < 3


@pytest.mark.parametrize("values", [np.linspace(0, 900, 2400), np.linspace(1e-3, 1e-2, 2400), np.linspace(-5, 5, 2400)])
def test_a_high_dynamic_range_is_stretched_by_its_content(values):
    rgb = decode(encoded(values.reshape(40, 60).astype(np.float32), "TIFF")).rgb.astype(int)
    assert rgb.min() <= 30 and rgb.max() == 255 and (np.diff(rgb[..., 0].ravel()) >= 0).all()
    wide = np.arange(70_000, 72_400, dtype=np.int32).reshape(40, 60)
    assert np.ptp(decode(encoded(wide, "TIFF")).rgb) > 250


def test_a_phones_photographs_are_read():
    """HEIC as an iPhone writes it (made once, with red and green ramps and a bright corner), and AVIF."""
    image = decode(HEIC)
    height, width = image.rgb.shape[:2]
    assert sorted((width, height)) == [48, 64]
    assert image.rgb[..., 2].max() > 200 and np.median(image.rgb[..., 2]) < 80
    assert np.ptp(image.rgb[..., 0]) > 180 and np.ptp(image.rgb[..., 1]) > 180
    smooth = np.add.outer(np.arange(40), np.arange(60))[..., None].repeat(3, 2).astype(np.uint8)
    assert np.abs(decode(encoded(smooth, "AVIF", quality=95)).rgb.astype(int) - smooth).mean() < 3


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "RGB", "CMYK", "YCbCr", "I;16"])
def test_every_usual_mode_becomes_rgb(mode):
    picture = Pillow.new(mode, (20, 10))
    assert decode(encoded(picture, "PNG" if mode in ("LA", "P", "I;16", "RGBA") else "TIFF")).rgb.shape == (10, 20, 3)


def test_transparency_is_laid_on_white():
    rgba = np.dstack([PICTURE, np.broadcast_to(np.linspace(0, 255, 60).astype(np.uint8), (40, 60))])
    alpha = rgba[..., 3:] / 255
    assert_array_equal(decode(encoded(rgba)).rgb, np.rint(PICTURE * alpha + 255 * (1 - alpha)))
    palette = Pillow.fromarray(PICTURE).quantize(8)
    assert (decode(encoded(palette, transparency=bytes(8))).rgb == 255).all()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_camera_rotation_is_obeyed(orientation):
    upright = {
        1: lambda a: a,
        2: lambda a: a[:, ::-1],
        3: lambda a: a[::-1, ::-1],
        4: lambda a: a[::-1],
        5: lambda a: a.transpose(1, 0, 2),
        6: lambda a: np.rot90(a, -1),
        7: lambda a: a[::-1, ::-1].transpose(1, 0, 2),
        8: lambda a: np.rot90(a),
    }[orientation]
    exif = Pillow.Exif()
    exif[0x0112] = orientation
    for kind in ("PNG", "TIFF"):
        assert_array_equal(decode(encoded(PICTURE, kind, exif=exif)).rgb, upright(PICTURE))
    photo = decode(encoded(PICTURE, "JPEG", exif=exif), max_side=30)
    assert photo.original_size == upright(PICTURE).shape[1::-1]


@pytest.mark.filterwarnings("ignore::UserWarning")  # Pillow remarks on the damage
def test_a_photograph_with_broken_exif_is_still_a_photograph():
    assert decode(encoded(PICTURE, "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\x7fjunk")).size == (60, 40)


def test_the_first_of_several_frames_is_taken():
    frames = [Pillow.fromarray(PICTURE), Pillow.new("RGB", (500, 500))]
    assert_array_equal(decode(encoded(frames[0], "TIFF", save_all=True, append_images=frames[1:])).rgb, PICTURE)


def test_a_single_pixel_is_an_image():
    image = decode(encoded(PICTURE[:1, :1]))
    assert (image.size, image.scale) == ((1, 1), 1.0)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 200))
def test_shrinking_keeps_the_original_size_and_fits(width, height, side):
    image = from_array(np.zeros((height, width), np.uint8), max_side=side)
    assert image.original_size == (width, height)
    assert max(image.size) == min(side, max(width, height))
    assert image.scale == min(1, side / max(width, height))


def test_shrinking_averages_areas_at_exactly_the_stated_scale():
    ramp = np.broadcast_to(np.arange(250, dtype=np.uint8), (101, 250))  # 101 × 0.4 is no whole number
    image = from_array(ramp, max_side=100)
    x = np.arange(100)
    assert_allclose(image.rgb[20, :, 0], (x + 0.5) / image.scale - 0.5, atol=1)
    dot = np.zeros((101, 250), np.uint8)
    dot[90:, :] = 255  # an edge at y = 90 must be found at 36, not at 36 · (40 / 40.4)
    assert_array_equal(from_array(dot, max_side=100).rgb[:, 0, 0], np.where(np.arange(40) < 36, 0, 255))


@pytest.mark.parametrize(
    ("array", "first"),
    [
        (np.full((3, 4), 7, np.uint8), 7),
        (np.full((3, 4, 1), 7, np.uint8), 7),
        (np.full((3, 4, 3), 65535, np.uint16), 255),
        (np.full((3, 4), 0.5), 128),
        (np.ones((3, 4), bool), 255),
        (np.zeros((3, 4, 4), np.uint16), 255),
    ],
)
def test_arrays_of_every_kind(array, first):
    image = from_array(array)
    assert image.size == (4, 3)
    assert image.rgb[0, 0, 0] == first


@pytest.mark.parametrize(
    "array", [np.zeros((3, 4, 2)), np.zeros(5), np.zeros((0, 4)), np.full((2, 2), np.nan), np.full((2, 2), 3), [["a"]]]
)
def test_what_is_no_picture_is_refused(array):
    with pytest.raises(ImageError, match=r"\w+.*\."):
        from_array(array)


def test_an_image_cannot_be_changed_nor_born_wrong():
    source = PICTURE.copy()
    image = from_array(source)
    source[:] = 0
    assert_array_equal(image.rgb, PICTURE)
    with pytest.raises(ValueError, match="read-only"):
        image.rgb[0] = 0
    assert image.grey.shape == (40, 60)
    with pytest.raises(ImageError, match="shape"):
        Image(PICTURE[..., 0])
    with pytest.raises(ImageError, match="scale"):
        Image(PICTURE, 2.0)


HOSTILE = {
    "empty": (b"", "empty"),
    "text named .png": (b"Dear reader, this is a letter and no picture.\n" * 50, "not an image"),
    "a script": (b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", "not an image"),
    "a GIF": (encoded(PICTURE, "GIF"), "not an image"),
    "junk": (bytes(RNG.integers(0, 256, 5000, dtype=np.uint8)), "not an image"),
    "half a PNG": (encoded(PICTURE)[:3000], "damaged or incomplete PNG"),
    "half a JPEG": (encoded(PICTURE, "JPEG", quality=95)[:2000], "damaged or incomplete JPEG"),
    "half a TIFF": (encoded(PICTURE, "TIFF")[:3000], "TIFF|not an image"),
    "half a WebP": (encoded(PICTURE, "WEBP", lossless=True)[:3000], "WEBP|not an image"),
    "too many bytes": (encoded(PICTURE) + bytes(LIMITS.image_bytes), "20 MB"),
    "30 000 x 30 000": (png_header(30_000, 30_000), "megapixels"),
    "just too large": (png_header(8_000, 5_001), "8000 × 5001 pixels, 40.01 megapixels"),
    "just small enough, without the pixels": (png_header(500, 500), "damaged or incomplete"),
    "no width": (png_header(0, 100), "not an image|nothing to see"),
    "a monstrous tile": (tiled_tiff(40_000), "40000 × 40000"),
    "no numbers": (encoded(np.full((4, 4), np.nan, np.float32), "TIFF"), "no numbers"),
    "half a HEIC": (HEIC[:400], "HEIF|not an image"),
    "half an AVIF": (encoded(PICTURE, "AVIF")[:400], "AVIF|not an image"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_bad_upload_is_refused_in_plain_words(case):
    data, words = HOSTILE[case]
    with pytest.raises(ImageError, match=words) as caught:
        decode(data, name="C:\\secret\\../holiday\n.png")
    assert "“holiday?.png”" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.sampled_from(["PNG", "JPEG", "WEBP", "BMP", "TIFF", "AVIF", "HEIF"]), st.data())
def test_a_damaged_file_gives_an_image_or_our_error_and_nothing_else(kind, data):
    content = bytearray(HEIC if kind == "HEIF" else encoded(PICTURE[:12, :12], kind))
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        result = decode(bytes(content[: data.draw(st.integers(1, len(content)))]))
    except ImageError as error:
        assert str(error).endswith(".")
    else:
        assert result.rgb.size > 0


def test_hostile_images_cost_no_memory(tmp_path):
    """In a process of its own: the peak of its memory grows by less than one of the claimed pictures would take."""
    cases = {"png": png_header(30_000, 30_000), "big": png_header(8_000, 5_001), "tile": tiled_tiff(40_000)}
    for name, data in cases.items():
        (tmp_path / name).write_bytes(data)
    script = f"""
import resource
from pathlib import Path
from features.points.images import ImageError, decode
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
for name in {list(cases)}:
    try:
        decode(Path({str(tmp_path)!r}, name).read_bytes())
    except ImageError:
        continue
    raise SystemExit(name + " was accepted")
print(peak() - before)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 50_000  # kilobytes


def test_what_is_kept_of_a_large_picture_is_its_memory():
    """In a process of its own: a JPEG is decoded small, others are held once by the decoder and once by us."""
    script = """
import io
from pathlib import Path
from PIL import Image
from features.points.images import decode
peak = lambda: int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) * 1024
for kind in ("JPEG", "PNG"):
    out = io.BytesIO()
    Image.new("RGB", (4000, 20)).save(out, kind)
    decode(out.getvalue())
    out = io.BytesIO()
    Image.new("1", (4000, 3000)).convert("RGB" if kind == "JPEG" else "P").save(out, kind)
    before = peak()
    decode(out.getvalue())
    print(peak() - before)
"""
    if not Path("/proc/self/status").is_file():
        pytest.skip("this system does not tell")
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    jpeg, palette = map(int, ran.stdout.split())
    assert jpeg < 12e6 * 2 and palette < 12e6 * 5


def test_a_picture_that_takes_much_memory_is_refused_before_it_is_decoded(monkeypatch):
    monkeypatch.setattr(images, "LIMITS", replace(LIMITS, image_memory=2_000_000))
    data = {kind: encoded(Pillow.new("RGB", (450, 450)), kind) for kind in ("WEBP", "PNG")}
    monkeypatch.setattr(PngImagePlugin.PngImageFile, "load", lambda self: pytest.fail("it was decoded"))
    with pytest.raises(ImageError, match=r"WEBP image of 0.2025 megapixels; at most 0.1176 megapixels are accepted"):
        decode(data["WEBP"])
    with pytest.raises(pytest.fail.Exception):
        decode(data["PNG"])


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize(("width", "height"), [(643, 402), (648, 400), (1601, 37)])
def test_a_jpeg_that_is_decoded_small_is_the_same_picture_at_the_same_scale(orientation, width, height):
    x, y = np.meshgrid(np.linspace(0, 250, width), np.linspace(0, 250, height))
    smooth = np.stack([x, y, (x + y) / 2], 2).astype(np.uint8)
    exif = Pillow.Exif()
    exif[0x0112] = orientation
    small = decode(encoded(smooth, "JPEG", quality=98, exif=exif), max_side=100)
    exact = decode(encoded(smooth, "PNG", exif=exif), max_side=100)
    assert small.rgb.shape == exact.rgb.shape and max(small.size) == 100
    assert (small.scale, small.original_size) == (exact.scale, exact.original_size)
    assert small.original_size == ((width, height) if orientation < 5 else (height, width))
    assert np.abs(small.rgb.astype(int) - exact.rgb).mean() < 2


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "RGB", "I;16"])
def test_strips_of_a_picture_are_the_picture(mode, monkeypatch):
    grey = Pillow.fromarray(PICTURE).convert("RGB" if mode == "I;16" else mode)
    picture = Pillow.fromarray(PICTURE[..., 0].astype(np.uint16) * 200) if mode == "I;16" else grey
    data = encoded(picture)
    whole = decode(data).rgb
    for strip in (1, 7, 40):
        monkeypatch.setattr(images, "STRIP", strip)
        assert_array_equal(decode(data).rgb, whole)


def test_a_hair_thin_giant_is_refused_from_its_header_alone():
    """One row of 40 million pixels is within the limit of pixels, but unpacking it costs a gigabyte."""
    thin = encoded(Pillow.new("L", (LIMITS.image_length + 1, 1)))
    with pytest.raises(ImageError, match=r"50001 × 1 pixels; at most 50,000 along a side"):
        decode(thin)
