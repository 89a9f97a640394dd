"""Problem files that are damaged or mean harm: a sentence, and nothing else."""

import io
import lzma
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from adgm import Dense, Problem
from features.files.problem_files import (
    ProblemFile,
    ProblemFileError,
    add_companion,
    open_problem,
    qap,
    read_problem,
    write_problem,
    write_solution,
)
from tests.problems import GENERAL, grid_distances, npz


def samples() -> dict[str, bytes]:
    rng = np.random.default_rng(3)
    file = ProblemFile(
        Problem((3, 4), [Dense(rng.normal(size=(3, 4))), Dense(rng.normal(size=(12, 12)))]),
        left_points=rng.random((3, 2)),
        truth=np.array([1, 0, -1]),
    )
    flows, distances = np.arange(16.0).reshape(4, 4), grid_distances(2, 2)
    facilities = qap(flows, distances)
    found = {format: write_problem(file, format) for format in GENERAL} | {".dat": write_problem(facilities, ".dat")}
    found |= {".gt": b"[[1], null, [0, 2]]", ".sln": write_solution(np.arange(4), (flows * distances).sum())}
    return found | {".opt": b"-123.5e-1", "K.npz": npz(K=rng.random((12, 12)), n1=3, n2=4)}


SAMPLES = samples()


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Bytes changed, cut out, put in, doubled or cut off."""
    text = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        at, length = int(rng.integers(len(text) + 1)), int(rng.integers(1, 12))
        choice = rng.integers(5)
        if choice == 0:
            text[at : at + 1] = rng.integers(256, size=1, dtype=np.uint8).tobytes()
        elif choice == 1:
            text[at : at + length] = b""
        elif choice == 2:
            text[at:at] = [b"-1", b" ", b"\n", b"e9", b"nan", b"0", b"1e308 ", b"\xff"][rng.integers(8)]
        elif choice == 3:
            text[at:at] = text[max(0, at - length) : at]
        else:
            del text[at:]
    return bytes(text)


def complaint(work) -> str | None:
    """The one sentence that is allowed, or None where the damage is not seen."""
    try:
        work()
    except ProblemFileError as error:
        return str(error)
    return None


@pytest.mark.parametrize("kind", SAMPLES)
def test_500_damaged_files_give_a_sentence_and_nothing_else(kind):
    rng = np.random.default_rng(4)
    owner = qap(np.arange(16.0).reshape(4, 4), grid_distances(2, 2)) if kind == ".sln" else read_problem(SAMPLES[".dd"])
    refused = 0
    for _ in range(500):
        data = damaged(SAMPLES[kind], rng)
        if kind in (".opt", ".gt", ".sln"):
            said = complaint(lambda data=data: add_companion(owner, data, f"x{kind}"))
        else:
            said = complaint(lambda data=data: read_problem(data, f"x{kind}"))
        if said is not None:
            refused += 1
            assert said.startswith(f"“x{kind}”: ") and said[-1] in ".…" and said.isprintable() and len(said) <= 500
    assert refused > 100


def bomb() -> bytes:
    """A few kilobytes of xz that hold 300 MB."""
    press = lzma.LZMACompressor(preset=0)
    piece = b"c\n" * 500_000
    return b"".join([press.compress(piece) for _ in range(300)]) + press.flush()


HOSTILE = {
    "an xz bomb": (bomb, "unpacked, it has more than 100 MB"),
    "200 MB": (lambda: bytes(200_000_000), "the file has 200 MB; at most 100 MB"),
    "an NPZ bomb": (lambda: compressed(K=np.zeros((5000, 5000))), "unpacked, it would have 200 MB"),
    "a pickle": (lambda: npz_object(), "pickled Python objects"),
    "an unknown array": (lambda: npz(unary=np.ones((2, 2)), **{"x\n" * 300: 1}), "there is an array"),
    "text in a number": (lambda: npz(unary=np.array([["a"]])), "unary is of type <U1"),
    "sizes that disagree": (lambda: npz(unary=np.ones((2, 3)), n1=3), "n1 has 3 left nodes"),
    "K of another size": (lambda: npz(K=np.ones((6, 6)), n1=4, n2=2), "K has shape"),
    "K without sizes": (lambda: npz(K=np.ones((6, 6))), "K has shape"),
    "edges beyond": (
        lambda: npz(unary=np.ones((2, 2)), quadratic=[[1.0]], edges_left=[[0, 2]], edges_right=[[0, 1]]),
        "edges_left names 0 to 2",
    ),
    "half a quadratic": (lambda: npz(unary=np.ones((2, 2)), quadratic=[[1.0]]), "belong together"),
    "no costs": (lambda: npz(n1=3, n2=3), "there are no costs"),
    "nothing": (lambda: b"", "the file is empty"),
    "a picture": (lambda: b"\x89PNG\r\n\x1a\n" + bytes(50), "this is neither"),
    "QAPLIB too large": (lambda: b"100000\n1 2 3", "a whole number from 1 to 300"),
    "QAPLIB with a word": (lambda: b"2\n1 2\n3 x", "line 3: 'x' is not a finite number"),
    "QAPLIB cut off": (lambda: b"2\n1 2\n3 4\n", "there are 5 numbers; n = 2 and two matrices of 2 × 2 make 9"),
}


def compressed(**arrays: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def npz_object() -> bytes:
    out = io.BytesIO()
    np.savez(out, unary=np.array([{"a": 1}], object))
    return out.getvalue()


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_files_are_refused(what):
    make, said = HOSTILE[what]
    with pytest.raises(ProblemFileError, match=said) as caught:
        read_problem(make(), "x" * 1000)
    assert len(str(caught.value)) <= 500


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"c\n", "lines are empty or comments up to line .*; at most 100000 are accepted"),
        (b"\n", "lines are empty or comments"),
        (b"i0 0 1 1\n", "more than 100000 lines “i0 i x y”"),
        (b"c" * 10_001 + b"\n", "line 3 has more than 10000 letters"),
        (b"c " * 3_000_000, "line 3 has more than 10000 letters"),
    ],
)
def test_many_lines_that_say_nothing_take_no_memory(line, said):
    data = b"p 1 1 1 0\na 0 0 0 1\n" + line * (9_000_000 // len(line))
    tracemalloc.start()
    try:
        with pytest.raises(ProblemFileError, match=said):
            read_problem(lzma.compress(data, preset=0))
        assert tracemalloc.get_traced_memory()[1] < 120_000_000
    finally:
        tracemalloc.stop()


def test_a_large_file_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "large.dd"
    with path.open("wb") as file:
        file.truncate(200_000_000)
    monkeypatch.setattr(Path, "read_bytes", lambda self: pytest.fail("it was read"))
    with pytest.raises(ProblemFileError, match="200 MB"):
        open_problem(path)
