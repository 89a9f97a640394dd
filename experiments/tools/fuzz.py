"""python -m experiments fuzz: valid files of every kind we read, damaged at random; each outcome must be a sentence.

A reader gives a value or raises a ValueError of at most 500 characters, whatever it is given. Cases are numbered: the
same number makes the same bytes. They run in a process of their own, whose memory is bounded and whose silence ends it.
"""

import argparse
import io
import json
import lzma
import math
import multiprocessing
import random
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from time import process_time
from typing import Any

import cv2
import numpy as np
from PIL import Image as Pillow
from scipy.io import savemat

from adgm import Problem
from experiments import toml_spec
from experiments.trials import limit_memory, peak_memory, reserved_memory
from features.datasets import DATASETS
from features.files.exports import open_pair, save_pair
from features.files.point_files import read_points, read_truth, write_points, write_truth
from features.files.problem_files import add_companion, from_pair, qap, read_problem, write_problem
from features.formulas import toml_file
from features.formulas.build import model
from features.formulas.ready import READY
from features.formulas.text import model_text
from features.limits import LIMITS
from features.models import MODELS
from features.pairs import Pair
from features.points.images import FORMATS, decode
from features.recipe import Recipe
from features.tables import Table
from features.views.reading import video_frames, views_in_zip

LONGEST = 500  # characters of a sentence
SLOW, LARGE = 5.0, 500_000_000  # seconds of computing, bytes beyond what the program itself takes
LONGEST_LINK = 20_000_000  # letters: with more in one message Streamlit closes the connection
SILENCE = 60.0  # seconds without output from the process, however busy the machine
CASES = 1000
LARGE_EVERY = 20  # of so many files of a kind one is not damaged but large
SIZES = 6.0, 8.0  # of large files, unpacked: powers of ten
WRITTEN = [form for form in FORMATS if form != "HEIF"]  # what Pillow writes; HEIF is only read
HUGE = (b"9" * 400, b"1e999", b"-1", b"0", b"nan", b"99999999999", b"1e-320", b"\xff\xfe", b"\x00" * 9, b"[" * 3000)
ZIPPED, XZ = (b"PK\x03\x04",), b"\xfd7zXZ\x00"


# ---- what is damaged ---------------------------------------------------------------------------------------------


@cache
def small_pair() -> Pair:
    return DATASETS["random"].load(images=True, inliers=5, outliers=1)


def npz(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def matlab(**arrays: Any) -> bytes:
    out = io.BytesIO()
    savemat(out, arrays, do_compression=len(arrays) > 1)
    return out.getvalue()


def picture(form: str) -> bytes:
    out = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 255, (23, 31, 3), np.uint8)
    Pillow.fromarray(pixels).save(out, form)
    return out.getvalue()


