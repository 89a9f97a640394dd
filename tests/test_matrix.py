"""Stored iterations on their way to the browser: all of them as they are, or every other one where they are many."""

import gzip
import json

import numpy as np

from ui.parts.canvas import Line, matrix
from ui.parts.canvas.matrix import Stored


def stored(count: int) -> list[Stored]:
    rng = np.random.default_rng(0)
    return [
        Stored(k, rng.random((4, 5)).round(3), [Line(1, k % 5, "candidate", 0.5, f"left 1 → {k}")])
        for k in range(count)
    ]


def unpacked(made: bytes) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(gzip.decompress(made))
    return found


def test_the_browser_unpacks_what_was_stored():
    frames = stored(7)
    found = unpacked(matrix.packed(frames))
    assert found == json.loads(json.dumps([frame.data() for frame in frames]))
    for frame, one in zip(frames, found, strict=True):
        x = np.zeros(frame.x.size)
        at, values = one["cells"]
        x[at] = values
        assert np.array_equal(x.reshape(frame.x.shape), frame.x)


def test_the_same_iterations_are_the_same_file():
    assert matrix.packed(stored(5)) == matrix.packed(stored(5))  # so that visitors share it


def test_too_many_iterations_are_thinned_and_the_first_stays(monkeypatch):
    whole = len(gzip.decompress(matrix.packed(stored(40))))
    monkeypatch.setattr(matrix, "MOST_BYTES", whole // 3)
    made = matrix.packed(stored(40))
    assert [one["iteration"] for one in unpacked(made)] == list(range(0, 40, 4))
    assert len(gzip.decompress(made)) <= whole // 3
