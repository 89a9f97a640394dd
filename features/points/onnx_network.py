"""A network of the user's own that finds and describes points, as an ONNX file.

    # my_network.py
    from features.points.keypoints import DETECTORS
    from features.points.onnx_network import onnx_detector

    DETECTORS["superpoint"] = onnx_detector("superpoint.onnx", "SuperPoint")

    python -m features --plugin my_network.py match left.png right.png --detector superpoint

One input: float32 (1, 3, h, w), RGB from 0 to 1, or (1, 1, h, w), grey; h and w are free. Outputs by their names:

    keypoints    (n, 2) or (1, n, 2): x and y in pixels of the input
    descriptors  (n, d) or (1, n, d): floats, compared by the angle between two rows; or uint8, compared bit by bit
    scores       (n,) or (1, n), optional: higher is stronger; without them the order counts
    sizes        (n,) or (1, n), optional: diameters in pixels, and
    angles       (n,) or (1, n), optional: radians from the x axis towards the y axis

A file that does not fit is refused when it is loaded; it needs onnxruntime, which executes no code of the file's.
"""

from __future__ import annotations

import hashlib
import importlib
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.points.images import Image
from features.points.keypoints import Detector, Keypoints
from features.points.learned import unit_rows

COMMAND = "pip install onnxruntime"
CELL = 32  # pixels: the picture is extended to a multiple, as many networks halve it five times
RANKS = {"keypoints": (2, 3), "descriptors": (2, 3), "scores": (1, 2), "sizes": (1, 2), "angles": (1, 2)}
REQUIRED = ("keypoints", "descriptors")
MOST_BYTES = 1 << 30


def missing() -> str:
    """Why such a file cannot be used, and the command that helps; empty if it can."""
    return "" if find_spec("onnxruntime") is not None else f"onnxruntime not installed: {COMMAND}"


def onnx_detector(path: str | Path, label: str | None = None) -> Detector:
    """A detector made of an ONNX file; its signature is checked now if onnxruntime is here, else when it is used."""
    place = Path(path)
    kind = f"onnx {hashlib.sha1(_bytes(place), usedforsecurity=False).hexdigest()}"
    if not missing():
        _session(place)

    def find(image: Image, pool: int) -> Keypoints:
        return _found(place, kind, image, pool)

    note = f"A network from the file {place.name}."
    return Detector(label or place.stem, find, note, missing=missing)


def _bytes(place: Path) -> bytes:
    try:
        if place.stat().st_size > MOST_BYTES:
            raise ValueError(f"{place.name} is larger than {MOST_BYTES >> 20} MB; expected a network of at most that.")
        return place.read_bytes()
    except OSError as error:
        raise ValueError(f"{place.name} could not be read: {(error.strerror or str(error)).lower()}.") from error


@lru_cache(maxsize=4)
def _session(place: Path) -> tuple[Any, int]:
    """The network, and its number of channels, once they fit the signature above."""
    if told := missing():
        raise ValueError(f"{place.name} cannot be used. {told}")
    onnxruntime = importlib.import_module("onnxruntime")
    try:
        session = onnxruntime.InferenceSession(_bytes(place), providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime has a class for each of its kinds of failure
        raise ValueError(f"{place.name} is no network that onnxruntime reads: {str(error)[:200]}") from error
    inputs = session.get_inputs()
    shape = list(inputs[0].shape) if len(inputs) == 1 else []
    if len(shape) != 4 or inputs[0].type != "tensor(float)" or shape[1] not in (1, 3):
        told = ", ".join(f"{one.name}: {one.type} {one.shape}" for one in inputs)
        raise ValueError(
            f"{place.name} takes {told}; expected one float32 input of shape (1, 3, h, w) or (1, 1, h, w)."
        )
    outputs = {one.name: one for one in session.get_outputs()}
    for name in REQUIRED:
        if name not in outputs:
            raise ValueError(f"{place.name} has no output {name!r}; it has {', '.join(outputs)}.")
    for name, ranks in RANKS.items():
        if name in outputs and len(outputs[name].shape) not in ranks:
            wanted = " or ".join(str(rank) for rank in ranks)
            raise ValueError(
                f"Output {name!r} of {place.name} has shape {outputs[name].shape}; expected {wanted} axes."
            )
    return session, int(shape[1])


def _found(place: Path, kind: str, image: Image, pool: int) -> Keypoints:
    session, channels = _session(place)
    picture = (image.rgb if channels == 3 else image.grey[:, :, None]).transpose(2, 0, 1)[None] / np.float32(255)
    down, right = (-side % CELL for side in picture.shape[2:])
    picture = np.pad(picture, ((0, 0), (0, 0), (0, down), (0, right)), "edge")
    names = [one.name for one in session.get_outputs() if one.name in RANKS]
    try:
        values = session.run(names, {session.get_inputs()[0].name: picture})
    except Exception as error:
        raise ValueError(f"{place.name} failed on a picture of {image.size} pixels: {str(error)[:200]}") from error
    told = {name: _single(np.asarray(value), RANKS[name][0]) for name, value in zip(names, values, strict=True)}
    count = len(told["keypoints"])
    for name, value in told.items():
        fits = len(value) == count and (name != "keypoints" or value.shape[1] == 2)
        if not fits or not np.isfinite(np.asarray(value, np.float64)).all():
            raise ValueError(f"Output {name!r} of {place.name} is {value.shape}, {count} points; expected finite rows.")
    scores = np.asarray(told.get("scores", -np.arange(count, dtype=np.float64)), np.float64)
    best = np.argsort(-scores, kind="stable")[:pool]
    size, angle = (np.asarray(told[name], np.float64)[best] if name in told else None for name in ("sizes", "angles"))
    rows = described(told["descriptors"][best])
    xy = np.asarray(told["keypoints"], np.float64)[best]
    return Keypoints(xy, angle, size, scores[best], looks=rows, looks_by=kind)


def _single(value: NDArray[Any], rank: int) -> NDArray[Any]:
    """Without the axis of a batch."""
    return value[0] if value.ndim == rank + 1 and len(value) == 1 else value


def described(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Unit rows: bits as ±1, so that the squared distance of two is four times the share of bits that differ."""
    if rows.dtype == np.uint8:
        rows = 2.0 * np.unpackbits(rows, axis=1) - 1.0
    return unit_rows(rows)