def zipped(*files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number, data in enumerate(files):
            archive.writestr(f"{number}.png", data)
    return out.getvalue()


def video(code: str, ending: str) -> bytes:
    """Some frames of noise."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"video{ending}"
        writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*code), 10, (64, 48))
        for _ in range(6):
            writer.write(rng.integers(0, 255, (48, 64, 3), np.uint8))
        writer.release()
        return path.read_bytes()


def problem(form: str) -> bytes:
    built = MODELS["B"].build(small_pair(), rows="at_most_one", cols="at_most_one")
    return write_problem(from_pair(small_pair(), built, "similarity"), form)


def assignment() -> bytes:
    flows, distances = np.random.default_rng(0).integers(0, 9, (2, 5, 5)).astype(float)
    return write_problem(qap(flows, distances), ".dat")


def link(data: bytes) -> Recipe:
    words = (word.partition("=") for word in data.decode("utf-8", "replace").split("&"))
    return Recipe.from_query({name: value for name, _, value in words})


def build(text: str) -> Problem:
    """What a model's text costs on the small pair, computed for every entry."""
    found = model(model_text(text)).build(small_pair())
    found.energy(np.full(found.n, 0.5))
    return found


@dataclass(frozen=True)
class Kind:
    """A kind of file: valid ones, what reads them, and large ones of about a number of bytes when unpacked."""

    seeds: Callable[[], Iterable[bytes]]
    read: Callable[[bytes], object]
    large: Callable[[int, random.Random], bytes] | None = None  # None: a valid one, a piece of it repeated


@cache
def kinds() -> dict[str, Kind]:
    points, truth = small_pair().left.points, small_pair().truth
    xy = points.xy
    listed = json.dumps({"points": [{"x": x, "y": y, "label": "a"} for x, y in xy.tolist()]}).encode()
    recipe = Recipe("random", {"inliers": 5}, "B", {"sigma2": 10.0}, "adgm1", {"max_iter": 9})
    words = "&".join(f"{name}={value}" for name, value in recipe.to_query().items()).encode()
    shape = (len(small_pair().left.points), len(small_pair().right.points))
    assert truth is not None
    return {
        "points, text": Kind(lambda: [write_points(points), b"1 2\n3 4\n5 6\n", b"x;y;label\n1;2;a\n"], read_points),
        "points, JSON": Kind(lambda: [listed, json.dumps(xy.tolist()).encode()], read_points),
        "points, NPZ": Kind(
            lambda: [npz(xy=xy), npz(points=xy, angle=xy[:, 0], labels=np.array(list("abcde")))],
            read_points,
            large_arrays(npz, ("xy", "points", "angle", "labels")),
        ),
        "points, MATLAB": Kind(
            lambda: [matlab(xy=xy), matlab(points=xy, labels=["a", "bc"], n=3)],
            read_points,
            large_arrays(matlab, ("xy", "points", "labels", "n")),
        ),
        "truth": Kind(
            lambda: [write_truth(truth), json.dumps(truth.tolist()).encode()], lambda d: read_truth(d, "t", shape)
        ),
        "image": Kind(lambda: [picture(form) for form in WRITTEN], decode, large_picture),
        "images, ZIP": Kind(lambda: [zipped(picture("PNG"), picture("JPEG"))], views_in_zip),
        "video": Kind(lambda: [video("MJPG", ".avi"), video("mp4v", ".mp4")], lambda data: video_frames(data, count=2)),
        "saved pair": Kind(lambda: [save_pair(small_pair(), recipe)], open_pair),
        "problem, dd": Kind(lambda: [problem(".dd"), problem(".dd.xz")], read_problem),
        "problem, NPZ": Kind(
            lambda: [problem(".npz")],
            read_problem,
            large_arrays(npz, ("K", "unary", "quadratic", "edges_left", "pairs")),
        ),
        "problem, QAPLIB": Kind(lambda: [assignment()], read_problem),
        "companion": Kind(
            lambda: [b"-3.5\n", b"[[1], [0], null, [2], [3, 4]]", b"5 272\n2 1 5 4 3\n"],
            lambda data: add_companion(read_problem(assignment()), data),
        ),
        "experiment": Kind(lambda: [toml_spec.EXAMPLE.encode()], toml_spec.parse),
        "recipe": Kind(
            lambda: [recipe.to_json().encode()], lambda data: Recipe.from_json(data.decode("utf-8", "replace"))
        ),
        "link": Kind(lambda: [words], link, lambda size, rng: grown(words, min(size, LONGEST_LINK), rng)),
        "formula": Kind(
            lambda: [text.encode() for text in READY.values()], lambda data: build(data.decode("utf-8", "replace"))
        ),
        "model file": Kind(
            lambda: [toml_file.write(model_text(text)).encode() for text in READY.values()],
            lambda data: build(toml_file.read(data)),
        ),
    }


# ---- how ---------------------------------------------------------------------------------------------------------


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A change or a few."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        data = rng.choice(CHANGES)(data, rng) or b"\n"
    return data


def span(data: bytes, rng: random.Random) -> tuple[int, int]:
    begin = rng.randrange(len(data))
    return begin, min(len(data), begin + rng.choice([1, 1, 4, 30, 1000]))


def flipped(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def cut(data: bytes, rng: random.Random) -> bytes:
    begin, end = span(data, rng)
    return data[:begin] + data[end:]


def repeated(data: bytes, rng: random.Random) -> bytes:
    begin, end = span(data, rng)
    times = rng.choice([1, 2, 50, 5000]) if end - begin < 100 else 3
    return data[:end] + data[begin:end] * times + data[end:]


def shortened(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def strange(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + rng.choice([rng.randbytes(rng.choice([1, 8, 200])), *HUGE]) + data[at:]


def number(data: bytes, rng: random.Random) -> bytes:
    """Another number in place of one that stands there."""
    found = list(re.finditer(rb"-?\d+(\.\d+)?", data))
    if not found:
        return strange(data, rng)
    one = rng.choice(found)
    return data[: one.start()] + rng.choice(HUGE) + data[one.end() :]


def shuffled(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    rng.shuffle(lines)
    return b"".join(lines)


def inside(data: bytes, rng: random.Random) -> bytes:
    """What is packed, damaged and packed again: no sum tells."""
    try:
        if data.startswith(XZ):
            return lzma.compress(damaged(lzma.decompress(data), rng), preset=0)
        if data.startswith(ZIPPED):
            return repacked(data, rng, lambda content: damaged(content, rng))
    except Exception:  # it is no longer what it was: damaged further as it is
        pass
    return flipped(data, rng)


def repacked(data: bytes, rng: random.Random, change: Callable[[bytes], bytes]) -> bytes:
    """A zip file with one of its files changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as after:
        chosen = rng.choice(before.namelist())
        for name in before.namelist():
            content = before.read(name)
            after.writestr(name, change(content) if name == chosen and content else content)
    return out.getvalue()


# ---- what is large ----------------------------------------------------------------------------------------------


def grown(data: bytes, size: int, rng: random.Random) -> bytes:
    """A line of a file, or a few bytes of it, so often that it has this size; what is packed grows inside."""
    if data.startswith(XZ):
        return lzma.compress(grown(lzma.decompress(data), size, rng), preset=0)
    if data.startswith(ZIPPED):
        return repacked(data, rng, lambda content: grown(content, size, rng))
    lines = data.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    begin, end = len(b"".join(lines[:at])), len(b"".join(lines[: at + 1]))
    if rng.random() < 0.5:
        begin, end = span(data, rng)
    return data[:end] + data[begin:end] * (size // (end - begin)) + data[end:]


def large_arrays(pack: Callable[..., bytes], names: Sequence[str]) -> Callable[[int, random.Random], bytes]:
    """Files of a few arrays of equal numbers or texts, which pack well; or of very many small ones."""

    def large(size: int, rng: random.Random) -> bytes:
        if rng.random() < 0.2:
            return pack(**{f"a{k}": np.zeros(1) for k in range(rng.choice([50, 5000]))})
        chosen = rng.sample(names, rng.randint(1, 2))
        text, width = rng.random() < 0.2, rng.choice([1, 2, 2, 75])
        count = size // (8 * width * len(chosen))
        shape = (count, width) if rng.random() < 0.7 else (math.isqrt(size // 8),) * 2
        return pack(**{name: np.full(count, "ab") if text else np.zeros(shape) for name in chosen})

    return large


def large_picture(size: int, rng: random.Random) -> bytes:
    """A picture of one colour, of so many pixels and up to a few times as long as wide, or a strip."""
    mode, form = rng.choice([("RGB", one) for one in WRITTEN] + [("RGBA", "PNG"), ("RGBA", "WEBP"), ("P", "PNG")])
    pixels = min(size, 2 * LIMITS.image_pixels)
    longest = 16_383 if form == "WEBP" else 65_000
    width = min(longest, int((pixels * rng.choice([1, 1, 2, 100])) ** 0.5))
    out = io.BytesIO()
    Pillow.new(mode, (width, min(longest, max(1, pixels // width))), rng.choice(["white", "teal"])).save(out, form)
    return out.getvalue()


CHANGES = (flipped, flipped, cut, repeated, shortened, strange, number, number, shuffled, inside, inside, inside)


# ---- what comes of it --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What one case came to."""

    kind: str
    number: int
    told: str  # "value", "sentence", or what is wrong
    seconds: float = 0.0

    @property
    def wrong(self) -> bool:
        return self.told not in ("value", "sentence")


def case(name: str, number: int) -> bytes:
    """The bytes of a case."""
    rng = random.Random(f"{name} {number}")
    if number % LARGE_EVERY == LARGE_EVERY - 1:
        size, large = int(10 ** rng.uniform(*SIZES)), kinds()[name].large
        return grown(rng.choice(list(seeds()[name])), size, rng) if large is None else large(size, rng)
    return damaged(rng.choice(list(seeds()[name])), rng)


@cache
def seeds() -> dict[str, list[bytes]]:
    return {name: list(kind.seeds()) for name, kind in kinds().items()}


def outcome(name: str, number: int, data: bytes) -> Outcome:
    """Read one case."""
    read = kinds()[name].read
    began = process_time()
    try:
        read(data)
        told = "value"
    except ValueError as error:
        text = str(error)
        told = "sentence" if 0 < len(text) <= LONGEST else f"a sentence of {len(text)} characters: {text[:200]}"
    except Exception as error:
        told = f"{type(error).__name__}: {str(error)[:200]}"
    return Outcome(name, number, told, process_time() - began)


def numbered(cases: int, seed: int) -> Iterator[tuple[str, int]]:
    """Which cases: all kinds in turns."""
    names = list(kinds())
    return ((names[k % len(names)], seed + k // len(names)) for k in range(cases))


def serve(pipe: Connection, cases: list[tuple[str, int]]) -> None:
    """In the process that reads: the outcomes one by one, then the most memory."""
    seeds()
    decode(picture("PNG"))
    before = peak_memory()
    limit_memory(reserved_memory() + LARGE)
    for name, number in cases:
        pipe.send(outcome(name, number, pipe.recv_bytes()))
    pipe.send(peak_memory() - before)


def watched(cases: list[tuple[str, int]], target: Callable[..., None] = serve) -> tuple[list[Outcome], int]:
    """All outcomes, and the bytes that the readers took at most; a case that ends its process, or hangs, is told."""
    found: list[Outcome] = []
    most = 0
    spawn = multiprocessing.get_context("spawn")
    while len(found) < len(cases):
        ours, theirs = spawn.Pipe()
        process = spawn.Process(target=target, args=(theirs, cases[len(found) :]), daemon=True)
        process.start()
        theirs.close()
        try:
            while len(found) < len(cases):
                ours.send_bytes(case(*cases[len(found)]))  # made here, so that the reader's memory is for reading
                if not ours.poll(SILENCE):
                    raise TimeoutError(f"no end within {SILENCE:g} s")
                found.append(ours.recv())
            most = max(most, ours.recv() if ours.poll(SILENCE) else 0)
        except (EOFError, OSError) as error:
            process.kill()
            process.join()
            how = str(error) if isinstance(error, TimeoutError) else f"the process ended with {process.exitcode}"
            found.append(Outcome(*cases[len(found)], how, SILENCE))
        process.join()
    return found, most


# ---- the command -------------------------------------------------------------------------------------------------


def table(found: list[Outcome]) -> Table:
    lines = []
    for name in kinds():
        mine = [one for one in found if one.kind == name]
        count = [sum(one.told == told for one in mine) for told in ("value", "sentence")]
        slowest = max((one.seconds for one in mine), default=0.0)
        cells = (name, len(mine), *count, sum(one.wrong for one in mine), f"{slowest:.2f}")
        lines.append(tuple(map(str, cells)))
    return Table(("kind", "cases", "values", "sentences", "wrong", "slowest (s)"), tuple(lines))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cases", type=int, default=CASES, metavar="N", help="how many files (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="the number of the first (default 0)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the files of wrong outcomes there")


def run(options: argparse.Namespace) -> int:
    if options.cases < 1:
        raise ValueError(f"--cases is {options.cases}; expected 1 or more.")
    found, most = watched(list(numbered(options.cases, options.seed)))
    print(table(found).text())
    slow = sum(one.seconds > SLOW for one in found)
    wrong = [one for one in found if one.wrong]
    print(f"{len(found):,} cases, {len(wrong)} wrong, {slow} over {SLOW:g} s; at most {most / 1e6:.0f} MB taken.")
    for one in wrong[:50]:
        print(f"{one.kind} {one.number}: {one.told}")
        if options.keep is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
            name = re.sub(r"\W+", "-", one.kind)
            (options.keep / f"{name}-{one.number}").write_bytes(case(one.kind, one.number))
    return 1 if wrong or slow else 0
